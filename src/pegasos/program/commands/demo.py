"""Tune and evaluate models on two small data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pegasos.program.commands import evaluate, tune
from pegasos.program.terminal import console
from pegasos.program.terminal.options import (
    HERE,
    JudgingOptions,
    LearningOptions,
    ReadingOptions,
    RunningOptions,
    SearchOptions,
    option,
)

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
    from pegasos.program.views import show_tune

    found: dict[str, Any] = {}
    for name in _SETS:
        search = SearchOptions(models=_MODELS, force=True, out=str(Path(out) / name))
        options = (LearningOptions(), ReadingOptions(), RunningOptions(), HERE, JudgingOptions())
        tuned = tune.command(name, search, *options)
        checked = evaluate.command(tuned.model, name, ReadingOptions(), JudgingOptions())
        found[name] = {"tune": tuned, "run": checked}
        if not console.state.as_json:
            show_tune(tuned)
            console.show()
    return found


def show(found: dict[str, dict[str, Any]]) -> None:
    """Print the errors on test rows and what to try next."""
    console.heading("Results")
    for each in found.values():
        tuned = each["tune"]
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
