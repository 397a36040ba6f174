"""The files of a run of `tune` beside the model: its record, its cells, and the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from pegasos.nystroem import Nystroem
from pegasos.program.commands.tune.search import TuneJob
from pegasos.program.files import as_csv, write_text
from pegasos.program.learning.tables import Choice, TrainingTable
from pegasos.program.pages.sweep_page import search_page
from pegasos.program.pages.wording import whole_words
from pegasos.program.records.codec import save
from pegasos.program.records.runs import CellRecord, TuneRecord
from pegasos.program.tables.dataset import Array
from pegasos.program.terminal import console
from pegasos.program.terminal.options import ReadingOptions
from pegasos.program.terminal.reproduction import effective_kernel, expansion_degree, landmarks_of

#: Seconds of a search from which the page's map may take some, too.
_MAP_SECONDS = 10.0
#: Test rows on which the page explains the choice.
_EXPLAINED_ROWS = 1000


def write_run(
    job: TuneJob, record: TuneRecord, choice: Choice, table: TrainingTable, positions: Array
) -> None:
    """Write summary.json, results.csv and the page; `positions` are those of the search rows."""
    folder = Path(record.folder)
    save(folder / "summary.json", record)
    lines = [_line(cell, record) for cell in record.cells]
    write_text(folder / "results.csv", as_csv(lines))
    if not job.options.page:
        return
    rows = choice.rows
    rows = replace(rows, notes=[*whole_words(record.whole, record.training_rows), *rows.notes])
    size = job.running.test_size
    options = as_arguments(job.reading) + ([] if size is None else ["--test-size", f"{size:g}"])
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


def as_arguments(reading: ReadingOptions) -> list[str]:
    """Return the options that read a file as arguments of a command line.

    >>> as_arguments(ReadingOptions(label="kind", drop=["id", "name"], strict=True))
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
    if (part := landmarks_of(setting)) is not None:
        line["landmarks"] = part.get("landmarks", Nystroem().landmarks)
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
