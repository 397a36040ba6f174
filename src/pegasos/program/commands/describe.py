from __future__ import annotations

from typing import Annotated, Any

from pegasos.program.errors import UsageError
from pegasos.program.terminal import console
from pegasos.program.terminal.options import Data, Memory, OutputOptions, ReadingOptions, option

PLACE = 10
SHORT = "Statistics, outliers, correlations, classes, advice."

_MOST_FEATURES = 40


def command(
    data: Data,
    reading: ReadingOptions,
    talking: OutputOptions,
    outlier: Annotated[
        float, option("Z", "A value with |z| >= Z is an outlier; z = (x - mean)/deviation.")
    ] = 3.0,
    memory: Memory = None,
) -> None:
    """Statistics of every feature, outliers, correlations, balance of classes, and advice on scaling.

    \b
    Examples:
      pegasos describe my.csv
      pegasos describe my.csv --label species --drop id
      pegasos describe digits --json
      pegasos describe 'flights/*.parquet' --memory 2GB

    A table (CSV, Parquet) that does not fit into --memory is described in one pass: counts, means, deviations and ends are exact,
    what comes from a sample of the rows says so.
    """
    from pegasos.program.jobs.describing import described
    from pegasos.program.views import give

    if not outlier > 0:
        raise UsageError(f"--outlier must be above 0, got {outlier:g}.")
    found = described(data, reading, memory, outlier)
    give(found, talking.as_json, lambda: _show(found))


def _show(found: Any) -> None:
    console.heading(
        f"{found.name}: {found.rows} rows, {found.features} feature{'s' * (found.features != 1)}, {found.dtype}"
    )
    console.show(*(f"- {line}" for line in [*found.notes, *found.advice]), "")
    if found.classes:
        shares = [
            (label, count, console.percent(count / found.rows))
            for label, count in found.classes[:_MOST_FEATURES]
        ]
        console.table(("class", "rows", "share"), shares)
        console.show()
    _show_features(found)
    if found.correlations:
        console.show()
        pairs = [(one, other, f"{r:+.3f}") for one, other, r in found.correlations]
        console.table(("strongest correlations", "", "r"), pairs, left=2)


def _show_features(found: Any) -> None:
    from pegasos.program.tables.dataset import DATES
    from pegasos.program.tables.dates import day

    head = (
        "feature",
        "mean",
        "deviation",
        "min",
        "25 %",
        "median",
        "75 %",
        "max",
        "missing",
        f"|z| >= {found.outlier:g}",
    )
    rows: list[tuple[object, ...]] = []
    for each in found.columns[:_MOST_FEATURES]:
        if each.distinct is None:
            numbers = (each.mean, each.min, each.quartile1, each.median, each.quartile3, each.max)
            mean, *ends = (
                "" if value is None else day(value) if each.kind in DATES else f"{value:.4g}"
                for value in numbers
            )
            deviation = (
                "" if each.std is None else f"{each.std:.4g}{' days' * (each.kind in DATES)}"
            )
            rows.append((each.name, mean, deviation, *ends, each.missing, each.outliers))
        else:
            words = f"{each.distinct} word{'s' * (each.distinct != 1)}"
            rows.append((each.name, words, "", "", "", "", "", "", each.missing, ""))
    console.table(head, rows)
    if len(found.columns) > _MOST_FEATURES:
        console.show(
            f"... and {len(found.columns) - _MOST_FEATURES} more features; --json has all of them"
        )
