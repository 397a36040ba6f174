"""Sections that pages of tuning runs and of models share."""

from __future__ import annotations

from pegasos.program.pages.blocks import Block, Code, Facts, Section
from pegasos.program.pages.boundary_section import boundary_blocks
from pegasos.program.pages.learning_section import learning_blocks
from pegasos.program.pages.map_section import map_blocks
from pegasos.program.pages.rows_section import data_blocks
from pegasos.program.pages.weights_section import weight_blocks
from pegasos.program.pages.wording import duration
from pegasos.program.records.pages import PageRecord
from pegasos.program.terminal.reproduction import python_lines
from pegasos.search.settings import Setting


def common_sections(record: PageRecord, setting: Setting) -> list[Section]:
    """Return sections about training, predictions in two dimensions, the data, and how to reproduce the model."""
    return [
        Section("weights", "Weights", weight_blocks(record.weights)),
        Section("learning", "Learning", learning_blocks(record.curves, record.certificates)),
        Section("boundary", "Decision boundary", boundary_blocks(record)),
        Section("map", "Map of the rows", map_blocks(record)),
        Section("rows", "The data", data_blocks(record)),
        Section("again", "Reproduce this run", _reproduction(record, setting)),
    ]


def _reproduction(record: PageRecord, setting: Setting) -> list[Block]:
    blocks: list[Block] = []
    if record.command is not None:
        blocks.append(Code("The command of this run", record.command))
    blocks.append(Code("The model in Python", python_lines(setting, record.seed)))
    facts = {"seed": record.seed, "duration": duration(record.seconds), **record.made}
    return [*blocks, Facts(facts)]
