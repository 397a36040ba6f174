"""Ten models on ten-feature rows: 18 printed accuracies, and what explains those that are near chance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from pegasos.engine.kernels.standard import Gaussian, Polynomial
from pegasos.learners import Pegasos, Perceptron
from pegasos.program.published._binary import (
    SINGLE,
    TEST_ROWS,
    TRAINING_ROWS,
    learn,
    origin,
    pipeline,
    statistics,
)
from pegasos.program.published._binary_best import surpass
from pegasos.program.published._binary_faults import BATCH, free_bias
from pegasos.program.published._shared import described, printed_rows, readings, shown
from pegasos.program.studies.results import Context
from pegasos.program.studies.splits import train_test
from pegasos.program.studies.study import Check, Emulation, Experiment, Extra, Key, Number, Study

PERCEPTRON, PEGASOS, LOGISTIC, METHODS = (
    "Perceptron",
    "Pegasos, λ = 1",
    "logistic, λ = 0.01",
    "what the methods reach",
)
KERNEL_PERCEPTRON, KERNEL_PEGASOS, EMULATED = (
    "kernel Perceptron",
    "kernel Pegasos",
    "intercept not regularized",
)
SQUARES = PolynomialFeatures(2, include_bias=False)
#: The expansion is standardized once more.
EXPANSIONS: list[dict[str, Any]] = [{}, {"expand": [SQUARES], "again": [StandardScaler()]}]
METHOD_LAMS = [1e-4, 1e-3, 1e-2]
POLYNOMIALS = {"kernel perceptron": Polynomial(3, 1.0), "kernel pegasos": Polynomial(2, 1.0)}
#: "gamma" as a variance, exp(-‖x-x'‖²/(2γ)), or as σ, exp(-‖x-x'‖²/(2γ²)).
WIDTHS = {"γ is the variance": Gaussian(10.0), "γ is σ": Gaussian(100.0)}

#: Why the number of a Perceptron or of a kernel may differ, shown in the tables of this study.
NOISE = "the last vector is mostly noise: see the spread over seeds"

split = train_test(0.2)


def _both(**axes: Any) -> list[dict[str, Any]]:
    """A grid on the linear and on the expanded features."""
    return [{**expansion, **learn(**axes)} for expansion in EXPANSIONS]


def _experiments() -> Iterator[Experiment]:
    last: dict[str, Any] = {"sampling": "uniform", "average": False}
    linear: dict[str, tuple[Any, list[dict[str, Any]]]] = {
        PERCEPTRON: (
            Perceptron(epochs=50, learning_rate=0.01, average=False),
            _both(shuffle=[True, False]),
        ),
        PEGASOS: (
            Pegasos(lam=1.0, batch_size=BATCH, **last),
            [*_both(n_iter=[200]), *_both(epochs=[200])],
        ),
        LOGISTIC: (
            Pegasos("logistic", lam=0.01, batch_size=BATCH, **last),
            [*_both(n_iter=[50]), *_both(epochs=[50])],
        ),
        METHODS: (Pegasos(epochs=20), _both(loss=["hinge", "logistic"], lam=METHOD_LAMS)),
    }
    passes = [
        learn(kernel=[POLYNOMIALS["kernel perceptron"]], epochs=[100], shuffle=[False, True]),
        learn(kernel=list(WIDTHS.values()), epochs=[200]),
    ]
    draws = [
        learn(kernel=[kernel], lam=[lam], **stop)
        for kernel, lam in ((POLYNOMIALS["kernel pegasos"], 0.1), (Gaussian(1.0), 0.001))
        for stop in ({"n_iter": [400]}, {"epochs": [1, 10]})
    ]
    perceptron = pipeline(
        Perceptron(average=False, shuffle=False, fit_intercept=False), single=SINGLE
    )
    for name, (learner, grid) in linear.items():
        yield Experiment(
            name,
            pipeline(learner, expand="passthrough", again="passthrough"),
            grid,
            split,
            training=True,
        )
    yield Experiment(KERNEL_PERCEPTRON, perceptron, passes, split, training=True)
    yield Experiment(KERNEL_PEGASOS, pipeline(Pegasos(fit_intercept=False, **last)), draws, split)


def _expanded(model: str) -> Key:
    return {"expand": SQUARES if "degree2" in model else None}


def _readings(model: str, kernel: str) -> dict[str, Key]:
    """What each model may have been; the first is what its words say."""
    expanded = _expanded(model)
    emulated = {"experiment": EMULATED, "expand": "degree 2" if "degree2" in model else "linear"}
    orders = {"passes in random orders": True, "passes in the rows' order": False}
    if model.startswith("perceptron"):
        return readings({"experiment": PERCEPTRON, **expanded}, shuffle=orders)
    if model.startswith("pegasos"):
        own = {"experiment": PEGASOS, **expanded}
        free = {
            f"{count}, intercept not regularized": f"hinge, {count}"
            for count in ("200 passes", "200 batches")
        }
        return {
            "200 passes": {**own, "epochs": 200},
            "200 batches": {**own, "n_iter": 200},
            **readings(emulated, reading=free),
        }
    if model.startswith("logistic"):
        own = {"experiment": LOGISTIC, **expanded}
        slips = {
            f"{count}, labels ±1 in σ(s) - y": f"slipped logistic, {count}"
            for count in ("50 passes", "50 batches")
        }
        free = {"50 batches, intercept not regularized": "logistic, 50 batches", **slips}
        return {
            "50 passes": {**own, "epochs": 50},
            "50 batches": {**own, "n_iter": 50},
            **readings(emulated, reading=free),
        }
    if model == "kernel perceptron":
        own = {"experiment": KERNEL_PERCEPTRON}
        if kernel == "gaussian":
            return readings(own, kernel=WIDTHS)
        return readings(
            {**own, "kernel": POLYNOMIALS[model]}, shuffle=dict(reversed(orders.items()))
        )
    own = {
        "experiment": KERNEL_PEGASOS,
        "kernel": POLYNOMIALS[model] if kernel == "polynomial" else Gaussian(1.0),
    }
    passes = {"10 passes (400 are more of the same)": 10, "one pass": 1}
    return {**readings(own, epochs=passes), "400 steps": {**own, "n_iter": 400}}


def numbers() -> list[Number]:
    """18 printed accuracies, as errors."""
    found = []
    for row in printed_rows("binary_models"):
        model, kernel = row["model"], row["kernel"]
        # The linear and the degree-2 model are one program.
        group = f"{model}, {kernel}" if kernel else model.removesuffix("+degree2")
        for name, rows in (("train", TRAINING_ROWS), ("test", TEST_ROWS)):
            if not row[f"{name}_accuracy"]:
                continue
            keys = {
                words: {**key, "split": name} for words, key in _readings(model, kernel).items()
            }
            fields = {"model": model, "kernel": kernel, "settings": row["settings"], "split": name}
            error, reason = (
                1 - float(row[f"{name}_accuracy"]),
                NOISE if "perceptron" in model or kernel else "",
            )
            found.append(Number(fields, error, rows, keys, group, reason=reason))
    return found


# -- claims --------------------------------------------------------------------------------------------------------------


def _accuracy(context: Context, key: Key) -> float:
    return 1 - context.results.mean(**{**key, "split": "test"})


def _method(context: Context, model: str) -> tuple[float, float]:
    """The best accuracy of a right program over a few λ, and its λ."""
    key = {
        "experiment": METHODS,
        "loss": "logistic" if "logistic" in model else "hinge",
        **_expanded(model),
    }
    return max((_accuracy(context, {**key, "lam": lam}), lam) for lam in METHOD_LAMS)


def _near_chance(context: Context) -> tuple[str, str]:
    texts, gains = [], []
    for model, printed in (("logistic", 0.5485), ("logistic+degree2", 0.607)):
        best, lam = _method(context, model)
        gains.append(best - printed)
        keys = _readings(model, "")
        own, slipped = (
            _accuracy(context, keys[words])
            for words in ("50 passes", "50 batches, labels ±1 in σ(s) - y")
        )
        mistaken = f"{model}: printed {printed}, with the mistake {slipped:.4f}"
        texts.append(
            f"{mistaken}, programmed right at the same λ and 50 passes {own:.4f}, best λ = {lam:g} {best:.4f}"
        )
    return (
        "does not hold: a fault of the program" if min(gains) > 0.1 else "undecided"
    ), "; ".join(texts)


def _gains_little(context: Context) -> tuple[str, str]:
    linear, _ = _method(context, "pegasos")
    best, lam = _method(context, "pegasos+degree2")
    at_one = _accuracy(context, _readings("pegasos+degree2", "")["200 passes"])
    verdict = "does not hold: λ = 1 is the fault" if best - linear > 0.1 else "holds"
    return (
        verdict,
        f"degree 2 at λ = 1, 200 passes {at_one:.4f}; at λ = {lam:g} {best:.4f}; linear at its best {linear:.4f}",
    )


def _steps_not_passes(context: Context) -> tuple[str, str]:
    texts, apart = [], []
    for kernel, printed in (("polynomial", 0.8275), ("gaussian", 0.8045)):
        found = {
            words: _accuracy(context, key)
            for words, key in _readings("kernel pegasos", kernel).items()
        }
        apart.append(abs(found["400 steps"] - printed) < abs(found["one pass"] - printed))
        texts.append(
            f"{kernel}: printed {printed}, "
            + ", ".join(f"{words} {value:.4f}" for words, value in found.items())
        )
    return ("does not hold: they are single steps" if all(apart) else "undecided"), "; ".join(texts)


def _best_model(context: Context) -> tuple[str, str]:
    found = {}
    for row in printed_rows("binary_models"):
        reached = [
            _accuracy(context, key) for key in _readings(row["model"], row["kernel"]).values()
        ]
        distances = [abs(ours - float(row["test_accuracy"])) for ours in reached]
        found[f"{row['model']} {row['kernel']}".strip()] = reached[distances.index(min(distances))]
    order = sorted(found, key=lambda name: -found[name])
    first = order[0] == "kernel perceptron gaussian"
    # Two test errors near 0.035, each on 2000 rows, are apart by less than this in 95 of 100 cases.
    near = (
        found[order[0]] - found["kernel perceptron gaussian"] < 2 * (2 * 0.035 / TEST_ROWS) ** 0.5
    )
    text = ", ".join(f"{name} {found[name]:.4f}" for name in order[:4])
    verdict = "holds" if first else "within noise" if near else "does not hold"
    return verdict, "test accuracy by the reading nearest to the printed one: " + text


def _reach(context: Context) -> dict[str, Any]:
    """Printed beside what the method reaches when it is programmed right."""
    printed = {
        (row["model"], row["kernel"]): row["test_accuracy"] for row in printed_rows("binary_models")
    }
    rows = []
    for model in ("pegasos", "pegasos+degree2", "logistic", "logistic+degree2"):
        best, lam = _method(context, model)
        rows.append(
            {
                "model": model,
                "printed": float(printed[model, ""]),
                "right": round(best, 4),
                "λ": f"{lam:g}",
            }
        )
    return shown(
        rows,
        "Test accuracy of 20 passes, averaged vector, the best of three λ, which is a choice on the test rows.",
    )


_BEST = Perceptron(
    kernel=Gaussian(10.0),
    epochs=200,
    shuffle=False,
    average=False,
    fit_intercept=False,
    random_state=0,
)

STUDY = Study(
    **described("binary_models"),
    data="binary10",
    stand_in="quadric",
    experiments=tuple(_experiments()),
    emulations=(Emulation(EMULATED, free_bias),),
    numbers=numbers,
    checks=(
        Check(
            "regularized logistic is near chance on these rows, and little better at degree 2",
            _near_chance,
        ),
        Check("Pegasos gains little by degree 2", _gains_little),
        Check("an epoch of kernel Pegasos is a pass", _steps_not_passes),
        Check("the kernel Perceptron with a Gaussian is the best of the ten", _best_model),
    ),
    extras=(
        Extra("reach", "What the methods reach", _reach),
        Extra("statistics", "Statistics, outliers and correlations", statistics),
        Extra("origin", "What the labels are", origin),
    ),
    surpass=surpass("kernel Perceptron, Gaussian of variance 10, 200 passes", pipeline(_BEST)),
    tolerance=2.5,
)
