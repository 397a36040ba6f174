"""A file or standard input as bytes that can be read more than once, decompressed on the way."""

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

#: First bytes of a compressed file, and the function that opens it.
_PACKERS: dict[bytes, tuple[str, Any]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}
_HEAD = 2**16
#: Usual ratio of text to its compressed size.
_RATIO = 4


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


@contextlib.contextmanager
def opened(source: str | Path) -> Iterator[Source]:
    """Open a path, or "-" for standard input; pipes are copied to a temporary file."""
    if str(source) == "-":
        if sys.stdin is None:
            todo = "give the name of a file instead of -, or send data to it"
            raise BadData(f"standard input is closed: {todo}.")
        with _spooled(sys.stdin.buffer) as path:
            yield _checked(path, "standard input")
        return
    path, name = Path(source), plain(source)
    try:
        mode = path.stat().st_mode
        if not stat.S_ISFIFO(mode) and not stat.S_ISREG(mode):
            raise OSError("it is a folder or a device, not a file")
        stream = path.open("rb")
    except FileNotFoundError as error:
        raise BadData(_missing(path, name)) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadData(f"{name} cannot be read: {plain(reason)}.") from error
    with stream, contextlib.nullcontext(path) if stat.S_ISREG(mode) else _spooled(stream) as found:
        yield _checked(found, name)


def _checked(path: Path, name: str) -> Source:
    with path.open("rb") as stream:
        magic = stream.read(6)
    packer = next((name for begin, (name, _) in _PACKERS.items() if magic.startswith(begin)), None)
    found = Source(path, name, packer)
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


def _missing(path: Path, name: str) -> str:
    try:
        beside = sorted(each.name for each in path.parent.iterdir())
    except OSError:
        return f"{name} does not exist, nor does its folder."
    return f"{name} does not exist.{near(path.name, beside)}"
