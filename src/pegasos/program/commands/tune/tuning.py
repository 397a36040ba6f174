"""The work behind `tune`: the search, the decision, the model of all rows, and the files of the run."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.base import clone

from pegasos.engine.runtime.interruption import Interrupted
from pegasos.program.commands.tune.files import facts_of_card, make_record, write_run
from pegasos.program.commands.tune.search import TuneJob, explore
from pegasos.program.datasets import Split, load_or_outline, split_rows
from pegasos.program.errors import UsageError
from pegasos.program.files import resumable
from pegasos.program.jobs import training
from pegasos.program.jobs.clusters import check_cluster, cluster_of
from pegasos.program.pipelines import Recipe, scale_words
from pegasos.program.records.decisions import CalibrationRecord, calibration_record
from pegasos.program.records.runs import Decision, TuneRecord, out_of_fold
from pegasos.program.scoring import predictor_scores
from pegasos.program.tables.dataset import Dataset, holds_pixels, take
from pegasos.program.tables.leaks import leaks
from pegasos.program.tables.read_options import Outline
from pegasos.program.terminal import console, option_values, outputs
from pegasos.program.terminal.reproduction import scale_of
from pegasos.search.anatomy import anatomy
from pegasos.search.decisions import Aim, Threshold, carry_over
from pegasos.search.two_stage import limited

#: Rows that tell how the scores of the refitted model compare with those before.
SCALE_ROWS = 2000
#: Test rows on which the page explains the choice.
EXPLAINED_ROWS = 1000
#: The longest time that a search may be given: clocks and locks can count it.
MOST_SECONDS = 1e9


def tune(job: TuneJob) -> TuneRecord:
    """Run the sweep, write the folder, and answer what was found."""
    with resumable(job.folder):
        return _tune(job)


def _tune(job: TuneJob) -> TuneRecord:
    begin, begin_clock = time.perf_counter(), time.monotonic()
    outputs.check_folder(job.folder)
    option_values.check(job.models, job.learning, job.running.memory)
    option_values.check_metric(
        job.judging, job.threshold
    )  # a name that means nothing is refused before anything is read
    check_cluster(job.where)
    if job.max_time is not None and not 0 < job.max_time <= MOST_SECONDS:
        raise UsageError(
            f"--max-time must be a number of seconds above 0, at most {MOST_SECONDS:g}; got {job.max_time:g}."
        )
    until = None if job.max_time is None else begin_clock + job.max_time
    dataset = load_or_outline(job.data, job.reading, job.running.memory)
    if isinstance(dataset, Outline):
        from pegasos.program.commands.tune.large import tune_large

        return tune_large(job, dataset, begin, until)
    split = split_rows(dataset, job.running.test_size, job.running.seed)
    rows = take(dataset, split.train)
    for leak in leaks(rows.X, rows.columns, rows.labels):
        console.say(leak)
    if job.learning.scale == "auto" and holds_pixels(rows.X):
        console.say(scale_words("normalize", "auto"))
    aim = (
        None
        if job.threshold is None
        else option_values.make_aim(job.threshold, job.judging, rows.labels)
    )
    with cluster_of(job.where) as cluster:
        explored = explore(job, rows, until, cluster)
    search = explored.search
    calibration, threshold = decide(search, aim)
    errors, figures = training.judged(search.best_estimator_, dataset, split, explored.metric)
    model, known = _refit_all(job, search, explored.recipe, dataset, split, until)
    saved = search.refit_rows_ if model is search.best_estimator_ else len(known)
    record = make_record(
        job,
        explored,
        begin,
        data=dataset.name,
        training_rows=len(split.train),
        test_rows=len(split.test),
        split=split.kind,
        scale=scale_of(search.settings_[search.best_index_]),
        decision=decided(
            job,
            search,
            search.refit_rows_,
            saved,
            job.refit_all and len(split.test) > 0,
            split.kind,
        ),
        errors=errors,
        figures={**out_of_fold(search), **figures},
        calibration=calibration,
        threshold=threshold,
    )
    training.save_model(
        model, record.model, dataset, split, known, **facts_of_card(record, explored)
    )
    test = take(dataset, split.test[:: 1 + len(split.test) // EXPLAINED_ROWS])
    write_run(record, search, rows, split.train, job, test)
    return record


def decided(
    job: TuneJob, search: Any, fitted_rows: int, saved_rows: int, all_wanted: bool, split: str
) -> Decision:
    return Decision(
        search.decided_by_,
        job.cv,
        job.max_time,
        fitted_rows,
        saved_rows,
        all_wanted,
        split,
        search.first_rows_,
        search.search_rows_,
    )


def decide(search: Any, aim: Aim | None) -> tuple[CalibrationRecord | None, Threshold | None]:
    """Calibrate the choice, and choose its threshold if one is wished for; both where its out-of-fold scores allow it."""
    calibration = None
    try:
        _, codes = search.out_of_fold_scores_and_codes()
        classes = search.best_estimator_.classes_
        found = search.calibrate()
        doubt = None if search.scale_warning_ is None else search.scale_warning_.fact
        calibration = calibration_record(found, codes, classes, search.positive_class(aim), doubt)
    except ValueError as error:
        console.say(f"note: no probabilities: {error}")
    if aim is None:
        return calibration, None
    try:
        return calibration, search.choose_threshold(aim)
    except ValueError as error:
        raise UsageError(f"--threshold: {error}") from None


def _refit_all(
    job: TuneJob, search: Any, recipe: Recipe, dataset: Dataset, split: Split, until: float | None
) -> tuple[Any, Any]:
    """Return the model that is kept and the rows that it knows: all of them, if time allows.

    Test rows of a class that no training row has are left out: calibration and threshold are those of the other classes.
    """
    known = np.isin(dataset.labels[split.test], dataset.labels[split.train])
    everyone = np.sort(np.concatenate([split.train, split.test[known]]))
    if not job.refit_all or not len(split.test) or search.refit_rows_ < len(split.train):
        return search.best_estimator_, split.train
    rows = take(dataset, everyone)
    model = clone(search.best_estimator_)
    try:
        with limited(until), console.working(f"refitting on all {len(rows)} rows"):
            model.fit(rows.X, rows.y, **recipe.weights_of(rows))
            both = search.best_estimator_, model
            some = take(
                dataset, np.sort(np.random.default_rng(0).permutation(split.train)[:SCALE_ROWS])
            )
            carry_over(
                *(anatomy(each, fitted=True).learner for each in both),
                *(predictor_scores(each, some) for each in both),
            )
            return model, everyone
    except Interrupted:
        return search.best_estimator_, split.train
