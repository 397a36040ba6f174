"""Kernel Pegasos on digits: seven kernels, seven λ, five numbers of steps, stratified folds, the same draws for all classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from pegasos.engine.kernels.standard import Gaussian, Polynomial
from pegasos.learners import Pegasos
from pegasos.program.published import _digits
from pegasos.program.published._digits_best import compared, surpass
from pegasos.program.published._shared import (
    described,
    of_lams,
    printed_rows,
    readings,
    seconds_of,
    shown,
)
from pegasos.program.records.studies import Better
from pegasos.program.studies.results import Context
from pegasos.program.studies.splits import folds
from pegasos.program.studies.study import Check, Experiment, Extra, Number, Study

LAMS = [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0]
STEPS = [1000, 5000, 10_000, 25_000, 50_000]
DEGREES = (2, 3, 4, 7)
VARIANCES = (0.25, 0.75, 2.0)
KERNELS = [
    *(Polynomial(degree) for degree in DEGREES),
    *(Gaussian(variance) for variance in VARIANCES),
]
NAME = "as written"
TIMED = (Polynomial(3), Gaussian(2.0))
LEARNER = Pegasos(sampling="uniform", average=False)


def numbers() -> list[Number]:
    """Four printed errors; where λ is not printed, each λ is a reading."""
    found = []
    for place, row in enumerate(printed_rows("usps_kernels"), start=1):
        kernel = (
            Polynomial(int(row["param"]))
            if row["kernel"] == "polynomial"
            else Gaussian(float(row["param"]))
        )
        cell = {
            "experiment": NAME,
            "split": "test",
            "decoding": "argmax",
            "kernel": kernel,
            "n_iter": int(row["n_iter"]),
        }
        lams = of_lams([float(row["lam"])] if row["lam"] else LAMS)
        found.append(_digits.number(row, readings(cell, lam=lams), f"number {place}"))
    return found


def _errors(context: Context, kernel: Any, lam: float, steps: int) -> Any:
    return context.results.errors(
        experiment=NAME, split="test", kernel=kernel, lam=lam, n_iter=steps
    )


def _best(context: Context, kernel: Any, steps: list[int]) -> tuple[float, float, int]:
    return min(
        (float(_errors(context, kernel, lam, each).mean()), lam, each)
        for lam in LAMS
        for each in steps
    )


def _ranking(context: Context) -> tuple[str, str]:
    best = sorted(
        ((*_best(context, kernel, STEPS), kernel) for kernel in KERNELS),
        key=lambda each: (*each[:3], repr(each[3])),
    )
    errors = {kernel: _errors(context, kernel, lam, steps) for _, lam, steps, kernel in best}
    behind = errors[Polynomial(3)] - errors[best[0][3]]
    noise = behind.std(ddof=1) / np.sqrt(len(behind)) if len(behind) > 1 else 0.001
    verdict = (
        "holds"
        if not behind.any()
        else "within noise"
        if behind.mean() < 2 * noise
        else "does not hold"
    )
    cells = "; ".join(
        f"{kernel!r} {error:.4f} (λ = {lam:g}, T = {steps})" for error, lam, steps, kernel in best
    )
    gap = f"{behind.mean():.4f} ± {noise:.4f} (standard error over seeds)"
    return verdict, f"degree 3 is behind the best by {gap}; best cells: {cells}"


def _degree_seven(context: Context) -> tuple[str, str]:
    seed, different = context.seeds[0], {}
    for degree in (3, 4, 7):
        labels = [
            context.labels(NAME, seed, kernel=Polynomial(degree), lam=lam, n_iter=STEPS[-1])
            for lam in LAMS
        ]
        different[degree] = max(int((labels[0] != other).sum()) for other in labels[1:])
    texts = [
        f"degree {degree}: {count} of {len(context.dataset)} labels change"
        for degree, count in different.items()
    ]
    verdict = "holds exactly" if different[7] == 0 else "does not hold"
    return verdict, "from λ = 1e-5 to any other λ at T = 50,000: " + "; ".join(texts)


def _nearest_neighbour(context: Context) -> tuple[str, str]:
    from sklearn.model_selection import cross_val_predict
    from sklearn.neighbors import KNeighborsClassifier

    seed, codes = context.seeds[0], context.codes
    nearest = cross_val_predict(
        KNeighborsClassifier(1), context.dataset.X, codes, cv=folds(5)(context.dataset.labels, seed)
    )
    shares = {}
    for variance in VARIANCES:
        labels = context.labels(NAME, seed, kernel=Gaussian(variance), lam=1e-5, n_iter=STEPS[-1])
        shares[variance] = float((labels == nearest).mean())
    texts = [
        f"γ = {variance:g}: {share:.1%} of the labels are the nearest neighbour's"
        for variance, share in shares.items()
    ]
    texts.append(f"the nearest neighbour errs on {float((nearest != codes).mean()):.4f}")
    return "holds" if shares[0.25] > 0.99 else "does not hold", "; ".join(texts)


def _after_thousand(context: Context) -> tuple[str, str]:
    few, many = (_best(context, Gaussian(2.0), [steps])[0] for steps in (1000, 50_000))
    verdict = "holds" if few > 2 * many else "does not hold"
    return verdict, f"Gaussian(2): best λ at T = 1000 {few:.4f}, at T = 50,000 {many:.4f}"


def _learner(kernel: Any, lam: float, n_iter: int) -> Pegasos:
    return clone(LEARNER).set_params(kernel=kernel, lam=lam, n_iter=n_iter, random_state=0)


def _times(context: Context) -> dict[str, Any]:
    """Seconds of one fit on ten classes against T."""
    X, y = context.dataset.X, context.dataset.labels
    train, _ = folds(5)(y, 0)[0]
    rows = [
        {
            "kernel": repr(kernel),
            "T": steps,
            "seconds": seconds_of(_learner(kernel, 1e-3, steps).fit, X[train], y[train]),
        }
        for kernel in TIMED
        for steps in STEPS
    ]
    return shown(rows, "One fold, ten classes, λ = 1e-3, the kernel matrix included.")


def _times_of_rows(context: Context) -> dict[str, Any]:
    """Seconds of one fit on ten classes against the number of training rows."""
    X, codes = context.dataset.X, context.codes
    order = np.random.default_rng(0).permutation(len(codes))
    samples = [order[: int(share * len(codes))] for share in (1 / 8, 1 / 4, 1 / 2, 4 / 5)]
    rows = [
        {
            "kernel": repr(kernel),
            "m": len(kept),
            "seconds": seconds_of(_learner(kernel, 1e-3, 10_000).fit, X[kept], codes[kept]),
        }
        for kernel in TIMED
        for kept in samples
    ]
    return shown(rows, "Ten classes, λ = 1e-3, T = 10,000, the kernel matrix included.")


def _textbook(X: Any, signs: Any, lam: float, steps: int) -> None:
    """Kernel Pegasos with a Gaussian of variance 2 as a loop over examples."""
    counts = np.zeros(len(X))
    for t, i in enumerate(np.random.default_rng(0).integers(len(X), size=steps), start=1):
        score = sum(
            counts[j] * signs[j] * np.exp(-np.sum((X[j] - X[i]) ** 2) / 4.0)
            for j in np.flatnonzero(counts)
        )
        if signs[i] * score < lam * t:
            counts[i] += 1


def _naive(context: Context) -> dict[str, Any]:
    """One binary classifier on 1000 rows: a loop over examples as in a textbook, and ours."""
    X, signs = (
        context.dataset.X[:1000].astype(np.float64),
        np.where(context.codes[:1000] == 0, 1.0, -1.0),
    )
    rows = []
    for steps in (500, 1000, 2000):
        naive = seconds_of(_textbook, X, signs, 1e-3, steps)
        ours = seconds_of(_learner(Gaussian(2.0), 1e-3, steps).fit, X, signs)
        rows.append(
            {
                "T": steps,
                "naive seconds": round(naive, 2),
                "ours": ours,
                "ratio": round(naive / ours),
            }
        )
    return shown(rows)


def _surpass(context: Context) -> list[Better]:
    """Under the study's folds, and on the set's own split into training and test rows."""
    codes, what = context.codes, "degree 3, λ = 1, T = 50,000"
    cell: dict[str, Any] = {"kernel": Polynomial(3), "lam": 1.0, "n_iter": STEPS[-1]}
    rows = surpass(what, folds(5), NAME, copies=True, **cell)(context)
    if context.dataset.test is None:
        return rows
    train, test = np.flatnonzero(~context.dataset.test), np.flatnonzero(context.dataset.test)
    theirs = codes.copy()
    theirs[test] = (
        _learner(**cell)
        .fit(context.dataset.X[train], codes[train])
        .predict(context.dataset.X[test])
    )
    parts = {
        "folds": rows,
        "own split": compared(context, [(train, test)], theirs, what, copies=True),
    }
    return [
        replace(row, what=f"{row.what}; {part}") for part, found in parts.items() for row in found
    ]


STUDY = Study(
    **described("usps_kernels"),
    **_digits.SET,
    experiments=(
        Experiment(NAME, LEARNER, {"kernel": KERNELS, "lam": LAMS, "n_iter": STEPS}, folds(5)),
    ),
    numbers=numbers,
    checks=(
        Check("degree 3 is the best kernel", _ranking),
        Check("degree 7 does not react to λ", _degree_seven),
        Check("the small Gaussian behaves as nearest neighbour", _nearest_neighbour),
        Check("1000 iterations are far too few for a Gaussian", _after_thousand),
    ),
    extras=(
        Extra("classes", "Class counts", _digits.class_counts),
        Extra("gallery", "A gallery of digits", _digits.gallery),
        Extra("tsne", "A t-SNE map", _digits.tsne, slow=True),
        Extra("times", "Run time against T", _times, slow=True),
        Extra("rows", "Run time against m", _times_of_rows, slow=True),
        Extra("naive", "Naive against optimized run time", _naive, slow=True),
    ),
    surpass=_surpass,
)
