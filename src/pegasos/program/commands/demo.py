"""Tune and evaluate models on two small data sets."""

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
    SearchOptions,
    option,
)

if TYPE_CHECKING:
    from pegasos.program.records.runs import EvaluationRecord, TuneRecord

PLACE = 80
SHORT = "Take a tour in a minute or two."

_SETS = ("digits", "quadric")
_MODELS = ["perceptron", "pegasos", "pegasos-logistic", "sdca"]


def command(
    talking: OutputOptions,
    out: Annotated[str, option("DIR", "Folder of the runs.", "--out", "-o")] = "runs/demo",
) -> None:
    """Take a tour in a minute or two: tune every kind of model on two data sets, save the best.

    Examples
    --------
      pegasos demo
      pegasos demo -o somewhere --json
    """
    from pegasos.program.views import give

    results = {name: _tour(name, out, talking.as_json) for name in _SETS}
    found = {name: {"tune": tuned, "run": checked} for name, (tuned, checked) in results.items()}
    give(found, talking.as_json, lambda: _show(*results.values()))


def _show(*results: tuple[TuneRecord, EvaluationRecord]) -> None:
    console.heading("Results")
    for tuned, _ in results:
        test = tuned.errors["test"]
        share = console.percent(test.mistakes / test.rows)
        wrong = f"{test.mistakes} errors on {test.rows} test rows ({share})"
        searched = f"best of {len(tuned.cells)} settings in {tuned.seconds:.0f} s"
        console.show(f"  {tuned.model}: {wrong}, {searched}")
        console.show(f"  {tuned.page}: open it in a browser")
    console.show()
    console.heading(
        "Next",
        "  pegasos describe MY.csv     statistics and advice",
        "  pegasos tune MY.csv         the same tour on your data",
        "  pegasos models              all models and kernels",
    )


def _tour(name: str, out: str, silent: bool) -> tuple[TuneRecord, EvaluationRecord]:
    from pegasos.program.commands.evaluate import evaluate
    from pegasos.program.commands.tune.search import TuneJob
    from pegasos.program.commands.tune.tuning import tune
    from pegasos.program.commands.tune.view import show_tune

    search = SearchOptions(models=_MODELS, force=True)
    options = (JudgingOptions(), LearningOptions(), ReadingOptions(), RunningOptions())
    found = tune(TuneJob(name, str(Path(out) / name), search, *options))
    checked = evaluate(found.model, name, ReadingOptions(), None)
    if not silent:
        show_tune(found)
        console.show()
    return found, checked
