"""Explain a fitted model: permutation importance, partial dependence, and linear coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pegasos.estimates import Figure, measured
from pegasos.explaining.importance import Importance, ask, importances
from pegasos.explaining.responses import Dependence, Effect, dependence, effects
from pegasos.explaining.tables import Columns
from pegasos.metrics import Metric
from pegasos.search.anatomy import anatomy

__all__ = ["Dependence", "Effect", "Explanation", "Importance", "explain"]

#: Predictions of all permutations together: with more columns, fewer rows are sampled.
PREDICTIONS = 500_000
_FEWEST_ROWS = 100


@dataclass(frozen=True)
class Explanation:
    """Explanation of a model on a set of rows.

    Attributes
    ----------
    metric : str
        Name of the metric.
    rows : int
        Number of rows used.
    figure : Figure
        The metric on these rows and its baseline.
    classes : list
        Classes that coefficients and responses refer to. For two classes this is the positive class
        of the metric, or else the second class.
    columns : list of str
        Names of all columns.
    importance : list of Importance
        Permutation importance of all columns, largest first.
    dependence : list of Dependence
        Partial dependence on the most important columns.
    effects : list of Effect
        Coefficients of a linear model.
    dates : list of str
        Columns that hold days since 1970-01-01.
    """

    metric: str
    rows: int
    figure: Figure
    classes: list[Any]
    columns: list[str]
    importance: list[Importance]
    dependence: list[Dependence] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)


def explain(
    model: Any,
    X: Any,
    y: Any,
    *,
    metric: Metric | str = "error",
    repeats: int = 5,
    features: int = 4,
    names: Sequence[str] | None = None,
    random_state: int = 0,
) -> Explanation:
    """Explain a fitted classifier, pipeline or search on rows that were not used to train it.

    Parameters
    ----------
    model : estimator
        Fitted model.
    X, y : array-like
        Rows and labels. A sample of the rows is used if there are many rows and columns.
    metric : Metric or str, default="error"
        Metric of the permutation importance.
    repeats : int, default=5
        Permutations per column.
    features : int, default=4
        Number of most important columns whose partial dependence is computed.
    names : sequence of str, optional
        Column names, if neither X nor the model has any.
    random_state : int, default=0
        Seed of permutations and samples.

    Returns
    -------
    Explanation
        Permutation importance with 95 % intervals, partial dependence on the most important
        columns, and coefficients of a linear model in the units of the original columns.

    See Also
    --------
    pegasos.report : A page with the explanation of a model.

    Notes
    -----
    Correlated columns can replace each other and then all have a low importance. Importance does
    not imply a causal effect.

    Examples
    --------
    >>> from pegasos import SDCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = explain(SDCA(lam=0.01, random_state=0).fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> found.importance[0].column, found.importance[0].sure, len(found.effects)
    ('x3', True, 4)
    """
    from sklearn.utils.validation import check_is_fitted

    model = getattr(model, "best_estimator_", model)
    learner: Any = anatomy(model, fitted=True).learner
    check_is_fitted(learner)
    if repeats < 1 or features < 0:
        got = f"got {repeats} and {features}"
        raise ValueError(f"repeats must be at least 1 and features at least 0, {got}.")
    table, y = Columns(X, getattr(model, "feature_names_in_", names)), np.asarray(y)
    if len(table) != len(y) or not len(y):
        raise ValueError(f"X has {len(table)} rows and y {len(y)} labels; they must be as many.")
    most = max(_FEWEST_ROWS, PREDICTIONS // (repeats * len(table.names)))
    if len(y) > most:
        some = np.sort(np.random.default_rng(random_state).permutation(len(y))[:most])
        table, y = table.rows(some), y[some]
    chosen = (Metric(metric) if isinstance(metric, str) else metric).settled(y, learner.classes_)
    classes = np.asarray(learner.classes_).tolist()
    of_first = len(classes) == 2 and chosen.positive == classes[0]
    if len(classes) == 2:
        classes = classes[:1] if of_first else classes[1:]
    ranked = importances(model, table, y, chosen, repeats, random_state)
    leading = [each for each in ranked if each.value > 0.0][:features]
    curves = [
        dependence(model, table, each.place, random_state, classes, of_first) for each in leading
    ]
    return Explanation(
        metric=chosen.name,
        rows=len(y),
        figure=measured(chosen, ask(model, table.X, y)[0]),
        classes=classes,
        columns=table.names,
        importance=ranked,
        dependence=[each for each in curves if len(each.values) > 1],
        effects=effects(model, table, of_first),
    )
