"""What a page needs, gathered from a sweep, an experiment of a study or a model, as plain JSON: afterwards no data are needed."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Sequence
from typing import Any

import numpy as np

from pegasos.data.dataset import Dataset
from pegasos.report import cells as in_words
from pegasos.report import looking, mistakes
from pegasos.sweep.cells import find_learner, make_cells
from pegasos.sweep.honest import held_out

Array = np.ndarray[Any, Any]

#: Leading cells whose mistakes are kept, and numbers that all confusions together may take.
LEADING, CONFUSION_NUMBERS = 12, 90_000


def gather_sweep(
    search: Any,
    dataset: Dataset | None,
    *,
    source: str | None = None,
    command: str | None = None,
    options: Sequence[str] = (),
    positions: Array | None = None,
    errors: dict[str, Any] | None = None,
    advice: list[str] | None = None,
    seconds: float | None = None,
    tsne: bool = True,
) -> dict[str, Any]:
    """Everything about a fitted SweepCV.

    dataset: the rows it was fitted to (None: a page without confusions). source: the data as a command line names them;
    options: further options of every command line, such as --label; positions: each row's place in the source;
    errors: what `tune` counted on training and test rows; advice: replaces the sweep's own words.
    """
    best = _best(search)
    found: dict[str, Any] = {
        **_head("sweep", dataset, source, command, seconds if seconds is not None else getattr(search, "time_", None)),
        "measure": "error" if in_words.counts_errors(search) else str(search.scoring or in_words.metric_of(search)),
        "folds": int(search.n_splits_),
        "complete": bool(getattr(search, "completed_", True)),
        "seed": _seed(search),
        "cells": in_words.describe(search),
        "best": best,
        "simplest": int(getattr(search, "simplest_index_", best)),
        "advice": list(advice if advice is not None else getattr(search, "advice_", [])),
        "errors": errors or {},
    }
    if found["measure"] == "error":
        estimate = search.honest_estimate()
        found["honest"] = {"error": estimate.error, "low": estimate.low, "high": estimate.high, "method": estimate.method}
    candidates = {cell.number: cell.estimator for cell in make_cells(search.estimator, search.param_grid)}
    for cell in found["cells"]:
        cell["command"] = in_words.command_line(candidates[cell["cell"]], source, found["seed"], list(options))
    _set_seed(candidates[best], found["seed"])
    found["python"] = in_words.python_lines(candidates[best])
    model = getattr(search, "best_estimator_", None)
    if model is not None:
        found["curves"] = curves(find_fitted(model))
    if dataset is not None and dataset.y is not None:
        codes, classes = _classes(found, dataset)
        found |= _looks(dataset, codes, search.labels_[best] != codes, tsne)
        found |= _kept(search, found, dataset, codes, positions)
        if model is not None:
            found["boundary"] = looking.boundary(model, dataset, codes, classes, _names(dataset))
    return found


def gather_study(
    search: Any, dataset: Dataset, experiment: str, *, seed: int = 0, tsne: bool = False, **facts: Any
) -> dict[str, Any]:
    """Confusions and mistakes of one experiment's sweep (one seed), to stand beside the results.json of its study."""
    found: dict[str, Any] = {
        **_head("study", dataset, None, None, None),
        "experiment": experiment,
        "measure": "error",
        "seed": seed,
        "cells": in_words.describe(search),
        "best": _best(search),
        **facts,
    }
    found["simplest"] = int(getattr(search, "simplest_index_", found["best"]))
    codes, _ = _classes(found, dataset)
    found |= _looks(dataset, codes, search.labels_[found["best"]] != codes, tsne)
    found |= _kept(search, found, dataset, codes, None)
    # A study lists its cells itself; here only their parameters are needed, to find the ones that were kept.
    found["cells"] = [{"cell": cell["cell"], "params": cell["params"]} for cell in found["cells"]]
    return found


def gather_model(
    estimator: Any,
    dataset: Dataset | None,
    *,
    source: str | None = None,
    command: str | None = None,
    seconds: float | None = None,
    tsne: bool = True,
    **facts: Any,
) -> dict[str, Any]:
    """Everything about one fitted learner or pipeline, on rows with labels if there are any."""
    learner = find_fitted(estimator)
    found: dict[str, Any] = {
        **_head("model", dataset, source, command, seconds),
        "measure": "error",
        "learner": _learner_facts(learner),
        "python": in_words.python_lines(estimator),
        "curves": curves(learner),
        "weights": weights(estimator, learner),
        "model_classes": [str(label) for label in np.asarray(estimator.classes_).tolist()],
        **facts,
    }
    if dataset is None or dataset.y is None:
        return found
    codes, classes = _classes(found, dataset)
    guessed = np.asarray(estimator.predict(dataset.X))
    names = found["data"]["classes"]
    places = {name: code for code, name in enumerate(names)}
    unknown = [name for name in dict.fromkeys(str(label) for label in guessed.tolist()) if name not in places]
    for name in unknown:  # a class of the model that these rows do not have
        places[name] = len(places)
        names.append(name)
        found["data"]["counts"].append(0)
    predicted = np.array([places[str(label)] for label in guessed.tolist()])
    estimate = held_out(predicted != codes)
    found["errors"] = {
        **found.get("errors", {}),
        "these rows": {
            "rows": len(codes),
            "mistakes": int((predicted != codes).sum()),
            "error": estimate.error,
            "low": estimate.low,
            "high": estimate.high,
        },
    }
    found |= _looks(dataset, codes, predicted != codes, tsne)
    scores = None
    if list(map(str, estimator.classes_)) == names:
        scores = np.asarray(estimator.decision_function(dataset.X), dtype=np.float64)
        scores = scores[:, None] if scores.ndim == 1 else scores
    keeper = _rows(found, dataset)
    listed = mistakes.worst(codes, predicted, scores)
    found["kept"] = {"0": {"confusion": mistakes.confusion(codes, predicted, len(names)), "mistakes": listed}}
    found["rows"] = {str(each["row"]): keeper.one(each["row"]) for each in listed}
    found["best"] = 0
    found["boundary"] = looking.boundary(estimator, dataset, codes, classes, _names(dataset)) if not unknown else ""
    return found


# -- parts -----------------------------------------------------------------------------------------------------------


def made() -> dict[str, str]:
    """Versions and machine."""
    import numba
    import scipy
    import sklearn

    from pegasos import __version__

    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "pegasos": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "numba": numba.__version__,
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _head(
    kind: str, dataset: Dataset | None, source: str | None, command: str | None, seconds: float | None
) -> dict[str, Any]:
    data: dict[str, Any] = {"name": "the data", "source": source}
    if dataset is not None:
        data |= {"name": dataset.name, "rows": len(dataset), "features": int(dataset.X.shape[1]), "notes": list(dataset.notes)}
    return {"form": 1, "kind": kind, "data": data, "command": command, "seconds": seconds, "made": made()}


def _classes(found: dict[str, Any], dataset: Dataset) -> tuple[Array, Array]:
    """The codes of all rows and the sorted classes; their names and counts go into what is found."""
    classes, codes, counts = np.unique(dataset.labels, return_inverse=True, return_counts=True)
    found["data"] |= {"classes": [str(label) for label in classes.tolist()], "counts": counts.tolist()}
    return codes.reshape(-1), classes


def _names(dataset: Dataset) -> list[str]:
    return [column.name for column in dataset.columns] or [f"x{j + 1}" for j in range(dataset.X.shape[1])]


def _looks(dataset: Dataset, codes: Array, wrong: Array, tsne: bool) -> dict[str, Any]:
    return {"map": looking.place(dataset, codes, wrong, tsne), "statistics": looking.statistics(dataset, codes)}


def _rows(found: dict[str, Any], dataset: Dataset) -> mistakes.Rows:
    """The keeper of rows; for pictures also each class's mean one."""
    order = found["statistics"].pop("order")[: mistakes.VALUES]
    keeper = mistakes.Rows(dataset, np.array(sorted(order), dtype=int))
    names = _names(dataset)
    if keeper.image is None:
        found["columns"] = [names[j] for j in sorted(order)]
    else:
        found["picture"] = keeper.shape
        codes = np.unique(dataset.labels, return_inverse=True)[1].reshape(-1)
        found["means"] = [keeper.picture(each) for each in looking.class_means(dataset, codes, int(codes.max()) + 1)]
    return keeper


def _kept(search: Any, found: dict[str, Any], dataset: Dataset, codes: Array, positions: Array | None) -> dict[str, Any]:
    """Confusions of as many cells as the page's size allows, the best first, and mistakes of the leading ones."""
    count = len(found["data"]["classes"])
    known = [cell for cell in found["cells"] if cell["value"] is not None]
    sign = 1.0 if found["measure"] == "error" else -1.0
    ranked = sorted(known, key=lambda cell: sign * cell["value"])
    leading = _leading(ranked, found)
    keeper = _rows(found, dataset)
    hard = (search.labels_ != codes).mean(axis=0)
    kept: dict[str, Any] = {}
    rows: dict[str, Any] = {}
    room = CONFUSION_NUMBERS
    for number in dict.fromkeys([*leading, *(cell["cell"] for cell in ranked)]):
        counted = mistakes.confusion(codes, search.labels_[number], count)
        room -= len(counted)
        if room < 0 and number not in leading:
            break
        kept[str(number)] = {"confusion": counted}
        if number in leading:
            listed = mistakes.worst(codes, search.labels_[number], _scores(search, number, count), hard)
            rows |= {str(each["row"]): keeper.one(each["row"]) for each in listed}
            kept[str(number)]["mistakes"] = listed
    answer = {"kept": kept, "rows": rows}
    if positions is not None:
        answer["positions"] = {row: int(positions[int(row)]) for row in rows}
    return answer


def _leading(ranked: list[dict[str, Any]], found: dict[str, Any]) -> list[int]:
    """The choice, the simplest one, the best of each model and kernel, then the next best."""
    firsts: dict[Any, int] = {}
    for cell in ranked:
        firsts.setdefault((cell["params"].get("model"), cell["params"].get("kernel")), cell["cell"])
    order = [found["best"], found["simplest"], *list(firsts.values())[: LEADING - 4], *(cell["cell"] for cell in ranked)]
    return list(dict.fromkeys(order))[:LEADING]


def _scores(search: Any, number: int, classes: int) -> Array | None:
    try:
        scores = search.out_of_fold_scores(number)
    except ValueError:
        return None
    return scores if scores.shape[1] in (classes, 1) else None


def _best(search: Any) -> int:
    if hasattr(search, "best_index_"):
        return int(search.best_index_)
    return int(np.nanargmax(search.cv_results_[f"mean_test_{in_words.metric_of(search)}"]))


def _seed(search: Any) -> int | None:
    seed = getattr(search, "seed_", None)
    return None if seed is None else int(seed)


def _set_seed(estimator: Any, seed: int | None) -> None:
    find_learner(estimator).set_params(random_state=seed)


def find_fitted(estimator: Any) -> Any:
    """The fitted learner inside pipelines and DropOutliers."""
    inner = estimator
    while not hasattr(inner, "sweep_axes"):
        inner = inner.estimator_ if hasattr(inner, "estimator_") else inner.steps[-1][1]
    return inner


def _learner_facts(learner: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"model": in_words.model_name(learner), "class": type(learner).__name__}
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
