"""Interruption, deadline and progress of a fit, all per thread.

Methods check both several times a second: an interruption raises `Interrupted`, a deadline makes
them return their present point with its true duality gap. Ctrl-C reaches the main thread only, so
fits in other threads are interrupted by a function, such as the `is_set` of an event.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

_thread = threading.local()


class Interrupted(Exception):  # noqa: N818 - a request, not an error
    """A fit was interrupted from another thread."""


@contextlib.contextmanager
def _with(name: str, value: Any) -> Iterator[None]:
    """Set a value of this thread inside the block."""
    before = getattr(_thread, name, None)
    setattr(_thread, name, value)
    try:
        yield
    finally:
        setattr(_thread, name, before)


def interruptible(is_over: Callable[[], bool]) -> AbstractContextManager[None]:
    """Make fits of this thread raise `Interrupted` soon after `is_over()`."""
    return _with("is_over", is_over)


def listening(listener: Callable[[float, float], None]) -> AbstractContextManager[None]:
    """Call `listener(largest relative gap, tolerance)` repeatedly during fits of this thread."""
    return _with("listener", listener)


def tell_gap(gap: float | Iterable[float], tol: float) -> None:
    """Report the largest relative gap of a fit to this thread's listener, if there is one."""
    listener = getattr(_thread, "listener", None)
    if listener is not None:
        listener(max(gap) if isinstance(gap, Iterable) else gap, tol)


def check_interruption() -> None:
    """Raise `Interrupted` if the fits of this thread are to stop."""
    is_over = getattr(_thread, "is_over", None)
    if is_over is not None and is_over():
        raise Interrupted


def deadline(seconds: float) -> AbstractContextManager[None]:
    """Make solvers called in this thread return their present point after this time.

    The earliest of nested deadlines counts.
    """
    return until(time.monotonic() + seconds)


def deadline_reached() -> bool:
    """Tell whether the time of this thread's deadline is over."""
    return time.monotonic() >= current_deadline()


def current_deadline() -> float:
    """Return the deadline of this thread on the monotonic clock, infinity without one."""
    moment: float | None = getattr(_thread, "deadline", None)
    return math.inf if moment is None else moment


def until(moment: float) -> AbstractContextManager[None]:
    """Set a deadline on the monotonic clock, which another thread may have set (see `deadline`)."""
    return _with("deadline", min(current_deadline(), moment))
