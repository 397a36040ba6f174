"""Decide how rows are stored and traversed, from their sizes and the memory budget alone."""

from __future__ import annotations

from dataclasses import dataclass

from pegasos.engine.rows.kernel_rows import GATHERED_ROWS, TILE_COLUMNS
from pegasos.engine.runtime.memory import parse_bytes, total_bytes
from pegasos.engine.runtime.threads import blas_threads

#: Explicit dense features: from this many columns on, matrix products over blocks beat dot products row by row.
BLOCK_FROM_COLUMNS = 32
DUAL_BLOCK = 256
PRIMAL_BLOCK = 64


@dataclass(frozen=True)
class Plan:
    """rows: "dense", "csr", "gram" (stored), "on the fly" or "precomputed"; walk: "by rows" or "by blocks".

    bytes is an upper estimate of all arrays of the engine together, X excluded; budget is what they may take; method is what was
    done in the end, in words, where there was a choice.
    """

    rows: str
    walk: str
    block: int
    bytes: int
    budget: int
    threads: int
    reason: str
    method: str = ""

    @property
    def by_rows(self) -> bool:
        return self.walk == "by rows"

    def __str__(self) -> str:
        return (
            f"rows {self.rows}, walked {self.walk}, {self.bytes / 1e6:,.0f} MB of {self.budget / 1e6:,.0f} MB, "
            f"{self.threads} threads: {self.reason}" + (f"; {self.method}" if self.method else "")
        )


def budget_bytes(memory: int | float | str | None) -> int:
    """Return the memory budget: as given, or half of the machine's memory."""
    return total_bytes() // 2 if memory is None else parse_bytes(memory)


def plan_primal(
    sparse: bool,
    m: int,
    width: int,
    columns: int,
    itemsize: int,
    memory: int | float | str | None,
    coefficients: bool,
) -> Plan:
    """Explicit features: by rows for CSR and for few columns, else by blocks."""
    state = columns * itemsize * (4 * width + (m if coefficients else 0)) + 32 * m
    reason = "CSR rows" if sparse else f"{columns} columns, blocks pay from {BLOCK_FROM_COLUMNS} on"
    walk = "by rows" if sparse or columns < BLOCK_FROM_COLUMNS else "by blocks"
    kind = "csr" if sparse else "dense"
    return _checked(
        Plan(kind, walk, PRIMAL_BLOCK, state, budget_bytes(memory), blas_threads(), reason)
    )


def plan_dual(
    m: int,
    width: int,
    columns: int,
    itemsize: int,
    memory: int | float | str | None,
    precomputed: bool,
    dense: bool,
) -> Plan:
    """A kernel: its matrix is stored if it fits the budget, else its rows are computed when they are needed."""
    threads = blas_threads()
    budget = budget_bytes(memory)
    # scores, coefficients, sums (float64 when read), and the copies that are made when they are read
    state = columns * m * (4 * itemsize + 16) + 32 * m + columns * DUAL_BLOCK * itemsize * 4
    centred = m * width * itemsize if dense else 0
    gathered = GATHERED_ROWS * m * itemsize
    if precomputed:
        return _checked(
            Plan(
                "precomputed",
                "by blocks",
                DUAL_BLOCK,
                state + gathered,
                budget,
                threads,
                "the given matrix",
            )
        )
    stored = m * m * itemsize + state + centred + gathered
    flying = state + centred + 4 * threads * GATHERED_ROWS * min(TILE_COLUMNS, m) * itemsize
    if stored <= budget:
        return Plan(
            "gram",
            "by blocks",
            DUAL_BLOCK,
            stored,
            budget,
            threads,
            "the Gram matrix fits the memory budget",
        )
    reason = f"the Gram matrix would take {m * m * itemsize / 1e9:.1f} GB: kernel rows are computed when needed"
    return _checked(Plan("on the fly", "by blocks", DUAL_BLOCK, flying, budget, threads, reason))


def _checked(plan: Plan) -> Plan:
    if plan.bytes > plan.budget:
        raise ValueError(
            f"memory={plan.budget / 1e6:,.0f} MB is not enough: at least {plan.bytes / 1e6:,.0f} MB are needed even with rows "
            f"{plan.rows}. Raise `memory`, use float32, or fewer rows."
        )
    return plan
