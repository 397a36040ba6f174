"""Ten models on ten-feature rows: accuracies, grid search, and causes of accuracies near chance."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from pegasos import Pegasos, Perceptron
from pegasos.kernels import Gaussian, Polynomial
from pegasos.studies import Run, Study
from pegasos.studies.results import tail_probability
from studies import binary
from studies.common import Array, Split, compare, describe, list_values, read_printed

ROWS, TEST_ROWS, BATCH = 10_000, 2000, 32
PERCEPTRON: dict[str, Any] = {"shuffle": False, "average": False, "fit_intercept": False}
PEGASOS: dict[str, Any] = {"sampling": "uniform", "average": False}
#: Kernel Pegasos. An epoch of the report is a single step here (see the claims).
KERNEL: dict[str, Any] = {"n_iter": 400, "fit_intercept": False, **PEGASOS}
LINEAR: dict[str, Any] = {
    "perceptron": Perceptron(epochs=50, average=False),
    "pegasos": Pegasos(lam=1.0, batch_size=BATCH, epochs=200, **PEGASOS),
    "logistic": Pegasos("logistic", lam=0.01, batch_size=BATCH, epochs=50, **PEGASOS),
}
#: The printed settings. An epoch is a pass over the rows.
LEARNERS: dict[str, Any] = {
    **LINEAR,
    "kernel perceptron polynomial": Perceptron(kernel=Polynomial(3, 1.0), epochs=100, **PERCEPTRON),
    "kernel perceptron gaussian": Perceptron(kernel=Gaussian(10.0), epochs=200, **PERCEPTRON),
    "kernel pegasos polynomial": Pegasos(kernel=Polynomial(2, 1.0), lam=0.1, **KERNEL),
    "kernel pegasos gaussian": Pegasos(kernel=Gaussian(1.0), lam=0.001, **KERNEL),
    **{f"{name}+degree2": learner for name, learner in LINEAR.items()},
}
CHANCE = "near chance; the claims discuss a slip of the gradient"
REASONS = {
    **dict.fromkeys(LEARNERS, "no cause known"),
    "logistic": CHANCE,
    "logistic+degree2": CHANCE,
    "pegasos+degree2": "the claims discuss an intercept that is not regularized",
}
SLIP = "logistic with the slip y - σ(s)"

#: The outcome of a search that took half an hour; it is not repeated by this study.
SEARCH = (
    "The seed of the split was searched once: scikit-learn's and NumPy's splitters with seeds 0 to "
    "10,000, rows in order or shuffled (207,216 Perceptron runs). The linear test accuracy matched "
    "709 times (684 expected by chance), both linear accuracies twice (2.9 expected), all four "
    "Perceptron accuracies never (0.001 expected): the seed is unknown."
)

PROTOCOL = (
    "A stratified split into 8000 training and 2000 test rows, standardized by the training rows; "
    "with products of features these are standardized once more. No program is public and the "
    "split is not known: printed accuracies are placed in our distribution over splits and draws. "
    "The printed settings come from a grid search with 5-fold cross-validation, which is repeated "
    "here."
)

#: Training and test accuracies by model and side, one value per split.
Accuracies = dict[tuple[str, str], Array]


def make_model(name: str) -> Pipeline:
    """Return the pipeline of a printed model."""
    steps: list[tuple[str, Any]] = [("scale", StandardScaler())]
    if name.endswith("+degree2"):
        steps += [("expand", PolynomialFeatures(2, include_bias=False))]
        steps += [("again", StandardScaler())]
    return Pipeline([*steps, ("learn", clone(LEARNERS[name]))])


def split_rows(y: Array, seed: int) -> Split:
    """Return training and test rows of a stratified split."""
    train, test = train_test_split(
        np.arange(ROWS), test_size=TEST_ROWS, stratify=y, random_state=seed
    )
    return train, test


def run_study(run: Run) -> None:
    """Run the printed settings, judge the accuracies, repeat the search and explain differences."""
    accuracies: Accuracies = {}
    for name in LEARNERS:
        seeds = range(len(run.seeds) * (1 if "kernel" in name else 4))
        run.log(f"{name}, {len(seeds)} splits")
        found = [_measure(make_model(name), run, seed) for seed in seeds]
        accuracies[name, "train"], accuracies[name, "test"] = np.array(found).T
    run.note(SEARCH)
    _judge_accuracies(run, accuracies)
    _judge_cross_validated(run)
    _search_grids(run)
    _explain(run)
    _check_claims(run, accuracies)
    binary.show_statistics(run)
    binary.reach_best(run, 1 - 0.9665)


def _measure(model: Pipeline, run: Run, seed: int) -> list[float]:
    """Return the training and the test accuracy of a model on one split."""
    parts = split_rows(run.y, seed)
    model.set_params(learn__random_state=seed).fit(run.X[parts[0]], run.y[parts[0]])
    return [float(model.score(run.X[rows], run.y[rows])) for rows in parts]


def _judge_accuracies(run: Run, accuracies: Accuracies) -> None:
    """Judge the text, and the summary table: six of its test accuracies are training accuracies."""
    text = {}
    for row in read_printed("binary_models"):
        name = " ".join(filter(None, (row["model"], row["kernel"])))
        text[name] = row["test_accuracy"]
        for side, rows in (("train", ROWS - TEST_ROWS), ("test", TEST_ROWS)):
            if printed := row[f"{side}_accuracy"]:
                facts = {"rows": rows, "reason": REASONS[name]}
                run.number(f"text: {name}, {side}", printed, accuracies[name, side], **facts)
    for row in read_printed("binary_models_table1"):
        name, printed = row["model"], row["test_accuracy"]
        repeats = printed == row["train_accuracy"]
        note = f"repeats the training accuracy; the text prints {text[name]}" if repeats else ""
        facts = {"rows": TEST_ROWS, "reason": REASONS[name], "note": note}
        run.number(f"table 1: {name}, test", printed, accuracies[name, "test"], **facts)


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
        run.number(f"text: {name}, cross-validated", printed, ours, reason=REASONS[name])


def _search_grids(run: Run) -> None:
    """Repeat the grid search of each model on the training rows of one split."""
    train, _ = split_rows(run.y, 0)
    X, y = StandardScaler().fit_transform(run.X[train]), run.y[train]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    polynomials = {"kernel": [Polynomial(degree, 1.0) for degree in (2, 3, 4)]}
    gaussians = {"kernel": [Gaussian(variance) for variance in (1.0, 10.0, 100.0)]}
    lams = {"lam": [1e-4, 1e-3, 1e-2, 0.1, 1.0]}
    batches = {**lams, "batch_size": [1, BATCH], "epochs": [50, 200]}
    grids: dict[str, dict[str, Any]] = {
        "perceptron": {"epochs": [10, 50, 100]},
        "pegasos": batches,
        "logistic": batches,
        "kernel perceptron polynomial": {**polynomials, "epochs": [10, 100]},
        "kernel perceptron gaussian": {**gaussians, "epochs": [10, 200]},
        "kernel pegasos polynomial": {**polynomials, **lams, "n_iter": [400, 8000]},
        "kernel pegasos gaussian": {**gaussians, **lams, "n_iter": [400, 8000]},
    }
    rows, behind = [], []
    for name, grid in grids.items():
        search = run.sweep(f"grid search, {name}", LEARNERS[name], grid, folds, X=X, y=y)
        printed = {key: repr(LEARNERS[name].get_params()[key]) for key in grid}
        settings = [
            {key: repr(value) for key, value in setting.items()}
            for setting in search.cv_results_["params"]
        ]
        own = float(search.cv_results_["mean_test_score"][settings.index(printed)])
        best = float(search.best_score_)
        words = settings[search.best_index_].items()
        rows.append(
            {
                "model": name,
                "accuracy, printed setting": round(own, 4),
                "best accuracy": round(best, 4),
                "best setting": ", ".join(f"{key}={value}" for key, value in words),
            }
        )
        if best - own > 2 * np.sqrt(own * (1 - own) / len(y)):
            behind.append(name)
    run.figure("table", "The grid search: cross-validated accuracies", rows)
    run.claim(
        "the printed settings are the optimum of a 5-fold grid search for each model",
        not behind,
        f"behind the best setting of our grid by more than two standard errors: "
        f"{', '.join(behind)}; η changes no decision of a Perceptron that starts at zero",
    )


def _slope(name: str, s: Array, y: Array) -> Array:
    """Return the negative derivative of a loss by the scores s, right or with the slip."""
    if name == "hinge":
        return np.where(y * s < 1, y, 0.0)
    if name == SLIP:
        return y - 0.5 * (1 + np.tanh(s / 2))
    return 0.5 * y * (1 - np.tanh(y * s / 2))


def _run_batches(name: str, Z: Array, y: Array, train: Array, seed: int) -> Array:
    """Return the scores of all rows after steps of length 1/(λt); the intercept does not shrink."""
    lam, count = (1.0, 200) if name == "hinge" else (0.01, 50)
    weights, bias = np.zeros(Z.shape[1]), 0.0
    draws = np.random.default_rng(seed).choice(train, size=(count, BATCH))
    for t, batch in enumerate(draws, start=1):
        push = _slope(name, Z[batch] @ weights + bias, y[batch])
        weights = (1 - 1 / t) * weights + push @ Z[batch] / (lam * t * len(batch))
        bias += float(push.mean()) / (lam * t)
    return np.asarray(Z @ weights + bias)


def _explain(run: Run) -> None:
    """Repeat mini-batch steps with a free intercept, with the right and with a wrong gradient."""
    found: dict[tuple[str, int], list[float]] = {}
    for seed in range(2 * len(run.seeds)):
        train, test = split_rows(run.y, seed)
        for degree in (1, 2):
            expand = PolynomialFeatures(degree, include_bias=False)
            prepare = make_pipeline(StandardScaler(), expand, StandardScaler())
            Z = prepare.fit(run.X[train]).transform(run.X)
            for name in ("hinge", "logistic", SLIP):
                scores = _run_batches(name, Z, run.y, train, seed)
                accuracy = float((np.sign(scores[test]) == run.y[test]).mean())
                found.setdefault((name, degree), []).append(accuracy)
    texts = {key: describe(values) for key, values in found.items()}

    def fits(name: str, *printed: float) -> bool:
        return all(
            tail_probability(accuracy, np.array(found[name, degree])) >= 0.05
            for degree, accuracy in enumerate(printed, start=1)
        )

    run.claim(
        "the logistic accuracies near chance (0.5485, degree 2 0.607) are a fault of the program, "
        "not of the method",
        "consistent with a slip"
        if fits(SLIP, 0.5485, 0.607)
        else "the method is better; no slip found explains them",
        "50 batches with y - σ(s), the gradient for labels 0 and 1, and labels -1 and +1 give "
        f"{texts[SLIP, 1]} and {texts[SLIP, 2]}; without the slip {texts['logistic', 1]} and "
        f"{texts['logistic', 2]}; inferred from numbers",
        source="ours",
    )
    run.claim(
        "degree-2 Pegasos at 0.754 comes from λ = 1 with an intercept that is not regularized",
        "possible" if fits("hinge", 0.7285, 0.754) else "does not hold",
        f"200 batches: linear {texts['hinge', 1]} (printed 0.7285), degree 2 {texts['hinge', 2]}",
        source="ours",
    )


def _check_claims(run: Run, accuracies: Accuracies) -> None:
    test = {name: float(accuracies[name, "test"].mean()) for name in LEARNERS}
    run.claim(
        "kernels and expansion improve accuracy much",
        test["kernel perceptron gaussian"] > test["perceptron"] + 0.1,
        f"mean test accuracies with the printed settings: {list_values(test)}",
    )
    gaps = {
        name: float((accuracies[name, "train"] - accuracies[name, "test"]).mean())
        for name in LEARNERS
    }
    widest = max(gaps, key=lambda name: gaps[name])
    run.claim(
        "training and test accuracy are close, so nothing overfits",
        gaps[widest] < 0.01 or "holds in part",
        f"training minus test accuracy: median {np.median(list(gaps.values())):.4f}, largest "
        f"{gaps[widest]:.4f} ({widest})",
    )
    polynomial, gaussian = (
        accuracies[f"kernel perceptron {each}", "test"] for each in ("polynomial", "gaussian")
    )
    difference = gaussian - polynomial
    run.claim(
        "the best kernel Perceptron is polynomial (introduction) or Gaussian (results)",
        compare(1 - gaussian, 1 - polynomial, ("Gaussian", "undecided", "polynomial")),
        f"test accuracies {describe(polynomial)} and {describe(gaussian)}; Gaussian ahead in "
        f"{int((difference > 0).sum())} of {len(difference)} splits",
    )
    one_pass = make_model("kernel pegasos polynomial")
    one_pass.set_params(learn__n_iter=None, learn__epochs=1)
    passes = [_measure(one_pass, run, seed)[1] for seed in run.seeds]
    run.claim(
        "an epoch of kernel Pegasos is a single step",
        "holds" if np.mean(passes) > 0.8275 + 0.02 else "undecided",
        f"400 steps {test['kernel pegasos polynomial']:.4f}, one pass of 8000 steps "
        f"{np.mean(passes):.4f}, printed 0.8275",
        source="ours",
    )
    run.claim(
        "an update costs O(d) without and O(N d) with a kernel",
        "holds by construction",
        "a kernel score is a sum over up to N training rows of d features each",
    )


STUDY = Study("binary_models", "Ten models on ten-feature rows", "binary10", PROTOCOL, run_study)
