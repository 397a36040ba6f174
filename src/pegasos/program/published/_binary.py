"""What the two studies of ten-feature rows share: splits by shares, steps of pipelines, and things shown around the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

from pegasos.program.studies.results import Context
from pegasos.program.studies.splits import Splits
from pegasos.program.studies.writing import table
from pegasos.program.tables.statistics import describe

Array = np.ndarray[Any, Any]

#: Rows of the real set on which printed errors were counted: the parts of 10,000.
TEST_ROWS, TRAINING_ROWS, TUNING_ROWS = 2000, 8000, 6000
#: Appends the constant 1 (in front, which changes nothing).
ONE = PolynomialFeatures(1)
SQUARES = PolynomialFeatures(2)
#: Halves the time of polynomial kernels; exponentials of small width would vanish in single precision.
SINGLE = FunctionTransformer(np.asarray, kw_args={"dtype": np.float32})


def _fifths(learned: int, tested: int | None) -> Splits:
    """Of a random order so many fifths to learn from, and those up to another fifth (None: up to the end) to test on."""

    def split(y: Array, seed: int) -> list[tuple[Array, Array]]:
        order, fifth = np.random.default_rng(1000 + seed).permutation(len(y)), len(y) // 5
        return [(order[: learned * fifth], order[learned * fifth : tested and tested * fifth])]

    return split


#: To test on the last fifth; and the training rows of that in two parts, the second to validate on.
testing, tuning = _fifths(4, None), _fifths(3, 4)


def pipeline(learner: Any, **steps: Any) -> Pipeline:
    """Named steps (scaling comes first: standardizing, unless a `scale` is given), then the learner as `learn`."""
    return Pipeline([*{"scale": StandardScaler(), **steps}.items(), ("learn", learner)])


def learn(**axes: Any) -> dict[str, Any]:
    """Axes of a grid that belong to the learner of a pipeline."""
    return {f"learn__{name}": values for name, values in axes.items()}


def signs(y: Array) -> Array:
    """Labels as -1 and +1."""
    return np.where(np.unique(y, return_inverse=True)[1].reshape(-1) > 0, 1.0, -1.0)


def rule(X: Array) -> Array:
    """The polynomial whose sign is the label of the real rows."""
    x = np.asarray(X, dtype=np.float64).T
    return np.asarray(4 * x[1] * x[8] - 2 * x[0] * x[3] * x[7] + 4 * x[4] - 2 * x[5] + x[6] - 6)


def statistics(context: Context) -> dict[str, Any]:
    """Every feature's numbers, the rows with an outlier, and the correlated pairs."""
    found = describe(context.dataset)
    names = ("feature", "mean", "deviation", "least", "median", "greatest", "outliers")
    values = (
        (each.name, each.mean, each.std, each.min, each.median, each.max, each.outliers)
        for each in found.columns
    )
    rows = [dict(zip(names, each, strict=True)) for each in values]
    pairs = [
        {"pair": f"{one}-{other}", "r": round(r, 4)} for one, other, r in found.correlations[:5]
    ]
    counts = ", ".join(f"{label}: {count}" for label, count in found.classes)
    lines = [
        f"Classes: {counts}. {found.outlier_rows} of {found.rows} rows have a feature with |z| >= 3.",
        "",
        *table(rows),
    ]
    lines += ["The pairs with the largest correlation:", "", *table(pairs)]
    if context.real:
        lines += [
            "The report names the pairs x2-x5 and x5-x9; it counts from zero. By the header they are x3-x6 and x6-x10.",
            "",
        ]
    return {
        "rows": rows,
        "pairs": pairs,
        "outlier_rows": found.outlier_rows,
        "text": "\n".join(lines),
    }


def origin(context: Context) -> dict[str, Any]:
    """How many rows the rule gets wrong."""
    if not context.real:
        return {"text": "Not applicable: these are not the report's rows."}
    values = rule(context.dataset.X)
    wrong = int(np.sum(np.sign(values) != signs(context.dataset.labels)))
    text = (
        f"y = sign(4·x2·x9 − 2·x1·x4·x8 + 4·x5 − 2·x6 + x7 − 6): {wrong} errors in {len(values)} rows, least |value| "
        f"{np.abs(values).min():.4f}. So the labels have no noise; x3 and x10, noisy copies of x6, carry nothing; a model of "
        f"degree 2 lacks one term of degree 3, and degree 4 can only add variance. The rule was found from a sparse cubic "
        f"fit to all rows; the results above do not use it."
    )
    return {"wrong": wrong, "rows": len(values), "text": text}
