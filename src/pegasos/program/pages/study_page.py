"""The page about a study: printed and ours, readings, claims, the grid, extras, and what surpasses the report."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import asdict
from typing import Any

from pegasos.program.pages import row_charts as draw
from pegasos.program.pages.blocks import Block, CellPanel, Chart, Code, Facts, Gallery, Section, Table, Text, Tiles
from pegasos.program.pages.mistakes import PIXELS
from pegasos.program.pages.shared_sections import count, duration, feature_section, map_section
from pegasos.program.pages.sweep_page import confusion_figure, grid_of, scripts_data
from pegasos.program.records.studies import ExtraRecord, StudyCell, StudyRecord

_TITLES = {"n_iter": "T", "lam": "λ", "param": "parameter"}
#: What seconds may be drawn against.
_TIMED = {"T": "T (steps)", "m": "m (training rows)"}


def build(found: dict[str, Any]) -> tuple[str, str, list[Section], dict[str, Any]]:
    """Title, subtitle, sections and the data of the scripts."""
    record: StudyRecord = found["record"]
    beside = found.get("beside") or {}
    cells = joined_cells(record.cells)
    known = [cell for cell in cells if cell["value"] is not None]
    best = min(known, key=lambda cell: cell["value"])["cell"] if known else 0
    gathered: dict[str, Any] = {
        "measure": "error",
        "cells": cells,
        "best": best,
        "simplest": best,
        "best_mark": "least error",
        "data": {
            **asdict(record.data),
            "classes": beside.get("data", {}).get("classes"),
            "counts": beside.get("data", {}).get("counts"),
        },
    }
    gathered |= {name: beside[name] for name in ("rows", "picture", "columns", "map", "means", "statistics") if beside.get(name)}
    parts = [beside, *beside.get("more", [])] if beside.get("kept") else []
    if parts:
        gathered["kept"] = {number: kept for part in parts for number, kept in _kept(cells, part).items()}
    spread = "seeds" if len(record.seeds) > 1 else "one seed"
    grid_data: dict[str, Any] = {}
    grid: list[Block] = []
    if cells:
        grid_data, explorer = grid_of(gathered, "test rows", spread)
        grid = [explorer]
    panel: list[Block] = []
    if gathered.get("kept"):
        panel = [
            Text(f"Predictions were kept of the first seed of: {'; '.join(part['experiment'] for part in parts)}.", small=True),
            CellPanel(lambda: confusion_figure(gathered)),
        ]
    sections = [
        Section("summary", "Summary", _summary(record)),
        Section("printed", "Printed and ours", _printed(record)),
        Section("claims", "Claims", _claims(record)),
        Section("grid", "The grid", grid),
        Section("cell", "One cell", panel),
        *(Section(f"extra-{number}", extra.title, _extra(extra)) for number, extra in enumerate(record.extras)),
        Section("surpass", "The best that this project reaches", _surpass(record)),
        Section("rows", "The rows", [*map_section(gathered), *feature_section(gathered)]),
        _again(record),
    ]
    data = record.data
    size = f"{count(len(cells), 'setting')} on {data.rows:,} rows of {data.name}, {count(len(record.seeds), 'seed')}"
    subtitle = f"{record.study}: {size}, {duration(record.total_seconds)}."
    return record.title, subtitle, sections, {**scripts_data(gathered), "grid": grid_data}


def joined_cells(listed: list[StudyCell]) -> list[dict[str, Any]]:
    """Cells of results.json in the form of a sweep's: test and training errors of one setting together."""
    found: dict[Any, dict[str, Any]] = {}
    for each in listed:
        key = (each.experiment, each.decoding, each.setting, *each.tags.items())
        cell = {"cell": len(found), "params": each.words(), "key": each.setting and each.setting.key()}
        cell = found.setdefault(key, {**cell, "value": None, "std": None, "folds": []})
        if each.split == "train":
            cell |= {"train": each.error, "train_std": each.spread}
        elif cell["value"] is None:
            cell |= {"value": each.error, "std": each.spread}
    return list(found.values())


def _kept(cells: list[dict[str, Any]], beside: dict[str, Any]) -> dict[str, Any]:
    """What was kept, under the numbers that cells have on this page: the same setting of the same experiment.

    Commands go to their cells on the way.
    """
    known = {each["key"]: each for each in beside["cells"]}
    answer = {}
    for cell in cells:
        params = cell["params"]
        if params.get("experiment") != beside["experiment"] or params.get("decoding", "argmax") != "argmax":
            continue
        found = known.get(cell["key"])
        if found is not None:
            cell["command"] = found.get("command")
            if str(found["cell"]) in beside["kept"]:
                answer[str(cell["cell"])] = beside["kept"][str(found["cell"])]
    return answer


def _summary(record: StudyRecord) -> list[Block]:
    blocks: list[Block] = []
    if record.numbers:
        counts = Counter(number.verdict for number in record.numbers)
        tiles = [(f"Numbers {verdict}", f"{number} of {len(record.numbers)}", "") for verdict, number in counts.items()]
        blocks.append(Tiles(tiles))
        if not record.data.real:
            words = "These rows are not the report's data: the verdicts are about the machinery, never about the report."
            blocks.append(Text(words, warning=True))
    if record.quick:
        blocks.append(Text("A quick run on a part of the rows.", warning=True))
    return [*blocks, Text(record.protocol), *([Text(record.findings)] if record.findings else [])]


def _printed(record: StudyRecord) -> list[Block]:
    if not record.numbers:
        return []
    fixed = [(name, name, "percent") for name in ("printed", "ours")]
    fixed += [("spread", "± seeds", "percent"), ("difference", "difference", "percent"), ("noise", "noise", "percent")]
    fixed += [(name, name, "text") for name in ("verdict", "reading", "why")]
    names = dict.fromkeys(name for number in record.numbers for name in number.fields)
    columns = [(name, _TITLES.get(name, name), "text") for name in names] + fixed
    rows = [number.row() for number in record.numbers]
    blocks: list[Block] = [Table("printed", "Every printed number", columns, rows, filter_by="verdict")]
    readings = [
        {**asdict(fit), "fits": f"{fit.fitting} of {fit.numbers}", "chosen": "fits best" if fit.chosen else ""}
        for fit in record.readings
    ]
    columns = [("group", "numbers", "text"), ("reading", "reading", "text"), ("fits", "reproduced", "text")]
    columns += [("mean_distance", "mean distance, in standard errors", "number"), ("chosen", "", "text")]
    chosen = [fit for fit in readings if fit["chosen"]]
    blocks.append(Table("readings", "The reading that fits best", columns[:-1], chosen))
    if len(chosen) < len(readings):
        blocks.append(Table("readings-all", "All readings", columns, readings, filter_by="group", folded=True))
    return blocks


def _claims(record: StudyRecord) -> list[Block]:
    columns = [("claim", "claim", "text"), ("verdict", "verdict", "text"), ("evidence", "evidence", "text")]
    return [Table("claims", "What the report claims", columns, [asdict(each) for each in record.claims])] if record.claims else []


def _extra(record: ExtraRecord) -> list[Block]:
    """Pictures, maps, times or plain rows, by what an extra holds."""
    extra, name = {**record.content, "name": record.name, "title": record.title, "text": record.text}, record.name
    if isinstance(extra.get("images"), dict) and extra.get("shape"):
        return _gallery(extra)
    if "places" in extra and "classes" in extra:
        return _map(extra)
    rows = extra.get("rows")
    if not isinstance(rows, list) or not rows or not isinstance(rows[0], dict):
        return [Text(extra["text"])] if extra.get("text") else []
    columns = [(key, _TITLES.get(str(key), str(key)), "number") for key in rows[0]]
    table = Table(f"extra-{name}", extra["title"], columns, rows)
    words = extra.get("text", "").partition("|")[0].strip()
    blocks: list[Block] = [Text(words)] if words else []
    if {"class", "rows"} <= set(rows[0]):
        total = sum(row["rows"] for row in rows) or 1
        listed = [
            {**row, "class": str(row["class"]), "share": row["rows"] / total, "order": place} for place, row in enumerate(rows)
        ]
        return [*blocks, Chart(f"extra-{name}", extra["title"], draw.counts(listed), "", table)]
    for across, title in _TIMED.items():
        if {across, "seconds", "kernel"} <= set(rows[0]) and all(_measured(row, across) for row in rows):
            listed = [{"x": row[across], "y": row["seconds"], "line": row["kernel"]} for row in rows]
            chart = draw.times(listed, title, "seconds", "kernel")
            return [*blocks, Chart(f"extra-{name}", extra["title"], chart, "", table)]
    return [*blocks, table]


def _measured(row: dict[str, Any], across: str) -> bool:
    return isinstance(row[across], int | float) and isinstance(row["seconds"], int | float) and row["seconds"] > 0


def _gallery(extra: dict[str, Any]) -> list[Block]:
    import base64

    shape = tuple(extra["shape"])
    if shape[0] * shape[1] > 4 * PIXELS:
        return [Text(extra.get("text", ""))]
    pictures = [
        (base64.b64encode(bytes(max(0, min(255, int(value))) for value in image)).decode(), f"{label}")
        for label, images in extra["images"].items()
        for image in images
    ]
    return [Gallery(extra["title"], shape, pictures[:200])]


def _map(extra: dict[str, Any]) -> list[Block]:
    codes = extra["classes"]
    places = extra["places"]
    numbers = extra.get("rows") or list(range(len(codes)))
    rows = [
        {"x": x, "y": y, "row": row + 1, "class": str(code), "order": code, "verdict": ""}
        for (x, y), code, row in zip(places, codes, numbers, strict=True)
    ]
    kinds = len(set(codes))
    letters = 2 < kinds <= 10 and all(len(row["class"]) <= 2 for row in rows)
    columns = [("row", "row", "number"), ("class", "class", "text"), ("x", "x", "number"), ("y", "y", "number")]
    table = Table(f"extra-{extra['name']}", "The first 200 places", columns, rows[:200])
    return [
        Chart(f"extra-{extra['name']}", extra["title"], draw.map_of_classes(rows, kinds, letters), extra.get("text", ""), table)
    ]


def _surpass(record: StudyRecord) -> list[Block]:
    rows = [each.row() for each in record.better]
    columns = [
        (name, name, "percent" if name == "error" else "number") for name in dict.fromkeys(name for row in rows for name in row)
    ]
    return [Table("surpass", "Better than the report's best", columns, rows)] if rows else []


def _again(record: StudyRecord) -> Section:
    seeds = ["--quick"] if record.quick else ["--seeds", str(len(record.seeds))]
    facts: dict[str, Any] = {
        "seeds": ", ".join(map(str, record.seeds)),
        "duration": duration(record.total_seconds),
        "sweeps": ", ".join(f"{name} {duration(value)}" for name, value in record.seconds.items()),
        "fingerprint of the rows": record.data.fingerprint,
        **record.made,
    }
    source = record.source or record.study
    much = "quick=True" if record.quick else f"seeds={len(record.seeds)}"
    lines = ["from pegasos.studies import run", "", f"run({source!r}, {f'runs/{record.study}'!r}, {much})"]
    return Section(
        "again",
        "Do it again",
        [
            Code("The command of this run", shlex.join(["pegasos", "study", source, *seeds])),
            Code("The same in Python", "\n".join(lines)),
            Facts(facts),
        ],
    )
