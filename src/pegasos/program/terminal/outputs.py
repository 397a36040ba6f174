"""Output files: checked before the work begins, and in place only when they are complete."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from pegasos.program.errors import UsageError
from pegasos.program.files import replacing, space_for
from pegasos.program.tables.sources import files_of


def check_file(out: str, *inputs: str, what: str | None = None) -> None:
    """Raise UsageError if a file cannot be written, or is one of the inputs.

    Devices and pipes are refused for `what`, such as "a model"; predictions may go to them.
    """
    path = Path(out)
    if path.is_dir():
        example = path / "result"
        raise UsageError(f"-o {out} is a folder; give the name of a file, such as {example}.")
    if what is not None and path.exists() and not path.is_file():
        raise UsageError(f"-o {out} is a device; {what} needs a file.")
    for each in inputs:
        with contextlib.suppress(OSError):
            if any(path.samefile(file) for file in files_of(each) or [Path(each)]):
                raise UsageError(f"-o {out} is also an input; give another name.")
    _check_parents(path)


def check_folder(out: str) -> None:
    """Raise UsageError if a folder cannot be created or used."""
    if Path(out).exists() and not Path(out).is_dir():
        raise UsageError(f"-o {out} is a file; tune needs a folder.")
    _check_parents(Path(out))


def _check_parents(path: Path) -> None:
    parent = next((parent for parent in path.absolute().parents if parent.exists()), Path())
    if not parent.is_dir():
        raise UsageError(f"-o {path}: {parent} is a file, not a folder.")
    if not os.access(parent, os.W_OK):
        raise UsageError(f"-o {path}: no permission to write to {parent}.")


@contextlib.contextmanager
def open_output(out: str) -> Iterator[TextIO]:
    """Open standard output, a device, or a file that appears only when it is complete."""
    if out == "-":
        yield sys.stdout
        return
    target = Path(os.path.realpath(out))
    device = target.exists() and not target.is_file()
    if not device:
        target.parent.mkdir(parents=True, exist_ok=True)
    with (
        contextlib.nullcontext(target) if device else replacing(target) as place,
        space_for(target),
        place.open("w", encoding="utf-8", newline="") as file,
    ):
        yield file
