"""Scratch memory: one per thread and name, grown when needed."""

from __future__ import annotations

import threading

import numpy as np

from pegasos.engine.runtime.memory import Buffers


def test_memory_is_reused_by_its_thread_alone() -> None:
    buffers, others = Buffers(), []
    first = buffers.take("tile", (4, 5), np.float64)
    first[:] = 1.0
    assert np.shares_memory(buffers.take("tile", (2, 3), np.float32), first)
    assert not np.shares_memory(buffers.take("other", (4, 5), np.float64), first)
    thread = threading.Thread(
        target=lambda: others.append(buffers.take("tile", (4, 5), np.float64))
    )
    thread.start()
    thread.join()
    assert not np.shares_memory(others[0], first)


def test_memory_grows_to_the_largest_shape() -> None:
    buffers = Buffers()
    small = buffers.take("tile", (2, 2), np.float64)
    large = buffers.take("tile", (20, 20), np.float64)
    assert large.shape == (20, 20) and not np.shares_memory(small, large)
    assert np.shares_memory(buffers.take("tile", (3, 3), np.float64), large)
