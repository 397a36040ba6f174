"""Studies: run a protocol, compare with printed numbers, and judge claims.

A study is a Python file that ends with ``STUDY = Study(...)``. ``pegasos study FILE.py`` runs it, and
``pegasos study new FILE.py --data DATA`` writes one to start from. In Python, `run_study` runs it on arrays.
"""

from __future__ import annotations

from pegasos.studies.judging import judge
from pegasos.studies.results import Claim, Figure, JudgedNumber, StudyResult
from pegasos.studies.running import Run, run_study
from pegasos.studies.study import Study

__all__ = [
    "Claim",
    "Figure",
    "JudgedNumber",
    "Run",
    "Study",
    "StudyResult",
    "judge",
    "run_study",
]
