"""The page of a run of `tune`: what it needs is put into the folder, and the page is written from the folder alone."""

from __future__ import annotations

from typing import Any

from pegasos.program.jobs.datasets import Split, take
from pegasos.program.pages import gather_sweep, save_gathered, write_report
from pegasos.program.records.codec import to_json
from pegasos.program.records.runs import TuneRecord
from pegasos.program.tables.dataset import Dataset
from pegasos.program.terminal import console
from pegasos.program.terminal.options import ReadingOptions


def write_page(record: TuneRecord, search: Any, dataset: Dataset, split: Split, options: list[str]) -> None:
    """report.json and report.html in the folder of the run; `options` stand in every command line of the page."""
    with console.working("writing the page"):
        gathered = gather_sweep(
            search,
            take(dataset, split.train),
            source=record.source,
            command=record.command,
            options=options,
            positions=split.train,
            errors=to_json(record.errors),
            honest=to_json(record.honest),
            advice=[str(advice) for advice in record.advice],
            seconds=record.seconds,
        )
        save_gathered(record.folder, gathered)
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
