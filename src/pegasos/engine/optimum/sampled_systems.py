"""Newton systems (D + Σ h_i x_i x_iᵀ) v = r on many rows of wide features, where even the matrix would take too long.

The matrix of a sample of the rows is near enough to the whole one that a few steps of conjugate gradients are left to do; each of
them is one pass over the rows, for all targets. A row is drawn with probability min(1, c h): who weighs much is always there, and
the many that weigh little are represented by some. The sample is systematic, and the same for any number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from pegasos.engine.rows.blocks import Block, Part, RowBlocks
from pegasos.engine.runtime.threads import blas_threads

Array = np.ndarray[Any, Any]

#: Features from which this can pay, sampled rows for each of them, and how many times as many rows there must be.
WIDTH_FROM, ROWS_A_FEATURE, ROWS_A_SAMPLED = 256, 8, 3
#: A row's part of a matrix product is so many times cheaper, an element, than its part of a pass: times the passes it may cost.
PASSES_WORTH = 160
#: Numbers in a block of rows.
BLOCK_NUMBERS = 1 << 20
#: A system is solved when its residual, measured by the sample's inverse, is this share of what it was, or after so many passes.
ACCURACY, MOST_STEPS = 0.03, 60
#: Bytes of the factors of targets that are solved side by side.
FACTOR_BYTES = 1 << 30


def worth(rows: int, width: int) -> bool:
    """Whether a sample of so many rows saves more than it costs."""
    return width >= WIDTH_FROM and rows >= least_rows(width)


def least_rows(width: int) -> int:
    """The fewest rows for which that is so."""
    return ROWS_A_SAMPLED * ROWS_A_FEATURE * width


def sample_rows(rows: int, width: int) -> int:
    """Sampled rows: more where their matrix costs no more than a few passes, and at most a quarter of all rows."""
    return max(ROWS_A_FEATURE * width, min(rows // 4, PASSES_WORTH * rows // width))


def workspace(rows: int, width: int) -> int:
    """Bytes that samples and their matrices take at most, beside the factors."""
    if not worth(rows, width):
        return 0
    return FACTOR_BYTES + blas_threads() * (
        8 * sample_rows(rows, width) * width + 24 * (width + 1) ** 2
    )


class System(NamedTuple):
    """A target's system: its number (blocks keep its weights under it), D, and the factor of the sample's matrix."""

    number: int
    diagonal: Array
    factor: Factor


class Factor:
    """A positive definite matrix, scaled to a unit diagonal, and lifted by as little as lets it be factored."""

    def __init__(self, matrix: Array) -> None:
        self.scale = 1.0 / np.sqrt(np.maximum(matrix.diagonal(), np.finfo(float).tiny))
        matrix *= self.scale
        matrix *= self.scale[:, None]
        lift = 0.0
        while True:
            lifted = matrix.copy() if lift < 1.0 else np.eye(len(matrix))
            lifted.flat[:: len(lifted) + 1] += lift
            try:
                self.factor = linalg.cho_factor(
                    lifted, lower=True, check_finite=False, overwrite_a=True
                )
                break
            except linalg.LinAlgError:
                lift = max(100.0 * lift, 1e-12)

    def solve(self, right: Array) -> Array:
        return np.asarray(
            self.scale * linalg.cho_solve(self.factor, self.scale * right, check_finite=False)
        )


def sampled(blocks: RowBlocks, numbers: Sequence[int], diagonals: Sequence[Array]) -> list[System]:
    """The systems of targets whose weights stand in `block.own[number].weights`."""

    def make(place: int) -> System:
        number, diagonal = numbers[place], diagonals[place]
        matrix = _squares(blocks, number, len(diagonal))
        matrix.flat[:: len(matrix) + 1] += diagonal
        return System(number, diagonal, Factor(matrix))

    return blocks.each(make, len(numbers))


def _squares(blocks: RowBlocks, number: int, size: int) -> Array:
    """Σ h x xᵀ from the sample."""
    weights = np.concatenate([block.own[number].weights for block in blocks.blocks])
    index, weights = _drawn(weights, sample_rows(blocks.count, size))
    firsts = np.searchsorted(index, [*(block.span.start for block in blocks.blocks), blocks.count])
    rows = np.ones(
        (len(index), size), dtype=np.float32
    )  # beside the features a constant one, if there is one
    for place in np.flatnonzero(np.diff(firsts)):
        block, own = blocks.blocks[place], slice(firsts[place], firsts[place + 1])
        rows[own, : block.width] = block.some(index[own] - block.span.start)
    rows *= np.sqrt(weights).astype(np.float32)[:, None]
    return np.asarray(rows.T @ rows, dtype=np.float64)


def _drawn(weights: Array, count: int) -> tuple[Array, Array]:
    """At most `count` rows, each with probability p = min(1, c h), and their weights h/p: who weighs most is always there."""
    present = np.flatnonzero(weights > 0.0)
    weights = weights[present]
    if len(present) <= count:
        return present, weights
    order = np.sort(weights)[::-1]
    rest = order.sum() - np.concatenate([[0.0], np.cumsum(order[:count])[:-1]])
    # c = (count - capped)/(Σ of those who are not): the fewest capped for whom no other is above 1
    with np.errstate(
        over="ignore"
    ):  # where hardly anything is left for the last ones, all of them are taken
        scales = (count - np.arange(count)) / np.maximum(rest, np.finfo(float).tiny)
    capped = (
        int(np.argmax(scales * order[:count] <= 1.0))
        if (scales * order[:count] <= 1.0).any()
        else count - 1
    )
    shares = np.minimum(1.0, scales[capped] * weights)
    sums = np.cumsum(shares)
    index = np.unique(np.minimum(np.searchsorted(sums, np.arange(count) + 0.5), len(present) - 1))
    return present[index], weights[index] / shares[index]


def solve(blocks: RowBlocks, systems: Sequence[System], rights: Sequence[Array]) -> list[Array]:
    """Conjugate gradients for all of them; who has arrived takes no part in the later passes."""
    found = [np.zeros_like(right) for right in rights]
    left = [right.copy() for right in rights]
    turned = [system.factor.solve(right) for system, right in zip(systems, left, strict=True)]
    ways = [each.copy() for each in turned]
    sizes = [float(r @ z) for r, z in zip(left, turned, strict=True)]
    goals = [ACCURACY**2 * size for size in sizes]
    for _ in range(MOST_STEPS):
        live = [k for k, size in enumerate(sizes) if size > goals[k] > 0.0]
        if not live:
            break
        products = blocks.map_sum(_curve, [(systems[k].number, ways[k]) for k in live]).sums[0]
        for k, product in zip(live, products, strict=True):
            product += systems[k].diagonal * ways[k]
            length = sizes[k] / float(ways[k] @ product)
            found[k] += length * ways[k]
            left[k] -= length * product
            turned[k] = systems[k].factor.solve(left[k])
            size = float(left[k] @ turned[k])
            ways[k] = turned[k] + size / sizes[k] * ways[k]
            sizes[k] = size
    return found


def _curve(block: Block, orders: list[tuple[int, Array]]) -> Part:
    """Σ h (x·v) x."""
    rows = block.light()
    out = np.empty((len(orders), len(orders[0][1])))
    for j, (number, way) in enumerate(orders):
        block.combine(
            rows, (block.own[number].weights * block.scores(rows, way))[None, :], out[j : j + 1]
        )
    return Part((out,))
