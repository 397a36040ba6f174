from __future__ import annotations

import shlex
from typing import Annotated

from pegasos.metrics import Measure
from pegasos.program.terminal import console
from pegasos.program.terminal.options import (
    MODEL_NAMES,
    ClusterOptions,
    Data,
    LearningOptions,
    OutputOptions,
    ReadingOptions,
    RunningOptions,
    option,
)

PLACE = 20
SHORT = "Train one model and save it."


def command(
    data: Data,
    learning: LearningOptions,
    reading: ReadingOptions,
    running: RunningOptions,
    where: ClusterOptions,
    talking: OutputOptions,
    model: Annotated[str, option("MODEL", f"One of {MODEL_NAMES}.", "--model", "-m")] = "sdca",
    out: Annotated[
        str | None, option("FILE", "Model file. Default: DATA's name + .model", "--out", "-o")
    ] = None,
) -> None:
    """Train one model, show its errors on training and test rows, and save it.

    \b
    Examples:
      pegasos train my.csv
      pegasos train my.csv -m pegasos --kernel gaussian:8 --lam 1e-4 --n-iter 50000 -o my.model
      pegasos train large.parquet --kernel gaussian --landmarks 2000
      pegasos train my.csv -m sdca-logistic --expand 2 --drop-outliers 3 --test-size 0.25
      pegasos train 'flights/*.parquet' --memory 2GB
      pegasos train 'flights/*.parquet' --cluster tcp://scheduler:8786

    A table (CSV, Parquet, svmlight) that does not fit into --memory is learned by sdca and sdca-logistic, without a kernel or
    with --landmarks, in passes over a temporary file of prepared rows. With --cluster or --workers these models are learned by
    the workers: they get the prepared rows, or read that file, whose folder (TMPDIR) they must see.
    """
    from pegasos.program.jobs.training import stem, train
    from pegasos.program.pages.wording import verdict_words
    from pegasos.program.views import give, show_errors, show_learner

    found = train(
        data,
        model,
        out if out is not None else f"{stem(data)}.model",
        learning,
        reading,
        running,
        where,
    )

    def show() -> None:
        console.heading(f"{found.learner.learner} on {found.data}")
        show_learner(found.learner)
        console.show()
        show_errors(found.errors)
        if words := verdict_words(found.figures.get("test"), Measure("error")):
            console.show()
            console.heading(words, "")
        console.show("", f"saved: {found.model}")
        if data != "-":
            console.say(f"next:  {shlex.join(['pegasos', 'evaluate', found.model, data])}")

    give(found, talking.as_json, show)
