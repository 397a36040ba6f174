"""The experiments of the ladder of eight models on ten-feature rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.preprocessing import MinMaxScaler, StandardScaler

from pegasos.engine.kernels.standard import Exponential, Gaussian, Polynomial
from pegasos.learners import Pegasos, Perceptron
from pegasos.preprocessing import DropOutliers
from pegasos.program.published._binary import ONE, SINGLE, SQUARES, learn, pipeline, testing, tuning
from pegasos.program.studies.study import Experiment

PERCEPTRON, PERCEPTRON_DROPPED = "Perceptron", "Perceptron, outliers dropped"
PEGASOS, PEGASOS_DROPPED, PEGASOS_TUNING = "Pegasos", "Pegasos, outliers dropped", "Pegasos, tuning"
KERNEL_PERCEPTRON = {
    "polynomial": "kernel Perceptron, polynomial",
    "exponential": "kernel Perceptron, gaussian",
}
KERNEL_PEGASOS = {
    "polynomial": "kernel Pegasos, polynomial",
    "exponential": "kernel Pegasos, gaussian",
}
KERNEL_WHOLE = "kernel Pegasos, whole training set"

STEPS = 100_000
MANY_STEPS = 1_000_000
EPOCHS = (10, 20)
SCALES: dict[str, Any] = {
    "none": "passthrough",
    "normalize": MinMaxScaler(),
    "standardize": StandardScaler(),
}
#: The expansion takes z, or (z, 1), in which linear terms and the constant come twice.
COLUMNS: dict[str, Any] = {"66 columns": "passthrough", "78 columns": ONE}
LAMS = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]
DEGREES = (1, 2, 3, 4)
WIDTHS = (0.01, 0.1, 1.0, 10.0)
LINE_LAMS = [0.001, 0.01, 0.1, 1.0]
#: What c is in (c + z·z')^n: the 1 of the kernel, and once more 1 where z has the constant feature.
CONSTANTS = {"(1 + z·z')^n": 1.0, "(2 + z·z')^n": 2.0}
GAUSSIANS: dict[str, Any] = {"as written": Gaussian, "as in its program": Exponential}

LAST_PERCEPTRON = Perceptron(epochs=20, shuffle=False, average=False, fit_intercept=False)
LAST_PEGASOS = Pegasos(sampling="uniform", average=False, fit_intercept=False, n_iter=STEPS)
_PERCEPTRON, _PEGASOS = (
    pipeline(each, constant=ONE, expand="passthrough") for each in (LAST_PERCEPTRON, LAST_PEGASOS)
)


def _squares(**axes: Any) -> dict[str, Any]:
    return {"constant": list(COLUMNS.values()), "expand": [SQUARES], **learn(**axes)}


def _inside(grid: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A grid of a pipeline that stands in DropOutliers."""
    return [{f"estimator__{name}": values for name, values in part.items()} for part in grid]


def _linear() -> list[Experiment]:
    steps = [STEPS, MANY_STEPS]
    perceptron = [
        {"scale": list(SCALES.values()), **learn(average=[False, True])},
        _squares(average=[False]),
    ]
    pegasos = [
        {"scale": list(SCALES.values()), **learn(loss=["hinge"], lam=[0.001, 0.1], n_iter=steps)},
        _squares(loss=["hinge"], lam=[0.001], n_iter=steps),
        learn(loss=["logistic"], lam=[1.0], n_iter=steps),
        {"expand": [SQUARES], **learn(loss=["logistic"], lam=LINE_LAMS, n_iter=[STEPS])},
    ]
    dropped = [
        learn(loss=["hinge"], lam=[0.1], n_iter=steps),
        _squares(loss=["hinge"], lam=[0.001], n_iter=steps),
    ]
    tables = [
        learn(loss=["hinge"], lam=[1e-4, 0.001, 0.01, 0.1, 1.0], n_iter=steps),
        learn(loss=["logistic"], lam=[0.1, 1.0, 10.0, 100.0], n_iter=steps),
        _squares(loss=["hinge"], lam=[*LAMS, 1000.0], n_iter=steps),
        _squares(loss=["logistic"], lam=[*LAMS[2:], 1000.0], n_iter=steps),
    ]
    without = _inside([learn(average=[False, True]), _squares(average=[False])])
    return [
        Experiment(PERCEPTRON, _PERCEPTRON, perceptron, testing, training=True),
        Experiment(PERCEPTRON_DROPPED, DropOutliers(_PERCEPTRON), without, testing),
        Experiment(PEGASOS, _PEGASOS, pegasos, testing, training=True),
        Experiment(PEGASOS_DROPPED, DropOutliers(_PEGASOS), _inside(dropped), testing),
        Experiment(
            PEGASOS_TUNING, _PEGASOS, tables, tuning, training=True, split_name="validation"
        ),
    ]


def _kernels() -> Iterator[Experiment]:
    kernels = {
        "polynomial": [
            Polynomial(degree, constant) for constant in CONSTANTS.values() for degree in DEGREES
        ],
        "exponential": [kind(width) for kind in GAUSSIANS.values() for width in WIDTHS],
    }
    for family, each in kernels.items():
        # Exponentials of small width vanish in single precision.
        steps = {"single": SINGLE} if family == "polynomial" else {}
        for name, learner, axes in (
            (KERNEL_PERCEPTRON, LAST_PERCEPTRON, learn(kernel=each, epochs=list(EPOCHS))),
            (KERNEL_PEGASOS, LAST_PEGASOS, learn(kernel=each, lam=LAMS)),
        ):
            yield Experiment(
                name[family],
                pipeline(learner, **steps),
                axes,
                tuning,
                training=True,
                split_name="validation",
            )
    cubes = learn(kernel=[Polynomial(3, constant) for constant in CONSTANTS.values()], lam=[0.1])
    yield Experiment(
        KERNEL_WHOLE, pipeline(LAST_PEGASOS, single=SINGLE), cubes, testing, training=True
    )


EXPERIMENTS = (*_linear(), *_kernels())
