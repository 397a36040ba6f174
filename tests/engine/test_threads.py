"""Test threads: work in numerical order, and limits on their number."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from pegasos.engine.rows.blocks import WAVE, Block, RowBlocks
from pegasos.engine.runtime.interruption import Interrupted, interruptible
from pegasos.engine.runtime.threads import (
    blas_threads,
    our_threads,
    run_each,
    run_repeatedly,
    single_threaded_blas,
)


def test_results_of_blocks_come_in_order_and_few_of_them_early() -> None:
    taken: list[tuple[int, int]] = []
    found: list[int] = []

    def work(block: Block) -> int:
        taken.append((block.span.start, len(found)))
        time.sleep(0.003 * (block.span.start % 3))
        return block.span.start

    with threadpool_limits(2, user_api="blas"), RowBlocks(np.zeros((40, 1)), size=1) as blocks:
        found.extend(blocks._parts(work, ()))
    assert found == list(range(40))
    assert sorted(number for number, _ in taken) == list(range(40))
    assert all(number < ended + 2 * WAVE for number, ended in taken)


@pytest.mark.parametrize("bad", [0, 7, 19])
def test_an_error_of_any_block_is_raised(bad: int) -> None:
    def work(block: Block) -> int:
        if block.span.start == bad:
            raise ValueError(f"block {bad}")
        return block.span.start

    with (
        threadpool_limits(2, user_api="blas"),
        RowBlocks(np.zeros((20, 1)), size=1) as blocks,
        pytest.raises(ValueError, match=f"block {bad}"),
    ):
        blocks.map_join(work, list)


def test_blas_is_held_to_one_thread_while_our_own_work() -> None:
    def seen() -> tuple[int, int]:
        return blas_threads(), min(
            library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
        )

    inside: list[tuple[int, int]] = []
    with threadpool_limits(2, user_api="blas"):
        with our_threads():
            assert seen() == (2, 1)
            run_each(lambda _: inside.append(seen()), range(4))
            with our_threads():
                assert seen() == (2, 1)
        assert seen() == (2, 2)
    assert inside == [(1, 1)] * 4  # work in blocks starts no more threads
    with threadpool_limits(2, user_api="blas"), single_threaded_blas(), our_threads():
        assert seen() == (1, 1)


def test_a_number_stays_with_its_thread_until_its_work_is_done() -> None:
    turns: dict[int, list[int]] = {number: [] for number in range(6)}

    def work(number: int) -> bool:
        turns[number].append(threading.get_ident())
        return len(turns[number]) <= number

    with our_threads(2):
        run_repeatedly(work, range(6))
    for number, threads in turns.items():
        assert len(threads) == number + 1
        assert len(set(threads)) == 1


@pytest.mark.parametrize("bad", [0, 1])
def test_an_error_ends_the_turns_of_all(bad: int) -> None:
    """An error also ends work that would never end by itself."""

    def work(number: int) -> bool:
        if number == bad:
            raise ValueError("bad")
        time.sleep(0.001)
        return True

    with our_threads(2), pytest.raises(ValueError, match="bad"):
        run_repeatedly(work, [0, 1])


def test_waiting_threads_can_be_stopped() -> None:
    halt, mine = threading.Event(), threading.get_ident()
    under_way = threading.Event()

    def work(number: int) -> bool:
        if threading.get_ident() == mine:
            under_way.wait(10)  # the other thread has the other number
            return False
        under_way.set()
        halt.set()
        time.sleep(0.001)
        return True

    with our_threads(2), interruptible(halt.is_set), pytest.raises(Interrupted):
        run_repeatedly(work, [0, 1])


def test_threads_of_the_pool_survive_errors() -> None:
    met: set[int] = set()

    def work(number: int, meeting: threading.Barrier) -> None:
        meeting.wait(5)  # so each number has its own thread
        met.add(threading.get_ident())
        if number == 1:
            raise ValueError("number 1")

    with our_threads(2):
        for _ in range(4):
            meeting = threading.Barrier(2)
            with pytest.raises(ValueError, match="number 1"):
                run_each(lambda number, meeting=meeting: work(number, meeting), range(2))
    assert len(met) >= 2 and threading.get_ident() in met
