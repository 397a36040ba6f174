"""Studies: run a protocol, compare with printed numbers, and judge claims.

A study is a Python file that ends with ``STUDY = Study(...)``. ``pegasos study FILE.py`` runs it,
and ``pegasos study new FILE.py --data DATA`` writes one to start from. In Python, `run_study` runs
it on arrays.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegasos.studies.results import Claim, Figure, JudgedNumber, StudyResult, judge
    from pegasos.studies.running import Run, Study, run_study

__all__ = ["Claim", "Figure", "JudgedNumber", "Run", "Study", "StudyResult", "judge", "run_study"]


def __getattr__(name: str) -> Any:
    """Import a public name on first use: a page of results loads no learner."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "running" if name in ("Run", "Study", "run_study") else "results"
    return getattr(import_module(f"{__name__}.{home}"), name)
