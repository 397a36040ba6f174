"""Page of a study: verdicts, printed and our numbers, claims, figures, and the best error reached."""

from __future__ import annotations

from pegasos.program.pages.blocks import Block, Chart, Section, Table, Text, Tile, Tiles, columns
from pegasos.program.pages.study_charts import figure_blocks, numbers_chart
from pegasos.program.pages.wording import count, duration, percent
from pegasos.studies.results import StudyResult

_VERDICTS = (
    "Exact: all printed digits agree. Within noise: inside the central 95 % of our distribution over seeds. Undecided: "
    "between 95 % and 99 %, or no distribution. Differs: outside 99 %."
)


def build(study: StudyResult) -> tuple[str, str, list[Section]]:
    """Return title, subtitle and sections."""
    sections = [
        Section("summary", "Summary", _summary(study)),
        Section("claims", "Claims", _claims(study)),
        Section("numbers", "Printed numbers and ours", _numbers(study)),
        Section("figures", "Figures", _figures(study)),
    ]
    size = f"{study.rows:,} rows of {study.data}, {count(study.seeds, 'seed')}"
    return study.title, f"{study.study}: {size}, {duration(study.seconds)}.", sections


def _summary(study: StudyResult) -> list[Block]:
    total = len(study.numbers)
    tiles: list[Tile] = [
        (verdict.capitalize(), f"{many} of {total}", "printed numbers", many / total)
        for verdict, many in study.counts().items()
        if total
    ]
    tiles += [("Best reached here", percent(best.error), best.what, None) for best in study.best]
    blocks: list[Block] = [Tiles(tiles)] if tiles else []
    return [*blocks, Text(study.protocol), *(Text(note) for note in study.notes)]


def _claims(study: StudyResult) -> list[Block]:
    rows = [vars(claim) for claim in study.claims]
    listed = columns(
        "text", claim="claim", verdict="verdict", evidence="evidence", source="whose claim"
    )
    return [Table("claims", "Claims of the report, and ours", listed, rows)] if rows else []


def _numbers(study: StudyResult) -> list[Block]:
    if not study.numbers:
        return []
    listed = columns("text", id="number")
    listed += columns(
        "number", printed="printed", ours="ours", noise="noise", low="2.5 %", high="97.5 %"
    )
    listed += columns("text", verdict="verdict", reason="reason")
    rows = [{**vars(each)} for each in study.numbers]
    table = Table("numbers", "Every printed number", listed, rows, filter_by="verdict")
    errors = [each for each in study.numbers if 0 <= each.printed <= 1 and 0 <= each.ours <= 1]
    caption = f"Vertical lines: the central 95 % of our distribution over seeds. {_VERDICTS}"
    if len(errors) < 5:
        return [Text(_VERDICTS, small=True), table]
    return [Chart("printed-ours", "Printed and ours", numbers_chart(errors), caption), table]


def _figures(study: StudyResult) -> list[Block]:
    named = ((figure, f"figure-{n}") for n, figure in enumerate(study.figures, start=1))
    return [block for figure, name in named for block in figure_blocks(figure, name)]
