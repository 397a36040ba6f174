"""What tune writes beside the model: the record of the run, a line for each cell, and the page."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from pegasos.nystroem import Nystroem
from pegasos.program.commands.tune.search import Explored, TuneJob
from pegasos.program.files import as_csv, write_text
from pegasos.program.pages import record_sweep, save_record, write_report
from pegasos.program.records.codec import save
from pegasos.program.records.runs import TuneRecord, cell_records
from pegasos.program.tables.dataset import Dataset
from pegasos.program.tables.labels import label_text
from pegasos.program.terminal import console
from pegasos.program.terminal.options import (
    ReadingOptions,
)
from pegasos.program.terminal.reproduction import effective_kernel, expansion_degree, landmarks_of

#: Seconds of search from which the page's map may take some, too.
MAP_SECONDS = 10.0


def make_record(job: TuneJob, explored: Explored, begin: float, **found: Any) -> TuneRecord:
    """What a run found; `found`: what is known of rows, errors and the model that is kept."""
    search, metric = explored.search, explored.metric
    folder = Path(job.folder)
    return TuneRecord(
        source=job.data,
        folds=int(search.n_splits_),
        metric=job.metric,
        positive=None if metric is None or metric.positive is None else label_text(metric.positive),
        complete=bool(search.completed_),
        seed=job.running.seed,
        cells=cell_records(search, explored.learned, scoring=search.scoring),
        best=int(search.best_index_),
        simplest=search.simplest_index_,
        honest=search.honest_estimate(),
        advice=search.advice_,
        folder=job.folder,
        model=str(folder / "best.model"),
        page=str(folder / "report.html") if job.page else None,
        command=console.command_line(),
        seconds=round(time.perf_counter() - begin, 2),
        **found,
    )


def facts_of_card(record: TuneRecord, explored: Explored) -> dict[str, Any]:
    """What the card of the saved model says of the choice."""
    metric = explored.metric
    names = ("metric", "positive", "figures", "honest", "errors", "seconds", "threshold")
    found = {name: getattr(record, name) for name in names}
    found["calibration"] = None if record.calibration is None else record.calibration.kind
    found["costs"] = (
        []
        if metric is None
        else [(label_text(a), label_text(b), cost) for a, b, cost in metric.costs]
    )
    refitted = record.decision.saved_rows if record.decision.refitted else None
    return {**found, "value": record.choice.value, "refitted_rows": refitted}


def write_run(
    record: TuneRecord,
    search: Any,
    rows: Dataset,
    positions: Any,
    job: TuneJob,
    test: Dataset | None = None,
) -> None:
    """Write the files of a run beside the model: summary.json, results.csv, and the page; it explains the choice on `test`."""
    folder = Path(record.folder)
    save(folder / "summary.json", record)
    _write_cells(folder / "results.csv", record)
    if job.page:
        _write_page(record, search, rows, positions, job, test)


def _write_page(
    record: TuneRecord,
    search: Any,
    rows: Dataset,
    positions: Any,
    job: TuneJob,
    test: Dataset | None,
) -> None:
    """report.json, which has all that the page needs, and report.html, which is written from the folder alone."""
    size = job.running.test_size
    options = [
        *as_arguments(job.reading),
        *([] if size is None else ["--test-size", f"{size:g}"]),
    ]  # of every command line
    names = (
        "source",
        "command",
        "errors",
        "honest",
        "advice",
        "seconds",
        "decision",
        "positive",
        "figures",
        "calibration",
        "threshold",
    )
    found = {name: getattr(record, name) for name in names}
    with console.working("writing the page"):
        # A map by t-SNE takes seconds: where the search took less, principal components are drawn.
        page = record_sweep(
            search,
            rows,
            options=options,
            positions=positions,
            tsne=search.time_ > MAP_SECONDS,
            test=test,
            **found,
        )
        # The same cells as in summary.json, with the C of the rows that no outlier filter drops.
        save_record(record.folder, replace(page, cells=record.cells, saved=record.model))
        write_report(record.folder)


def as_arguments(reading: ReadingOptions) -> list[str]:
    """The options that read a file, as they stand on a command line.

    >>> as_arguments(ReadingOptions(label="kind", drop=["id", "name"], strict=True))
    ['--label', 'kind', '--drop', 'id', '--drop', 'name', '--strict']
    """
    arguments: list[str] = []
    for name, value in vars(reading).items():
        option = f"--{name}"
        if value is True:
            arguments.append(option)
        elif isinstance(value, list):
            arguments += [part for each in value for part in (option, each)]
        elif value is not None and value is not False:
            arguments += [option, str(value)]
    return arguments


def _write_cells(path: Path, record: TuneRecord) -> None:
    """results.csv: a line for each cell, kernels as the option --kernel takes them."""
    lines = []
    for cell in record.cells:
        setting = cell.setting
        line = {"cell": cell.number, "model": setting.model, "kernel": effective_kernel(setting)}
        line |= (
            {}
            if (part := landmarks_of(setting)) is None
            else {"landmarks": part.get("landmarks", Nystroem().landmarks)}
        )
        line |= {"expand": expansion_degree(setting), "lam": setting.lam, "C": cell.cost}
        line |= {} if setting.stop is None else {setting.stop.name: setting.stop.count}
        line |= {
            name: value for name, value in setting.options if isinstance(value, str | float | int)
        }
        line |= {record.measure.name: cell.value, "deviation": cell.deviation}
        line |= {"folds": sum(fold is not None for fold in cell.folds)}
        line |= {"support_vectors": cell.support_vectors, "gap": cell.gap}
        line |= {"stage": cell.stage}
        line |= {} if cell.first is None else {f"first_{record.measure.name}": cell.first}
        lines.append(line)
    write_text(path, as_csv(lines))
