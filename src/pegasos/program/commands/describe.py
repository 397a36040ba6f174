"""Describe a table: options, computation and output of `pegasos describe`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pegasos.program.errors import UsageError
from pegasos.program.tables.dataset import DATES, Dataset, Outline
from pegasos.program.terminal import console
from pegasos.program.terminal.options import (
    Data,
    Memory,
    ReadingOptions,
    RunningOptions,
    above_zero,
    option,
)

if TYPE_CHECKING:
    from pegasos.program.tables.description import Description, Feature

#: Features and classes that are listed.
_MOST_LISTED = 40


def command(
    data: Data,
    reading: ReadingOptions,
    outlier: Annotated[
        float, option("Z", "Outliers have |z| >= Z, with z = (x - mean)/std.", callback=above_zero)
    ] = 3.0,
    memory: Memory = None,
    figures: Annotated[
        str | None,
        option("FOLDER", "Also write charts of a table with labels: report.html, PNG, SVG, PDF."),
    ] = None,
) -> Description:
    """Describe a table: statistics, outliers, correlations, advice.

    Examples
    --------
      pegasos describe my.csv
      pegasos describe my.csv --label species --drop id
      pegasos describe digits --json
      pegasos describe my.csv --figures about_my
      pegasos describe 'flights/*.parquet' --memory 2GB

    A table (CSV, Parquet, svmlight) that does not fit into --memory is described in one pass:
    counts, means, standard deviations and ranges are exact; estimates from a sample of the rows
    are marked.
    """
    from pegasos.program.datasets import load_or_outline, with_labels_or_without
    from pegasos.program.learning.streamed import StreamedTable
    from pegasos.program.tables.statistics import describe, describe_blocks

    def read(labelled: bool) -> Description:
        found = load_or_outline(data, reading, memory, labelled=labelled, encoded=False)
        if not isinstance(found, Outline):
            if figures is not None:
                _write_figures(found, figures)
            return describe(found, outlier)
        if figures is not None:
            raise UsageError("--figures needs a table that fits into --memory.")
        table = StreamedTable(data, reading, RunningOptions(memory=memory), found)
        for line in (f"{table.about}: it is described in one pass", *found.notes):
            console.say(line)
        with console.working(f"one pass over {data}", counted="rows") as progress:
            parts = progress.counting(table.parts())
            return describe_blocks(data, parts, found.columns, found.label, outlier, table.budget)

    return with_labels_or_without(data, reading, read)


def _write_figures(dataset: Dataset, folder: str) -> None:
    from pegasos.program.pages.data_section import data_page

    if dataset.y is None:
        raise UsageError("--figures needs labels: name their column with --label.")
    with console.working(f"writing {folder}"):
        data_page(dataset).write(folder, figures=True)
    console.say(f"written: {folder}/report.html and {folder}/figures/")


def show(found: Description) -> None:
    """Print statistics of classes and features, and advice."""
    size = f"{found.rows} rows, {found.features} feature{'s' * (found.features != 1)}"
    console.heading(f"{found.name}: {size}, {found.dtype}")
    console.show(*(f"- {line}" for line in [*found.notes, *found.advice]), "")
    if found.classes:
        shown = found.classes[:_MOST_LISTED]
        shares = [(label, count, console.percent(count / found.rows)) for label, count in shown]
        console.table(("class", "rows", "share"), shares)
        console.show()
    z = f"|z| >= {found.outlier:g}"
    quartiles = ("min", "25 %", "median", "75 %", "max")
    head = ("feature", "mean", "std", *quartiles, "missing", z)
    console.table(head, [_line(each) for each in found.columns[:_MOST_LISTED]])
    if len(found.columns) > _MOST_LISTED:
        more = len(found.columns) - _MOST_LISTED
        console.show(f"... and {more} more features; --json has all of them")
    if found.correlations:
        console.show()
        pairs = [(one, other, f"{r:+.3f}") for one, other, r in found.correlations]
        console.table(("strongest correlations", "", "r"), pairs, left=2)


def _line(feature: Feature) -> tuple[Any, ...]:
    from pegasos.program.tables.cells import day

    if feature.distinct is not None:
        categories = f"{feature.distinct} categor{'y' if feature.distinct == 1 else 'ies'}"
        return feature.name, categories, *[""] * 6, feature.missing, ""
    is_date = feature.kind in DATES
    text = day if is_date else "{:.4g}".format
    std = "" if feature.std is None else f"{feature.std:.4g}{' days' * is_date}"
    ends = (feature.mean, feature.min, feature.quartile1, feature.median, feature.quartile3)
    mean, *quartiles = ("" if each is None else text(each) for each in (*ends, feature.max))
    return feature.name, mean, std, *quartiles, feature.missing, feature.outliers
