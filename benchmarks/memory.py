"""Peak memory of a kernel fit that may not store its Gram matrix."""

from __future__ import annotations

import json
from collections.abc import Iterator

from benchmarks.harness import Benchmark, Row, child

STEPS = 20_000

# VmHWM, where there is one: ru_maxrss of a child begins at what its parent had taken.
CODE = f"""
import json, re, resource, sys, time
from pathlib import Path
import numpy as np
from pegasos import Pegasos
random = np.random.default_rng(0)
y = random.integers(10, size=60_000)
centers = 0.2 * random.normal(size=(10, 100)).astype(np.float32)
X = random.normal(size=(60_000, 100)).astype(np.float32) + centers[y]
model = Pegasos(kernel="gaussian", n_iter={STEPS}, memory="2GB", random_state=0)
start = time.perf_counter()
model.fit(X, y)
took = time.perf_counter() - start
status = Path("/proc/self/status")
if status.exists():
    peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1])
else:
    unit = 1 if sys.platform == "darwin" else 1024
    peak = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([peak, took, model.plan_.rows, str(model.plan_), len(model.support_)]))
"""


def run(repeats: int) -> Iterator[Row]:
    """Measure, and yield the rows."""
    peak, took, rows, plan, support = json.loads(child(CODE))
    if rows != "on the fly":
        raise AssertionError(f"the plan was not to compute rows on the fly: {plan}")
    note = f"{STEPS:,} steps in {took:.1f} s, {support:,} support vectors; plan: {plan}"
    yield Row("peak of the process", peak / 1e9, "GB", 3, False, ours_seconds=took, note=note)


BENCHMARK = Benchmark(
    "memory",
    'Gaussian kernel, 60,000 x 100 float32 rows, ten classes, memory="2GB": peak of the process',
    run,
)
