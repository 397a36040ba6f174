"""Predictions of a saved model, written while the rows are read: neither file is ever held whole."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable
from typing import Any, TextIO

from pegasos.learners.catalogue import model_of
from pegasos.program.errors import UsageError
from pegasos.program.jobs import outputs
from pegasos.program.jobs.model_cards import SavedModel
from pegasos.program.scoring import labels_of, scores_of
from pegasos.program.tables.dataset import Dataset
from pegasos.program.tables.messages import plain
from pegasos.program.terminal import console, option_values
from pegasos.program.terminal.options import ReadingOptions
from pegasos.search.anatomy import anatomy


def predict(
    path: str,
    data: str,
    out: str,
    what: str,
    as_json: bool,
    reading: ReadingOptions,
    memory: str | None,
    keep: tuple[str, ...] = (),
) -> int:
    """Write a line for each row of `data`, with the columns that are to be kept first; answers how many there were."""
    if what not in ("labels", "scores", "probabilities"):
        raise UsageError(f"--what must be labels, scores or probabilities, got {what!r}.")
    option_values.check_memory(memory)
    if out != "-":
        outputs.check_file(out, path, data)
    saved = SavedModel.open(path, memory)
    head, columns_of_rows = _columns(saved, what)
    parts = saved.rows(data, reading, keep)
    first = list(
        itertools.islice(parts, 1)
    )  # whatever is wrong with the data shows before anything is written
    if keep and any(not part.kept for part in first):
        raise UsageError(
            f"--keep is for tables with named columns (CSV, Parquet), and {data} is none."
        )
    head = [*(first[0].kept if first else keep), *head]
    count = 0
    with outputs.open_output(out) as file, console.working(f"predicting {data}"):
        write = _json_lines(file, head) if as_json else _csv_lines(file, head)
        for part in itertools.chain(first, parts):
            write([*part.kept.values(), *columns_of_rows(part)])
            count += len(part)
    return count


def _columns(
    saved: SavedModel, what: str
) -> tuple[list[str], Callable[[Dataset], list[list[Any]]]]:
    """Names of the output's columns, and the function that fills them from rows."""
    estimator, learner = saved.model.estimator, anatomy(saved.model.estimator, fitted=True).learner
    if what == "labels":
        return ["label"], lambda rows: [labels_of(estimator, rows, saved.name).tolist()]
    if what == "probabilities" and not learner.has_probabilities:
        having = "logistic models have, and those that `pegasos tune` chose and calibrated; --what scores works for all"
        raise UsageError(f"this model ({model_of(learner).name}) has no probabilities: {having}.")
    classes = saved.model.classes.tolist()
    binary = what == "scores" and len(classes) == 2
    names = (
        ["score"]
        if binary
        else [f"{'score' if what == 'scores' else 'p'}_{label}" for label in classes]
    )

    def fill(rows: Dataset) -> list[list[Any]]:
        scores = scores_of(
            estimator, rows, saved.name
        )  # once: with a kernel they are nearly all of the work
        values = learner.probabilities_of(scores) if what == "probabilities" else scores
        return [
            learner.labels_of(scores).tolist(),
            *(column.tolist() for column in values.reshape(len(values), -1).T),
        ]

    return ["label", *names], fill


def _csv_lines(file: TextIO, head: list[str]) -> Callable[[list[list[Any]]], None]:
    """CSV exactly as labels are; only a terminal, which would obey control characters, gets them escaped."""
    writer = csv.writer(file, lineterminator="\n")
    shown = _plain if file.isatty() else list
    writer.writerow(shown(head))
    return lambda columns: writer.writerows(zip(*map(shown, columns), strict=True))


def _plain(values: list[Any]) -> list[Any]:
    return [plain(value) if isinstance(value, str) else value for value in values]


def _json_lines(file: TextIO, head: list[str]) -> Callable[[list[list[Any]]], None]:
    def write(columns: list[list[Any]]) -> None:
        file.writelines(
            console.as_json(dict(zip(head, row, strict=True))) + "\n"
            for row in zip(*columns, strict=True)
        )

    return write
