"""What passes between a long fit and whoever waits for it: how far it is, and the wish that it stop.

Ctrl-C reaches the main thread only, so a walk in another thread has to be asked.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator

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


@contextlib.contextmanager
def listening(listener: Callable[[float, float], None]) -> Iterator[None]:
    """Fits of this thread tell the listener their largest relative gap and the tolerance, now and then.

    >>> with listening(lambda gap, tol: print(gap, tol)):
    ...     tell_gap(0.5, 0.001)
    0.5 0.001
    """
    _thread.listener = listener
    try:
        yield
    finally:
        _thread.listener = None


def tell_gap(gap: float | Iterable[float], tol: float) -> None:
    """Say how far a fit is: the largest of its gaps, which are looked for only if somebody listens."""
    listener = getattr(_thread, "listener", None)
    if listener is not None:
        listener(max(gap) if isinstance(gap, Iterable) else gap, tol)


def check_interruption() -> None:
    """End this thread's walk with `Interrupted` if somebody asked for it."""
    event = getattr(_thread, "halt", None)
    if event is not None and event.is_set():
        raise Interrupted
