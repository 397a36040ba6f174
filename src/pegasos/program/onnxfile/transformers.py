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
NO_WORD = ""
_TWO_GAPS = "a column has two categories for what is missing (None, NaN, an empty word); in an ONNX file they are one."


def transformed(part: Any, block: Block) -> Block:
    """Apply a fitted step to a block."""
    kind = type(part)
    if kind in _BLOCKS:
        return _BLOCKS[kind](part, block)
    if kind not in _MATRICES:
        raise BadModel(f"{kind.__name__} has no form in ONNX.")
    return _matrix(block.graph, _MATRICES[kind](block.graph, part, block.numbers(kind.__name__)))


def _matrix(graph: Graph, tensor: str, width: int = 0) -> Block:
    return Block(graph, tensor, width)


def _is_passed(part: Any) -> bool:
    """Return whether a part passes columns through unchanged.

    Recent versions of scikit-learn represent "passthrough" by a FunctionTransformer.
    """
    return part in (None, "passthrough") or (
        isinstance(part, preprocessing.FunctionTransformer) and part.func is None
    )


def _steps(part: Pipeline, block: Block) -> Block:
    for _, step in part.steps:
        block = block if _is_passed(step) else transformed(step, block)
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
        tensor = (taken if _is_passed(each) else transformed(each, taken)).numbers("the learner")
        weight = (part.transformer_weights or {}).get(name)
        found.append(
            tensor if weight is None else graph.call("Mul", tensor, graph.numbers(float(weight)))
        )
    return _matrix(graph, graph.joined(found))


def _standard(graph: Graph, part: Any, rows: str) -> str:
    rows = graph.call("Sub", rows, graph.numbers(part.mean_)) if part.with_mean else rows
    return graph.call("Div", rows, graph.numbers(part.scale_)) if part.with_std else rows


def _robust(graph: Graph, part: Any, rows: str) -> str:
    rows = graph.call("Sub", rows, graph.numbers(part.center_)) if part.with_centering else rows
    return graph.call("Div", rows, graph.numbers(part.scale_)) if part.with_scaling else rows


def _minmax(graph: Graph, part: Any, rows: str) -> str:
    rows = graph.call(
        "Add", graph.call("Mul", rows, graph.numbers(part.scale_)), graph.numbers(part.min_)
    )
    return _clipped(graph, rows, *part.feature_range) if part.clip else rows


def _maxabs(graph: Graph, part: Any, rows: str) -> str:
    rows = graph.call("Div", rows, graph.numbers(part.scale_))
    return _clipped(graph, rows, -1.0, 1.0) if getattr(part, "clip", False) else rows


def _clipped(graph: Graph, rows: str, low: float, high: float) -> str:
    return graph.call("Clip", rows, graph.numbers(float(low)), graph.numbers(float(high)))


def _normalized(graph: Graph, part: Any, rows: str) -> str:
    sizes = graph.call("Abs", rows)
    if part.norm == "max":
        norms = graph.call("ReduceMax", sizes, graph.wholes([1]), keepdims=1)
    elif part.norm == "l1":
        norms = graph.row_sums(sizes)
    else:
        norms = graph.call("Sqrt", graph.row_sums(graph.call("Mul", rows, rows)))
    none = graph.call(
        "Less", norms, graph.numbers(10 * np.finfo(np.float64).eps)
    )  # scikit-learn does not scale such rows
    return graph.call("Div", rows, graph.call("Where", none, graph.numbers(1.0), norms))


def _products(graph: Graph, part: Any, rows: str) -> str:
    """Return products of up to `degree` columns, gathered from the rows and a column of ones."""
    width, degree = part.n_features_in_, part.degree
    least, most = degree if isinstance(degree, tuple | list) else (1, degree)
    choose = (
        itertools.combinations if part.interaction_only else itertools.combinations_with_replacement
    )
    terms = [term for size in range(max(1, least), most + 1) for term in choose(range(width), size)]
    terms = [(), *terms] if part.include_bias else terms
    places = np.full((len(terms), max(most, 1)), width)
    for line, term in zip(places, terms, strict=True):
        line[: len(term)] = term
    ones = graph.call(
        "Add", graph.call("Mul", graph.columns(rows, [0]), graph.numbers(0.0)), graph.numbers(1.0)
    )
    both = graph.joined([rows, ones])
    found = graph.columns(both, places[:, 0])
    for factor in places.T[1:]:
        found = graph.call("Mul", found, graph.columns(both, factor))
    return found


def _landmarks(graph: Graph, part: Nystroem, rows: str) -> str:
    values = kernel_values(graph, part.kernel_, rows, part.landmarks_)
    return graph.call("MatMul", values, graph.numbers(part.weights_.astype(part.landmarks_.dtype)))


def _filled(part: SimpleImputer, block: Block) -> Block:
    """Fill missing values, drop columns without a fill value, and append indicators."""
    graph, fills = block.graph, part.statistics_
    places = range(len(fills))
    kept = [place for place in places if part.keep_empty_features or fills[place] == fills[place]]
    shown = [int(place) for place in part.indicator_.features_] if part.add_indicator else []
    if block.matrix is not None:
        gaps = _number_gaps(graph, block.matrix, part.missing_values)
        rows = block.matrix if len(kept) == len(fills) else graph.columns(block.matrix, kept)
        holes = gaps if len(kept) == len(fills) else graph.columns(gaps, kept)
        filled = graph.call("Where", holes, graph.numbers(fills[kept].astype(np.float64)), rows)
        signs = [graph.as_numbers(graph.columns(gaps, shown))] if shown else []
        return _matrix(graph, graph.joined([filled, *signs]), len(kept) + len(shown))
    found, marks = [], []
    for place in places:
        tensor, text = block.column(place)
        gap = (
            _word_gaps(graph, tensor, part.missing_values)
            if text
            else _number_gaps(graph, tensor, part.missing_values)
        )
        if place in kept:
            fill = (
                graph.words([_word(fills[place])], (1, 1))
                if text
                else graph.numbers(float(fills[place]))
            )
            found.append((graph.call("Where", gap, fill, tensor), text))
        if place in shown:
            marks.append((graph.as_numbers(gap), False))
    return Block(graph, None, len(found) + len(marks), [*found, *marks])


def _number_gaps(graph: Graph, rows: str, missing: Any) -> str:
    if missing is None or missing != missing:
        return graph.call("IsNaN", rows)
    if not isinstance(missing, int | float):
        raise BadModel(
            f"SimpleImputer takes {short(missing)} for missing, which is no number, in columns of numbers."
        )
    return graph.call("Equal", rows, graph.numbers(float(missing)))


def _word_gaps(graph: Graph, rows: str, missing: Any) -> str:
    return graph.call("Equal", rows, graph.words([_word(missing)], (1, 1)))


def _word(value: Any) -> str:
    """Return text, or the representation of missing text."""
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return NO_WORD
    raise BadModel(f"{short(value)} stands among words, where an ONNX file can hold words only.")


def _one_hot(part: Any, block: Block) -> Block:
    graph, found = block.graph, []
    drop = part.drop_idx_ if part.drop_idx_ is not None else [None] * len(part.categories_)
    for place, categories in enumerate(part.categories_):
        marks = graph.as_numbers(_equal(graph, *block.column(place), categories))
        kept = [code for code in range(len(categories)) if code != drop[place]]
        if kept:
            found.append(marks if len(kept) == len(categories) else graph.columns(marks, kept))
    return _matrix(graph, graph.joined(found))


def _ordinal(part: Any, block: Block) -> Block:
    """Return the code of each category; unknown and missing values have their own codes."""
    graph, found = block.graph, []
    unknown = np.nan if part.unknown_value is None else float(part.unknown_value)
    for place, categories in enumerate(part.categories_):
        marks = graph.as_numbers(_equal(graph, *block.column(place), categories))
        gaps = [code for code, each in enumerate(categories) if each is None or each != each]
        codes = graph.call(
            "MatMul", marks, graph.numbers(np.arange(len(categories), dtype=float)[:, None])
        )
        known = graph.call("Greater", graph.row_sums(marks), graph.numbers(0.0))
        column = graph.call("Where", known, codes, graph.numbers(unknown))
        if gaps:
            missing = graph.call("Greater", graph.columns(marks, gaps), graph.numbers(0.0))
            column = graph.call(
                "Where", missing, graph.numbers(float(part.encoded_missing_value)), column
            )
        found.append(column)
    return _matrix(graph, graph.joined(found), len(found))


def _equal(graph: Graph, column: str, text: bool, categories: Array) -> str:
    """Compare a column with each category, rows x categories."""
    if text:
        words = [_word(each) for each in categories]
        if len(set(words)) < len(words):
            raise BadModel(_TWO_GAPS)
        return graph.call("Equal", column, graph.words(words, (1, len(words))))
    known = [each for each in categories if each is not None and each == each]
    if not all(isinstance(each, int | float | np.number | np.bool_) for each in known):
        raise BadModel(
            f"a column has categories of mixed kinds, such as {short(categories.tolist())}."
        )
    if len(categories) - len(known) > 1:
        raise BadModel(_TWO_GAPS)
    found = (
        [graph.call("Equal", column, graph.numbers(np.array(known, dtype=float)[None, :]))]
        if known
        else []
    )
    return graph.joined(
        [*found, *([graph.call("IsNaN", column)] if len(known) < len(categories) else [])]
    )


def word_columns(part: Any) -> set[int]:
    """Return the columns of a step that must be text.

    These have text among their categories or fill values.
    """
    if isinstance(part, ColumnTransformer):
        return {places[each] for _, inner, places in branches(part) for each in word_columns(inner)}
    if isinstance(part, Pipeline):  # imputers keep the order of columns that have values
        return {
            each
            for _, step in part.steps
            for each in word_columns(step)
            if isinstance(step, _OF_COLUMNS)
        }
    if isinstance(part, preprocessing.OneHotEncoder | preprocessing.OrdinalEncoder):
        return {
            place
            for place, known in enumerate(part.categories_)
            if any(isinstance(each, str) for each in known)
        }
    fills = part.statistics_ if isinstance(part, SimpleImputer) else ()
    return {place for place, fill in enumerate(fills) if isinstance(fill, str)}


_OF_COLUMNS = (
    ColumnTransformer,
    preprocessing.OneHotEncoder,
    preprocessing.OrdinalEncoder,
    SimpleImputer,
    Pipeline,
)
_MATRICES: dict[type, Callable[[Graph, Any, str], str]] = {
    preprocessing.StandardScaler: _standard,
    preprocessing.MinMaxScaler: _minmax,
    preprocessing.MaxAbsScaler: _maxabs,
    preprocessing.RobustScaler: _robust,
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
