"""Decide how rows are stored and traversed, from their sizes and the memory budget alone."""

from __future__ import annotations

from dataclasses import dataclass

from pegasos.engine.runtime.memory import parse_bytes, total_bytes
from pegasos.engine.runtime.threads import blas_threads

#: Explicit dense features: from this many columns on, matrix products over blocks beat dot products
#: row by row.
BLOCK_FROM_COLUMNS = 32
#: Draws per block with a kernel, and with explicit features.
DUAL_BLOCK, PRIMAL_BLOCK = 256, 64


@dataclass(frozen=True)
class Plan:
    """Storage and traversal of rows, with the memory that this takes.

    Parameters
    ----------
    rows : "dense", "csr", "gram" (stored), "on the fly" or "precomputed".
    walk : "by rows" or "by blocks".
    block : number of examples in a block.
    bytes : upper estimate of all arrays of the engine together, X excluded.
    budget : bytes that they may take.
    threads : number of threads.
    reason : why rows are stored in this way.
    method : methods that were used, in words, where there was a choice.
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
        """Whether explicit features are traversed row by row."""
        return self.walk == "by rows"

    def __str__(self) -> str:
        text = (
            f"rows {self.rows}, walked {self.walk}, {self.bytes / 1e6:,.0f} MB of "
            f"{self.budget / 1e6:,.0f} MB, {self.threads} threads: {self.reason}"
        )
        return text + (f"; {self.method}" if self.method else "")


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
    """Plan explicit features: by rows for CSR and for few columns, else by blocks."""
    state = columns * itemsize * (4 * width + (m if coefficients else 0)) + 32 * m
    reason = "CSR rows" if sparse else f"{columns} columns, blocks pay from {BLOCK_FROM_COLUMNS} on"
    walk = "by rows" if sparse or columns < BLOCK_FROM_COLUMNS else "by blocks"
    kind = "csr" if sparse else "dense"
    return _checked(kind, walk, PRIMAL_BLOCK, state, budget_bytes(memory), reason)


def plan_dual(
    m: int,
    width: int,
    columns: int,
    itemsize: int,
    memory: int | float | str | None,
    precomputed: bool,
    dense: bool,
) -> Plan:
    """Plan a kernel: a stored matrix if it fits the budget, else rows computed on demand."""
    from pegasos.engine.rows.kernel_rows import GATHERED_ROWS, TILE_COLUMNS

    budget = budget_bytes(memory)
    # Scores, coefficients, sums (float64 when read), and the copies made when they are read.
    state = columns * m * (4 * itemsize + 16) + 32 * m + columns * DUAL_BLOCK * itemsize * 4
    centered = m * width * itemsize if dense else 0
    gathered = GATHERED_ROWS * m * itemsize
    stored = m * m * itemsize + state + centered + gathered
    if precomputed:
        kind, needed, reason = "precomputed", state + gathered, "the given matrix"
    elif stored <= budget:
        kind, needed, reason = "gram", stored, "the Gram matrix fits the memory budget"
    else:
        tiles = 4 * blas_threads() * GATHERED_ROWS * min(TILE_COLUMNS, m) * itemsize
        kind, needed = "on the fly", state + centered + tiles
        size = m * m * itemsize / 1e9
        reason = f"the Gram matrix would take {size:.1f} GB: kernel rows are computed when needed"
    return _checked(kind, "by blocks", DUAL_BLOCK, needed, budget, reason)


def _checked(kind: str, walk: str, block: int, needed: int, budget: int, reason: str) -> Plan:
    """Return the plan; raise ValueError if it needs more than the budget."""
    if needed > budget:
        raise ValueError(
            f"memory={budget / 1e6:,.0f} MB is not enough: at least {needed / 1e6:,.0f} MB are "
            f"needed even with rows {kind}. Raise `memory`, use float32, or fewer rows."
        )
    return Plan(kind, walk, block, needed, budget, blas_threads(), reason)
