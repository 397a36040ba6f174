"""The work behind `describe`: a table in memory, or one that is larger, in one pass."""

from __future__ import annotations

from pegasos.program.datasets import load_or_outline, with_labels_or_without
from pegasos.program.jobs.large_tables import LargeTable
from pegasos.program.tables.description import Description
from pegasos.program.tables.read_options import Outline
from pegasos.program.tables.statistics import describe, describe_blocks
from pegasos.program.terminal import console, option_values
from pegasos.program.terminal.options import ReadingOptions, RunningOptions


def described(
    data: str, reading: ReadingOptions, memory: str | None, outlier: float
) -> Description:
    """What a table looks like, with labels where a column can be one."""
    option_values.check_memory(memory)

    def read(labelled: bool) -> Description:
        found = load_or_outline(data, reading, memory, labelled=labelled, encoded=False)
        if isinstance(found, Outline):
            return _large(LargeTable(data, reading, RunningOptions(memory=memory), found), outlier)
        return describe(found, outlier)

    return with_labels_or_without(data, reading, read)


def _large(table: LargeTable, outlier: float) -> Description:
    outline = table.outline
    console.say(f"{table.about}: it is described in one pass")
    for note in outline.notes:
        console.say(note)
    with console.working(f"one pass over {table.data}", counted="rows") as progress:
        parts = progress.counting(table.parts(outline.columns, not outline.sparse, weighed=False))
        return describe_blocks(
            table.data, parts, outline.columns, outline.label, outlier, table.budget
        )
