"""Test products in fixed tiles: values, and equal bits for any number of threads."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from pegasos.engine.rows.features import (
    TILE_ROWS,
    combine_rows,
    row_parts,
    times_transposed,
)
from pegasos.engine.runtime.threads import single_threaded_blas

RANDOM = np.random.default_rng(0)


def test_products_equal_those_of_whole_matrices_for_any_number_of_threads() -> None:
    matrix, columns = RANDOM.normal(size=(2 * TILE_ROWS + 7, 5)), RANDOM.normal(size=(3, 5))
    weights, wide = RANDOM.normal(size=(3, 6)), RANDOM.normal(size=(6, TILE_ROWS + 3))
    found = times_transposed(matrix, columns), combine_rows(weights, wide)
    np.testing.assert_allclose(found[0], columns @ matrix.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found[1], weights @ wide, rtol=1e-12, atol=1e-12)
    with single_threaded_blas():
        np.testing.assert_array_equal(times_transposed(matrix, columns), found[0])
        np.testing.assert_array_equal(combine_rows(weights, wide), found[1])


def test_parts_cover_all_rows_once() -> None:
    X = sparse.random(50, 4, density=0.3, format="csr", dtype=np.float32, random_state=0)
    parts = row_parts(X)
    assert [rows.start for rows, _ in parts[1:]] == [rows.stop for rows, _ in parts[:-1]]
    whole = sparse.vstack([part for _, part in parts]).toarray()
    assert whole.dtype == np.float64
    np.testing.assert_array_equal(whole, X.toarray())
