"""Files that are complete or not there at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A file beside the target to write to, which takes its place when all went well: a reader never sees half a file.

    After an error the old file stays, and nothing else. A link stays a link, and what it points to is replaced.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give the name of a file.")
    unfinished = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
    # The system applies the umask to 0o666, as to any new file; who would guess the name finds it taken.
    os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    try:
        yield unfinished
        _sync(unfinished, os.O_RDWR)
        os.replace(unfinished, target)
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # makes the new name durable, where the system can
        _sync(target.parent, os.O_RDONLY)


def _sync(path: Path, mode: int) -> None:
    handle = os.open(path, mode)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """A text file, complete or not at all; its folder is made where it is missing."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
