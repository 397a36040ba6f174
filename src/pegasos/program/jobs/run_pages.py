"""The page of a run of `tune`: what it needs is put into the folder, and the page is written from the folder alone."""

from __future__ import annotations

import shlex
from typing import Any

from pegasos.program.jobs.datasets import Split, take
from pegasos.program.pages import record_sweep, save_record, write_report
from pegasos.program.records.runs import ErrorCount
from pegasos.program.tables.dataset import Dataset
from pegasos.program.terminal import console
from pegasos.program.terminal.options import ReadingOptions
from pegasos.search.estimates import Estimate


def write_page(
    result: dict[str, Any], search: Any, dataset: Dataset, split: Split, reading: ReadingOptions, test_size: float | None
) -> str:
    """report.json and report.html in the folder of the run; answers the page's path."""
    with console.working("writing the page"):
        record = record_sweep(
            search,
            take(dataset, split.train),
            source=result["source"],
            command=shlex.join(["pegasos", *console.state.arguments]),
            options=[*as_arguments(reading), *([] if test_size is None else ["--test-size", f"{test_size:g}"])],
            positions=split.train,
            errors={name: ErrorCount(**each) for name, each in result["errors"].items()},
            honest=Estimate(**result["honest"]),
            advice=result["advice"],
            seconds=result["seconds"],
        )
        save_record(result["folder"], record)
        return str(write_report(result["folder"]))


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
