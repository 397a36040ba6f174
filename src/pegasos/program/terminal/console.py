"""Output: results on stdout and in files, messages on stderr, without control characters."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO, TypeVar

from pegasos.program.errors import UsageError
from pegasos.program.files import replacing, space_for
from pegasos.program.tables.messages import plain
from pegasos.program.tables.sources import files_of


@dataclass
class State:
    """Output options of the current run."""

    debug: bool = False
    as_json: bool = False
    quiet: bool = False
    arguments: list[str] = field(default_factory=list)


state = State()


def _safe(text: object) -> str:
    """Remove control characters from each line."""
    return "\n".join(plain(line, width=2000) for line in str(text).split("\n"))


def _styled(text: str, code: str, stream: Any) -> str:
    plain_text = "NO_COLOR" in os.environ or not stream.isatty()
    return text if plain_text else f"\x1b[{code}m{text}\x1b[0m"


def show(*lines: object) -> None:
    """Print lines of the result; an empty line if there are none."""
    print(_safe("\n".join(map(str, lines))))


def heading(text: str, *lines: object) -> None:
    """Print a heading and the first lines below it."""
    print("\n".join([_styled(_safe(text), "1", sys.stdout), *map(_safe, lines)]))


def as_json(value: Any, indent: int | None = None) -> str:
    """Return JSON with control characters escaped, also those above ASCII."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    return "".join(
        char if char == "\n" or char.isprintable() else json.dumps(char)[1:-1] for char in text
    )


def say(text: object) -> None:
    """Print a message, unless --quiet."""
    if not state.quiet:
        _tell(_safe(text))


def complain(text: object) -> None:
    """Print an error message, even with --quiet."""
    _tell(f"{_styled('pegasos:', '31', sys.stderr)} {_safe(text)}")


def _tell(text: str) -> None:
    """Write to standard error; failures are ignored, so that no work is lost."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def abandon_output() -> None:
    """Discard unwritten output, so that the interpreter reports no error when it closes."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def table(
    head: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1, width: int = 60
) -> None:
    """Print a table whose first `left` columns are aligned left; longer texts are truncated."""
    head = [plain(cell, width) for cell in head]
    cells = [[plain(cell, width) for cell in row] for row in rows]
    widths = [max(len(line[place]) for line in [head, *cells]) for place in range(len(head))]
    for number, line in enumerate([head, *cells]):
        pairs = enumerate(zip(line, widths, strict=True))
        text = "  ".join(
            cell.ljust(wide) if place < left else cell.rjust(wide) for place, (cell, wide) in pairs
        ).rstrip()
        print(_styled(text, "1", sys.stdout) if number == 0 else text)


def command_line() -> str:
    """Return the command line for records, without the address of a cluster."""
    words, given = ["pegasos"], iter(state.arguments)
    for word in given:
        if word == "--cluster":
            next(given, None)
        elif not word.startswith("--cluster="):
            words.append(word)
    return shlex.join(words)


T = TypeVar("T", bound=Sized)


@dataclass
class Progress:
    """Progress of one piece of work: counted parts, or the duality gap that a fit reports.

    `update` receives a description, the finished work and its total as `rich.progress` takes them.
    """

    what: str
    counted: str = ""
    total: int = 0
    update: Callable[..., None] = lambda **_: None
    count: int = 0

    def counting(self, parts: Iterable[T]) -> Iterator[T]:
        """Yield the parts, and count the length of each once it is processed."""
        for part in parts:
            yield part
            self.count += len(part)
            of = f" of {self.total:,}" if self.total else ""
            text = f"{self.what}: {self.count:,}{of} {self.counted}"
            self.update(description=text, completed=self.count)

    def hear(self, gap: float, tol: float) -> None:
        """Show the progress of a duality gap towards its goal, on a logarithmic scale."""
        if 0.0 < tol < min(gap, 1.0) and gap < math.inf:
            share = max(0.0, math.log(gap) / math.log(tol))
            text = f"{self.what}: gap {gap:.2g} (goal {tol:g})"
            self.update(description=text, completed=share, total=1.0)


@contextlib.contextmanager
def working(what: str, counted: str = "", total: int = 0) -> Iterator[Progress]:
    """Show a progress bar on a terminal while the block runs, and yield the progress."""
    progress = Progress(_safe(what), counted, total)
    if state.quiet or not sys.stderr.isatty():
        yield progress
        return
    from rich import progress as bars
    from rich.console import Console

    from pegasos.engine.runtime.interruption import listening

    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
    )
    shown = bars.Progress(
        *columns,
        console=Console(stderr=True),
        refresh_per_second=2,
        transient=True,
        redirect_stdout=False,
    )
    task = shown.add_task(progress.what, total=total or None)
    progress.update = functools.partial(shown.update, task)
    with contextlib.suppress(OSError):
        shown.start()
    try:
        with listening(progress.hear):
            yield progress
    finally:
        with contextlib.suppress(OSError):  # the terminal may have been closed
            shown.stop()


def percent(share: float | None) -> str:
    """Format an error in percent; an unknown one is empty."""
    return "" if share is None else f"{100 * share:.2f} %"


# -- files -----------------------------------------------------------------------------------------


def check_output(out: str, *inputs: str, what: str | None = None) -> None:
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


def check_output_folder(out: str) -> None:
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
