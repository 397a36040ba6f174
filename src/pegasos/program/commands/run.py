from __future__ import annotations

from pegasos.program.terminal import console
from pegasos.program.terminal.options import Data, Memory, ModelFile, OutputOptions, ReadingOptions

PLACE = 30
SHORT = "Errors of a saved model, training rows apart."
ALIASES = ("evaluate",)


def command(
    model: ModelFile,
    data: Data,
    reading: ReadingOptions,
    talking: OutputOptions,
    memory: Memory = None,
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
    from pegasos.program.jobs.views import give, show_confusion, show_errors

    found = evaluate(model, data, reading, memory)

    def show() -> None:
        console.heading(f"{found.model} on {found.data}", "")
        show_errors(found.errors)
        console.show(*found.notes, "")
        console.heading(f"Confusion, {found.confusion.rows}", "")
        show_confusion(found.confusion)

    give(found, talking.as_json, show)
