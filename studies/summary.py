"""Write docs/studies.md: verdicts of all studies, their findings and claims."""

from __future__ import annotations

from pathlib import Path

from pegasos.program.files import as_csv, write_text
from pegasos.studies import StudyResult
from pegasos.studies.results import DIFFERS, VERDICTS

#: Numbers shown for each reason of a difference.
SHOWN = 3
#: Words of the evidence that are shown for each claim.
WORDS = 20

_HEAD = """# The five studies

Five published reports, run again by `make studies` with their own data. Each printed number gets a
verdict: *exact* (all printed digits agree), *within noise* (inside the central 95 % of our
distribution over seeds), *undecided* (between 95 % and 99 %, or no distribution), or *differs*
(outside 99 %). The pages with all numbers and figures are written to `runs/studies`; `claims.csv`
there has the whole evidence of each claim, of which this page shows the first part. Claims marked
(ours) are not made by the report. The code is in `studies/`.
"""


def write_summary(page: Path, results: list[StudyResult]) -> None:
    """Write the page, and beside it our errors and verdicts of the cells of usps_kernels.

    The published errors of these cells are not in the repository.
    """
    head = ["study", "numbers", *VERDICTS, "best error found", "seconds"]
    table = [
        [
            f"[{result.study}](#{result.study.replace('_', '-')})",
            str(len(result.numbers)),
            *map(str, result.counts().values()),
            *(_percent(best.error) for best in result.best),
            f"{result.seconds:.0f}",
        ]
        for result in results
    ]
    sections = [_section(result) for result in results]
    write_text(page, "\n".join([_HEAD, _table(head, table), *sections]))
    numbers = next(result.numbers for result in results if result.study == "usps_kernels")
    cells = [each for each in numbers if not each.id.startswith("printed:")]
    if cells:  # else the published cells are not in the data folder
        rows = [{"id": each.id, "ours": each.ours, "verdict": each.verdict} for each in cells]
        write_text(page.parent / "usps_kernels_cells.csv", as_csv(rows))


def _section(result: StudyResult) -> str:
    """Return protocol, notes, differences, claims and best error of one study."""
    reasons: dict[str, list[str]] = {}
    for number in result.numbers:
        if number.verdict == DIFFERS:
            reasons.setdefault(number.reason, []).append(f"{number.printed:g} / {number.ours:.4g}")
    differences = [
        [reason, str(len(found)), _shortened(found)] for reason, found in reasons.items()
    ]
    claims = [
        [
            claim.claim if claim.source == "report" else f"(ours) {claim.claim}",
            claim.verdict,
            _first_words(claim.evidence),
        ]
        for claim in result.claims
    ]
    parts = [f"## {result.study.replace('_', '-')}", f"**{result.title}.** {result.protocol}"]
    parts += result.notes
    if differences:
        parts += ["Numbers that differ:"]
        parts += [_table(["reason", "count", "printed / ours"], differences).rstrip()]
    parts += [_table(["claim", "verdict", "evidence"], claims).rstrip()]
    for best in result.best:
        size = f"{best.rows} rows, {best.seconds:.0f} s"
        parts += [f"Best error found: {_percent(best.error)} on {size}: {best.what}."]
    return "\n\n".join(parts) + "\n"


def _percent(error: float) -> str:
    return f"{100 * error:.2f} %"


def _shortened(found: list[str]) -> str:
    return ", ".join(found[:SHOWN]) + (", ..." if len(found) > SHOWN else "")


def _first_words(evidence: str) -> str:
    """Return the first part of the evidence of a claim."""
    words = evidence.split("; ")[0].split()
    return " ".join(words[:WORDS]) + (" ..." if len(words) > WORDS else "")


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"|{'|'.join(line)}|" for line in cells) + "\n"
