from __future__ import annotations

from typing import Annotated

from pegasos.program.terminal import console
from pegasos.program.terminal.options import (
    Data,
    Memory,
    ModelFile,
    OutputOptions,
    ReadingOptions,
    option,
)

PLACE = 40
SHORT = "Labels, scores or probabilities of new rows."


def command(
    model: ModelFile,
    data: Data,
    reading: ReadingOptions,
    talking: OutputOptions,
    out: Annotated[str, option("FILE", "CSV file; - is standard output.", "--out", "-o")] = "-",
    what: Annotated[
        str, option("labels|scores|probabilities", "What to write beside the label of each row.")
    ] = "labels",
    keep: Annotated[
        list[str], option("COLUMN", "Carry a column along as it is, such as an ID; repeatable.")
    ] = [],  # noqa: B006
    memory: Memory = None,
) -> None:
    """Labels, scores or probabilities of new rows, in their order; files larger than memory are streamed.

    \b
    Examples:
      pegasos predict my.model new.csv -o labels.csv
      cat new.csv | pegasos predict my.model - > labels.csv
      pegasos predict my.model new.csv --what probabilities --keep customer_id

    Columns are matched by name, in any order, and further columns are ignored. Scores of two classes are one column, positive for
    the second class. Probabilities exist for logistic models, and for all that tune chose: it calibrates them. A threshold that
    tune chose decides about labels. With --json each row is one line of JSON.
    """
    from pegasos.program.jobs.prediction import predict

    rows = predict(model, data, out, what, talking.as_json, reading, memory, tuple(keep))
    if out != "-":
        console.say(f"{rows} rows: {out}")
