"""pegasos predict."""

from __future__ import annotations

from typing import Annotated

import typer

from pegasos.program.terminal import console
from pegasos.program.terminal.options import Data, ModelFile, OutputOptions, ReadingOptions

PLACE = 40
SHORT = "Labels, scores or probabilities of new rows."


def command(
    model: ModelFile,
    data: Data,
    reading: ReadingOptions,
    talking: OutputOptions,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="CSV file; - is standard output.")] = "-",
    what: Annotated[
        str, typer.Option(metavar="labels|scores|probabilities", help="What to write beside the label of each row.")
    ] = "labels",
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Limit such as 2GB for the model and a chunk of rows.")
    ] = None,
) -> None:
    """Labels, scores or probabilities of new rows, in their order; files larger than memory are streamed.

    \b
    Examples:
      pegasos predict my.model new.csv -o labels.csv
      cat new.csv | pegasos predict my.model - > labels.csv
      pegasos predict my.model new.csv --what probabilities --json

    Columns are matched by name, in any order, and further columns are ignored. Scores of two classes are one column, positive for
    the second class. Probabilities exist for the logistic models. With --json each row is one line of JSON.
    """
    from pegasos.program.jobs.prediction import predict

    rows = predict(model, data, out, what, talking.as_json, reading, memory)
    if out != "-":
        console.say(f"{rows} rows: {out}")
