"""Preprocessing steps as ONNX operators.

Scalers, polynomial features, imputers, encoders, column transformers and Nyström features.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn import preprocessing
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from pegasos.nystroem import Nystroem
from pegasos.program.errors import BadModel, short
from pegasos.program.onnxfile.graph import Block, Graph
from pegasos.program.onnxfile.kernels import kernel_values

Array = np.ndarray[Any, Any]

#: Missing text in an ONNX file, which has no missing strings.
MISSING_TEXT = ""
_TWO_MISSING = (
    "a column has two categories for missing values (None, NaN, empty text); "
    "in an ONNX file they are one."
)


def transformed(part: Any, block: Block) -> Block:
    """Apply a fitted step to a block."""
    kind = type(part)
    if kind in _BLOCKS:
        return _BLOCKS[kind](part, block)
    if kind not in _MATRICES:
        raise BadModel(f"{kind.__name__} has no form in ONNX.")
    return Block(block.graph, _MATRICES[kind](block.graph, part, block.numbers(kind.__name__)))


def _is_passthrough(part: Any) -> bool:
    """Return whether a part passes columns through unchanged.

    Recent versions of scikit-learn represent "passthrough" by a FunctionTransformer.
    """
    return part in (None, "passthrough") or (
        isinstance(part, preprocessing.FunctionTransformer) and part.func is None
    )


def _steps(part: Pipeline, block: Block) -> Block:
    for _, step in part.steps:
        block = block if _is_passthrough(step) else transformed(step, block)
    return block


def branches(part: ColumnTransformer) -> Iterator[tuple[str, Any, list[int]]]:
    """Yield name, part and columns of each part of a ColumnTransformer that receives columns."""
    for name, each, _ in part.transformers_:
        places = [int(place) for place in part._transformer_to_input_indices[name]]
        if places and not (isinstance(each, str) and each == "drop"):
            yield name, each, places


def _columns(part: ColumnTransformer, block: Block) -> Block:
    graph, found = block.graph, []
    for name, each, places in branches(part):
        taken = block.take(places)
        tensor = (taken if _is_passthrough(each) else transformed(each, taken)).numbers(name)
        weight = (part.transformer_weights or {}).get(name)
        if weight is not None:
            tensor = graph.call("Mul", tensor, float(weight))
        found.append(tensor)
    return Block(graph, graph.joined(found))


def _scaled(graph: Graph, rows: str, center: Array | None, scale: Array | None) -> str:
    if center is not None:
        rows = graph.call("Sub", rows, center)
    return rows if scale is None else graph.call("Div", rows, scale)


def _minmax(graph: Graph, part: Any, rows: str) -> str:
    rows = graph.call("Add", graph.call("Mul", rows, part.scale_), part.min_)
    return graph.call("Clip", rows, *part.feature_range) if part.clip else rows


def _maxabs(graph: Graph, part: Any, rows: str) -> str:
    rows = _scaled(graph, rows, None, part.scale_)
    return graph.call("Clip", rows, -1, 1) if getattr(part, "clip", False) else rows


def _normalized(graph: Graph, part: Any, rows: str) -> str:
    sizes = graph.call("Abs", rows)
    if part.norm == "max":
        norms = graph.call("ReduceMax", sizes, graph.integers([1]), keepdims=1)
    elif part.norm == "l1":
        norms = graph.row_sums(sizes)
    else:
        norms = graph.call("Sqrt", graph.row_sums(graph.call("Mul", rows, rows)))
    # scikit-learn does not scale shorter rows
    is_zero = graph.call("Less", norms, 10 * np.finfo(np.float64).eps)
    return graph.call("Div", rows, graph.call("Where", is_zero, 1.0, norms))


def _products(graph: Graph, part: Any, rows: str) -> str:
    """Return products of up to `degree` columns, gathered from the rows and a column of ones."""
    width, degree = part.n_features_in_, part.degree
    least, most = degree if isinstance(degree, tuple | list) else (1, degree)
    repeated = itertools.combinations_with_replacement
    choose = itertools.combinations if part.interaction_only else repeated
    terms = [term for size in range(max(1, least), most + 1) for term in choose(range(width), size)]
    terms = [(), *terms] if part.include_bias else terms
    places = np.full((len(terms), max(most, 1)), width)
    for line, term in zip(places, terms, strict=True):
        line[: len(term)] = term
    zeros = graph.call("Mul", graph.columns(rows, [0]), 0.0)
    ones = graph.call("Add", zeros, 1.0)
    both = graph.joined([rows, ones])
    found = graph.columns(both, places[:, 0])
    for factor in places.T[1:]:
        found = graph.call("Mul", found, graph.columns(both, factor))
    return found


def _landmarks(graph: Graph, part: Nystroem, rows: str) -> str:
    values = kernel_values(graph, part.kernel_, rows, part.landmarks_)
    return graph.call("MatMul", values, part.weights_.astype(part.landmarks_.dtype))


def _filled(part: SimpleImputer, block: Block) -> Block:
    """Fill missing values, drop columns without a fill value, and append indicators."""
    graph, fills = block.graph, part.statistics_
    places = range(len(fills))
    kept = [place for place in places if part.keep_empty_features or fills[place] == fills[place]]
    shown = [int(place) for place in part.indicator_.features_] if part.add_indicator else []
    if block.matrix is not None:
        missing = _missing_numbers(graph, block.matrix, part.missing_values)
        rows = Block(graph, block.matrix, len(fills)).take(kept).numbers("SimpleImputer")
        holes = Block(graph, missing, len(fills)).take(kept).numbers("SimpleImputer")
        filled = graph.call("Where", holes, fills[kept].astype(np.float64), rows)
        signs = [graph.as_numbers(graph.columns(missing, shown))] if shown else []
        return Block(graph, graph.joined([filled, *signs]), len(kept) + len(shown))
    found, signals = [], []
    for place in places:
        tensor, is_text = block.column(place)
        if is_text:
            missing = graph.call("Equal", tensor, _string(graph, part.missing_values))
        else:
            missing = _missing_numbers(graph, tensor, part.missing_values)
        if place in kept:
            value = fills[place]
            fill = _string(graph, value) if is_text else graph.numbers(float(value))
            found.append((graph.call("Where", missing, fill, tensor), is_text))
        if place in shown:
            signals.append((graph.as_numbers(missing), False))
    return Block(graph, None, len(found) + len(signals), [*found, *signals])


def _missing_numbers(graph: Graph, rows: str, missing: Any) -> str:
    if missing is None or missing != missing:
        return graph.call("IsNaN", rows)
    if not isinstance(missing, int | float):
        raise BadModel(
            f"SimpleImputer takes {short(missing)} for missing in numeric columns, "
            "which is not a number."
        )
    return graph.call("Equal", rows, float(missing))


def _string(graph: Graph, value: Any) -> str:
    return graph.strings([_text(value)], (1, 1))


def _text(value: Any) -> str:
    """Return text, or the representation of missing text."""
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return MISSING_TEXT
    raise BadModel(f"{short(value)} is among text values; a column of an ONNX file has one type.")


def _one_hot(part: Any, block: Block) -> Block:
    graph, found = block.graph, []
    dropped = part.drop_idx_ if part.drop_idx_ is not None else [None] * len(part.categories_)
    for place, categories in enumerate(part.categories_):
        marks = graph.as_numbers(_equal(graph, *block.column(place), categories))
        kept = [code for code in range(len(categories)) if code != dropped[place]]
        if kept:
            found.append(Block(graph, marks, len(categories)).take(kept).numbers("OneHotEncoder"))
    return Block(graph, graph.joined(found))


def _ordinal(part: Any, block: Block) -> Block:
    """Return the code of each category; unknown and missing values have their own codes."""
    graph, found = block.graph, []
    unknown = np.nan if part.unknown_value is None else float(part.unknown_value)
    for place, categories in enumerate(part.categories_):
        codes = np.arange(len(categories), dtype=float)
        codes[[_is_missing(each) for each in categories]] = part.encoded_missing_value
        marks = _equal(graph, *block.column(place), categories)
        place_of = graph.call("ArgMax", graph.as_numbers(marks), axis=1, keepdims=1)
        known = graph.call("Greater", graph.row_sums(graph.as_numbers(marks)), 0.0)
        code = graph.call("Gather", codes, place_of, axis=0)
        found.append(graph.call("Where", known, code, unknown))
    return Block(graph, graph.joined(found), len(found))


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def _equal(graph: Graph, column: str, is_text: bool, categories: Array) -> str:
    """Compare a column with each category, rows x categories; the missing one is last."""
    known = [each for each in categories if not _is_missing(each)]
    if is_text:
        texts = [_text(each) for each in categories]
        if len(set(texts)) < len(texts):
            raise BadModel(_TWO_MISSING)
        return graph.call("Equal", column, graph.strings(texts, (1, len(texts))))
    if not all(isinstance(each, int | float | np.number | np.bool_) for each in known):
        raise BadModel(
            f"a column has categories of mixed kinds, such as {short(categories.tolist())}."
        )
    if len(categories) - len(known) > 1:
        raise BadModel(_TWO_MISSING)
    found = []
    if known:
        values = graph.numbers(np.array(known, dtype=float)[None, :])
        found.append(graph.call("Equal", column, values))
    if len(known) < len(categories):
        found.append(graph.call("IsNaN", column))
    return graph.joined(found)


def text_columns(part: Any) -> set[int]:
    """Return the columns of a step with text among their categories or fill values."""
    if isinstance(part, ColumnTransformer):
        return {places[each] for _, inner, places in branches(part) for each in text_columns(inner)}
    if isinstance(part, Pipeline):  # imputers keep the order of columns that have values
        steps = (step for _, step in part.steps if isinstance(step, _OF_COLUMNS))
        return {each for step in steps for each in text_columns(step)}
    values: Any = [[fill] for fill in part.statistics_] if isinstance(part, SimpleImputer) else ()
    if isinstance(part, preprocessing.OneHotEncoder | preprocessing.OrdinalEncoder):
        values = part.categories_
    return {place for place, own in enumerate(values) if any(isinstance(each, str) for each in own)}


_OF_COLUMNS = (
    ColumnTransformer,
    preprocessing.OneHotEncoder,
    preprocessing.OrdinalEncoder,
    SimpleImputer,
    Pipeline,
)
_MATRICES: dict[type, Callable[[Graph, Any, str], str]] = {
    preprocessing.StandardScaler: lambda graph, part, rows: _scaled(
        graph, rows, part.mean_ if part.with_mean else None, part.scale_
    ),
    preprocessing.MinMaxScaler: _minmax,
    preprocessing.MaxAbsScaler: _maxabs,
    preprocessing.RobustScaler: lambda graph, part, rows: _scaled(
        graph, rows, part.center_, part.scale_
    ),
    preprocessing.Normalizer: _normalized,
    preprocessing.PolynomialFeatures: _products,
    Nystroem: _landmarks,
}
_BLOCKS: dict[type, Callable[[Any, Block], Block]] = {
    Pipeline: _steps,
    ColumnTransformer: _columns,
    SimpleImputer: _filled,
    preprocessing.OneHotEncoder: _one_hot,
    preprocessing.OrdinalEncoder: _ordinal,
}
