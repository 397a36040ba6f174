"""Solve random problems of every kind to the tolerance, without a warning."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from pegasos.engine.kernels.standard import CollapsedKernelWarning
from problems import Problem

COUNT = 1000
KERNELS = ("", "", "", "gaussian", "narrow gaussian", "wide gaussian", "laplacian", "cubic")


def random_problem(number: int) -> Problem:
    """Return a problem with C from 1e-4 to 1e6, scales from 1e-6 to 1e6, noise and weights."""
    random = np.random.default_rng(number)
    loss, kernel = str(random.choice(["hinge", "logistic"])), str(random.choice(KERNELS))
    is_sparse = not kernel and random.random() < 0.3
    intercepts = ["True", "False", "free"] if loss == "hinge" else ["True", "False"]
    is_scaled = not kernel and not is_sparse and random.random() < 0.5
    return Problem(
        loss,
        float(10.0 ** random.uniform(-4, 6)),
        kernel,
        str(random.choice(intercepts)),
        rows=int(random.integers(20, 500)),
        features=int(random.integers(2, 40)),
        classes=int(random.integers(2, 4)),
        storage="csr" if is_sparse else "dense",
        density=float(random.uniform(0.05, 0.5)) if is_sparse else 1.0,
        noise=float(random.choice([0.0, 0.05, 0.3])),
        repeated=bool(random.random() < 0.3),
        weighted=bool(random.random() < 0.3),
        scales=int(random.integers(1, 7)) if is_scaled else 0,
        seed=number,
    )


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, COUNT, 50))
def test_random_problems(first: int) -> None:
    for number in range(first, first + 50):
        problem = random_problem(number)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", CollapsedKernelWarning)
            clf = problem.fit()
        assert clf.gap_ <= clf.tol, problem.name
