"""Private names of scikit-learn that are used here, in one place: a new version may move them."""

from __future__ import annotations

from typing import Any

from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils.extmath import _incremental_mean_and_var as incremental_mean_and_var
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _get_feature_names as get_feature_names
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "check_method_params",
    "check_sample_weight",
    "get_feature_names",
    "incremental_mean_and_var",
    "is_passthrough_scorer",
    "is_search",
    "num_samples",
    "safe_indexing",
]


def is_passthrough_scorer(scorer: Any) -> bool:
    """Tell whether a scorer calls the estimator's own `score`."""
    from sklearn.metrics._scorer import _PassthroughScorer

    return isinstance(scorer, _PassthroughScorer)


def is_search(estimator: Any) -> bool:
    """Tell whether an estimator is a search of scikit-learn, such as GridSearchCV."""
    from sklearn.model_selection._search import BaseSearchCV

    return isinstance(estimator, BaseSearchCV)
