"""Reference implementations: every algorithm of the package in plain Python, as in textbooks.

They are written for clarity, not speed: one loop over the steps, float64, NumPy only for products
and sums of vectors. Tests compare the package with them.

Each learner has two versions:

* linear: rows X (m x d) and the vector w in R^d; the score of x is  s = w . x
* kernel: the matrix K (m x m) and coefficients c in R^m;  w = sum_r c_r phi(x_r),
  s_i = sum_r c_r K[r, i]

All are binary: y holds +1 and -1. One-vs-rest and grids of lambda are loops around them, see
`one_vs_all`. Drawn examples are given as integers; nothing here is random. A weight of zero means
that the example is ignored: drawing it uses a step but changes nothing.

References
----------
Rosenblatt (1958) and Novikoff (1962) on the Perceptron; Shalev-Shwartz, Singer, Srebro and Cotter
(2011) on Pegasos; Shalev-Shwartz and Zhang (2013) on SDCA; Yu, Huang and Lin (2011) on the dual of
logistic regression.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """Result of a reference learner.

    coefficients  after the last step: w (linear; the constant feature last) or c (kernel)
    averaged      mean of the vectors that `average` selects, or None
    margin        smallest relative distance of a decision to its threshold; infinite without
                  decisions. A run with margin 1e-9 depends on the order of summation: exclude it.
    steps         steps done (mini-batches for Pegasos, examples for the others)
    losses        for each drawn example, its unweighted loss before the update
    decisions     for each drawn example, whether it caused an update
    snapshots     coefficients after step t, for each checkpoint t that was reached
    epochs        epochs done (Perceptron)
    dual          dual variables a, 0 <= a_i <= C_i (SDCA)
    """

    coefficients: Vector
    averaged: Vector | None = None
    margin: float = math.inf
    steps: int = 0
    losses: list[float] = field(default_factory=list)
    decisions: list[bool] = field(default_factory=list)
    snapshots: dict[int, Vector] = field(default_factory=dict)
    epochs: int = 0
    dual: Vector | None = None


@dataclass(frozen=True)
class Certificate:
    """P(w) at the coefficients, D(a) at the clipped ones, and P(w) - P(best) <= gap."""

    primal: float
    dual: float
    gap: float
    clipped: Vector


# Losses


def sigmoid(u: float) -> float:
    """sigma(u) = 1 / (1 + exp(-u)), written so that exp never overflows."""
    if u >= 0:
        return 1.0 / (1.0 + math.exp(-u))
    return math.exp(u) / (1.0 + math.exp(u))


def loss_value(loss: str, z: float) -> float:
    """Return the loss at z = y s.

    hinge: max(0, 1 - z); logistic: log(1 + exp(-z)); perceptron: max(0, -z).
    """
    if loss == "hinge":
        return max(0.0, 1.0 - z)
    if loss == "logistic":
        return max(0.0, -z) + math.log1p(math.exp(-abs(z)))
    if loss == "perceptron":
        return max(0.0, -z)
    raise ValueError(f"unknown loss {loss!r}")


# Small parts that several learners share


def one_vs_all(labels: Iterable[Any], classes: Iterable[Any]) -> list[Vector]:
    """Return one vector of +1 and -1 for each class: +1 where the label is that class."""
    labels = list(labels)
    return [np.array([1.0 if label == one else -1.0 for label in labels]) for one in classes]


def raw_weights(weights: ArrayLike | None, m: int) -> Vector:
    """Return the given weights, or ones."""
    return np.ones(m) if weights is None else np.array(weights, dtype=np.float64)


def relative_weights(weights: ArrayLike | None, m: int) -> Vector:
    """Return omega_i = m weight_i / sum of weights, which multiplies updates."""
    raw = raw_weights(weights, m)
    return np.array([m * weight / sum(raw) for weight in raw])


def box(weights: ArrayLike | None, m: int, lam: float) -> Vector:
    """Return C_i = weight_i / (lam sum of weights), the upper bound of the dual variable a_i."""
    raw = raw_weights(weights, m)
    return np.array([weight / (lam * sum(raw)) for weight in raw])


def rows_with_constant(X: ArrayLike, constant: float) -> Matrix:
    """Return X with a constant column appended; X itself for constant = 0."""
    X = np.array(X, dtype=np.float64)
    if constant == 0:
        return X
    return np.column_stack([X, np.full(len(X), constant)])


def kernel_with_constant(K: ArrayLike, constant: float) -> Matrix:
    """Return the kernel with a constant feature appended: K + constant^2."""
    return np.array(K, dtype=np.float64) + constant**2


def averaging_start(steps: int, average: bool | float) -> int:
    """Return t0; the average is over vectors after steps t0+1 .. T.

    True means t0 = 0, a fraction f means t0 = T - ceil(f T).
    """
    if average is True:
        return 0
    return steps - math.ceil(average * steps)


def mean_of_last(vectors: Sequence[Vector], average: bool | float) -> Vector | None:
    """Return the mean of the vectors after steps t0+1 .. T; vectors[t-1] follows step t."""
    if not average or not vectors:
        return None
    t0 = averaging_start(len(vectors), average)
    total = np.zeros_like(vectors[0])
    for vector in vectors[t0:]:
        total = total + vector
    return total / (len(vectors) - t0)


# Kernels: functions of two vectors, and a loop over pairs


def linear(x: Vector, z: Vector) -> float:
    """x . z"""
    return sum(float(a) * float(b) for a, b in zip(x, z, strict=True))


def polynomial(
    x: Vector, z: Vector, degree: int = 3, coef0: float = 1.0, gamma: float = 1.0
) -> float:
    """(coef0 + gamma x . z)^degree"""
    return (coef0 + gamma * linear(x, z)) ** degree


def gaussian(x: Vector, z: Vector, variance: float = 1.0) -> float:
    """exp(-||x - z||^2 / (2 variance))"""
    squares = sum((float(a) - float(b)) ** 2 for a, b in zip(x, z, strict=True))
    return math.exp(-squares / (2.0 * variance))


def exponential(x: Vector, z: Vector, scale: float = 1.0) -> float:
    """exp(-||x - z|| / scale), the Euclidean norm, not squared"""
    squares = sum((float(a) - float(b)) ** 2 for a, b in zip(x, z, strict=True))
    return math.exp(-math.sqrt(squares) / scale)


def laplacian(x: Vector, z: Vector, scale: float = 1.0) -> float:
    """exp(-||x - z||_1 / scale), the sum of absolute differences"""
    differences = sum(abs(float(a) - float(b)) for a, b in zip(x, z, strict=True))
    return math.exp(-differences / scale)


def gram(
    kernel: Callable[..., float], X: ArrayLike, Z: ArrayLike | None = None, **parameters: float
) -> Matrix:
    """Return the matrix of kernel(x_i, z_j) for all pairs; Z = X if not given."""
    X = np.array(X, dtype=np.float64)
    Z = X if Z is None else np.array(Z, dtype=np.float64)
    K = np.zeros((len(X), len(Z)))
    for i in range(len(X)):
        for j in range(len(Z)):
            K[i, j] = kernel(X[i], Z[j], **parameters)
    return K


# Scores


def scores_linear(X: ArrayLike, w: Vector, constant: float = 0.0) -> Vector:
    """Return s_i = w . x_i for each row, with the constant feature if there is one."""
    return np.array([w @ x for x in rows_with_constant(X, constant)])


def scores_kernel(K: ArrayLike, c: Vector, constant: float = 0.0) -> Vector:
    """Return s_i = sum_r c_r K[i, r]; K has a row for each scored point."""
    return np.array([c @ row for row in kernel_with_constant(K, constant)])


# Perceptron


def epochs_of(draws: ArrayLike) -> list[list[int]]:
    """Return one list of examples for each epoch; a flat sequence is a single epoch."""
    draws = np.array(draws, dtype=np.int64)
    if draws.ndim == 1:
        draws = draws[np.newaxis, :]
    return [[int(i) for i in epoch] for epoch in draws]


def perceptron_linear(
    X: ArrayLike,
    y: ArrayLike,
    draws: ArrayLike,
    *,
    eta: float = 1.0,
    weights: ArrayLike | None = None,
    constant: float = 0.0,
    average: bool | float = False,
    checkpoints: Iterable[int] = (),
    stop: bool = True,
) -> Run:
    """Run Rosenblatt's rule: if y w.x <= 0 then w <- w + eta omega y x.

    `draws` holds the examples of each epoch (epochs x m). Training stops after an epoch without
    a mistake, and the average is over the vectors after each example. The relative margin of a
    decision is |y s| / sum of the |terms| of s; s = 0 without terms is exact.
    """
    X = rows_with_constant(X, constant)
    y = np.array(y, dtype=np.float64)
    omega = relative_weights(weights, len(y))
    checkpoints = set(checkpoints)

    w = np.zeros(X.shape[1])
    size = np.zeros(
        X.shape[1]
    )  # size[j] = sum of the absolute values of all that was added to w[j]
    t = 0
    epochs = 0
    margin = math.inf
    losses: list[float] = []
    decisions: list[bool] = []
    vectors: list[Vector] = []
    snapshots: dict[int, Vector] = {}
    for epoch in epochs_of(draws):
        mistakes = 0
        for i in epoch:
            t = t + 1
            s = float(w @ X[i])
            terms = float(size @ abs(X[i]))
            mistake = bool(y[i] * s <= 0 and omega[i] > 0)
            losses.append(loss_value("perceptron", y[i] * s))
            decisions.append(mistake)
            if omega[i] > 0 and terms > 0:
                margin = min(margin, abs(s) / terms)
            if mistake:
                mistakes = mistakes + 1
                w = w + eta * omega[i] * y[i] * X[i]
                size = size + eta * omega[i] * abs(X[i])
            if average:
                vectors.append(w.copy())
            if t in checkpoints:
                snapshots[t] = w.copy()
        epochs = epochs + 1
        if stop and mistakes == 0:
            break
    return Run(w, mean_of_last(vectors, average), margin, t, losses, decisions, snapshots, epochs)


def perceptron_kernel(
    K: ArrayLike,
    y: ArrayLike,
    draws: ArrayLike,
    *,
    eta: float = 1.0,
    weights: ArrayLike | None = None,
    constant: float = 0.0,
    average: bool | float = False,
    checkpoints: Iterable[int] = (),
    stop: bool = True,
) -> Run:
    """Run Rosenblatt's rule on coefficients, w = sum_r c_r phi(x_r).

    If y_i sum_r c_r K[r, i] <= 0 then c_i <- c_i + eta omega_i y_i.
    """
    K = kernel_with_constant(K, constant)
    y = np.array(y, dtype=np.float64)
    omega = relative_weights(weights, len(y))
    checkpoints = set(checkpoints)

    c = np.zeros(len(y))
    t = 0
    epochs = 0
    margin = math.inf
    losses: list[float] = []
    decisions: list[bool] = []
    vectors: list[Vector] = []
    snapshots: dict[int, Vector] = {}
    for epoch in epochs_of(draws):
        mistakes = 0
        for i in epoch:
            t = t + 1
            s = float(c @ K[:, i])
            terms = float(abs(c) @ abs(K[:, i]))
            mistake = bool(y[i] * s <= 0 and omega[i] > 0)
            losses.append(loss_value("perceptron", y[i] * s))
            decisions.append(mistake)
            if omega[i] > 0 and terms > 0:
                margin = min(margin, abs(s) / terms)
            if mistake:
                mistakes = mistakes + 1
                c[i] = c[i] + eta * omega[i] * y[i]
            if average:
                vectors.append(c.copy())
            if t in checkpoints:
                snapshots[t] = c.copy()
        epochs = epochs + 1
        if stop and mistakes == 0:
            break
    return Run(c, mean_of_last(vectors, average), margin, t, losses, decisions, snapshots, epochs)


# Pegasos


def batches_of(draws: ArrayLike, batch: int) -> list[list[int]]:
    """Return the mini-batches: step t uses draws[(t-1) k : t k]."""
    draws = [int(i) for i in np.array(draws, dtype=np.int64)]
    if len(draws) % batch != 0:
        raise ValueError(f"{len(draws)} draws are not a whole number of mini-batches of {batch}")
    return [draws[start : start + batch] for start in range(0, len(draws), batch)]


def pegasos_linear(
    X: ArrayLike,
    y: ArrayLike,
    draws: ArrayLike,
    lam: float,
    *,
    loss: str = "hinge",
    batch: int = 1,
    project: bool = False,
    weights: ArrayLike | None = None,
    constant: float = 0.0,
    average: bool | float = False,
    checkpoints: Iterable[int] = (),
) -> Run:
    """Run subgradient steps on P(w) = lam/2 ||w||^2 + mean of omega_i loss(y_i w.x_i).

    Step t has length 1/(lam t): w <- (1 - 1/t) w; then for each of the k examples of the mini-
    batch, all tested against this shrunk vector, hinge: if y w.x < 1 add omega y x / (lam t k);
    logistic: add omega y sigma(-y w.x) x / (lam t k); then with `project` w <- min(1,
    (1/sqrt(lam)) / ||w||) w.

    The relative margin of a decision (hinge) is |y s - 1| / (1 + sum of the |terms| of s).
    """
    X = rows_with_constant(X, constant)
    y = np.array(y, dtype=np.float64)
    omega = relative_weights(weights, len(y))
    checkpoints = set(checkpoints)

    w = np.zeros(X.shape[1])
    size = np.zeros(X.shape[1])  # size[j] = sum of the absolute values of all that w[j] is made of
    t = 0
    margin = math.inf
    losses: list[float] = []
    decisions: list[bool] = []
    vectors: list[Vector] = []
    snapshots: dict[int, Vector] = {}
    for examples in batches_of(draws, batch):
        t = t + 1
        w = (1 - 1 / t) * w
        size = (1 - 1 / t) * size
        shrunk, shrunk_size = w, size
        for i in examples:
            s = float(shrunk @ X[i])
            losses.append(loss_value(loss, y[i] * s))
            if loss == "hinge":
                violated = bool(y[i] * s < 1 and omega[i] > 0)
                decisions.append(violated)
                if omega[i] > 0:
                    margin = min(margin, abs(y[i] * s - 1) / (1 + float(shrunk_size @ abs(X[i]))))
                pull = 1.0 if violated else 0.0
            else:
                pull = sigmoid(-y[i] * s)
            w = w + omega[i] * y[i] * pull * X[i] / (lam * t * batch)
            size = size + omega[i] * pull * abs(X[i]) / (lam * t * batch)
        if project:
            norm = math.sqrt(w @ w)
            if norm > 0:
                scale = min(1.0, (1 / math.sqrt(lam)) / norm)
                w = scale * w
                size = scale * size
        if average:
            vectors.append(w.copy())
        if t in checkpoints:
            snapshots[t] = w.copy()
    return Run(w, mean_of_last(vectors, average), margin, t, losses, decisions, snapshots)


def pegasos_kernel(
    K: ArrayLike,
    y: ArrayLike,
    draws: ArrayLike,
    lam: float,
    *,
    loss: str = "hinge",
    batch: int = 1,
    project: bool = False,
    weights: ArrayLike | None = None,
    constant: float = 0.0,
    average: bool | float = False,
    checkpoints: Iterable[int] = (),
) -> Run:
    """Run `pegasos_linear` on coefficients c with w = sum_r c_r phi(x_r).

    s_i = sum_r c_r K[r, i] and ||w||^2 = c K c.
    """
    K = kernel_with_constant(K, constant)
    y = np.array(y, dtype=np.float64)
    omega = relative_weights(weights, len(y))
    checkpoints = set(checkpoints)

    c = np.zeros(len(y))
    t = 0
    margin = math.inf
    losses: list[float] = []
    decisions: list[bool] = []
    vectors: list[Vector] = []
    snapshots: dict[int, Vector] = {}
    for examples in batches_of(draws, batch):
        t = t + 1
        c = (1 - 1 / t) * c
        shrunk = c.copy()
        for i in examples:
            s = float(shrunk @ K[:, i])
            losses.append(loss_value(loss, y[i] * s))
            if loss == "hinge":
                violated = bool(y[i] * s < 1 and omega[i] > 0)
                decisions.append(violated)
                if omega[i] > 0:
                    margin = min(
                        margin, abs(y[i] * s - 1) / (1 + float(abs(shrunk) @ abs(K[:, i])))
                    )
                pull = 1.0 if violated else 0.0
            else:
                pull = sigmoid(-y[i] * s)
            c[i] = c[i] + omega[i] * y[i] * pull / (lam * t * batch)
        if project:
            norm = math.sqrt(max(0.0, float(c @ K @ c)))
            if norm > 0:
                c = min(1.0, (1 / math.sqrt(lam)) / norm) * c
        if average:
            vectors.append(c.copy())
        if t in checkpoints:
            snapshots[t] = c.copy()
    return Run(c, mean_of_last(vectors, average), margin, t, losses, decisions, snapshots)


# SDCA


def best_dual_hinge(a: float, z: float, k: float, C: float) -> float:
    """Return the a' in [0, C] that maximizes a' - k/2 (a' - a)^2 - z (a' - a).

    a' = clip(a + (1 - z)/k, 0, C) with z = y s and k = K_ii. For k = 0 the function is linear
    and maximal at an end of the box.
    """
    if k == 0:
        if z < 1:
            return C
        if z > 1:
            return 0.0
        return a
    return min(max(a + (1 - z) / k, 0.0), C)


def best_dual_logistic(a: float, z: float, k: float, C: float) -> float:
    """Return the minimizer a' of the logistic dual in one variable, in (0, C).

    The function is a' log a' + (C - a') log(C - a') + k/2 (a' - a)^2 + z (a' - a). With a' = C
    sigma(theta) its derivative h(theta) = theta + k (C sigma(theta) - a) + z increases in
    theta, and its zero lies between -z - k (C - a) and -z + k a. Bisect until no float is in
    between.
    """
    low = -z - k * (C - a)
    high = -z + k * a
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if middle + k * (C * sigmoid(middle) - a) + z < 0:
            low = middle
        else:
            high = middle
    return C * sigmoid((low + high) / 2)


def best_dual(loss: str, a: float, z: float, k: float, C: float) -> float:
    """Maximize the dual exactly in the variable of one example, all others fixed."""
    if loss == "hinge":
        return best_dual_hinge(a, z, k, C)
    if loss == "logistic":
        return best_dual_logistic(a, z, k, C)
    raise ValueError(f"unknown loss {loss!r}")


def sdca_linear(
    X: ArrayLike,
    y: ArrayLike,
    draws: ArrayLike,
    lam: float,
    *,
    loss: str = "hinge",
    weights: ArrayLike | None = None,
    constant: float = 0.0,
    checkpoints: Iterable[int] = (),
) -> Run:
    """Run dual coordinate ascent: w = sum_i a_i y_i x_i, 0 <= a_i <= C_i, from a = 0.

    C_i = weight_i / (lam sum of weights). Each step maximizes the dual in the variable of the
    drawn example, and w <- w + (a' - a) y x. `draws` is one flat sequence.
    """
    X = rows_with_constant(X, constant)
    y = np.array(y, dtype=np.float64)
    C = box(weights, len(y), lam)
    checkpoints = set(checkpoints)

    a = np.zeros(len(y))
    w = np.zeros(X.shape[1])
    t = 0
    losses: list[float] = []
    snapshots: dict[int, Vector] = {}
    for i in np.array(draws, dtype=np.int64):
        t = t + 1
        z = float(y[i] * (w @ X[i]))
        losses.append(loss_value(loss, z))
        new = best_dual(loss, float(a[i]), z, float(X[i] @ X[i]), float(C[i]))
        w = w + (new - a[i]) * y[i] * X[i]
        a[i] = new
        if t in checkpoints:
            snapshots[t] = w.copy()
    return Run(w, steps=t, losses=losses, snapshots=snapshots, dual=a)


def sdca_kernel(
    K: ArrayLike,
    y: ArrayLike,
    draws: ArrayLike,
    lam: float,
    *,
    loss: str = "hinge",
    weights: ArrayLike | None = None,
    constant: float = 0.0,
    checkpoints: Iterable[int] = (),
) -> Run:
    """Run `sdca_linear` on c_i = a_i y_i, s_i = sum_r c_r K[r, i]."""
    K = kernel_with_constant(K, constant)
    y = np.array(y, dtype=np.float64)
    C = box(weights, len(y), lam)
    checkpoints = set(checkpoints)

    a = np.zeros(len(y))
    t = 0
    losses: list[float] = []
    snapshots: dict[int, Vector] = {}
    for i in np.array(draws, dtype=np.int64):
        t = t + 1
        z = float(y[i] * ((a * y) @ K[:, i]))
        losses.append(loss_value(loss, z))
        a[i] = best_dual(loss, float(a[i]), z, float(K[i, i]), float(C[i]))
        if t in checkpoints:
            snapshots[t] = a * y
    return Run(a * y, steps=t, losses=losses, snapshots=snapshots, dual=a)


# Newton's method


def newton_logistic_kernel(
    K: ArrayLike, y: ArrayLike, C: ArrayLike, free: bool = False, steps: int = 500
) -> tuple[Vector, float]:
    """Minimize F = c K c / 2 + sum_i C_i log(1 + exp(-y_i s_i)), s = K c + b.

    b = 0 unless it is free. The gradient is K (c - beta) for c and -sum beta for b, with beta_i
    = y_i C_i sigmoid(-y_i s_i). A Newton step solves (I + D K) dc + D db = beta - c and sum D
    (K dc + db) = sum beta, with D_i = C_i sigmoid(s_i) sigmoid(-s_i), and is halved until F
    falls.
    """
    K, y, C = (
        np.array(K, dtype=np.float64),
        np.array(y, dtype=np.float64),
        np.array(C, dtype=np.float64),
    )
    m = len(y)

    def objective(c: Vector, b: float) -> float:
        s = K @ c + b
        return float(
            c @ K @ c / 2 + sum(C[i] * loss_value("logistic", y[i] * s[i]) for i in range(m))
        )

    c, b = np.zeros(m), 0.0
    for _ in range(steps):
        s = K @ c + b
        beta = np.array([y[i] * C[i] * sigmoid(-y[i] * s[i]) for i in range(m)])
        D = np.array([C[i] * sigmoid(s[i]) * sigmoid(-s[i]) for i in range(m)])
        A = np.zeros((m + 1, m + 1))
        A[:m, :m] = np.eye(m) + D[:, None] * K
        A[m, m] = 1.0
        right = np.append(beta - c, 0.0)
        if free:
            A[:m, m] = D
            A[m, :m] = D @ K
            A[m, m] = D.sum()
            right[m] = beta.sum()
        step = np.linalg.solve(A, right)
        t = 1.0
        while objective(c + t * step[:m], b + t * step[m]) > objective(c, b) and t > 1e-12:
            t = t / 2
        if t <= 1e-12:
            break
        c, b = c + t * step[:m], b + float(t * step[m])
        if np.abs(step).max() <= 1e-13 * (1 + np.abs(c).max()):
            break
    return c, b


# Objectives and certificates


def primal_linear(
    loss: str,
    X: ArrayLike,
    y: ArrayLike,
    w: Vector,
    lam: float,
    *,
    weights: ArrayLike | None = None,
    constant: float = 0.0,
) -> float:
    """Return P(w) = lam/2 ||w||^2 + sum_i weight_i loss(y_i w.x_i) / sum of weights."""
    scores = scores_linear(X, w, constant)
    y = np.array(y, dtype=np.float64)
    raw = raw_weights(weights, len(y))
    total = 0.0
    for i in range(len(y)):
        total = total + raw[i] * loss_value(loss, y[i] * scores[i])
    return float(lam / 2 * (w @ w) + total / sum(raw))


def primal_kernel(
    loss: str,
    K: ArrayLike,
    y: ArrayLike,
    c: Vector,
    lam: float,
    *,
    weights: ArrayLike | None = None,
    constant: float = 0.0,
) -> float:
    """Return P(w) at w = sum_r c_r phi(x_r), where ||w||^2 = c K c."""
    scores = scores_kernel(K, c, constant)
    y = np.array(y, dtype=np.float64)
    raw = raw_weights(weights, len(y))
    total = 0.0
    for i in range(len(y)):
        total = total + raw[i] * loss_value(loss, y[i] * scores[i])
    return float(lam / 2 * (c @ scores) + total / sum(raw))


def times_log(u: float, v: float) -> float:
    """Return u log(u / v), with its limit 0 at u = 0 (and where u / v underflows)."""
    return 0.0 if u == 0 or u / v == 0 else u * math.log(u / v)


def dual(
    loss: str,
    K: ArrayLike,
    y: ArrayLike,
    a: Vector,
    lam: float,
    *,
    weights: ArrayLike | None = None,
    constant: float = 0.0,
) -> float:
    """Return D(a), a lower bound of P if 0 <= a_i <= C_i and K is positive semidefinite.

    With w = sum_i a_i y_i phi(x_i), hinge: lam (sum_i a_i - 1/2 ||w||^2); logistic: lam (-sum_i
    [a_i log(a_i/C_i) + (C_i - a_i) log((C_i - a_i)/C_i)] - 1/2 ||w||^2).
    """
    y = np.array(y, dtype=np.float64)
    K = kernel_with_constant(K, constant)
    C = box(weights, len(y), lam)
    total = 0.0
    for i in range(len(y)):
        if not 0 <= a[i] <= C[i]:
            raise ValueError(f"a[{i}] = {a[i]} is outside of its box 0 .. {C[i]}")
        if loss == "hinge":
            total = total + a[i]
        elif loss == "logistic":
            total = total - times_log(a[i], C[i]) - times_log(C[i] - a[i], C[i])
        else:
            raise ValueError(f"unknown loss {loss!r}")
    c = a * y
    return float(lam * (total - (c @ K @ c) / 2))


def certificate(
    loss: str,
    K: ArrayLike,
    y: ArrayLike,
    c: Vector,
    lam: float,
    *,
    weights: ArrayLike | None = None,
    constant: float = 0.0,
) -> Certificate:
    """Return a bound of P(w) - P(best) for any coefficients c.

    P at w = sum_r c_r phi(x_r), and D at a_i = clip(y_i c_i, 0, C_i): D(a) <= P(best) <= P(w).
    """
    y = np.array(y, dtype=np.float64)
    C = box(weights, len(y), lam)
    a = np.array([min(max(y[i] * c[i], 0.0), C[i]) for i in range(len(y))])
    upper = primal_kernel(loss, K, y, c, lam, weights=weights, constant=constant)
    lower = dual(loss, K, y, a, lam, weights=weights, constant=constant)
    return Certificate(upper, lower, upper - lower, a)


# Optima


def working_sets(
    K: ArrayLike,
    y: ArrayLike,
    C: ArrayLike,
    *,
    free: bool = False,
    size: int = 4,
    rounds: int = 3000,
) -> tuple[Vector, float]:
    """Minimize c K c / 2 + sum_i C_i max(0, 1 - y_i s_i), s = K c + b, by working sets.

    Each round selects the `size` rows with the largest gains, and maximizes over one
    coefficient at a time, or (b free: the sum of all c stays 0) over pairs. A coefficient c_i
    stays between 0 and y_i C_i. With v_i = y_i - (K c)_i a step t of c_i gains t v_i - t^2 K_ii
    / 2.
    """
    K, y, C = (np.array(part, dtype=np.float64) for part in (K, y, C))
    m = len(y)
    low, high = np.minimum(0.0, y * C), np.maximum(0.0, y * C)
    c = np.zeros(m)

    def step_alone(i: int) -> float:
        v = y[i] - K[i] @ c
        t = min(max(v / K[i, i], low[i] - c[i]), high[i] - c[i])
        c[i] += t
        return float(t * v - t * t * K[i, i] / 2)

    def step_by_two(i: int, j: int) -> float:
        pull = float((y[i] - K[i] @ c) - (y[j] - K[j] @ c))
        curve = max(float(K[i, i] + K[j, j] - 2 * K[i, j]), 1e-12)
        t = min(max(pull / curve, 0.0), high[i] - c[i], c[j] - low[j])
        c[i] += t
        c[j] -= t
        return t * pull - t * t * curve / 2

    for _ in range(rounds):
        v = y - K @ c
        up, down = [i for i in range(m) if c[i] < high[i]], [i for i in range(m) if c[i] > low[i]]
        if free:
            chosen = (
                sorted(up, key=lambda i: -v[i])[: size // 2]
                + sorted(down, key=lambda i: v[i])[: size // 2]
            )
            gains = [step_by_two(i, j) for _ in range(20) for i in chosen for j in chosen if i != j]
        else:
            pull = {i: max(v[i] if i in up else 0.0, -v[i] if i in down else 0.0) for i in range(m)}
            chosen = sorted(range(m), key=lambda i: -pull[i])[:size]
            gains = [step_alone(i) for _ in range(20) for i in chosen]
        if max(gains) <= 1e-15:
            break
    v = y - K @ c
    inside = [v[i] for i in range(m) if low[i] < c[i] < high[i]]
    return c, float(np.mean(inside)) if free and inside else 0.0


def ascent_without_rows_at_rest(
    X: ArrayLike,
    y: ArrayLike,
    C: ArrayLike,
    *,
    epochs: int,
    violation: float,
    next_share: float,
    random: np.random.Generator,
) -> Vector:
    """Run epochs of coordinate ascent with shrinking on the hinge dual; return a.

    A row at a bound is skipped if its gradient points out of the box by more than the largest
    violation of the epoch before. All rows return when the others violate optimality by at most
    `violation`, which decreases once no row is skipped. A constant feature is a column of X.
    """
    X, y, C = np.asarray(X, dtype=float), np.asarray(y, dtype=float), np.asarray(C, dtype=float)
    everyone = [i for i in range(len(y)) if C[i] > 0]
    a, active, low, high = np.zeros(len(y)), everyone, -math.inf, math.inf
    for _ in range(epochs):
        goes_on, gradients = [], [0.0]
        for i in random.permutation(active):
            w = sum((a[j] * y[j] * X[j] for j in range(len(y))), np.zeros(X.shape[1]))
            g = 1.0 - y[i] * float(w @ X[i])
            if (a[i] == 0 and g < low) or (a[i] == C[i] and g > high):
                continue
            goes_on.append(i)
            if (a[i] == 0 and g <= 0) or (a[i] == C[i] and g >= 0):
                continue
            gradients.append(g)
            norm = float(X[i] @ X[i])
            a[i] = min(max(a[i] + g / norm, 0.0), C[i]) if norm > 0 else C[i]
        if max(gradients) - min(gradients) > violation:
            low = min(gradients) if min(gradients) < 0 else -math.inf
            high = max(gradients) if max(gradients) > 0 else math.inf
            active = goes_on
        else:
            violation *= next_share if len(active) == len(everyone) else 1.0
            active, low, high = everyone, -math.inf, math.inf
    return a


def interior_point(
    X: ArrayLike, y: ArrayLike, C: ArrayLike, *, intercept: str, rounds: int = 60
) -> tuple[Vector, float, Vector]:
    """Minimize ||w||^2/2 [+ b^2/2] + sum_i C_i max(0, 1 - y_i (w.x_i + b)).

    Newton's method on the optimality conditions of the dual in one dense system, with mu
    divided by ten: Q a - 1 + b y - s + xi = 0, y.a = 0, a_i s_i = mu, (C_i - a_i) xi_i = mu; b
    and y.a = 0 exist for intercept "free" only.
    """
    X, y, C = (np.array(part, dtype=np.float64) for part in (X, y, C))
    m = len(y)
    rows = np.column_stack([X, np.ones(m)]) if intercept == "augment" else X
    Q = np.outer(y, y) * (rows @ rows.T)
    free = 1.0 if intercept == "free" else 0.0
    a, s, xi, b = C / 2, np.ones(m), np.ones(m), 0.0
    identity, nothing, border = np.eye(m), np.zeros((m, m)), np.zeros((m, 1))
    for _ in range(rounds):
        mu = 0.1 * float(a @ s + (C - a) @ xi) / (2 * m)
        system = np.block(
            [
                [Q, -identity, identity, free * y[:, np.newaxis]],
                [np.diag(s), np.diag(a), nothing, border],
                [np.diag(-xi), nothing, np.diag(C - a), border],
                [free * y[np.newaxis], border.T, border.T, np.array([[1.0 - free]])],
            ]
        )
        wrong = np.concatenate(
            [Q @ a - 1 + free * b * y - s + xi, a * s - mu, (C - a) * xi - mu, [free * (y @ a)]]
        )
        step = np.linalg.solve(system, -wrong)
        da, ds, dxi = step[:m], step[m : 2 * m], step[2 * m : 3 * m]
        length = 1.0
        for value, change in ((a, da), (C - a, -da), (s, ds), (xi, dxi)):
            for i in range(m):
                if change[i] < 0:
                    length = min(length, float(-0.99 * value[i] / change[i]))
        a, s, xi, b = (
            a + length * da,
            s + length * ds,
            xi + length * dxi,
            b + length * float(step[-1]),
        )
    w = rows.T @ (a * y)
    return (w[:-1], float(w[-1]), a) if intercept == "augment" else (w, free * b, a)


def central_path(
    X: ArrayLike, y: ArrayLike, C: ArrayLike, *, intercept: str, last: float = 1e-9
) -> tuple[Vector, float]:
    """Minimize the objective of `interior_point` along its central path; return (w, b).

    Newton's method on ||w||^2/2 [+ b^2/2] + sum_i min over s, xi > 0 with s - xi = m_i - 1 of
    C_i xi - mu log(s) - mu log(xi), while mu falls. There mu/s + mu/xi = C_i and the slope is
    -a_i = -mu/s. The path ends where mu is `last` times C.
    """
    X, y, C = (np.array(part, dtype=np.float64) for part in (X, y, C))
    rows = X if intercept == "none" else np.column_stack([X, np.ones(len(y))])
    penalty = np.ones(rows.shape[1])
    if intercept == "free":
        penalty[-1] = 0.0

    def corner(margin: float, bound: float, mu: float) -> tuple[float, float]:
        h = 2 * mu / bound
        r = math.sqrt((margin - 1) ** 2 + h * h)
        if margin > 1:
            s = (margin - 1 + h + r) / 2
            return s, h * (1 + h / (margin - 1 + r)) / 2
        xi = (1 - margin + h + r) / 2
        return h * (1 + h / (1 - margin + r)) / 2, xi

    def objective(v: Vector, mu: float) -> float:
        total = float(penalty * v @ v / 2)
        for i in range(len(y)):
            s, xi = corner(y[i] * float(rows[i] @ v), C[i], mu)
            total += C[i] * xi - mu * math.log(s) - mu * math.log(xi)
        return total

    v, mu = np.zeros(rows.shape[1]), float(np.mean(C))
    while mu > last * np.mean(C):
        for _ in range(50):
            gradient, matrix = penalty * v, np.diag(penalty)
            for i in range(len(y)):
                s, xi = corner(y[i] * float(rows[i] @ v), C[i], mu)
                gradient = gradient - mu / s * y[i] * rows[i]
                matrix = matrix + np.outer(rows[i], rows[i]) / (s * s / mu + xi * xi / mu)
            step = np.linalg.solve(matrix, -gradient)
            length = 1.0
            while length > 1e-9 and objective(v + length * step, mu) > objective(v, mu):
                length = length / 2
            v = v + length * step
            if -float(gradient @ step) < 1e-4 * mu:
                break
        mu = mu / 5
    return (v, 0.0) if intercept == "none" else (v[:-1], float(v[-1]))


def cutting_planes(
    X: ArrayLike, y: ArrayLike, C: ArrayLike, rounds: int = 200
) -> tuple[Vector, float]:
    """Minimize F(w) = ||w||^2/2 + sum_i C_i max(0, 1 - y_i w.x_i) by cutting planes.

    Each round adds a cut at the present w, and then moves to the minimizer for all cuts, w =
    sum_t p_t g_t, where p on the simplex maximizes p.b - ||w||^2/2 by coordinate steps towards
    its vertices. Returns w and a lower bound of F.
    """
    X, y, C = (np.array(part, dtype=np.float64) for part in (X, y, C))
    w, best, lowest, bound = np.zeros(X.shape[1]), np.zeros(X.shape[1]), math.inf, 0.0
    slopes, offsets, p = [np.zeros(X.shape[1])], [0.0], [1.0]
    for _ in range(rounds):
        inside = [i for i in range(len(y)) if y[i] * float(X[i] @ w) < 1]
        value = float(w @ w / 2 + sum(C[i] * (1 - y[i] * float(X[i] @ w)) for i in inside))
        if value < lowest:
            best, lowest = w, value
        slopes.append(sum((C[i] * y[i] * X[i] for i in inside), np.zeros(X.shape[1])))
        offsets.append(float(sum(C[i] for i in inside)))
        p.append(0.0)
        for _ in range(100):
            for t in range(len(p)):
                w, b = (
                    sum(q * g for q, g in zip(p, slopes, strict=True)),
                    sum(q * o for q, o in zip(p, offsets, strict=True)),
                )
                towards, gain = slopes[t] - w, offsets[t] - b
                for step in (
                    [min(1.0, max(0.0, float((gain - towards @ w) / (towards @ towards))))]
                    if towards.any()
                    else []
                ):
                    p = [(1 - step) * q + step * (k == t) for k, q in enumerate(p)]
        w, b = (
            sum(q * g for q, g in zip(p, slopes, strict=True)),
            sum(q * o for q, o in zip(p, offsets, strict=True)),
        )
        bound = max(bound, float(b - w @ w / 2))
    return best, bound


def newton_logistic(
    X: ArrayLike, y: ArrayLike, C: ArrayLike, *, intercept: str, rounds: int = 30
) -> tuple[Vector, float]:
    """Minimize ||w||^2/2 [+ b^2/2] + sum_i C_i log(1 + exp(-y_i (w.x_i + b)))."""
    X, y, C = (np.array(part, dtype=np.float64) for part in (X, y, C))
    rows = X if intercept == "none" else np.column_stack([X, np.ones(len(y))])
    penalty = np.ones(rows.shape[1])
    if intercept == "free":
        penalty[-1] = 0.0

    def objective(v: Vector) -> float:
        return float(
            penalty * v @ v / 2
            + sum(C[i] * loss_value("logistic", y[i] * float(rows[i] @ v)) for i in range(len(y)))
        )

    v = np.zeros(rows.shape[1])
    for _ in range(rounds):
        p = np.array([sigmoid(-y[i] * float(rows[i] @ v)) for i in range(len(y))])
        gradient = penalty * v - rows.T @ (C * p * y)
        step = np.linalg.solve(
            np.diag(penalty) + rows.T @ np.diag(C * p * (1 - p)) @ rows, -gradient
        )
        length = 1.0
        while length > 1e-9 and objective(v + length * step) > objective(v):
            length = length / 2
        v = v + length * step
    return (v, 0.0) if intercept == "none" else (v[:-1], float(v[-1]))


def pegasos_exact(
    K: ArrayLike, y: ArrayLike, draws: ArrayLike, lam: Fraction, batch: int = 1
) -> list[int]:
    """Run hinge Pegasos in exact arithmetic; return lam k T c.

    c <- (1 - 1/t) c, then c_i += y_i/(lam t k) where y_i s_i < 1. All numbers are fractions, so
    ties are exact; lam is a power of two.
    """
    kernel = [[Fraction(float(value)) for value in row] for row in np.asarray(K)]
    labels = [int(label) for label in np.asarray(y)]
    c = [Fraction(0)] * len(labels)
    t = 0
    for examples in batches_of(draws, batch):
        t = t + 1
        c = [(1 - Fraction(1, t)) * value for value in c]
        shrunk = list(c)
        for i in examples:
            s = sum((shrunk[r] * kernel[r][i] for r in range(len(c)) if shrunk[r]), Fraction(0))
            if labels[i] * s < 1:
                c[i] = c[i] + labels[i] / (lam * t * batch)
    counts = [lam * batch * t * value for value in c]
    assert all(count.denominator == 1 for count in counts)
    return [int(count) for count in counts]


# Nyström features


def nystroem_products(cross: ArrayLike, landmarks: ArrayLike) -> Matrix:
    """Return k(x)ᵀ K(L,L)⁺ k(z) for all rows x and z, the products of Nyström features."""
    cross = np.asarray(cross, dtype=float)
    return cross @ np.linalg.pinv(np.asarray(landmarks, dtype=float), hermitian=True) @ cross.T


def spread_landmarks(K: ArrayLike, count: int, seed: int, at_once: int) -> list[int]:
    """Select landmarks by k-means++ in kernel space, `at_once` per round, from shuffled rows."""
    K = np.asarray(K, dtype=float)
    generator = np.random.default_rng(seed)
    rows = generator.permutation(len(K))
    chosen = [int(generator.integers(len(K)))]
    while len(chosen) < count:
        nearest = []
        for i in rows:
            distances = [K[i, i] + K[rows[c], rows[c]] - 2 * K[i, rows[c]] for c in chosen]
            nearest.append(max(0.0, min(distances)))
        draws = []
        for u in generator.random(at_once):
            wanted, total = u * sum(nearest), 0.0
            for position, square in enumerate(nearest):
                total += square
                if total > wanted:
                    draws.append(position)
                    break
        chosen += generator.permutation(sorted(set(draws))).tolist()
    return [int(rows[c]) for c in chosen[:count]]


def pursue(matrix, coefficients, count):
    """Select rows by orthogonal least squares for the functions f = Σ_i c_i K(x_i, ·).

    The squared distance of f to the span of the rows B is cᵀKc - (Kc)_Bᵀ K_BB⁻¹ (Kc)_B.
    """
    chosen = []
    values = matrix @ coefficients.T
    for _ in range(count):
        gains = {}
        for row in range(len(matrix)):
            if row not in chosen:
                rows = [*chosen, row]
                projected = np.linalg.solve(matrix[np.ix_(rows, rows)], values[rows])
                gains[row] = sum(
                    values[rows][:, k] @ projected[:, k] for k in range(values.shape[1])
                )
        chosen.append(max(gains, key=gains.get))
    return chosen


def permutation_importance(predict, X, y, repeats, seed):
    """Return for each column the mean error over shuffles of it, minus the error."""
    random = np.random.default_rng(seed)
    base = np.mean(predict(X) != y)
    found = []
    for column in range(X.shape[1]):
        errors = []
        for _ in range(repeats):
            shuffled = X.copy()
            shuffled[:, column] = X[random.permutation(len(X)), column]
            errors.append(np.mean(predict(shuffled) != y))
        found.append(np.mean(errors) - base)
    return found


def corrected_resampled_t(
    values: Sequence[float], test_share: float
) -> tuple[float, float, float, float]:
    """Return mean, 95 % interval and two-sided p-value of the corrected resampled t-test.

    Nadeau and Bengio (2003); values are over splits that test this share of rows.
    """
    from scipy.stats import t

    count = len(values)
    mean = sum(values) / count
    variance = sum((value - mean) ** 2 for value in values) / (count - 1)
    error = math.sqrt(variance * (1 / count + test_share / (1 - test_share)))
    reach = t.ppf(0.975, count - 1) * error
    return mean, mean - reach, mean + reach, 2 * (1 - t.cdf(abs(mean) / error, count - 1))


def hinge_by_decided_rows(
    X: Vector, y: Vector, C: Vector, sample: Vector, tol: float
) -> tuple[Vector, float]:
    """Minimize ‖w‖²/2 + Σ C_i max(0, 1 - y_i w·x_i); return w and its relative gap.

    The w of a sample fixes a_i for all rows but the tenth whose margin is nearest to 1: a_i =
    C_i below, a_i = 0 above. The others are solved by coordinate ascent; rows that the new w
    puts on the other side of 1 join them, until the gap of all rows closes.
    """

    def ascend(rows: Vector, bounds: Vector, held: Vector) -> tuple[Vector, Vector]:
        a, w = np.zeros(len(rows)), held.copy()
        for _ in range(2000):
            moved = 0.0
            for k, i in enumerate(rows):
                new = min(max(a[k] + (1 - y[i] * (w @ X[i])) / (X[i] @ X[i]), 0.0), bounds[k])
                w += (new - a[k]) * y[i] * X[i]
                moved, a[k] = max(moved, abs(new - a[k])), new
            if moved < 0.1 * tol:
                break
        return a, w

    _, w = ascend(sample, C[sample] * C.sum() / C[sample].sum(), np.zeros(X.shape[1]))
    below = y * (X @ w) < 1
    solved = np.abs(y * (X @ w) - 1) <= np.quantile(np.abs(y * (X @ w) - 1), 0.1)
    while True:
        a = np.where(below, C, 0.0)
        a[solved], w = ascend(np.flatnonzero(solved), C[solved], (a * y * ~solved) @ X)
        margins = y * (X @ w)
        primal = 0.5 * w @ w + C @ np.maximum(0, 1 - margins)
        gap = (primal - a.sum() + 0.5 * w @ w) / primal
        wrong = ~solved & ((margins < 1) != below)
        if gap <= tol or not wrong.any():
            return w, gap
        solved |= wrong
