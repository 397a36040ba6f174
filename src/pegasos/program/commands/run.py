"""pegasos run."""

from __future__ import annotations

from typing import Annotated

import typer

from pegasos.program.terminal import console
from pegasos.program.terminal.options import Data, ModelFile, OutputOptions, ReadingOptions

PLACE = 30
SHORT = "Errors of a saved model, training rows apart."
ALIASES = ("evaluate",)


def command(
    model: ModelFile,
    data: Data,
    reading: ReadingOptions,
    talking: OutputOptions,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Limit such as 2GB for the model and a chunk of rows.")
    ] = None,
) -> None:
    """Errors of a saved model on labelled rows; rows that it was trained on are counted apart.

    \b
    Examples:
      pegasos run my.model my.csv
      pegasos run my.model later.csv --json

    Rows are known again by a hash of their values and label, whatever the file's format or order. The test error is that on
    rows which the model has never seen; no row is left out.
    """
    from pegasos.program.jobs.evaluation import evaluate
    from pegasos.program.jobs.views import show_confusion, show_errors
    from pegasos.program.records.codec import to_json

    found = evaluate(model, data, reading, memory)
    if talking.as_json:
        console.show_json(to_json(found))
        return
    console.heading(f"{found.model} on {found.data}")
    console.show()
    show_errors(found.errors)
    for note in found.notes:
        console.show(note)
    console.show()
    console.heading(f"Confusion, {found.confusion.rows}")
    console.show()
    show_confusion(found.confusion)
