"""Error against the number of steps on USPS: four kernels, four λ, four T."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from pegasos import Pegasos
from pegasos.kernels import Exponential, Gaussian, Polynomial
from pegasos.studies import Run, Study
from pegasos.studies.judging import central_interval
from studies import usps
from studies.printed_numbers import read_printed

Array = np.ndarray[Any, Any]

FOLD = 1859
STEPS = {"m/10": 743, "m/2": 3718, "m": 7436, "2m": 14_872}
LAMS = (1e-8, 1e-7, 1e-6, 1e-5)
KERNELS = {
    "polynomial 1": Polynomial(1),
    "polynomial 3": Polynomial(3),
    "polynomial 7": Polynomial(7),
    "gaussian 2": Gaussian(4.0),
}
#: A fold's errors are divided by the last index of its test rows instead of their number.
DENOMINATOR = FOLD / (FOLD - 1)
LEARNER = Pegasos(sampling="uniform", draws="independent", average=False, fit_intercept=False)

PROTOCOL = (
    "Kernel Pegasos, one-vs-rest by argmax, each class with its own uniform draws. Rows are shuffled and rotated by a "
    "fifth: five folds of 1859 test rows; each error is divided by 1858, as in the report's program. Its generator was "
    "never seeded, so printed errors are placed in our distribution over shuffles and draws. The Gaussian has variance 4."
)


def rotate(seed: int) -> list[tuple[Array, Array]]:
    """Return five folds: rows shuffled once, then rotated by a fifth."""
    order = np.random.default_rng(seed).permutation(usps.ROWS)
    rotated = [np.roll(order, -k * FOLD) for k in range(5)]
    return [(rows[FOLD : 5 * FOLD], rows[:FOLD]) for rows in rotated]


def run_study(run: Run) -> None:
    """Run the grid with several seeds, judge the printed errors and check the claims."""
    usps.check_data(run)
    grid = {"kernel": list(KERNELS.values()), "lam": list(LAMS), "n_iter": list(STEPS.values())}
    keys = [(kernel, lam, steps) for kernel in KERNELS for lam in LAMS for steps in STEPS]
    scores = [
        run.sweep("four kernels", LEARNER, grid, rotate(seed), seed=seed).cv_results_[
            "mean_test_score"
        ]
        for seed in run.seeds
    ]
    errors = dict(zip(keys, (DENOMINATOR * (1 - np.array(scores))).T, strict=True))
    printed = read_printed("usps_iterations")
    for row in printed:
        key = f"{row['kernel']} {row['param']}", float(row["lam"]), row["n_iter"]
        run.number(f"{key[0]}, λ={key[1]:g}, T={key[2]}", row["cv_test_error"], errors[key])
    means = {key: float(values.mean()) for key, values in errors.items()}
    for kernel in KERNELS:
        rows = [
            {"T": STEPS[steps], "λ": f"{lam:g}", "error": means[kernel, lam, steps]}
            for lam in LAMS
            for steps in STEPS
        ]
        run.figure("lines", f"Error against T, {kernel}", rows, x="T", y="error", color="λ")
    _check_claims(run, means, printed)
    _check_slips(run, errors)
    usps.reach_best(run, rotate(0))


def _check_claims(run: Run, means: dict[Any, float], printed: list[dict[str, str]]) -> None:
    ends = {kernel: means[kernel, 1e-5, "2m"] for kernel in KERNELS}
    more = all(
        means[kernel, lam, "2m"] < means[kernel, lam, "m/10"] for kernel in KERNELS for lam in LAMS
    )
    lowest = [min(LAMS, key=lambda lam: means[kernel, lam, "2m"]) for kernel in KERNELS]
    run.claim(
        "errors are lowest with more steps and bigger λ",
        "does not hold"
        if not more
        else "holds"
        if set(lowest) == {1e-5}
        else "holds for steps, not for every λ",
        f"2m steps beat m/10 in all 16 lines: {more}; λ with the lowest error at 2m: "
        + ", ".join(f"{kernel} {lam:g}" for kernel, lam in zip(KERNELS, lowest, strict=True)),
    )
    below = [kernel for kernel, error in ends.items() if error < 0.05]
    run.claim(
        "nearly every kernel gets below 0.05 then, only the linear one does not",
        "holds" if set(below) == set(KERNELS) - {"polynomial 1"} else "does not hold",
        ", ".join(f"{kernel} {error:.4f}" for kernel, error in ends.items()),
    )
    best = min(ends, key=lambda kernel: ends[kernel])
    seconds = {
        f"{row['kernel']} {row['param']}": float(row["seconds_train_and_test"])
        for row in printed
        if row["n_iter"] == "2m" and float(row["lam"]) == 1e-5
    }
    run.claim(
        "the Gaussian is slowest and has the smallest error",
        "holds"
        if best == "gaussian 2" == max(seconds, key=lambda k: seconds[k])
        else "does not hold",
        f"smallest error here: {best}; printed seconds at 2m, λ = 1e-5: "
        + ", ".join(f"{kernel} {value:g}" for kernel, value in seconds.items()),
    )
    _check_mistakes(run, means, printed)


def _check_mistakes(run: Run, means: dict[Any, float], printed: list[dict[str, str]]) -> None:
    """Compare printed seconds with the number of updates, which our predictors tell."""
    train, _ = rotate(0)[0]
    rows: list[dict[str, Any]] = []
    for name in KERNELS:
        for lam in LAMS:
            learner = clone(LEARNER).set_params(
                kernel=KERNELS[name], lam=lam, n_iter=STEPS["2m"], random_state=0
            )
            fitted = learner.fit(run.X[train], run.y[train])
            updates = float(np.abs(fitted.dual_coef_).sum()) * lam * STEPS["2m"]
            seconds = next(
                float(row["seconds_train_and_test"])
                for row in printed
                if f"{row['kernel']} {row['param']}" == name
                and float(row["lam"]) == lam
                and row["n_iter"] == "2m"
            )
            rows.append(
                {
                    "kernel": name,
                    "λ": f"{lam:g}",
                    "updates": round(updates),
                    "printed seconds": seconds,
                }
            )
    run.figure("table", "Updates of ten classes in 2m steps, and printed times", rows)
    polynomial = [row for row in rows if row["kernel"] != "gaussian 2"]
    correlation = np.corrcoef(
        [row["updates"] for row in polynomial], [row["printed seconds"] for row in polynomial]
    )[0, 1]
    run.claim(
        "time grows with the number of mistakes",
        "holds" if correlation > 0.7 else "undecided",
        f"correlation of printed seconds with our updates at 2m, polynomial kernels: {correlation:.2f}",
    )
    lines: dict[str, list[float]] = {
        kernel: [float(row["printed seconds"]) for row in rows if row["kernel"] == kernel]
        for kernel in ("polynomial 1", "gaussian 2")
    }
    linear, gaussian = (
        f"{values[0]:g} s at λ = 1e-8, {values[-1]:g} s at 1e-5" for values in lines.values()
    )
    gain = means["gaussian 2", 1e-8, "2m"] - means["gaussian 2", 1e-5, "2m"]
    run.claim(
        "very small λ takes more training time and gives no better predictor",
        f"{'holds' if gain > 0 else 'does not hold'} for the errors; its own table "
        f"{'agrees' if lines['gaussian 2'][0] > lines['gaussian 2'][-1] else 'contradicts it'} for the Gaussian's time",
        f"printed times at 2m: linear {linear}; Gaussian {gaussian}. The Gaussian's error at λ = 1e-8 is {gain:+.4f} higher",
    )


def _check_slips(run: Run, errors: dict[Any, Array]) -> None:
    """Show which statements of the report its numbers contradict."""
    key = "gaussian 2", 1e-5, "2m"
    printed = next(
        number.printed
        for number in run.result.numbers
        if number.id == f"{key[0]}, λ={key[1]:g}, T={key[2]}"
    )
    low, high = (
        central_interval(errors[key]) if len(errors[key]) > 1 else (errors[key][0], errors[key][0])
    )
    known = f"known protocol {errors[key].mean():.4f} ({low:.4f} to {high:.4f}), printed {printed}"
    written: dict[str, tuple[Any, str]] = {
        "kernel exp(-‖x-x'‖/(2γ))": (Exponential(4.0), "argmax"),
        "label of the largest absolute score": (Gaussian(4.0), "absolute"),
    }
    for slip, (kernel, decoding) in written.items():
        grid = {"kernel": [kernel], "lam": [1e-5], "n_iter": [STEPS["2m"]]}
        search = run.sweep(
            slip, LEARNER, grid, rotate(0), seed=0, scoring=usps.DecodedAccuracy(decoding)
        )
        error = DENOMINATOR * (1 - float(search.cv_results_["mean_test_score"][0]))
        run.claim(
            f"the text's {slip} was used",
            "undecided" if low <= error <= high or low == high else "does not hold",
            f"as written {error:.4f}, {known}",
        )
    run.claim(
        "one digit with the Gaussian kernel took 36 s at λ = 0.5",
        "a slip: λ = 0.5 is not in its grid",
        "the program ran λ = 1e-5 there; seconds depend on the machine and are not judged",
    )
    run.claim(
        "errors are divided by 1858 instead of 1859, and the printed loop divides by zero at t = 0",
        "holds",
        "1858 is the last index of a fold's 1859 test rows, so printed errors are too large by 1/1858 of themselves; "
        "1/(λt) has no value at t = 0, so the program must count from 1",
        source="ours",
    )


STUDY = Study(
    "usps_iterations", "Error against the number of steps on USPS", "usps", PROTOCOL, run_study
)
