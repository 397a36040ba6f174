"""Studies in Python: run one, or declare one of one's own; `pegasos study new mine.py --data my.csv` writes one to start from."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegasos.program.records.studies import Better, StudyRecord
    from pegasos.program.studies.splits import folds, train_test
    from pegasos.program.studies.study import Check, Emulation, Experiment, Extra, Number, Study

__all__ = [
    "Better",
    "Check",
    "Emulation",
    "Experiment",
    "Extra",
    "Number",
    "Study",
    "folds",
    "run",
    "train_test",
]

_HOMES = {"Better": "pegasos.program.records.studies"}
_HOMES |= dict.fromkeys(("folds", "train_test"), "pegasos.program.studies.splits")
_HOMES |= dict.fromkeys(
    ("Check", "Emulation", "Experiment", "Extra", "Number", "Study"),
    "pegasos.program.studies.study",
)


def run(
    study: str | Study,
    folder: str | None = None,
    *,
    seeds: int = 5,
    quick: bool = False,
    jobs: int | None = None,
) -> StudyRecord:
    """Run a study, write its files into a folder (default: runs/ + its name), and return what was found.

    study: the name of a published one (`pegasos study list` shows them), a file with one, or a `Study`. seeds: how many seeds of
    splits and draws. quick: one seed on 2000 rows. jobs: threads; they never change a result. The same call goes on after an
    interruption, and the folder gets report.html, findings.md, results.json, results.csv and cells.csv.

    >>> record = run("usps_kernels", "runs/usps_kernels", seeds=5)  # doctest: +SKIP
    >>> [
    ...     (number.printed, number.ours, number.verdict) for number in record.numbers
    ... ]  # doctest: +SKIP
    """
    from pegasos.program.jobs.study_runs import run

    return run(study, folder, seeds, quick, jobs)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: `from pegasos.studies import run` loads nothing else."""
    if name not in _HOMES:
        raise AttributeError(f"module 'pegasos.studies' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
