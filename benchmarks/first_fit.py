"""What a user waits for the first time: compiling."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

from benchmarks.harness import Benchmark, Row, child

CODE = """
import time
import numpy as np
from pegasos import Pegasos
random = np.random.default_rng(0)
X = random.normal(size=(500, 20)).astype({dtype!r})
y = random.integers(3, size=500)
start, busy = time.perf_counter(), time.process_time()
Pegasos(kernel={kernel!r}, epochs=1, random_state=0).fit(X, y)
print(time.perf_counter() - start, time.process_time() - busy)
"""

CASES = {"linear, float64": (None, "float64"), "gaussian kernel, float32": ("gaussian", "float32")}


def run(repeats: int) -> Iterator[Row]:
    for case, (kernel, dtype) in CASES.items():
        code = CODE.format(kernel=kernel, dtype=dtype)
        with tempfile.TemporaryDirectory() as folder:
            first, busy = map(float, child(code, NUMBA_CACHE_DIR=folder).split())
            second = float(child(code, NUMBA_CACHE_DIR=folder).split()[0])
        note = f"{busy:.1f} s of processor time; the next process's first fit: {second:.2f} s"
        yield Row(case, first, "s", 10, False, ours_seconds=first, note=note)


BENCHMARK = Benchmark(
    "first_fit", "The first fit with an empty cache of compiled code (import not counted)", run
)
