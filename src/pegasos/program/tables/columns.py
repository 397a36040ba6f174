"""Columns of a table: their roles (label, group, weight, features) and kinds, with notes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from pegasos.program.tables.cells import EXAMPLES, date_kind
from pegasos.program.tables.dataset import DATE, NUMBER, TEXT, Array, BadData, Column, ReadOptions
from pegasos.program.tables.messages import listed, near, shown

#: Usual names of the label, in lower case.
LABEL_NAMES = ("y", "label", "target", "class")
#: Names of identifiers: id, row_id, customerID, account no.
_NAMED = re.compile(
    r"(?i:id|index|idx|row|rowid|uid|uuid|guid|unnamed: 0)"
    r"|.*(?i:[_ .-](?:id|uid|uuid|guid|no|nr|number))|.*[a-z](?:Id|ID|No|Nr)"
)
#: Whole numbers are identifiers if all are distinct where chance would make this many pairs equal.
_REPEATS = 10
#: Minimum rows to recognize numbers that grow by one.
_COUNTING = 10
#: Minimum share of distinct values if rows are repeated, from this many rows on.
_DIFFERENT, _FEW = 0.9, 20
#: Text with more distinct values is noted; with more than half of the rows, it is an identifier.
MANY_WORDS, _HALF = 1000, 0.5
#: Repeated rows are not searched in tables of more cells.
_CELLS = 5_000_000


@dataclass(frozen=True)
class Roles:
    """Positions of a table's columns by role: features, label, group and weight."""

    features: list[int]
    label: int | None = None
    group: int | None = None
    weight: int | None = None
    #: Features that are categories, and features that are no identifiers, as the user says.
    text: frozenset[int] = frozenset()
    numbers: frozenset[int] = frozenset()
    #: How the label was found.
    note: str | None = None
    #: Columns copied to predictions.
    kept: tuple[int, ...] = ()

    @property
    def needed(self) -> list[int]:
        """Positions of all columns that are read, in the order of the file."""
        single = [here for here in (self.label, self.group, self.weight) if here is not None]
        return sorted({*self.features, *self.kept, *single})

    def given(self, names: Sequence[str]) -> set[str]:
        """Return the names of columns whose kind the user gave."""
        return {names[here] for here in self.numbers | self.text}


def place(names: Sequence[str], asked: str, option: str, file: str) -> int:
    """Return the position of a column given by its name or its number."""
    if asked in names:
        return list(names).index(asked)
    try:
        position = int(asked)
    except ValueError:
        known = f"its columns are {listed(names)}.{near(asked, names)}"
        raise BadData(f"{file} has no column {shown(asked)} ({option}); {known}") from None
    if not 1 <= abs(position) <= len(names):
        known = f"it has {len(names)} columns"
        raise BadData(f"{file} has no column number {position} ({option}): {known}.")
    return position - 1 if position > 0 else len(names) + position


def find_roles(names: Sequence[str], options: ReadOptions, file: str, header: bool = True) -> Roles:
    """Return the roles of a table's columns by the options, else by their names."""
    taken = {place(names, asked, "--drop", file): "--drop" for asked in options.drop}

    def take(asked: str | None, option: str) -> int | None:
        if asked is None:
            return None
        here = place(names, asked, option, file)
        if here in taken:
            both = f"by {option} and by {taken[here]}; it can have one role"
            raise BadData(f"{file}: column {shown(names[here])} is named {both}.")
        taken[here] = option
        return here

    group, weight = take(options.group, "--group"), take(options.weight, "--weight")
    free = [here for here in range(len(names)) if here not in taken]
    usual = [here for known in LABEL_NAMES for here in free if names[here].strip().lower() == known]
    label, how = None, ""
    if options.label is not None:
        try:
            label, how = take(options.label, "--label"), "by --label"
        except BadData:
            if options.labelled or options.label in names:
                raise
    elif header and usual:
        label, how = usual[0], "by its name"
    elif free and options.labelled:
        label, how = free[-1], "as the last column"
    features = [here for here in free if here != label]
    if not features:
        columns = f"{len(names)} in all, read as {listed(names)}"
        raise BadData(f"{file} has no columns left as features: {columns}. Check its separator.")
    text, numbers = (
        frozenset(place(names, each, f"--{option}", file) for each in asked)
        for option, asked in (("text", options.text), ("number", options.number))
    )
    note = None
    if label is not None:
        note = f"label: column {shown(names[label])} ({label + 1} of {len(names)}), {how}"
    return Roles(features, label, group, weight, text, numbers, note)


def places_of(wanted: Sequence[str], names: Sequence[str], file: str) -> list[int]:
    """Return the positions of a model's columns in a table that may have more, in any order.

    >>> places_of(["age", "height"], ["height", "name", "age"], "people.csv")
    [2, 0]
    """
    where = {name: here for here, name in enumerate(names)}
    if missing := [name for name in wanted if name not in where]:
        what = f"{len(missing)} of the model's {len(wanted)} columns: {listed(missing, 20)}"
        raise BadData(f"{file} lacks {what}. It has {listed(names)}.{near(missing[0], names)}")
    twice = [name for name in wanted if len(where) < len(names) and list(names).count(name) > 1]
    if twice:
        what = f"more than one column called {shown(twice[0])}; keep one of each"
        raise BadData(f"{file} has {what}.")
    return [where[name] for name in wanted]


def match_roles(
    names: Sequence[str], header: bool, columns: Sequence[Column], options: ReadOptions, file: str
) -> Roles:
    """Return the columns of a model in its order, the label if the file has it, and kept ones."""
    wanted = [column.name for column in columns]
    kept = tuple(
        place(names, each, "--weight" if each == options.weight else "--keep", file)
        for each in options.keep
    )
    label = None if options.label is None else place(names, options.label, "--label", file)
    own = options.usual_label
    if label is None and header and own in names and own not in wanted:
        label = list(names).index(str(own))
    rest = [here for here in range(len(names)) if here != label]
    known = {names[here] for here in rest} >= set(wanted)
    if header or (known and len(names) != len(wanted)):
        found = places_of(wanted, [names[here] for here in rest], file)
        features = [rest[here] for here in found]
        if not header and label is None and len(names) == len(features) + 1:
            (label,) = set(rest) - set(features)
        return Roles(features, label, kept=kept)
    if label is None and len(rest) == len(wanted) + 1:
        label = rest.pop()  # without names the label is the last column, as in training
    if len(rest) != len(wanted):
        model = f"the model has {len(wanted)} (one more is taken as the label)"
        raise BadData(
            f"{file} has no names of columns, so they are matched by position; but it has "
            f"{len(names)} columns, and {model}. Add a line with names, or the missing columns."
        )
    return Roles(rest, label, kept=kept)


def find_kinds(series: list[pl.Series], asked: set[str]) -> tuple[dict[str, str], list[str]]:
    """Return the kind of each feature that is no identifier, and notes.

    Columns in `asked`, named by --number or --text, are neither dates nor identifiers; identifiers
    stay if nothing else would.
    """
    dates: dict[str, str] = {
        each.name: kind
        for each in series
        if each.name not in asked and (kind := date_kind(each)) is not None
    }
    different_rows = functools.cache(lambda: _hash_rows(series).n_unique())
    ids = [
        each
        for each in series
        if each.name not in asked | dates.keys()
        and (_is_text_id(each) if each.dtype == pl.String else _is_number_id(each, different_rows))
    ]
    ids = ids if len(ids) < len(series) else []
    notes = [_identifiers_note(ids)] if ids else []
    if dates:
        how = [
            name if kind == DATE else f"{name} (as {EXAMPLES[kind]})"
            for name, kind in dates.items()
        ]
        notes.append(f"dates in {listed(how)}: read as days since 1970-01-01")
    left_out = {each.name for each in ids}
    kinds = {
        each.name: dates.get(each.name, TEXT if each.dtype == pl.String else NUMBER)
        for each in series
        if each.name not in left_out
    }
    return kinds, notes


def _hash_rows(series: list[pl.Series]) -> pl.Series:
    columns = [each.alias(str(place)) for place, each in enumerate(series)]
    return pl.DataFrame(columns).hash_rows(seed=0)


def _identifiers_note(found: list[pl.Series]) -> str:
    """Return the note about excluded identifiers, with an option for each of their types."""
    first = {each.dtype == pl.String: each.name for each in reversed(found)}
    pairs = (("--number", first.get(False)), ("--text", first.get(True)))
    options = " and ".join(f"{option} {listed([name])}" for option, name in pairs if name)
    names = listed(each.name for each in found)
    if len(found) > 1:
        return f"{names} are excluded as likely IDs; use {options} to keep them"
    return f"{names} is excluded as a likely ID; use {options} to keep it"


def _is_text_id(words: pl.Series) -> bool:
    """Return whether nearly every row has its own text."""
    present = len(words) - words.null_count()
    if present < _FEW:
        return False
    different = words.drop_nulls().n_unique()
    return different > _DIFFERENT * present or different > max(MANY_WORDS, _HALF * present)


def _is_number_id(series: pl.Series, different_rows: Callable[[], int]) -> bool:
    """Return whether whole numbers count the rows, or each belongs to one row.

    The column has a name such as "id", or chance would repeat some numbers.
    """
    named = _NAMED.fullmatch(series.name.strip()) is not None
    there = series.drop_nulls() if series.dtype.is_numeric() else series.clear()
    if len(there) < (3 if named else _COUNTING):
        return False
    values = there.to_numpy()
    if not np.all(values == np.rint(values)):
        return False
    if np.all(np.abs(np.diff(values)) == 1) and abs(values[-1] - values[0]) == len(values) - 1:
        return True
    equal_pairs = len(values) ** 2 / (2 * (values.max() - values.min() + 1))
    if not named and equal_pairs < _REPEATS:
        return False
    different = there.n_unique()
    mostly = len(there) >= _FEW and different > _DIFFERENT * len(there)
    return different == len(there) or (mostly and (named or different == different_rows()))


def gap_notes(missing: dict[str, int], words: list[str], file: str, strict: bool) -> list[str]:
    """Return notes about missing numbers by column, and about text; raise BadData if `strict`."""
    gaps = listed(f"{name} ({count})" for name, count in missing.items() if count)
    columns = f"column{'s' * (len(words) > 1)} {listed(words)}"
    if strict and gaps:
        todo = f"missing numbers in {gaps}; --strict allows none. Fill or drop them"
        raise BadData(f"{file}: {todo}.")
    if strict and words:
        raise BadData(f"{file}: text in {columns}; --strict allows only numbers. Drop it.")
    notes = []
    if gaps:
        how = "filled with the median, plus a missing-value indicator"
        notes.append(f"missing numbers in {gaps}: {how}")
    if words:
        how = "one-hot encoded; categories without training rows become zeros"
        notes.append(f"text {columns}: {how}")
    return notes


def oddities(series: list[pl.Series], y: Array | None) -> list[str]:
    """Return notes about constant columns, text of many values, and repeated rows."""
    notes = []
    # Comparing the ends first saves the count of distinct values in nearly all columns.
    if constant := [
        each.name
        for each in series
        if len(each) > 1 and each[0] == each[-1] and each.n_unique() == 1
    ]:
        notes.append(f"constant columns carry no information: {listed(constant)}")
    for each in series:
        if each.dtype == pl.String and (different := each.n_unique()) > MANY_WORDS:
            what = f"has {different} different values in {len(each)} rows: --drop it if an ID"
            notes.append(f"text column {listed([each.name])} {what}")
    return notes + (_repeated(series, y) if len(series) * len(series[0]) <= _CELLS else [])


def _repeated(series: list[pl.Series], y: Array | None) -> list[str]:
    """Return notes about repeated rows, and about equal rows with different labels."""
    codes = np.zeros(len(series[0])) if y is None else np.unique(y, return_inverse=True)[1]
    rows = pl.DataFrame({"row": _hash_rows(series), "label": codes})
    different, pairs, notes = rows["row"].n_unique(), rows.n_unique(), []
    if pairs < rows.height:
        what = "rows are exact repeats of others: in validation they may be on both sides"
        notes.append(f"{rows.height - pairs} {what}")
    if pairs > different:
        contrary = rows.filter(pl.col("label").n_unique().over("row") > 1).height
        what = "rows are equal to others in all features but not in the label"
        notes.append(f"{contrary} {what}: no model can predict all of them correctly")
    return notes
