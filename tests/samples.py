"""Data for the tests: generated, or found in the folder PEGASOS_DATA (else tests skip)."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_digits
from sklearn.utils.fixes import parse_version

from pegasos.program.tables.named_sets import quadric


def needs_scikit_learn(version: str, why: str) -> pytest.MarkDecorator:
    """Skip where scikit-learn is too old for a test; `why` names what is missing."""
    old = parse_version(sklearn.__version__) < parse_version(version)
    return pytest.mark.skipif(old, reason=f"scikit-learn before {version} {why}")


#: Columns of a polars frame that pass through beside sparse ones need a size in ColumnTransformer.
passing_polars_on = needs_scikit_learn("1.8", "passes no columns of polars on beside sparse ones")


def quadric_like(m: int = 2000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The generated set `quadric`: ten features, two classes, a cubic boundary."""
    return quadric(m, seed)


def digits() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return X, y


def real_data(name: str) -> Path:
    """The path of a real data set, or a skip that says how to get it."""
    folders = [Path(os.environ["PEGASOS_DATA"])] if "PEGASOS_DATA" in os.environ else []
    folders.append(Path(__file__).parents[2] / "shared" / "data")
    for folder in folders:
        if (folder / name).exists():
            return folder / name
    pytest.skip(f"{name} is not here: set PEGASOS_DATA to the folder that holds it")


def usps() -> tuple[np.ndarray, np.ndarray]:
    """All 9298 USPS digits, training group first."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(real_data("usps.h5")) as file:
        X = np.concatenate([file[group]["data"][:] for group in ("train", "test")]).astype(
            np.float32
        )
        y = np.concatenate([file[group]["target"][:] for group in ("train", "test")])
    return X, y


def assert_close(one: np.ndarray, other: np.ndarray, tolerance: float = 1e-9) -> None:
    """Equal up to a share of the largest number."""
    scale = max(np.abs(other).max(), 1e-300)
    np.testing.assert_allclose(one / scale, other / scale, rtol=0, atol=tolerance)
