"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path


def write_whole(path: str | os.PathLike[str], content: bytes, check: Callable[[Path], object]) -> None:
    """Write beside the target, let `check` read it, then put it in place: who fails leaves the old file and no litter."""
    target = Path(os.path.realpath(path))  # a link stays, what it points to is replaced
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give the name of a file.")
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    # The system applies the umask to 0o666, as to any new file; who would guess the name finds it taken.
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        check(temporary)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name durable, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
