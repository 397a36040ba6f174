"""The claims of the ladder of eight models, looked at in the results of a run."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from pegasos import SweepCV
from pegasos.engine.kernels.standard import Exponential, Polynomial
from pegasos.preprocessing import DropOutliers
from pegasos.program.published import _binary_experiments as ladder
from pegasos.program.published._binary import ONE, SQUARES, TEST_ROWS, pipeline, testing, tuning
from pegasos.program.published._binary_experiments import DEGREES, LAMS, SCALES
from pegasos.program.studies.results import Context

Array = np.ndarray[Any, Any]
Answer = tuple[str, str]

#: Splits on which Perceptrons are compared in pairs: they are fast, and five are too few for vectors so noisy.
REPEATS, QUICK_REPEATS = 20, 4


def _repeated(context: Context, average: bool = False, drop: bool = False, **steps: Any) -> Array:
    """Errors of a Perceptron on many splits (the run's own come first)."""
    X, y = context.dataset.X, context.dataset.labels
    splits = [testing(y, seed)[0] for seed in range(QUICK_REPEATS if context.quick else REPEATS)]
    estimator = pipeline(
        clone(ladder.LAST_PERCEPTRON).set_params(average=average, random_state=0),
        constant=ONE,
        **steps,
    )
    with warnings.catch_warnings(action="ignore"):  # the settings are the report's
        search = SweepCV(
            DropOutliers(estimator) if drop else estimator, {}, cv=splits, refit=False
        ).fit(X, y)
    return 1 - np.array(
        [search.cv_results_[f"split{number}_test_score"][0] for number in range(len(splits))]
    )


def _paired(difference: Array) -> tuple[float, float]:
    """Mean and its standard error."""
    return float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(difference)))


def _behind(errors: Array, better: Array) -> tuple[float, float]:
    """How much larger errors are, and the noise of that: with one seed that of an error stands for it."""
    if len(errors) > 1:
        return _paired(errors - better)
    level = float(errors[0])
    return level - float(better[0]), float(np.sqrt(level * (1 - level) / TEST_ROWS))


def perceptron_scaling(context: Context) -> Answer:
    """By the last vector, as the report did, and by the averaged one."""
    texts, vectors = [], {}
    for words, average in (("last", False), ("averaged", True)):
        vectors[words] = {
            name: _repeated(context, average, scale=step) for name, step in SCALES.items()
        }
        listed = ", ".join(
            f"{name} {each.mean():.3f} ± {each.std(ddof=1):.3f}"
            for name, each in vectors[words].items()
        )
        texts.append(f"{words} vector: {listed}")
    errors = vectors["last"]
    gains = {name: _paired(errors[name] - errors["standardize"]) for name in ("none", "normalize")}
    holds = all(gain > 2 * error for gain, error in gains.values())
    texts.append(
        "gain of standardizing, last vector: "
        + ", ".join(f"{n} {g:.3f} ± {e:.3f}" for n, (g, e) in gains.items())
    )
    verdict = "holds" if holds else "does not hold: noise of the last vector"
    return (
        verdict,
        f"{len(errors['none'])} splits (± deviation; gains ± standard error); " + "; ".join(texts),
    )


def pegasos_scaling(context: Context) -> Answer:
    """At a large and a small λ."""
    ranges, texts = [], []
    for lam in (0.1, 0.001):
        key = {
            "experiment": ladder.PEGASOS,
            "split": "test",
            "loss": "hinge",
            "n_iter": ladder.STEPS,
            "lam": lam,
            "expand": None,
        }
        errors = {name: context.results.mean(**key, scale=step) for name, step in SCALES.items()}
        ranges.append(max(errors.values()) - min(errors.values()))
        scaled = abs(errors["normalize"] - errors["standardize"])
        listed = ", ".join(f"{name} {error:.3f}" for name, error in errors.items())
        texts.append(f"λ = {lam:g}: {listed} (the scaled ones differ by {scaled:.3f})")
    return (
        "holds"
        if max(ranges) < 0.03
        else "does not hold: λ means something else after another scaling"
    ), "; ".join(texts)


def _dropping(context: Context) -> dict[str, tuple[Array, Array]]:
    """Perceptron errors with all rows and without outliers, on many splits."""
    models: dict[str, dict[str, Any]] = {
        "Perceptron": {},
        "Perceptron, degree 2": {"expand": SQUARES},
    }
    return {
        name: (_repeated(context, **steps), _repeated(context, drop=True, **steps))
        for name, steps in models.items()
    }


def outliers(context: Context) -> Answer:
    """Paired differences of test errors."""
    differences = {words: dropped - kept for words, (kept, dropped) in _dropping(context).items()}
    squares = {"lam": 0.001, "expand": SQUARES, "constant": ladder.COLUMNS["78 columns"]}
    for words, fields in {
        "Pegasos": {"lam": 0.1, "expand": None},
        "Pegasos, degree 2": squares,
    }.items():
        key = {
            "split": "test",
            "loss": "hinge",
            "n_iter": ladder.STEPS,
            "scale": SCALES["standardize"],
            **fields,
        }
        kept, dropped = (
            context.results.errors(experiment=name, **key)
            for name in (ladder.PEGASOS, ladder.PEGASOS_DROPPED)
        )
        differences[words] = dropped - kept
    texts, far = [], []
    for words, each in differences.items():
        if len(each) > 1:
            mean, error = _paired(each)
            far.append(abs(mean) > 2.5 * max(error, 1e-4) and abs(mean) > 0.003)
            texts.append(f"{words} {mean:+.4f} ± {error:.4f} ({len(each)} splits)")
        else:
            texts.append(f"{words} {float(each[0]):+.4f} (one split)")
    return (
        "does not hold" if any(far) else "holds"
    ), "dropped minus kept (± standard error): " + ", ".join(texts)


def dropping_reached(context: Context) -> Answer:
    """The printed errors with and without outliers are equal to the digit; ours hardly ever."""
    pairs = _dropping(context)
    texts = [
        f"{words} ({kept.mean():.4f} ± {kept.std(ddof=1):.4f}) in {int((kept == dropped).sum())} of {len(kept)} splits"
        for words, (kept, dropped) in pairs.items()
    ]
    rare = all((kept == dropped).mean() <= 0.1 for kept, dropped in pairs.values())
    return ("most likely not" if rare else "undecided"), (
        "printed 0.326 and 0.326, 0.087 and 0.087; a Perceptron in the rows' order has no draws, and with rows dropped its test "
        "error comes out the same by chance only: "
        + ", ".join(texts)
        + " (± deviation over splits)"
    )


def _cell(context: Context, degree: int, lam: float, split: str = "validation") -> Array:
    kernel = Polynomial(degree, 2.0)
    return context.results.errors(
        experiment=ladder.KERNEL_PEGASOS["polynomial"], split=split, kernel=kernel, lam=lam
    )


def degree_four(context: Context) -> Answer:
    """Gaps between training and validation errors, and the best validation error."""
    gaps, best = {}, {}
    for degree in (3, 4):
        gaps[degree] = float(
            np.mean(
                [
                    _cell(context, degree, lam) - _cell(context, degree, lam, "train")
                    for lam in LAMS[:3]
                ]
            )
        )
        best[degree] = min((float(_cell(context, degree, lam).mean()), lam) for lam in LAMS)
    behind, error = _behind(*(_cell(context, degree, best[degree][1]) for degree in (4, 3)))
    grown = (
        "holds" if behind > 2 * error else "in part: the gap grows, the validation error does not"
    )
    verdict = "does not hold" if gaps[4] < 1.3 * gaps[3] else grown
    words = "degree {}: gap {:.4f} for λ up to 0.1, best validation {:.4f} (λ = {:g})"
    texts = [words.format(degree, gaps[degree], *best[degree]) for degree in (3, 4)]
    return verdict, "; ".join([*texts, f"degree 4 is {behind:.4f} ± {error:.4f} behind"])


def best_cell(context: Context) -> Answer:
    """The best cell of the means, and of each seed."""
    cells = {(degree, lam): _cell(context, degree, lam) for degree in DEGREES for lam in LAMS}
    best = min(cells, key=lambda cell: cells[cell].mean())
    claimed = cells[3, 0.1]
    winners = [min(cells, key=lambda cell: cells[cell][number]) for number in range(len(claimed))]
    behind, error = _behind(claimed, cells[best])
    verdict = (
        "holds" if best == (3, 0.1) else "within noise" if behind < 2 * error else "does not hold"
    )
    by_seed = ", ".join(f"degree {degree} λ = {lam:g}" for degree, lam in winners)
    return verdict, (
        f"validation: degree {best[0]}, λ = {best[1]:g} {cells[best].mean():.4f}; degree 3, λ = 0.1 {claimed.mean():.4f}, "
        f"{behind:.4f} ± {error:.4f} behind; best by seed: {by_seed}"
    )


def nearest_neighbour(context: Context) -> Answer:
    """Agreement of labels on the validation rows of the first split."""
    from sklearn.neighbors import KNeighborsClassifier

    seed, X, codes = context.seeds[0], context.dataset.X, context.codes
    train, test = tuning(context.dataset.labels, seed)[0]
    nearest = pipeline(KNeighborsClassifier(1)).fit(X[train], codes[train]).predict(X[test])
    experiments = {"Pegasos": ladder.KERNEL_PEGASOS, "Perceptron": ladder.KERNEL_PERCEPTRON}
    cells: dict[str, dict[str, Any]] = {"Pegasos": {"lam": 0.1}, "Perceptron": {"epochs": 10}}
    shares = {}
    for name, width in itertools.product(cells, (0.01, 0.1)):
        labels = context.labels(
            experiments[name]["exponential"], seed, kernel=Exponential(width), **cells[name]
        )[test]
        shares[name, width] = float((labels == nearest).mean())
    texts = [f"{name} γ = {width:g} {share:.1%}" for (name, width), share in shares.items()]
    pegasos, perceptron = shares["Pegasos", 0.01] > 0.98, shares["Perceptron", 0.01] > 0.98
    verdict = (
        "holds"
        if pegasos and perceptron
        else "holds for Pegasos, not for the Perceptron"
        if pegasos
        else "does not hold"
    )
    error = float((nearest != codes[test]).mean())
    return (
        verdict,
        f"the nearest neighbour errs on {error:.4f}; agreement with its labels: "
        + ", ".join(texts),
    )


def lam_at_small_width(context: Context) -> Answer:
    """The same draws for all λ, so any difference is λ's."""
    texts, widths = [], []
    for width in (0.01, 0.1):
        key = {
            "experiment": ladder.KERNEL_PEGASOS["exponential"],
            "split": "validation",
            "kernel": Exponential(width),
        }
        errors = {lam: context.results.mean(**key, lam=lam) for lam in LAMS}
        rest = [error for lam, error in errors.items() if lam >= 0.01]
        widths.append(max(errors.values()) - min(errors.values()))
        texts.append(
            f"γ = {width:g}: {min(rest):.4f} to {max(rest):.4f} for λ = 0.01 to 100, {errors[0.001]:.4f} at 0.001"
        )
    return ("holds" if max(widths) < 0.005 else "does not hold"), "; ".join(texts)


def large_lam(context: Context) -> Answer:
    """Best and worst λ by degree."""
    means = {
        degree: [float(_cell(context, degree, lam).mean()) for lam in LAMS] for degree in DEGREES
    }
    ratios = {degree: np.array(means[degree]) / min(means[degree]) for degree in DEGREES[1:]}
    doubled = {
        degree: min(np.array(LAMS)[each > 2], default=np.inf) for degree, each in ratios.items()
    }
    later = list(doubled.values()) == sorted(doubled.values())
    verdict = (
        "does not hold"
        if min(each[-1] for each in ratios.values()) <= 1.5
        else "holds"
        if later
        else "holds in part"
    )
    texts = [
        f"degree {degree} {errors[-1]:.4f} (best {min(errors):.4f})"
        for degree, errors in means.items()
    ]
    at = ", ".join(f"degree {degree} at λ = {lam:g}" for degree, lam in doubled.items())
    return verdict, "λ = 100: " + ", ".join(texts) + f"; twice the best error or more from: {at}"


def line_lam(context: Context) -> Answer:
    """Which λ gives the printed 0.1125."""
    key = {"experiment": ladder.PEGASOS, "split": "test", "loss": "logistic", "expand": SQUARES}
    errors = {lam: context.results.mean(**key, lam=lam) for lam in ladder.LINE_LAMS}
    nearest = min(errors, key=lambda lam: abs(errors[lam] - 0.1125))
    verdict = "holds" if nearest == 0.001 else f"does not hold: λ = {nearest:g} fits"
    return verdict, "printed 0.1125; ours, stable: " + ", ".join(
        f"λ = {lam:g} {error:.4f}" for lam, error in errors.items()
    )
