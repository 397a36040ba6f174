"""First fit with an empty cache of compiled code: seconds in total and per function."""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import Benchmark, Row, child

#: What is timed in a fresh process (imports of the learners are not counted).
CODE = """
import json, time, warnings
import numpy as np
from numba.core import event
from sklearn.datasets import load_digits
from pegasos import SDCA, Pegasos, Perceptron
from pegasos.kernels import Gaussian

warnings.simplefilter("ignore")
X, y = load_digits(return_X_y=True)

class Compilations(event.Listener):
    open, seconds = [], {{}}
    def on_start(self, started):
        self.open.append([time.process_time(), 0.0])
    def on_end(self, ended):
        begin, inner = self.open.pop()
        spent, function = time.process_time() - begin, ended.data["dispatcher"].py_func
        if self.open:
            self.open[-1][1] += spent
        name = function.__module__ + "." + function.__name__
        self.seconds[name] = self.seconds.get(name, 0.0) + spent - inner

listener = Compilations()
event.register("numba:compile", listener)
begin, busy = time.perf_counter(), time.process_time()
{learner}.fit(X / 16, y)
print(json.dumps([time.perf_counter() - begin, time.process_time() - busy, listener.seconds]))
"""
TUNE = """
import contextlib, json, os, time
from pegasos.program.app import run
begin = time.perf_counter()
with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
    with contextlib.redirect_stderr(nothing):
        code = run(["tune", {table!r}, "--out", {out!r}, "--force"])
assert code == 0, code
print(json.dumps([time.perf_counter() - begin, time.process_time(), {{}}]))
"""
#: Learner and goal in seconds, on a quiet machine.
CASES = {
    "SDCA, Gaussian kernel": ("SDCA(kernel=Gaussian(4))", 5.0),
    "Pegasos, Gaussian kernel": ("Pegasos(kernel=Gaussian(4), random_state=0)", 4.0),
    "Perceptron, Gaussian kernel": ("Perceptron(kernel=Gaussian(4), random_state=0)", 4.0),
    "Pegasos, linear": ("Pegasos(random_state=0)", 3.0),
}


def measure(case: str, code: str, goal: float, repeats: int) -> Row:
    """Return the median of fresh processes, each with an empty cache."""
    found = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            found.append(json.loads(child(code, NUMBA_CACHE_DIR=folder).splitlines()[-1]))
    seconds = statistics.median(each[0] for each in found)
    busy = statistics.median(each[1] for each in found)
    own = {name: spent for name, spent in found[-1][2].items() if name.startswith("pegasos.")}
    parts = [
        f"{name.rsplit('.', 1)[1]} {spent:.2f}"
        for name, spent in sorted(own.items(), key=lambda each: -each[1])
    ]
    note = f"{busy:.1f} s of processor time"
    if own:
        note += f"; {len(own)} functions: {', '.join(parts)}"
    return Row(case, seconds, "s", goal, False, ours_seconds=seconds, note=note)


def run(repeats: int) -> Iterator[Row]:
    """Measure, and yield the rows."""
    repeats = min(repeats, 3)
    for case, (learner, goal) in CASES.items():
        yield measure(case, CODE.format(learner=learner), goal, repeats)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        table.write_text(_table())
        code = TUNE.format(table=str(table), out=str(Path(folder) / "out"))
        yield measure("pegasos tune, 900 rows", code, 12.0, repeats)


def _table() -> str:
    """Return 900 rows of eight numbers and a label of two classes, as CSV."""
    import numpy as np

    random = np.random.default_rng(0)
    X = random.normal(size=(900, 8))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * random.normal(size=900) > 0
    head = ",".join([*(f"x{k}" for k in range(8)), "label"])
    rows = (
        ",".join([*(f"{value:.5f}" for value in row), "ab"[int(label)]])
        for row, label in zip(X, y, strict=True)
    )
    return "\n".join([head, *rows]) + "\n"


BENCHMARK = Benchmark(
    "first_fit", "The first fit with an empty cache of compiled code (import not counted)", run
)
