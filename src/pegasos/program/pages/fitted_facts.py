"""Facts about fitted learners: curves, weights, certificates, versions."""

from __future__ import annotations

import datetime
import platform
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from pegasos.learners.one_vs_one import pair_names, sum_over_pairs
from pegasos.program.pages.row_samples import brief
from pegasos.program.records.pages import Certificate, Curve, Weights
from pegasos.program.tables.labels import label_texts
from pegasos.search.anatomy import anatomy
from pegasos.search.sweep import SweepCV


def check_shown(thing: Any, what: str) -> None:
    """Raise an error for objects that are not fitted, or are no learners of pegasos; `what` says what can be shown."""
    if not isinstance(thing, SweepCV):
        try:
            thing = anatomy(thing).learner
        except ValueError as error:
            raise ValueError(f"{what}. {error}") from None
    try:
        check_is_fitted(thing, "cv_results_" if isinstance(thing, SweepCV) else "classes_")
    except NotFittedError:
        raise NotFittedError(
            f"this {type(thing).__name__} is not fitted yet, so there is nothing to show: call fit first."
        ) from None


def made() -> dict[str, str]:
    """Return versions and machine."""
    import threadpoolctl

    from pegasos import __version__

    threads = max((each["num_threads"] for each in threadpoolctl.threadpool_info()), default=1)
    ours = {"date": datetime.datetime.now(datetime.UTC).date().isoformat(), "pegasos": __version__}
    libraries = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")}
    machine = f"{platform.system()} {platform.machine()}, {threads} threads"
    return {**ours, "python": platform.python_version(), **libraries, "machine": machine}


def curves(learner: Any) -> list[Curve]:
    """Return objective, bound and gap if recorded; else the mean loss of drawn examples, or the largest gap."""
    course = learner.declaration.fitted_course
    if course is not None and len(getattr(learner, course)) > 1:
        return _course(getattr(learner, course), len(learner.intercept_))
    recorded, found = learner.declaration.fitted_arrays, []
    for name, what in (
        ("loss_curve_", "mean loss of the drawn examples"),
        ("gap_curve_", "largest relative duality gap"),
    ):
        values = np.asarray(getattr(learner, name) if name in recorded else [], dtype=np.float64)
        if not len(values):
            continue
        values = values.reshape(len(values), -1)
        line = values.max(axis=1) if name == "gap_curve_" else values.mean(axis=1)
        stepped = name == "loss_curve_" and "loss_curve_steps_" in recorded
        at = np.asarray(learner.loss_curve_steps_) if stepped else np.arange(1, len(line) + 1)
        known = np.flatnonzero(np.isfinite(line))[:: max(1, len(line) // 300)]
        if len(known) > 1:
            found.append(
                Curve(
                    what,
                    "step" if stepped else "epoch",
                    at[known].astype(int).tolist(),
                    brief(line[known].tolist()),
                )
            )
    return found


def _course(course: Any, columns: int, unit: str = "epoch or round") -> list[Curve]:
    """Return the objective with its best lower bound so far (at least 0), and the relative gap."""
    steps, objectives, bounds = (
        course[:, 0].astype(int).tolist(),
        course[:, 1],
        np.maximum.accumulate(np.maximum(course[:, 2], 0.0)),
    )
    gaps = np.maximum(0.0, objectives - bounds) / np.maximum(objectives, 1e-300)
    what = "objective" if columns == 1 else f"objective, mean of {columns} predictors"
    both = Curve(what, unit, steps, brief(objectives.tolist(), 6), brief(bounds.tolist(), 6))
    return [both, Curve("relative duality gap", unit, steps, brief(gaps.tolist()))]


def weights(estimator: Any, learner: Any, most: int = 20) -> Weights | None:
    """Return the largest weights of a linear predictor, of the features that the learner sees."""
    if learner.kernel is not None or sparse.issparse(learner.coef_):
        return None
    W = np.atleast_2d(np.asarray(learner.coef_, dtype=np.float64))
    W = sum_over_pairs(W) if learner.has_pairs(estimator.classes_) else W
    names = _feature_names(estimator, W.shape[1])
    if names is None:
        return None
    largest = np.sort(np.argsort(-np.abs(W).max(axis=0), kind="stable")[:most])
    labels = label_texts(estimator.classes_).tolist()
    shown = [names[j] for j in largest]
    return Weights(
        shown, labels[1:] if len(W) == 1 else labels, brief(W[:, largest].tolist()), W.shape[1]
    )


def _feature_names(estimator: Any, count: int) -> list[str] | None:
    """Return the names of the features that the learner sees; None if a step does not give names."""
    came = getattr(estimator, "feature_names_in_", None)
    names = None if came is None else np.asarray(came, dtype=object)
    for stage in anatomy(estimator, fitted=True).stages:
        if stage.drops:
            continue
        known = getattr(stage.part, "n_features_in_", None)
        names = (
            np.array([f"x{j + 1}" for j in range(known)], dtype=object)
            if names is None and known is not None
            else names
        )
        try:
            names = stage.part.get_feature_names_out(names)
            if isinstance(
                stage.part, ColumnTransformer
            ):  # after its parts, too: words__city_Nice, numbers__missingindicator_age
                gaps, plain = (
                    _word_gaps(stage.part),
                    [str(name).partition("__")[2] for name in names],
                )
                names = np.array(
                    [gaps.get(name, _plain_name(name)) for name in plain], dtype=object
                )
        except (
            AttributeError,
            ValueError,
            NotFittedError,
        ):  # a step that makes features without names
            return None
    names = np.array([f"x{j + 1}" for j in range(count)], dtype=object) if names is None else names
    return [str(name) for name in names] if len(names) == count else None


def _word_gaps(part: ColumnTransformer) -> dict[str, str]:
    """Return readable names of the indicators of missing categories, which an encoder calls city_None."""
    found: dict[str, str] = {}
    for _, encoder, _ in part.transformers_:
        for name, words in zip(
            getattr(encoder, "feature_names_in_", ()),
            getattr(encoder, "categories_", ()),
            strict=False,
        ):
            found |= {
                f"{name}_{word}": f"{name} missing"
                for word in words
                if word is None or word != word
            }
    return found


def _plain_name(name: str) -> str:
    """Return a readable name of an indicator of missing numbers."""
    gap = "missingindicator_"
    return f"{name.removeprefix(gap)} missing" if name.startswith(gap) else name


def certificates(estimator: Any, learner: Any) -> list[Certificate]:
    """Return the objective of each predictor and its certified lower bound, if the learner has one."""
    if "dual_objective_" not in learner.declaration.fitted_arrays or not np.isfinite(learner.gap_):
        return []
    labels = label_texts(estimator.classes_).tolist()
    names = pair_names(labels) if learner.has_pairs(labels) else labels
    both = (
        np.column_stack([np.ravel(learner.objective_), np.ravel(learner.dual_objective_)])
        .astype(float)
        .tolist()
    )
    return [
        Certificate(name, *pair)
        for name, pair in zip(names[1:] if len(both) == 1 else names, both, strict=True)
    ]
