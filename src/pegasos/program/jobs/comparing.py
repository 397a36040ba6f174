"""The work behind `compare`: the rows, the metric, the contest, and its page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pegasos.metrics import METRICS, Metric
from pegasos.program.comparing import LEARNERS, compare_rows
from pegasos.program.errors import UsageError
from pegasos.program.jobs import outputs
from pegasos.program.jobs.datasets import load
from pegasos.program.jobs.tuning import MOST_SECONDS
from pegasos.program.pages import report
from pegasos.program.records.comparisons import Comparison
from pegasos.program.tables.dataset import Dataset, take
from pegasos.program.tables.messages import near
from pegasos.program.terminal import console, judging_values
from pegasos.program.terminal.options import JudgingOptions, ReadingOptions


@dataclass(frozen=True)
class CompareJob:
    """Everything that the command line asks of compare."""

    data: str
    models: list[str]
    cv: int
    repeats: int
    max_time: float | None
    seed: int
    out: str | None
    reading: ReadingOptions
    judging: JudgingOptions


def compare_data(job: CompareJob) -> Comparison:
    """Compare on the rows of a file or a set; with `out` the page is written, once all is done."""
    _check(job)
    dataset = load(job.data, job.reading)
    if dataset.test is not None:
        console.say(
            f"note: the file's own test group, {int(dataset.test.sum())} rows, takes no part."
        )
        dataset = take(dataset, np.flatnonzero(~dataset.test))
    metric = _metric(job, dataset)
    fits = (len(job.models) or len(LEARNERS)) * job.cv * job.repeats
    with console.working(
        f"comparing learners on {job.cv * job.repeats} splits", "fits", fits
    ) as progress:

        def done() -> None:
            progress.count += 1

        found = compare_rows(
            dataset, metric, job.models, job.cv, job.repeats, job.max_time, job.seed, done
        )
    if job.out is not None:
        with console.working(f"writing {job.out}"):
            report(found).save(Path(job.out))
    return found


def _check(job: CompareJob) -> None:
    """Refuse what means nothing before anything is read."""
    judging_values.check(job.judging)
    for each in job.models:
        if each not in LEARNERS:
            raise UsageError(
                f"--model {each!r}: compare knows {', '.join(LEARNERS)}.{near(each, list(LEARNERS))}"
            )
    if job.max_time is not None and not 0 < job.max_time <= MOST_SECONDS:
        raise UsageError(
            f"--max-time must be a number of seconds above 0, at most {MOST_SECONDS:g}; got {job.max_time:g}."
        )
    if job.out is not None:
        outputs.check_file(job.out, job.data, what="a page")


def _metric(job: CompareJob, rows: Dataset) -> Metric:
    found = judging_values.make_metric(job.judging, np.unique(rows.labels))
    if found is None:
        raise UsageError(
            f"compare knows the metrics {', '.join(METRICS)}; {job.judging.metric} is a scorer of scikit-learn."
        )
    try:
        return found.settled(rows.labels)
    except ValueError as error:
        raise UsageError(f"--metric {found.name}: {error}") from None
