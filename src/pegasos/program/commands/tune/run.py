"""A run of `tune`: the search, the decision, the model of all rows, and the files of the run."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

from pegasos.program.commands.tune.search import TuneJob, explore
from pegasos.program.errors import UsageError
from pegasos.program.files import as_csv, only_one, write_text
from pegasos.program.grids import SEARCH_ROWS
from pegasos.program.learning.clusters import cluster_of
from pegasos.program.learning.tables import Choice, Learned, TrainingTable, open_table
from pegasos.program.pages.sweep_page import search_page
from pegasos.program.pipelines import chosen_scale, scale_words
from pegasos.program.records.codec import save
from pegasos.program.records.fitted import calibration_record, out_of_fold, search_record
from pegasos.program.records.runs import CellRecord, Decision, TuneRecord
from pegasos.program.tables.description import leaks
from pegasos.program.tables.labels import label_text
from pegasos.program.terminal import console, option_values
from pegasos.program.terminal.options import ReadingOptions
from pegasos.program.terminal.reproduction import (
    effective_kernel,
    expansion_degree,
    nystroem_of,
    scale_of,
)
from pegasos.search.decisions import Aim

#: Longest time for a search, in seconds: clocks and locks can count it.
_MOST_SECONDS = 1e9
#: Seconds of a search from which the page's map may take some, too: t-SNE took two to four of the
#: eight processor seconds of a run on 2,000 rows.
_MAP_SECONDS = 30.0
#: Test rows on which the page explains the choice.
_EXPLAINED_ROWS = 1000


def tune(job: TuneJob) -> TuneRecord:
    """Compare settings, save the best model, write the folder of the run, and return its record."""
    begin, until = time.perf_counter(), None
    if (Path(job.folder) / "summary.json").exists() and not job.search.force:
        raise UsageError(
            f"{job.folder} has a finished run: --force replaces it, and reuses what it evaluated; "
            "or give another folder with -o."
        )
    console.check_output_folder(job.folder)
    option_values.check(job.search.models, job.learning)
    option_values.check_metric(job.judging, job.search.threshold)
    if job.search.max_time is not None:
        until = time.monotonic() + min(job.search.max_time, _MOST_SECONDS)
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(cluster_of(job.running))
        most = job.search.sample or SEARCH_ROWS
        table = open_table(job.data, job.reading, job.running, job.learning, most)
        aim = _prepare(job, table)
        stack.enter_context(only_one(job.folder))  # creates it, once the data have been read
        choice = explore(job, table, until, client)
        decided = _decide(choice.search, aim)
        learned = table.finish(choice)
        seconds = round(time.perf_counter() - begin, 2)
        record = _make_record(job, table, choice, learned, **decided, seconds=seconds)
        table.save(learned, record.model, **_card_facts(record, choice))
        _write_run(job, record, choice, table)
    return record


def _prepare(job: TuneJob, table: TrainingTable) -> Aim | None:
    """Print notes on the searched rows, and return the aim of --threshold, if given."""
    rows, _ = table.search_rows
    if len(rows) < table.training_rows:
        drawn = f"drawn over all files by --seed {job.running.seed}"
        console.say(f"sample: {len(rows)} of {table.training_rows} training rows, {drawn}")
    for leak in leaks(rows.X, rows.columns, rows.labels):
        console.say(leak)
    if job.learning.scale == "auto" and (scale := chosen_scale(rows)) == "normalize":
        console.say(scale_words(scale, "auto"))
    if job.search.threshold is None:
        return None
    return option_values.make_aim(job.search.threshold, job.judging, rows.labels)


def _decide(search: Any, aim: Aim | None) -> dict[str, Any]:
    """Calibrate the chosen model on out-of-fold scores; choose its threshold if requested."""
    calibration = None
    try:
        classes, found = search.best_estimator_.classes_, search.calibrate()
        codes = search.out_of_fold_answers(probable=False).truth
        doubt = None if search.scale_warning_ is None else search.scale_warning_.fact
        calibration = calibration_record(found, codes, classes, search.positive_class(aim), doubt)
    except ValueError as error:
        console.say(f"note: no probabilities: {error}")
    try:
        threshold = None if aim is None else search.choose_threshold(aim)
    except ValueError as error:
        raise UsageError(f"--threshold: {error}") from None
    return {"calibration": calibration, "threshold": threshold}


def _make_record(
    job: TuneJob, table: TrainingTable, choice: Choice, learned: Learned, **facts: Any
) -> TuneRecord:
    """Return the record of a run; `facts` are further fields."""
    search, metric, folder = choice.search, choice.metric, Path(job.folder)
    decision = Decision(
        by=search.decided_by_,
        asked_folds=job.search.cv if job.search.validation is None else 1,
        max_time=job.search.max_time,
        fitted_rows=learned.fitted_rows,
        saved_rows=learned.saved_rows,
        all_wanted=learned.refits,
        split=table.split_kind,
        first_rows=search.first_rows_,
        search_rows=search.search_rows_,
    )
    return search_record(
        search,
        TuneRecord,
        choice.learned_rows,
        data=table.name,
        source=job.data,
        training_rows=table.training_rows,
        test_rows=table.test_rows,
        split=table.split_kind,
        scale=scale_of(search.settings_[search.best_index_]),
        positive=None if metric is None or metric.positive is None else label_text(metric.positive),
        decision=decision,
        seed=job.running.seed,
        honest=search.honest_estimate(),
        errors=learned.errors,
        figures={**out_of_fold(search), **learned.figures},
        folder=job.folder,
        model=str(folder / "best.model"),
        page=str(folder / "report.html") if job.search.page else None,
        command=console.command_line(),
        whole=learned.whole,
        **facts,
    )


def _card_facts(record: TuneRecord, choice: Choice) -> dict[str, Any]:
    """Return the entries on the chosen setting in the card of the saved model."""
    costs = () if choice.metric is None else choice.metric.costs
    names = ("metric", "positive", "figures", "honest", "seconds", "threshold")
    return {name: getattr(record, name) for name in names} | {
        "value": record.choice.value,
        "calibration": None if record.calibration is None else record.calibration.kind,
        "costs": [(label_text(true), label_text(said), cost) for true, said, cost in costs],
        "refitted_rows": record.decision.saved_rows if record.decision.refitted else None,
    }


def _write_run(job: TuneJob, record: TuneRecord, choice: Choice, table: TrainingTable) -> None:
    """Write summary.json, results.csv and the page."""
    folder = Path(record.folder)
    save(folder / "summary.json", record)
    lines = [_line(cell, record) for cell in record.cells]
    write_text(folder / "results.csv", as_csv(lines))
    if not job.search.page:
        return
    rows, positions = table.search_rows
    size = job.running.test_size
    options = _as_arguments(job.reading) + ([] if size is None else ["--test-size", f"{size:g}"])
    with console.working("writing the page"):
        # t-SNE takes seconds: after a shorter search the map shows principal components.
        page = search_page(
            record,
            choice.search,
            rows,
            options=options,
            positions=positions,
            tsne=choice.search.time_ > _MAP_SECONDS,
            test=table.test_sample(_EXPLAINED_ROWS),
        )
        page.save_json(folder)
        page.write(folder)


def _as_arguments(reading: ReadingOptions) -> list[str]:
    """Return the options that read a file as arguments of a command line.

    >>> _as_arguments(ReadingOptions(label="kind", drop=["id", "name"], strict=True))
    ['--label', 'kind', '--drop', 'id', '--drop', 'name', '--strict']
    """
    arguments: list[str] = []
    for name, value in vars(reading).items():
        if value is True:
            arguments.append(f"--{name}")
        elif value is not None and value is not False:
            values = value if isinstance(value, list) else [value]
            arguments += [part for each in values for part in (f"--{name}", str(each))]
    return arguments


def _line(cell: CellRecord, record: TuneRecord) -> dict[str, Any]:
    """Return a line of results.csv, with the kernel as --kernel takes it."""
    setting, measure = cell.setting, record.measure.name
    line = {"cell": cell.number, "model": setting.model, "kernel": effective_kernel(setting)}
    if (features := nystroem_of(setting)) is not None:
        line["landmarks"] = features.landmarks
    line |= {"expand": expansion_degree(setting), "lam": setting.lam, "C": cell.cost}
    if setting.stop is not None:
        line[setting.stop.name] = setting.stop.count
    line |= {name: each for name, each in setting.options if isinstance(each, str | float | int)}
    line |= {
        measure: cell.value,
        "deviation": cell.deviation,
        "folds": sum(fold is not None for fold in cell.folds),
        "support_vectors": cell.support_vectors,
        "gap": cell.gap,
        "stage": cell.stage,
    }
    return line if cell.first is None else line | {f"first_{measure}": cell.first}
