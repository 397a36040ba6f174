"""The page about a study: printed and ours, readings, claims, the grid, extras, and what surpasses the report."""

from __future__ import annotations

import base64
import shlex
from collections import Counter
from dataclasses import replace
from typing import Any

from pegasos.program.pages import row_charts as draw
from pegasos.program.pages.blocks import Block, Chart, Code, Facts, Gallery, Section, Table, Text, Tiles
from pegasos.program.pages.grid_views import Grid, Point
from pegasos.program.pages.mistakes import PIXELS
from pegasos.program.pages.shared_sections import PLACES, class_map, class_rows, feature_section, map_section
from pegasos.program.pages.sweep_page import confusion_panel, explorer, scripts_data
from pegasos.program.pages.wording import count, duration, is_number, named_values, title_of
from pegasos.program.records.pages import DataRecord, KeptCell, PageRecord
from pegasos.program.records.runs import best_of_families
from pegasos.program.records.studies import ExtraRecord, StudyCell, StudyRecord
from pegasos.program.terminal.reproduction import command_line

#: What seconds may be drawn against.
_TIMED = {"T": "T (steps)", "m": "m (training rows)"}


def build(study: StudyRecord, record: PageRecord | None) -> tuple[str, str, list[Section], dict[str, Any]]:
    """Title, subtitle, sections and the data of the scripts; `record` is what was kept of its experiments."""
    record = record or PageRecord("study", DataRecord(study.data.name), study.made)
    cells = _joined(study.cells)
    points = _points(cells, study.data.name, record.seed)
    best = next(iter(best_of_families(points, lambda point: None, lambda point: point.value)), None)
    record = replace(record, kept=_kept(cells, record))
    data, grid_blocks, panel = scripts_data(record), list[Block](), list[Block]()
    if best is not None:
        spread = "seeds" if len(study.seeds) > 1 else "one seed"
        grid = Grid(points, "error", best.number, best.number, "least error", "test rows", spread)
        grid_blocks = [explorer(grid, bool(record.kept))]
        data["grid"] = grid.described
    if record.kept:
        names = "; ".join(each.name for each in record.experiments)
        panel = [
            Text(f"Predictions were kept of the first seed of: {names}.", small=True),
            confusion_panel(record, None if best is None else best.number),
        ]
    sections = [
        Section("summary", "Summary", _summary(study)),
        Section("printed", "Printed and ours", _printed(study)),
        Section("claims", "Claims", _claims(study)),
        Section("grid", "The grid", grid_blocks),
        Section("cell", "The chosen setting", panel),
        *(Section(f"extra-{number}", extra.title, _extra(extra)) for number, extra in enumerate(study.extras)),
        Section("surpass", "The best that this project reaches", _better(study)),
        Section("rows", "The data", [*map_section(record), *feature_section(record)]),
        _reproduction(study),
    ]
    size = f"{count(len(points), 'setting')} on {study.data.rows:,} rows of {study.data.name}, {count(len(study.seeds), 'seed')}"
    return study.title, f"{study.study}: {size}, {duration(study.total_seconds)}.", sections, data


def _joined(cells: list[StudyCell]) -> list[dict[str, StudyCell]]:
    """Test ("test") and training rows ("train") of one setting together."""
    found: dict[Any, dict[str, StudyCell]] = {}
    for cell in cells:
        key = (cell.experiment, cell.setting, cell.decoding, tuple(cell.tags.items()))
        found.setdefault(key, {}).setdefault("train" if cell.split == "train" else "test", cell)
    return list(found.values())


def _points(cells: list[dict[str, StudyCell]], data: str, seed: int | None) -> list[Point]:
    known = [one for cell in cells if (one := next(iter(cell.values()))).setting is not None]
    settings = [one.setting for one in known if one.setting is not None]
    named = iter(named_values(settings, [one.names for one in known]))
    points = []
    for number, cell in enumerate(cells):
        one, test, train = next(iter(cell.values())), cell.get("test"), cell.get("train")
        point = Point(number, {"experiment": one.experiment, "decoding": one.decoding, **one.tags})
        if one.setting is not None:
            point.values |= next(named)
            point.command = command_line(one.setting, data, seed)
        if test is not None:
            point.value, point.deviation = test.error, test.spread
        if train is not None:
            point.train, point.train_deviation = train.error, train.spread
        points.append(point)
    return points


def _kept(cells: list[dict[str, StudyCell]], record: PageRecord) -> dict[str, KeptCell]:
    """What was kept, under the numbers that cells have on this page: the same setting of the same experiment."""
    known = {
        (experiment.name, experiment.settings[int(number)]): kept
        for experiment in record.experiments
        for number, kept in experiment.kept.items()
    }
    found = {}
    for number, cell in enumerate(cells):
        one = next(iter(cell.values()))
        kept = None if one.setting is None else known.get((one.experiment, one.setting))
        if kept is not None and one.decoding == "argmax":
            found[str(number)] = kept
    return found


def _summary(study: StudyRecord) -> list[Block]:
    blocks: list[Block] = []
    if study.numbers:
        counts = Counter(number.verdict for number in study.numbers)
        blocks.append(
            Tiles([(f"Verdict: {verdict}", f"{many} of {len(study.numbers)} numbers", "") for verdict, many in counts.items()])
        )
        if not study.data.real:
            text = "These rows are not the report's data: the verdicts are about the machinery, never about the report."
            blocks.append(Text(text, warning=True))
    if study.quick:
        blocks.append(Text("A quick run on a part of the rows.", warning=True))
    return [*blocks, Text(study.protocol), *([Text(study.findings)] if study.findings else [])]


def _printed(study: StudyRecord) -> list[Block]:
    if not study.numbers:
        return []
    columns = [(name, title_of(name), "text") for name in dict.fromkeys(name for each in study.numbers for name in each.fields)]
    columns += [("printed", "printed", "percent"), ("ours", "ours", "percent"), ("spread", "± seeds", "percent")]
    columns += [("difference", "difference", "percent"), ("noise", "noise", "percent")]
    columns += [(name, name, "text") for name in ("verdict", "reading", "why")]
    rows = [each.row() for each in study.numbers]
    blocks: list[Block] = [Table("printed", "Every printed number", columns, rows, filter_by="verdict")]
    readings = [
        {**vars(fit), "fits": f"{fit.fitting} of {fit.numbers}", "chosen": "fits best" if fit.chosen else ""}
        for fit in study.readings
    ]
    columns = [("group", "numbers", "text"), ("reading", "reading", "text"), ("fits", "reproduced", "text")]
    columns += [("mean_distance", "mean distance in standard errors", "number"), ("chosen", "", "text")]
    chosen = [fit for fit in readings if fit["chosen"]]
    blocks.append(Table("readings", "The reading that fits best", columns[:-1], chosen))
    if len(chosen) < len(readings):
        blocks.append(Table("readings-all", "All readings", columns, readings, filter_by="group", folded=True))
    return blocks


def _claims(study: StudyRecord) -> list[Block]:
    columns = [(name, name, "text") for name in ("claim", "verdict", "evidence")]
    return [Table("claims", "What the report claims", columns, [vars(claim) for claim in study.claims])] if study.claims else []


def _extra(extra: ExtraRecord) -> list[Block]:
    """Pictures, maps, times or plain rows, by what an extra holds."""
    content, name = extra.content, f"extra-{extra.name}"
    if "images" in content:
        return _gallery(extra)
    if "places" in content:
        return _map(extra)
    rows = content.get("rows")
    if not rows:
        return [Text(extra.text)] if extra.text else []
    columns = [(key, title_of(key), "number") for key in rows[0]]
    table = Table(name, extra.title, columns, rows)
    words = extra.text.partition("|")[0].strip()
    blocks: list[Block] = [Text(words)] if words else []
    if {"class", "rows"} <= set(rows[0]):
        counted = class_rows([str(row["class"]) for row in rows], [row["rows"] for row in rows])
        return [*blocks, Chart(name, extra.title, draw.counts(counted), "", table)]
    for across, title in _TIMED.items():
        if {across, "seconds", "kernel"} <= set(rows[0]) and all(_measured(row, across) for row in rows):
            listed = [{"x": row[across], "y": row["seconds"], "line": row["kernel"]} for row in rows]
            return [*blocks, Chart(name, extra.title, draw.times(listed, title, "seconds", "kernel"), "", table)]
    return [*blocks, table]


def _measured(row: dict[str, Any], across: str) -> bool:
    return is_number(row[across]) and is_number(row["seconds"]) and row["seconds"] > 0


def _gallery(extra: ExtraRecord) -> list[Block]:
    height, width = extra.content["shape"]
    if height * width > 4 * PIXELS:
        return [Text(extra.text)]
    pictures = [
        (base64.b64encode(bytes(max(0, min(255, int(value))) for value in image)).decode(), str(label))
        for label, images in extra.content["images"].items()
        for image in images
    ]
    return [Gallery(extra.title, (height, width), pictures[:200])]


def _map(extra: ExtraRecord) -> list[Block]:
    codes, places = extra.content["classes"], extra.content["places"]
    numbers = extra.content.get("rows") or range(len(codes))
    rows = [
        {"row": row + 1, "class": str(code), "order": code, "x": x, "y": y, "verdict": ""}
        for (x, y), code, row in zip(places, codes, numbers, strict=True)
    ]
    name = f"extra-{extra.name}"
    return [
        Chart(
            name,
            extra.title,
            class_map(rows, len(set(codes))),
            extra.text,
            Table(name, "The first 200 places", PLACES, rows[:200]),
        )
    ]


def _better(study: StudyRecord) -> list[Block]:
    rows = [each.row() for each in study.better]
    if not rows:
        return []
    columns = [(name, name, "percent" if name == "error" else "number") for name in rows[0]]
    return [Table("surpass", "Better than the report's best", columns, rows)]


def _reproduction(study: StudyRecord) -> Section:
    size = ["--quick"] if study.quick else ["--seeds", str(len(study.seeds))]
    seconds = ", ".join(f"{name} {duration(value)}" for name, value in study.seconds.items())
    facts = {"seeds": ", ".join(map(str, study.seeds)), "duration": duration(study.total_seconds), "sweeps": seconds}
    source, much = study.source or study.study, "quick=True" if study.quick else f"seeds={len(study.seeds)}"
    lines = ["from pegasos.studies import run", "", f"run({source!r}, {f'runs/{study.study}'!r}, {much})"]
    blocks: list[Block] = [
        Code("The command of this run", shlex.join(["pegasos", "study", source, *size])),
        Code("The same in Python", "\n".join(lines)),
        Facts({**facts, "fingerprint of the rows": study.data.fingerprint, **study.made}),
    ]
    return Section("again", "Reproduce this run", blocks)
