"""Which column of a table is which: label, group, weight, features; and where the columns of a model are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pegasos.program.tables.dataset import BadData, Column
from pegasos.program.tables.messages import listed, near, shown
from pegasos.program.tables.read_options import Outline, ReadOptions, Wanted

#: Names that a label usually has, in small letters.
LABEL_NAMES = ("y", "label", "target", "class")


@dataclass(frozen=True)
class Roles:
    """Places of columns, counted from 0."""

    features: list[int]
    label: int | None = None
    group: int | None = None
    weight: int | None = None
    #: Features that are words whatever they look like.
    text: frozenset[int] = frozenset()
    #: Features that are numbers although they look like identifiers.
    numbers: frozenset[int] = frozenset()
    #: How the label was found.
    note: str | None = None
    #: Columns that are carried along as they are.
    kept: tuple[int, ...] = ()

    @property
    def needed(self) -> list[int]:
        """All places that must be read, in the order of the file."""
        return sorted(
            {
                *self.features,
                *self.kept,
                *(place for place in (self.label, self.group, self.weight) if place is not None),
            }
        )


def place(names: Sequence[str], asked: str, what: str, file: str) -> int:
    """The place of a column that is given by its name or its position."""
    if asked in names:
        return list(names).index(asked)
    try:
        position = int(asked)
    except ValueError:
        known = f"its columns are {listed(names)}.{near(asked, names)}"
        raise BadData(f"{file} has no column {shown(asked)} ({what}); {known}") from None
    if not 1 <= abs(position) <= len(names):
        raise BadData(
            f"{file} has no column number {position} ({what}): it has {len(names)} columns."
        )
    return position - 1 if position > 0 else len(names) + position


def roles(names: Sequence[str], options: ReadOptions, file: str, header: bool = True) -> Roles:
    """Who plays which part, as the options say, else as the names tell."""
    taken = {place(names, asked, "--drop", file): "--drop" for asked in options.drop}
    group = _taken(names, options.group, "--group", file, taken)
    weight = _taken(names, options.weight, "--weight", file, taken)
    label, why = _label(names, options, file, header, taken)
    features = [here for here in range(len(names)) if here not in taken and here != label]
    if not features:
        columns = f"{len(names)} in all, read as {listed(names)}"
        raise BadData(f"{file} has no columns left as features: {columns}. Is its separator odd?")
    text, numbers = (
        frozenset(place(names, each, f"--{kind}", file) for each in asked)
        for kind, asked in (("text", options.text), ("number", options.number))
    )
    note = (
        None
        if label is None
        else f"label: column {shown(names[label])} ({label + 1} of {len(names)}), {why}"
    )
    return Roles(features, label, group, weight, text, numbers, note)


def outlined(
    names: Sequence[str], roles: Roles, kinds: dict[int, str], size: float, notes: list[str]
) -> Outline:
    """The parts of columns by their names; `kinds` are NUMBER, TEXT or of DATES, `size` is what the whole table would take."""
    label, weight, group = (
        None if place is None else names[place]
        for place in (roles.label, roles.weight, roles.group)
    )
    columns = [Column(names[place], kinds[place]) for place in roles.features]
    return Outline(
        columns, label, weight, group, size, [*notes, *([roles.note] if roles.note else [])]
    )


def _taken(
    names: Sequence[str], asked: str | None, what: str, file: str, taken: dict[int, str]
) -> int | None:
    if asked is None:
        return None
    here = place(names, asked, what, file)
    if here in taken:
        raise BadData(
            f"{file}: column {shown(names[here])} is asked for by {what} and by {taken[here]}; it can play one part."
        )
    taken[here] = what
    return here


def _label(
    names: Sequence[str], options: ReadOptions, file: str, header: bool, taken: dict[int, str]
) -> tuple[int | None, str]:
    if options.label is not None:
        try:
            return _taken(names, options.label, "--label", file, taken), "by --label"
        except BadData:
            if options.labelled or options.label in names:
                raise
            return None, ""
    free = [here for here in range(len(names)) if here not in taken]
    if header and (
        usual := [
            here for known in LABEL_NAMES for here in free if names[here].strip().lower() == known
        ]
    ):
        return usual[0], "by its name"
    return (free[-1], "as the last column") if free and options.labelled else (None, "")


def places_of(wanted: Sequence[str], names: Sequence[str], file: str) -> list[int]:
    """Where each of a model's columns is among the names of a table; their order and further columns do not matter.

    >>> places_of(["age", "height"], ["height", "name", "age"], "people.csv")
    [2, 0]
    """
    where = {name: here for here, name in enumerate(names)}
    if missing := [name for name in wanted if name not in where]:
        what = f"{len(missing)} of the model's {len(wanted)} columns: {listed(missing, 20)}"
        raise BadData(f"{file} lacks {what}. It has {listed(names)}.{near(missing[0], names)}")
    if len(where) < len(names) and (
        twice := [name for name in wanted if list(names).count(name) > 1]
    ):
        raise BadData(
            f"{file} has more than one column called {shown(twice[0])}; keep one of each."
        )
    return [where[name] for name in wanted]


def matched(
    names: Sequence[str], header: bool, wanted: Wanted, options: ReadOptions, file: str
) -> Roles:
    """Where the columns of a model are, in its order; the label, if the file has it; and what is carried along."""
    found = _matched(names, header, wanted, options, file)
    kept = [
        place(names, each, "--weight" if each == options.weight else "--keep", file)
        for each in options.keep
    ]
    return replace(found, kept=tuple(kept))


def _matched(
    names: Sequence[str], header: bool, wanted: Wanted, options: ReadOptions, file: str
) -> Roles:
    label = None if options.label is None else place(names, options.label, "--label", file)
    if (
        label is None
        and header
        and wanted.label_name in names
        and wanted.label_name not in wanted.names
    ):
        label = list(names).index(str(wanted.label_name))
    rest = [here for here in range(len(names)) if here != label]
    if header or (
        len(names) != len(wanted.columns) and {names[here] for here in rest} >= set(wanted.names)
    ):
        features = [
            rest[here] for here in places_of(wanted.names, [names[here] for here in rest], file)
        ]
        if not header and label is None and len(names) == len(features) + 1:
            label = next(here for here in range(len(names)) if here not in set(features))
        return Roles(features, label)
    if label is None and len(rest) == len(wanted.columns) + 1:
        label = rest.pop()  # without names the label is the last one, as in training
    if len(rest) != len(wanted.columns):
        counts = f"it has {len(names)} columns, and the model has {len(wanted.columns)} (one more is taken as the label)"
        todo = "Add a line with names, or the missing columns"
        raise BadData(
            f"{file} has no names of columns, so they are matched by position; but {counts}. {todo}."
        )
    return Roles(rest, label)
