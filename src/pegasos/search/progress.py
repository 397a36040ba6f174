"""Progress of a sweep: a bar on a terminal, one line in a notebook, log records elsewhere; never on stdout."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any

_log = logging.getLogger("pegasos.search")


class Progress:
    """Counts cells on folds; knows the best mean so far and how long the rest may take."""

    def __init__(self, shown: bool) -> None:
        self._total = self._done = 0
        self._start = time.monotonic()
        self._line = shown and sys.stderr.isatty()
        self._notebook = (
            _NotebookLine()
            if shown and type(sys.stderr).__module__.startswith("ipykernel")
            else None
        )
        self._width = 0

    def expect(self, fits: int) -> None:
        """So many more fits are to come."""
        self._total = self._done + fits

    def say(self, text: str) -> None:
        """One line of its own."""
        _log.info(text)
        if self._notebook is not None:
            self._notebook.show(text)
        elif self._line:
            self.close()
            print(text, file=sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        """One line that is said in any case."""
        self.close()
        print(text, file=sys.stderr, flush=True)

    def advance(self, fits: int, what: str, best: float | None) -> None:
        """So many fits (cells on folds) are done; `best` is the best complete cell's score so far."""
        self._done += fits
        elapsed = time.monotonic() - self._start
        left = elapsed / self._done * (self._total - self._done)
        score = "" if best is None else f", best score {best:.4f}"
        text = f"{self._done}/{self._total} fits{score}, {elapsed:.0f} s, about {left:.0f} s left"
        _log.info("%s: %s", what, text)
        if self._notebook is not None:
            self._notebook.show(text, now=self._done == self._total)
        elif self._line:
            filled = 24 * self._done // max(1, self._total)
            line = f"\r[{'#' * filled}{'.' * (24 - filled)}] {text}"
            print(line.ljust(self._width), end="", file=sys.stderr, flush=True)
            self._width = len(line)

    def close(self) -> None:
        """Leave the terminal clean."""
        if self._line and self._width:
            print("\r" + " " * self._width + "\r", end="", file=sys.stderr, flush=True)
            self._width = 0


class _NotebookLine:
    """One output of a cell that is replaced in its place: on the screen, in the file, and in what is exported from it."""

    #: Seconds between two texts: a front end has other things to do, too.
    PAUSE = 0.2

    def __init__(self) -> None:
        self._handle: Any = None
        self._shown = 0.0

    def show(self, text: str, now: bool = False) -> None:
        """The text in place of the last one, `now` or if that has stood long enough."""
        from IPython.display import display

        if self._handle is None:
            self._handle = display({"text/plain": text}, raw=True, display_id=True)
        elif now or time.monotonic() - self._shown > self.PAUSE:
            self._handle.update({"text/plain": text}, raw=True)
        else:
            return
        self._shown = time.monotonic()
