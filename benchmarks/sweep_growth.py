"""Time and memory of sweeps as rows grow, with stored matrices and with rows on the fly."""

from __future__ import annotations

import json
from collections.abc import Iterator

from benchmarks.harness import Benchmark, Row, child

# VmHWM of a fresh process: the most memory it took.
CODE = """
import json, re, time, warnings
from pathlib import Path
import numpy as np
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from pegasos import Pegasos, SweepCV
from pegasos.kernels import Gaussian
warnings.simplefilter("ignore")
m, width, kernels, steps, memory = {m}, {width}, {kernels}, {steps}, {memory!r}
shape = {{"n_informative": width // 5, "n_redundant": width // 5, "n_clusters_per_class": 6}}
X, y = make_classification(m, width, class_sep=0.8, flip_y=0.02, random_state=0, **shape)
X = X.astype(np.float32)
grid = {{"pegasos__kernel": [Gaussian(v) for v in np.geomspace(25, 800, 6)[:kernels]],
         "pegasos__lam": np.geomspace(1e-7, 1e-2, 10), "pegasos__n_iter": [steps // 4, steps]}}
learner = make_pipeline(StandardScaler(), Pegasos(average=False, random_state=0))
SweepCV(learner, grid, cv=3, refit=False).fit(X[:500], y[:500])
start = time.perf_counter()
sweep = SweepCV(learner, grid, cv=3, memory=memory, refit=False).fit(X, y)
took = time.perf_counter() - start
peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
print(json.dumps([took, peak, sweep.plan_, 1 - sweep.best_score_]))
"""


def measure(
    m: int, width: int, kernels: int, steps: int, memory: int | str | None
) -> tuple[float, float, str, float]:
    """Return seconds, peak memory, plan and best error of a sweep in a fresh process."""
    code = CODE.format(m=m, width=width, kernels=kernels, steps=steps, memory=memory)
    took, peak, way, error = json.loads(child(code))
    return took, peak, way, error


def run(repeats: int) -> Iterator[Row]:
    """Measure, and yield the rows."""
    for m in (1000, 2000, 4000, 8000, 16_000, 32_000):
        for memory in (None, 4 * m * m):  # two matrices do not fit into the second
            took, peak, way, _ = measure(m, 50, 2, m, memory)
            note = f"50 features, 2 kernels x 10 λ x 2 T x 3 folds; peak {peak / 1e9:.2f} GB"
            yield Row(f"m = {m:,}: {way}", took, "s", note=note)
    one = measure(50_000, 200, 1, 33_000, "4GB")
    six = measure(50_000, 200, 6, 33_000, "4GB")
    note = f"{six[2]}; error {six[3]:.3f}; peak {six[1] / 1e9:.2f} GB"
    yield Row(
        "50,000 x 200, 6 variances x 10 λ x 2 T x 3 folds, memory='4GB'",
        six[0],
        "s",
        1200,
        False,
        six[0],
        note=note,
    )
    yield Row("six variances / one", six[0] / one[0], "times", 3, False, six[0], one[0])


BENCHMARK = Benchmark(
    "sweep_growth",
    "Time and memory of sweeps as rows grow; a table whose kernel matrix does not fit",
    run,
)
