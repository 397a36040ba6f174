"""Files that are complete or not there at all, and temporary ones; whatever ends the program, nothing half-made stays."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

#: What the system says where a disk, a quota, or the size that a file may have is used up.
FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG)

#: Files and folders at work, which are of no use to anybody after us. Listed before they are made: a signal may come in between.
_at_work: set[Path] = set()


class NoSpace(OSError):  # noqa: N818 - what it says
    """No space left for `filename`; of a run that can be resumed, `resumed` is the folder in which finished work is kept.

    temporary: what is written is of no use to the user, who may move it elsewhere with TMPDIR
    """

    def __init__(
        self, error: OSError, path: str | os.PathLike[str], *, temporary: bool = False
    ) -> None:
        super().__init__(error.errno, error.strerror, os.fspath(path))
        self.temporary = temporary
        self.resumed: str | None = None


def is_full(error: BaseException) -> bool:
    """Whether an error is that of a full disk."""
    return isinstance(error, OSError) and error.errno in FULL


@contextlib.contextmanager
def space_for(path: Path, *, temporary: bool = False) -> Iterator[None]:
    """A full disk is told with the name of what is written."""
    try:
        yield
    except OSError as error:
        if not is_full(error) or isinstance(error, NoSpace):
            raise
        raise NoSpace(error, path, temporary=temporary) from error


@contextlib.contextmanager
def resumable(folder: str | os.PathLike[str]) -> Iterator[None]:
    """If the disk is full within, the error tells that finished work is kept in this folder."""
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        told = error if isinstance(error, NoSpace) else NoSpace(error, error.filename or folder)
        told.resumed = os.fspath(folder)
        raise told from error.__cause__


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A file beside the target to write to, which takes its place when all went well: a reader never sees half a file.

    After an error the old file stays, and nothing else. A link stays a link, and what it points to is replaced.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(
            errno.EISDIR, "this is a folder; give the name of a file", str(target)
        )
    if target.exists() and not target.is_file():  # to take its place would take it from everybody
        raise FileExistsError(
            errno.EEXIST,
            "this is a device, a pipe or a socket; give the name of a file",
            str(target),
        )
    unfinished = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
    _at_work.add(unfinished)
    try:
        with space_for(Path(path)):
            # The system applies the umask to 0o666, as to any new file; who would guess the name finds it taken.
            os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            yield unfinished
            _sync(unfinished, os.O_RDWR)
            os.replace(unfinished, target)
    finally:
        _remove(unfinished)
    with contextlib.suppress(OSError):  # makes the new name durable, where the system can
        _sync(target.parent, os.O_RDONLY)


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder in TMPDIR that goes at the end, whatever happens."""
    where = Path(tempfile.gettempdir())
    folder = where / f"pegasos-{secrets.token_hex(6)}"
    _at_work.add(folder)
    try:
        with space_for(where, temporary=True):
            folder.mkdir(mode=0o700)
            yield folder
    finally:
        _remove(folder)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """A text file, complete or not at all; its folder is made where it is missing."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """The same for bytes."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as unfinished:
        unfinished.write_bytes(content)


def clean_up() -> None:
    """Remove what a signal kept from being removed where it was made."""
    for path in list(_at_work):
        _remove(path)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    _at_work.discard(path)


def _sync(path: Path, mode: int) -> None:
    handle = os.open(path, mode)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
