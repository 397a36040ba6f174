"""Write docs/studies.md: verdicts of all studies, their findings and claims."""

from __future__ import annotations

from pegasos.studies import StudyResult
from pegasos.studies.results import DIFFERS, VERDICTS

#: Numbers shown for each reason of a difference.
SHOWN = 3
#: Words of the evidence that are shown for each claim.
WORDS = 20

_HEAD = """# The five studies

Five published reports, run again by `make studies` with their own data. Each printed number gets a verdict: *exact*
(all printed digits agree), *within noise* (inside the central 95 % of our distribution over seeds), *undecided* (between
95 % and 99 %, or no distribution), or *differs* (outside 99 %). The pages with all numbers and figures are written to
`runs/studies`; `claims.csv` there has the whole evidence of each claim, of which this page shows the first part. The code
is in `studies/`.
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
    lines += _differences(result)
    rows = [
        [
            claim.claim if claim.source == "report" else f"(ours) {claim.claim}",
            claim.verdict,
            _first_words(claim.evidence),
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


def _first_words(evidence: str) -> str:
    """Return the first part of the evidence of a claim."""
    words = evidence.split("; ")[0].split()
    return " ".join(words[:WORDS]) + (" ..." if len(words) > WORDS else "")


def _differences(result: StudyResult) -> list[str]:
    """Return a table of the numbers that differ, one row per reason."""
    reasons: dict[str, list[str]] = {}
    for number in result.numbers:
        if number.verdict == DIFFERS:
            reasons.setdefault(number.reason, []).append(f"{number.printed:g} / {number.ours:.4g}")
    if not reasons:
        return []
    rows = [
        [
            reason,
            str(len(found)),
            ", ".join(found[:SHOWN]) + (", ..." if len(found) > SHOWN else ""),
        ]
        for reason, found in reasons.items()
    ]
    return ["Numbers that differ:", "", _table(["reason", "count", "printed / ours"], rows)]


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"|{'|'.join(line)}|" for line in cells) + "\n"
