"""Number of threads that work may use, BLAS held to one thread, and blocks of work in threads."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from threadpoolctl import ThreadpoolController

from pegasos.engine.runtime.interruption import check_interruption, current_deadline, until

_lock = threading.Lock()
_inside = 0
_before: list[int] = []
#: Threads that this thread may use although BLAS is held to one (None: as many as BLAS has).
_ours: ContextVar[int | None] = ContextVar("threads of our own", default=None)


@functools.cache
def _controller() -> ThreadpoolController:
    # Finding the loaded libraries walks over all of them, which is too slow for every call; so is asking those that are not BLAS.
    return ThreadpoolController().select(user_api="blas")


def blas_threads() -> int:
    """Return the threads that work may use: the smallest limit of the loaded BLAS libraries.

    Inside `our_threads` it is the number given there.

    >>> with single_threaded_blas():
    ...     blas_threads()
    1
    """
    limits = (library.num_threads or 1 for library in _controller().lib_controllers)
    return _ours.get() or max(1, min(limits, default=1))


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Hold BLAS to one thread inside the block; blocks of several threads may overlap.

    >>> before = blas_threads()
    >>> with single_threaded_blas(), single_threaded_blas():
    ...     blas_threads()
    1
    >>> blas_threads() == before
    True
    """
    # The limit belongs to the process, not to a thread. Were each block to restore what it found, then the second of two
    # overlapping blocks would leave the first one's limit of 1 behind for good: so the first one in sets it, and the last
    # one out restores it.
    global _inside, _before
    with _lock:
        if _inside == 0:
            _before = [library.num_threads or 1 for library in _controller().lib_controllers]
            _set_threads([1] * len(_before))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _set_threads(_before)


@contextmanager
def our_threads(count: int | None = None) -> Iterator[None]:
    """Hold BLAS to one thread inside the block, while `run_blocks` uses `count` threads (None: as many as BLAS had).

    After a product the threads of BLAS wait for the next one on a busy core, for some ten milliseconds: on few cores they are in
    the way of other threads. (Measured: kernel fits of 2,000 rows take 20 to 30 % less time, and half the processor time.)

    >>> before = blas_threads()
    >>> with our_threads():
    ...     blas_threads() == before
    True
    """
    threads = count or blas_threads()
    kept = _ours.set(threads)
    try:
        with single_threaded_blas():
            yield
    finally:
        _ours.reset(kept)


@functools.cache
def _pool() -> ThreadPoolExecutor:
    """Return the threads of this process, each started when it is first needed."""
    # At most `blas_threads` of them are busy for one caller.
    return ThreadPoolExecutor(max_workers=256, thread_name_prefix="pegasos")


if hasattr(os, "register_at_fork"):  # a child process has none of the threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


def _set_threads(numbers: list[int]) -> None:
    """Set the limit of each library, whichever thread asks.

    From 3.8 on threadpoolctl obeys one thread and silently ignores the others, so that they do not fight. Here the lock
    sees to that, and the last one out need not be the first one in. (Its own context manager takes ten times as long.)
    """
    for library, number in zip(_controller().lib_controllers, numbers, strict=True):
        free = getattr(library, "clear_controlling_thread", None)
        if free is not None:
            free(force=True)
        library.set_num_threads(number)
        if free is not None:
            free(force=True)


def run_blocks(
    blocks: Sequence[tuple[slice, slice]],
    work: Callable[[slice, slice], None],
    most_workers: int | None = None,
) -> None:
    """Call work(rows, columns) for all blocks, on as many threads as BLAS may use; BLAS is held to one meanwhile.

    >>> done = []
    >>> run_blocks(
    ...     [(slice(0, 2), slice(0, 3))],
    ...     lambda rows, columns: done.append((rows.stop, columns.stop)),
    ... )
    >>> done
    [(2, 3)]
    """
    workers = min(blas_threads(), len(blocks), most_workers or len(blocks))
    # Held to one thread also where one worker does it all: so the bits do not depend on the number of threads.
    with our_threads(1):
        if workers <= 1:
            for rows, columns in blocks:
                work(rows, columns)
        else:
            _run_together(iter(blocks), work, workers)


def _run_together(
    blocks: Iterator[tuple[slice, slice]], work: Callable[[slice, slice], None], workers: int
) -> None:
    """Process blocks in this thread and others until an error or Ctrl-C, which wait for current blocks."""
    lock, moment = threading.Lock(), current_deadline()
    errors: list[BaseException] = []

    def take() -> None:
        try:
            with until(moment):
                while True:
                    with lock:
                        block = None if errors else next(blocks, None)
                    if block is None:
                        return
                    work(*block)
        except BaseException as error:  # raised again below
            errors.append(error)

    helpers = [_pool().submit(take) for _ in range(workers - 1)]
    take()
    try:
        for helper in helpers:
            # One that has not started has nothing left to do.
            while not helper.cancel() and not wait([helper], timeout=0.1).done:
                check_interruption()
    except BaseException as error:
        errors.append(error)
    if errors:
        raise errors[0]


def run_each(
    work: Callable[[int], None], numbers: Sequence[int], most_workers: int | None = None
) -> None:
    """Call work(number) for all numbers, on as many threads as BLAS may use.

    >>> found = [0, 0]
    >>> run_each(lambda number: found.__setitem__(number, number + 1), range(2))
    >>> found
    [1, 2]
    """
    blocks = [(slice(number, number + 1), slice(0, 0)) for number in numbers]
    run_blocks(blocks, lambda rows, _: work(rows.start), most_workers)


def run_repeatedly(
    work: Callable[[int], bool], numbers: Sequence[int], most_workers: int | None = None
) -> None:
    """Call work(number) for each number until it returns False, on as many threads as BLAS may use.

    A number stays with its thread, whose cache may hold what it has read. An error ends all calls.

    >>> left = {0: 2, 1: 5}
    >>> def work(number):
    ...     left[number] -= 1
    ...     return left[number] > 0
    >>> run_repeatedly(work, [0, 1])
    >>> left
    {0: 0, 1: 0}
    """
    failed = threading.Event()

    def turns(number: int) -> None:
        try:
            while not failed.is_set() and work(number):
                pass
        except BaseException:
            failed.set()
            raise

    try:
        run_each(turns, numbers, most_workers)
    finally:  # also where this thread was waiting for the others, and was asked to stop
        failed.set()


def in_order(work: Callable[[int], Any], count: int, helpers: int, ahead: int) -> Iterator[Any]:
    """Yield work(0), work(1), ... in this order, computed by this thread and helpers.

    At most `ahead` results are computed before their turn. A helper is woken once for all of the work:
    waking one for each item takes as long as an item of a few thousand rows.

    >>> list(in_order(lambda number: 10 * number, 3, helpers=1, ahead=2))
    [0, 10, 20]
    """
    turns = _Turns(work, count, ahead)
    under_way = [_pool().submit(turns.help) for _ in range(min(helpers, count - 1))]
    try:
        for number in range(count):
            yield turns.result(number)
    finally:
        turns.stop()
        for helper in under_way:
            if not helper.cancel():  # one that has not started has nothing left to do
                helper.result()


class _Turns:
    """Assign work items to threads, and keep results until their turn."""

    def __init__(self, work: Callable[[int], Any], count: int, ahead: int) -> None:
        self._work, self._count, self._ahead = work, count, ahead
        self._next = self._turn = 0
        self._found: dict[int, Any] = {}
        self._error: BaseException | None = None
        self._changed = threading.Condition()

    def result(self, turn: int) -> Any:
        """Return the result of this turn, and process other items until it is there."""
        with self._changed:
            self._turn = turn
            self._changed.notify_all()
        while True:
            with self._changed:
                if turn in self._found:
                    return self._found.pop(turn)
                if self._error is not None:
                    raise self._error
                number = self._take()
                if number is None:
                    self._changed.wait()
                    continue
            found = self._work(number)
            if number == turn:
                return found
            with self._changed:
                self._found[number] = found

    def help(self) -> None:
        """Process items until none are left."""
        try:
            while True:
                with self._changed:
                    while (number := self._take()) is None:
                        if self._next >= self._count:
                            return
                        self._changed.wait()
                found = self._work(number)
                with self._changed:
                    self._found[number] = found
                    self._changed.notify_all()
        except BaseException as error:  # raised by the thread whose results these are
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def stop(self) -> None:
        """Stop assigning items."""
        with self._changed:
            self._next = self._count
            self._changed.notify_all()

    def _take(self) -> int | None:
        if self._next >= self._count or self._next > self._turn + self._ahead:
            return None
        self._next += 1
        return self._next - 1
