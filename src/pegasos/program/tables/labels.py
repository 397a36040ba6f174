"""Labels, groups and weights: one text for each class, and checks of what a training file holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from pegasos.program.tables.dataset import LARGEST, Array, BadData, NotClasses
from pegasos.program.tables.messages import listed, shown

#: From row counted from 0 to words such as "line 12".
Where = Callable[[int], str]

#: A decimal number in ASCII; beyond four digits of exponent it is text, which no number of a computer prints.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")


def label_text(label: Any) -> str:
    """The one text of a class, whatever file or type its label came in: labels are the same class if their texts are equal.

    A number written in decimals counts by its exact value, so no digits are lost in numbers that are too long for a float:

    >>> [
    ...     label_text(each)
    ...     for each in (1, 1.0, np.float32(1), "1", "1.0", "+1", " 01 ", b"1", "10e-1")
    ... ] == ["1"] * 9
    True
    >>> label_text(0.1) == label_text(np.float32(0.1)) == label_text(
    ...     "0.10"
    ... )  # a float counts by its shortest text
    True
    >>> (
    ...     label_text("9007199254740993"),
    ...     label_text(2.0**53),
    ...     label_text(1e23) == label_text("1" + 23 * "0"),
    ... )
    ('9007199254740993', '9007199254740992', True)

    Everything else is text and stays as it is, apart from blanks around it. Truth values are words, too, and a label that is
    missing is called nan, as NumPy prints it:

    >>> [
    ...     label_text(each)
    ...     for each in (
    ...         "1_0",
    ...         "1,5",
    ...         "0x1",
    ...         " big ",
    ...         True,
    ...         None,
    ...         float("nan"),
    ...         "NaN",
    ...         float("inf"),
    ...     )
    ... ]
    ['1_0', '1,5', '0x1', 'big', 'True', 'nan', 'nan', 'NaN', 'inf']
    """
    if label is None:
        return "nan"
    text = (label.decode(errors="replace") if isinstance(label, bytes) else str(label)).strip()
    if not _NUMBER.fullmatch(text):
        return text
    exact = Decimal(text)
    plain = f"{exact:f}"
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    if "." not in plain:
        return plain if exact else "0"
    shortest = repr(float(plain))
    return shortest if Decimal(shortest) == exact else plain


def distinct_texts(labels: Any) -> tuple[list[str], Array]:
    """Texts of the labels that differ, and for each label the place of its text among them; a text may be there twice."""
    labels = np.asarray(labels)
    if labels.dtype.kind != "O":
        distinct, places = np.unique(labels, return_inverse=True)
        return [label_text(label) for label in distinct], places.reshape(-1)
    # Mixed kinds of labels do not sort; the type is part of the key because True equals 1 in a dictionary.
    seen: dict[tuple[type, Any], int] = {}
    codes = [seen.setdefault((type(label), label), len(seen)) for label in labels]
    return [label_text(label) for _, label in seen], np.array(codes, dtype=np.intp)


def label_texts(labels: Any) -> Array:
    """The text of each label.

    >>> label_texts([1.0, 2.5]).tolist() == label_texts(["1", "2.50"]).tolist()
    True
    """
    texts, places = distinct_texts(labels)
    return np.array(texts, dtype=str)[places]


def cast(values: Any, dtype: Any) -> Any:
    """Another type without warnings: what overflows becomes infinite, and is found by those who look for that."""
    with np.errstate(all="ignore"):
        return values.astype(dtype, copy=False)


def simplest(values: Array) -> Array:
    """Numbers as whole numbers if they all are, words without blanks around them."""
    if values.dtype.kind in "iub":
        return values.astype(np.int64)
    if values.dtype.kind == "f":
        values = cast(values, np.float64)
        return (
            values.astype(np.int64)
            if np.all((np.abs(values) < 2**53) & (values == np.rint(values)))
            else values
        )
    words = (
        np.char.decode(values, "utf-8", "replace")
        if values.dtype.kind == "S"
        else values.astype(str)
    )
    return np.char.strip(words)


def unlabelled_note(count: int, rows: int, column: str, file: str, strict: bool) -> list[str]:
    """Return a note about rows without a label, if there are any; raise BadData if `strict`."""
    if not count:
        return []
    if count == rows:
        raise BadData(f"{file}: no row has a label in column {shown(column)}.")
    if strict:
        raise BadData(
            f"{file}: {count:,} of {rows:,} rows have no label (column {shown(column)}); --strict allows none. "
            "Fill in the labels, or drop these rows."
        )
    return [f"{count:,} of {rows:,} rows have no label and are ignored"]


def rare_classes(counts: Mapping[str, int]) -> list[str]:
    """Return a question about each class that may be a mistake: fewer rows than five folds, and 1 % of all at most.

    >>> rare_classes({"yes": 300, "no": 280, "maybe": 1})
    ["class 'maybe' has 1 row: a typo?"]
    """
    total = sum(counts.values())
    rare = sorted((n, name) for name, n in counts.items() if 0 < n < 5 and 100 * n <= total)
    if len(rare) > 5:
        names = listed([name for _, name in rare], 5)
        return [f"{len(rare)} classes have fewer than 5 rows: {names}; typos, or too few to learn?"]
    return [f"class {shown(name)} has {n} row{'s' * (n > 1)}: a typo?" for n, name in rare]


def checked_labels(values: Array, name: str, file: str, where: Where) -> Array:
    """Labels of a training file: some classes, not one and not one a row."""
    y = simplest(values)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y)))
        raise BadData(
            f"{file}, {where(row)}: the label (column {shown(name)}) is missing or infinite."
        )
    classes, column = np.unique(y), f"{file}: column {shown(name)}"
    if len(classes) < 2:
        found = f"only {shown(classes[0])}" if len(classes) else "nothing"
        raise BadData(
            f"{column} holds {found}; two classes are needed. Use --label if another column is the label."
        )
    check_classes(y.dtype.kind == "f", len(classes), len(y), column)
    return y


def check_classes(fractions: bool, count: int, rows: int, column: str) -> None:
    """Refuse labels that are too many to be classes."""
    wrong = None
    if fractions and count > 20 and count > rows / 20:
        wrong = f"looks continuous ({count} different numbers in {rows} rows), and this program classifies"
    elif count > max(100, rows / 2):
        wrong = f"has {count} different values in {rows} rows: an ID or a measurement rather than classes"
    if wrong:
        raise NotClasses(
            f"{column} {wrong}. Use --label to name the column that holds the classes."
        )


def plausible_labels(distinct: Mapping[str, int], rows: int) -> str:
    """Return a sentence about the columns that could be the label, from their numbers of distinct values.

    >>> plausible_labels({"age": 71, "smoker": 2, "id": 500, "level": 3}, 500)
    ' Columns that could: smoker (2 values), level (3 values).'
    """
    few = sorted((n, name) for name, n in distinct.items() if 2 <= n <= min(20, rows / 10))
    return (
        f" Columns that could: {listed(f'{name} ({n} values)' for n, name in few)}." if few else ""
    )


def checked_weights(values: Any, name: str, file: str, where: Where) -> Array:
    """Weights: finite, not negative, not all zero."""
    weights = np.asarray(values)
    if weights.dtype.kind not in "iufb":
        raise BadData(f"{file}: column {shown(name)} (--weight) holds words; weights are numbers.")
    weights = cast(weights, np.float64)
    wrong = ~(weights <= LARGEST) | (weights < 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        what = f"the weight (column {shown(name)}) is {weights[row]}; it must be 0 or more, and at most {LARGEST:g}"
        raise BadData(f"{file}, {where(row)}: {what}.")
    if not weights.any():
        raise BadData(f"{file}: all weights (column {shown(name)}) are 0.")
    return weights
