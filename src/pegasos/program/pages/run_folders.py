"""Records on disk: report.json of a run folder, beside it a study's results.json or a tuning run's summary.json; model files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pegasos.program.modelfile import read_model
from pegasos.program.pages.recording import record_model
from pegasos.program.pages.row_samples import as_dataset, part_of
from pegasos.program.records import codec
from pegasos.program.records.models import ModelCard, learner_facts
from pegasos.program.records.pages import DataRecord, PageRecord
from pegasos.program.records.runs import TuneRecord
from pegasos.program.records.studies import StudyRecord
from pegasos.program.tables.dataset import BadData, Dataset
from pegasos.program.tables.row_hashes import hash_rows, split_known

NAME = "report.json"


def save_record(folder: str | Path, record: PageRecord) -> Path:
    """Put what was recorded into a run folder."""
    return codec.save(Path(folder) / NAME, record)


def read_run(folder: Path) -> tuple[PageRecord | None, StudyRecord | None]:
    """What a page shows of a run folder; a study has a record of its own, and that of a page where predictions were kept."""
    record = codec.load(PageRecord, folder / NAME) if (folder / NAME).is_file() else None
    if (folder / "results.json").is_file():
        return record, codec.load(StudyRecord, folder / "results.json")
    if record is None and (folder / "summary.json").is_file():
        record = _of_summary(codec.load(TuneRecord, folder / "summary.json"))
    if record is None:
        raise BadData(f"{folder} holds no results: a run of tune or study leaves results.json or summary.json in its folder.")
    return record, None


def _of_summary(found: TuneRecord) -> PageRecord:
    """A run of tune without its report.json: a page without rows."""
    advice = [str(each) for each in found.advice]
    data = DataRecord(found.data, found.source, found.training_rows)
    return PageRecord(
        kind="tune",
        data=data,
        made={},
        measure=found.measure,
        positive=found.positive,
        figures=found.figures,
        calibration=found.calibration,
        threshold=found.threshold,
        command=found.command,
        saved=found.model,
        seed=found.seed,
        seconds=found.seconds,
        cells=found.cells,
        folds=found.folds,
        complete=found.complete,
        decision=found.decision,
        best=found.best,
        simplest=found.simplest,
        advice=advice,
        errors=found.errors,
        honest=found.honest,
    )


def read_model_file(path: Path, X: Any, y: Any, facts: dict[str, Any]) -> PageRecord:
    """A model file, with its card; and on rows if some are given."""
    file = read_model(path)
    card = ModelCard.read(file.card)
    names = file.feature_names if card.columns is None else [column.name for column in card.columns]
    known = {"name": path.name if card.data is None else card.data.name, "columns": names, "image": card.image}
    facts = {**known, "command": card.command, "seconds": card.seconds, **facts}
    name = facts["name"]
    dataset, positions, kind = _new_rows(as_dataset(X, y, facts), file.rows)
    found = record_model(file.estimator, dataset, positions=positions, **facts)
    data = found.data
    if dataset is None:
        data = replace(data, name=name, rows=None if card.data is None else card.data.rows)
    if not data.classes:
        data = replace(data, classes=list(card.classes), counts=list(card.classes.values()))
    assert found.model is not None
    model = replace(found.model, file=path.name, facts=learner_facts(file.estimator, card.learned_rows))
    data = replace(data, features=file.n_features if data.features is None else data.features)
    made = {**({} if card.created is None else {"date": card.created[:10]}), **file.versions}
    when = "" if card.refitted_rows is None else " rows, before the refit on all rows"
    told = {f"{name}{when}": each for name, each in card.errors.items()}
    errors = {**told, **dict(zip([kind], found.errors.values(), strict=False))}
    seed = found.seed if card.split is None else card.split.seed
    return replace(found, data=data, made=made, errors=errors, honest=card.honest, seed=seed, model=model)


def _new_rows(dataset: Dataset | None, trained: Any) -> tuple[Dataset | None, Any, str]:
    """The rows that the model was not trained on, where there are some: mistakes on others tell little. Their places and name."""
    if dataset is None or dataset.y is None or trained is None:
        return dataset, None, "these rows"
    known = split_known(hash_rows(dataset.X, dataset.y), trained)
    if known.all():
        return dataset, None, "these training rows"
    new = np.flatnonzero(~known)
    name = "these new rows" if not known.any() else "the new ones of these rows"
    return part_of(dataset, new), new, name
