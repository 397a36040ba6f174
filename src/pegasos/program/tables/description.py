"""The description of a set, and what its numbers advise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pegasos.program.tables.dataset import NUMBER, TEXT
from pegasos.program.tables.labels import rare_classes
from pegasos.program.tables.messages import listed

#: So many times the rows of the rarest class make a table unbalanced.
UNBALANCED = 3


@dataclass
class Feature:
    """One feature. Numbers have statistics of the values that are there (deviation: divided by their count, as in a
    standardizer); words have the number of distinct ones."""

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
    #: How many values have |z| >= the threshold, z = (value - mean)/std.
    outliers: int = 0
    distinct: int | None = None


@dataclass
class Description:
    """What `describe` found."""

    name: str
    rows: int
    features: int
    dtype: str
    sparse: bool
    #: Share of numbers that are not zero, for sparse rows.
    density: float | None = None
    #: Label and number of its rows, the largest class first.
    classes: list[tuple[str, int]] = field(default_factory=list)
    #: Share of the largest class, and the error of always guessing it: 1 minus that.
    largest_share: float | None = None
    guessing_error: float | None = None
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
    #: Where a number is not what it seems: taken from a sample, or from some of the features.
    notes: list[str] = field(default_factory=list)


def advise(found: Description, image: bool, pixels: bool = False) -> Iterator[str]:
    """What the numbers of a description suggest, a line each.

    `image`: whether rows are known to be images; `pixels`: whether all columns are whole numbers in the range of pixels.
    """
    if pixels:
        high = max(f.max or 0.0 for f in found.columns)
        yield f"Scaling: --scale normalize, which is the default for pixels, here 0 to {high:g}."
    else:
        yield _advise_scaling(found, image)
    if found.classes:
        (most, many), (least, few) = found.classes[0], found.classes[-1]
        assert found.guessing_error is not None
        yield f"Classes: {guessing_words(most, found.guessing_error)}; a learner must do better than that."
        if len(found.classes) == 1:
            yield f"Classes: all labels are {most!r}; there is nothing to tell apart."
        elif len(found.classes) > max(50, found.rows // 10):
            yield f"Classes: {len(found.classes)} distinct labels or more in {found.rows} rows; is the label a number to predict?"
        elif is_unbalanced([many, few]):
            yield f"Classes: {most!r} has {many / few:.0f} times the rows of {least!r}; {fitting_words(len(found.classes))}."
        yield from (f"Classes: {each}" for each in rare_classes(dict(found.classes)))
    yield from _advise_oddities(found, image)
    gigabytes = 4 * found.rows**2 / 1e9
    much = f"{gigabytes:.3g} GB" if gigabytes >= 0.1 else f"{1000 * gigabytes:.3g} MB"
    size = (
        f"Size: the whole kernel matrix, {found.rows} x {found.rows} in float32, would take {much}"
    )
    yield size + (
        "."
        if gigabytes < 1
        else "; where memory is short, its rows are computed as they are needed, more slowly."
    )


def guessing_words(label: str, error: float) -> str:
    """What always answering the most frequent class would give.

    >>> guessing_words("stayed", 0.0985)
    "always guessing 'stayed' errs on 9.85 %"
    """
    return f"always guessing {label!r} errs on {100 * error:.2f} %"


def is_unbalanced(counts: Iterable[int]) -> bool:
    """Whether a class has so many more rows than another that the error says little about the rare one."""
    counts = list(counts)
    return max(counts) >= UNBALANCED * min(counts)


def fitting_words(classes: int) -> str:
    """What to choose by where classes are unbalanced."""
    names = (
        "balanced-error, f1 or average-precision" if classes == 2 else "balanced-error or f1-macro"
    )
    return f"where rare classes matter choose by --metric {names}, and compare --class-weight none,balanced"


def _advise_scaling(found: Description, image: bool) -> str:
    numbers = [f for f in found.columns if f.std and math.isfinite(f.std)]
    if found.sparse:
        why = f"rows are sparse ({found.density:.2%} of the numbers are not zero) and moving their means would fill them"
        return f"Scaling: --scale none, which is the default for such rows; {why}."
    if not numbers:
        return "Scaling: none; there are no numbers that vary."
    low, high = min(f.min or 0.0 for f in numbers), max(f.max or 0.0 for f in numbers)
    # pixels are many, nearly all from the same lowest value, most of them nearly to the same highest
    reach = sum((f.max or 0.0) - low >= 0.5 * (high - low) for f in numbers)
    begin = sum(f.min == low for f in numbers)
    if image or (
        len(numbers) >= 16 and begin >= 0.9 * len(numbers) and reach >= 0.5 * len(numbers)
    ):
        return f"Scaling: none; the {'pixels' if image else 'features'} share one range, {low:g} to {high:g}."
    default = "Scaling: --scale standardize, which is the default;"
    narrow, wide = (pick(numbers, key=lambda f: f.std or 0.0) for pick in (min, max))
    factor = (wide.std or 0.0) / (narrow.std or 1.0)
    far = max(numbers, key=lambda f: abs(f.mean or 0.0) / (f.std or 1.0))
    if factor >= 2:
        ends = f"{narrow.name} {narrow.std:.3g}, {wide.name} {wide.std:.3g}"
        return f"{default} deviations differ by a factor of {factor:.3g} ({ends})."
    if abs(far.mean or 0.0) >= 3 * (far.std or 0.0):
        return f"{default} {far.name} lies far from zero ({far.mean:.3g} ± {far.std:.3g})."
    return f"Scaling: not needed; deviations differ by a factor of {factor:.3g} only."


def _advise_oddities(found: Description, image: bool) -> Iterator[str]:
    if found.outlier_rows:
        each = math.erfc(found.outlier / math.sqrt(2))
        normal = found.rows * -math.expm1(
            sum(f.kind != TEXT for f in found.columns) * math.log1p(-each)
        )
        share = f"{found.outlier_rows} of {found.rows} rows ({found.outlier_rows / found.rows:.2%})"
        advice = f"independent normal features would give about {normal:.0f}. Look at them before --drop-outliers."
        if image or found.sparse:
            advice = (
                "that means little where most values are the same, as in images and sparse rows."
            )
        yield f"Outliers: {share} have a value with |z| >= {found.outlier:g}; {advice}"
    if found.missing:
        also = (
            " (one more category for words)"
            if any(f.kind == TEXT and f.missing for f in found.columns)
            else ""
        )
        there = f"{found.missing} values in {found.rows_with_missing} rows"
        yield f"Missing: {there}; train and tune fill them in{also}, and refuse them with --strict."
    if words := [f for f in found.columns if f.kind == TEXT]:
        widest = max(words, key=lambda f: f.distinct or 0)
        yield f"Words: columns of words become one column a word; the most, {widest.distinct}, has {widest.name}."
    if found.constant:
        names = listed(found.constant, 5)
        what = (
            "feature never changes" if len(found.constant) == 1 else "of the features never change"
        )
        yield f"Constant: {len(found.constant)} {what} ({names}); --drop leaves such columns out."
    if not image and (
        same := [f"{a} and {b} (r = {r:.3f})" for a, b, r in found.correlations if abs(r) >= 0.95]
    ):
        yield f"Correlations: nearly the same are {listed(same, 3)}."
    if found.duplicates or found.contradictions:
        others = f"{found.contradictions} have the features of an earlier one but another label"
        why = "copies on both sides of a split make errors look small"
        yield f"Repeats: {found.duplicates} rows repeat an earlier one, {others}; {why}."
