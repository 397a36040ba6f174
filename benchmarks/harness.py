"""Timing: alternating runs in one process, medians of repeats."""

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

#: Environment variable with the largest number of rows of a trial run.
LARGEST = "BENCHMARK_ROWS"


def largest() -> int:
    """Return the largest number of rows that a table may have."""
    return int(os.environ.get(LARGEST, "1000000000"))


class NotHereError(Exception):
    """Raised where data or a package that a benchmark needs is missing."""


@dataclass(frozen=True)
class Benchmark:
    """Benchmark: a description, and the function that measures and yields rows.

    `cases` are parts that can be run alone (`--case`).
    """

    name: str
    compares: str
    run: Callable[[int], Iterator[Row]]
    cases: Mapping[str, Callable[[int], Iterator[Row]]] = field(default_factory=dict)

    @classmethod
    def of_cases(
        cls, name: str, compares: str, cases: Mapping[str, Callable[[int], Iterator[Row]]]
    ) -> Benchmark:
        """Return a benchmark that runs all its cases; a case without its data becomes a note."""

        def run(repeats: int) -> Iterator[Row]:
            for case, measure in cases.items():
                try:
                    yield from measure(repeats)
                except NotHereError as reason:
                    yield Row(f"left out: {case}", float("nan"), "", note=str(reason))

        return cls(name, compares, run, cases)


@dataclass(frozen=True)
class Row:
    """Row of the results: a figure with its unit, and its target (None: for information).

    In a comparison the figure is the speedup, theirs / ours.
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
    #: Peak memory of each side beyond that of the process before, in bytes.
    ours_bytes: int | None = None
    theirs_bytes: int | None = None

    @property
    def reached(self) -> bool | None:
        """Whether the target is reached; None without a target."""
        if self.goal is None:
            return None
        return self.figure >= self.goal if self.at_least else self.figure <= self.goal

    @property
    def target(self) -> str:
        """Target as text."""
        return (
            ""
            if self.goal is None
            else f"{'>=' if self.at_least else '<='} {self.goal:g} {self.unit}".strip()
        )

    def noting(self, note: str) -> Row:
        """Return a copy of the row with a note."""
        return replace(self, note=note)

    def milliseconds(self, parts: float) -> str:
        """Return the times of both sides divided by `parts`, in milliseconds."""
        assert self.ours_seconds is not None and self.theirs_seconds is not None
        ours, theirs = (1000 * each / parts for each in (self.ours_seconds, self.theirs_seconds))
        return f"{ours:.3g} ms / {theirs:.3g} ms"

    def as_dict(self) -> dict[str, Any]:
        """Return the row as stored in results.json."""
        return {**vars(self), "target": self.target, "reached": self.reached}


def seconds(work: Work) -> float:
    """Return the seconds of one call, without garbage collection."""
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
    """Return the median seconds of both sides, measured in turns; `warm` runs each once before."""
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
    """Call without warnings about borders of grids and peers that did not converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work(*given)


def peak_memory(work: Work) -> int | None:
    """Return the peak memory of a call beyond that of the process, in bytes; None without /proc.

    Free memory of the C library is released first, so that all memory that a call uses counts.
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
    """Write to this many bytes and release them.

    A virtual machine may return memory that was free for some seconds to its host. The first use of
    a gigabyte then takes 3 s (measured), whichever program asks for it.
    """
    np.empty(memory, dtype=np.uint8)[:: mmap.PAGESIZE] = 1


def in_turns(
    works: dict[str, Work], repeats: int, short: float = 2.0, memory: int = 0
) -> dict[str, float]:
    """Return the median seconds of each side over `repeats` turns.

    If a turn takes longer than `short` seconds there are 3 turns, if 5 times as long one. Before
    each measurement `memory` bytes are touched.
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
    """Return a row with the speedup of `ours` over `theirs`."""
    mine, others = alternate(ours, theirs, repeats, theirs_repeats)
    return Row(case, others / mine, "x", goal, True, mine, others, note)


def child(code: str, **environment: str) -> str:
    """Run code in a fresh Python process, and return its output."""
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
