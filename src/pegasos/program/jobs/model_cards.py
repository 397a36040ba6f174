"""Model cards: what a model file tells about where a model came from, written by train and tune, read by run and show."""

from __future__ import annotations

import datetime
import hashlib
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from pegasos.program.errors import BadModel, NotAModel
from pegasos.program.jobs.datasets import Split
from pegasos.program.modelfile import Model, read_model
from pegasos.program.tables.dataset import NUMBER, TEXT, Column, Dataset
from pegasos.program.tables.messages import near
from pegasos.program.tables.row_hashes import hash_rows
from pegasos.program.terminal import console

Array = np.ndarray[Any, Any]


def make_card(
    dataset: Dataset, split: Split, errors: dict[str, Any], seconds: float, learned: int
) -> tuple[dict[str, Any], Array]:
    """The card, and hashes of the rows that were learned from; `learned`: those that no outlier filter dropped."""
    hashes = hash_rows(dataset.X, dataset.y)
    assert dataset.y is not None
    labels, counts = np.unique(dataset.y[split.train], return_counts=True)
    card = {
        "columns": [{"name": column.name, "kind": column.kind} for column in dataset.columns],
        "frame": dataset.has_frame,
        "label": dataset.label_name,
        "image": dataset.image,
        "data": {"name": dataset.name, "rows": len(dataset), "fingerprint": fingerprint(hashes)},
        "classes": {str(label): int(count) for label, count in zip(labels, counts, strict=True)},
        "split": {**split.record, "train_rows": len(split.train), "test_rows": len(split.test), "learned_rows": learned},
        "errors": errors,
        "command": shlex.join(["pegasos", *console.state.arguments]),
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 2),
    }
    return card, hashes[split.train]


def fingerprint(hashes: Array) -> str:
    """One text for a set of rows in any order."""
    return hashlib.sha256(np.sort(hashes).astype("<u8").tobytes()).hexdigest()


def open_model(path: str, memory: str | None = None) -> Model:
    """The model in a file; whatever is wrong with the file is a BadModel."""
    try:
        return read_model(path, limit=memory)
    except FileNotFoundError:
        folder = Path(path).parent
        beside = sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []
        raise BadModel(f"{path!r} does not exist.{near(Path(path).name, beside)}") from None
    except OSError as error:
        raise BadModel(f"{path!r} cannot be read: {error.strerror or error}.") from None
    except NotAModel as error:
        raise NotAModel(f"{error} MODEL comes first, then DATA.") from None


def told(model: Model) -> dict[str, Any]:
    """The parts of the card that have the form of ours; a card that Python wrote may hold anything."""
    return {name: value for name, value in model.card.items() if name in _FORMS and _fits(value, _FORMS[name])}


_FORMS: dict[str, Any] = {
    "label": str,
    "frame": bool,
    "command": str,
    "created": str,
    "data": {"name": str, "rows": int, "fingerprint": str},
    "classes": dict,
    "errors": dict,
    "split": {"kind": str, "seed": int, "train_rows": int, "test_rows": int, "learned_rows": int},
}
_COUNTED = {"rows": int, "mistakes": int, "error": float, "low": float, "high": float}


def _fits(value: Any, form: Any) -> bool:
    if isinstance(form, dict):
        return isinstance(value, dict) and all(name in value and _fits(value[name], each) for name, each in form.items())
    return isinstance(value, (int, float) if form is float else form)


def errors_told(card: dict[str, Any]) -> dict[str, Any]:
    """Those of a card's errors that count rows."""
    return {name: found for name, found in card.get("errors", {}).items() if _fits(found, _COUNTED)}


def columns_of(model: Model, path: str) -> list[Column]:
    """The columns that a model wants; those of a file that Python wrote have names if the estimator has."""
    listed = model.card.get("columns")
    if not isinstance(listed, list):
        names = model.feature_names or [f"x{place + 1}" for place in range(model.n_features)]
        words = _words(model)
        return [Column(name, TEXT if name in words else NUMBER) for name in names]
    try:
        columns = [Column(str(each["name"]), {NUMBER: NUMBER, TEXT: TEXT}[each["kind"]]) for each in listed]
    except (TypeError, KeyError):
        raise BadModel(f"{path!r}: its list of columns is damaged.") from None
    if len(columns) != model.n_features:
        raise BadModel(f"{path!r}: it lists {len(columns)} columns, but its first step takes {model.n_features}.")
    return columns


def _encoder(model: Model) -> Any:
    """The step that takes columns apart by name, if the model begins with one."""
    first = model.estimator
    while hasattr(first, "steps"):
        first = first.steps[0][1]
    return first if hasattr(first, "transformers_") else None


def _words(model: Model) -> set[str]:
    """Columns that are encoded as words."""
    encoder = _encoder(model)
    found: set[str] = set()
    for _, step, columns in [] if encoder is None else encoder.transformers_:
        last = step.steps[-1][1] if hasattr(step, "steps") else step
        if hasattr(last, "categories_") and any(each.dtype.kind in "OU" for each in last.categories_):
            names = model.feature_names or []
            found |= {
                column if isinstance(column, str) else names[column] for column in columns if isinstance(column, str) or names
            }
    return found


def wants_frame(model: Model) -> bool:
    """Whether the model takes a table with names, because it has words or gaps to encode."""
    if "columns" in model.card:
        return told(model).get("frame", False)
    return _encoder(model) is not None


def label_of(model: Model) -> str | None:
    """What the label's column was called."""
    return told(model).get("label")


def learned_rows(model: Model) -> int | None:
    """From how many rows the learner learned, if the file tells."""
    rows = told(model).get("split", {}).get("learned_rows", 0)
    return rows if rows > 0 else None
