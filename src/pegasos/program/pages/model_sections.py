"""Sections of a fitted model that pages of searches and of models share."""

from __future__ import annotations

from typing import Any

from pegasos.program.pages.blocks import Section
from pegasos.program.pages.boundary_section import boundary_blocks
from pegasos.program.pages.labeled_rows import LabeledRows
from pegasos.program.pages.learning_section import learning_blocks
from pegasos.program.pages.weights_section import weight_blocks


def model_sections(model: Any, rows: LabeledRows | None) -> list[Section]:
    """Return weights, convergence, and with rows the decision boundary."""
    boundary = [] if rows is None else boundary_blocks(model, rows)
    return [
        Section("weights", "Weights", weight_blocks(model)),
        Section("learning", "Convergence", learning_blocks(model)),
        Section("boundary", "Decision boundary", boundary),
    ]
