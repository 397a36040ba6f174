"""Tune and evaluate models on two small data sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pegasos.program.terminal import console
from pegasos.program.terminal.options import (
    JudgingOptions,
    LearningOptions,
    ReadingOptions,
    RunningOptions,
    SearchOptions,
    option,
)

if TYPE_CHECKING:
    from pegasos.program.records.runs import TuneRecord

_SETS = ("digits", "quadric")
_MODELS = ["perceptron", "pegasos", "pegasos-logistic", "sdca"]


def command(
    out: Annotated[str, option("DIR", "Folder of the runs.", "--out", "-o")] = "runs/demo",
) -> dict[str, Any]:
    """Take a tour in a minute or two: tune on two small data sets.

    Examples
    --------
      pegasos demo
      pegasos demo -o somewhere --json
    """
    return {name: _tour(name, out) for name in _SETS}


def show(found: dict[str, dict[str, Any]]) -> None:
    """Print the errors on test rows and what to try next."""
    console.heading("Results")
    for each in found.values():
        tuned: TuneRecord = each["tune"]
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


def _tour(name: str, out: str) -> dict[str, Any]:
    from pegasos.program.commands.evaluate import command as evaluate
    from pegasos.program.commands.tune.run import tune
    from pegasos.program.commands.tune.search import TuneJob
    from pegasos.program.views import show_tune

    search = SearchOptions(models=_MODELS, force=True)
    options = (JudgingOptions(), LearningOptions(), ReadingOptions(), RunningOptions())
    found = tune(TuneJob(name, str(Path(out) / name), search, *options))
    checked = evaluate(found.model, name, ReadingOptions(), JudgingOptions())
    if not console.state.as_json:
        show_tune(found)
        console.show()
    return {"tune": found, "run": checked}
