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

#: A decimal number in ASCII; beyond four digits of exponent it is text.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")


def label_text(label: Any) -> str:
    """Return the text of a class; labels of any file or type are one class if texts are equal.

    Numbers count by their exact value, and floats by their shortest text. Everything else is text
    without surrounding blanks; a missing label is nan.

    >>> {label_text(each) for each in (1, 1.0, np.float32(1), "1", "+1", " 01 ", b"1", "10e-1")}
    {'1'}
    >>> label_text(0.1) == label_text(np.float32(0.1)) == label_text("0.10")
    True
    >>> label_text("9007199254740993"), label_text(2.0**53)
    ('9007199254740993', '9007199254740992')
    >>> [label_text(each) for each in ("1_0", "1,5", "0x1", " big ", True, None, float("nan"))]
    ['1_0', '1,5', '0x1', 'big', 'True', 'nan', 'nan']
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
    """Return the texts of distinct labels, and for each label the position of its text.

    A text may occur twice.
    """
    labels = np.asarray(labels)
    if labels.dtype.kind != "O":
        distinct, places = np.unique(labels, return_inverse=True)
        return [label_text(label) for label in distinct], places.reshape(-1)
    # Mixed kinds of labels do not sort; the type is in the key because True equals 1.
    seen: dict[tuple[type, Any], int] = {}
    codes = [seen.setdefault((type(label), label), len(seen)) for label in labels]
    return [label_text(label) for _, label in seen], np.array(codes, dtype=np.intp)


def label_texts(labels: Any) -> Array:
    """Return the text of each label.

    >>> label_texts([1.0, 2.5]).tolist() == label_texts(["1", "2.50"]).tolist()
    True
    """
    texts, places = distinct_texts(labels)
    return np.array(texts, dtype=str)[places]


def cast(values: Any, dtype: Any) -> Any:
    """Convert to another type without warnings; overflow becomes infinite."""
    with np.errstate(all="ignore"):
        return values.astype(dtype, copy=False)


def simplest(values: Array) -> Array:
    """Return numbers as integers if all are whole, and text without surrounding blanks."""
    if values.dtype.kind in "iub":
        return values.astype(np.int64)
    if values.dtype.kind == "f":
        values = cast(values, np.float64)
        whole = np.all((np.abs(values) < 2**53) & (values == np.rint(values)))
        return values.astype(np.int64) if whole else values
    is_bytes = values.dtype.kind == "S"
    texts = np.char.decode(values, "utf-8", "replace") if is_bytes else values.astype(str)
    return np.char.strip(texts)


def unlabelled_note(count: int, rows: int, column: str, file: str, strict: bool) -> list[str]:
    """Return a note about rows without a label, if there are any; raise BadData if `strict`."""
    if not count:
        return []
    if count == rows:
        raise BadData(f"{file}: no row has a label in column {shown(column)}.")
    if strict:
        what = f"{count:,} of {rows:,} rows have no label (column {shown(column)})"
        remedy = "Fill in the labels, or drop these rows."
        raise BadData(f"{file}: {what}; --strict allows none. {remedy}")
    return [f"{count:,} of {rows:,} rows have no label and are ignored"]


def rare_classes(counts: Mapping[str, int]) -> list[str]:
    """Return a question about each class that may be a mistake: under 5 rows and at most 1 %.

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
    """Return the labels of training rows, or refuse a column that holds no classes."""
    y = simplest(values)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y)))
        what = f"the label (column {shown(name)}) is missing or infinite"
        raise BadData(f"{file}, {where(row)}: {what}.")
    classes, column = np.unique(y), f"{file}: column {shown(name)}"
    if len(classes) < 2:
        found = f"only {shown(classes[0])}" if len(classes) else "nothing"
        remedy = "Use --label if another column is the label."
        raise BadData(f"{column} holds {found}; two classes are needed. {remedy}")
    check_classes(y.dtype.kind == "f", len(classes), len(y), column)
    return y


def check_classes(fractions: bool, count: int, rows: int, column: str) -> None:
    """Refuse labels that are too many to be classes."""
    wrong = None
    if fractions and count > 20 and count > rows / 20:
        numbers = f"{count} different numbers in {rows} rows"
        wrong = f"looks continuous ({numbers}), and this program classifies"
    elif count > max(100, rows / 2):
        values = f"{count} different values in {rows} rows"
        wrong = f"has {values}: an ID or a measurement rather than classes"
    if wrong:
        raise NotClasses(f"{column} {wrong}. Use --label to name the column of classes.")


def plausible_labels(distinct: Mapping[str, int], rows: int) -> str:
    """Return a sentence about columns that could be the label, from their numbers of values.

    >>> plausible_labels({"age": 71, "smoker": 2, "id": 500, "level": 3}, 500)
    ' Columns that could: smoker (2 values), level (3 values).'
    """
    few = sorted((n, name) for name, n in distinct.items() if 2 <= n <= min(20, rows / 10))
    names = listed(f"{name} ({n} values)" for n, name in few)
    return f" Columns that could: {names}." if few else ""


def checked_weights(values: Any, name: str, file: str, where: Where) -> Array:
    """Return weights, or refuse those that are infinite, negative or all zero."""
    weights = np.asarray(values)
    if weights.dtype.kind not in "iufb":
        raise BadData(f"{file}: column {shown(name)} (--weight) holds text; weights are numbers.")
    weights = cast(weights, np.float64)
    wrong = ~(weights <= LARGEST) | (weights < 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        limits = f"it must be 0 or more, and at most {LARGEST:g}"
        what = f"the weight (column {shown(name)}) is {weights[row]}; {limits}"
        raise BadData(f"{file}, {where(row)}: {what}.")
    if not weights.any():
        raise BadData(f"{file}: all weights (column {shown(name)}) are 0.")
    return weights
