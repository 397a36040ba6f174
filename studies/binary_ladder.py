"""Eight models on ten-feature rows: 180 errors, 99 weights, 40 statistics of a course project."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from pegasos.studies import Run, Study
from studies import binary
from studies.binary_ladder_protocol import (
    KERNEL_LAMS,
    KERNELS,
    LAMS,
    ROWS,
    SCALINGS,
    TRAIN,
    TUNE,
    Data,
    Found,
    fit_perceptron,
    make_pegasos,
    repeat_sweep,
    run_models,
)
from studies.common import compare, describe, read_printed

UNKNOWN = "no cause known; see how many are expected by chance"

PROTOCOL = (
    "Rows in the order of RandomState(31415).permutation(10000): 8000 for training, of which 6000 "
    "and 2000 tune, and 2000 for testing. Features are scaled by the 8000 rows; a constant 1 is "
    "appended. Perceptrons visit rows in order for 20 epochs (10 with a kernel), so their numbers "
    "can be exact. Pegasos draws come from a generator that was never seeded: their printed "
    "numbers are placed in our distribution over seeds (with --seeds 5: 200 for linear models, 10 "
    "for degree-2 Pegasos, 40 for degree-2 logistic, 5 for kernels)."
)


def run_study(run: Run) -> None:
    """Run all models, judge the printed numbers and check the claims."""
    data = Data(run)
    found = run_models(run, data)
    _judge_errors(run, found)
    _judge_weights(run, data, found)
    _judge_statistics(run)
    _check_claims(run, found)
    _check_literature(run, data)
    _drop_outliers(run, data, found)
    _show_kernels(run, found)
    _show_weights(run, data, found)
    binary.show_statistics(run)
    binary.reach_best(run, 0.043)


def _judge_errors(run: Run, found: Found) -> None:
    """Judge the 180 printed errors."""
    for number, row in enumerate(read_printed("binary_ladder"), start=1):
        split, model, scaling, source = row["split"], row["model"], row["scaling"], row["source"]
        kernel, param, lam = row["kernel"], row["param"], row["lam"]
        is_tuned = source in ("lambda table", "kernel table")
        side = "train" if split == "train" else "test"
        rows = (TUNE if is_tuned else TRAIN) if side == "train" else ROWS - TRAIN
        part, name, reason = "tune" if is_tuned else "whole", f"{kernel} {param}", UNKNOWN
        if model == "kernel perceptron":
            ours = found[model, name, split]
        elif model == "kernel pegasos":
            ours = found[model, part, KERNELS[name], float(lam), side]
        elif model.startswith("perceptron"):
            ours = found[model, scaling, split]
        elif source in ("scaling table", "outlier table"):
            ours = found[model, scaling, "chosen"]
        else:
            ours = found[model, scaling, part, float(lam), side]
            if model == "logistic+degree2" and not is_tuned:
                reason = "printed with λ = 0.001, but the numbers fit λ = 0.1: see the claims"
        words = (source or "text", model, scaling, kernel, param, lam, split)
        note = ""
        if row["outliers"] == "dropped":
            note = "with and without outliers is the same experiment: the filter removes no row"
        name = f"{number}: {', '.join(word for word in words if word)}"
        run.number(name, row["error"], ours, rows=rows, reason=reason, note=note)


def _judge_weights(run: Run, data: Data, found: Found) -> None:
    """Judge the printed vectors; Pegasos' is one random draw, which is checked by its errors."""
    drawn = []
    for row in read_printed("binary_ladder_weights"):
        model, position = row["model"].replace("+degree 2", "+degree2"), int(row["position"])
        if model == "pegasos":
            drawn.append(float(row["weight"]))
            continue
        ours = float(found["weights", model, "standardize"][position])
        run.number(f"weight {position}, {model}", row["weight"], ours)
    Z, test = data.rows("standardize"), data.test_split[1]
    wrong = int((np.sign(Z[test] @ np.array(drawn)) != data.y[test]).sum())
    run.claim(
        "the 11 printed weights of Pegasos are one random draw; they belong to the outlier table's "
        "0.2865",
        wrong == 573,
        f"they give {wrong} of 2000 test errors ({wrong / 2000})",
        source="ours",
    )


def _judge_statistics(run: Run) -> None:
    """Judge the printed statistics of the features."""
    X = np.asarray(run.X, dtype=np.float64)
    for row in read_printed("binary_ladder_statistics"):
        column, name = int(row["feature"].removeprefix("x")) - 1, row["statistic"]
        ours = float(binary.STATISTICS[name](X[:, column]))
        is_shifted = column >= 5 and name in ("min", "max")
        reason = "min and max of x6 to x10 are printed one column off" if is_shifted else UNKNOWN
        run.number(f"{name} of {row['feature']}", row["value"], ours, reason=reason)


def _check_claims(run: Run, found: Found) -> None:
    table = [each for each in run.result.numbers if ": scaling table," in each.id]
    verdicts = Counter(each.verdict for each in table).items()
    perceptron = ", ".join(f"{each} {found['perceptron', each, 'test']:.4f}" for each in SCALINGS)
    chosen = {each: describe(found["pegasos", each, "chosen"]) for each in SCALINGS}
    run.claim(
        "the scaling table: Perceptron 0.507, 0.482, 0.326; Pegasos 0.294, 0.2805, 0.2807",
        ", ".join(f"{count} {verdict}" for verdict, count in verdicts),
        f"Perceptron {perceptron}; Pegasos over seeds "
        + ", ".join(f"{scaling} {text}" for scaling, text in chosen.items()),
    )
    tuned = {
        (lam, side): found["pegasos", "standardize", "tune", lam, side]
        for lam in LAMS["pegasos"]
        for side in ("train", "test")
    }
    means = {lam: float(tuned[lam, "test"].mean()) for lam in LAMS["pegasos"]}
    best = min(means, key=lambda lam: means[lam])
    run.claim(
        "λ = 0.1 is best for linear Pegasos",
        best == 0.1 or f"does not hold: λ = {best:g} is lower on average",
        "validation errors over seeds: "
        + ", ".join(f"λ = {lam:g} {error:.4f}" for lam, error in means.items()),
    )
    small, good, large = (
        f"{lam:g}: training {describe(tuned[lam, 'train'])}, validation {means[lam]:.4f}"
        for lam in (1e-4, 0.1, 1.0)
    )
    overfits = means[1e-4] - tuned[1e-4, "train"].mean() > 0.02
    underfits = tuned[1.0, "train"].mean() > tuned[0.1, "train"].mean()
    first = "overfits" if overfits else "hardly overfits, its last vector is noisy"
    second = "underfits" if underfits else "does not underfit"
    run.claim(
        "small λ overfits, large λ underfits",
        (overfits and underfits) or f"holds in part: small λ {first}; large λ {second}",
        f"errors over seeds: λ = {small}; λ = {good}; λ = {large}",
    )
    cubic = found["kernel pegasos", "whole", KERNELS["polynomial 3"], 0.1, "test"]
    linear = found["perceptron", "standardize", "test"]
    run.claim(
        "expansion and kernels help much",
        cubic.max() < 0.5 * linear,
        f"test errors: Perceptron {linear:.4f}, with products "
        f"{found['perceptron+degree2', 'standardize', 'test']:.4f}; Pegasos "
        f"{chosen['standardize']}, with products "
        f"{describe(found['pegasos+degree2', 'standardize', 'chosen'])}, cubic kernel "
        f"{describe(cubic)}",
    )
    line = {
        (lam, side): found["logistic+degree2", "standardize", "whole", lam, side]
        for lam in (1e-3, 0.1)
        for side in ("test", "train")
    }
    run.claim(
        "the logistic degree-2 line (test 0.1125, training 0.1055) was made with λ = 0.001",
        "does not hold" if line[1e-3, "test"].max() < 0.1125 else "undecided",
        "errors over seeds: "
        + ", ".join(f"λ = {lam:g}, {side} {describe(line[lam, side])}" for lam, side in line),
    )


def _check_literature(run: Run, data: Data) -> None:
    """Try what the report cites without trying it: the average, and permutations."""
    Z, seeds, lams = data.rows("standardize"), range(4 * len(run.seeds)), (1e-3, 0.1)
    variants: dict[str, dict[str, Any]] = {
        "last, uniform": {},
        "average, uniform": {"average": True},
        "last, permutation": {"sampling": "permutation"},
    }
    errors = {}
    for name, options in variants.items():
        learner = make_pegasos("pegasos").set_params(**options)
        searches = repeat_sweep(learner, lams, Z, data.y, data.test_split, seeds)
        tables = [search.cv_results_["mean_test_score"] for search in searches]
        errors[name] = 1 - np.array(tables)
    words = "; ".join(
        f"λ = {lam:g}: "
        + ", ".join(f"{name} {describe(test[:, column])}" for name, test in errors.items())
        for column, lam in enumerate(lams)
    )
    last, average, permutation = (test[:, 0] for test in errors.values())
    run.claim(
        "the last vector beats the average (cited from the literature)",
        compare(last, average),
        f"test errors: {words}",
    )
    run.claim(
        "permutations beat uniform draws (cited from the literature)",
        compare(permutation, last, "undecided: within noise"),
        "test errors as above",
    )


def _drop_outliers(run: Run, data: Data, found: Found) -> None:
    """Drop the rows with some |z| >= 3, which the report's filter keeps, and compare."""
    table = np.column_stack([data.X, data.y])
    z = np.abs((table - table.mean(axis=0)) / table.std(axis=0))
    outlier, survivors = (z >= 3).any(axis=1), int((z < 3).any(axis=1).sum())
    kept, test = data.test_split[0][~outlier[:TRAIN]], data.test_split[1]
    errors = {}
    for model in ("perceptron", "perceptron+degree2"):
        Z = data.rows("standardize", "degree2" in model)
        wrong = fit_perceptron(Z, data.y, kept).predict(Z[test]) != data.y[test]
        errors[model] = found[model, "standardize", "test"], float(wrong.mean())
    Z, seeds = data.rows("standardize"), range(8 * len(run.seeds))
    searches = repeat_sweep(make_pegasos("pegasos"), [0.1], Z, data.y, (kept, test), seeds)
    dropped = 1 - np.mean([search.cv_results_["mean_test_score"] for search in searches])
    before = found["pegasos", "standardize", "whole", 0.1, "test"].mean()
    errors["pegasos, λ = 0.1 (mean)"] = float(before), float(dropped)
    rows = [{"model": name, "kept": old, "dropped": new} for name, (old, new) in errors.items()]
    caption = (
        f"{int(outlier.sum())} of {ROWS} rows have some |z| >= 3; {TRAIN - len(kept)} of them are "
        "training rows."
    )
    run.figure("table", "Test errors when the outliers are really dropped", rows, caption=caption)
    words = ", ".join(f"{name} {old:.4f} -> {new:.4f}" for name, (old, new) in errors.items())
    run.claim(
        "removing outliers hardly matters",
        "not tested by the report" if survivors == ROWS else "tested",
        f"its filter counts {int(outlier.sum())} rows but keeps the {survivors} rows with some "
        f"|z| < 3; with these rows dropped: {words}",
    )


def _show_kernels(run: Run, found: Found) -> None:
    axes = {"x": "λ", "y": "kernel", "color": "error"}
    for family in ("polynomial", "exponential"):
        rows = [
            {
                "kernel": name,
                "λ": f"{lam:g}",
                "error": float(found["kernel pegasos", "tune", kernel, lam, "test"].mean()),
            }
            for name, kernel in KERNELS.items()
            if name.startswith(family)
            for lam in KERNEL_LAMS
        ]
        run.figure("heatmap", f"Validation error of kernel Pegasos, {family}", rows, **axes)


def _show_weights(run: Run, data: Data, found: Found) -> None:
    """Compare the linear weights of the three linear models by feature."""
    Z, train = data.rows("standardize"), data.test_split[0]
    weights = {"Perceptron": found["weights", "perceptron", "standardize"]}
    for model in ("pegasos", "logistic"):
        learner = make_pegasos(model).set_params(lam=0.1, random_state=0)
        weights[model.capitalize()] = learner.fit(Z[train], data.y[train]).coef_[0]
    names = [*(f"x{number}" for number in range(1, Z.shape[1])), "constant"]
    rows = [
        {"model": model, "feature": name, "weight": float(abs(weight))}
        for model, vector in weights.items()
        for name, weight in zip(names, vector / np.linalg.norm(vector), strict=True)
    ]
    caption = "Absolute weights on standardized features, each vector scaled to length 1; λ = 0.1."
    axes = {"x": "model", "y": "feature", "color": "weight", "caption": caption}
    run.figure("heatmap", "Size of the linear weights", rows, **axes)


STUDY = Study("binary_ladder", "Eight models on ten-feature rows", "binary10", PROTOCOL, run_study)
