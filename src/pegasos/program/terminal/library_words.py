"""Errors and warnings of the library in the words of the command line: options instead of parameters."""

from __future__ import annotations

from pegasos.learners.convergence import CellsNotConverged, NotConverged
from pegasos.search.sweep import OutOfTime


def in_options(problem: Exception) -> str:
    """What happened, and which option helps."""
    if isinstance(problem, NotConverged):
        precision = ", or give the data as float64" if problem.single else ""
        return (
            f"{problem.fact} (--tol {problem.tolerance:g}) for {problem.late} of {problem.columns} predictors. "
            f"Raise --epochs or --lam, scale the features, or accept a larger --tol{precision}."
        )
    if isinstance(problem, CellsNotConverged):
        return f"{problem.fact} (see gap in results.csv): raise --epochs or --tol."
    if isinstance(problem, OutOfTime):
        return f"no setting was complete after {problem.seconds:g} seconds: raise --max-time, or try fewer settings."
    return str(problem)
