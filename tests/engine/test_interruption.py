"""Test deadlines and interruptions: fits stop soon, and a deadline leaves a certified point."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from pegasos import SDCA
from pegasos.engine.runtime.interruption import deadline, deadline_reached
from pegasos.engine.runtime.threads import our_threads, run_each
from pegasos.kernels import Gaussian

Array = np.ndarray[Any, Any]


def noisy_table(rows: int, features: int = 5) -> tuple[Array, Array]:
    """Return rows with mostly random labels, which are slow to fit at a large C."""
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, features))
    return X, np.where(X[:, 0] + 2.0 * random.normal(size=rows) > 0, 1, -1)


def sparse_table() -> tuple[Any, Array]:
    random = np.random.default_rng(0)
    X = sparse.random(20_000, 5_000, 0.004, "csr", random_state=0)
    return X, np.where(random.random(20_000) < 0.5, 1, -1)


#: Fits that take several seconds or more, and the method that solves them.
LONG_FITS: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "coordinate ascent": (
        SDCA(kernel=Gaussian(2.0), lam=1e-9, tol=1e-9, finish=False, max_epochs=100_000),
        {"rows": 800},
        noisy_table,
    ),
    "working sets": (SDCA(kernel=Gaussian(0.5), lam=1e-9, tol=1e-9), {"rows": 6000}, noisy_table),
    "Newton-CG": (
        SDCA("logistic", kernel=Gaussian(0.5), lam=1e-10, tol=1e-9),
        {"rows": 3000},
        noisy_table,
    ),
    "coordinate ascent with shrinking": (SDCA(lam=1e-9, tol=1e-9), {}, sparse_table),
}


@pytest.mark.parametrize("name", LONG_FITS)
def test_a_deadline_leaves_a_point_with_its_true_gap(name: str) -> None:
    learner, sizes, table = LONG_FITS[name]
    X, y = table(**sizes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        with deadline(0.0):
            learner.fit(X[:500], y[:500])  # compiles
        begin = time.monotonic()
        with deadline(1.0):
            learner.fit(X, y)
        seconds = time.monotonic() - begin
    assert seconds < 6.0  # the deadline, a look at all scores, and a busy machine
    assert learner.tol < learner.gap_ <= 1.0 + 1e-12
    # The objective is that of the predictor which the fit left, computed here from its scores.
    scores = learner.decision_function(X)
    margins = y * scores
    hinge = learner.loss == "hinge"
    losses = np.maximum(0.0, 1.0 - margins) if hinge else np.logaddexp(0.0, -margins)
    if learner.kernel is None:
        squared = float(np.sum(learner.coef_**2) + np.sum(learner.intercept_**2))
    else:
        c = np.zeros(len(y))
        c[learner.support_] = learner.dual_coef_[0]
        squared = float(c @ scores)  # with the intercept, which is a constant feature
    primal = 0.5 * learner.lam_ * squared + losses.mean()
    np.testing.assert_allclose(learner.objective_[0], primal, rtol=1e-5)
    assert learner.dual_objective_[0] <= primal


def test_nested_deadlines_and_threads_of_the_pool() -> None:
    reached = [False] * 4
    with deadline(100.0), deadline(0.0), our_threads(2):
        gate = threading.Barrier(2)

        def look(number: int) -> None:
            gate.wait(5)  # each number has its own thread
            reached[number] = deadline_reached()

        run_each(look, range(2))
    with deadline(0.0), deadline(100.0):
        reached[2] = deadline_reached()
    with deadline(100.0):
        reached[3] = not deadline_reached()
    assert all(reached)
    assert not deadline_reached()


CHILD = """
import sys, time, warnings
import numpy as np
sys.path.insert(0, {tests!r})
from pegasos import SDCA, Pegasos, Perceptron
from pegasos.kernels import Gaussian
from engine.test_interruption import LONG_FITS, noisy_table
warnings.simplefilter("ignore")
OTHERS = {{
    "Pegasos": Pegasos(lam=1e-6, n_iter=10**9, random_state=0),
    "Pegasos with a kernel": Pegasos(lam=1e-6, n_iter=10**9, kernel=Gaussian(2.0), random_state=0),
    "Perceptron": Perceptron(epochs=10**6, random_state=0),
}}
learner, sizes, table = LONG_FITS.get({name!r}) or (OTHERS.get({name!r}), {{"rows": 3000}}, noisy_table)
X, y = table(**sizes)
print("begin", flush=True)
try:
    learner.fit(X, y)
    print("finished")
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to one child there")
@pytest.mark.parametrize("name", [*LONG_FITS, "Pegasos", "Pegasos with a kernel", "Perceptron"])
def test_ctrl_c_stops_a_fit_within_a_second(name: str) -> None:
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    code = CHILD.format(tests=tests, name=name)
    seconds = []
    for _ in range(2):  # the first one may spend its time on compiling, which ends a little later
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        assert child.stdout.readline() == "begin\n"
        time.sleep(1.5)
        begin = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "stopped\n"
        seconds.append(time.monotonic() - begin)
        child.communicate(timeout=30)
        if seconds[-1] < 1.0:
            return
    pytest.fail(f"a fit went on for {seconds} seconds")
