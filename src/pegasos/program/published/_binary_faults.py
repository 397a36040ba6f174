"""Faults of two programs on ten-feature rows, written down again: none of our learners has them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from pegasos.program.published._binary import ONE, SQUARES, signs, testing, tuning
from pegasos.program.published._shared import shown
from pegasos.program.studies.results import Context
from pegasos.program.studies.splits import train_test

Array = np.ndarray[Any, Any]
Row = dict[str, Any]

#: exp of more than this is not a float64.
LARGEST_EXPONENT = 709.78
OVERFLOW_LAMS = [1e-4, 1e-3, 1e-2, 0.1, 1.0]
OVERFLOW_STEPS = 5000
#: Examples of a mini-batch in the report with ten models.
BATCH = 32


def prepared(X: Array, train: Array, *steps: Any) -> Array:
    """All rows, standardized by the training rows, after further steps."""
    return np.asarray(make_pipeline(StandardScaler(), *steps).fit(X[train]).transform(X))


def _error(values: Array, y: Array) -> float:
    """A score that is not a number never equals a class by its sign: it counts as the negative one."""
    return float(np.mean(np.where(values > 0, 1.0, -1.0) != y))


def _counted(scores: Array, y: Array, train: Array, test: Array, **tags: Any) -> list[Row]:
    """Rows that an emulation answers: the errors of scores on the training and on the test rows."""
    parts = {"train": train, "test": test}
    return [
        {"split": split, "error": _error(scores[rows], y[rows]), "rows": len(rows), **tags}
        for split, rows in parts.items()
    ]


# -- overflow ------------------------------------------------------------------------------------------------------------


def logistic_walk(
    X: Array, y: Array, draws: Array, lams: Array, naive: bool
) -> tuple[Array, Array]:
    """Logistic Pegasos for several λ at once: weights (λ x features) and the largest |y w·x| of each.

    `naive`: σ(-u) as exp(-u)/(1 + exp(-u)), which is ∞/∞ once -u is above 709.78; what is not a number stays so.
    """
    weights, largest = np.zeros((len(lams), X.shape[1])), np.zeros(len(lams))
    with np.errstate(over="ignore", invalid="ignore"):
        for t, i in enumerate(draws, start=1):
            u = -y[i] * (weights @ X[i])
            largest = np.fmax(largest, np.abs(u))
            share = np.exp(u) / (1 + np.exp(u)) if naive else 0.5 * (1 + np.tanh(u / 2))
            weights = (1 - 1 / t) * weights + np.outer(share * y[i] / (lams * t), X[i])
    return weights, largest


def overflow(dataset: Any, seed: int) -> list[Row]:
    """The degree-2 logistic line at its printed λ with a plain exponential, on the rows that the line was printed for."""
    X, y = dataset.X, signs(dataset.labels)
    train, test = testing(y, seed)[0]
    Z = prepared(X, train, ONE, SQUARES)
    draws = np.random.default_rng(seed).choice(train, size=OVERFLOW_STEPS)
    weights, _ = logistic_walk(Z, y, draws, np.array([0.001]), naive=True)
    return _counted(Z @ weights[0], y, train, test, lam=0.001)


def overflow_table(context: Context) -> dict[str, Any]:
    """For each λ: in how many runs the plain exponential overflows, and what that does to the error."""
    X, y = context.dataset.X, signs(context.dataset.labels)
    runs = 2 if context.quick else 5
    lams, rows = np.array(OVERFLOW_LAMS), []
    for degree, steps in ((1, (ONE,)), (2, (ONE, SQUARES))):
        largest, errors = np.zeros((runs, len(lams))), np.zeros((2, runs, len(lams)))
        for run in range(runs):
            train, test = tuning(y, run)[0]
            Z = prepared(X, train, *steps)
            draws = np.random.default_rng(run).choice(train, size=OVERFLOW_STEPS)
            for which, naive in enumerate((False, True)):
                weights, reached = logistic_walk(Z, y, draws, lams, naive)
                errors[which, run] = [_error(Z[test] @ each, y[test]) for each in weights]
                largest[run] = reached if not naive else largest[run]
        stable, plain = errors.mean(axis=1).tolist()
        overflows, medians = (largest > LARGEST_EXPONENT).sum(axis=0), np.median(largest, axis=0)
        for lam, median, count, spoiled, right in zip(
            OVERFLOW_LAMS, medians, overflows, plain, stable, strict=True
        ):
            exponents = {
                "largest exponent": round(median),
                "runs with overflow": f"{count} of {runs}",
            }
            means = {
                "error, plain exponential": round(spoiled, 4),
                "error, stable": round(right, 4),
            }
            rows.append({"degree": degree, "λ": f"{lam:g}", **exponents, **means})
    text = (
        f"Logistic Pegasos, {OVERFLOW_STEPS} steps, {runs} splits. A double holds exp up to {LARGEST_EXPONENT}; the plain form "
        f"divides ∞ by ∞ beyond it on a wrong row, and the vector is lost. Ours is the stable form."
    )
    return shown(rows, text)


# -- mini-batches with a slip ----------------------------------------------------------------------------------------------


def mini_batches(X: Array, y: Array, lam: float, draws: Array, slope: Any) -> Array:
    """Scores of all rows after steps of length 1/(λt) on batches, the rows of `draws`; the intercept does not shrink."""
    weights, bias = np.zeros(X.shape[1]), 0.0
    for t, batch in enumerate(draws, start=1):
        rows = X[batch]
        push = slope(rows @ weights + bias, y[batch])
        weights = (1 - 1 / t) * weights + push @ rows / (lam * t * len(batch))
        bias += float(push.mean()) / (lam * t)
    return np.asarray(X @ weights + bias)


def hinge(scores: Array, y: Array) -> Array:
    """Right."""
    return np.where(y * scores < 1, y, 0.0)


def logistic(scores: Array, y: Array) -> Array:
    """Right: y σ(-y s)."""
    return np.asarray(0.5 * y * (1 - np.tanh(y * scores / 2)))


def slipped(scores: Array, y: Array) -> Array:
    """y - σ(s), which is right for labels 0 and 1, with labels -1 and +1."""
    return np.asarray(y - 0.5 * (1 + np.tanh(scores / 2)))


#: Name of a reading: slope, λ, batches or passes, how many.
READINGS: dict[str, tuple[Any, float, str, int]] = {
    "hinge, 200 batches": (hinge, 1.0, "batches", 200),
    "hinge, 200 passes": (hinge, 1.0, "passes", 200),
    "logistic, 50 batches": (logistic, 0.01, "batches", 50),
    "slipped logistic, 50 batches": (slipped, 0.01, "batches", 50),
    "slipped logistic, 50 passes": (slipped, 0.01, "passes", 50),
}


def free_bias(dataset: Any, seed: int) -> list[Row]:
    """Mini-batch models with an intercept that is not regularized, linear and of degree 2, right and with the slip."""
    X, y = dataset.X, signs(dataset.labels)
    train, test = train_test(0.2)(dataset.labels, seed)[0]
    found = []
    for expand, steps in (
        ("linear", ()),
        ("degree 2", (PolynomialFeatures(2, include_bias=False), StandardScaler())),
    ):
        Z = prepared(X, train, *steps)
        for reading, (slope, lam, unit, count) in READINGS.items():
            batches = count * (len(train) // BATCH if unit == "passes" else 1)
            draws = np.random.default_rng(seed).choice(train, size=(batches, BATCH))
            found += _counted(
                mini_batches(Z, y, lam, draws, slope),
                y,
                train,
                test,
                reading=reading,
                expand=expand,
            )
    return found
