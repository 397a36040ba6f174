"""Console output: results on stdout, messages on stderr, without control characters."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shlex
import shutil
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pegasos.program.tables.messages import plain


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
    return (
        f"\x1b[{code}m{text}\x1b[0m" if stream.isatty() and "NO_COLOR" not in os.environ else text
    )


def show(*lines: object) -> None:
    """Print lines of the result; an empty line if there are none."""
    print(_safe("\n".join(map(str, lines))))


def heading(text: str, *lines: object) -> None:
    """Print a heading and the first lines below it."""
    print("\n".join([_styled(_safe(text), "1", sys.stdout), *map(_safe, lines)]))


def show_json(value: Any) -> None:
    """Print a value as indented JSON."""
    print(as_json(value, indent=2))


def as_json(value: Any, indent: int | None = None) -> str:
    """Return JSON with control characters escaped.

    These include characters above ASCII, some of which terminals interpret.
    """
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


def _tell(text: str, end: str = "\n") -> None:
    """Write to standard error; failures are ignored, so that no work is lost."""
    with contextlib.suppress(OSError):
        print(text, end=end, file=sys.stderr, flush=True)


def abandon_output() -> None:
    """Discard unwritten output, so that the interpreter reports no error when it closes."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def table(
    head: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1, width: int = 60
) -> None:
    """Print a table.

    Parameters
    ----------
    head : sequence of str
        Column headings.
    rows : iterable of sequences
        Cells.
    left : int, default=1
        Number of left-aligned columns; the others are right-aligned.
    width : int, default=60
        Longer texts are truncated.
    """
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
    """Progress counter; `total` is 0 if it is unknown."""

    count: int = 0
    total: int = 0

    def counting(self, parts: Iterable[T]) -> Iterator[T]:
        """Yield the parts, and count the length of each once it is processed."""
        for part in parts:
            yield part
            self.count += len(part)

    def line(self, counted: str, seconds: float) -> str:
        """Return the progress as text, with an estimate of the remaining time.

        >>> Progress(500, 2000).line("rows", 3.0), Progress(500).line("rows", 3.0)
        (', 500 of 2,000 rows [###.........] about 9 s left', ', 500 rows')
        """
        if not self.count or not counted:
            return ""
        if not self.total:
            return f", {self.count:,} {counted}"
        share = min(1.0, self.count / self.total)
        left = f"about {seconds * (1 / share - 1):.0f} s left"
        return f", {self.count:,} of {self.total:,} {counted} {_bar(share)} {left}"


def _bar(share: float) -> str:
    filled = round(12 * share)
    return f"[{'#' * filled}{'.' * (12 - filled)}]"


@contextlib.contextmanager
def working(what: str, counted: str = "", total: int = 0) -> Iterator[Progress]:
    """Show a progress line on a terminal while the block runs.

    Parameters
    ----------
    what : str
        Description of the work.
    counted : str, optional
        Unit of the yielded counter, or "passes" to count the reports of a fit on its duality gap.
    total : int, default=0
        Total count; 0 if it is unknown.

    Yields
    ------
    Progress
        The counter.
    """
    progress = Progress(total=total)
    if state.quiet or not sys.stderr.isatty():
        yield progress
        return
    from pegasos.engine.runtime.interruption import listening

    begin, done = time.monotonic(), threading.Event()
    heard: list[tuple[float, float, float]] = []

    def hear(gap: float, tol: float) -> None:
        heard.append((time.monotonic() - begin, gap, tol))

    def tick() -> None:
        while not done.wait(0.5):
            seconds = time.monotonic() - begin
            passes = counted.removesuffix("es") if len(heard) == 1 else counted
            count = (
                f", {len(heard)} {passes}" if counted and heard else progress.line(counted, seconds)
            )
            line = _line(_safe(what), f" {seconds:.0f} s{count}{gap_line(heard)}")
            _tell(f"\r\x1b[K{line}", end="")

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        with listening(hear):
            yield progress
    finally:
        done.set()
        thread.join()
        _tell("\r\x1b[K", end="")


def _line(what: str, how_far: str) -> str:
    """Truncate a description so that the progress fits on one line of the terminal.

    A longer line would wrap and could not be overwritten.
    """
    room = shutil.get_terminal_size().columns - 3
    return f"{what[: max(10, room - len(how_far))]} …{how_far}"[: room + 2]


def gap_line(heard: list[tuple[float, float, float]]) -> str:
    """Return the progress of a fit: a bar, its duality gap, and the estimated remaining time.

    The estimate assumes that the gap continues to fall at the same rate.

    >>> gap_line([(1.0, 0.1, 0.001), (2.0, 0.01, 0.001)])
    ' [########....] gap 0.01, to be 0.001, about 1 s left'
    """
    if not heard:
        return ""
    (start, first, _), (now, gap, tol) = heard[0], heard[-1]
    if not 0.0 < tol < gap < math.inf:
        return ""
    share = max(0.0, 1.0 - math.log(gap / tol) / math.log(max(1.0, first) / tol))
    bar = f" {_bar(share)} gap {gap:.2g}, to be {tol:g}"
    pace = math.log(first / gap) / (now - start) if now > start and first > gap else 0.0
    return bar + (f", about {math.log(gap / tol) / pace:.0f} s left" if pace > 0 else "")


def percent(share: float) -> str:
    """Format an error in percent."""
    return f"{100 * share:.2f} %"
