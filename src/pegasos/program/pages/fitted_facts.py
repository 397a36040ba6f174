"""What a fitted learner recorded and weighs, and under which versions."""

from __future__ import annotations

import datetime
import platform
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.program.pages.row_samples import brief
from pegasos.program.records.pages import Curve, Weights
from pegasos.program.tables.labels import label_texts


def made() -> dict[str, str]:
    """Versions and machine."""
    import threadpoolctl

    from pegasos import __version__

    threads = max((each["num_threads"] for each in threadpoolctl.threadpool_info()), default=1)
    ours = {"date": datetime.datetime.now(datetime.UTC).date().isoformat(), "pegasos": __version__}
    libraries = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")}
    machine = f"{platform.system()} {platform.machine()}, {threads} threads"
    return {**ours, "python": platform.python_version(), **libraries, "machine": machine}


def curves(learner: Any) -> list[Curve]:
    """What a fitted learner recorded: mean loss of drawn examples, and the largest gap of a column."""
    recorded, found = learner.declaration.fitted_arrays, []
    for name, what in (("loss_curve_", "mean loss of the drawn examples"), ("gap_curve_", "largest relative duality gap")):
        values = np.asarray(getattr(learner, name) if name in recorded else [], dtype=np.float64)
        if not len(values):
            continue
        values = values.reshape(len(values), -1)
        line = values.max(axis=1) if name == "gap_curve_" else values.mean(axis=1)
        stepped = name == "loss_curve_" and "loss_curve_steps_" in recorded
        at = np.asarray(learner.loss_curve_steps_) if stepped else np.arange(1, len(line) + 1)
        known = np.flatnonzero(np.isfinite(line))[:: max(1, len(line) // 300)]
        if len(known) > 1:
            found.append(Curve(what, "step" if stepped else "epoch", at[known].astype(int).tolist(), brief(line[known].tolist())))
    return found


def weights(estimator: Any, learner: Any, most: int = 20) -> Weights | None:
    """The largest weights of a linear predictor, where its features are the ones that came in."""
    names = getattr(estimator, "feature_names_in_", None)
    features = getattr(estimator, "n_features_in_", None)  # some pipelines do not know it
    if learner.kernel is not None or learner.coef_.shape[-1] != features or sparse.issparse(learner.coef_):
        return None
    W = np.atleast_2d(np.asarray(learner.coef_, dtype=np.float64))
    largest = np.sort(np.argsort(-np.abs(W).max(axis=0), kind="stable")[:most])
    labels = label_texts(estimator.classes_).tolist()
    shown = [f"x{j + 1}" if names is None else str(names[j]) for j in largest]
    return Weights(shown, labels[1:] if len(W) == 1 else labels, brief(W[:, largest].tolist()), W.shape[1])
