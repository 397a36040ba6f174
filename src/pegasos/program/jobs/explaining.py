"""What a saved model looks at, on labelled rows that it does not know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pegasos.explaining import Explanation, explain
from pegasos.metrics import Metric
from pegasos.program.errors import UsageError
from pegasos.program.jobs import outputs
from pegasos.program.jobs.evaluation import metric_of
from pegasos.program.jobs.model_cards import SavedModel
from pegasos.program.pages import report
from pegasos.program.tables.dataset import DATES, take
from pegasos.program.terminal import console, judging_values
from pegasos.program.terminal.options import JudgingOptions, ReadingOptions

#: Fewer new rows than these tell nothing.
_FEW_ROWS = 20


@dataclass(frozen=True)
class ExplainRecord:
    """What `explain` answers; `new_rows`: whether the rows were ones that the model does not know."""

    model: str
    data: str
    new_rows: bool
    explanation: Explanation
    page: str | None = None


def explain_model(
    path: str,
    data: str,
    out: str | None,
    repeats: int,
    features: int,
    seed: int,
    reading: ReadingOptions,
    judging: JudgingOptions,
) -> ExplainRecord:
    """Look at the model in file `path` on `data`; with `out` its page is written, with this in it."""
    judging_values.check(judging)
    if out is not None:
        outputs.check_file(out, path, data, what="a page")
    saved = SavedModel.open(path)
    metric = _metric(saved, judging)
    dataset = saved.labelled_rows(data, reading)
    y, known = saved.classes_of(dataset), saved.known_rows(dataset)
    new = np.arange(len(y)) if known is None else np.flatnonzero(~known)
    fresh = known is not None and len(new) >= _FEW_ROWS
    if known is not None and not fresh:
        console.say(
            "note: nearly all of these rows were used in training: what follows tells what the model uses, not what helps it"
        )
        console.say("      on new rows.")
        new = np.arange(len(y))
    training: Any = None
    if known is not None and known.any():
        own = np.flatnonzero(known)
        training = take(dataset, own).X, y[own], own
    with console.working(f"shuffling {len(dataset.columns)} columns"):
        found = explain(
            saved.model.estimator,
            take(dataset, new).X,
            y[new],
            metric=metric,
            repeats=repeats,
            features=features,
            training=training,
            names=[column.name for column in dataset.columns],
            random_state=seed,
        )
    found = replace(
        found, dates=[column.name for column in dataset.columns if column.kind in DATES]
    )
    if out is not None:
        with console.working(f"writing {out}"):
            target = Path(out)
            report(path, dataset, source=data, explanation=found).write(
                target.parent, name=target.name
            )
    return ExplainRecord(path, data, fresh, found, out)


def _metric(saved: SavedModel, judging: JudgingOptions) -> Metric:
    try:
        return metric_of(saved, judging)
    except UsageError as error:
        raise UsageError(str(error).replace("run knows", "explain knows")) from None
