from __future__ import annotations

from pegasos.metrics import measure_of
from pegasos.program.terminal import console
from pegasos.program.terminal.options import (
    Data,
    JudgingOptions,
    Memory,
    ModelFile,
    OutputOptions,
    ReadingOptions,
)

PLACE = 30
SHORT = "Errors of a saved model, training rows apart."
ALIASES = ("evaluate",)


def command(
    model: ModelFile,
    data: Data,
    reading: ReadingOptions,
    judging: JudgingOptions,
    talking: OutputOptions,
    memory: Memory = None,
) -> None:
    """Errors of a saved model on labelled rows; rows that it was trained on are counted apart.

    \b
    Examples:
      pegasos run my.model my.csv
      pegasos run my.model later.csv --json
      pegasos run my.model later.csv --metric average-precision --positive churned

    Rows are known again by a hash of their values and label, whatever the file's format or order. The test error is that on
    rows which the model has never seen; no row is left out. Beside each figure stands what always guessing would give. The
    metric is the one that the model was chosen by, unless --metric names another.
    """
    from pegasos.program.jobs.evaluation import evaluate
    from pegasos.program.jobs.views import give, show_confusion, show_errors, show_figures
    from pegasos.program.pages.wording import verdict_words

    found = evaluate(model, data, reading, memory, judging)

    def show() -> None:
        console.heading(f"{found.model} on {found.data}", "")
        show_errors(found.errors)
        console.show()
        if found.metric != "error":
            show_figures(found.figures, measure_of(found.metric), found.positive)
            console.show()
        for name, figure in found.figures.items():
            if name != "training" and (words := verdict_words(figure, measure_of(found.metric))):
                console.heading(words, "")
        console.show(*found.notes, *([""] if found.notes else []))
        console.heading(f"Confusion, {found.confusion.rows}", "")
        show_confusion(found.confusion)

    give(found, talking.as_json, show)
