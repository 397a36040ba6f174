"""Model cards: what a model file tells about where a model came from, written by train and tune, read by run and show."""

from __future__ import annotations

import datetime
import hashlib
import shlex
import sys
from typing import Any

import numpy as np

from pegasos.cli.rows import Split
from pegasos.data.dataset import NUMBER, TEXT, Column, Dataset
from pegasos.data.rowhash import hash_rows
from pegasos.modelfile import BadModel, Model

Array = np.ndarray[Any, Any]


def make_card(dataset: Dataset, split: Split, errors: dict[str, Any], seconds: float) -> tuple[dict[str, Any], Array]:
    """The card, and hashes of the rows that were learned from."""
    hashes = hash_rows(dataset.X, dataset.y)
    assert dataset.y is not None
    labels, counts = np.unique(dataset.y[split.train], return_counts=True)
    card = {
        "columns": [{"name": column.name, "kind": column.kind} for column in dataset.columns],
        "frame": dataset.has_frame,
        "label": dataset.label_name,
        "image": dataset.image,
        "data": {
            "name": dataset.name,
            "rows": len(dataset),
            "fingerprint": hashlib.sha256(np.sort(hashes).astype("<u8").tobytes()).hexdigest(),
        },
        "classes": {str(label): int(count) for label, count in zip(labels, counts, strict=True)},
        "split": {**split.record, "train_rows": len(split.train), "test_rows": len(split.test)},
        "errors": errors,
        "command": shlex.join(["pegasos", *sys.argv[1:]]),
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 2),
    }
    return card, hashes[split.train]


def columns_of(model: Model, path: str) -> list[Column]:
    """The columns that a model wants; those of a file that Python wrote have names if the estimator has."""
    told = model.card.get("columns")
    if told is None:
        names = model.feature_names or [f"x{place + 1}" for place in range(width_of(model))]
        return [Column(name) for name in names]
    try:
        columns = [Column(str(each["name"]), {NUMBER: NUMBER, TEXT: TEXT}[each["kind"]]) for each in told]
    except (TypeError, KeyError):
        raise BadModel(f"{path!r}: its list of columns is damaged.") from None
    if len(columns) != width_of(model):
        raise BadModel(f"{path!r}: it lists {len(columns)} columns, but its first step takes {width_of(model)}.")
    return columns


def width_of(model: Model) -> int:
    """How many columns a model takes."""
    first = model.estimator
    while hasattr(first, "steps"):
        first = next(step for _, step in first.steps if step != "passthrough")
    return int(first.n_features_in_)


def wants_frame(model: Model) -> bool:
    """Whether the model takes a table with names, because it has words or gaps to encode."""
    return bool(model.card.get("frame", False))


def label_of(model: Model) -> str | None:
    """What the label's column was called."""
    label = model.card.get("label")
    return label if isinstance(label, str) else None
