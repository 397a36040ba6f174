"""Test inputs of Dask estimators (memmap, Parquet, Zarr, labels of any type) and `DaskNystroem`."""

from __future__ import annotations

import inspect
import pickle
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
from sklearn.pipeline import make_pipeline

import pegasos
from clusters import in_blocks, same, three_classes
from pegasos import SDCA, Nystroem
from pegasos.dask import DaskNystroem, DaskSDCA, blocks
from pegasos.engine.optimum.passes.newton import PassRequest, _visit
from pegasos.engine.optimum.passes.passes import Column
from pegasos.engine.rows import landmarks
from pegasos.kernels import Gaussian

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.xdist_group("dask")


@pytest.fixture(scope="module")
def rows() -> tuple[Array, Array]:
    X, y = three_classes()
    return X.astype(np.float32), y


# Files


def from_memmap(folder: Path, X: Array, y: Array) -> tuple[Any, Any]:
    np.save(folder / "X.npy", X)
    return da.from_array(np.load(folder / "X.npy", mmap_mode="r"), chunks=(200, -1)), y


def from_zarr(folder: Path, X: Array, y: Array) -> tuple[Any, Any]:
    import zarr

    zarr.create_array(store=folder / "X.zarr", data=X, chunks=(200, X.shape[1]))
    return da.from_zarr(str(folder / "X.zarr")), y


def from_parquet(folder: Path, X: Array, y: Array) -> tuple[Any, Any]:
    import dask.dataframe as dd

    for number, start in enumerate(range(0, len(y), 200)):
        part = pd.DataFrame(X[start : start + 200], columns=[f"c{k}" for k in range(X.shape[1])])
        part.assign(label=y[start : start + 200]).to_parquet(folder / f"{number}.parquet")
    frame = dd.read_parquet(folder)
    return frame.drop(columns="label"), frame["label"]


@pytest.fixture(scope="module")
def expected(rows: Any, client: Client) -> DaskSDCA:
    """Return the classifier that was fitted to rows in memory."""
    return DaskSDCA("logistic", client=client).fit(*in_blocks(*rows, 200))


@pytest.mark.parametrize(
    ("source", "memory"),
    [(from_memmap, "1kB"), (from_zarr, "1kB"), (from_parquet, "1kB"), (from_parquet, None)],
    ids=["memmap", "zarr", "parquet", "parquet, kept"],
)
def test_arrays_on_disk_are_rows(
    source: Any, memory: Any, rows: Any, expected: DaskSDCA, client: Client, tmp_path: Path
) -> None:
    """Blocks are read in every pass, or kept on the workers."""
    X, y = source(tmp_path, *rows)
    found = DaskSDCA("logistic", memory=memory, client=client).fit(X, y)
    same(expected, found)
    assert ("kept" in found.plan_.reason) == (memory is None)
    there = client.gather(client.compute(found.predict_proba(X)))
    assert_array_equal(there, expected.to_local().predict_proba(rows[0]))


# Labels and blocks

LABELS = {
    "bool": lambda codes: codes > 0,
    "integers": lambda codes: codes * 7 - 3,
    "small integers": lambda codes: codes.astype(np.uint8),
    "whole floats": lambda codes: codes.astype(np.float32),
    "text": lambda codes: np.array(["a", "bb", "ccc"])[codes],
    "objects": lambda codes: np.array(["a", "bb", "ccc"], dtype=object)[codes],
    "categories": lambda codes: pd.Series(pd.Categorical.from_codes(codes, ["a", "bb", "ccc"])),
}


@pytest.mark.parametrize("make", LABELS.values(), ids=LABELS)
def test_labels_may_be_of_any_type(make: Any, rows: Any, client: Client) -> None:
    """Rows are sorted by label, so that every block lacks some class."""
    X, codes = rows[0], np.unique(rows[1], return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    X, labels = X[order], make(codes[order])
    parts = [slice(start, start + 300) for start in range(0, 600, 300)]
    found = DaskSDCA("logistic", tol=1e-2, client=client).fit(
        [dask.delayed(X[part]) for part in parts], [dask.delayed(labels[part]) for part in parts]
    )
    local = SDCA("logistic").fit(X, np.asarray(labels))
    assert_array_equal(found.classes_, local.classes_)
    assert found.to_local().predict(X).dtype == local.predict(X).dtype
    assert np.mean(found.to_local().predict(X) == local.predict(X)) > 0.97


def test_errors_about_missing_labels_name_the_block() -> None:
    X = np.ones((3, 2))
    for y, message in (
        (pd.array(["a", None, "b"], dtype="string"), "block 3 of y holds missing labels"),
        (np.array(["a", np.nan, "b"], dtype=object), "block 3 of y holds missing labels"),
        (np.array(["a", 1, "b"], dtype=object), "block 3 of y holds text and other labels"),
    ):
        with pytest.raises(ValueError, match=message):
            blocks.read(3, X, y, None)


def test_a_frame_of_other_numbers(rows: Any, client: Client) -> None:
    """Columns may be integers, bools and float32."""
    import dask.dataframe as dd

    X = rows[0]
    frame = pd.DataFrame({"a": (10 * X[:, 0]).astype(int), "b": X[:, 1] > 0, "c": X[:, 2]})
    lazy = dd.from_pandas(frame, npartitions=3, sort=False)
    found = DaskSDCA("logistic", client=client).fit(
        lazy, dd.from_pandas(pd.Series(rows[1]), npartitions=3, sort=False)
    )
    numbers = frame.to_numpy(dtype=np.float64)
    assert_allclose(found.objective_, SDCA("logistic").fit(numbers, rows[1]).objective_, rtol=2e-3)
    assert_array_equal(
        client.gather(client.compute(found.predict(lazy))), found.to_local().predict(frame)
    )


def unaligned(values: Array) -> Array:
    """Return an unaligned copy, such as arrays received over the network."""
    out = (
        np.frombuffer(b"\0" * 4 + values.tobytes(), np.uint8)[4:]
        .view(values.dtype)
        .reshape(values.shape)
    )
    assert not out.flags.aligned
    return out


def test_unaligned_blocks_give_equal_bits(rows: Any) -> None:
    X, codes = rows[0].astype(np.float64), np.unique(rows[1], return_inverse=True)[1]
    csr = sparse.csr_matrix(np.where(X > 1.0, X, 0.0))
    orders = [
        PassRequest(
            Column(1, 1.0, (200.0, 400.0), 600), np.ones((3, 9)), 0.5, 0.1, 0.1, np.ones(2), True
        )
    ]
    for each in (X, csr):
        moved = (
            unaligned(each)
            if each is X
            else sparse.csr_matrix((unaligned(csr.data), csr.indices, csr.indptr), csr.shape)
        )
        one, other = (
            blocks.run(
                blocks.BlockRows(*given),
                pickle.dumps(("map_sum", (_visit, True, orders, 1, True))),
            )
            for given in (
                (each, codes, np.ones(600)),
                (moved, unaligned(codes), unaligned(np.ones(600))),
            )
        )
        for mine, theirs in zip(one.sums, other.sums, strict=True):
            assert_array_equal(mine, theirs)
    assert blocks.aligned(moved).data.flags.aligned and blocks.aligned(X) is X


# Nyström features


def test_features_equal_those_in_memory(rows: Any, client: Client, tmp_path: Path) -> None:
    """A small table is its own sample, so landmarks and features equal those in memory."""
    X, y = rows
    A, b = in_blocks(X, y, 200)
    local = Nystroem("gaussian", 60, random_state=3).fit(X)
    model = make_pipeline(
        DaskNystroem("gaussian", 60, random_state=3, client=client),
        DaskSDCA("logistic", 1e-3, client=client),
    )
    model.fit(A, b)
    features, learner = (each for _, each in model.steps)
    assert_array_equal(features.landmark_indices_, local.landmark_indices_)
    lazy = features.transform(A)
    assert isinstance(lazy, da.Array)
    assert lazy.shape == (600, local.weights_.shape[1])
    assert lazy.dtype == np.float32
    assert_allclose(
        client.gather(client.compute(lazy)), local.transform(X), atol=1e-5
    )  # products of other shapes round otherwise
    expected = SDCA("logistic", 1e-3).fit(local.transform(X), y)
    assert learner.gap_ <= learner.tol
    assert np.all(learner.dual_objective_ <= expected.objective_ * (1 + 1e-12))
    assert np.all(expected.dual_objective_ <= learner.objective_ * (1 + 1e-12))
    guess = model.predict(A)
    assert isinstance(guess, da.Array)
    here = make_pipeline(features.to_local(), learner.to_local())
    assert type(here[0]) is Nystroem
    assert_array_equal(client.gather(client.compute(guess)), here.predict(X))
    pegasos.save(here, tmp_path / "features.model")
    assert_array_equal(pegasos.load(tmp_path / "features.model").predict(X), here.predict(X))


def test_features_of_any_blocks(rows: Any, client: Client, monkeypatch: Any) -> None:
    """Inputs are CSR, frames, lists, empty blocks or of unknown length; large ones are sampled."""
    import dask.dataframe as dd

    X = rows[0]
    kernel = Gaussian(8.0)
    make = DaskNystroem(kernel, 20, "uniform", random_state=0, client=client)
    dense = clone(make).fit(da.from_array(X, chunks=(100, -1)))
    for given in (
        da.from_array(X, chunks=(100, -1)).map_blocks(sparse.csr_matrix),
        [dask.delayed(X[start : start + 300]) for start in (0, 300)],
        dd.from_pandas(pd.DataFrame(X, columns=list("abcdefgh")), npartitions=4, sort=False),
        da.from_array(np.vstack([X, X]), chunks=(100, -1))[
            da.from_array(np.arange(1200) < 600, chunks=100)
        ],  # half are empty
    ):
        found = clone(make).fit(given)
        assert_array_equal(found.landmark_indices_, dense.landmark_indices_)
        lazy = found.transform(given)
        parts = client.gather(client.compute(lazy))
        assert_allclose(
            np.concatenate(parts) if isinstance(lazy, list) else parts,
            dense.to_local().transform(X),
            atol=1e-5,
        )
    monkeypatch.setattr("pegasos.dask.nystroem.SAMPLE", 50)
    few = clone(make).fit(da.from_array(X, chunks=(100, -1)))
    assert len(np.unique(few.landmark_indices_ // 100)) > 2  # from many blocks
    assert_array_equal(few.landmarks_, X[few.landmark_indices_])
    assert landmarks.SAMPLE == 20_000  # as the docstring says
    with pytest.raises(ValueError, match="X has no rows"):
        make.fit(da.from_array(X, chunks=(100, -1))[:0])


def test_parameters_are_those_of_nystroem_and_a_client() -> None:
    ours, theirs = (
        inspect.signature(each.__init__).parameters for each in (DaskNystroem, Nystroem)
    )
    assert [name for name in ours if name != "client"] == list(theirs)
    assert all(
        ours[name].default == theirs[name].default and ours[name].kind == theirs[name].kind
        for name in theirs
    )
    documented = (DaskNystroem.__doc__ or "").split("Attributes")[0].replace(",", " ").split()
    assert set(ours) - {"self"} <= set(documented)
