"""Learn from a table of any size: rows in memory, or rows that are read in passes."""

from __future__ import annotations

from pegasos.program.datasets import load_or_outline
from pegasos.program.learning.tables import TrainingTable
from pegasos.program.tables.dataset import Outline
from pegasos.program.terminal.options import ReadingOptions, RunningOptions


def open_table(data: str, reading: ReadingOptions, running: RunningOptions) -> TrainingTable:
    """Open a file or named set: in memory if it fits, else read in passes."""
    found = load_or_outline(data, reading, running.memory)
    if isinstance(found, Outline):
        from pegasos.program.learning.passes import TableInPasses

        return TableInPasses(data, reading, running, found)
    from pegasos.program.learning.in_memory import TableInMemory

    return TableInMemory(found, running)
