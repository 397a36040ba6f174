"""A table in one file or in many: a folder or a pattern stands for its files, in the order of their names."""

from __future__ import annotations

import contextlib
import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pegasos.program.tables.dataset import BadData, NoRows
from pegasos.program.tables.messages import listed, near, plain, shown
from pegasos.program.tables.source import Source, opened

#: What a glob is known by.
_WILD = re.compile(r"[*?[]")


@dataclass
class Shards:
    """The files of one table in their order: nearly always one. `name` is what a person called them."""

    name: str
    sources: list[Source]
    #: Files without rows, which are passed over.
    skipped: list[str] = field(default_factory=list)

    def of(self, source: Source) -> str:
        """What to say behind the number of a row or line, so that it is found in a table of many files."""
        return "" if source.name == self.name else f" of {source.name}"

    def rows_of(self, counts: Sequence[int]) -> Callable[[int], str]:
        """From row counted from 0 to words such as "row 12 of part-3.parquet"; `counts` are the rows of each file."""

        def where(row: int) -> str:
            for source, count in zip(self.sources, counts, strict=True):
                if row < count:
                    return f"row {row + 1}{self.of(source)}"
                row -= count
            return "at the end"

        return where

    def skip(self, source: Source, error: NoRows) -> None:
        """Pass over a file without rows; an error if no other is left."""
        if len(self.sources) == 1:
            raise error
        if source.name not in self.skipped:
            self.skipped.append(source.name)
        if {source.name for source in self.sources} <= {*self.skipped}:
            raise NoRows(f"{self.name}: none of its {len(self.sources)} files holds a row.")

    def notes(self) -> list[str]:
        """What a person should know of the files."""
        first, last = self.sources[0], self.sources[-1]
        if not self.of(first):
            return []
        count = f"{len(self.sources)} files in the order of their names, {plain(first.name)} to {plain(last.name)}"
        gone = (
            [f"without rows, and passed over: {listed(Path(name).name for name in self.skipped)}"]
            if self.skipped
            else []
        )
        return [f"{self.name}: {count if len(self.sources) > 1 else plain(first.name)}", *gone]


def is_pattern(source: str | Path) -> bool:
    """Whether this stands for files with such names, and is not itself one."""
    return _WILD.search(str(source)) is not None and not os.path.lexists(source)


def files_of(source: str | Path) -> list[Path] | None:
    """The files that a folder or a pattern stands for, in the order of their names, numbers in them counted as numbers; None for
    what is neither. Hidden files and those that begin with an underscore, as _SUCCESS does, hold no rows and are left out.
    """
    if is_pattern(source):
        found = [Path(each) for each in glob.glob(str(source), recursive=True)]
        wanted = not re.match(r"[._]", Path(source).name)
    elif (path := Path(source)).is_dir():
        found, wanted = list(path.iterdir()), True
    else:
        return None
    kept = [
        path
        for path in found
        if path.is_file() and not (wanted and path.name.startswith((".", "_")))
    ]
    return sorted(kept, key=lambda path: ([_natural(part) for part in path.parts], str(path)))


def _natural(name: str) -> list[tuple[int, str]]:
    """Words and numbers of a name, to sort part-2 before part-10."""
    return [
        (int(piece), "") if piece.isdecimal() else (-1, piece) for piece in re.split(r"(\d+)", name)
    ]


@contextlib.contextmanager
def opened_shards(source: str | Path) -> Iterator[Shards]:
    """All files of a table, ready to be read; empty ones are passed over, and it is an error if there is none at all."""
    try:
        files = files_of(source)
    except OSError as error:
        raise BadData(
            f"{plain(source)} cannot be read: {plain(error.strerror or error)}."
        ) from error
    except ValueError:  # a name that no file can have: opening says so
        files = None
    if files is None:
        with opened(source) as found:
            yield Shards(found.name, [found])
        return
    name = plain(source)
    if not files:
        raise BadData(_nothing(source, name))
    shards = Shards(name, [])
    for path in files:
        try:
            with opened(path) as found:
                shards.sources.append(found)
        except NoRows:
            shards.skipped.append(plain(path))
    if not shards.sources:
        raise BadData(f"{name}: all of its files are empty: {listed(path.name for path in files)}.")
    yield shards


def _nothing(source: str | Path, name: str) -> str:
    path = Path(source)
    if is_pattern(source):
        # the deepest folder without a wildcard in its name
        folder = next(parent for parent in path.parents if not _WILD.search(str(parent)))
        if not folder.is_dir():
            return f"{name}: there is no folder {plain(folder)}."
        beside = sorted(each.name for each in folder.iterdir())
        inside = (
            f"in {plain(folder)} there are {listed(beside)}"
            if beside
            else f"{plain(folder)} is empty"
        )
        return f"{name}: no file has such a name; {inside}.{near(path.name, beside)}"
    if any(each.is_dir() for each in path.iterdir()):
        todo = f"a pattern finds the files in them, such as '{plain(path / '**' / '*.csv')}'"
        return f"{name} is a folder that holds folders only; {todo}."
    return f"{name} is a folder without files of data; name a file, or a folder with files of one format."


def same_columns(
    first: Sequence[str], names: Sequence[str], file: str, first_file: str
) -> list[int]:
    """Where the columns of a table's first file are in another one, in any order; both must have the same."""
    if set(first) == set(names) and len(first) == len(names):
        where = {name: place for place, name in enumerate(names)}
        return [where[name] for name in first]
    lacking, own = (
        [name for name in first if name not in set(names)],
        [name for name in names if name not in set(first)],
    )
    what = [f"lacks {listed(map(shown, lacking))}"] * bool(lacking) + [
        f"has {listed(map(shown, own))} besides"
    ] * bool(own)
    told = " and ".join(what) or f"has {len(names)} columns where {len(first)} are expected"
    raise BadData(
        f"{file} {told}, unlike {first_file}: the files of one table have the same columns. {REMEDY}"
    )


#: The way out where files do not belong together.
REMEDY = (
    "Mend it, or name the files that belong together by a pattern, such as 'folder/part-*.csv'."
)
