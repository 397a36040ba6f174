"""pegasos train."""

from __future__ import annotations

import shlex
import time
from typing import Annotated, Any

import typer

from pegasos.program.terminal import console
from pegasos.program.terminal.options import Data, LearningOptions, OutputOptions, ReadingOptions, RunningOptions

PLACE = 20
SHORT = "Train one model and save it."


def command(
    data: Data,
    learning: LearningOptions,
    reading: ReadingOptions,
    running: RunningOptions,
    talking: OutputOptions,
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="MODEL", help="perceptron, pegasos, logistic, sdca or sdca-logistic.")
    ] = "sdca",
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="Model file. Default: DATA's name + .model")
    ] = None,
) -> None:
    """Train one model, tell its errors on training and test rows, and save it.

    \b
    Examples:
      pegasos train my.csv
      pegasos train my.csv -m pegasos --kernel gaussian:8 --lam 1e-4 --n-iter 50000 -o my.model
      pegasos train my.csv -m logistic --expand 2 --drop-outliers 3 --test-size 0.25
    """
    from pegasos.program.jobs import outputs, training
    from pegasos.program.jobs.datasets import check_classes, check_source, load, split_rows, take
    from pegasos.program.pipelines import learned_rows

    begin = time.perf_counter()
    path = out if out is not None else f"{training.stem(data)}.model"
    training.check(model, learning, running)
    check_source(data)
    outputs.check_model_file(path, data)
    dataset = load(data, reading, running.memory)
    split = split_rows(dataset, running.test_size, running.seed)
    check_classes(dataset, split)
    rows = take(dataset, split.train)
    recipe = training.one_recipe(model, learning, rows, running)
    with console.working(f"training {model} on {len(rows)} rows"):
        training.fit(recipe, rows)
    errors = training.errors_of(recipe.estimator, dataset, split)
    seconds = time.perf_counter() - begin
    training.save_model(recipe.estimator, path, dataset, split, {"model": model, **errors}, seconds)
    facts = training.learner_facts(recipe.estimator, learned_rows(rows, learning.drop_outliers))
    result = {"model": path, "data": dataset.name, "learner": facts, "errors": errors}
    if talking.as_json:
        console.show_json({**result, "seconds": round(seconds, 2)})
    else:
        _show(result, data)


def _show(result: dict[str, Any], data: str) -> None:
    from pegasos.program.jobs.scoring import show_errors
    from pegasos.program.jobs.training import told_facts

    console.heading(f"{result['learner']['class']} on {result['data']}")
    for name, value in told_facts(result["learner"]).items():
        console.show(f"  {name}: {value}")
    console.show()
    show_errors(result["errors"])
    console.show()
    console.show(f"saved: {result['model']}")
    if data != "-":
        console.say(f"next:  {shlex.join(['pegasos', 'run', result['model'], data])}")
