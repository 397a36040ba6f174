"""Predictions of a saved model, written while the rows are read: neither file is ever held whole."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from pegasos.cli.misuse import Misuse
import numpy as np

from pegasos.cli import cards, console
from pegasos.cli.options import Reading
from pegasos.cli.rows import chunks
from pegasos.modelfile import Model, read_model

Array = np.ndarray[Any, Any]


def predict(path: str, data: str, out: str, what: str, as_json: bool, reading: Reading, memory: str | None) -> int:
    """Write a line for each row of `data`; answers how many there were."""
    if what not in ("labels", "scores", "probabilities"):
        raise Misuse(f"--what must be labels, scores or probabilities, got {what!r}.")
    model = read_model(path, limit=memory)
    head, columns_of_rows = _columns(model, what)
    parts = chunks(data, cards.columns_of(model, path), cards.wants_frame(model), cards.label_of(model), reading, memory)
    count = 0
    with _opened(out) as file, console.working(f"predicting {data}"):
        write = _json_lines(file, head) if as_json else _csv_lines(file, head)
        for part in parts:
            write(columns_of_rows(part.X))
            count += len(part)
    return count


def _columns(model: Model, what: str) -> tuple[list[str], Callable[[Any], list[list[Any]]]]:
    """Names of the output's columns, and the function that fills them from rows."""
    estimator, classes = model.estimator, model.classes
    if what == "labels":
        return ["label"], lambda X: [estimator.predict(X).tolist()]
    method = "decision_function" if what == "scores" else "predict_proba"
    try:
        values = getattr(estimator, method)
    except AttributeError:
        raise Misuse(
            f"this model has no {what}: probabilities exist for logistic models; --what scores works for all."
        ) from None
    binary = what == "scores" and len(classes) == 2
    names = ["score"] if binary else [f"{'score' if what == 'scores' else 'p'}_{label}" for label in classes.tolist()]

    def fill(X: Any) -> list[list[Any]]:
        found = np.asarray(values(X))
        found = found.reshape(len(found), -1)
        index = (found[:, 0] > 0).astype(np.intp) if binary else found.argmax(axis=1)
        return [classes[index].tolist(), *(column.tolist() for column in found.T)]

    return ["label", *names], fill


def _csv_lines(file: TextIO, head: list[str]) -> Callable[[list[list[Any]]], None]:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(head)
    return lambda columns: writer.writerows(zip(*columns, strict=True))


def _json_lines(file: TextIO, head: list[str]) -> Callable[[list[list[Any]]], None]:
    def write(columns: list[list[Any]]) -> None:
        for row in zip(*columns, strict=True):
            file.write(json.dumps(dict(zip(head, row, strict=True)), ensure_ascii=False) + "\n")

    return write


@contextlib.contextmanager
def _opened(out: str) -> Iterator[TextIO]:
    """Standard output, or a file that appears under its name only when it is complete."""
    if out == "-":
        yield sys.stdout
        return
    unfinished = Path(f"{out}.part")
    try:
        with unfinished.open("w", encoding="utf-8", newline="") as file:
            yield file
        os.replace(unfinished, out)
    finally:
        unfinished.unlink(missing_ok=True)
