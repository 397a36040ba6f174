"""Threads that stay at hand between two pieces of work.

A core without work falls asleep. To wake it takes some tenths of a millisecond where machines are virtual ones, and to start a
thread on it a little more: (measured on two cores) the kernel matrix of 1,797 rows of 64 features takes 2.2 ms if the second core
was asleep, and 1.6 ms if not. So whoever waits here for the next piece does not sleep at once, but looks for it for a moment,
without the GIL.
"""

from __future__ import annotations

import _thread
import platform
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from pegasos.engine.runtime.compiling import compiled

Job = Callable[[], None]

#: Looks at what is waiting before a thread falls asleep: a good millisecond.
LOOKS = 2**15
_PAUSES = platform.machine().lower() in ("x86_64", "amd64")


@intrinsic
def _look(typing: Any, counts: Any) -> Any:
    """In compiled code, counts[0] as it is now in memory, after a pause in which the other half of the core may work."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if _PAUSES:
            function = ir.FunctionType(ir.VoidType(), [])
            builder.call(
                cgutils.get_or_insert_function(builder.module, function, "llvm.x86.sse2.pause"), []
            )
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load_atomic(data, "acquire", 8)

    return types.int64(counts), generate


@compiled
def _look_for_work(waiting: Any, looks: int) -> None:
    """Until there is some, but not for ever."""
    for _ in range(looks):
        if _look(waiting) > 0:
            return


class Helpers:
    """So many threads to which work can be given, until they are let go."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._waiting = np.zeros(1, dtype=np.int64)
        for _ in range(count):
            _thread.start_new_thread(
                self._serve, ()
            )  # a `Thread` has this one wait until the other runs

    def give(self, job: Job | None) -> None:
        """One of them does it, as soon as it is free; what it raises is nobody's business but the job's."""
        self._waiting[0] += 1
        self._jobs.put(job)

    def let_go(self) -> None:
        """They end when their work is done."""
        for _ in range(self._count):
            self.give(None)

    def _serve(self) -> None:
        while True:
            _look_for_work(self._waiting, LOOKS)
            job = self._jobs.get()
            self._waiting[0] -= 1
            if job is None:
                return
            job()
