from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pegasos.program.terminal import console
from pegasos.program.terminal.options import (
    JudgingOptions,
    LearningOptions,
    OutputOptions,
    ReadingOptions,
    RunningOptions,
    option,
)

if TYPE_CHECKING:
    from pegasos.program.records.runs import EvaluationRecord, TuneRecord

PLACE = 80
SHORT = "A tour in a minute or two."

_SETS = ("digits", "quadric")
_MODELS = ["perceptron", "pegasos", "pegasos-logistic", "sdca"]


def command(
    talking: OutputOptions,
    out: Annotated[
        str, option("DIR", "Folder of the runs and of the report.", "--out", "-o")
    ] = "runs/demo",
) -> None:
    """A tour in a minute or two: tune every kind of model on two small sets, save the best, and run it.

    \b
    Examples:
      pegasos demo
      pegasos demo -o somewhere --json
    """
    from pegasos.program.views import give

    results = {name: _tour(name, out, talking.as_json) for name in _SETS}
    found = {name: {"tune": tuned, "run": checked} for name, (tuned, checked) in results.items()}
    give(found, talking.as_json, lambda: _show(*results.values()))


def _show(*results: tuple[TuneRecord, EvaluationRecord]) -> None:
    console.heading("What you have now")
    for tuned, _ in results:
        test = tuned.errors["test"]
        wrong = f"{test.mistakes} of {test.rows} test rows wrong ({console.percent(test.mistakes / test.rows)})"
        console.show(
            f"  {tuned.model}: {wrong}, the best of {len(tuned.cells)} settings in {tuned.seconds:.0f} s"
        )
        console.show(f"  {tuned.page}: open it in a browser")
    console.show()
    console.heading(
        "Your turn",
        "  pegasos describe MY.csv     what is in it",
        "  pegasos tune MY.csv         the same tour on your data",
        "  pegasos models              what else can be trained",
    )


def _tour(name: str, out: str, silent: bool) -> tuple[TuneRecord, EvaluationRecord]:
    from pegasos.program.commands.evaluate import evaluate
    from pegasos.program.commands.tune.search import TuneJob
    from pegasos.program.commands.tune.tuning import tune
    from pegasos.program.views import show_tune

    options = (LearningOptions(), ReadingOptions(), RunningOptions())
    found = tune(
        TuneJob(name, str(Path(out) / name), _MODELS, 5, JudgingOptions(), None, None, *options)
    )
    checked = evaluate(found.model, name, ReadingOptions(), None)
    if not silent:
        show_tune(found)
        console.show()
    return found, checked
