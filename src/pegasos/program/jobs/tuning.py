"""The work behind `tune`: a grid from options, the sweep, the choice, and the files of the run."""

from __future__ import annotations

import csv
import json
import shlex
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pegasos import SweepCV
from pegasos.learners.catalogue import MODELS, make_learner, model_of
from pegasos.program.files import replacing, write_text
from pegasos.program.grids import GridRequest, default_models, make_grid
from pegasos.program.jobs import outputs, training
from pegasos.program.jobs.datasets import Split, check_classes, classes_of, load, split_rows, take
from pegasos.program.jobs.run_pages import write_page
from pegasos.program.jobs.scoring import show_errors
from pegasos.program.pipelines import Recipe, check_expansion, chosen_scale, learned_rows, make_recipe
from pegasos.program.tables.dataset import BadData, Dataset
from pegasos.program.terminal import console, option_values
from pegasos.program.terminal.options import LearningOptions, ReadingOptions, RunningOptions
from pegasos.program.terminal.usage_error import UsageError
from pegasos.search.advice import SweepWarning

Array = np.ndarray[Any, Any]

_SHOWN = 12


@dataclass(frozen=True)
class Plan:
    """Everything that was said on the command line."""

    data: str
    folder: str
    models: list[str]
    cv: int
    scoring: str
    jobs: int | None
    max_time: float | None
    learning: LearningOptions
    reading: ReadingOptions
    running: RunningOptions
    page: bool = True


def tune(plan: Plan) -> dict[str, Any]:
    """Run the sweep, write the folder, and answer what was found."""
    begin = time.perf_counter()
    outputs.check_folder(plan.folder)
    _check(plan)
    dataset = load(plan.data, plan.reading, plan.running.memory)
    split = split_rows(dataset, plan.running.test_size, plan.running.seed)
    check_classes(dataset, split)
    rows = take(dataset, split.train)
    models = plan.models or default_models(len(rows))
    recipe = make_recipe(rows, make_learner(models[0], {}), plan.learning.scale, None, plan.learning.drop_outliers)
    learned = learned_rows(rows, plan.learning.drop_outliers)
    wish = _wish(plan, models, rows, learned)
    for degree in wish.expand:
        check_expansion(rows, degree)
    search = _search(plan, recipe, make_grid(wish, recipe, rows), rows)
    cells = describe_cells(search, learned)
    chosen = cells[search.best_index_]
    errors = training.errors_of(search.best_estimator_, dataset, split)
    estimate = search.honest_estimate()
    result = {
        "data": dataset.name,
        "source": plan.data,
        "rows": {"training": len(split.train), "test": len(split.test), "split": split.record["kind"]},
        "scale": chosen_scale(rows, plan.learning.scale),
        "cells": len(cells),
        "folds": int(search.n_splits_),
        "scoring": plan.scoring,
        "complete": bool(search.completed_),
        "choice": chosen,
        "simplest": cells[search.simplest_index_],
        "leading": _leading(cells),
        "honest": {"error": estimate.error, "low": estimate.low, "high": estimate.high, "method": estimate.method},
        "errors": errors,
        "advice": [str(advice) for advice in search.advice_],
        "folder": plan.folder,
        "model": str(Path(plan.folder) / "best.model"),
        "seconds": round(time.perf_counter() - begin, 2),
    }
    _write(plan, result, cells, search, dataset, split)
    if plan.page:
        result["page"] = write_page(result, search, dataset, split, plan.reading, plan.running.test_size)
    return result


def _check(plan: Plan) -> None:
    """Find mistakes of the call before any data are read."""
    from sklearn.metrics import get_scorer_names

    given = option_values.grids(plan.learning, rows=1)
    for model in plan.models or ["sdca"]:
        option_values.check_model(model)
        if plan.models:
            option_values.refuse_unknown(model, given)
    option_values.check_preparation(plan.learning)
    option_values.check_memory(plan.running.memory)
    if plan.scoring not in get_scorer_names():
        raise UsageError(f"--scoring {plan.scoring!r} is no scorer of scikit-learn, such as accuracy or f1_macro.")


def _wish(plan: Plan, models: list[str], rows: Dataset, learned: int) -> GridRequest:
    values = option_values.grids(plan.learning, learned)
    kernels = values.pop("kernel", [])
    if "class_weight" in values:
        values["class_weight"] = [option_values.parse_class_weight(values["class_weight"][0], classes_of(rows))]
    for name in values:
        for model in models:
            if name not in MODELS[model][0].options:
                raise UsageError(f"{option_values.said(name)} means nothing to {model}: say with -m which model it is for.")
    running = plan.running
    return GridRequest(models, kernels, option_values.parse_expand(plan.learning.expand), values, running.seed, running.memory)


def _search(plan: Plan, recipe: Recipe, grid: list[dict[str, list[Any]]], rows: Dataset) -> Any:
    weights = {} if rows.weights is None else {recipe.weight_name: rows.weights}
    groups = {} if rows.groups is None else {"groups": rows.groups}
    search = SweepCV(
        recipe.estimator,
        grid,
        cv=_folds(plan, rows),
        scoring=plan.scoring,
        n_jobs=plan.jobs,
        store=plan.folder,
        memory=plan.running.memory,
        max_time=plan.max_time,
        verbose=0 if console.state.quiet else 1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SweepWarning)  # told with the result, in the words of the options
        warnings.filterwarnings("ignore", "The least populated class")  # told by us
        try:
            return search.fit(rows.X, rows.y, **weights, **groups)
        except ValueError as error:
            raise _in_our_words(error, plan) from error


def _in_our_words(error: ValueError, plan: Plan) -> ValueError:
    """Two errors that a person meets are told in the words of the options."""
    text = str(error)
    if text.startswith("the store "):
        other = text.partition(" holds results for ")[2].partition(".")[0]
        return UsageError(f"{plan.folder} keeps a run on {other}: give another folder with -o, or delete it if no longer wanted.")
    if plan.scoring != "accuracy":
        return UsageError(f"--scoring {plan.scoring} does not work here: {text}")
    return error


def _folds(plan: Plan, rows: Dataset) -> Any:
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    assert rows.y is not None
    _, counts = np.unique(rows.y, return_counts=True)
    if counts.max() < plan.cv:
        raise BadData(f"{rows.name}: no class has {plan.cv} training rows; give fewer folds (--cv) or more rows.")
    if counts.min() < plan.cv:
        console.say(f"note: the rarest class has {counts.min()} training rows, so some of the {plan.cv} folds lack it.")
    if rows.groups is not None and len(np.unique(rows.groups)) < plan.cv:
        raise BadData(
            f"{rows.name}: {len(np.unique(rows.groups))} groups in the training rows; give at most as many folds (--cv)."
        )
    kind = StratifiedKFold if rows.groups is None else StratifiedGroupKFold
    return kind(plan.cv, shuffle=True, random_state=plan.running.seed)


# -- cells as a person reads them ------------------------------------------------------------------------------------


def describe_cells(search: Any, rows: int) -> list[dict[str, Any]]:
    """Each cell of the grid by model, kernel, λ with its C, and stop, with its mean score and deviation over folds."""
    results = search.cv_results_
    cells = []
    for number, params in enumerate(results["params"]):
        named = {name.rpartition("__")[2]: value for name, value in params.items()}
        learner = named["learner"]
        values = {**learner.get_params(deep=False), **{name: value for name, value in named.items() if name != "learner"}}
        lam = values.get("lam")
        cells.append(
            {
                "cell": number,
                "model": model_of(learner).name,
                "kernel": "linear" if values["kernel"] is None else repr(values["kernel"]),
                "expand": getattr(values["expand"], "degree", None),
                "lam": None if lam is None or isinstance(lam, str) else float(lam),
                "C": None if lam is None or isinstance(lam, str) else 1 / (float(lam) * rows),
                "n_iter": values.get("n_iter"),
                "epochs": values.get("epochs", values.get("max_epochs")),
                "score": _finite(results["mean_test_score"][number]),
                "deviation": _finite(results["std_test_score"][number]),
                "support_vectors": _finite(results["mean_support_vectors"][number]),
                "gap": _finite(results["mean_gap"][number]),
            }
        )
    return cells


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _leading(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The best cell of each model, kind of kernel and expansion, the best of them first."""
    ranked = sorted((cell for cell in cells if cell["score"] is not None), key=lambda cell: -cell["score"])
    first: dict[Any, dict[str, Any]] = {}
    for cell in ranked:
        first.setdefault((cell["model"], cell["kernel"].split("(")[0], cell["expand"]), cell)
    return sorted(first.values(), key=lambda cell: -cell["score"])


# -- files and words -------------------------------------------------------------------------------------------------


def _write(plan: Plan, result: dict[str, Any], cells: list[dict[str, Any]], search: Any, dataset: Dataset, split: Split) -> None:
    folder = Path(plan.folder)
    errors = {"cross-validated score": result["choice"]["score"], "scoring": plan.scoring, "honest": result["honest"]}
    training.save_model(
        search.best_estimator_, folder / "best.model", dataset, split, {**errors, **result["errors"]}, result["seconds"]
    )
    with replacing(folder / "results.csv") as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(cells[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(cells)
    write_text(folder / "summary.json", json.dumps(result, indent=2, ensure_ascii=False) + "\n")


def words(cell: dict[str, Any]) -> str:
    """A cell in one line."""
    expand = "" if cell["expand"] is None else f", expanded to degree {cell['expand']}"
    lam = "" if cell["lam"] is None else f", λ = {cell['lam']:.3g} (C = {cell['C']:.3g})"
    stop = f", T = {cell['n_iter']}" if cell["n_iter"] else f", {cell['epochs']} epochs" if cell["model"] not in _SOLVED else ""
    return f"{cell['model']} {cell['kernel']}{expand}{lam}{stop}"


_SOLVED = ("sdca", "sdca-logistic")


def _told(score: float, scoring: str) -> str:
    return console.percent(1 - score) if scoring == "accuracy" else f"{score:.4g}"


def show(result: dict[str, Any], told_next: bool = True) -> None:
    """The result for a person, and what to do next."""
    scoring = result["scoring"]
    measure = "error" if scoring == "accuracy" else scoring
    console.heading(f"{result['data']}: {result['cells']} settings x {result['folds']} folds in {result['seconds']:.1f} s")
    console.show()
    rows = [
        (
            cell["model"],
            cell["kernel"],
            cell["expand"] or "",
            *_numbers(cell),
            _told(cell["score"], scoring),
            _spread(cell, scoring),
        )
        for cell in result["leading"][:_SHOWN]
    ]
    console.table(("best of each family", "kernel", "expand", "λ", "C", f"cv {measure}", "± folds"), rows, left=2)
    if len(result["leading"]) > _SHOWN:
        console.show(f"... and {len(result['leading']) - _SHOWN} more in {Path(result['folder']) / 'results.csv'}")
    console.show()
    console.show(f"choice:  {words(result['choice'])}")
    if result["simplest"]["cell"] != result["choice"]["cell"]:
        console.show(f"simpler: {words(result['simplest'])} is within one standard error")
    honest = result["honest"]
    console.show(
        f"error:   {_told(result['choice']['score'], scoring)} cross-validated, optimistic; corrected for the choice "
        f"{console.percent(honest['error'])} ({console.percent(honest['low'])} to {console.percent(honest['high'])})"
        if scoring == "accuracy"
        else f"score:   {measure} {_told(result['choice']['score'], scoring)} cross-validated, optimistic"
    )
    console.show()
    show_errors(result["errors"])
    for text in result["advice"]:
        console.show(f"advice: {text}")
    if not result["complete"]:
        console.show("Time was up before all cells were done: the choice is among the finished ones.")
    if "page" in result:
        console.show()
        console.show(f"page:  {result['page']}")
    if not told_next:
        return
    console.show()
    model = shlex.quote(result["model"])
    console.show(f"next:  pegasos show {model}")
    console.show(f"       pegasos run {model} {'DATA' if result['source'] == '-' else shlex.quote(result['source'])}")
    console.show(f"       pegasos predict {model} NEW.csv -o labels.csv")


def _numbers(cell: dict[str, Any]) -> tuple[str, str]:
    return ("", "") if cell["lam"] is None else (f"{cell['lam']:.2g}", f"{cell['C']:.3g}")


def _spread(cell: dict[str, Any], scoring: str) -> str:
    return console.percent(cell["deviation"]) if scoring == "accuracy" else f"{cell['deviation']:.2g}"
