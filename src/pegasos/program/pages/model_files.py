"""A model file as the record of its page: what its card tells, and what it does on rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pegasos.program.modelfile import read_model
from pegasos.program.pages.recording import record_model
from pegasos.program.pages.row_samples import as_dataset, part_of
from pegasos.program.records.models import ModelCard, learner_facts
from pegasos.program.records.pages import PageRecord
from pegasos.program.tables.dataset import Dataset
from pegasos.program.tables.row_hashes import hash_rows, split_known


def read_model_file(path: Path, X: Any, y: Any, facts: dict[str, Any]) -> PageRecord:
    """A model file, with its card; and on rows if some are given."""
    file = read_model(path)
    card = ModelCard.read(file.card)
    names = file.feature_names if card.columns is None else [column.name for column in card.columns]
    known = {
        "name": path.name if card.data is None else card.data.name,
        "columns": names,
        "image": card.image,
    }
    facts = {
        **known,
        "command": card.command,
        "seconds": card.seconds,
        "positive": card.positive,
        **facts,
    }
    name = facts["name"]
    dataset, training, positions, kind = _new_rows(as_dataset(X, y, facts), file.rows)
    found = record_model(
        file.estimator, dataset, positions=positions, **{"training": training, **facts}
    )
    data = found.data
    if dataset is None:
        data = replace(data, name=name, rows=None if card.data is None else card.data.rows)
    if not data.classes:
        data = replace(data, classes=list(card.classes), counts=list(card.classes.values()))
    assert found.model is not None
    model = replace(
        found.model, file=path.name, facts=learner_facts(file.estimator, card.learned_rows)
    )
    data = replace(data, features=file.n_features if data.features is None else data.features)
    made = {**({} if card.created is None else {"date": card.created[:10]}), **file.versions}
    when = "" if card.refitted_rows is None else " rows, before the refit on all rows"
    told = {f"{name}{when}": each for name, each in card.errors.items()}
    errors = {**told, **dict(zip([kind], found.errors.values(), strict=False))}
    seed = found.seed if card.split is None else card.split.seed
    return replace(
        found, data=data, made=made, errors=errors, honest=card.honest, seed=seed, model=model
    )


def _new_rows(
    dataset: Dataset | None, trained: Any
) -> tuple[Dataset | None, tuple[Dataset, Any] | None, Any, str]:
    """The rows that the model was not trained on, where there are some: mistakes on others tell little. Those that it was trained
    on; the places of the new ones, and their name.
    """
    if dataset is None or dataset.y is None or trained is None:
        return dataset, None, None, "these rows"
    known = split_known(hash_rows(dataset.X, dataset.y), trained)
    if known.all():
        return dataset, (dataset, np.arange(len(known))), None, "these training rows"
    new = np.flatnonzero(~known)
    if not known.any():
        return dataset, None, new, "these new rows"
    own = np.flatnonzero(known)
    return part_of(dataset, new), (part_of(dataset, own), own), new, "the new ones of these rows"
