"""The description of a table, what its numbers advise, and columns that reveal the label."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.program.tables.dataset import NUMBER, TEXT, Array, Column, holds_words, is_frame
from pegasos.program.tables.labels import rare_classes
from pegasos.program.tables.messages import listed, shown

#: A table is unbalanced if its largest class has this many times the rows of its rarest.
UNBALANCED = 3
#: Rows that are used: half of them train the trees.
MOST_ROWS = 2000
_FEWEST_ROWS = 40
#: Largest error that counts as nearly perfect, and least error of the baseline. On iris, wine,
#: breast cancer and digits the best column errs on 3.6 %, 20.6 %, 8.0 % and 73 %, the best pair on
#: 3.6 %, 9.3 %, 7.0 % and 59 %.
MOST_ERROR, LEAST_BASELINE = 0.01, 0.05
#: Pairs are sought among the best columns: 45 pairs take 0.7 s on digits.
PAIRED_COLUMNS = 10


@dataclass
class Feature:
    """Statistics of one feature.

    Numbers have moments and quartiles of the values present (std: divided by their count, as in a
    standardizer); categories have the number of distinct ones.
    """

    name: str
    kind: str = NUMBER
    missing: int = 0
    mean: float | None = None
    std: float | None = None
    min: float | None = None
    quartile1: float | None = None
    median: float | None = None
    quartile3: float | None = None
    max: float | None = None
    #: Number of values with |z| >= the threshold, z = (value - mean)/std.
    outliers: int = 0
    distinct: int | None = None


@dataclass
class Description:
    """Result of `describe`."""

    name: str
    rows: int
    features: int
    dtype: str
    sparse: bool
    #: Share of numbers that are not zero, for sparse rows.
    density: float | None = None
    #: Label and number of its rows, the largest class first.
    classes: list[tuple[str, int]] = field(default_factory=list)
    #: Share of the largest class, and the error of always predicting it: 1 minus that.
    largest_share: float | None = None
    baseline_error: float | None = None
    missing: int = 0
    rows_with_missing: int = 0
    outlier: float = 3.0
    #: Rows with any |z| >= outlier.
    outlier_rows: int = 0
    #: Rows whose features and label repeat an earlier row.
    duplicates: int = 0
    #: Rows whose features repeat an earlier row's, with a label that is new for them.
    contradictions: int = 0
    constant: list[str] = field(default_factory=list)
    #: The pairs of features with the largest |r|, and r.
    correlations: list[tuple[str, str, float]] = field(default_factory=list)
    columns: list[Feature] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    #: What is estimated, from a sample or some of the features.
    notes: list[str] = field(default_factory=list)


def advise(found: Description, image: bool, pixels: bool = False) -> Iterator[str]:
    """Yield lines of advice on images, or on `pixels`: whole numbers in the range of pixels."""
    if pixels:
        high = max(f.max or 0.0 for f in found.columns)
        yield f"Scaling: --scale normalize, which is the default for pixels, here 0 to {high:g}."
    else:
        yield f"Scaling: {_advise_scaling(found, image)}."
    if found.classes:
        yield from (f"Classes: {each}" for each in _advise_classes(found))
    yield from _advise_oddities(found, image)


def baseline_words(label: str, error: float) -> str:
    """Return the error of always predicting the most frequent class, in words.

    >>> baseline_words("stayed", 0.0985)
    "always predicting 'stayed' has an error of 9.85 %"
    """
    return f"always predicting {label!r} has an error of {100 * error:.2f} %"


def is_unbalanced(counts: Iterable[int]) -> bool:
    """Return whether the largest class has several times the rows of the rarest."""
    counts = list(counts)
    return max(counts) >= UNBALANCED * min(counts)


def fitting_words(classes: int) -> str:
    """Return advice on the metric for unbalanced classes."""
    pair, many = "balanced-error, f1 or average-precision", "balanced-error or f1-macro"
    metric = f"--metric {pair if classes == 2 else many}"
    return f"if rare classes matter, choose by {metric}, and compare --class-weight none,balanced"


def _advise_classes(found: Description) -> Iterator[str]:
    (most, many), (least, few) = found.classes[0], found.classes[-1]
    assert found.baseline_error is not None
    yield f"{baseline_words(most, found.baseline_error)}; a useful model must be better."
    count = len(found.classes)
    if count == 1:
        yield f"all labels are {most!r}; there is nothing to learn."
    elif count > max(50, found.rows // 10):
        labels = f"{count} distinct labels or more in {found.rows} rows"
        yield f"{labels}; is the label a number to predict?"
    elif is_unbalanced([many, few]):
        more = f"{most!r} has {many / few:.0f} times the rows of {least!r}"
        yield f"{more}; {fitting_words(count)}."
    yield from rare_classes(dict(found.classes))


def _advise_scaling(found: Description, image: bool) -> str:
    numbers = [f for f in found.columns if f.std and math.isfinite(f.std)]
    if found.sparse:
        why = f"rows are sparse ({found.density:.2%} of the numbers are not zero)"
        return f"--scale none, which is the default: {why}, and centering would fill them"
    if not numbers:
        return "none; there are no numbers that vary"
    if image:
        low, high = min(f.min or 0.0 for f in numbers), max(f.max or 0.0 for f in numbers)
        return f"none; the pixels share one range, {low:g} to {high:g}"
    default = "--scale standardize, which is the default;"
    narrow, wide = (pick(numbers, key=lambda f: f.std or 0.0) for pick in (min, max))
    factor = (wide.std or 0.0) / (narrow.std or 1.0)
    far = max(numbers, key=lambda f: abs(f.mean or 0.0) / (f.std or 1.0))
    if factor >= 2:
        ends = f"{narrow.name} {narrow.std:.3g}, {wide.name} {wide.std:.3g}"
        return f"{default} stds differ by a factor of {factor:.3g} ({ends})"
    if abs(far.mean or 0.0) >= 3 * (far.std or 0.0):
        return f"{default} {far.name} lies far from zero ({far.mean:.3g} ± {far.std:.3g})"
    return f"not needed; stds differ by a factor of {factor:.3g} only"


def _advise_oddities(found: Description, image: bool) -> Iterator[str]:
    texts = [f for f in found.columns if f.kind == TEXT]
    if found.outlier_rows:
        each = math.erfc(found.outlier / math.sqrt(2))
        numeric = len(found.columns) - len(texts)
        normal = found.rows * -math.expm1(numeric * math.log1p(-each))
        share = f"{found.outlier_rows} of {found.rows} rows ({found.outlier_rows / found.rows:.2%})"
        advice = f"independent normal features would give about {normal:.0f}. "
        advice += "Inspect them before using --drop-outliers."
        if image or found.sparse:
            advice = "that means little where most values are equal, as in images and sparse rows."
        yield f"Outliers: {share} have a value with |z| >= {found.outlier:g}; {advice}"
    if found.missing:
        also = ", in text columns as one more category" * any(f.missing for f in texts)
        there = f"{found.missing} values in {found.rows_with_missing} rows"
        yield f"Missing: {there}; train and tune fill them{also}; --strict refuses them."
    if texts:
        widest = max(texts, key=lambda f: f.distinct or 0)
        most = f"{widest.name} has the most values ({widest.distinct})"
        yield f"Categories: text columns are one-hot encoded; {most}."
    if found.constant:
        names, count = listed(found.constant, 5), len(found.constant)
        what = "feature never changes" if count == 1 else "of the features never change"
        yield f"Constant: {count} {what} ({names}); --drop excludes such columns."
    same = [f"{a} and {b} (r = {r:.3f})" for a, b, r in found.correlations if abs(r) >= 0.95]
    if same and not image:
        yield f"Correlations: nearly identical are {listed(same, 3)}."
    if found.duplicates or found.contradictions:
        others = f"{found.contradictions} have the features of an earlier one but another label"
        why = "copies in both training and test rows make errors look too small"
        yield f"Repeats: {found.duplicates} rows repeat an earlier one, {others}; {why}."


def leaks(X: Any, columns: list[Column], labels: Array, seed: int = 0) -> list[str]:
    """Return a sentence about each column, else each pair, that predicts the label by itself."""
    _, y = np.unique(labels, return_inverse=True)
    if sparse.issparse(X) or len(y) < _FEWEST_ROWS or 2 * y.max() > len(y):
        return []
    rows = np.random.default_rng(seed).permutation(len(y))[:MOST_ROWS]
    X, y = X[rows], y[rows]
    train = np.arange(len(y)) < len(y) // 2
    usual = np.bincount(y[train]).argmax()
    if float((y[~train] != usual).mean()) < LEAST_BASELINE:
        return []
    values = _as_numbers(X, y, train)
    names = [shown(column.name) for column in columns] or [f"x{j + 1}" for j in range(len(values))]
    errors = [_error(each[:, None], y, train) for each in values]
    found = [(e, f"column {name} alone predicts") for e, name in zip(errors, names, strict=True)]
    if not values or min(errors) > MOST_ERROR:
        found = []
        best = np.argsort(errors, kind="stable")[:PAIRED_COLUMNS]
        for i, j in combinations(sorted(best), 2):
            pair = np.column_stack([values[i], values[j], values[i] - values[j]])
            what = f"columns {names[i]} and {names[j]} alone predict"
            found.append((_error(pair, y, train), what))
    return [
        f"{what} the label with an error of {100 * error:.1f} % on held-out rows: "
        "if its value is known only after the label, exclude it with --drop"
        for error, what in sorted(found, key=lambda each: each[0])[:5]
        if error <= MOST_ERROR
    ]


def _as_numbers(X: Any, y: Array, train: Array) -> list[Array]:
    """Return finite numbers for each column.

    A category becomes its most frequent class in the training rows, or -1.
    """
    if not is_frame(X):
        return list(np.asarray(X, dtype=np.float64).T)
    found = []
    for column in X.get_columns():
        if holds_words(column):
            _, codes = np.unique(column.fill_null("").to_numpy().astype(str), return_inverse=True)
            counts = np.zeros((codes.max() + 1, y.max() + 1))
            np.add.at(counts, (codes[train], y[train]), 1)
            usual = np.where(counts.any(axis=1), counts.argmax(axis=1), -1)
            found.append(usual[codes].astype(np.float64))
        else:
            numbers = column.cast(float).to_numpy()
            lowest = np.nanmin(numbers, initial=0.0)
            found.append(np.where(np.isfinite(numbers), numbers, lowest - 1))
    return found


def _error(X: Array, y: Array, train: Array) -> float:
    from sklearn.tree import DecisionTreeClassifier

    with np.errstate(all="ignore"):
        X = np.clip(X, -1e30, 1e30)  # trees compute in float32
    tree = DecisionTreeClassifier(max_leaf_nodes=max(2, 4 * int(y.max() + 1)), random_state=0)
    return float((tree.fit(X[train], y[train]).predict(X[~train]) != y[~train]).mean())
