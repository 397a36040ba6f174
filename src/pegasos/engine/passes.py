"""What methods in passes are given and answer: predictors described by class codes, for rows that may be anywhere.

Labels and bounds belong to the blocks: a block makes them from its class codes and weights, and nobody needs those of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from pegasos.engine.row_blocks import Part, RowBlocks

Array = np.ndarray[Any, Any]

#: Features up to which a square matrix of them is made.
MOST_FEATURES = 2000
#: Numbers in a block of wide dense rows, for which no such matrix is made.
WIDE_NUMBERS = 1 << 21


class Passes(Protocol):
    """Rows in blocks, wherever they are (see `RowBlocks.map_sum`); a block's `own` are the codes and weights of its rows."""

    width: int

    def map_sum(self, work: Any, *arguments: Any) -> Part: ...


class LabelledBlocks(RowBlocks):
    """Blocks whose `own` are the class codes and weights of their rows."""

    def __init__(self, X: Any, codes: Array, weights: Array) -> None:
        wide = X.shape[1] > MOST_FEATURES and not sparse.issparse(X)
        super().__init__(X, size=max(1, WIDE_NUMBERS // X.shape[1]) if wide else None)
        for block in self.blocks:
            block.own = codes[block.span], weights[block.span]


@dataclass(frozen=True)
class Column:
    """One predictor: rows with this class code are +1, all others -1; C_i = unit ω_i.

    sides  Σ ω_i of either label;  rows  how many rows have ω_i > 0
    """

    code: int
    unit: float
    sides: tuple[float, float]
    rows: int


@dataclass(frozen=True)
class Certified:
    """A predictor, its objective F and a bound below all objectives (see `optimum.py`); the relative gap after each pass."""

    vector: Array
    bias: float
    primal: float
    bound: float
    curve: tuple[float, ...]

    @property
    def relative(self) -> float:
        """(F - G)/F, 0 where F is 0."""
        return (self.primal - self.bound) / self.primal if self.primal > 0.0 else 0.0
