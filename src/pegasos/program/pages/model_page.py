"""The page about one model: what it is, its errors, its weights, and what it does on rows."""

from __future__ import annotations

from typing import Any

from pegasos.program.pages.blocks import Block, Code, Facts, Section, Tiles
from pegasos.program.pages.confusion_section import confusion_blocks
from pegasos.program.pages.decision_section import decision_blocks
from pegasos.program.pages.explanation_section import explanation_blocks
from pegasos.program.pages.shared_sections import (
    common_sections,
    error_table,
    honest_tile,
    share_of,
)
from pegasos.program.pages.wording import (
    cost_text,
    data_text,
    duration,
    interval,
    number_text,
    percent,
)
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
    took = f", made in {duration(record.seconds)}" if record.seconds else ""
    seen = (
        f"; looked at on {data_text(record.data)}"
        if record.kept
        else f", for {data_text(record.data)}"
    )
    subtitle = f"{model.facts.learner}, {model.kernel}{took}{seen}."
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
    tiles = honest_tile(
        record.honest,
        next((each.guess for each in record.errors.values() if each.guess is not None), None),
    )
    for name, each in sorted(
        record.errors.items(), key=lambda item: "training" in item[0]
    ):  # what tells least comes last
        if each.error is not None:
            heading = f"Error on {name}" if name.endswith("rows") else f"Error on {name} rows"
            counted = f"{each.mistakes} of {each.rows:,} rows"
            told = [counted, interval(each.low, each.high)]
            told += [] if each.guess is None else [f"baseline: {percent(each.guess)}"]
            tiles.append(
                (
                    heading,
                    percent(each.error),
                    "; ".join(filter(None, told)),
                    share_of(each.error, each.guess),
                )
            )
    return [Tiles(tiles)] if tiles else []
