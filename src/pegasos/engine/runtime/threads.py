"""Number of threads, BLAS limited to one thread, and blocks of work in threads."""

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

_END = object()
_lock = threading.Lock()
_inside = 0
_before: list[int] = []
#: Threads that this thread may use although BLAS is held to one (None: as many as BLAS has).
_ours: ContextVar[int | None] = ContextVar("threads of our own", default=None)


@functools.cache
def _controller() -> ThreadpoolController:
    # Finding the loaded libraries walks over all of them, which is too slow for every call; so is
    # asking those that are not BLAS.
    return ThreadpoolController().select(user_api="blas")


def blas_threads() -> int:
    """Return the number of threads to use: the smallest limit of the loaded BLAS libraries.

    Inside `our_threads` it is the number given to that function.
    """
    limits = (library.num_threads or 1 for library in _controller().lib_controllers)
    return _ours.get() or max(1, min(limits, default=1))


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Hold BLAS to one thread inside the block; blocks of several threads may overlap."""
    # The limit belongs to the process, not to a thread. Were each block to restore what it found,
    # then the second of two overlapping blocks would leave the first one's limit of 1 behind for
    # good: so the first one in sets it, and the last one out restores it.
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
    """Hold BLAS to one thread inside the block, while `run_each` uses `count` threads.

    By default these are as many as BLAS had.

    After a product the threads of BLAS spin for some ten milliseconds, waiting for the next one,
    which slows down other threads on few cores. (Measured: kernel fits of 2,000 rows take 20 to
    30 % less time, and half the processor time.)
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
    """Set the thread limit of each library, from any thread.

    Since version 3.8 threadpoolctl accepts changes from one controlling thread and silently ignores
    those from others. Here a lock orders the changes, and the last thread to leave need not be the
    first that entered, so the controlling thread is cleared. (threadpoolctl's own context manager
    takes ten times as long.)
    """
    for library, number in zip(_controller().lib_controllers, numbers, strict=True):
        free = getattr(library, "clear_controlling_thread", None)
        if free is not None:
            free(force=True)
        library.set_num_threads(number)
        if free is not None:
            free(force=True)


def slices(size: int, step: int) -> list[slice]:
    """Return 0..size-1 in slices of at most `step`.

    >>> slices(5, 3)
    [slice(0, 3, None), slice(3, 5, None)]
    """
    return [slice(start, min(start + step, size)) for start in range(0, size, step)]


def run_each(
    work: Callable[[Any], None], items: Sequence[Any], most_workers: int | None = None
) -> None:
    """Call work(item) for all items on several threads, with BLAS limited to one thread."""
    workers = min(blas_threads(), len(items), most_workers or len(items))
    # Held to one thread also where one worker does it all: so the bits do not depend on threads.
    with our_threads(1):
        if workers <= 1:
            for item in items:
                work(item)
        else:
            _run_together(iter(items), work, workers)


def _run_together(items: Iterator[Any], work: Callable[[Any], None], workers: int) -> None:
    """Process items in threads until an error or Ctrl-C, which wait for current items."""
    lock, moment = threading.Lock(), current_deadline()
    errors: list[BaseException] = []

    def take() -> None:
        try:
            with until(moment):
                while not errors:
                    with lock:
                        item = next(items, _END)
                    if item is _END:
                        return
                    work(item)
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


def run_repeatedly(
    work: Callable[[int], bool], numbers: Sequence[int], most_workers: int | None = None
) -> None:
    """Call work(number) on several threads for each number, until it returns False.

    A number stays with its thread, whose cache may hold what it has read. An error ends all calls.
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
