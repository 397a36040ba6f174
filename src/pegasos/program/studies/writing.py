"""The files of a study's run: results.json, results.csv, cells.csv and findings.md."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from pegasos.program.files import as_json, write_text
from pegasos.program.studies.judging import DIFFERS, REPRODUCED, UNKNOWN
from pegasos.program.studies.results import Results


def write(folder: Path, found: dict[str, Any]) -> None:
    """All files of a run."""
    cells = found["cells"]
    write_text(folder / "results.json", json.dumps(as_json(found), indent=1, ensure_ascii=False) + "\n")
    write_text(folder / "cells.csv", _csv(cells))
    write_text(folder / "results.csv", _csv(found["numbers"] or cells))
    write_text(folder / "findings.md", findings(found))


def summarize(results: Results) -> list[dict[str, Any]]:
    """Mean and deviation over seeds of every result."""
    groups: dict[Any, list[dict[str, Any]]] = {}
    for row in results.rows:
        key = tuple((name, value) for name, value in row.items() if name not in ("seed", "error", "cell"))
        groups.setdefault(key, []).append(row)
    cells = []
    for key, rows in groups.items():
        errors = np.array([row["error"] for row in rows])
        spread = float(errors.std(ddof=1)) if len(errors) > 1 else None
        cells.append({**dict(key), "error": float(errors.mean()), "spread": spread, "seeds": len(errors)})
    return cells


def _csv(rows: list[dict[str, Any]]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
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


def book(results: list[dict[str, Any]]) -> str:
    """The findings of several studies as one page, with a table of them all first."""
    rows = []
    for found in results:
        counts = Counter(row["verdict"] for row in found["numbers"])
        tested = [row["printed"] for row in found["numbers"] if row.get("split") != "train"]
        best = min((row["error"] for row in found["surpass"]), default=None)
        rows.append(
            {
                "study": f"[{found['study']}](#{_anchor(found['title'])})",
                "printed numbers": len(found["numbers"]),
                **{verdict: counts.get(verdict, 0) for verdict in (REPRODUCED, DIFFERS, UNKNOWN)},
                "the report's best test error": min(tested, default=None),
                "best reached here": best,
                "seconds": found["total_seconds"],
            }
        )
    head = ["# The studies", "", "Written by `pegasos study all`; every table is the runner's own.", "", *table(rows)]
    return "\n".join([*head, *(findings(found, level=2) for found in results)])


def _anchor(title: str) -> str:
    return "".join(char for char in title.lower().replace(" ", "-") if char.isalnum() or char == "-")


def findings(found: dict[str, Any], level: int = 1) -> str:
    """The run as a page of Markdown."""
    mark, data, cells = "#" * level, found["data"], found["cells"]
    lines = [f"{mark} {found['title']}", "", *_warning(found), found["protocol"], ""]
    seeds = len(found["seeds"])
    lines += [f"{data['rows']} rows of {data['name']}, {seeds} seed{'s' * (seeds > 1)}, {found['total_seconds']:.0f} s.", ""]
    if found["numbers"]:
        lines += [f"{mark}# Printed and ours", "", *_verdicts(found), *_numbers(found["numbers"])]
        lines += [f"{mark}# Which reading fits", "", *_readings(found["readings"])]
    else:
        note = "The best cell of each is chosen by the errors that it shows here, so these are a little too good."
        lines += [f"{mark}# The best of each", "", note, "", *table(best_of_each(cells), _shown_columns(cells))]
        lines += [f"{mark}# All errors", "", *table(cells, _shown_columns(cells))]
    if found["checks"]:
        lines += [f"{mark}# Claims", "", *table(found["checks"])]
    for extra in found["extras"]:
        lines += [f"{mark}# {extra['title']}", "", extra.get("text", ""), ""]
    if found["surpass"]:
        lines += [f"{mark}# The best that this project reaches", "", *table(found["surpass"])]
    if found["findings"]:
        lines += [f"{mark}# Findings", "", found["findings"], ""]
    made = ", ".join(f"{name} {value}" for name, value in found["made"].items())
    lines += [f"Made: {made}. Seconds: " + ", ".join(f"{name} {value:g}" for name, value in found["seconds"].items()) + ".", ""]
    return "\n".join(lines)


def _warning(found: dict[str, Any]) -> list[str]:
    if found["data"]["real"] or not found["numbers"]:
        return []
    return ["> **These rows are not the report's data.** The verdicts below are about the machinery, never about the report.", ""]


def _verdicts(found: dict[str, Any]) -> list[str]:
    numbers = found["numbers"]
    counts = {
        verdict: sum(row["verdict"] == verdict for row in numbers) for verdict in dict.fromkeys(r["verdict"] for r in numbers)
    }
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    explained = sum(row["verdict"] == DIFFERS and bool(row["why"]) for row in numbers)
    more = f" ({explained} of them explained)" if explained else ""
    share = counts.get(REPRODUCED, 0) / len(numbers)
    return [f"{len(numbers)} printed numbers: {words}{more}. Share reproduced: {share:.0%}.", ""]


def _numbers(rows: list[dict[str, Any]]) -> list[str]:
    """All of them; a long table is folded."""
    if len(rows) <= 20:
        return table(rows)
    return [f"<details><summary>All {len(rows)} numbers</summary>", "", *table(rows), "</details>", ""]


def _readings(fits: list[dict[str, Any]]) -> list[str]:
    rows = [
        {
            "numbers": fit["group"],
            "reading": f"**{fit['reading']}**" if fit["chosen"] else fit["reading"],
            "fitting": f"{fit['fitting']} of {fit['numbers']}",
            "mean distance in noises": fit["mean_distance"],
        }
        for fit in fits
    ]
    return table(rows)


def best_of_each(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cell of every experiment that errs least on rows it was not trained on, the best experiment first."""
    best: dict[str, dict[str, Any]] = {}
    for cell in cells:
        known = best.get(cell["experiment"])
        if cell["split"] != "train" and (known is None or cell["error"] < known["error"]):
            best[cell["experiment"]] = cell
    return sorted(best.values(), key=lambda cell: cell["error"])


def _shown_columns(cells: list[dict[str, Any]]) -> list[str]:
    """Fields that tell cells apart, then the errors."""
    names = dict.fromkeys(name for cell in cells for name in cell)
    measures = ("rows", "error", "spread", "seeds")
    return [name for name in names if name not in measures and len({str(cell.get(name)) for cell in cells}) > 1] + list(measures)
