"""Rows beyond memory and on a cluster: DaskSDCA and DaskSweepCV with two local workers.

The large table is on disk in shards (TMPDIR needs 9 GB) and is read again in every pass by workers
of 1 GB each. `--case` runs one part, `--try ROWS` makes all tables smaller.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import generated, shuffled, standardized, stored
from benchmarks.harness import Benchmark, NotHereError, Row, largest, seconds
from pegasos import SDCA

Array = np.ndarray[Any, Any]

ROWS, WIDTH, SHARD = 100_000_000, 20, 1_000_000
WORKERS, WORKER_MEMORY = 2, "1GB"


@contextmanager
def workers(memory: str = WORKER_MEMORY) -> Iterator[Any]:
    """Yield a client of two workers with one thread each; imports and compilation are done."""
    try:
        import dask.array as da
        from distributed import Client, LocalCluster

        from pegasos.dask import DaskSDCA
    except ImportError as error:
        raise NotHereError("needs Dask: pip install 'pegasos[dask]'") from error
    settings = {
        "n_workers": WORKERS,
        "threads_per_worker": 1,
        "memory_limit": memory,
        "dashboard_address": "127.0.0.1:0",
    }
    with LocalCluster(host="127.0.0.1", **settings) as cluster, Client(cluster) as client:
        X, y = generated(1000)
        for loss in ("hinge", "logistic"):
            DaskSDCA(loss, client=client).fit(da.from_array(X, chunks=(250, -1)), y)
        yield client


def peak_bytes() -> int:
    """Return the peak memory of this process."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return 1024 * int(found[1]) if found else 0


# -- a table on disk


def write_shard(folder: str, number: int, rows: int) -> None:
    """Write one shard of generated rows."""
    random = np.random.default_rng(number)
    X = random.standard_normal((rows, WIDTH), dtype=np.float32)
    score = X @ np.linspace(1.0, 0.1, WIDTH, dtype=np.float32) + 2.0 * random.standard_normal(
        rows, dtype=np.float32
    )
    np.save(f"{folder}/X{number}.npy", X)
    np.save(f"{folder}/y{number}.npy", (score > 0.5).astype(np.int8))


def read_all(folder: str, number: int) -> float:
    """Read one shard."""
    return float(np.load(f"{folder}/X{number}.npy").sum(dtype=np.float64))


def on_disk(loss: str, repeats: int) -> Iterator[Row]:
    """Fit 100 million rows (8 GB) with 2 GB of workers."""
    import dask

    rows = min(ROWS, largest())
    shard = min(SHARD, max(1, rows // 4))
    shards = rows // shard
    with tempfile.TemporaryDirectory(prefix="pegasos-scale-") as folder, workers() as client:
        from pegasos.dask import DaskSDCA

        client.gather(
            client.map(write_shard, [folder] * shards, range(shards), [shard] * shards, pure=False)
        )
        start = time.perf_counter()
        client.gather(client.map(read_all, [folder] * shards, range(shards), pure=False))
        raw = time.perf_counter() - start
        load = dask.delayed(np.load, pure=False)
        X, y = ([load(f"{folder}/{name}{k}.npy") for k in range(shards)] for name in "Xy")
        learner = DaskSDCA(loss, 1e-6, client=client)
        took = seconds(lambda: learner.fit(X, y))
        peak = sum(client.run(peak_bytes).values())
        passes = learner.n_iter_ + 1  # one before the first, which counts classes and weights
        note = f"gap {learner.gap_:.1e}; {took:.0f} s: {passes} passes of {took / passes:.2f} s, "
        note += f"raw reading {raw:.2f} s; {learner.plan_.reason}; "
        note += f"peak of all workers {peak / 1e9:.2f} GB"
        yield Row(
            f"{loss}, {shards * shard:,} x {WIDTH} float32 on disk",
            peak / 1e9,
            "GB",
            2.0,
            False,
            took,
            note=note,
        )


# -- real tables


def flights(path: str, start: int, rows: int, airports: dict[str, list[str]]) -> tuple[Any, Array]:
    """Return hour, weekday, distance and airports of some flights (CSR), and late or not."""
    import polars
    from scipy import sparse

    part = polars.scan_parquet(path).slice(start, rows).collect()
    hour, day = part["date"].dt.hour().to_numpy(), part["date"].dt.weekday().to_numpy() - 1
    distance = part["distance"].to_numpy() / 1000.0
    width, columns, values = (
        33,
        [hour, 24 + day, np.full(len(part), 31), np.full(len(part), 32)],
        np.ones((len(part), 6)),
    )
    values[:, 2:4] = np.column_stack([distance, np.log(distance)])
    for name, known in airports.items():
        columns.append(width + np.searchsorted(known, part[name].to_numpy()))
        width += len(known)
    given = (
        values.astype(np.float32).ravel(),
        np.column_stack(columns).ravel(),
        6 * np.arange(len(part) + 1),
    )
    return sparse.csr_matrix(given, (len(part), width)), part["delay"].to_numpy() > 15


def of_flights(loss: str, repeats: int) -> Iterator[Row]:
    """Predict delays of more than 15 minutes from hour, weekday, distance and airports."""
    import dask
    import polars

    path = str(stored("flights-3m.parquet"))
    rows = min(3_000_000, largest())
    names = polars.scan_parquet(path).select("origin", "destination").collect()
    airports = {name: names[name].unique().sort().to_list() for name in names.columns}
    with workers("4GB") as client:
        from pegasos.dask import DaskSDCA

        size = min(100_000, rows)
        parts = [
            dask.delayed(flights, pure=False, nout=2)(path, start, size, airports)
            for start in range(0, rows, size)
        ]
        X, y = [part[0] for part in parts], [part[1] for part in parts]
        learner = DaskSDCA(loss, 1e-5, client=client)
        took = seconds(lambda: learner.fit(X, y))
        late = float(np.mean([float(each.mean()) for each in dask.compute(*y)]))
        note = f"{learner.coef_.shape[1]} features, {learner.n_iter_} passes, "
        note += f"{learner.plan_.reason}; {late:.1%} are late"
        yield Row(
            f"{loss}, flights, {rows:,} rows: gap", learner.gap_, "", 1e-3, False, took, note=note
        )


def covtype_rows() -> tuple[Array, Array, float]:
    """Return standardized rows, all seven classes, and the λ of C = 1."""
    X, y = shuffled("covtype")
    X, y = standardized(X[: largest()]), y[: largest()]
    return X, y, 1 / len(y)


def covtype(repeats: int) -> Iterator[Row]:
    """Compare with the local fit and with 100 iterations of LinearSVC (1,000 take minutes)."""
    from sklearn.svm import LinearSVC

    X, y, lam = covtype_rows()
    local = SDCA("hinge", lam)
    theirs = LinearSVC(loss="hinge", C=1.0, max_iter=100, random_state=0)
    alone, other = seconds(lambda: local.fit(X, y)), seconds(quietly(lambda: theirs.fit(X, y)))
    mine, took = on_cluster(X, y, lam)
    other_sum = objective_sum("hinge", X, y, lam, theirs.coef_, theirs.intercept_)
    own, alone_sum = mine.objective_.sum(), local.objective_.sum()
    note = f"gap {mine.gap_:.1e}, {mine.n_iter_} passes; the local fit {alone:.1f} s; "
    note += f"objectives {own:.6f}, local {alone_sum:.6f}, LinearSVC {other_sum:.6f}"
    yield Row(
        f"hinge, covtype, {len(y):,} rows, 7 classes, C = 1: against LinearSVC",
        other / took,
        "x",
        1,
        True,
        took,
        other,
        note,
    )


def covtype_dask_ml(repeats: int) -> Iterator[Row]:
    """Compare the logistic loss with dask-ml's LogisticRegression (L-BFGS), one fit per class."""
    try:
        from dask_ml.linear_model import LogisticRegression
    except ImportError as error:
        raise NotHereError(
            "needs dask-ml: pip install dask-ml, in an environment of its own"
        ) from error

    X, y, lam = covtype_rows()
    mine, took = on_cluster(X, y, lam, "logistic")
    with workers("4GB"):
        import dask.array as da
        from distributed import wait

        rows = da.from_array(X, chunks=(max(1, len(y) // 8), -1)).persist()
        wait(rows)
        found = []

        def one_by_one() -> None:
            for label in mine.classes_:
                target = da.from_array((y == label).astype(np.int64), chunks=rows.chunks[0])
                # our constant is a regularized feature; dask-ml's is not regularized
                found.append(LogisticRegression(solver="lbfgs", C=1.0).fit(rows, target))

        other = seconds(quietly(one_by_one))
    vectors, biases = (
        np.stack([each.coef_ for each in found]),
        np.array([each.intercept_ for each in found]).ravel(),
    )
    theirs = objective_sum("logistic", X, y, lam, vectors, biases)
    note = f"gap {mine.gap_:.1e}, {mine.n_iter_} passes; "
    note += f"sum of objectives {mine.objective_.sum():.6f}, dask-ml {theirs:.6f}"
    yield Row(
        f"logistic, covtype, {len(y):,} rows, 7 classes, C = 1: against dask-ml",
        other / took,
        "x",
        1,
        True,
        took,
        other,
        note,
    )


def objective_sum(
    loss: str, X: Array, y: Array, lam: float, vectors: Array, biases: Array
) -> float:
    """Return the sum of the one-vs-rest objectives, with a regularized constant feature."""
    total = 0.0
    for label, vector, bias in zip(np.unique(y), vectors, biases, strict=True):
        margins = np.where(y == label, 1.0, -1.0) * (X @ vector + bias)
        losses = np.maximum(0.0, 1.0 - margins) if loss == "hinge" else np.logaddexp(0.0, -margins)
        total += float(lam / 2 * (vector @ vector + bias * bias) + losses.mean())
    return total


def overhead(repeats: int) -> Iterator[Row]:
    """Fit rows that fit into memory: at most twice the local time and 3 s."""
    for rows in sorted({min(rows, largest()) for rows in (50_000, 500_000)}):
        X, y = generated(rows)
        for loss in ("hinge", "logistic"):
            local = SDCA(loss, 1e-5)
            local.fit(X, y)
            alone = seconds(lambda local=local, X=X, y=y: local.fit(X, y))
            mine, took = on_cluster(X, y, 1e-5, loss)
            objectives = f"{mine.objective_[0]:.6f} and {local.objective_[0]:.6f}"
            note = f"{mine.n_iter_} passes; objectives {objectives}"
            allowed = round(2 * alone + 3, 1)
            yield Row(
                f"{loss}, {len(y):,} x 50, two workers: seconds",
                took,
                "s",
                allowed,
                False,
                took,
                alone,
                note,
            )


def grid(repeats: int) -> Iterator[Row]:
    """Run six λ and five folds in shared passes, against thirty separate fits of DaskSDCA."""
    X, y = generated(min(200_000, largest()))
    lams = np.logspace(-6, -1, 6)
    with workers("4GB") as client:
        import dask.array as da

        from pegasos.dask import DaskSDCA, DaskSweepCV

        rows = da.from_array(X, chunks=(max(1, len(y) // 8), -1)).persist()
        folds = np.arange(len(y)) % 5
        for loss in ("hinge", "logistic"):
            sweep = DaskSweepCV(DaskSDCA(loss, client=client), {"lam": lams}, cv=folds, refit=False)
            took = seconds(quietly(lambda sweep=sweep: sweep.fit(rows, y)))
            fits = []
            learner = DaskSDCA(loss, client=client)
            for lam in lams:  # one fold of each; the other four take as long
                learner.set_params(lam=float(lam))
                fits.append(
                    seconds(
                        lambda learner=learner: learner.fit(rows, y, (folds != 0).astype(float))
                    )
                )
            gap = sweep.cv_results_["mean_gap"].max()
            note = f"{sweep.passes_} passes, largest gap {gap:.1e}; "
            note += f"6 separate fits {sum(fits):.1f} s, counted five times"
            name = f"{loss}, {len(y):,} x 50, 6 λ x 5 folds: DaskSweepCV against separate fits"
            yield Row(name, 5 * sum(fits) / took, "x", None, True, took, 5 * sum(fits), note)


def on_cluster(X: Array, y: Array, lam: float, loss: str = "hinge") -> tuple[Any, float]:
    """Fit with two workers; return the learner and the seconds without start-up and transfer."""
    with workers("4GB") as client:
        import dask.array as da
        from distributed import wait

        from pegasos.dask import DaskSDCA

        rows = da.from_array(X, chunks=(max(1, len(y) // 8), -1)).persist()
        wait(rows)
        learner = DaskSDCA(loss, lam, client=client)
        return learner, seconds(lambda: learner.fit(rows, y))


def quietly(work: Callable[[], Any]) -> Callable[[], Any]:
    """Return the function without its warnings."""
    import warnings

    def silent() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return work()

    return silent


CASES = {
    "overhead": overhead,
    "grid": grid,
    "flights-hinge": partial(of_flights, "hinge"),
    "flights-logistic": partial(of_flights, "logistic"),
    "covtype": covtype,
    "covtype-dask-ml": covtype_dask_ml,
    "disk-hinge": partial(on_disk, "hinge"),
    "disk-logistic": partial(on_disk, "logistic"),
}
BENCHMARK = Benchmark.of_cases(
    "scale",
    "DaskSDCA to a gap of 1e-3 on two local workers: 8 GB on disk with 2 GB of memory, "
    "real tables, overhead, grids",
    CASES,
)
