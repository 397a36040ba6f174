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
    """Progress of one piece of work: counted parts, or the duality gap that a fit reports.

    `counted` is the unit of the parts, or "passes" to count the reports of a fit; `total` is 0 if
    it is unknown.
    """

    counted: str = ""
    total: int = 0
    count: int = 0
    gaps: list[tuple[float, float]] = field(default_factory=list)

    def counting(self, parts: Iterable[T]) -> Iterator[T]:
        """Yield the parts, and count the length of each once it is processed."""
        for part in parts:
            yield part
            self.count += len(part)

    def hear(self, gap: float, tol: float) -> None:
        """Record a duality gap and its goal."""
        self.gaps.append((gap, tol))

    @property
    def share(self) -> float:
        """Finished share of the work; that of a fit assumes that its gap falls at a steady rate."""
        if self.total:
            return min(1.0, self.count / self.total)
        gap, tol = self.gaps[-1] if self.gaps else (0.0, 0.0)
        if not 0.0 < tol < gap < math.inf:
            return 0.0
        first = max(1.0, self.gaps[0][0])
        return max(0.0, 1.0 - math.log(gap / tol) / math.log(first / tol))

    def text(self, seconds: float) -> str:
        """Return the progress after these seconds, with an estimate of the remaining time.

        >>> Progress("rows", 2000, 500).text(3.0)
        ' 3 s, 500 of 2,000 rows [###.........] about 9 s left'
        >>> Progress("passes", gaps=[(1.0, 0.001), (0.1, 0.001)]).text(2.0)
        ' 2 s, pass 2, gap 0.1 (goal 0.001) [####........] about 4 s left'
        """
        text = f" {seconds:.0f} s"
        if self.count:
            text += f", {self.count:,}{f' of {self.total:,}' * bool(self.total)} {self.counted}"
        if self.gaps:
            text += f", pass {len(self.gaps)}" * (self.counted == "passes")
            text += ", gap {:.2g} (goal {:g})".format(*self.gaps[-1])
        if (share := self.share) > 0:
            filled = round(12 * share)
            bar = f"{'#' * filled}{'.' * (12 - filled)}"
            text += f" [{bar}] about {seconds * (1 / share - 1):.0f} s left"
        return text


@contextlib.contextmanager
def working(what: str, counted: str = "", total: int = 0) -> Iterator[Progress]:
    """Show a progress line on a terminal while the block runs, and yield the progress."""
    progress = Progress(counted, total)
    if state.quiet or not sys.stderr.isatty():
        yield progress
        return
    from pegasos.engine.runtime.interruption import listening

    begin, done = time.monotonic(), threading.Event()

    def tick() -> None:
        while not done.wait(0.5):
            # A line that wraps could not be overwritten.
            room = shutil.get_terminal_size().columns - 1
            text = f" …{progress.text(time.monotonic() - begin)}"
            _tell(f"\r\x1b[K{(_safe(what)[: max(10, room - len(text))] + text)[:room]}", end="")

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        with listening(progress.hear):
            yield progress
    finally:
        done.set()
        thread.join()
        _tell("\r\x1b[K", end="")


def percent(share: float) -> str:
    """Format an error in percent."""
    return f"{100 * share:.2f} %"
