"""Train one model: options, computation and output of `pegasos train`."""

from __future__ import annotations

import os
import shlex
import time
from typing import Annotated, Any

from pegasos.metrics import Measure
from pegasos.program.errors import UsageError
from pegasos.program.terminal import console
from pegasos.program.terminal.options import (
    MODEL_NAMES,
    Data,
    LearningOptions,
    ReadingOptions,
    RunningOptions,
    option,
)


def command(
    data: Data,
    learning: LearningOptions,
    reading: ReadingOptions,
    running: RunningOptions,
    model: Annotated[str, option("MODEL", f"One of {MODEL_NAMES}.", "--model", "-m")] = "sdca",
    out: Annotated[
        str | None, option("FILE", "Model file. Default: DATA's name + .model", "--out", "-o")
    ] = None,
    force: Annotated[bool, option(None, "Replace a model of the default name.", "--force")] = False,
) -> dict[str, Any]:
    """Train one model and save it.

    Examples
    --------
      pegasos train my.csv
      pegasos train my.csv -m pegasos --kernel gaussian:8 --lam 1e-4 --n-iter 50000 -o my.model
      pegasos train large.parquet --kernel gaussian --landmarks 2000
      pegasos train my.csv -m sdca-logistic --expand 2 --drop-outliers 3 --test-size 0.25
      pegasos train 'flights/*.parquet' --memory 2GB
      pegasos train 'flights/*.parquet' --cluster tcp://scheduler:8786

    Errors are shown for training and test rows. From a table (CSV, Parquet, svmlight) that does not
    fit into --memory, sdca and sdca-logistic learn in passes over temporary files of prepared rows,
    without a kernel or with --landmarks. With --cluster or --workers, Dask workers train these
    models; they need access to the folder of these files (TMPDIR).
    """
    from pegasos.learners.catalogue import make_learner
    from pegasos.nystroem import Nystroem
    from pegasos.program.datasets import check_source, stem
    from pegasos.program.grids import SEARCH_ROWS
    from pegasos.program.learning.clusters import cluster_of
    from pegasos.program.learning.tables import open_table, why_not_in_passes
    from pegasos.program.pipelines import chosen_scale, learned_rows, scale_words
    from pegasos.program.records.fitted import learner_facts
    from pegasos.program.terminal import option_values

    begin = time.perf_counter()
    option_values.single(option_values.check([model], learning))
    check_source(data)
    path = out or f"{stem(data)}.model"
    console.check_output(path, data, what="a model")
    if out is None and not force and os.path.exists(path):
        raise UsageError(f"{path} exists: --force replaces it, or give another name with -o.")
    if running.asks_for_cluster and (why := why_not_in_passes(learning, model)) is not None:
        raise UsageError(f"--cluster and --workers of train: {why}.")
    with cluster_of(running) as client:
        table = open_table(data, reading, running, learning, SEARCH_ROWS, model)
        rows, _ = table.search_rows
        count = table.training_rows
        if learning.drop_outliers is not None:
            count = learned_rows(rows, learning.drop_outliers)
        settings = option_values.single(option_values.grids(learning, count, table.classes))
        expand, landmarks = settings.pop("expand", None), settings.pop("landmarks", None)
        nystroem = None
        if landmarks is not None:
            kernel = settings.pop("kernel", "gaussian")
            nystroem = Nystroem(kernel, landmarks, memory=running.memory, random_state=running.seed)
        learner = make_learner(model, {**settings, "seed": running.seed, "memory": running.memory})
        console.say(scale_words(chosen_scale(rows, learning.scale), learning.scale))
        found = table.fit(
            learner,
            client,
            scale=learning.scale,
            expand=expand,
            drop_outliers=learning.drop_outliers,
            nystroem=nystroem,
        )
    seconds = round(time.perf_counter() - begin, 2)
    table.save(found, path, seconds=seconds)
    facts = learner_facts(found.estimator, found.learned)
    made = {"model": path, "data": table.name, "learner": facts, "errors": found.errors}
    return {**made, "seconds": seconds, "figures": found.figures}


def show(found: dict[str, Any]) -> None:
    """Print the facts of the model, its errors, and the command that evaluates it."""
    from pegasos.program.pages.wording import verdict_words
    from pegasos.program.views import show_errors, show_learner

    console.heading(f"{found['learner'].learner} on {found['data']}")
    show_learner(found["learner"])
    console.show()
    show_errors(found["errors"])
    if words := verdict_words(found["figures"].get("test"), Measure("error")):
        console.show()
        console.heading(words, "")
    console.show("", f"saved: {found['model']}")
    if found["data"] != "-":
        console.say(f"next:  {shlex.join(['pegasos', 'evaluate', found['model'], found['data']])}")
