"""Test the table of methods: documented, closed for unknown losses, with existing fallbacks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pegasos.engine.optimum.choice import (
    METHODS,
    ExactSolver,
    choose_method,
    find_method,
)
from pegasos.engine.optimum.problem import Intercept, Problem, Target
from pegasos.engine.rows.features import DenseRows
from pegasos.engine.walk.losses import LOSSES

ARCHITECTURE = Path(__file__).parents[2] / "docs" / "architecture.md"


def small_problem(loss: str = "hinge", features: int = 3) -> Problem:
    """Return a problem of few rows."""
    X = np.random.default_rng(0).normal(size=(40, features))
    return Problem(DenseRows(X), LOSSES[loss], Intercept.NONE, 1e-3, None, 10**9)


def describe_methods() -> str:
    """Return the table of methods in Markdown."""
    head = ["method", "applies to", "chosen for", "epochs of coordinate ascent first", "fallback"]
    rows = [
        [m.name, m.applies_to.text, m.chosen_for.text, m.epochs.text, m.fallback or ""]
        for m in METHODS
    ]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def test_the_documents_show_the_table() -> None:
    assert describe_methods() in ARCHITECTURE.read_text(encoding="utf-8")


def test_every_fallback_is_a_method_of_another_name() -> None:
    assert len({method.name for method in METHODS}) == len(METHODS)
    for method in METHODS:
        seen = [method.name]
        while method.fallback is not None:
            method = find_method(method.fallback)
            assert method.name not in seen
            seen.append(method.name)


def test_a_loss_without_a_method_is_refused() -> None:
    problem = small_problem()
    problem.loss = replace(problem.loss, name="squared")
    with pytest.raises(ValueError, match="no method solves the loss 'squared'"):
        choose_method(problem)
    with pytest.raises(ValueError, match="no method solves the loss 'perceptron'"):
        ExactSolver(small_problem("perceptron"))


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_a_fallback_solves_what_a_method_leaves(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The optimum names the method that succeeded, and keeps the better of both points."""
    problem = small_problem(loss)
    y = np.where(problem.rows.X[:, 0] > 0, 1.0, -1.0)
    targets = [Target(y, np.full(40, 1.0)), Target(-y, np.full(40, 1.0))]
    last = choose_method(problem)
    failing = replace(last, name="fails", solve=lambda *given: [None, None], fallback=last.name)
    monkeypatch.setattr("pegasos.engine.optimum.choice.choose_method", lambda problem: failing)
    found = ExactSolver(problem).solve(targets, None)
    assert [optimum.method for optimum in found] == [last.name] * 2
    assert all(optimum.relative <= 1e-3 for optimum in found)
    # A method that solves one target keeps it; the other goes to the fallback.
    (first, _) = found
    halfway = replace(failing, solve=lambda *given: [replace(first, method=""), None])
    monkeypatch.setattr("pegasos.engine.optimum.choice.choose_method", lambda problem: halfway)
    again = ExactSolver(problem).solve(targets, None)
    assert [optimum.method for optimum in again] == ["fails", last.name]
    # A fallback that is worse than what was found is not taken.
    rough = replace(first, bound=0.5 * first.primal, method="")
    worse = replace(
        last, solve=lambda p, t, s: [replace(first, bound=0.1 * first.primal, method="")]
    )
    monkeypatch.setattr("pegasos.engine.optimum.choice.find_method", lambda name: worse)
    poor = replace(failing, solve=lambda *given: [rough])
    monkeypatch.setattr("pegasos.engine.optimum.choice.choose_method", lambda problem: poor)
    (kept,) = ExactSolver(problem).solve(targets[:1], None)
    assert kept.method == "fails" and kept.bound == rough.bound
