"""A file or standard input as bytes that can be read more than once, unpacked on the way."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
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
from pegasos.program.tables.messages import near, plain, size

#: First bytes of a packed file, and how it is opened.
_PACKERS: dict[bytes, tuple[str, Any]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}
_HEAD = 2**16


@dataclass
class Source:
    """A readable file: where it is, its name in messages, how it is packed, and its first bytes, unpacked."""

    path: Path
    name: str
    packer: str | None = None
    head: bytes = b""

    def pieces(self, count: int, most: int | None = None) -> Generator[bytes, None, None]:
        """The unpacked bytes, `count` at a time; damage is BadData, and so is a packed file that swells beyond `most` bytes."""
        opener = next((opener for name, opener in _PACKERS.values() if name == self.packer), open)
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
                    raise BadData(
                        f"{self.name} unpacks to more than {size(most)}; give it more memory, or less data."
                    )
                yield piece

    @property
    def extension(self) -> str:
        """The last extension that is not one of a packer, in small letters, such as '.csv'."""
        suffixes = [suffix.lower() for suffix in Path(self.name).suffixes]
        return next(
            (suffix for suffix in reversed(suffixes) if suffix not in (".gz", ".bz2", ".xz")), ""
        )


@contextlib.contextmanager
def opened(source: str | Path) -> Iterator[Source]:
    """A source, from a path or "-" for standard input; what cannot be read twice is kept in a temporary file meanwhile."""
    if str(source) == "-":
        if sys.stdin is None:
            raise BadData(
                "standard input is closed: give the name of a file instead of -, or send data to it."
            )
        with _spooled(sys.stdin.buffer) as path:
            yield _checked(path, "standard input")
        return
    path, name = Path(source), plain(source)
    try:
        mode = path.stat().st_mode
        if not stat.S_ISFIFO(mode) and not stat.S_ISREG(mode):
            kind = "folder" if stat.S_ISDIR(mode) else "device"
            raise BadData(f"{name} is a {kind}, not a file; name the file of data itself.")
        stream = path.open("rb")
    except FileNotFoundError as error:
        raise BadData(_missing(path, name)) from error
    except OSError as error:
        raise BadData(f"{name} cannot be read: {plain(error.strerror or error)}.") from error
    except ValueError as error:
        raise (
            error
            if isinstance(error, BadData)
            else BadData(f"{name} cannot be read: {plain(error)}.")
        ) from error
    with stream, contextlib.nullcontext(path) if stat.S_ISREG(mode) else _spooled(stream) as found:
        yield _checked(found, name)


def _checked(path: Path, name: str) -> Source:
    with path.open("rb") as stream:
        magic = stream.read(6)
    if not magic:
        raise NoRows(f"{name} is empty.")
    found = Source(
        path,
        name,
        next((packer for begin, (packer, _) in _PACKERS.items() if magic.startswith(begin)), None),
    )
    with contextlib.closing(found.pieces(_HEAD)) as pieces:
        found.head = next(pieces, b"")
    if not found.head:
        raise NoRows(f"{name} is empty once unpacked.")
    return found


@contextlib.contextmanager
def _spooled(stream: IO[bytes]) -> Iterator[Path]:
    with temporary_folder() as folder:
        with open(path := folder / "spooled", "wb") as copy:
            shutil.copyfileobj(stream, copy, 2**20)
        yield path


def _missing(path: Path, name: str) -> str:
    try:
        beside = sorted(each.name for each in path.parent.iterdir())
    except OSError:
        return f"{name} does not exist, nor does its folder."
    return f"{name} does not exist.{near(path.name, beside)}"
