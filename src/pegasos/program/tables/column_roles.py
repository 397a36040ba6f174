"""Roles of columns: label, group, weight and features; and the columns of a model in a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pegasos.program.tables.dataset import BadData, Column, ReadOptions
from pegasos.program.tables.messages import listed, near, shown

#: Usual names of the label, in lower case.
LABEL_NAMES = ("y", "label", "target", "class")


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
