"""Files of a table: a path, a folder, a pattern or standard input, decompressed on the way."""

from __future__ import annotations

import bz2
import contextlib
import glob
import gzip
import lzma
import os
import re
import shutil
import stat
import sys
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pegasos.program.files import temporary_folder
from pegasos.program.tables.dataset import BadData, NoRows
from pegasos.program.tables.messages import listed, near, plain, size

#: First bytes of a compressed file, and the function that opens it.
_PACKERS: dict[str, tuple[bytes, Any]] = {
    "gzip": (b"\x1f\x8b", gzip.open),
    "bzip2": (b"BZh", bz2.open),
    "xz": (b"\xfd7zXZ\x00", lzma.open),
}
_HEAD = 2**16
#: Usual ratio of text to its compressed size.
_RATIO = 4
_WILDCARD = re.compile(r"[*?[]")
#: Advice for files that do not belong together.
REMEDY = (
    "Mend it, or name the files that belong together by a pattern, such as 'folder/part-*.csv'."
)


@dataclass
class Source:
    """Readable file: its path, name in messages, compression, and first decompressed bytes."""

    path: Path
    name: str
    packer: str | None = None
    head: bytes = b""

    def pieces(self, count: int, most: int | None = None) -> Generator[bytes, None, None]:
        """Yield the decompressed bytes, `count` at a time.

        Damage raises BadData, and so does a compressed file of more than `most` bytes.
        """
        opener = open if self.packer is None else _PACKERS[self.packer][1]
        seen = 0
        with opener(self.path, "rb") as stream:
            while True:
                try:
                    piece = stream.read(count)
                except (EOFError, OSError, zlib.error, lzma.LZMAError, ValueError) as error:
                    what = f"damaged {self.packer} data" if self.packer else "cannot be read"
                    raise BadData(
                        f"{self.name}: {what} ({plain(error)}); copy or pack it again."
                    ) from error
                if not piece:
                    return
                seen += len(piece)
                if self.packer and most is not None and seen > most:
                    todo = "give it more memory, or less data"
                    raise BadData(f"{self.name} unpacks to more than {size(most)}; {todo}.")
                yield piece

    @property
    def unpacked_bytes(self) -> int:
        """Size of the file, estimated if it is compressed."""
        return self.path.stat().st_size * (1 if self.packer is None else _RATIO)

    def check_unpacked(self, word: str) -> None:
        """Refuse a compressed file of a binary format."""
        if self.packer is not None:
            todo = f"unpack it first, {word} is packed inside already"
            raise BadData(f"{self.name} is a packed {word} file; {todo}.")

    @property
    def extension(self) -> str:
        """Last extension that is not one of a compressor, in lower case, such as ".csv"."""
        suffixes = [suffix.lower() for suffix in Path(self.name).suffixes]
        return next((each for each in reversed(suffixes) if each not in (".gz", ".bz2", ".xz")), "")


@dataclass
class Sources:
    """Files of one table in their order; `name` is the path or pattern that was given."""

    name: str
    files: list[Source]
    #: Names of files without rows, which are skipped.
    skipped: list[str]

    @property
    def is_single(self) -> bool:
        """Whether the table is a file that was given by its name."""
        return self.files[0].name == self.name

    def skip(self, source: Source, error: NoRows) -> None:
        """Skip a file without rows; an error if no other is left."""
        if len(self.files) == 1:
            raise error
        if source.name not in self.skipped:
            self.skipped.append(source.name)
        if {source.name for source in self.files} <= {*self.skipped}:
            raise NoRows(f"{self.name}: none of its {len(self.files)} files holds a row.")

    def notes(self) -> list[str]:
        """Return notes about the files of a folder or pattern."""
        if self.is_single:
            return []
        names, count = [plain(source.name) for source in self.files], len(self.files)
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
def opened_sources(source: str | Path) -> Iterator[Sources]:
    """Open the files of a table; "-" is standard input. Empty ones of several are skipped."""
    name = plain(source)
    try:
        paths = files_of(source)
    except OSError as error:
        raise BadData(f"{name} cannot be read: {plain(error.strerror or error)}.") from error
    except ValueError:  # a name that no file can have: opening it gives the error
        paths = None
    if paths is None:
        with _opened(source) as single:
            yield Sources(single.name, [single], [])
        return
    if not paths:
        raise BadData(_no_files(source, name))
    found = Sources(name, [], [])
    for path in paths:
        try:
            with _opened(path) as one:
                found.files.append(one)
        except NoRows:
            found.skipped.append(plain(path))
    if not found.files:
        raise BadData(f"{name}: all of its files are empty: {listed(path.name for path in paths)}.")
    yield found


@contextlib.contextmanager
def _opened(source: str | Path) -> Iterator[Source]:
    """Open a path, or "-" for standard input; pipes are copied to a temporary file."""
    if str(source) == "-":
        if sys.stdin is None:
            todo = "give the name of a file instead of -, or send data to it"
            raise BadData(f"standard input is closed: {todo}.")
        with _spooled(sys.stdin.buffer) as copy:
            yield _with_head(copy, "standard input")
        return
    path, name = Path(source), plain(source)
    try:
        mode = path.stat().st_mode
        if not stat.S_ISFIFO(mode) and not stat.S_ISREG(mode):
            raise OSError("it is a folder or a device, not a file")
        stream = path.open("rb")
    except FileNotFoundError as error:
        if not path.parent.is_dir():
            raise BadData(f"{name} does not exist, nor does its folder.") from error
        beside = sorted(each.name for each in path.parent.iterdir())
        raise BadData(f"{name} does not exist.{near(path.name, beside)}") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadData(f"{name} cannot be read: {plain(reason)}.") from error
    with stream, contextlib.nullcontext(path) if stat.S_ISREG(mode) else _spooled(stream) as found:
        yield _with_head(found, name)


def _with_head(path: Path, name: str) -> Source:
    with path.open("rb") as stream:
        magic = stream.read(6)
    packers = (name for name, (begin, _) in _PACKERS.items() if magic.startswith(begin))
    found = Source(path, name, next(packers, None))
    with contextlib.closing(found.pieces(_HEAD)) as pieces:
        found.head = next(pieces, b"")
    if not found.head:
        raise NoRows(f"{name} is empty.")
    return found


@contextlib.contextmanager
def _spooled(stream: IO[bytes]) -> Iterator[Path]:
    with temporary_folder() as folder:
        with open(path := folder / "spooled", "wb") as copy:
            shutil.copyfileobj(stream, copy, 2**20)
        yield path


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
