"""What a page needs, gathered from a sweep, an experiment of a study or a model, as plain JSON: afterwards no data are needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pegasos.program.pages import cell_words as in_words
from pegasos.program.pages import mistakes, row_samples
from pegasos.program.pages.fitted_facts import curves, learner_facts, made, weights
from pegasos.program.tables.dataset import Dataset
from pegasos.program.tables.labels import label_texts
from pegasos.search.anatomy import anatomy
from pegasos.search.estimates import held_out
from pegasos.search.grid import make_cells

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
    honest: dict[str, Any] | None = None,
    advice: list[str] | None = None,
    seconds: float | None = None,
    tsne: bool = True,
) -> dict[str, Any]:
    """Everything about a fitted SweepCV.

    dataset: the rows it was fitted to (None: a page without confusions). source: the data as a command line names them;
    options: further options of every command line, such as --label; positions: each row's place in the source;
    errors, honest: what `tune` counted and estimated already; advice: replaces the sweep's own words.
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
        "advice": [str(each) for each in (advice if advice is not None else getattr(search, "advice_", []))],
        "errors": errors or {},
    }
    if honest is not None:
        found["honest"] = honest
    elif found["measure"] == "error":
        rounds = int(np.clip(2e7 / search.labels_.shape[1], 50, 1000))  # each round draws all rows anew
        estimate = search.honest_estimate(rounds=rounds)
        found["honest"] = {"error": estimate.error, "low": estimate.low, "high": estimate.high, "method": estimate.method}
    candidates = {cell.number: cell.estimator for cell in make_cells(search.estimator, search.param_grid)}
    found["late"] = sum(_late(cell["gap"], candidates[cell["cell"]]) for cell in found["cells"])
    for cell in found["cells"]:
        cell["command"] = in_words.command_line(candidates[cell["cell"]], source, found["seed"], list(options))
    _set_seed(candidates[best], found["seed"])
    found["python"] = in_words.python_lines(candidates[best])
    model = getattr(search, "best_estimator_", None)
    if model is not None:
        found["curves"] = curves(anatomy(model, fitted=True).learner)
    if dataset is not None and dataset.y is not None:
        codes, classes = _classes(found, dataset)
        found |= _looks(dataset, codes, search.labels_[best] != codes, tsne)
        found |= _kept(search, found, dataset, codes, positions)
        if model is not None:
            found["boundary"] = row_samples.boundary(
                model, dataset, codes, lambda labels: np.searchsorted(classes, labels), _names(dataset)
            )
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
    # A study lists its cells itself; here only their settings are needed, to find the ones that were kept.
    found["cells"] = [
        {
            "cell": cell.number,
            "key": cell.setting.key(),
            "command": in_words.command_line(cell.estimator, dataset.name, seed, []),
        }
        for cell in make_cells(search.estimator, search.param_grid)
    ]
    return found


def join_studies(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """What was gathered of several experiments on the same rows, as one: the map and statistics are the first one's."""
    first, *others = parts
    for other in others:
        first["rows"] |= other["rows"]
    more = [{name: other[name] for name in ("experiment", "cells", "kept")} for other in others]
    return {**first, "more": more}


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
    learner = anatomy(estimator, fitted=True).learner
    found: dict[str, Any] = {
        **_head("model", dataset, source, command, seconds),
        "measure": "error",
        "learner": learner_facts(learner),
        "python": in_words.python_lines(estimator),
        "curves": curves(learner),
        "weights": weights(estimator, learner),
        **facts,
    }
    if dataset is None or dataset.y is None:
        return found
    codes, _ = _classes(found, dataset)
    guessed = np.asarray(estimator.predict(dataset.X))
    names = found["data"]["classes"]
    known = label_texts(estimator.classes_).tolist()
    more = [name for name in known if name not in names]  # classes of the model that these rows do not have
    names += more
    found["data"]["counts"] += [0] * len(more)
    codes_of = dict(zip(np.asarray(estimator.classes_).tolist(), (names.index(name) for name in known), strict=True))

    def encode(labels: Array) -> Array:
        return np.array([codes_of[label] for label in labels.tolist()], dtype=int)

    predicted = encode(guessed)
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
    if known == names:
        scores = np.asarray(estimator.decision_function(dataset.X), dtype=np.float64)
        scores = scores[:, None] if scores.ndim == 1 else scores
    keeper = _rows(found, dataset)
    listed = mistakes.worst(codes, predicted, scores)
    found["kept"] = {"0": {"confusion": mistakes.confusion(codes, predicted, len(names)), "mistakes": listed}}
    found["rows"] = {str(each["row"]): keeper.one(each["row"]) for each in listed}
    found["best"] = 0
    found["boundary"] = row_samples.boundary(estimator, dataset, codes, encode, _names(dataset))
    return found


# -- parts -----------------------------------------------------------------------------------------------------------


def _head(kind: str, dataset: Dataset | None, source: str | None, command: str | None, seconds: float | None) -> dict[str, Any]:
    data: dict[str, Any] = {"name": "the data", "source": source}
    if dataset is not None:
        data |= {"name": dataset.name, "rows": len(dataset), "features": int(dataset.X.shape[1]), "notes": list(dataset.notes)}
    return {"form": 1, "kind": kind, "data": data, "command": command, "seconds": seconds, "made": made()}


def _classes(found: dict[str, Any], dataset: Dataset) -> tuple[Array, Array]:
    """The codes of all rows and the sorted classes; their names and counts go into what is found."""
    classes, codes, counts = np.unique(dataset.labels, return_inverse=True, return_counts=True)
    found["data"] |= {"classes": label_texts(classes).tolist(), "counts": counts.tolist()}
    return codes.reshape(-1), classes


def _names(dataset: Dataset) -> list[str]:
    return [column.name for column in dataset.columns] or [f"x{j + 1}" for j in range(dataset.X.shape[1])]


def _looks(dataset: Dataset, codes: Array, wrong: Array, tsne: bool) -> dict[str, Any]:
    return {"map": row_samples.place(dataset, codes, wrong, tsne), "statistics": row_samples.statistics(dataset, codes)}


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
        found["means"] = [keeper.picture(each) for each in row_samples.class_means(dataset, codes, int(codes.max()) + 1)]
    return keeper


def _kept(search: Any, found: dict[str, Any], dataset: Dataset, codes: Array, positions: Array | None) -> dict[str, Any]:
    """Confusions of as many cells as the page's size allows, the best first, and mistakes of the leading ones."""
    count = len(found["data"]["classes"])
    known = [cell for cell in found["cells"] if cell["value"] is not None]
    sign = 1.0 if found["measure"] == "error" else -1.0
    ranked = sorted(known, key=lambda cell: sign * cell["value"])
    leading = _leading(ranked, found)
    keeper = _rows(found, dataset)
    some = [cell["cell"] for cell in ranked[:50]]
    hard = sum(((search.labels_[number] != codes) for number in some), np.zeros(len(codes))) / max(1, len(some))
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


def _late(gap: float | None, estimator: Any) -> bool:
    """Whether SDCA ended before its tolerance, on the mean of folds."""
    return gap is not None and gap > getattr(anatomy(estimator).learner, "tol", np.inf)


def _set_seed(estimator: Any, seed: int | None) -> None:
    anatomy(estimator).learner.set_params(random_state=seed)
