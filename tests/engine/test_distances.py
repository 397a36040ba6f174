"""Test distances and inner products against sums written out in float64."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from threadpoolctl import threadpool_limits

from pegasos.engine.kernels import distances
from pegasos.engine.kernels.distances import (
    Pairs,
    fill_gram,
    fill_matrix,
    self_values,
    squared_norms,
)
from pegasos.engine.kernels.elementwise import mirror_upper
from pegasos.engine.runtime.threads import blas_threads, run_each, single_threaded_blas

MEASURES = ["inner", "squared", "manhattan"]
EVERYTHING = slice(None)


def exact(measure, X, Z):
    """Compute the measure from its definition, in float64."""
    x, z = (np.asarray(M.toarray() if sparse.issparse(M) else M, dtype=np.float64) for M in (X, Z))
    if measure == "inner":
        return (x[:, None, :] * z[None, :, :]).sum(axis=2)
    difference = x[:, None, :] - z[None, :, :]
    return (difference**2 if measure == "squared" else np.abs(difference)).sum(axis=2)


def nothing(tile):
    """Return the values unchanged."""


def stored(X, storage):
    return {"dense": np.asarray, "csr_array": sparse.csr_array, "csr_matrix": sparse.csr_matrix}[
        storage
    ](X)


storages = pytest.mark.parametrize("storage", ["dense", "csr_array", "csr_matrix"])
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@st.composite
def matrices(draw):
    """Draw two matrices of the same width, sparse or dense, with some equal rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    features = draw(st.integers(1, 20))
    density = draw(st.sampled_from([0.02, 0.3, 1.0]))

    def matrix(rows):
        values = rng.normal(scale=draw(st.sampled_from([1e-3, 1.0, 1e3])), size=(rows, features))
        return values * (rng.random(values.shape) < density)

    X, Z = matrix(draw(st.integers(1, 12))), matrix(draw(st.integers(1, 12)))
    Z[0] = X[-1]
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    return X.astype(dtype), Z.astype(dtype)


@storages
@pytest.mark.parametrize("measure", MEASURES)
@given(data=matrices())
@settings(deadline=None, max_examples=40)
def test_tile_is_the_definition(measure, storage, data):
    X, Z = data
    expected = exact(measure, X, Z)
    tile = Pairs(measure, stored(X, storage), stored(Z, storage)).tile(EVERYTHING, EVERYTHING)
    assert tile.dtype == X.dtype
    assert tile.flags.c_contiguous
    size = exact("inner", np.abs(X), np.abs(Z)) if measure == "inner" else expected
    single, double = (2e-3, 1e-7) if measure == "squared" else (1e-5, 1e-14)
    assert (np.abs(tile - expected) <= size * (single if X.dtype == np.float32 else double)).all()
    if measure != "inner":
        assert (tile[expected == 0] == 0).all()


@storages
@dtypes
@pytest.mark.parametrize("measure", MEASURES)
def test_rows_and_columns_may_be_slices_or_indices(measure, storage, dtype):
    rng = np.random.default_rng(0)
    X = stored(rng.normal(size=(9, 4)).astype(dtype), storage)
    Z = stored(rng.normal(size=(7, 4)).astype(dtype), storage)
    pairs = Pairs(measure, X, Z)
    rows, columns = np.array([8, 0, 8, 3]), slice(2, 6)
    expected = exact(measure, X, Z)[rows][:, columns]
    np.testing.assert_allclose(pairs.tile(rows, columns), expected, rtol=1e-4, atol=1e-5)
    wide = np.full((4, 10), -1, dtype=dtype)
    returned = pairs.tile(rows, columns, out=wide[:, 3:7])
    assert np.shares_memory(returned, wide)
    np.testing.assert_allclose(wide[:, 3:7], expected, rtol=1e-4, atol=1e-5)
    assert (wide[:, :3] == -1).all()
    assert (wide[:, 7:] == -1).all()


@storages
@dtypes
def test_a_row_has_distance_zero_to_itself(storage, dtype):
    rng = np.random.default_rng(1)
    X = (1e4 + rng.normal(size=(40, 300))).astype(dtype)
    for measure in ("squared", "manhattan"):
        pairs = Pairs(measure, stored(X, storage))
        assert (pairs.tile(EVERYTHING, EVERYTHING).diagonal() == 0).all()
        index = np.array([7, 30, 7])
        assert (pairs.tile(index, index)[[0, 0, 1, 2], [0, 2, 1, 0]] == 0).all()
        assert (self_values(measure, stored(X, storage)) == 0).all()


def near_rows(rng, n_features):
    """Return pairs of rows whose differences are 1e-6 to 1e-1 of their size."""
    X = np.repeat(rng.normal(size=(40, n_features)), 2, axis=0)
    X[1::2] += rng.normal(size=(40, n_features)) * 10 ** rng.uniform(-6, -1, size=(40, 1))
    return X


def far_clusters(rng, n_features):
    return rng.choice([-5e3, 0, 2e3], size=(80, 1)) + rng.normal(scale=0.1, size=(80, n_features))


def far_from_origin(rng, n_features):
    return 1e4 + near_rows(rng, n_features)


def mostly_equal(rng, n_features):
    return np.repeat(1e3 + rng.normal(size=(4, n_features)), 20, axis=0)


@storages
@dtypes
@pytest.mark.parametrize("n_features", [1, 3, 200])
@pytest.mark.parametrize("make", [near_rows, far_clusters, far_from_origin, mostly_equal])
def test_near_rows_are_accurate(make, n_features, storage, dtype):
    X = make(np.random.default_rng(2), n_features).astype(dtype)
    expected = exact("squared", X, X)
    found = Pairs("squared", stored(X, storage)).tile(EVERYTHING, EVERYTHING)
    np.testing.assert_allclose(found, expected, rtol=1e-3 if dtype == np.float32 else 1e-6, atol=0)


def test_centring_leaves_only_equal_rows_to_repair(monkeypatch):
    X = (1e4 + np.random.default_rng(3).normal(size=(60, 30))).astype(np.float32)
    repaired = []
    monkeypatch.setattr(
        distances, "_fill_by_differences", lambda x, z, near, out: repaired.append(near)
    )
    Pairs("squared", X).tile(EVERYTHING, EVERYTHING)
    Pairs("squared", X, X[:1] + np.float32(1)).tile(EVERYTHING, EVERYTHING)
    [near] = repaired
    np.testing.assert_array_equal([near.rows, near.columns], [np.arange(60), np.arange(60)])


def test_pairs_are_repaired_in_bounded_chunks(monkeypatch):
    X = near_rows(np.random.default_rng(3), 50).astype(np.float32)
    expected = Pairs("squared", X).tile(EVERYTHING, EVERYTHING)
    monkeypatch.setattr(distances, "CHUNK", 120)
    np.testing.assert_array_equal(Pairs("squared", X).tile(EVERYTHING, EVERYTHING), expected)
    np.testing.assert_allclose(
        Pairs("squared", sparse.csr_array(X)).tile(EVERYTHING, EVERYTHING), expected, rtol=2e-3
    )


@storages
@dtypes
def test_norms_and_diagonal(storage, dtype):
    X = np.random.default_rng(4).normal(size=(5, 3)).astype(dtype)
    expected = (X.astype(np.float64) ** 2).sum(axis=1)
    norms = squared_norms(stored(X, storage))
    assert norms.dtype == np.float64
    np.testing.assert_allclose(norms, expected, rtol=1e-14)
    diagonal = self_values("inner", stored(X, storage))
    assert diagonal.dtype == dtype
    np.testing.assert_allclose(diagonal, expected, rtol=1e-6)


@storages
@pytest.mark.parametrize("measure", MEASURES)
def test_drivers_cover_the_matrix(measure, storage, monkeypatch):
    monkeypatch.setattr(distances, "TILE", 8)
    rng = np.random.default_rng(5)
    X, Z = rng.normal(size=(29, 4)), rng.normal(size=(21, 4))
    X[20] = X[3]

    def negate(tile):
        np.negative(tile, out=tile)

    gram = fill_gram(Pairs(measure, stored(X, storage)), negate)
    np.testing.assert_allclose(gram, -exact(measure, X, X), rtol=1e-7, atol=1e-14)
    np.testing.assert_array_equal(gram, gram.T)
    wide = fill_matrix(Pairs(measure, stored(X, storage), stored(Z, storage)), negate)
    np.testing.assert_allclose(wide, -exact(measure, X, Z), rtol=1e-7, atol=1e-14)
    narrow = fill_matrix(Pairs(measure, stored(X, storage), stored(Z[:1], storage)), negate)
    np.testing.assert_allclose(narrow, -exact(measure, X, Z[:1]), rtol=1e-7, atol=1e-14)


@dtypes
@pytest.mark.parametrize("measure", MEASURES)
def test_the_number_of_threads_does_not_move_a_bit(measure, dtype):
    X = np.random.default_rng(6).normal(size=(1100, 9)).astype(dtype)
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            results.append(
                (
                    fill_gram(Pairs(measure, X), nothing),
                    fill_matrix(Pairs(measure, X, X[:600]), nothing),
                )
            )
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


def test_large_tiles_shrink_with_the_number_of_features():
    edges = [Pairs("manhattan", np.zeros((2, width))).edge for width in (10, 10_000, 1_000_000)]
    assert edges == [512, 128, 64]
    assert Pairs("manhattan", sparse.csr_array((2, 1_000_000))).edge == 512


@dtypes
@pytest.mark.parametrize("size", [0, 1, 5, 16, 37])
def test_mirror_upper(size, dtype):
    matrix = np.random.default_rng(7).normal(size=(size, size)).astype(dtype)
    expected = np.triu(matrix) + np.triu(matrix, 1).T
    mirror_upper(matrix)
    np.testing.assert_array_equal(matrix, expected)


def test_unsorted_csr_with_duplicates_is_read_right_and_left_alone():
    X = sparse.csr_matrix(
        (np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), np.array([0, 3, 3])), shape=(2, 2)
    )
    for measure in MEASURES:
        tile = Pairs(measure, X).tile(EVERYTHING, EVERYTHING)
        np.testing.assert_array_equal(
            tile, exact(measure, [[2.0, 5.0], [0, 0]], [[2.0, 5.0], [0, 0]])
        )
    assert X.nnz == 3


def test_z_takes_the_storage_and_dtype_of_x():
    X, Z = np.eye(3, dtype=np.float32), np.arange(6.0).reshape(2, 3)
    for left, right in [(X, sparse.csr_array(Z)), (sparse.csr_array(X), Z)]:
        tile = Pairs("inner", left, right).tile(EVERYTHING, EVERYTHING)
        assert tile.dtype == np.float32
        np.testing.assert_array_equal(tile, Z.T)


def test_empty_matrices():
    X = np.zeros((0, 3))
    assert fill_gram(Pairs("squared", X), nothing).shape == (0, 0)
    assert fill_matrix(Pairs("squared", np.ones((2, 3)), X), nothing).shape == (2, 0)
    assert fill_matrix(Pairs("squared", X, np.ones((2, 3))), nothing).shape == (0, 2)


def test_errors():
    X = np.ones((3, 2))
    with pytest.raises(ValueError, match="measure must be"):
        Pairs("cosine", X)
    with pytest.raises(ValueError, match="X has 2 features, but Z has 3"):
        Pairs("inner", X, np.ones((3, 3)))
    with pytest.raises(ValueError, match="float32 or float64, got int64"):
        Pairs("inner", X.astype(np.int64))
    with pytest.raises(ValueError, match="2-D"):
        Pairs("inner", X[0])
    with pytest.raises(ValueError, match="CSR, got CSC"):
        Pairs("inner", sparse.csc_array(X))
    with pytest.raises(ValueError, match="needs Z=None"):
        fill_gram(Pairs("inner", X, X + 1), nothing)
    with pytest.raises(ValueError, match=r"overflow float32.*float64"):
        Pairs("squared", np.array([[1e25], [-1e25]], dtype=np.float32))
    with pytest.raises(ValueError, match="overflow float64"):
        Pairs("squared", np.array([[1e200], [-1e200]]))


def test_blocks_run_with_one_blas_thread_each_and_the_limit_is_restored():
    seen = []
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        run_each(lambda _: seen.append(blas_threads()), range(8))
        assert blas_threads() == before
    assert seen == [1] * 8


def test_overlapping_blocks_of_two_threads_restore_the_limit():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        entered, release = threading.Event(), threading.Event()

        def hold():
            with single_threaded_blas():
                entered.set()
                release.wait()

        other = threading.Thread(target=hold)
        with single_threaded_blas():
            other.start()
            entered.wait()
        assert blas_threads() == 1
        release.set()
        other.join()
        assert blas_threads() == before


def test_blas_is_held_to_one_thread_from_a_thread_that_does_not_own_the_limit():
    seen = []

    def hold():
        with single_threaded_blas():
            seen.append(blas_threads())
        seen.append(blas_threads())

    outside = blas_threads()
    with threadpool_limits(2, user_api="blas"):
        other = threading.Thread(target=hold)
        other.start()
        other.join()
    assert seen == [1, 2]
    assert blas_threads() == outside


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.skipif(os.name == "nt", reason="Windows does not deliver SIGINT this way")
def test_interrupt_cancels_the_tiles_not_yet_started(threads):
    started = []

    def work(item):
        started.append(item)
        if len(started) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)

    with threadpool_limits(threads, user_api="blas"):
        with pytest.raises(KeyboardInterrupt):
            run_each(work, range(200))
        assert blas_threads() == threads
    assert len(started) < 100


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_a_tile_is_raised(threads):
    def fail(tile):
        raise ZeroDivisionError

    with threadpool_limits(threads, user_api="blas"), pytest.raises(ZeroDivisionError):
        fill_gram(Pairs("inner", np.ones((1100, 1))), fail)
