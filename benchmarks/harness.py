"""Time two things fairly: in one process, by turns, medians of repeats."""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import re
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

Work = Callable[[], Any]

#: The variable with the most rows of a try.
LARGEST = "BENCHMARK_ROWS"


def largest() -> int:
    """The most rows that a table may have: of a try, or any number."""
    return int(os.environ.get(LARGEST, "1000000000"))


class NotHereError(Exception):
    """What a benchmark needs is missing on this machine; the message says what."""


@dataclass(frozen=True)
class Benchmark:
    """What is compared, what is aimed at, and the function that measures: repeats -> rows, as they come.

    `cases` are parts of it that can be run alone (`--case`).
    """

    name: str
    compares: str
    run: Callable[[int], Iterator[Row]]
    cases: Mapping[str, Callable[[int], Iterator[Row]]] = field(default_factory=dict)

    @classmethod
    def of_cases(
        cls, name: str, compares: str, cases: Mapping[str, Callable[[int], Iterator[Row]]]
    ) -> Benchmark:
        """One that runs all its cases; what a case needs and is not here leaves that case out, and says so."""

        def run(repeats: int) -> Iterator[Row]:
            for case, measure in cases.items():
                try:
                    yield from measure(repeats)
                except NotHereError as reason:
                    yield Row(f"left out: {case}", float("nan"), "", note=str(reason))

        return cls(name, compares, run, cases)


@dataclass(frozen=True)
class Row:
    """One line of the results: a figure in a unit, and the goal that it is to reach (None: for information only).

    In a comparison the figure is how many times faster we are, theirs/ours.
    """

    case: str
    figure: float
    unit: str
    goal: float | None = None
    at_least: bool = True
    ours_seconds: float | None = None
    theirs_seconds: float | None = None
    note: str = ""
    #: Group of comparable cases within the benchmark.
    group: str = ""
    #: The most memory that each side took beyond what the process had, in bytes.
    ours_bytes: int | None = None
    theirs_bytes: int | None = None

    @property
    def reached(self) -> bool | None:
        if self.goal is None:
            return None
        return self.figure >= self.goal if self.at_least else self.figure <= self.goal

    @property
    def target(self) -> str:
        return (
            ""
            if self.goal is None
            else f"{'>=' if self.at_least else '<='} {self.goal:g} {self.unit}".strip()
        )

    def noting(self, note: str) -> Row:
        """The same row with a note."""
        return replace(self, note=note)

    def milliseconds(self, parts: float) -> str:
        """The times of both sides divided by `parts`, in milliseconds."""
        assert self.ours_seconds is not None and self.theirs_seconds is not None
        return f"{1000 * self.ours_seconds / parts:.3g} ms / {1000 * self.theirs_seconds / parts:.3g} ms"

    def as_dict(self) -> dict[str, Any]:
        """The row as it stands in results.json."""
        return {**vars(self), "target": self.target, "reached": self.reached}


def seconds(work: Work) -> float:
    """How long it takes once; the collector of garbage does not come in between."""
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start
    finally:
        gc.enable()


def alternate(
    ours: Work, theirs: Work, repeats: int, theirs_repeats: int | None = None, warm: bool = True
) -> tuple[float, float]:
    """The median seconds of each. They take turns, so that a busy machine disturbs both; `warm` runs each once before."""
    repeats = max(1, repeats)
    fewer = min(repeats, theirs_repeats or repeats)
    if warm:
        ours()
        if fewer == repeats:
            theirs()
    mine, others = [], []
    for turn in range(repeats):
        mine.append(seconds(ours))
        if turn * fewer // repeats != (turn - 1) * fewer // repeats:
            others.append(seconds(theirs))
    return statistics.median(mine), statistics.median(others)


def quietly(work: Callable[..., Any], *given: Any) -> None:
    """Without warnings that are no news: borders of grids, and peers that did not converge, which their objective says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work(*given)


def peak_memory(work: Work) -> int | None:
    """Return the most memory that a call takes beyond what the process has, in bytes; None where Linux does not tell.

    Free memory of the C library is given back first, so that a call pays for all that it touches.
    """
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not reset.exists():
        return None
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    reset.write_text("5")  # VmHWM begins anew

    def read(name: str) -> int:
        found = re.search(rf"{name}:\s+(\d+)", status.read_text())
        assert found is not None
        return 1024 * int(found[1])

    before = read("VmRSS")
    work()
    return max(0, read("VmHWM") - before)


def touch(memory: int) -> None:
    """Use so many bytes and give them back.

    A virtual machine may hand memory that is free for some seconds back to its host: to get a gigabyte again then takes 3 s
    (measured), which says nothing about who asks for it. So everyone finds it at hand.
    """
    np.empty(memory, dtype=np.uint8)[:: mmap.PAGESIZE] = 1


def in_turns(
    works: dict[str, Work], repeats: int, short: float = 2.0, memory: int = 0
) -> dict[str, float]:
    """The seconds of each: medians of `repeats` turns, of 3 if all take longer than `short` seconds, of 1 if 5 times as long.

    Before each turn `memory` bytes are touched.
    """
    times: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(max(1, repeats)):
        first = sum(own for own, *_ in times.values()) if turn else 0.0
        if first > 5 * short or (first > short and turn >= 3):
            break
        for name, work in works.items():
            touch(memory)
            times[name].append(seconds(work))
    return {name: statistics.median(each) for name, each in times.items()}


def ratio(
    case: str,
    ours: Work,
    theirs: Work,
    repeats: int,
    *,
    goal: float | None = None,
    theirs_repeats: int | None = None,
    note: str = "",
) -> Row:
    """How many times faster `ours` is than `theirs`."""
    mine, others = alternate(ours, theirs, repeats, theirs_repeats)
    return Row(case, others / mine, "x", goal, True, mine, others, note)


def child(code: str, **environment: str) -> str:
    """What a fresh Python process prints that runs this code."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"a benchmark's process failed:\n{done.stderr}")
    return done.stdout
