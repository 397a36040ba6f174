"""Page of a model: its parameters and errors, and its predictions on rows."""

from __future__ import annotations

from typing import Any

from pegasos.program.pages.blocks import Block, Code, Facts, Section, Tiles
from pegasos.program.pages.common_sections import common_sections
from pegasos.program.pages.confusion_section import confusion_blocks
from pegasos.program.pages.decision_section import decision_blocks
from pegasos.program.pages.error_section import error_table, error_tile, honest_tile
from pegasos.program.pages.explanation_section import explanation_blocks
from pegasos.program.pages.wording import cost_text, data_text, duration, number_text
from pegasos.program.records.pages import ModelRecord, PageRecord
from pegasos.program.terminal.reproduction import next_commands


def build(record: PageRecord) -> tuple[str, str, list[Section]]:
    """Return title, subtitle and sections."""
    model = record.model
    assert model is not None
    file, source = model.file, record.data.source
    following: list[Block] = (
        [] if file is None else [Code("What to do next", "\n".join(next_commands(file, source)))]
    )
    summary = [
        *_tiles(record),
        *following,
        Facts(_facts(model)),
        *error_table(record.errors, "Errors", folded=True),
    ]
    sections = [
        Section("summary", "Summary", summary),
        Section("cell", "Confusion matrix and mistakes", confusion_blocks(record)),
        Section("decisions", "Thresholds", decision_blocks(record)),
        Section("explanation", "Which columns matter", explanation_blocks(record.explanation)),
        *common_sections(record, model.setting),
    ]
    took = f", fitted in {duration(record.seconds)}" if record.seconds else ""
    seen = "; evaluated on" if record.kept else ", for"
    subtitle = f"{model.facts.learner}, {model.kernel}{took}{seen} {data_text(record.data)}."
    return model.file or f"{record.data.name}: a model", subtitle, sections


def _facts(model: ModelRecord) -> dict[str, Any]:
    facts = model.facts
    return {
        "model": facts.model,
        "class": facts.learner,
        "kernel": model.kernel,
        "λ": None if facts.lam is None else number_text(facts.lam) + cost_text(facts.cost),
        facts.unit: facts.count,
        "support vectors": facts.support_vectors,
        "relative duality gap": None if facts.gap is None else f"{facts.gap:.3g}",
    }


def _tiles(record: PageRecord) -> list[Block]:
    """Return the errors on all kinds of rows, training rows last."""
    known = {name: each for name, each in record.errors.items() if each.error is not None}
    baseline = next((each.guess for each in known.values() if each.guess is not None), None)
    tiles = honest_tile(record.honest, baseline)
    for name in sorted(known, key=lambda name: "training" in name):
        heading = f"Error on {name}" if name.endswith("rows") else f"Error on {name} rows"
        tiles.append(error_tile(heading, known[name]))
    return [Tiles(tiles)] if tiles else []
