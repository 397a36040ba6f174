"""Compare settings and save the best model: the options and the view of `pegasos tune`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegasos.program.terminal import options

if TYPE_CHECKING:
    from pegasos.program.records.runs import TuneRecord


def command(
    data: options.Data,
    search: options.SearchOptions,
    learning: options.LearningOptions,
    reading: options.ReadingOptions,
    running: options.RunningOptions,
    judging: options.JudgingOptions,
) -> TuneRecord:
    """Find the best model by cross-validation and save it.

    Examples
    --------
      pegasos tune my.csv
      pegasos tune my.csv --kernel gaussian:0.1s:10s:7 --lam 1e-6:1e-2:9 -o runs/mine
      pegasos tune my.csv -m pegasos -m perceptron --kernel polynomial:2,3 --n-iter 1000,10000
      pegasos tune churn.csv --metric average-precision --positive churned
      pegasos tune churn.csv --threshold precision=0.8 --positive churned
      pegasos tune fraud.csv --error-cost 'fraud>ok:20,ok>fraud:1'

    Test rows (--test-size, or the file's own test group) take no part in the choice. After the
    test error is measured, the chosen model is refitted on all rows and saved.

    By default linear, Gaussian and cubic models are compared over C and the variance on up to 2,000
    rows; the best ones and their neighbors are then compared on up to 20,000 rows. A grid given by
    --kernel, --C and similar options is evaluated completely on all rows.

    DIR contains best.model, results.csv with all settings, and the page report.html. The same
    command resumes an interrupted run; --force replaces a finished one, and settings that were
    evaluated in this folder are reused.

    A table that exceeds --memory is searched on a sample of its rows; the choice is then trained
    on all training rows. With --cluster or --workers, Dask workers evaluate folds and kernels.
    """
    from pegasos.program.commands.tune.run import tune
    from pegasos.program.commands.tune.search import TuneJob
    from pegasos.program.datasets import stem

    folder = search.out or f"runs/{stem(data)}"
    return tune(TuneJob(data, folder, search, judging, learning, reading, running))


def json_of(found: TuneRecord) -> dict[str, Any]:
    """Return the record as JSON, with the chosen cell."""
    from pegasos.program.records.codec import to_json

    choice = {"choice": to_json(found.choice), "better_than_baseline": found.better_than_baseline}
    return {**to_json(found), **choice}


def show(found: TuneRecord) -> None:
    """Print the result and the next commands."""
    from pegasos.program.views import show_tune

    show_tune(found)
