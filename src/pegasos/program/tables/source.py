"""A file or standard input as bytes that can be read more than once, unpacked on the way."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import os
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import near, plain, size

#: First bytes of a packed file, and how it is opened.
_PACKERS: dict[bytes, tuple[str, Any]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}
_HEAD = 2**16


class Unpacked:
    """Bytes of a file, unpacked; damage is BadData, and so is a packed file that swells beyond `most` bytes."""

    def __init__(self, name: str, stream: IO[bytes], packer: str | None, most: int | None) -> None:
        self._name, self._stream, self._packer, self._most, self._seen = name, stream, packer, most, 0

    def read(self, count: int) -> bytes:
        try:
            piece = self._stream.read(count)
        except (EOFError, OSError, zlib.error, lzma.LZMAError, ValueError) as error:
            what = f"damaged {self._packer} data" if self._packer else "cannot be read"
            raise BadData(f"{self._name}: {what} ({plain(error)}); copy or pack it again.") from error
        self._seen += len(piece)
        if self._packer and self._most is not None and self._seen > self._most:
            raise BadData(f"{self._name} unpacks to more than {size(self._most)}; give it more memory, or less data.")
        return piece

    def __enter__(self) -> Unpacked:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stream.close()


@dataclass
class Source:
    """A readable file: where it is, and its name in messages."""

    path: Path
    name: str
    packer: str | None = None

    def open(self, most: int | None = None) -> Unpacked:
        """Unpacked bytes from the beginning; at most `most` of them when the file is packed."""
        opener = next((opener for name, opener in _PACKERS.values() if name == self.packer), open)
        return Unpacked(self.name, opener(self.path, "rb"), self.packer, most)

    def head(self) -> bytes:
        """The first bytes, unpacked."""
        with self.open() as stream:
            return stream.read(_HEAD)

    @property
    def extension(self) -> str:
        """The last extension that is not one of a packer, in small letters, such as '.csv'."""
        suffixes = [suffix.lower() for suffix in Path(self.name).suffixes]
        while suffixes and suffixes[-1] in (".gz", ".bz2", ".xz"):
            suffixes.pop()
        return suffixes[-1] if suffixes else ""


@contextlib.contextmanager
def opened(source: str | Path) -> Iterator[Source]:
    """A source, from a path or "-" for standard input; what cannot be read twice is kept in a temporary file meanwhile."""
    if str(source) == "-":
        with _spooled(sys.stdin.buffer) as path:
            yield _checked(path, "standard input")
        return
    path = Path(source)
    name = plain(source)
    try:
        mode = path.stat().st_mode
        if not stat.S_ISFIFO(mode) and not stat.S_ISREG(mode):
            what = "folder" if stat.S_ISDIR(mode) else "device"
            raise BadData(f"{name} is a {what}, not a file; name the file of data itself.")
        stream = path.open("rb")
    except (OSError, ValueError) as error:
        if isinstance(error, BadData):
            raise
        raise BadData(_unreadable(path, name, error)) from error
    with stream:
        if stat.S_ISREG(mode):
            yield _checked(path, name)
            return
        with _spooled(stream) as copy:
            yield _checked(copy, name)


def _checked(path: Path, name: str) -> Source:
    with path.open("rb") as stream:
        head = stream.read(6)
    if not head:
        raise BadData(f"{name} is empty.")
    packer = next((packer for magic, (packer, _) in _PACKERS.items() if head.startswith(magic)), None)
    found = Source(path, name, packer)
    if not found.head():
        raise BadData(f"{name} is empty once unpacked.")
    return found


@contextlib.contextmanager
def _spooled(stream: IO[bytes]) -> Iterator[Path]:
    handle, name = tempfile.mkstemp(prefix="pegasos-")
    try:
        with os.fdopen(handle, "wb") as copy:
            shutil.copyfileobj(stream, copy, 2**20)
        yield Path(name)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)


def _unreadable(path: Path, name: str, error: Exception) -> str:
    if not isinstance(error, FileNotFoundError):
        return f"{name} cannot be read: {plain(getattr(error, 'strerror', None) or error)}."
    try:
        beside = sorted(each.name for each in path.parent.iterdir())
    except OSError:
        return f"{name} does not exist, nor does its folder."
    return f"{name} does not exist.{near(path.name, beside)}"
