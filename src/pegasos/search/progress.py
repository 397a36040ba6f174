"""Progress of a search: a bar on a terminal, one line in a notebook, log records; never stdout."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any

_log = logging.getLogger("pegasos.search")
#: Seconds between two updates of a notebook's output: several per second are readable.
NOTEBOOK_PAUSE = 0.2


class Progress:
    """Count of finished fits (cells on folds), shown with the best score and the time left."""

    def __init__(self, shown: bool) -> None:
        self._total = self._done = self._width = 0
        self._start = time.monotonic()
        self._line = shown and sys.stderr.isatty()
        self._notebook = shown and type(sys.stderr).__module__.startswith("ipykernel")
        self._handle: Any = None
        self._shown = 0.0

    def expect(self, fits: int) -> None:
        """Announce further fits."""
        self._total = self._done + fits

    def say(self, text: str) -> None:
        """Show a line of text."""
        _log.info(text)
        if self._notebook:
            self._show(text)
        elif self._line:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Print a line of text even where progress is not shown."""
        self.close()
        print(text, file=sys.stderr, flush=True)

    def advance(self, fits: int, what: str, best: float | None) -> None:
        """Count finished fits; `best` is the best mean score of a complete cell so far."""
        self._done += fits
        elapsed = time.monotonic() - self._start
        left = elapsed / self._done * (self._total - self._done)
        score = "" if best is None else f", best score {best:.4f}"
        text = f"{self._done}/{self._total} fits{score}, {elapsed:.0f} s, about {left:.0f} s left"
        _log.info("%s: %s", what, text)
        if self._notebook and (
            self._done == self._total or time.monotonic() - self._shown > NOTEBOOK_PAUSE
        ):
            self._show(text)
        elif self._line:
            filled = 24 * self._done // max(1, self._total)
            line = f"\r[{'#' * filled}{'.' * (24 - filled)}] {text}"
            print(line.ljust(self._width), end="", file=sys.stderr, flush=True)
            self._width = len(line)

    def close(self) -> None:
        """Erase the bar."""
        if self._width:
            print("\r" + " " * self._width + "\r", end="", file=sys.stderr, flush=True)
            self._width = 0

    def _show(self, text: str) -> None:
        """Show a text in a notebook in place of the previous one."""
        from IPython.display import display

        if self._handle is None:
            self._handle = display({"text/plain": text}, raw=True, display_id=True)
        else:
            self._handle.update({"text/plain": text}, raw=True)
        self._shown = time.monotonic()
