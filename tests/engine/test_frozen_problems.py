"""Solve every frozen problem to its tolerance, and compare with the stored optimum."""

from __future__ import annotations

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

from problems import Problem, method_of, read_problems

OPTIMA = read_problems("optima.csv")
CHOICES = read_problems("choice_of_method.csv")


@pytest.mark.parametrize(("problem", "record"), OPTIMA, ids=[problem.name for problem, _ in OPTIMA])
def test_optimum(problem: Problem, record: dict[str, str]) -> None:
    """Objective and dual objective bound the same optimum from above and below."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        clf = problem.fit()
    assert clf.gap_ <= clf.tol
    rounding = 1e-4 if problem.dtype == "float32" else 1e-7
    primal, dual = clf.objective_.sum(), clf.dual_objective_.sum()
    lower, upper = float(record["lower"]), float(record["upper"])
    assert lower * (1 - rounding) <= primal <= upper * (1 + rounding) / (1 - clf.tol)
    assert lower * (1 - rounding) * (1 - clf.tol) <= dual <= upper * (1 + rounding)


@pytest.mark.parametrize(
    ("problem", "record"), CHOICES, ids=[problem.name for problem, _ in CHOICES]
)
def test_choice_of_method(problem: Problem, record: dict[str, str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if not problem.finish else "error", ConvergenceWarning)
        clf = problem.fit()
    assert method_of(clf) == record["method"]
