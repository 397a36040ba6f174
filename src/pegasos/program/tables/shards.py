"""A table in one file or in many: a folder or a pattern stands for its files."""

from __future__ import annotations

import contextlib
import glob
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pegasos.program.tables.dataset import BadData, NoRows
from pegasos.program.tables.messages import listed, near, plain
from pegasos.program.tables.source import Source, opened

_WILDCARD = re.compile(r"[*?[]")
#: Advice for files that do not belong together.
REMEDY = (
    "Mend it, or name the files that belong together by a pattern, such as 'folder/part-*.csv'."
)


@dataclass
class Shards:
    """Files of one table in their order; `name` is the path or pattern that was given."""

    name: str
    sources: list[Source]
    #: Files without rows, which are skipped.
    skipped: list[str] = field(default_factory=list)

    def of(self, source: Source) -> str:
        """Return the words after the number of a row or line in a table of many files."""
        return "" if source.name == self.name else f" of {source.name}"

    def skip(self, source: Source, error: NoRows) -> None:
        """Skip a file without rows; an error if no other is left."""
        if len(self.sources) == 1:
            raise error
        if source.name not in self.skipped:
            self.skipped.append(source.name)
        if {source.name for source in self.sources} <= {*self.skipped}:
            raise NoRows(f"{self.name}: none of its {len(self.sources)} files holds a row.")

    def notes(self) -> list[str]:
        """Return notes about the files of a folder or pattern."""
        if not self.of(self.sources[0]):
            return []
        names, count = [plain(source.name) for source in self.sources], len(self.sources)
        many = f"{count} files in the order of their names, {names[0]} to {names[-1]}"
        notes = [f"{self.name}: {many if count > 1 else names[0]}"]
        if self.skipped:
            skipped = listed(Path(name).name for name in self.skipped)
            notes.append(f"without rows, and passed over: {skipped}")
        return notes


def is_pattern(source: str | Path) -> bool:
    """Return whether a name is a pattern for files, and not itself a file."""
    return _WILDCARD.search(str(source)) is not None and not os.path.lexists(source)


def files_of(source: str | Path) -> list[Path] | None:
    """Return the files of a folder or pattern by name, part-2 before part-10; None for a file.

    Hidden files, and those that begin with an underscore, such as _SUCCESS, are left out.
    """
    if is_pattern(source):
        found = [Path(each) for each in glob.glob(str(source), recursive=True)]
        skips = not re.match(r"[._]", Path(source).name)
    elif (path := Path(source)).is_dir():
        found, skips = list(path.iterdir()), True
    else:
        return None
    kept = [each for each in found if each.is_file() and not (skips and each.name[0] in "._")]
    return sorted(kept, key=lambda path: ([_natural(part) for part in path.parts], str(path)))


def _natural(name: str) -> list[tuple[int, str]]:
    pieces = re.split(r"(\d+)", name)
    return [(int(piece), "") if piece.isdecimal() else (-1, piece) for piece in pieces]


@contextlib.contextmanager
def opened_shards(source: str | Path) -> Iterator[Shards]:
    """Open all files of a table; empty ones are skipped, and an error if there is no other."""
    name = plain(source)
    try:
        files = files_of(source)
    except OSError as error:
        raise BadData(f"{name} cannot be read: {plain(error.strerror or error)}.") from error
    except ValueError:  # a name that no file can have: opening it gives the error
        files = None
    if files is None:
        with opened(source) as found:
            yield Shards(found.name, [found])
        return
    if not files:
        raise BadData(_no_files(source, name))
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


def _no_files(source: str | Path, name: str) -> str:
    path = Path(source)
    if not is_pattern(source):
        todo = "name files inside it by a pattern, such as 'folder/**/*.csv'"
        return f"{name} is a folder without files of data; {todo}."
    folder = next(parent for parent in path.parents if not _WILDCARD.search(str(parent)))
    if not folder.is_dir():
        return f"{name}: there is no folder {plain(folder)}."
    beside = sorted(each.name for each in folder.iterdir())
    inside = f"in {plain(folder)} there are {listed(beside)}" if beside else "the folder is empty"
    return f"{name}: no file has such a name; {inside}.{near(path.name, beside)}"
