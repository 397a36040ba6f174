"""scikit-learn's scalers, PolynomialFeatures, SimpleImputer, OneHotEncoder and OrdinalEncoder.

The last four are fitted again to one or two rows with the settings of the file, which scikit-learn
checks at that point, and then given their numbers: this does not depend on its private attributes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn import preprocessing
from sklearn.impute import SimpleImputer

from pegasos.program.errors import BadModel
from pegasos.program.modelfile import checks
from pegasos.program.modelfile.checks import Check, anything, flag, nothing, one_of
from pegasos.program.modelfile.container import NUMBERS
from pegasos.program.modelfile.tree import MOST_CELLS, SEEN, Built, Draft, Node, Part, register
from pegasos.program.modelfile.values import NUMBERS as DTYPES
from pegasos.program.modelfile.values import decode_labels, encode_labels, objects

Array = np.ndarray[Any, Any]

#: Columns that PolynomialFeatures may make: one row of them still fits anywhere.
_MOST_PRODUCTS = 2**24


class Products(Part):
    """PolynomialFeatures, which is determined by its settings and its number of columns."""

    def _build(self, node: Node, width: int | None) -> Built:
        degree = node.params.get("degree", 2)
        highest = degree[1] if isinstance(degree, tuple | list) else degree
        if not possible_products(node.inputs, highest, node.params.get("interaction_only", False)):
            raise node.bad(f"degree={degree} for {node.inputs} features makes too large a table")
        estimator = self.cls(**node.params).fit(np.zeros((1, node.inputs)))
        return Built(estimator, node.inputs, int(estimator.n_output_features_))


def possible_products(n_features: int, degree: int, interaction_only: bool) -> bool:
    """Return whether an expansion to a degree has few enough columns, without huge integers.

    >>> possible_products(16, 16, True), possible_products(16, 16, False)
    (True, False)
    """
    if min(n_features, degree) > 24:
        return False
    if interaction_only:
        columns = sum(math.comb(n_features, size) for size in range(min(degree, n_features) + 1))
    else:
        columns = math.comb(n_features + degree, degree)
    return columns <= _MOST_PRODUCTS


class Imputer(Part):
    """SimpleImputer: the fill value of each column, and the columns with an indicator.

    The fill value of a column that is dropped is NaN.
    """

    def _describe(self, estimator: Any, draft: Draft) -> dict[str, Any]:
        fills = estimator.statistics_
        table = getattr(estimator, "_fit_dtype", fills.dtype)
        if table.kind != "O" and table.name not in DTYPES:
            raise BadModel(
                f"{draft.place.words} was fitted to a table of dtype {table}, "
                "which a model file cannot hold."
            )
        shown = estimator.indicator_.features_ if estimator.add_indicator else []
        state: dict[str, Any] = {
            "table": "object" if table.kind == "O" else table.name,
            "indicator": [int(column) for column in shown],
        }
        if fills.dtype == object:
            state["fills"] = encode_labels(fills, f"{draft.place.words}: statistics_")
        else:
            draft.keep("statistics_", fills)
        return state

    def _build(self, node: Node, width: int | None) -> Built:
        table = node.take("table", one_of("object", *DTYPES))
        kind = np.dtype(object) if table == "object" else DTYPES[table]
        indicator = node.take("indicator", checks.places(node.inputs))
        if "fills" in node.state:
            fills = decode_labels(node.item("fills"), f"{node.place.words}: fills")
        else:
            fills = node.array("statistics_", NUMBERS, (node.inputs,), finite=False)
        gone = np.array([fill != fill for fill in fills])  # a column without any value has NaN
        if fills.shape != (node.inputs,) or not _are_finite(fills[~gone], kind):
            raise node.bad("its fills are not finite, or not one for each column")
        if gone.any() and node.params.get("keep_empty_features", False):
            raise node.bad("it drops columns, which keep_empty_features rules out")
        missing = node.params.get("missing_values", np.nan)
        rows = np.full((2, node.inputs), _other_than(missing, kind), dtype=kind)
        rows[1, indicator] = missing
        rows[:, gone] = missing
        estimator = SimpleImputer(**node.params).fit(rows)
        estimator.statistics_ = fills
        indicators = len(estimator.indicator_.features_) if estimator.add_indicator else 0
        return Built(estimator, node.inputs, node.inputs - int(gone.sum()) + indicators)


def _are_finite(fills: Array, kind: Any) -> bool:
    """Return whether fill values are finite, also after conversion to a dtype."""
    with np.errstate(all="ignore"):
        values = [*fills.tolist(), *fills.astype(kind).tolist()]
    return all(math.isfinite(value) for value in values if isinstance(value, int | float))


def _other_than(missing: Any, kind: Any) -> Any:
    """Return a value other than the marker of missing values."""
    if kind.kind == "O" and isinstance(missing, str):
        return missing + "."
    return 1 if isinstance(missing, int | float) and missing == 0 else 0


class Encoder(Part):
    """OneHotEncoder or OrdinalEncoder: the categories of each column."""

    def _describe(self, estimator: Any, draft: Draft) -> dict[str, Any]:
        what = f"{draft.place.words}: the categories of column"
        categories = [
            encode_labels(one, f"{what} {index}") for index, one in enumerate(estimator.categories_)
        ]
        return {"categories": categories, "given": not isinstance(estimator.categories, str)}

    def _build(self, node: Node, width: int | None) -> Built:
        given, described = node.take("given", flag), node.items("categories")
        what = f"{node.place.words}: the categories of column"
        categories = [decode_labels(one, f"{what} {index}") for index, one in enumerate(described)]
        if len(categories) != node.inputs or not all(map(len, categories)):
            raise node.bad(f"it does not have categories for each of {node.inputs} columns")
        listed = [objects(one.tolist()) for one in categories]
        row = objects([one[0] for one in listed]).reshape(1, -1)
        estimator = self.cls(categories=listed, **node.params).fit(row)
        outputs = estimator.transform(row).shape[1]
        estimator.categories_ = categories
        estimator.set_params(categories=categories if given else "auto")
        return Built(estimator, node.inputs, outputs)


def _settings(names: str, **checked: Check) -> dict[str, Check]:
    return dict.fromkeys(names.split(), anything) | checked


_FREQUENT = {"min_frequency": nothing, "max_categories": nothing}  # groups of rare categories
_ONE_HOT = _settings("dtype drop sparse_output handle_unknown feature_name_combiner", **_FREQUENT)
_ORDINAL = _settings("dtype handle_unknown unknown_value encoded_missing_value", **_FREQUENT)
_IMPUTER = "copy add_indicator keep_empty_features missing_values strategy fill_value"
_ROBUST = "with_centering with_scaling copy unit_variance quantile_range"

register(
    Part(
        preprocessing.StandardScaler,
        _settings("copy with_mean with_std"),
        ("mean_", "var_", "scale_", SEEN),
    ),
    Part(
        preprocessing.MinMaxScaler,
        _settings("copy clip feature_range"),
        ("min_", "scale_", "data_min_", "data_max_", "data_range_", SEEN),
    ),
    Part(preprocessing.MaxAbsScaler, _settings("copy clip"), ("scale_", "max_abs_", SEEN)),
    Part(preprocessing.RobustScaler, _settings(_ROBUST), ("center_", "scale_")),
    Part(preprocessing.Normalizer, _settings("copy norm")),
    Products(
        preprocessing.PolynomialFeatures, _settings("interaction_only include_bias degree order")
    ),
    Imputer(SimpleImputer, _settings(_IMPUTER), most_features=MOST_CELLS // 2),
    Encoder(preprocessing.OneHotEncoder, _ONE_HOT, left_out=("categories",)),
    Encoder(preprocessing.OrdinalEncoder, _ORDINAL, left_out=("categories",)),
)
