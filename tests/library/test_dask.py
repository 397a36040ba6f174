"""Test `DaskSDCA` on real clusters: certified optima for any blocks, labels, weights and inputs."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import pegasos
from clusters import in_blocks, same, three_classes, wide_rows
from pegasos import SDCA
from pegasos.dask import DaskSDCA

Array = np.ndarray[Any, Any]
#: All of these share their clusters: one process runs them.
pytestmark = pytest.mark.xdist_group("dask")
BOTH = pytest.mark.parametrize("loss", ["hinge", "logistic"])


@pytest.fixture(scope="module")
def rows() -> tuple[Array, Array]:
    return three_classes()


def test_workers_start_with_preloaded_modules(client: Client) -> None:
    """A module that cannot be preloaded is skipped silently and loaded by each worker."""
    assert set(client.run(lambda: "worker_code" in sys.modules).values()) == {True}


# Equal results


@BOTH
def test_any_blocks_are_certified_and_equal_the_local_optimum(
    loss: str, rows: Any, client: Client
) -> None:
    X, y = rows
    tol = 1e-2 if loss == "hinge" else 1e-3  # which takes more passes
    local = SDCA(loss, 0.01, tol=tol).fit(X, y)
    order = np.argsort(y, kind="stable")  # blocks of one class each
    for size, (A, b) in ((600, (X, y)), (150, (X, y)), (38, (X, y)), (150, (X[order], y[order]))):
        found = DaskSDCA(loss, 0.01, tol=tol, client=client).fit(*in_blocks(A, b, size))
        assert found.gap_ <= tol
        assert np.all(found.dual_objective_ <= local.objective_ * (1 + 1e-12))
        assert np.all(local.dual_objective_ <= found.objective_ * (1 + 1e-12))
        exact = found.to_local().certificate(X, y)
        assert_allclose(exact.primal, found.objective_, rtol=1e-9)
        assert_array_equal(found.classes_, local.classes_)


def test_arrays_frames_and_delayed_parts_give_equal_results(rows: Any, client: Client) -> None:
    import dask.dataframe as dd

    X, y = rows
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    size = 200
    parts = [slice(start, start + size) for start in range(0, len(X), size)]
    learner = DaskSDCA("logistic", client=client)
    dense = clone(learner).fit(*in_blocks(X, y, size))
    same(
        dense,
        clone(learner).fit(
            [dask.delayed(X[part]) for part in parts], [dask.delayed(y[part]) for part in parts]
        ),
    )
    same(dense, clone(learner).fit(da.from_array(X, chunks=(size, 3)), y))
    csr = da.from_array(X, chunks=(size, -1)).map_blocks(sparse.csr_matrix)
    same(dense, clone(learner).fit(csr, da.from_array(y, chunks=size)))
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])]).assign(label=y)
    lazy = dd.from_pandas(frame, npartitions=3, sort=False)
    from_frame = clone(learner).fit(lazy.drop(columns="label"), lazy["label"])
    same(dense, from_frame)
    assert list(from_frame.feature_names_in_) == list(frame.columns[:-1])
    guess = from_frame.predict(lazy.drop(columns="label"))
    assert_array_equal(client.gather(client.compute(guess)), dense.to_local().predict(X))


def test_unknown_lengths_empty_blocks_and_integers(rows: Any, client: Client) -> None:
    X, y = rows
    numbers = np.searchsorted(np.unique(y), y) * 10
    A, b = in_blocks(X, numbers, 200)
    keep = da.from_array(
        np.r_[np.ones(200, bool), np.zeros(200, bool), np.ones(200, bool)], chunks=200
    )
    found = DaskSDCA("logistic", client=client).fit(A[keep], b[keep])  # the second block is empty
    kept = np.r_[0:200, 400:600]
    same(found, DaskSDCA("logistic", client=client).fit(*in_blocks(X[kept], numbers[kept], 200)))
    assert found.classes_.tolist() == [0, 10, 20]
    lazy = found.predict(A[keep])
    assert_array_equal(client.gather(client.compute(lazy)), found.to_local().predict(X[kept]))


@BOTH
def test_wide_sparse_rows(loss: str, client: Client) -> None:
    parts, labels, X, y = wide_rows()
    found, local = DaskSDCA(loss, 0.1, client=client).fit(parts, labels), SDCA(loss, 0.1).fit(X, y)
    assert found.gap_ <= found.tol
    assert found.dual_objective_[0] <= local.objective_[0] * (1 + 1e-12)
    assert local.dual_objective_[0] <= found.objective_[0] * (1 + 1e-12)
    assert found.plan_.method.startswith("cutting planes" if loss == "hinge" else "L-BFGS")
    with pytest.raises(ValueError, match="fit_intercept='free' needs at most 2,000 features"):
        DaskSDCA(loss, fit_intercept="free", client=client).fit(parts, labels)


def test_float32_stays_float32(rows: Any, client: Client) -> None:
    X, y = rows
    found = DaskSDCA("logistic", client=client).fit(*in_blocks(X.astype(np.float32), y, 300))
    assert found.coef_.dtype == found.intercept_.dtype == np.float32
    assert_allclose(found.objective_, SDCA("logistic").fit(X, y).objective_, rtol=1e-3)


def test_blocks_beyond_the_memory_are_recomputed(rows: Any, client: Client) -> None:
    X, y = rows
    kept, again = (
        DaskSDCA("logistic", memory=memory, client=client).fit(*in_blocks(X, y, 200))
        for memory in (None, "1kB")
    )
    same(kept, again)
    assert "kept on the workers" in kept.plan_.reason
    assert "made again" in again.plan_.reason


def test_weights_of_rows_and_classes(rows: Any, client: Client) -> None:
    X, y = rows
    weights = np.random.default_rng(1).integers(0, 3, 600).astype(float)
    for class_weight in ("balanced", {"ash": 3.0, "birch": 1.0, "cedar": 0.5}):
        local = SDCA("logistic", tol=1e-5, class_weight=class_weight).fit(X, y, weights)
        found = DaskSDCA("logistic", tol=1e-5, class_weight=class_weight, client=client).fit(
            *in_blocks(X, y, 200), weights
        )
        assert_allclose(found.objective_, local.objective_, rtol=2e-5)
    often = np.repeat(np.arange(600), weights.astype(int))
    learner = DaskSDCA("hinge", tol=1e-3, client=client)
    weighted, repeated = (
        learner.fit(*in_blocks(X, y, 200), weights).objective_,
        learner.fit(*in_blocks(X[often], y[often], 200)).objective_,
    )
    assert_allclose(weighted, repeated, rtol=1e-3)


# Fitted attributes


def test_predictions_are_lazy_and_equal_the_local_ones(
    rows: Any, client: Client, tmp_path: Path
) -> None:
    X, y = rows
    A, b = in_blocks(X, y, 300)
    found = DaskSDCA("logistic", client=client).fit(A, b)
    local = found.to_local()
    assert type(local) is SDCA
    for method in ("predict", "decision_function", "predict_proba"):
        lazy = getattr(found, method)(A)
        assert isinstance(lazy, da.Array)
        there = client.gather(client.compute(lazy))
        assert lazy.shape == there.shape
        assert lazy.dtype == there.dtype
        assert_array_equal(there, getattr(local, method)(X))
        assert_array_equal(getattr(found, method)(X), there)
    pegasos.save(local, tmp_path / "trees.model")
    assert_array_equal(pegasos.load(tmp_path / "trees.model").predict(X), local.predict(X))
    two = DaskSDCA(tol=0.1, client=client).fit(A, b != "ash")
    assert two.decision_function(A).shape == (600,)
    assert not hasattr(two, "predict_proba")


def test_parameters_are_those_of_sdca_that_work_in_passes() -> None:
    ours, theirs = (inspect.signature(each.__init__).parameters for each in (DaskSDCA, SDCA))
    without = {"kernel", "multiclass", "sampling", "finish", "max_time", "checkpoints"}
    without |= {"warm_start", "random_state"}
    shared = [name for name in theirs if name not in without]
    assert sorted(name for name in ours if name != "client") == sorted(shared)
    assert all(
        ours[name].default == theirs[name].default and ours[name].kind == theirs[name].kind
        for name in shared
    )
    assert ours["client"].default is None
    documented = (DaskSDCA.__doc__ or "").split("Attributes")[0].replace(",", " ").split()
    assert set(ours) - {"self"} <= set(documented)
    assert vars(clone(DaskSDCA("logistic", 0.1, client=None))) == vars(DaskSDCA("logistic", 0.1))


def test_reaching_max_epochs_warns(rows: Any, client: Client) -> None:
    with pytest.warns(ConvergenceWarning, match="DaskSDCA ended after 2 epochs"):
        DaskSDCA(tol=1e-6, max_epochs=2, client=client).fit(*in_blocks(*rows, 300))


# Errors


def test_invalid_parameters_are_refused(rows: Any, client: Client) -> None:
    A, b = in_blocks(*rows, 300)
    for given, message in (
        ({"kernel": "gaussian"}, "no parameter 'kernel': put pegasos.dask.DaskNystroem"),
        ({"multiclass": "one-vs-one"}, "no parameter 'multiclass': use scikit-learn's"),
        ({"checkpoints": [1]}, "unexpected keyword argument 'checkpoints'"),
    ):
        with pytest.raises(TypeError, match=message):
            DaskSDCA(client=client, **given)
    with pytest.raises(ValueError, match="tol must be a finite number above 0"):
        DaskSDCA(tol=0, client=client).fit(A, b)
    with pytest.raises(TypeError, match="X must be a Dask array, a Dask DataFrame"):
        DaskSDCA(client=client).fit(*rows)
    with pytest.raises(ValueError, match="no Dask client: make one first"):
        DaskSDCA().fit(A, b)


def test_errors_name_the_block(rows: Any, client: Client) -> None:
    X, y = rows
    A, b = in_blocks(X, y, 100)
    learner = DaskSDCA(client=client)
    hole = X.copy()
    hole[250, 1] = np.nan
    for given, message in (
        ((da.from_array(hole, chunks=(100, -1)), b), "block 2 of X: Input X contains NaN"),
        ((A, da.from_array(y, chunks=100)[:500]), "X has 600 rows, y has 500"),
        (
            ([dask.delayed(X)] * 2, [dask.delayed(y), dask.delayed(y[:9])]),
            "block 1: X has 600 rows, y has 9",
        ),
        (([dask.delayed(X)] * 2, [dask.delayed(y)]), "X has 2 blocks, y has 1"),
        (
            ([dask.delayed(X), dask.delayed(X[:, 1:])], [dask.delayed(y)] * 2),
            "block 1 of X has 7 columns, block 0 has 8",
        ),
        (
            ([dask.delayed(X), dask.delayed(X[0])], [dask.delayed(y)] * 2),
            "block 1 of X: Expected 2D array, got 1D array",
        ),
        (
            ([dask.delayed(X)] * 2, [dask.delayed(y), dask.delayed(np.zeros(600))]),
            "the labels in block 1 of y are of another kind",
        ),
        (([dask.delayed(X)] * 2, [dask.delayed(np.zeros(600))] * 2), "y has one class only"),
        ((A, b, -np.ones(600)), "block . of sample_weight holds weights that are negative"),
        ((A, b, np.zeros(600)), "all weights are zero"),
        ((A[:0], b[:0]), "X has no rows"),
        (
            (da.from_array(X.astype(str), chunks=(100, -1)) + "x", b),
            "block . of X: could not convert string to float",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            learner.fit(*given)


def test_dask_is_imported_on_demand() -> None:
    code = "import sys; from pegasos import SDCA; assert 'dask' not in sys.modules"
    code += "; sys.modules['distributed'] = None; import pegasos.dask"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.rstrip().endswith(
        "ImportError: pegasos.dask needs Dask: pip install '.[dask]' in a clone"
    )
