"""Ten models on ten-feature rows: accuracies, grid search, and causes of accuracies near chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from pegasos import Pegasos, Perceptron
from pegasos.kernels import Gaussian, Polynomial
from pegasos.studies import Run, Study
from pegasos.studies.judging import tail_probability
from studies import binary
from studies.binary import describe_values, is_lower
from studies.printed_numbers import read_printed

Array = np.ndarray[Any, Any]
Split = tuple[Array, Array]

ROWS, TEST_ROWS, BATCH = 10_000, 2000, 32
LAST: dict[str, Any] = {"sampling": "uniform", "average": False}
#: The printed settings. An epoch is a pass over the rows, in kernel Pegasos a single step (see the
#: claims).
LEARNERS: dict[str, Any] = {
    "perceptron": Perceptron(epochs=50, average=False),
    "pegasos": Pegasos(lam=1.0, batch_size=BATCH, epochs=200, **LAST),
    "logistic": Pegasos("logistic", lam=0.01, batch_size=BATCH, epochs=50, **LAST),
    "kernel perceptron polynomial": Perceptron(
        kernel=Polynomial(3, 1.0), epochs=100, average=False, shuffle=False, fit_intercept=False
    ),
    "kernel perceptron gaussian": Perceptron(
        kernel=Gaussian(10.0), epochs=200, average=False, shuffle=False, fit_intercept=False
    ),
    "kernel pegasos polynomial": Pegasos(
        kernel=Polynomial(2, 1.0), lam=0.1, n_iter=400, fit_intercept=False, **LAST
    ),
    "kernel pegasos gaussian": Pegasos(
        kernel=Gaussian(1.0), lam=0.001, n_iter=400, fit_intercept=False, **LAST
    ),
}
LINEAR = ("perceptron", "pegasos", "logistic")
REASONS = {
    "logistic": "near chance; the claims discuss a slip of the gradient",
    "pegasos+degree2": "the claims discuss an intercept that is not regularized",
}

#: The outcome of a search that took half an hour; it is not repeated by this study.
SEARCH = (
    "The seed of the split was searched once: scikit-learn's and NumPy's splitters with seeds 0 to 10,000, "
    "rows in order or shuffled (207,216 Perceptron runs). The linear test accuracy matched 709 times (684 expected by "
    "chance), both linear accuracies twice (2.9 expected), all four Perceptron accuracies never (0.001 expected): the "
    "seed is unknown."
)

PROTOCOL = (
    "A stratified split into 8000 training and 2000 test rows, standardized by the training rows; with products of "
    "features these are standardized once more. No program is public and the split is not known: printed accuracies are "
    "placed in our distribution over splits and draws. The printed settings come from a grid search with 5-fold "
    "cross-validation, which is repeated here."
)


def make_model(name: str) -> Pipeline:
    """Return the pipeline of a printed model."""
    steps: list[tuple[str, Any]] = [("scale", StandardScaler())]
    if name.endswith("+degree2"):
        steps += [
            ("expand", PolynomialFeatures(2, include_bias=False)),
            ("again", StandardScaler()),
        ]
    return Pipeline([*steps, ("learn", clone(LEARNERS[name.removesuffix("+degree2")]))])


def split_rows(y: Array, seed: int) -> Split:
    """Return training and test rows of a stratified split."""
    train, test = train_test_split(
        np.arange(ROWS), test_size=TEST_ROWS, stratify=y, random_state=seed
    )
    return train, test


def run_study(run: Run) -> None:
    """Run the printed settings, judge the accuracies, repeat the search and explain differences."""
    accuracies: dict[tuple[str, str], Array] = {}
    for name in (*LEARNERS, *(f"{name}+degree2" for name in LINEAR)):
        linear = name.removesuffix("+degree2") in LINEAR
        seeds = range(len(run.seeds) * (4 if linear else 1))
        run.log(f"{name}, {len(seeds)} splits")
        found = [_accuracies(make_model(name), run, seed) for seed in seeds]
        accuracies[name, "train"], accuracies[name, "test"] = np.array(found).T
    run.note(SEARCH)
    _judge_text(run, accuracies)
    _judge_table(run, accuracies)
    _judge_cross_validated(run)
    _search_grids(run)
    _explain(run)
    _check_claims(run, accuracies)
    binary.show_statistics(run)
    binary.reach_best(run, "the report's best", 1 - 0.9665)


def _accuracies(model: Pipeline, run: Run, seed: int) -> list[float]:
    train, test = split_rows(run.y, seed)
    model.set_params(learn__random_state=seed).fit(run.X[train], run.y[train])
    return [float(model.score(run.X[rows], run.y[rows])) for rows in (train, test)]


def _judge_text(run: Run, accuracies: dict[tuple[str, str], Array]) -> None:
    for row in read_printed("binary_models"):
        name = " ".join(filter(None, (row["model"], row["kernel"])))
        for side, rows in (("train", ROWS - TEST_ROWS), ("test", TEST_ROWS)):
            printed = row[f"{side}_accuracy"]
            if printed:
                reason = _reason(name)
                run.number(
                    f"text: {name}, {side}",
                    printed,
                    accuracies[name, side],
                    rows=rows,
                    reason=reason,
                )


def _reason(name: str) -> str:
    known = REASONS.get(name, REASONS.get(name.removesuffix("+degree2"), ""))
    return known or "no cause known"


def _judge_table(run: Run, accuracies: dict[tuple[str, str], Array]) -> None:
    """Judge the summary table; six of its test accuracies repeat the training accuracy."""
    text = {
        " ".join(filter(None, (row["model"], row["kernel"]))): row
        for row in read_printed("binary_models")
    }
    for row in read_printed("binary_models_table1"):
        name, printed = row["model"], row["test_accuracy"]
        own = text[name]["test_accuracy"]
        repeats = printed == row["train_accuracy"]
        note = f"repeats the training accuracy; the text prints {own}" if repeats else ""
        reason = _reason(name)
        run.number(
            f"table 1: {name}, test",
            printed,
            accuracies[name, "test"],
            rows=TEST_ROWS,
            reason=reason,
            note=note,
        )


def _judge_cross_validated(run: Run) -> None:
    """Judge the two cross-validated accuracies of the text."""
    for name, printed in (("logistic", "0.571875"), ("kernel pegasos gaussian", "0.814")):
        ours = []
        for seed in run.seeds:
            train, _ = split_rows(run.y, seed)
            folds = StratifiedKFold(5, shuffle=True, random_state=seed)
            model, X, y = make_model(name), run.X[train], run.y[train]
            search = run.sweep(f"cross-validation, {name}", model, {}, folds, seed=seed, X=X, y=y)
            ours.append(float(search.cv_results_["mean_test_score"][0]))
        run.number(f"text: {name}, cross-validated", printed, ours, reason=_reason(name))


def _search_grids(run: Run) -> None:
    """Repeat the grid search of each model on the training rows of one split."""
    train, _ = split_rows(run.y, 0)
    X, y = StandardScaler().fit_transform(run.X[train]), run.y[train]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    polynomials = [Polynomial(degree, 1.0) for degree in (2, 3, 4)]
    gaussians = [Gaussian(variance) for variance in (1.0, 10.0, 100.0)]
    lams = [1e-4, 1e-3, 1e-2, 0.1, 1.0]
    batches = {"lam": lams, "batch_size": [1, BATCH], "epochs": [50, 200]}
    grids: dict[str, dict[str, Any]] = {
        "perceptron": {"epochs": [10, 50, 100]},
        "pegasos": batches,
        "logistic": batches,
        "kernel perceptron polynomial": {"kernel": polynomials, "epochs": [10, 100]},
        "kernel perceptron gaussian": {"kernel": gaussians, "epochs": [10, 200]},
        "kernel pegasos polynomial": {"kernel": polynomials, "lam": lams, "n_iter": [400, 8000]},
        "kernel pegasos gaussian": {"kernel": gaussians, "lam": lams, "n_iter": [400, 8000]},
    }
    rows: list[dict[str, Any]] = []
    for name, grid in grids.items():
        search = run.sweep(f"grid search, {name}", LEARNERS[name], grid, folds, X=X, y=y)
        results = search.cv_results_
        params = LEARNERS[name].get_params()
        chosen = next(
            score
            for score, setting in zip(results["mean_test_score"], results["params"], strict=True)
            if all(repr(params[key]) == repr(value) for key, value in setting.items())
        )
        best = ", ".join(f"{key}={value!r}" for key, value in search.best_params_.items())
        rows.append(
            {
                "model": name,
                "accuracy, printed setting": round(float(chosen), 4),
                "best accuracy": round(float(search.best_score_), 4),
                "best setting": best,
            }
        )
    run.figure("table", "The grid search: cross-validated accuracies", rows)
    behind = []
    for row in rows:
        own, best_score = row["accuracy, printed setting"], row["best accuracy"]
        if best_score - own > 2 * np.sqrt(own * (1 - own) / len(y)):
            behind.append(row["model"])
    run.claim(
        "the printed settings are the optimum of a 5-fold grid search for each model",
        "does not hold" if behind else "holds",
        f"behind the best setting of our grid by more than two standard errors: {', '.join(behind)}; η changes no decision of a "
        "Perceptron that starts at zero",
    )


def _explain(run: Run) -> None:
    """Repeat mini-batch steps with a free intercept, with the right and with a wrong gradient."""
    slopes: dict[str, Callable[[Array, Array], Array]] = {
        "hinge": lambda s, y: np.where(y * s < 1, y, 0.0),
        "logistic": lambda s, y: 0.5 * y * (1 - np.tanh(y * s / 2)),
        "logistic with the slip y - σ(s)": lambda s, y: y - 0.5 * (1 + np.tanh(s / 2)),
    }
    found: dict[tuple[str, int], list[float]] = {}
    for seed in range(2 * len(run.seeds)):
        train, test = split_rows(run.y, seed)
        for degree in (1, 2):
            expand = PolynomialFeatures(degree, include_bias=False)
            steps = [StandardScaler(), expand, StandardScaler()]
            Z = (
                Pipeline([(str(n), step) for n, step in enumerate(steps)])
                .fit(run.X[train])
                .transform(run.X)
            )
            for name, slope in slopes.items():
                lam, count = (1.0, 200) if name == "hinge" else (0.01, 50)
                draws = np.random.default_rng(seed).choice(train, size=(count, BATCH))
                scores = _mini_batches(Z, run.y, lam, draws, slope)
                accuracy = float((np.sign(scores[test]) == run.y[test]).mean())
                found.setdefault((name, degree), []).append(accuracy)
    texts = {key: describe_values(values) for key, values in found.items()}

    def fits(name: str, *printed: float) -> bool:
        return all(
            tail_probability(accuracy, np.array(found[name, degree])) >= 0.05
            for degree, accuracy in enumerate(printed, start=1)
        )

    slip = "logistic with the slip y - σ(s)"
    run.claim(
        "the logistic accuracies near chance (0.5485, degree 2 0.607) are a fault of the program, not of the method",
        "consistent with a slip"
        if fits(slip, 0.5485, 0.607)
        else "the method is better; no slip found explains them",
        f"50 batches with y - σ(s), the gradient for labels 0 and 1, and labels -1 and +1 give {texts[slip, 1]} and "
        f"{texts[slip, 2]}; without the slip {texts['logistic', 1]} and {texts['logistic', 2]}; inferred from numbers",
        source="ours",
    )
    run.claim(
        "degree-2 Pegasos at 0.754 comes from λ = 1 with an intercept that is not regularized",
        "possible" if fits("hinge", 0.7285, 0.754) else "does not hold",
        f"200 batches: linear {texts['hinge', 1]} (printed 0.7285), degree 2 {texts['hinge', 2]}",
        source="ours",
    )


def _mini_batches(
    Z: Array, y: Array, lam: float, draws: Array, slope: Callable[[Array, Array], Array]
) -> Array:
    """Return the scores of all rows after steps of length 1/(λt); the intercept does not shrink."""
    weights, bias = np.zeros(Z.shape[1]), 0.0
    for t, batch in enumerate(draws, start=1):
        push = slope(Z[batch] @ weights + bias, y[batch])
        weights = (1 - 1 / t) * weights + push @ Z[batch] / (lam * t * len(batch))
        bias += float(push.mean()) / (lam * t)
    return np.asarray(Z @ weights + bias)


def _check_claims(run: Run, accuracies: dict[tuple[str, str], Array]) -> None:
    test = {
        name: float(values.mean()) for (name, side), values in accuracies.items() if side == "test"
    }
    words = ", ".join(f"{name} {value:.4f}" for name, value in test.items())
    run.claim(
        "kernels and expansion improve accuracy much",
        "holds"
        if test["kernel perceptron gaussian"] > test["perceptron"] + 0.1
        else "does not hold",
        f"mean test accuracies with the printed settings: {words}",
    )
    gaps = {
        name: float((accuracies[name, "train"] - accuracies[name, "test"]).mean()) for name in test
    }
    widest = max(gaps, key=lambda name: gaps[name])
    run.claim(
        "training and test accuracy are close, so nothing overfits",
        "holds" if gaps[widest] < 0.01 else "holds in part",
        f"training minus test accuracy: median {np.median(list(gaps.values())):.4f}, largest {gaps[widest]:.4f} ({widest})",
    )
    polynomial, gaussian = (
        accuracies[f"kernel perceptron {each}", "test"] for each in ("polynomial", "gaussian")
    )
    difference = gaussian - polynomial
    run.claim(
        "the best kernel Perceptron is polynomial (introduction) or Gaussian (results)",
        "Gaussian"
        if is_lower(1 - gaussian, 1 - polynomial)
        else "polynomial"
        if is_lower(1 - polynomial, 1 - gaussian)
        else "undecided",
        f"test accuracies {describe_values(polynomial)} and {describe_values(gaussian)}; Gaussian ahead in "
        f"{int((difference > 0).sum())} of {len(difference)} splits",
    )
    one_pass = make_model("kernel pegasos polynomial")
    one_pass.set_params(learn=clone(one_pass["learn"]).set_params(n_iter=None, epochs=1))
    passes = [_accuracies(one_pass, run, seed)[1] for seed in run.seeds]
    run.claim(
        "an epoch of kernel Pegasos is a single step",
        "holds" if np.mean(passes) > 0.8275 + 0.02 else "undecided",
        f"400 steps {test['kernel pegasos polynomial']:.4f}, one pass of 8000 steps {np.mean(passes):.4f}, printed 0.8275",
        source="ours",
    )
    run.claim(
        "an update costs O(d) without and O(N d) with a kernel",
        "holds by construction",
        "a kernel score is a sum over up to N training rows of d features each",
    )


STUDY = Study("binary_models", "Ten models on ten-feature rows", "binary10", PROTOCOL, run_study)
