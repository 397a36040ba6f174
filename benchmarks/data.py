"""Rows for the benchmarks: stored data sets where available, and generated ones."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import make_classification

from benchmarks.harness import NotHereError

Array = np.ndarray[Any, Any]


def stored(name: str) -> Path:
    """Return the path of a stored data set."""
    path = (
        Path(
            os.environ.get("PEGASOS_DATA")
            or Path(__file__).resolve().parents[2] / "shared" / "data"
        )
        / name
    )
    if not path.exists():
        raise NotHereError(
            f"needs {name}: {path} is not there, set PEGASOS_DATA to the folder that holds it"
        )
    return path


@cache
def usps() -> tuple[Array, Array]:
    """Return all 9298 USPS digits (256 pixels, float32), the 7291 training rows first."""
    path = stored("usps.h5")
    try:
        import h5py
    except ImportError as error:
        raise NotHereError("needs h5py to read USPS") from error
    with h5py.File(path) as file:
        X = np.concatenate([file[group]["data"][:] for group in ("train", "test")]).astype(
            np.float32
        )
        y = np.concatenate([file[group]["target"][:] for group in ("train", "test")]).astype(
            np.int64
        )
    return X, y


@cache
def binary10() -> tuple[Array, Array]:
    """Return the 10,000 x 10 table of two classes, standardized."""
    table = np.loadtxt(stored("binary10.csv"), delimiter=",", skiprows=1)
    return standardized(table[:, :10]), table[:, 10]


@cache
def shuffled(name: str) -> tuple[Array, Array]:
    """Return covtype, mnist or fashion in one random order."""
    with np.load(stored(f"{name}.npz")) as file:
        X, y = file["X"], file["y"]
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order].astype(np.int64)


@cache
def generated(m: int) -> tuple[Array, Array]:
    """Return m x 50 standardized rows of two overlapping classes; 20 features are informative."""
    X, y = make_classification(m, 50, n_informative=20, class_sep=0.7, random_state=0)
    return standardized(X), y


def standardized(X: Array) -> Array:
    """Scale columns to mean 0 and std 1; constant columns become 0."""
    deviations = X.std(axis=0, dtype=np.float64)
    return np.asarray(
        (X - X.mean(axis=0, dtype=np.float64)) / np.where(deviations > 0, deviations, 1.0)
    )


def dense_binary(m: int, width: int) -> tuple[Array, Array]:
    """Return normal features and two classes with a linear boundary and about 15 % noise."""
    random = np.random.default_rng(0)
    X = random.normal(size=(m, width))
    direction = random.normal(size=width)
    score = X @ direction / np.linalg.norm(direction)
    return X, (score + 0.5 * random.normal(size=m) > 0).astype(np.int64)


def sparse_binary(m: int, width: int, each: int) -> tuple[Any, Array]:
    """Return CSR rows of norm 1 with `each` nonzeros, and two classes with a linear boundary."""
    random = np.random.default_rng(0)
    stretch = width // each
    indices = (np.arange(each) * stretch + random.integers(stretch, size=(m, each))).astype(
        np.int32
    )
    values = random.random((m, each)) + 0.1
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    pointers = np.arange(0, m * each + 1, each, dtype=np.int32)
    X = sparse.csr_matrix((values.ravel(), indices.ravel(), pointers), shape=(m, width))
    score = X @ random.normal(size=width)
    return X, (score + 0.3 * random.normal(size=m) > 0).astype(np.int64)
