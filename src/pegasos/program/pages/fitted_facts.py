"""What a fitted learner tells: its facts, the curves it recorded, its weights; and under which versions."""

from __future__ import annotations

import datetime
import platform
from typing import Any

import numpy as np

from pegasos.learners.catalogue import model_of


def made() -> dict[str, str]:
    """Versions and machine."""
    import numba
    import scipy
    import sklearn
    import threadpoolctl

    from pegasos import __version__

    threads = max((each["num_threads"] for each in threadpoolctl.threadpool_info()), default=1)
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "pegasos": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "numba": numba.__version__,
        "machine": f"{platform.system()} {platform.machine()}, {threads} threads",
    }


def learner_facts(learner: Any) -> dict[str, Any]:
    """What a person wants to know of it."""
    facts: dict[str, Any] = {"model": model_of(learner).name, "class": type(learner).__name__}
    facts["kernel"] = repr(learner.kernel_) if hasattr(learner, "kernel_") else "linear"
    if getattr(learner, "lam_", None) is not None:
        facts["lam"] = float(learner.lam_)
    facts["steps" if type(learner).__name__ == "Pegasos" else "passes"] = int(learner.n_iter_)
    if hasattr(learner, "support_"):
        facts["support vectors"] = len(learner.support_)
    if np.isfinite(getattr(learner, "gap_", np.nan)):
        facts["certified gap"] = float(f"{float(learner.gap_):.3g}")
    return facts


def curves(learner: Any) -> list[dict[str, Any]]:
    """What a fitted learner recorded: mean loss of drawn examples, and the largest gap of a column."""
    found = []
    for name, what in (("loss_curve_", "mean loss of the drawn examples"), ("gap_curve_", "largest relative duality gap")):
        values = getattr(learner, name, None)
        if values is None or not len(values):
            continue
        values = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
        line = values.max(axis=1) if name == "gap_curve_" else values.mean(axis=1)
        steps = getattr(learner, "loss_curve_steps_", None) if name == "loss_curve_" else None
        x = np.arange(1, len(line) + 1) if steps is None else np.asarray(steps)
        every = max(1, len(line) // 300)
        points = [[int(a), float(f"{b:.4g}")] for a, b in zip(x[::every], line[::every], strict=True) if np.isfinite(b)]
        if len(points) > 1:
            found.append({"what": what, "x": "epoch" if steps is None else "step", "points": points})
    return found


def weights(estimator: Any, learner: Any, most: int = 20) -> dict[str, Any] | None:
    """The largest weights of a linear predictor, where its features are the ones that came in."""
    coefficients = getattr(learner, "coef_", None)
    names = getattr(estimator, "feature_names_in_", None)
    if coefficients is None or hasattr(coefficients, "tocsr"):
        return None
    W = np.atleast_2d(np.asarray(coefficients, dtype=np.float64))
    if W.shape[1] != getattr(estimator, "n_features_in_", -1):
        return None
    largest = np.sort(np.argsort(-np.abs(W).max(axis=0), kind="stable")[:most])
    labels = [str(label) for label in np.asarray(estimator.classes_).tolist()]
    return {
        "features": [f"x{j + 1}" if names is None else str(names[j]) for j in largest],
        "classes": labels[1:] if len(W) == 1 else labels,
        "weights": [[float(f"{value:.4g}") for value in row] for row in W[:, largest].tolist()],
        "of": W.shape[1],
    }
