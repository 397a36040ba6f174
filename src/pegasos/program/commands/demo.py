"""pegasos demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pegasos.program.terminal import console
from pegasos.program.terminal.options import LearningOptions, OutputOptions, ReadingOptions, RunningOptions

PLACE = 80
SHORT = "A tour in less than a minute."

_SETS = ("digits", "quadric")
_MODELS = ["perceptron", "pegasos", "logistic", "sdca"]


def command(
    talking: OutputOptions,
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="Folder of the runs and of the report.")] = "runs/demo",
) -> None:
    """A tour in less than a minute: tune every kind of model on two small sets, save the best, and run it.

    \b
    Examples:
      pegasos demo
      pegasos demo -o somewhere --json
    """
    results = {name: _tour(name, out, talking.as_json) for name in _SETS}
    if talking.as_json:
        console.show_json(results)
        return
    console.heading("What you have now")
    for name in _SETS:
        tuned = results[name]["tune"]
        console.show(f"  {tuned['model']}: {_sentence(results[name])}")
        console.show(f"  {tuned['page']}: open it in a browser")
    console.show()
    console.heading("Your turn")
    console.show("  pegasos describe MY.csv     what is in it")
    console.show("  pegasos tune MY.csv         the same tour on your data")
    console.show("  pegasos models              what else can be trained")


def _tour(name: str, out: str, silent: bool) -> dict[str, Any]:
    from pegasos.program.jobs import tuning
    from pegasos.program.jobs.evaluation import evaluate

    folder = str(Path(out) / name)
    plan = tuning.Plan(name, folder, _MODELS, 5, "accuracy", None, None, LearningOptions(), ReadingOptions(), RunningOptions())
    found = tuning.tune(plan)
    checked = evaluate(found["model"], name, ReadingOptions(), None)
    if not silent:
        tuning.show(found, told_next=False)
        console.show()
    return {"tune": found, "run": checked}


def _sentence(result: dict[str, Any]) -> str:
    test, tuned = result["run"]["errors"]["test"], result["tune"]
    wrong = f"{test['mistakes']} of {test['rows']} test rows wrong ({console.percent(test['error'])})"
    return f"{wrong}, the best of {tuned['cells']} settings in {tuned['seconds']:.0f} s"
