"""Sections that pages of searches and of models share, and what can be shown."""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from pegasos.program.pages.blocks import Section
from pegasos.program.pages.boundary_section import boundary_blocks
from pegasos.program.pages.data_section import data_blocks
from pegasos.program.pages.labeled_rows import LabeledRows
from pegasos.program.pages.learning_section import learning_blocks
from pegasos.program.pages.map_section import map_blocks
from pegasos.program.pages.weights_section import weight_blocks
from pegasos.search.anatomy import anatomy
from pegasos.search.sweep import SweepCV


def model_sections(model: Any, rows: LabeledRows | None, wrong: Any, tsne: bool) -> list[Section]:
    """Return sections about a model, if there is one, and about rows, if there are some.

    `wrong` marks misclassified rows; `tsne` draws the map by t-SNE, which takes seconds.
    """
    sections = []
    if model is not None:
        sections.append(Section("weights", "Weights", weight_blocks(model)))
        sections.append(Section("learning", "Convergence", learning_blocks(model)))
        if rows is not None:
            blocks = boundary_blocks(model, rows)
            sections.append(Section("boundary", "Decision boundary", blocks))
    if rows is not None:
        sections.append(Section("map", "Map of the rows", map_blocks(rows, wrong, tsne)))
        sections.append(Section("rows", "The data", data_blocks(rows)))
    return sections


def check_shown(thing: Any, what: str) -> None:
    """Raise an error for objects that are not fitted or not of pegasos; `what` can be shown."""
    if not isinstance(thing, SweepCV):
        try:
            thing = anatomy(thing).learner
        except ValueError as error:
            raise ValueError(f"{what}. {error}") from None
    try:
        check_is_fitted(thing, "cv_results_" if isinstance(thing, SweepCV) else "classes_")
    except NotFittedError:
        name = type(thing).__name__
        text = f"this {name} is not fitted yet, so there is nothing to show: call fit first."
        raise NotFittedError(text) from None
