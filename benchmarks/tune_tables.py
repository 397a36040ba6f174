"""`pegasos tune` without options against an SVC grid and LogisticRegressionCV on public tables.

A split sets 30 % of the rows aside, by class. Each method is a process of its own with one BLAS
thread that reads the other 70 % from a CSV file. Processor time counts from the start of Python,
without `pegasos predict`.

`--repeats` is the number of splits (at most ten); `--case development` leaves out the holdout
tables. Results are kept in the file `BENCHMARK_CACHE` by method and version, those of `tune` by
commit of the imported package, so that only new ones run. `BENCHMARK_BEFORE` names an earlier
commit to compare with. With `BENCHMARK_KEPT=1` nothing runs: tables are reported on the splits on
which every method was run.
"""

from __future__ import annotations

import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Benchmark, NotHereError, Row
from benchmarks.public_tables import DEVELOPMENT, GROUPS, HOLDOUT, Table, load, write_split
from benchmarks.tune_noisy import GRID

CACHE = Path(
    os.environ.get("BENCHMARK_CACHE")
    or Path.home() / ".cache" / "pegasos" / "benchmarks" / "tune_tables.jsonl"
)
BEFORE = os.environ.get("BENCHMARK_BEFORE", "")
KEPT = bool(os.environ.get("BENCHMARK_KEPT"))
MOST_SPLITS = 10
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
SVC, LOGISTIC = (f"{name} scikit-learn {version('scikit-learn')}" for name in ("svc", "logistic"))


def processor_seconds() -> float:
    """Return the processor seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fit_tune(folder: Path, target: str) -> None:
    """Run `pegasos tune` and `pegasos predict`; print the test error and the seconds of `tune`."""
    import pandas as pd

    def pegasos(*arguments: str) -> None:
        command = [sys.executable, "-m", "pegasos", *arguments, "-q"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    pegasos("tune", f"{folder}/train.csv", "--label", target, "-o", f"{folder}/run")
    spent = processor_seconds()
    model, answers = f"{folder}/run/best.model", folder / "answers.csv"
    pegasos("predict", model, f"{folder}/test.csv", "--label", target, "-o", str(answers))
    expected = pd.read_csv(folder / "test.csv", dtype=str)[target]
    given = pd.read_csv(answers, dtype=str).iloc[:, 0]
    print(json.dumps({"error": float((given != expected).mean()), "seconds": spent}))


def fit_peer(folder: Path, target: str, method: str) -> None:
    """Fit an SVC grid or LogisticRegressionCV, and print its test error."""
    import pandas as pd
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import Pipeline, make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import SVC

    prepare = make_column_transformer(
        (
            make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
            make_column_selector(dtype_include="number"),
        ),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )
    train, test = pd.read_csv(folder / "train.csv"), pd.read_csv(folder / "test.csv")
    learner: Any
    if method == "svc":
        learner = GridSearchCV(Pipeline([("prepare", prepare), ("svc", SVC())]), GRID, cv=5)
    else:
        last = LogisticRegressionCV(Cs=10, cv=5, max_iter=1000, scoring="accuracy")
        learner = make_pipeline(prepare, last)
    learner.fit(train.drop(columns=target), train[target])
    score = learner.score(test.drop(columns=target), test[target])
    print(json.dumps({"error": 1 - float(score)}))


def measure(table: Table, split: int, method: str) -> dict[str, float]:
    """Run one method in a process of its own: test error and processor seconds."""
    with tempfile.TemporaryDirectory() as name:
        write_split(table, split, Path(name))
        before = processor_seconds()
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.tune_tables", name, table.target, method],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **ONE_THREAD},
        )
        spent = processor_seconds() - before
    if done.returncode:
        raise RuntimeError(f"{method} failed on {table.source}, split {split}:\n{done.stderr}")
    return {"seconds": spent, **json.loads(done.stdout.splitlines()[-1])}


def current_commit() -> str:
    """Return the commit of the imported package; "-dirty" marks changed files."""
    import pegasos

    command = ["git", "describe", "--always", "--dirty", "--abbrev=7", "--exclude=*"]
    folder = Path(pegasos.__file__).parent
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


class Cache:
    """Results by method (with its version), table and split, in a file of JSON lines."""

    def __init__(self) -> None:
        lines = CACHE.read_text().splitlines() if CACHE.exists() else []
        found = [json.loads(line) for line in lines]
        self.results = {(each["method"], each["table"], each["split"]): each for each in found}

    def fill(self, tune: str, tables: dict[str, Table], splits: int) -> None:
        """Run what is missing: all tables of the first split, then of the second, ..."""
        methods = {tune: "tune", SVC: "svc", LOGISTIC: "logistic"}
        for split in range(splits):
            for name, table in tables.items():
                for method, short in methods.items():
                    if (method, name, split) not in self.results:
                        self._keep(method, name, split, measure(table, split, short))

    def _keep(self, method: str, name: str, split: int, measured: dict[str, float]) -> None:
        result = {"method": method, "table": name, "split": split, **measured}
        self.results[method, name, split] = result
        CACHE.parent.mkdir(parents=True, exist_ok=True)
        with CACHE.open("a") as file:
            file.write(json.dumps(result) + "\n")

    def complete_splits(self, methods: list[str], name: str, splits: int) -> list[int]:
        """Return the splits of a table on which all methods were run."""
        return [
            split
            for split in range(splits)
            if all((method, name, split) in self.results for method in methods)
        ]

    def errors(self, method: str, name: str, splits: list[int]) -> list[float]:
        """Return the test errors of a method in percent, split by split."""
        return [100 * self.results[method, name, split]["error"] for split in splits]

    def differences(self, ours: str, theirs: str, name: str, splits: list[int]) -> list[float]:
        """Return our error minus theirs in percentage points, split by split."""
        our, their = (self.errors(method, name, splits) for method in (ours, theirs))
        return [round(mine - other, 6) for mine, other in zip(our, their, strict=True)]

    def seconds(self, method: str, name: str) -> float:
        """Return the median processor seconds of a method on a table, over all kept splits."""
        kept = [each["seconds"] for key, each in self.results.items() if key[:2] == (method, name)]
        return float(np.nanmedian(kept))


def standard_error(values: list[float]) -> float:
    """Return the standard error of the mean (NaN for a single value)."""
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def signed(values: list[float]) -> str:
    """Return the mean as text, and its standard error if there are two values or more."""
    mean = f"{statistics.fmean(values):+.2f}"
    return mean if len(values) < 2 else f"{mean} ± {standard_error(values):.2f}"


def count(numbers: list[int]) -> str:
    """Return how many splits there are as text, such as "1 to 3 splits"."""
    low, high = min(numbers), max(numbers)
    return f"{low} split{'s' * (low > 1)}" if low == high else f"{low} to {high} splits"


def describe(cache: Cache, tunes: list[str], name: str, table: Table, splits: list[int]) -> Row:
    """Return the row of one table: how much `tune` errs more than the SVC grid.

    From three splits on the target is 2 standard errors. The note has the differences to both
    peers, now and before.
    """
    parts = [
        f"{count([len(splits)])}; SVC {statistics.fmean(cache.errors(SVC, name, splits)):.1f} %"
    ]
    for tune in tunes:
        svc, logistic = (cache.differences(tune, peer, name, splits) for peer in (SVC, LOGISTIC))
        duration = cache.seconds(tune, name)
        parts.append(
            f"{tune}: {signed(svc)} to SVC, {signed(logistic)} to logistic, {duration:.1f} s"
        )
    svc = cache.differences(tunes[0], SVC, name, splits)
    return Row(
        f"{name} ({table.rows} x {table.features})",
        statistics.fmean(svc),
        "points",
        goal=round(2 * standard_error(svc), 2) if len(splits) > 2 else None,
        at_least=False,
        ours_seconds=cache.seconds(tunes[0], name),
        theirs_seconds=cache.seconds(SVC, name),
        note="; ".join(parts),
        group="holdout" if name in HOLDOUT else "development",
    )


def summarize(
    cache: Cache, tunes: list[str], group: str, splits: dict[str, list[int]]
) -> Iterator[Row]:
    """Yield the rows over all tables of a group; their standard errors are over tables."""
    for peer, goal in ((SVC, 0.0), (LOGISTIC, 0.3)):
        means = {
            tune: [
                statistics.fmean(cache.differences(tune, peer, name, each))
                for name, each in splits.items()
            ]
            for tune in tunes
        }
        now = statistics.fmean(means[tunes[0]])
        note = "; ".join(f"{tune}: {signed(values)}" for tune, values in means.items())
        case = f"{group}: mean of tune - {peer.split()[0]}"
        note += f"; {len(splits)} tables, {count([len(each) for each in splits.values()])} each"
        yield Row(case, now, "points", goal=goal, at_least=False, note=note)
    total = {
        method: sum(cache.seconds(method, name) for name in splits)
        for method in (*tunes, SVC, LOGISTIC)
    }
    yield Row(
        f"{group}: processor time of all tables, tune / svc",
        total[tunes[0]] / total[SVC],
        "times",
        goal=0.5,
        at_least=False,
        ours_seconds=total[tunes[0]],
        theirs_seconds=total[SVC],
        note="; ".join(f"{method}: {seconds:.0f} s" for method, seconds in total.items()),
    )


def compare(group: str, repeats: int) -> Iterator[Row]:
    """Measure what is missing of a group, and yield its rows."""
    cache, most, tables = Cache(), min(repeats, MOST_SPLITS), GROUPS[group]
    tunes = [f"tune {commit}" for commit in (current_commit(), BEFORE) if commit]
    if not KEPT:
        load(DEVELOPMENT["glass"])  # says at once if the data are not here
        if not any(method == tunes[0] for method, _, _ in cache.results):
            for name in ("wine", "titanic"):  # compiles the package, so that no table pays for it
                measure(DEVELOPMENT[name], 0, "tune")
        cache.fill(tunes[0], tables, most)
    methods = [*tunes, SVC, LOGISTIC]
    splits = {name: cache.complete_splits(methods, name, most) for name in tables}
    splits = {name: each for name, each in splits.items() if each}
    if not splits:
        raise NotHereError(f"no kept results of {', '.join(methods)} in {CACHE}")
    for name, each in splits.items():
        yield describe(cache, tunes, name, tables[name], each)
    yield from summarize(cache, tunes, group, splits)


BENCHMARK = Benchmark.of_cases(
    "tune_tables",
    "Test error of `pegasos tune` minus that of an SVC grid (25 cells) on public tables, "
    "70/30 splits; times are processor time",
    {group: partial(compare, group) for group in GROUPS},
)

if __name__ == "__main__":
    folder, target, method = sys.argv[1:]
    if method == "tune":
        fit_tune(Path(folder), target)
    else:
        fit_peer(Path(folder), target, method)
