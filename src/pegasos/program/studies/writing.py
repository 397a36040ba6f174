"""The files of a study's run: results.json, results.csv, cells.csv and findings.md."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pegasos.program.files import write_text
from pegasos.program.records import codec
from pegasos.program.records.runs import best_of_families
from pegasos.program.records.studies import JudgedNumber, ReadingFit, StudyCell, StudyRecord
from pegasos.program.studies.judging import DIFFERS, REPRODUCED, UNKNOWN

WARNING = "> **These rows are not the report's data.** The verdicts below are about the machinery, never about the report."
#: What the tables of printed numbers need to be understood.
READING = (
    "A reading is one interpretation of what the report did; each group of numbers is judged by the reading that fits it best. "
    "The noise is the standard error of the comparison of a printed number with ours."
)


def write(folder: Path, record: StudyRecord) -> None:
    """All files of a run."""
    cells = [cell.row() for cell in record.cells]
    codec.save(folder / "results.json", record)
    write_text(folder / "cells.csv", _csv(cells))
    write_text(folder / "results.csv", _csv([number.row() for number in record.numbers] or cells))
    write_text(folder / "findings.md", findings(record))


def _csv(rows: list[dict[str, Any]]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(
        file, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def table(rows: list[dict[str, Any]], columns: list[str] | None = None) -> list[str]:
    """A Markdown table; columns that are empty everywhere are left out."""
    if not rows:
        return []
    names = columns or list(dict.fromkeys(name for row in rows for name in row))
    names = [name for name in names if any(row.get(name) not in (None, "") for row in rows)]
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(_cell(row.get(name)) for name in names) + " |" for row in rows]
    return [*lines, ""]


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def book(records: list[StudyRecord]) -> str:
    """The findings of several studies as one page, with a table of them all first."""
    rows = []
    for record in records:
        counts = Counter(number.verdict for number in record.numbers)
        tested = [
            number.printed for number in record.numbers if number.fields.get("split") != "train"
        ]
        best = {"the report's best test error": min(tested, default=None)}
        best["best reached here"] = min((each.error for each in record.better), default=None)
        anchor = "".join(
            char for char in record.title.lower().replace(" ", "-") if char.isalnum() or char == "-"
        )
        row = {"study": f"[{record.study}](#{anchor})", "printed numbers": len(record.numbers)}
        row |= {verdict: counts[verdict] for verdict in (REPRODUCED, DIFFERS, UNKNOWN)}
        rows.append({**row, **best, "seconds": record.total_seconds})
    head = [
        "# The studies",
        "",
        "Written by `pegasos study all`; every table is the runner's own.",
        "",
        *table(rows),
    ]
    return "\n".join([*head, *(findings(record, level=2) for record in records)])


def findings(record: StudyRecord, level: int = 1) -> str:
    """The run as a page of Markdown."""
    mark, data, seeds = "#" * level, record.data, len(record.seeds)
    warning = [] if record.data.real or not record.numbers else [WARNING, ""]
    lines = [f"{mark} {record.title}", "", *warning, record.protocol, ""]
    lines += [
        f"{data.rows} rows of {data.name}, {seeds} seed{'s' * (seeds > 1)}, {record.total_seconds:.0f} s.",
        "",
    ]
    if record.numbers:
        lines += [
            f"{mark}# Printed and ours",
            "",
            *_verdicts(record.numbers),
            *_numbers(record.numbers),
        ]
        lines += [f"{mark}# Which reading fits", "", READING, "", *_readings(record.readings)]
    else:
        note = "The best cell of each is chosen by the errors that it shows here, so these are a little too good."
        cells = [cell.row() for cell in record.cells]
        columns, best = _shown_columns(cells), [cell.row() for cell in best_of_each(record.cells)]
        lines += [f"{mark}# The best of each", "", note, "", *table(best, columns)]
        lines += [f"{mark}# All errors", "", *table(cells, columns)]
    if record.claims:
        lines += [f"{mark}# Claims", "", *table([asdict(claim) for claim in record.claims])]
    for extra in record.extras:
        lines += [f"{mark}# {extra.title}", "", extra.text, ""]
    if record.better:
        lines += [
            f"{mark}# The best that this project reaches",
            "",
            *table([each.row() for each in record.better]),
        ]
    if record.findings:
        lines += [f"{mark}# Findings", "", record.findings, ""]
    made = ", ".join(f"{name} {value}" for name, value in record.made.items())
    lines += [
        f"Made: {made}. Seconds: "
        + ", ".join(f"{name} {value:g}" for name, value in record.seconds.items())
        + ".",
        "",
    ]
    return "\n".join(lines)


def _verdicts(numbers: list[JudgedNumber]) -> list[str]:
    counts = Counter(number.verdict for number in numbers)
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    explained = sum(number.verdict == DIFFERS and bool(number.why) for number in numbers)
    more = f" ({explained} of them explained)" if explained else ""
    return [
        f"{len(numbers)} printed numbers: {words}{more}. Share reproduced: {counts[REPRODUCED] / len(numbers):.0%}.",
        "",
    ]


def _numbers(numbers: list[JudgedNumber]) -> list[str]:
    """All of them; a long table is folded."""
    lines = table([number.row() for number in numbers])
    if len(numbers) <= 20:
        return lines
    return [f"<details><summary>All {len(numbers)} numbers</summary>", "", *lines, "</details>", ""]


def _readings(fits: list[ReadingFit]) -> list[str]:
    rows = []
    for fit in fits:
        words = {
            "numbers": fit.group,
            "reading": f"**{fit.reading}**" if fit.chosen else fit.reading,
        }
        fitting = f"{fit.fitting} of {fit.numbers}"
        rows.append(
            {**words, "fitting": fitting, "mean distance, in standard errors": fit.mean_distance}
        )
    return table(rows)


def best_of_each(cells: list[StudyCell]) -> list[StudyCell]:
    """The cell of every experiment that errs least on rows it was not trained on, the best experiment first."""
    tested = [cell for cell in cells if cell.split != "train"]
    return best_of_families(tested, lambda cell: cell.experiment, lambda cell: cell.error)


def _shown_columns(cells: list[dict[str, Any]]) -> list[str]:
    """Fields that tell cells apart, then the errors."""
    names = dict.fromkeys(name for cell in cells for name in cell)
    measures = ("rows", "error", "spread", "seeds")
    return [
        name
        for name in names
        if name not in measures and len({str(cell.get(name)) for cell in cells}) > 1
    ] + list(measures)
