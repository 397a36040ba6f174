"""scikit-learn's SimpleImputer, OneHotEncoder and OrdinalEncoder: built again on the smallest table with the right structure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from pegasos.program.modelfile import checks
from pegasos.program.modelfile.container import FLOATS
from pegasos.program.modelfile.errors import BadModel
from pegasos.program.modelfile.tree import (
    MOST_CELLS,
    Arrays,
    Check,
    Node,
    Part,
    Place,
    Planned,
    checked_names,
    checked_width,
    set_names,
    tell_names,
)
from pegasos.program.modelfile.values import NUMBERS, decode, decode_labels, encode_labels, objects

Array = np.ndarray[Any, Any]


class Imputer:
    """SimpleImputer: the fill of each column (nan: the column goes), and which columns have an indicator."""

    cls = SimpleImputer
    params: dict[str, Check]
    left_out: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.params = {
            "missing_values": checks.scalar,
            "strategy": checks.one_of("mean", "median", "most_frequent", "constant"),
            "fill_value": checks.scalar,
            "copy": checks.flag,
            "add_indicator": checks.flag,
            "keep_empty_features": checks.flag,
        }

    def describe(self, estimator: Any, place: Place, arrays: Arrays) -> dict[str, Any]:
        told = tell_names(estimator, place)
        fills = estimator.statistics_
        kind = getattr(estimator, "_fit_dtype", fills.dtype)
        if kind.kind != "O" and kind.name not in NUMBERS:
            raise BadModel(f"{place.words} was fitted to a table of dtype {kind}, which a model file cannot tell.")
        told["table"] = "object" if kind.kind == "O" else kind.name
        told["fills"] = None
        if fills.dtype == object:
            told["fills"] = encode_labels(fills, f"{place.words}: statistics_")["values"]
        else:
            arrays.add(place.array("statistics_"), fills, f"{place.words}: statistics_")
        told["gone"] = [] if estimator.keep_empty_features else np.flatnonzero(_is_nan(fills)).tolist()
        told["indicator"] = [int(column) for column in estimator.indicator_.features_] if estimator.add_indicator else []
        return told

    def plan(self, node: Node, width: int | None) -> Planned:
        state = node.state
        inputs = checked_width(state, width, MOST_CELLS // 2)
        names = checked_names(state, inputs)
        table = state.take("table")
        if not isinstance(table, str) or (table != "object" and table not in NUMBERS):
            raise state.bad("the dtype of its table is unknown")
        indicator, gone = state.places("indicator", inputs), state.places("gone", inputs)
        if node.params.get("add_indicator", False):
            if not set(gone) <= set(indicator):
                raise state.bad("a column without any value has no indicator")
        elif indicator:
            raise state.bad("it has indicators without add_indicator")
        if gone and node.params.get("keep_empty_features", False):
            raise state.bad("it drops columns, which keep_empty_features rules out")
        told = state.take("fills")
        if told is None:
            node.file.expect(node.place.array("statistics_"), FLOATS, (inputs,))
        elif not isinstance(told, list) or len(told) != inputs:
            raise state.bad(f"it has not one fill for each of {inputs} columns")

        def build() -> Any:
            fills = node.file.read(node.place.array("statistics_")) if told is None else _decoded(node, told)
            kind = np.dtype(object) if table == "object" else NUMBERS[table]
            _check_fills(node, fills, gone, kind)
            missing = node.params.get("missing_values", np.nan)
            rows = np.full((2, inputs), _other_than(missing, kind), dtype=kind)
            rows[1, indicator] = missing
            rows[:, gone] = missing
            estimator = SimpleImputer(**node.params).fit(rows)
            estimator.statistics_ = fills
            set_names(estimator, names)
            return estimator

        return Planned(inputs, inputs - len(gone) + len(indicator), build)


def _decoded(node: Node, told: list[Any]) -> Array:
    fills = objects([decode(value, f"{node.place.words}: a fill") for value in told])
    if not all(map(checks.scalar, fills)):
        raise node.state.bad("a fill is neither number nor text")
    return fills


def _check_fills(node: Node, fills: Array, gone: list[int], kind: Any) -> None:
    """What will be written into tables of this dtype must fit there, and only columns that go have none."""
    kept = np.ones(len(fills), dtype=bool)
    kept[gone] = False
    if not np.array_equal(_is_nan(fills), ~kept):
        raise node.state.bad("columns without a fill are not those that it drops")
    try:
        as_written = fills[kept].astype(kind)
    except (ValueError, TypeError, OverflowError):
        raise node.state.bad(f"a fill does not fit into a table of {kind}") from None
    if kind.kind == "f" and not np.isfinite(as_written).all():
        raise node.state.bad("a fill is not finite")


def _is_nan(values: Array) -> Array:
    return np.array([value != value for value in values], dtype=bool)


def _other_than(missing: Any, kind: Any) -> Any:
    """A value that is not the missing one."""
    if kind.kind == "O" and isinstance(missing, str):
        return missing + "."
    return 1 if isinstance(missing, int | float) and missing == 0 else 0


@dataclass(frozen=True)
class Encoder:
    """OneHotEncoder or OrdinalEncoder: the categories of each column."""

    cls: type
    params: dict[str, Check]
    left_out: tuple[str, ...] = ("categories",)

    def describe(self, estimator: Any, place: Place, arrays: Arrays) -> dict[str, Any]:
        told = tell_names(estimator, place)
        what = f"{place.words}: the categories of column"
        told["categories"] = [encode_labels(one, f"{what} {index}") for index, one in enumerate(estimator.categories_)]
        told["given"] = not isinstance(estimator.categories, str)
        return told

    def plan(self, node: Node, width: int | None) -> Planned:
        state = node.state
        inputs = checked_width(state, width, MOST_CELLS)
        names = checked_names(state, inputs)
        given = state.flag("given")
        told = state.items("categories")
        if len(told) != inputs:
            raise state.bad(f"it has categories of {len(told)} columns instead of {inputs}")
        categories = [
            decode_labels(one, f"{node.place.words}: the categories of column {place}") for place, one in enumerate(told)
        ]
        if not all(len(one) for one in categories):
            raise state.bad("a column has no categories")
        outputs = inputs if self.cls is OrdinalEncoder else self._outputs(node, categories)

        def build() -> Any:
            listed = [objects(one.tolist()) for one in categories]
            row = objects([one[0] for one in listed]).reshape(1, -1)
            estimator = self.cls(categories=listed, **node.params).fit(row)
            estimator.categories_ = categories
            estimator.set_params(categories=categories if given else "auto")
            set_names(estimator, names)
            return estimator

        return Planned(inputs, outputs, build)

    @staticmethod
    def _outputs(node: Node, categories: list[Array]) -> int:
        drop = node.params.get("drop")
        if isinstance(drop, tuple | list) and len(drop) != len(categories):
            raise node.state.bad(f"drop names {len(drop)} categories for {len(categories)} columns")
        found = sum(map(len, categories))
        if drop == "if_binary":
            return found - sum(len(one) == 2 for one in categories)
        return found if drop is None else found - len(categories)


FILLERS: dict[str, Part] = {
    "SimpleImputer": Imputer(),
    "OneHotEncoder": Encoder(
        OneHotEncoder,
        {
            "drop": checks.either(checks.nothing, checks.one_of("first", "if_binary"), checks.list_of(checks.scalar)),
            "sparse_output": checks.flag,
            "dtype": checks.dtype,
            "handle_unknown": checks.one_of("error", "ignore", "infrequent_if_exist", "warn"),
            "min_frequency": checks.nothing,
            "max_categories": checks.nothing,
            "feature_name_combiner": checks.one_of("concat"),
        },
    ),
    "OrdinalEncoder": Encoder(
        OrdinalEncoder,
        {
            "dtype": checks.dtype,
            "handle_unknown": checks.one_of("error", "use_encoded_value"),
            "unknown_value": checks.scalar,
            "encoded_missing_value": checks.scalar,
            "min_frequency": checks.nothing,
            "max_categories": checks.nothing,
        },
    ),
}
