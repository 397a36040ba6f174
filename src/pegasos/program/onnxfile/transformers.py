"""Preprocessing steps as ONNX operators."""

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
from pegasos.program.onnxfile.classifiers import kernel_values
from pegasos.program.onnxfile.graph import Block, Graph

Array = np.ndarray[Any, Any]

#: Missing text in an ONNX file, which has no missing strings.
MISSING_TEXT = ""
_MIXED = "a column has numbers and text, such as {}; in an ONNX file it has one type."
_TWO_MISSING = (
    "a column has two categories for missing values (None, NaN, empty text); "
    "in an ONNX file they are one."
)


def transformed(part: Any, block: Block) -> Block:
    """Apply a fitted step to a block."""
    # Recent versions of scikit-learn represent "passthrough" by a FunctionTransformer.
    is_function = isinstance(part, preprocessing.FunctionTransformer)
    if part in (None, "passthrough") or (is_function and part.func is None):
        return block
    if type(part) in _COLUMNWISE:
        return _COLUMNWISE[type(part)](part, block)
    if type(part) not in _MATRICES:
        raise BadModel(f"{type(part).__name__} has no form in ONNX.")
    return Block(block.graph, _MATRICES[type(part)](block.graph, part, block.numbers()))


def _pipeline(part: Pipeline, block: Block) -> Block:
    for _, step in part.steps:
        block = transformed(step, block)
    return block


def branches(part: ColumnTransformer) -> Iterator[tuple[str, Any, list[int]]]:
    """Yield the name, transformer and columns of each part of a ColumnTransformer in use."""
    for name, each, _ in part.transformers_:
        places = [int(place) for place in part._transformer_to_input_indices[name]]
        if places and not (isinstance(each, str) and each == "drop"):
            yield name, each, places


def _by_columns(part: ColumnTransformer, block: Block) -> Block:
    graph, found = block.graph, []
    for name, each, places in branches(part):
        tensor = transformed(each, block.take(places)).numbers()
        weight = (part.transformer_weights or {}).get(name)
        found.append(tensor if weight is None else graph.call("Mul", tensor, float(weight)))
    return Block(graph, graph.joined(found))


def _scaled(graph: Graph, part: Any, rows: str) -> str:
    """Subtract the center and divide by the scale, as far as a scaler does."""
    center = getattr(part, "center_", None)
    if isinstance(part, preprocessing.StandardScaler) and part.with_mean:
        center = part.mean_
    if center is not None:
        rows = graph.call("Sub", rows, center)
    if part.scale_ is not None:
        rows = graph.call("Div", rows, part.scale_)
    return graph.call("Clip", rows, -1, 1) if getattr(part, "clip", False) else rows


def _minmax(graph: Graph, part: Any, rows: str) -> str:
    rows = graph.call("Add", graph.call("Mul", rows, part.scale_), part.min_)
    return graph.call("Clip", rows, *part.feature_range) if part.clip else rows


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
    both = graph.joined([rows, graph.call("Add", zeros, 1.0)])
    found = graph.columns(both, places[:, 0])
    for factor in places.T[1:]:
        found = graph.call("Mul", found, graph.columns(both, factor))
    return found


def _landmarks(graph: Graph, part: Nystroem, rows: str) -> str:
    values = kernel_values(graph, part.kernel_, rows, part.landmarks_)
    return graph.call("MatMul", values, part.weights_.astype(part.landmarks_.dtype))


def _filled(part: SimpleImputer, block: Block) -> Block:
    """Fill missing values, drop columns without a fill value, and append indicators."""
    graph, found, signs = block.graph, list[tuple[str, bool]](), list[tuple[str, bool]]()
    shown = part.indicator_.features_ if part.add_indicator else ()
    pieces: Any = [([place], *column) for place, column in block.columns.items()]
    if block.matrix:
        pieces = [(list(range(len(part.statistics_))), block.matrix, False)]
    for places, tensor, is_text in pieces:
        fills = part.statistics_[places]
        if is_text:
            missing = graph.call("Equal", tensor, _texts(graph, [part.missing_values]))
            filled = graph.call("Where", missing, _texts(graph, fills), tensor)
        else:
            missing = _missing_numbers(graph, tensor, part.missing_values)
            filled = graph.call("Where", missing, fills.astype(np.float64)[None, :], tensor)
        kept = np.flatnonzero([part.keep_empty_features or fill == fill for fill in fills])
        if len(kept):
            found.append((graph.columns(filled, kept), is_text))
        marked = np.flatnonzero(np.isin(places, shown))
        if len(marked):
            signs.append((graph.as_numbers(graph.columns(missing, marked)), False))
    columns = Block(graph, columns=dict(enumerate(found + signs)))
    return Block(graph, columns.numbers()) if block.matrix else columns


def _missing_numbers(graph: Graph, rows: str, missing: Any) -> str:
    if missing is None or missing != missing:
        return graph.call("IsNaN", rows)
    if not isinstance(missing, int | float):
        raise BadModel(f"SimpleImputer has missing_values={short(missing)}, which is not a number.")
    return graph.call("Equal", rows, float(missing))


def _texts(graph: Graph, values: Any) -> str:
    """Add a row of texts, in which missing ones are represented."""
    texts = [MISSING_TEXT if _is_missing(value) else value for value in values]
    if not all(isinstance(text, str) for text in texts):
        raise BadModel(_MIXED.format(short(texts)))
    if len(set(texts)) < len(texts):
        raise BadModel(_TWO_MISSING)
    return graph.constant(np.array([texts], dtype=object))


def _one_hot(part: Any, block: Block) -> Block:
    graph, found = block.graph, []
    dropped = part.drop_idx_ if part.drop_idx_ is not None else [None] * len(part.categories_)
    for place, categories in enumerate(part.categories_):
        marks = graph.as_numbers(_equal(graph, *block.column(place), categories))
        kept = [code for code in range(len(categories)) if code != dropped[place]]
        if kept:
            found.append(graph.columns(marks, kept))
    return Block(graph, graph.joined(found))


def _ordinal(part: Any, block: Block) -> Block:
    """Return the code of each category; unknown and missing values have their own codes."""
    graph, found = block.graph, []
    unknown = np.nan if part.unknown_value is None else float(part.unknown_value)
    for place, categories in enumerate(part.categories_):
        codes = np.arange(len(categories), dtype=float)
        codes[[_is_missing(each) for each in categories]] = part.encoded_missing_value
        marks = graph.as_numbers(_equal(graph, *block.column(place), categories))
        place_of = graph.call("ArgMax", marks, axis=1, keepdims=1)
        known = graph.call("Greater", graph.row_sums(marks), 0.0)
        code = graph.call("Gather", codes, place_of, axis=0)
        found.append(graph.call("Where", known, code, unknown))
    return Block(graph, graph.joined(found))


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def _equal(graph: Graph, column: str, is_text: bool, categories: Array) -> str:
    """Compare a column with each category, rows x categories; the missing one is last."""
    if is_text:
        return graph.call("Equal", column, _texts(graph, categories))
    known = [each for each in categories if not _is_missing(each)]
    if not all(isinstance(each, int | float | np.number | np.bool_) for each in known):
        raise BadModel(_MIXED.format(short(categories.tolist())))
    if len(categories) - len(known) > 1:
        raise BadModel(_TWO_MISSING)
    found = [graph.call("Equal", column, np.array([known], dtype=float))] if known else []
    if len(known) < len(categories):
        found.append(graph.call("IsNaN", column))
    return graph.joined(found)


def text_columns(part: Any) -> set[int]:
    """Return the columns of a step with text among their categories or fill values."""
    if isinstance(part, ColumnTransformer):
        return {places[each] for _, inner, places in branches(part) for each in text_columns(inner)}
    if isinstance(part, Pipeline):  # imputers keep the order of columns that have values
        return {each for _, step in part.steps for each in text_columns(step)}
    values: Any = [[fill] for fill in part.statistics_] if isinstance(part, SimpleImputer) else ()
    if isinstance(part, preprocessing.OneHotEncoder | preprocessing.OrdinalEncoder):
        values = part.categories_
    return {place for place, own in enumerate(values) if any(isinstance(each, str) for each in own)}


_MATRICES: dict[type, Callable[[Graph, Any, str], str]] = {
    preprocessing.StandardScaler: _scaled,
    preprocessing.MinMaxScaler: _minmax,
    preprocessing.MaxAbsScaler: _scaled,
    preprocessing.RobustScaler: _scaled,
    preprocessing.Normalizer: _normalized,
    preprocessing.PolynomialFeatures: _products,
    Nystroem: _landmarks,
}
_COLUMNWISE: dict[type, Callable[[Any, Block], Block]] = {
    Pipeline: _pipeline,
    ColumnTransformer: _by_columns,
    SimpleImputer: _filled,
    preprocessing.OneHotEncoder: _one_hot,
    preprocessing.OrdinalEncoder: _ordinal,
}
