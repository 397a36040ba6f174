"""The page of a run of `tune`: what it needs is put into the folder, and the page is written from the folder alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pegasos.program.jobs.datasets import Split, take
from pegasos.program.pages import record_sweep, save_record, write_report
from pegasos.program.records.runs import TuneRecord
from pegasos.program.tables.dataset import Dataset
from pegasos.program.terminal import console
from pegasos.program.terminal.options import ReadingOptions


def write_page(record: TuneRecord, search: Any, dataset: Dataset, split: Split, options: list[str]) -> None:
    """report.json and report.html in the folder of the run; `options` stand in every command line of the page."""
    with console.working("writing the page"):
        page = record_sweep(
            search,
            take(dataset, split.train),
            source=record.source,
            command=record.command,
            options=options,
            positions=split.train,
            errors=record.errors,
            honest=record.honest,
            advice=record.advice,
            seconds=record.seconds,
        )
        # The same cells as in summary.json, with the C of the rows that no outlier filter drops.
        save_record(record.folder, replace(page, cells=record.cells))
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
