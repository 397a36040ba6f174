"""Tune and evaluate models on two small data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pegasos.program.commands import evaluate, tune
from pegasos.program.terminal import console
from pegasos.program.terminal.options import (
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
    found: dict[str, Any] = {}
    for name in _SETS:
        search = SearchOptions(models=_MODELS, force=True, out=str(Path(out) / name))
        options = (LearningOptions(), ReadingOptions(), RunningOptions(), JudgingOptions())
        tuned = tune.command(name, search, *options)
        checked = evaluate.command(tuned.model, name, ReadingOptions(), JudgingOptions())
        found[name] = {"tune": tuned, "run": checked}
        if not console.state.as_json:
            tune.show(tuned)
            console.show()
    return found


def show(found: dict[str, dict[str, Any]]) -> None:
    """Print what to try next; each result is printed when it is found."""
    console.heading(
        "Next",
        *(f"  open {each['tune'].page} in a browser" for each in found.values()),
        "  pegasos describe MY.csv     statistics and advice",
        "  pegasos tune MY.csv         the same tour on your data",
        "  pegasos models              all models and kernels",
    )
