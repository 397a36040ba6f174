"""How many threads BLAS may use now, how to hold it to one, and how to work on blocks in that many threads."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_inside = 0
_before: list[int] = []


@functools.cache
def _controller() -> ThreadpoolController:
    # Finding the loaded libraries walks over all of them, which is too slow for every call; so is asking those that are not BLAS.
    return ThreadpoolController().select(user_api="blas")


def blas_threads() -> int:
    """Threads BLAS may use now: the smallest limit of the loaded BLAS libraries, at least 1.

    >>> with single_threaded_blas():
    ...     blas_threads()
    1
    """
    return max(1, min((library.num_threads or 1 for library in _controller().lib_controllers), default=1))


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
    blocks: Sequence[tuple[slice, slice]], work: Callable[[slice, slice], None], most_workers: int | None = None
) -> None:
    """Call work(rows, columns) for all blocks, on as many threads as BLAS may use; BLAS is held to one meanwhile.

    >>> done = []
    >>> run_blocks([(slice(0, 2), slice(0, 3))], lambda rows, columns: done.append((rows.stop, columns.stop)))
    >>> done
    [(2, 3)]
    """
    workers = min(blas_threads(), len(blocks), most_workers or len(blocks))
    # Held to one thread also where one worker does it all: so the bits do not depend on the number of threads.
    with single_threaded_blas():
        if workers <= 1:
            for rows, columns in blocks:
                work(rows, columns)
        else:
            _run_together(iter(blocks), work, workers)


def _run_together(blocks: Iterator[tuple[slice, slice]], work: Callable[[slice, slice], None], workers: int) -> None:
    """This thread and others take block after block; the first error ends all, and so does Ctrl-C, after the blocks under way."""
    lock = threading.Lock()
    errors: list[BaseException] = []

    def take() -> None:
        try:
            while True:
                with lock:
                    block = None if errors else next(blocks, None)
                if block is None:
                    return
                work(*block)
        except BaseException as error:  # raised again below
            errors.append(error)

    helpers = [threading.Thread(target=take, daemon=True) for _ in range(workers - 1)]
    for helper in helpers:
        helper.start()
    take()
    for helper in helpers:
        helper.join()
    if errors:
        raise errors[0]


def run_each(work: Callable[[int], None], numbers: Sequence[int], most_workers: int | None = None) -> None:
    """Call work(number) for all numbers, on as many threads as BLAS may use.

    >>> found = [0, 0]
    >>> run_each(lambda number: found.__setitem__(number, number + 1), range(2))
    >>> found
    [1, 2]
    """
    blocks = [(slice(number, number + 1), slice(0, 0)) for number in numbers]
    run_blocks(blocks, lambda rows, _: work(rows.start), most_workers)
