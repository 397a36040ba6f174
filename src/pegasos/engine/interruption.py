"""Stopping walks from another thread: Ctrl-C reaches the main thread only."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

_thread = threading.local()


class Interrupted(Exception):  # noqa: N818 - not an error: somebody asked for it
    """A walk was asked to stop from another thread."""


@contextlib.contextmanager
def interruptible(event: threading.Event) -> Iterator[None]:
    """Walks of this thread end with `Interrupted` soon after the event is set."""
    _thread.halt = event
    try:
        yield
    finally:
        _thread.halt = None


def check_interruption() -> None:
    """End this thread's walk with `Interrupted` if somebody asked for it."""
    event = getattr(_thread, "halt", None)
    if event is not None and event.is_set():
        raise Interrupted
