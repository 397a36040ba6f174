"""What was gathered, on disk: report.json of a run folder, a study's results.json, or a model file."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np

from pegasos.program.files import as_json, write_text
from pegasos.program.records import codec
from pegasos.program.records.studies import StudyRecord
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.row_hashes import hash_rows, split_known

NAME = "report.json"


def save_gathered(folder: str | Path, gathered: dict[str, Any]) -> Path:
    """Whole or not at all."""
    path = Path(folder) / NAME
    write_text(path, json.dumps(as_json(gathered), ensure_ascii=False, separators=(",", ":")))
    return path


def read_run(path: str | Path, X: Any = None, y: Any = None, **facts: Any) -> dict[str, Any]:
    """What a page shows of a run folder or a model file."""
    path = Path(path)
    if not path.exists():
        raise BadData(f"{path} does not exist: give the folder of a run of tune or study, or a model file.")
    if path.is_file():
        return _of_model(path, X, y, **facts)
    found = _json(path / NAME)
    if (path / "results.json").is_file():
        return {"kind": "study", "record": codec.load(StudyRecord, path / "results.json"), "beside": found, "folder": path.name}
    summary = _json(path / "summary.json")
    if not found and not summary:
        raise BadData(f"{path} holds no results: a run of tune or study leaves results.json or summary.json in its folder.")
    return {**(found or _of_summary(summary, path)), "summary": summary, "folder": path.name}


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise BadData(f"{path} is damaged: it is not JSON. Run the command that wrote it again.") from None
    if not isinstance(found, dict):
        raise BadData(f"{path} is damaged: it holds no object. Run the command that wrote it again.")
    return found


def _of_summary(summary: dict[str, Any], path: Path) -> dict[str, Any]:
    """A run of tune whose report.json is missing: cells from results.csv, text from the summary."""
    if not summary:
        return {}
    cells: list[dict[str, Any]] = []
    errors = summary.get("scoring") == "accuracy"
    with (path / "results.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            numbers = {name: _parsed(text) for name, text in row.items()}
            params = {name: numbers[name] for name in ("model", "kernel", "expand", "lam", "n_iter", "epochs") if name in numbers}
            score = numbers.get("score")
            value = None if score is None else 1 - score if errors else score
            cells.append(
                {
                    "cell": int(numbers["cell"]),
                    "params": params,
                    "value": value,
                    "std": numbers.get("deviation"),
                    "folds": [],
                    "support": numbers.get("support_vectors"),
                    "gap": numbers.get("gap"),
                }
            )
    rows = summary.get("rows", {})
    return {
        "kind": "sweep",
        "data": {"name": summary.get("data", "the data"), "source": summary.get("source"), "rows": rows.get("training")},
        "measure": "error" if errors else summary.get("scoring", "score"),
        "folds": summary.get("folds"),
        "complete": summary.get("complete", True),
        "cells": cells,
        "best": summary["choice"]["cell"],
        "simplest": summary["simplest"]["cell"],
        "advice": summary.get("advice", []),
        "errors": summary.get("errors", {}),
        "honest": summary.get("honest"),
        "seconds": summary.get("seconds"),
        "made": {},
    }


def _parsed(text: str | None) -> Any:
    if text is None or text == "":
        return None
    try:
        return float(text) if any(mark in text for mark in ".einf") else int(text)
    except ValueError:
        return text


def _of_model(path: Path, X: Any, y: Any, **facts: Any) -> dict[str, Any]:
    """A model file, with its card; and on rows if some are given."""
    from pegasos.program.modelfile import read_model
    from pegasos.program.pages import _dataset
    from pegasos.program.pages.recording import gather_model

    model = read_model(path)
    card = model.card
    data = _dict(card.get("data"))
    image = card.get("image")
    facts = {"name": data.get("name", path.name), "columns": _columns(model), "image": tuple(image) if image else None, **facts}
    dataset, kind = _new_rows(_dataset(X, y, facts), model.rows)
    command = card.get("command") if isinstance(card.get("command"), str) else None
    found = gather_model(model.estimator, dataset, command=command, file=path.name, **facts)
    found["made"] = {**({"date": str(card["created"])[:10]} if "created" in card else {}), **model.versions}
    counts = _dict(card.get("classes"))
    if counts and "classes" not in found["data"]:
        found["data"] |= {"classes": list(map(str, counts)), "counts": list(counts.values())}
    found["data"] = {"features": model.n_features, **found["data"], **(data if dataset is None else {})}
    listed = _dict(card.get("errors"))
    counted = {
        name: each for name, each in listed.items() if isinstance(each, dict) and {"rows", "mistakes", "error"} <= set(each)
    }
    looked = {kind if name == "these rows" else name: each for name, each in found.get("errors", {}).items()}
    found["errors"] = {**counted, **looked}
    found["honest"] = _dict(listed.get("honest"))
    found["split"] = _dict(card.get("split"))
    found["seed"] = found["split"].get("seed")
    found["seconds"] = card.get("seconds")
    return found


def _new_rows(dataset: Any, trained: Any) -> tuple[Any, str]:
    """The rows that the model was not trained on, where some are new: mistakes on the others tell little. And their name."""
    if dataset is None or dataset.y is None or trained is None:
        return dataset, "these rows"
    known = split_known(hash_rows(dataset.X, dataset.y), trained)
    if known.all():
        return dataset, "these training rows"
    new = np.flatnonzero(~known)
    parts = {name: None if value is None else value[new] for name, value in (("y", dataset.y), ("X", dataset.X))}
    name = "these new rows" if not known.any() else "the new ones of these rows"
    return dataclasses.replace(dataset, **parts, test=None, weights=None, groups=None), name


def _dict(value: Any) -> dict[str, Any]:
    """A card may hold anything: Python wrote it, or a stranger."""
    return value if isinstance(value, dict) else {}


def _columns(model: Any) -> list[str] | None:
    listed = model.card.get("columns")
    if isinstance(listed, list) and all(isinstance(each, dict) and "name" in each for each in listed):
        return [str(each["name"]) for each in listed]
    return model.feature_names
