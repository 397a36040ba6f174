"""Atomic file writing and temporary folders.

A file is written completely or not at all, and unfinished files are removed however the program
ends.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pegasos.program.errors import UsageError

#: System errors for a full disk, an exhausted quota, and a file that exceeds the size limit.
FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG)

#: Unfinished files and temporary folders. Registered before they are created, since a signal may
#: arrive in between.
_at_work: set[Path] = set()


class NoSpace(OSError):  # noqa: N818 - named for its cause
    """No space left to write `filename`, or temporary files, which TMPDIR can move elsewhere."""

    def __init__(
        self, error: OSError, path: str | os.PathLike[str], *, temporary: bool = False
    ) -> None:
        super().__init__(error.errno, error.strerror, os.fspath(path))
        self.temporary = temporary


def is_full(error: BaseException) -> bool:
    """Return whether an error means that the disk is full."""
    return isinstance(error, OSError) and error.errno in FULL


@contextlib.contextmanager
def space_for(path: Path, *, temporary: bool = False) -> Iterator[None]:
    """Convert a full-disk error into a `NoSpace` error that names the file."""
    try:
        yield
    except OSError as error:
        if not is_full(error) or isinstance(error, NoSpace):
            raise
        raise NoSpace(error, path, temporary=temporary) from error


@contextlib.contextmanager
def only_one(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Create a folder if needed, and refuse it while another process uses it.

    The lock ends with the process. Systems and file systems without locks have none.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        try:
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another process uses {os.fspath(folder)}: wait for it, or give another "
                "folder with -o."
            ) from None
        except (ImportError, OSError):  # Windows, or a file system without locks
            pass
        yield


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path that replaces the target on success.

    Readers never see a partial file. After an error the old file remains unchanged. If the target
    is a symbolic link, the file it points to is replaced.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        message = "this is a folder; give the name of a file"
        raise IsADirectoryError(errno.EISDIR, message, str(target))
    if target.exists() and not target.is_file():  # replacing it would remove it for all programs
        message = "this is a device, a pipe or a socket; give the name of a file"
        raise FileExistsError(errno.EEXIST, message, str(target))
    unfinished = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
    _at_work.add(unfinished)
    try:
        with space_for(Path(path)):
            # The umask applies to 0o666, as to any new file; O_EXCL refuses an existing file.
            os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            yield unfinished
            _sync(unfinished, os.O_RDWR)
            os.replace(unfinished, target)
    finally:
        _remove(unfinished)
    with contextlib.suppress(OSError):  # makes the rename durable where the system supports it
        _sync(target.parent, os.O_RDONLY)


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a temporary folder in TMPDIR that is always removed."""
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
    """Write a text file atomically; a missing folder is created."""
    # File names that are not UTF-8 are written with escapes.
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a binary file atomically; a missing folder is created."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as unfinished:
        unfinished.write_bytes(content)


def clean_up() -> None:
    """Remove unfinished files and temporary folders after a signal."""
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


def as_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as the text of a CSV file; a row may lack columns of others."""
    rows, file = list(rows), io.StringIO()
    names = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(file, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()
