"""Predict new rows with a saved model, block by block: no file is held in memory as a whole."""

from __future__ import annotations

import csv
import itertools
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TextIO

from pegasos.program.errors import UsageError
from pegasos.program.tables.messages import listed, plain, shown
from pegasos.program.terminal import console
from pegasos.program.terminal.options import Data, Memory, ModelFile, ReadingOptions, option

if TYPE_CHECKING:
    from pegasos.program.saved_models import SavedModel
    from pegasos.program.tables.dataset import Dataset


def command(
    model: ModelFile,
    data: Data,
    reading: ReadingOptions,
    out: Annotated[str, option("FILE", "CSV file; - for standard output.", "--out", "-o")] = "-",
    what: Annotated[
        str, option("labels|scores|probabilities", "Values to write besides the labels.")
    ] = "labels",
    keep: Annotated[
        list[str] | None,
        option("COLUMN", "Copy a column to the output, such as an ID; repeatable."),
    ] = None,
    memory: Memory = None,
) -> None:
    """Predict labels, scores or probabilities of new rows.

    Examples
    --------
      pegasos predict my.model new.csv -o labels.csv
      cat new.csv | pegasos predict my.model - > labels.csv
      pegasos predict my.model new.csv --what probabilities --keep customer_id

    Rows keep their order. Columns are matched by name; further columns are ignored. Large files are
    streamed. Scores of two classes are one column, positive for the second class. Logistic models
    and all models chosen by tune have probabilities. A threshold chosen by tune decides the label.
    With --json each row is one line of JSON.
    """
    from pegasos.program.saved_models import SavedModel

    if what not in ("labels", "scores", "probabilities"):
        raise UsageError(f"--what must be labels, scores or probabilities, got {what!r}.")
    if out != "-":
        console.check_output(out, model, data)
    saved = SavedModel.open(model, memory)
    if what == "probabilities":
        saved.check_probabilities("--what scores works for every model")
    parts = saved.rows(data, reading, tuple(keep or ()))
    first = list(itertools.islice(parts, 1))  # errors of the data come before any output
    if keep and any(not part.kept for part in first):
        raise UsageError(
            f"--keep needs a table with named columns (CSV, Parquet); {data} has none."
        )
    head = [*(first[0].kept if first else keep or ()), "label", *_names(saved, what)]
    count, unseen = 0, dict[str, Counter[str]]()
    with console.open_output(out) as file, console.working(f"predicting {data}"):
        write = _writer(file, head)
        for part in itertools.chain(first, parts):
            write([*part.kept.values(), *_values(saved, what, part)])
            count += len(part)
            for name, words in saved.unseen_words(part):
                unseen.setdefault(name, Counter()).update(words)
    _report_unseen(unseen)
    if out != "-":
        console.say(f"{count} rows: {out}")


def _names(saved: SavedModel, what: str) -> list[str]:
    """Return the names of the columns of scores or probabilities."""
    if what == "labels":
        return []
    if what == "scores" and len(saved.class_texts) == 2:
        return ["score"]
    prefix = "score" if what == "scores" else "p"
    return [f"{prefix}_{label}" for label in saved.model.classes.tolist()]


def _values(saved: SavedModel, what: str, rows: Dataset) -> list[list[Any]]:
    """Return the predicted labels, and the columns beside them."""
    scores = saved.scores(rows)
    labels = saved.learner.labels_of(scores).tolist()
    if what == "labels":
        return [labels]
    values = scores if what == "scores" else saved.probabilities(rows, scores)
    return [labels, *values.reshape(len(values), -1).T.tolist()]


def _report_unseen(unseen: dict[str, Counter[str]]) -> None:
    """Report categories that no training row has; each is encoded as zeros."""
    for name, words in unseen.items():
        if rows := words.total():
            console.say(
                f"column {shown(name)}: {rows} row{'s have' if rows > 1 else ' has'} a category "
                f"that is not in the training rows ({listed(words, 5)}); it is ignored"
            )


def _writer(file: TextIO, head: list[str]) -> Callable[[list[list[Any]]], None]:
    """Return a function that writes columns as lines of JSON or of CSV, which has a first line.

    On a terminal control characters are escaped.
    """
    if console.state.as_json:

        def write(columns: list[list[Any]]) -> None:
            rows = (dict(zip(head, row, strict=True)) for row in zip(*columns, strict=True))
            file.writelines(f"{console.as_json(row)}\n" for row in rows)

        return write
    writer, escaped = csv.writer(file, lineterminator="\n"), file.isatty()

    def safe(values: list[Any]) -> list[Any]:
        return [plain(each) if escaped and isinstance(each, str) else each for each in values]

    writer.writerow(safe(head))
    return lambda columns: writer.writerows(zip(*map(safe, columns), strict=True))
