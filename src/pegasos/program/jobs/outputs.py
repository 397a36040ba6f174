"""Where results go: checked before the work begins, and in place only when they are whole."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from pegasos.program.files import replacing
from pegasos.program.terminal.usage_error import UsageError


def check_file(out: str, *inputs: str) -> None:
    """A file that may be written: not a folder, and none of the files that are read."""
    path = Path(out)
    if path.is_dir():
        raise UsageError(f"-o {out} is a folder; give the name of a file, such as {path / 'result'}.")
    for each in inputs:
        with contextlib.suppress(OSError):
            if path.samefile(each):
                raise UsageError(f"-o {out} is the file that is read; give another name.")
    _check_parents(path)


def check_model_file(out: str, *inputs: str) -> None:
    """The same for a model, which cannot go into a device or a pipe."""
    check_file(out, *inputs)
    if Path(out).exists() and not Path(out).is_file():
        raise UsageError(f"-o {out} is a device; a model needs a file.")


def check_folder(out: str) -> None:
    """A folder that may be made or used."""
    if Path(out).exists() and not Path(out).is_dir():
        raise UsageError(f"-o {out} is a file; tune needs a folder.")
    _check_parents(Path(out))


def _check_parents(path: Path) -> None:
    there = next((parent for parent in path.absolute().parents if parent.exists()), Path())
    if not there.is_dir():
        raise UsageError(f"-o {path}: {there} is a file, not a folder.")
    if not os.access(there, os.W_OK):
        raise UsageError(f"-o {path}: nothing can be written to {there}.")


@contextlib.contextmanager
def opened(out: str) -> Iterator[TextIO]:
    """Standard output, a device, or a file that appears under its name only when it is complete."""
    if out == "-":
        yield sys.stdout
        return
    target = Path(os.path.realpath(out))
    if target.exists() and not target.is_file():
        with target.open("w", encoding="utf-8", newline="") as file:
            yield file
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        yield file
