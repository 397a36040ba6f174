"""Write docs/studies.md: verdicts of all studies, their findings and claims."""

from __future__ import annotations

from pegasos.studies import StudyResult
from pegasos.studies.results import VERDICTS

_HEAD = """# The five studies

Five published reports, run again by `make studies` with their own data. Each printed number gets a verdict: *exact*
(all printed digits agree), *within noise* (inside the central 95 % of our distribution over seeds), *undecided* (between
95 % and 99 %, or no distribution), or *differs* (outside 99 %). The pages with all numbers and figures are written to
`runs/studies`; the code is in `studies/`.
"""


def summarize(results: list[StudyResult]) -> str:
    """Return the page as Markdown."""
    head = ["study", "numbers", *VERDICTS, "best reached here", "seconds"]
    rows = []
    for result in results:
        best = min((each.error for each in result.best), default=float("nan"))
        counts = result.counts()
        verdicts = [str(counts[verdict]) for verdict in VERDICTS]
        link = f"[{result.study}](#{result.study.replace('_', '-')})"
        rows.append(
            [link, str(len(result.numbers)), *verdicts, f"{best:.2%}", f"{result.seconds:.0f}"]
        )
    parts = [_HEAD, _table(head, rows)]
    return "\n".join([*parts, *(_section(result) for result in results)])


def _section(result: StudyResult) -> str:
    lines = [
        f"## {result.study.replace('_', '-')}",
        "",
        f"**{result.title}.** {result.protocol}",
        "",
    ]
    for note in result.notes:
        lines += [note, ""]
    differing = [each for each in result.numbers if each.verdict == VERDICTS[-1]]
    if differing:
        rows = [
            [each.id, f"{each.printed:g}", f"{each.ours:.4f}", each.reason] for each in differing
        ]
        lines += ["Numbers that differ:", "", _table(["number", "printed", "ours", "reason"], rows)]
    rows = [
        [
            claim.claim if claim.source == "report" else f"(ours) {claim.claim}",
            claim.verdict,
            claim.evidence,
        ]
        for claim in result.claims
    ]
    lines += [_table(["claim", "verdict", "evidence"], rows)] if rows else []
    for best in result.best:
        lines += [
            f"Best reached here: {best.error:.2%} on {best.rows} rows, {best.seconds:.0f} s: {best.what}.",
            "",
        ]
    return "\n".join(lines)


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return (
        "\n".join(
            "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
        )
        + "\n"
    )
