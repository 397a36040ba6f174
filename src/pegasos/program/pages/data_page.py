"""Page of a table with labels, before anything is trained."""

from __future__ import annotations

from pegasos.program.pages.blocks import Section
from pegasos.program.pages.data_section import data_blocks
from pegasos.program.pages.labeled_rows import LabeledRows
from pegasos.program.pages.page import Page
from pegasos.program.pages.values import count
from pegasos.program.tables.dataset import Dataset


def data_page(dataset: Dataset) -> Page:
    """Return classes, statistics, correlations and scatter plots of features by class."""
    size = f"{count(len(dataset), 'row')}, {count(dataset.X.shape[1], 'feature')}"
    blocks = data_blocks(LabeledRows.of(dataset))
    return Page(dataset.name, f"{size}.", [Section("rows", "The data", blocks)])
