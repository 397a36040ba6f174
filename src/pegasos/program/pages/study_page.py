"""The page about a study: printed and ours, readings, claims, the grid, extras, and what surpasses the report."""

from __future__ import annotations

import base64
import shlex
from collections import Counter
from dataclasses import replace
from typing import Any

from pegasos.metrics import measure_of
from pegasos.program.pages import row_charts as draw
from pegasos.program.pages.blocks import (
    Block,
    Chart,
    Code,
    Facts,
    Gallery,
    Section,
    Table,
    Text,
    Tile,
    Tiles,
    columns,
)
from pegasos.program.pages.grid_axes import Point
from pegasos.program.pages.grid_views import Grid
from pegasos.program.pages.mistakes import PIXELS
from pegasos.program.pages.shared_sections import (
    PLACES,
    class_map,
    class_rows,
    curve_blocks,
    feature_section,
    map_section,
    share_of,
)
from pegasos.program.pages.sweep_page import confusion_panel, explorer, scripts_data
from pegasos.program.pages.wording import (
    count,
    duration,
    is_number,
    named_values,
    percent,
    setting_text,
    title_of,
    value_text,
)
from pegasos.program.records.pages import DataRecord, KeptCell, PageRecord
from pegasos.program.records.runs import best_of_families
from pegasos.program.records.studies import ExtraRecord, StudyCell, StudyData, StudyRecord
from pegasos.program.tables.named_sets import SETS
from pegasos.program.terminal.reproduction import command_line, python_script

#: What a column of tables is.
_READING = (
    "A reading is one interpretation of what the report did: as written in its text, as in its program, or with a number that "
    "it does not print. Each group of numbers is judged by the reading that fits it best."
)
#: Test rows where a study does not tell how many it had.
USUAL_SHARE = 0.2
#: What seconds may be drawn against.
_TIMED = {"T": "steps (T)", "m": "m (training rows)"}


def build(
    study: StudyRecord, record: PageRecord | None
) -> tuple[str, str, list[Section], dict[str, Any]]:
    """Title, subtitle, sections and the data of the scripts; `record` is what was kept of its experiments."""
    record = record or PageRecord("study", DataRecord(study.data.name), study.made)
    cells = _joined(study.cells)
    points = _points(cells, study.data, 0 if record.seed is None else record.seed)
    best = next(iter(best_of_families(points, lambda point: None, lambda point: point.value)), None)
    record = replace(record, kept=_kept(cells, record))
    data, grid_blocks, panel = scripts_data(record), list[Block](), list[Block]()
    if best is not None:
        spread = "seeds" if len(study.seeds) > 1 else "one seed"
        grid = Grid(
            points, measure_of(None), best.number, best.number, "least error", "test rows", spread
        )
        grid_blocks = [explorer(grid, bool(record.kept))]
        data["grid"] = grid.described
    if record.kept:
        names = "; ".join(each.name for each in record.experiments)
        text = Text(f"Predictions were kept of the first seed of: {names}.", small=True)
        panel = [text, confusion_panel(record, None if best is None else best.number)]
    sections = [
        Section("summary", "Summary", _summary(study, best, record.data)),
        Section("printed", "Printed and ours", _printed(study)),
        Section("compared", "The best of each model", _compared(points)),
        Section("claims", "Claims", _claims(study)),
        Section("grid", "The grid", grid_blocks),
        Section("cell", "The chosen setting", panel),
        Section("learning", "Learning", _curves(record)),
        *(
            Section(f"extra-{number}", extra.title, _extra(extra))
            for number, extra in enumerate(study.extras)
        ),
        Section("surpass", "The best that this project reaches", _better(study)),
        Section("rows", "The data", [*map_section(record), *feature_section(record)]),
        _reproduction(study),
    ]
    size = f"{count(len(points), 'setting')} on {study.data.rows:,} rows of {study.data.name}, {count(len(study.seeds), 'seed')}"
    return study.title, f"{study.study}: {size}, {duration(study.total_seconds)}.", sections, data


def _joined(cells: list[StudyCell]) -> list[list[StudyCell]]:
    """What was counted of one setting together: on test rows, on training rows."""
    found: dict[Any, list[StudyCell]] = {}
    for cell in cells:
        found.setdefault(
            (cell.experiment, cell.setting, cell.decoding, tuple(cell.tags.items())), []
        ).append(cell)
    return list(found.values())


def _test_share(cell: StudyCell, rows: int) -> float:
    """As many test rows as the study has."""
    return 0.0 if cell.learned is None else max(0.0, 1 - cell.learned / max(rows, 1))


def _points(cells: list[list[StudyCell]], data: StudyData, seed: int | None) -> list[Point]:
    known = [(one.setting, one.names) for one, *_ in cells if one.setting is not None]
    named = iter(named_values([setting for setting, _ in known], [names for _, names in known]))
    points = []
    for number, cell in enumerate(cells):
        one = cell[0]
        point = Point(number, {"experiment": one.experiment, "decoding": one.decoding, **one.tags})
        if one.setting is not None:
            point.values |= next(named)
            point.cost = one.cost
            share = _test_share(one, data.rows)
            options = ["--test-size", f"{share:.2g}"] if share else []
            point.command = command_line(one.setting, data.name, seed, options)
            if point.command is None and data.name in SETS:
                point.python = python_script(
                    one.setting, data.name, seed or 0, share or USUAL_SHARE
                )
        for each in reversed(cell):  # the first of a kind counts
            if each.split == "train":
                point.train, point.train_deviation = each.error, each.spread
            else:
                point.value, point.deviation = each.error, each.spread
        points.append(point)
    return points


def _kept(cells: list[list[StudyCell]], record: PageRecord) -> dict[str, KeptCell]:
    """What was kept, under the numbers that cells have on this page: the same setting of the same experiment."""
    known: dict[Any, KeptCell] = {}
    for each in record.experiments:
        known |= {
            (each.name, each.settings[int(number)], "argmax"): kept
            for number, kept in each.kept.items()
        }
    keys = [(one.experiment, one.setting, one.decoding) for one, *_ in cells]
    return {str(number): known[key] for number, key in enumerate(keys) if key in known}


def _summary(study: StudyRecord, best: Point | None, data: DataRecord) -> list[Block]:
    tiles: list[Tile] = []
    if best is not None:
        guess = 1 - max(data.counts) / sum(data.counts) if data.counts else None
        told = setting_text(
            {name: value for name, value in best.values.items() if name != "decoding"}, best.cost
        )
        tiles.append(
            (
                "Least error on test rows",
                percent(best.value),
                told,
                share_of(best.value or 0.0, guess),
            )
        )
        if guess is not None:
            usual = data.classes[data.counts.index(max(data.counts))]
            tiles.append(
                ("Without a model", percent(guess), f"error of always guessing '{usual}'", 1.0)
            )
    total = len(study.numbers)
    counts = Counter(number.verdict for number in study.numbers).items()
    tiles += [
        (f"Verdict: {verdict}", f"{many} of {total}", "printed numbers", many / total)
        for verdict, many in counts
    ]
    blocks: list[Block] = [Tiles(tiles)] if tiles else []
    if following := _following(study, best):
        blocks.append(Code("What to do next", "\n".join(following)))
    if study.numbers and not study.data.real:
        text = "These rows are not the report's data: the verdicts are about the machinery, never about the report."
        blocks.append(Text(text, warning=True))
    if study.quick:
        blocks.append(Text("A quick run: one seed, and of many rows a part.", warning=True))
    return [*blocks, Text(study.protocol), *([Text(study.findings)] if study.findings else [])]


def _following(study: StudyRecord, best: Point | None) -> list[str]:
    """The whole study where this was a quick run; the model that errs least."""
    source = study.source or study.study
    lines = [shlex.join(["pegasos", "study", source])] if study.quick else []
    return [*lines, *([best.command] if best is not None and best.command else [])]


def _printed(study: StudyRecord) -> list[Block]:
    if not study.numbers:
        return []
    listed = columns(
        "text", **{name: title_of(name) for each in study.numbers for name in each.fields}
    )
    listed += columns(
        "percent",
        printed="printed",
        ours="ours",
        spread="± seeds",
        difference="difference",
        noise="noise",
    )
    listed += columns("text", verdict="verdict", reading="reading")
    rows = [each.row() for each in study.numbers]
    blocks: list[Block] = [
        Table("printed", "Every printed number", listed, rows, filter_by="verdict")
    ]
    told = [row for row in rows if row["why"]]
    fields = dict.fromkeys(name for each in study.numbers if each.why for name in each.fields)
    listed = columns("text", **{name: title_of(name) for name in fields}) + columns(
        "percent", printed="printed", ours="ours"
    )
    blocks += (
        [Table("reasons", "Why some are not ours", listed + columns("text", why="why"), told)]
        if told
        else []
    )
    texts = [
        {"fits": f"{fit.fitting} of {fit.numbers}", "chosen": "fits best" if fit.chosen else ""}
        for fit in study.readings
    ]
    readings = [{**vars(fit), **text} for fit, text in zip(study.readings, texts, strict=True)]
    listed = columns("text", group="numbers", reading="reading", fits="reproduced")
    listed += columns("number", mean_distance="mean distance in standard errors")
    chosen = [fit for fit in readings if fit["chosen"]]
    blocks += [Text(_READING), Table("readings", "The reading that fits best", listed, chosen)]
    if len(chosen) < len(readings):
        listed = [*listed, ("chosen", "", "text")]
        blocks.append(
            Table("readings-all", "All readings", listed, readings, filter_by="group", folded=True)
        )
    return blocks


def _compared(points: list[Point]) -> list[Block]:
    """The best setting of every experiment side by side, the best first."""
    families = [
        name
        for name in ("experiment", "decoding")
        if len({point.values.get(name) for point in points}) > 1
    ]
    families = families or ["kernel"]
    best = best_of_families(
        points,
        lambda point: tuple(point.values.get(name) for name in families),
        lambda point: point.value,
    )
    if len(best) < 2:
        return []
    rows = []
    for order, point in enumerate(best):
        value, spread = point.value or 0.0, point.deviation or 0.0
        rest = {
            name: each
            for name, each in point.values.items()
            if name not in ("experiment", "decoding", *families)
        }
        numbers = {
            "error": value,
            "spread": point.deviation,
            "low": max(0.0, value - spread),
            "high": value + spread,
        }
        name = ", ".join(value_text(point.values.get(name)) for name in families)
        told = {
            "model": name,
            "setting": setting_text(rest, point.cost),
            "shown": percent(value),
            "order": order,
        }
        rows.append({**told, **numbers, "command": point.command or ""})
    listed = columns("text", model="model", setting="its best setting") + columns(
        "percent", error="error", spread="± seeds"
    )
    table = Table(
        "compared", "The best of each model", listed + columns("text", command="command"), rows
    )
    caption = "The least error on test rows of each; that it is the least makes it look a little better than it is."
    return [Chart("compared", "The best of each model", draw.ranking(rows), caption, table)]


def _curves(record: PageRecord) -> list[Block]:
    """How the best of each experiment learned."""
    caption = (
        "Of the best of each model, learning from the training rows of the first split once more."
    )
    return curve_blocks(
        [(each.name, curve) for each in record.experiments for curve in each.curves], caption
    )


def _claims(study: StudyRecord) -> list[Block]:
    listed = columns("text", claim="claim", verdict="verdict", evidence="evidence")
    return (
        [Table("claims", "What the report claims", listed, [vars(claim) for claim in study.claims])]
        if study.claims
        else []
    )


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
    table = Table(
        name, extra.title, columns("number", **{key: title_of(key) for key in rows[0]}), rows
    )
    words = f"\n{extra.text}".partition("\n|")[0].strip()  # without the table that stands below it
    blocks: list[Block] = [Text(words)] if words else []
    if {"class", "rows"} <= set(rows[0]):
        counted = class_rows([str(row["class"]) for row in rows], [row["rows"] for row in rows])
        return [*blocks, Chart(name, extra.title, draw.counts(counted), "", table)]
    for across, title in _TIMED.items():
        if not {across, "seconds", "kernel"} <= set(rows[0]):
            continue
        if all(
            is_number(row[across]) and is_number(row["seconds"]) and row["seconds"] > 0
            for row in rows
        ):
            listed = [
                {"x": row[across], "y": row["seconds"], "line": row["kernel"]} for row in rows
            ]
            return [
                *blocks,
                Chart(name, extra.title, draw.times(listed, title, "seconds", "kernel"), "", table),
            ]
    return [*blocks, table]


def _gallery(extra: ExtraRecord) -> list[Block]:
    height, width = extra.content["shape"]
    if height * width > 4 * PIXELS:
        return [Text(extra.text)]
    pictures = [
        (
            base64.b64encode(bytes(max(0, min(255, int(value))) for value in image)).decode(),
            str(label),
        )
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
    table = Table(name, "The first 200 places", PLACES, rows[:200])
    return [Chart(name, extra.title, class_map(rows, len(set(codes))), extra.text, table)]


def _better(study: StudyRecord) -> list[Block]:
    rows = [each.row() for each in study.better]
    if not rows:
        return []
    listed = [(name, name, "percent" if name == "error" else "number") for name in rows[0]]
    return [Table("surpass", "Better than the report's best", listed, rows)]


def _reproduction(study: StudyRecord) -> Section:
    size = ["--quick"] if study.quick else ["--seeds", str(len(study.seeds))]
    seconds = ", ".join(f"{name} {duration(value)}" for name, value in study.seconds.items())
    facts = {
        "seeds": ", ".join(map(str, study.seeds)),
        "duration": duration(study.total_seconds),
        "sweeps": seconds,
    }
    source, much = (
        study.source or study.study,
        "quick=True" if study.quick else f"seeds={len(study.seeds)}",
    )
    lines = [
        "from pegasos.studies import run",
        "",
        f"run({source!r}, {f'runs/{study.study}'!r}, {much})",
    ]
    blocks: list[Block] = [
        Code("The command of this run", shlex.join(["pegasos", "study", source, *size])),
        Code("The same in Python", "\n".join(lines)),
        Facts({**facts, "fingerprint of the rows": study.data.fingerprint, **study.made}),
    ]
    return Section("again", "Reproduce this run", blocks)
