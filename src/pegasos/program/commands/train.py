"""pegasos train."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from pegasos.program.terminal import console
from pegasos.program.terminal.options import MODEL_NAMES, Data, LearningOptions, OutputOptions, ReadingOptions, RunningOptions

PLACE = 20
SHORT = "Train one model and save it."


def command(
    data: Data,
    learning: LearningOptions,
    reading: ReadingOptions,
    running: RunningOptions,
    talking: OutputOptions,
    model: Annotated[str, typer.Option("--model", "-m", metavar="MODEL", help=f"One of {MODEL_NAMES}.")] = "sdca",
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="Model file. Default: DATA's name + .model")
    ] = None,
) -> None:
    """Train one model, show its errors on training and test rows, and save it.

    \b
    Examples:
      pegasos train my.csv
      pegasos train my.csv -m pegasos --kernel gaussian:8 --lam 1e-4 --n-iter 50000 -o my.model
      pegasos train my.csv -m logistic --expand 2 --drop-outliers 3 --test-size 0.25
    """
    from pegasos.program.jobs.training import stem, train
    from pegasos.program.records.codec import to_json

    path = out if out is not None else f"{stem(data)}.model"
    found = train(data, model, path, learning, reading, running)
    if talking.as_json:
        console.show_json(to_json(found))
        return
    from pegasos.program.jobs.views import show_errors, show_learner

    console.heading(f"{found.learner.learner} on {found.data}")
    show_learner(found.learner)
    console.show()
    show_errors(found.errors)
    console.show()
    console.show(f"saved: {found.model}")
    if data != "-":
        console.say(f"next:  {shlex.join(['pegasos', 'run', found.model, data])}")
