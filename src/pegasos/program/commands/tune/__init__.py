from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pegasos.program.terminal import console
from pegasos.program.terminal.options import (
    ClusterOptions,
    Data,
    JudgingOptions,
    LearningOptions,
    OutputOptions,
    ReadingOptions,
    RunningOptions,
    option,
)

if TYPE_CHECKING:
    from pegasos.program.records.runs import TuneRecord

PLACE = 50
SHORT = "Find, refit and save the best model."


def command(
    data: Data,
    learning: LearningOptions,
    reading: ReadingOptions,
    running: RunningOptions,
    where: ClusterOptions,
    judging: JudgingOptions,
    talking: OutputOptions,
    model: Annotated[
        list[str],
        option(
            "MODEL",
            "As in train; repeatable. Default: sdca, and sdca-logistic for linear predictors.",
            "--model",
            "-m",
        ),
    ] = [],  # noqa: B006 - typer copies it
    cv: Annotated[int, option("K", "Folds, by class (and by group).", min=2)] = 5,
    threshold: Annotated[
        str | None,
        option(
            "AIM",
            "For two classes: choose from which score on a row is positive; f1, cost, ..., precision=0.9, recall=0.8.",
        ),
    ] = None,
    jobs: Annotated[int | None, option("N", "Threads. It never changes a result.", min=1)] = None,
    max_time: Annotated[
        float | None,
        option("SECONDS", "Aim to be done by then, with the best that was found so far."),
    ] = None,
    refit_all: Annotated[
        bool,
        option(
            None,
            "Refit the choice on all rows, once its test error is told.",
            "--refit-all/--no-refit-all",
        ),
    ] = True,
    sample: Annotated[
        int | None,
        option(
            "ROWS",
            "Rows to compare settings on where a table does not fit into --memory. Default: 20,000 at most.",
            min=100,
        ),
    ] = None,
    page: Annotated[
        bool, option(None, "Write DIR/report.html, which shows the run.", "--page/--no-page")
    ] = True,
    out: Annotated[
        str | None, option("DIR", "Folder of the run. Default: runs/ + DATA's name.", "--out", "-o")
    ] = None,
) -> None:
    """Compare settings by cross-validation, refit the best one, save it, and estimate its error on new rows.

    \b
    Examples:
      pegasos tune my.csv
      pegasos tune my.csv --kernel gaussian:0.1s:10s:7 --lam 1e-6:1e-2:9 -o runs/mine
      pegasos tune my.csv -m pegasos -m perceptron --kernel polynomial:2,3 --n-iter 1000,10000
      pegasos tune churn.csv --metric average-precision --positive churned
      pegasos tune churn.csv --threshold precision=0.8 --positive churned
      pegasos tune fraud.csv --cost 'fraud>ok:20,ok>fraud:1'

    Some rows are set aside first (--test-size, or the file's own test group) and take no part in the choice; when its error on
    them is known, the choice is refitted on all rows and saved. Without --kernel, --lam and the like linear, Gaussian and cubic
    predictors are compared over λ and widths on 2,000 rows; the best ones and half steps around them are then compared on all
    rows, at most 20,000. A grid that is asked for is evaluated completely on all rows. The folder keeps what is done: the same
    command goes on after an interruption, and a changed grid uses what is there. DIR/best.model is the model, DIR/results.csv
    every cell, DIR/report.html a page that shows them.

    Of a table that does not fit into --memory a sample is searched (--sample), drawn over all files; its choice then learns from
    all rows as in train, a kernel through landmarks, and its error on all rows set aside is told. --cluster or --workers: folds
    and kernels are tried by the workers of a Dask cluster; no result changes.
    """
    from pegasos.program.commands.tune.search import TuneJob
    from pegasos.program.commands.tune.tuning import tune
    from pegasos.program.jobs.training import stem
    from pegasos.program.records.codec import to_json
    from pegasos.program.views import show_tune

    folder = out if out is not None else f"runs/{stem(data)}"
    asked = (learning, reading, running, page, refit_all, threshold, sample, where)
    found = tune(TuneJob(data, folder, list(model), cv, judging, jobs, max_time, *asked))
    if talking.as_json:
        console.show_json(
            {
                **to_json(found),
                "choice": to_json(found.choice),
                "better_than_guessing": found.better_than_guessing,
            }
        )
    else:
        show_tune(found)
        _show_next(found)


def _show_next(found: TuneRecord) -> None:
    from pegasos.program.pages.wording import loses_rare_classes
    from pegasos.program.records.runs import OUT_OF_FOLD
    from pegasos.program.terminal.reproduction import next_commands

    lost = loses_rare_classes(
        found.figures.get(OUT_OF_FOLD), found.measure, found.figures.get("test")
    )
    first, *rest = next_commands(found.model, found.source, found.command if lost else None)
    console.show("", f"next:  {first}", *(f"       {each}" for each in rest))
