"""Compiled loops: `walk_block` for examples with known scores, `walk_rows` for explicit features.

Both are the textbook loop: read the score, apply the rule, change one coefficient, update the
scores of later examples. A *column* is one predictor, or several (one class, neighboring λ) whose
decisions have been equal so far. At the first different one the loop stops with `block.place` at
the example and the column, the caller splits the column, and the loop continues there.

Arguments that may be None (`radius`, `dual`, `dense`, `csr`) are tested by `is not None` alone:
where they are None, Numba drops such branches before it compiles them, so that a fit compiles
only what it runs (`walk_rows` on dense rows without projection in 2.3 s instead of 6.4 s).
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pegasos.engine.runtime.compiling import compiled, prefetch
from pegasos.engine.walk.rules import change, drawn_loss, tick

Array = np.ndarray[Any, Any]

#: Drawn rows are prefetched this many examples ahead, as random rows of a large X are in no cache;
#: and the bytes of a cache line of common processors.
AHEAD, CACHE_LINE = 8, 64


class Problem(NamedTuple):
    """Class code, weight and K_ii (with the constant feature) of each row."""

    codes: Array
    weight: Array
    diagonal: Array


class Columns(NamedTuple):
    """Column j predicts classes[j] against the rest for params[low[j]:high[j]].

    The first active[0] columns are in use; frozen ones are not changed.
    """

    active: Array
    classes: Array
    low: Array
    high: Array
    frozen: Array
    params: Array


class State(NamedTuple):
    """State of all columns, one row each; V = Σ A[r] φ(x_r) is the raw vector of a column.

    Parameters
    ----------
    weights : dual: the scores V·φ(x_r) of all rows; primal: V itself.
    bias : V's component along the constant feature.
    coefficients : A (in the primal only for rules that read their own coefficient).
    sums : B, for averages Σ_{τ<=t} c_τ V_τ = clock·V - B; c_τ = 1/τ (Pegasos) or 1 (Perceptron).
    scale, norm : with projection the true vector is scale·V, and norm is its squared length.
    """

    weights: Array
    bias: Array
    coefficients: Array
    sums: Array
    sum_bias: Array
    scale: Array
    norm: Array
    clock: Array
    loss: Array
    mistakes: Array


class Block(NamedTuple):
    """The drawn rows, their scores (columns x examples), and their changes, also times the clock.

    `place` is the example and the column at which a loop stopped, or continues.
    """

    drawn: Array
    scores: Array
    changes: Array
    clocked: Array
    touched: Array
    line: Array
    place: Array


class Mode(NamedTuple):
    """Settings of a loop: codes of rule and loss, examples per step, constant feature, switches."""

    rule: int
    loss: int
    batch: int
    constant: float
    projecting: bool
    averaging: bool
    tracking: bool
    dual: bool
    reads_own: bool


@partial(compiled, any_order=True)
def dense_dot(x: Array, w: Array) -> Any:
    """Return x·w, summed in any order."""
    total = x.dtype.type(0)
    for k in range(x.size):
        total += x[k] * w[k]
    return total


@partial(compiled, any_order=True)
def sparse_dot(data: Array, indices: Array, start: int, stop: int, w: Array) -> Any:
    """Return Σ data·w[indices] over one CSR row, summed in any order."""
    total = w.dtype.type(0)
    # Unsigned: Numba need not look for indices from the end.
    for k in range(np.uint64(start), np.uint64(stop)):
        total += data[k] * w[np.uint64(indices[k])]
    return total


@compiled
def add_dense(u: Any, x: Array, vector: Array) -> None:
    """Add u x to the vector."""
    for k in range(vector.size):
        vector[k] += u * x[k]


@compiled
def add_sparse(u: Any, data: Array, indices: Array, start: int, stop: int, vector: Array) -> None:
    """Add u x, for one CSR row x, to the vector."""
    for k in range(np.uint64(start), np.uint64(stop)):
        vector[np.uint64(indices[k])] += u * data[k]


@compiled
def fetch(array: Array, start: int, stop: int) -> None:
    """Ask for the cache lines of array[start:stop], and do not wait for them."""
    for k in range(start, stop, CACHE_LINE // array.itemsize):
        prefetch(array, k)


# Rows are scaled and added by plain loops: array expressions take Numba seconds to compile.


@compiled
def scale_row(factor: float, array: Array, j: int) -> None:
    """Multiply row j by the factor."""
    for k in range(array.shape[1]):
        array[j, k] *= factor


@compiled
def add_row(factor: float, source: Array, target: Array, j: int) -> None:
    """Add row j of the source, times the factor, to that of the target."""
    for k in range(target.shape[1]):
        target[j, k] += factor * source[j, k]


@compiled
def first_different(
    rule: int,
    loss: int,
    s: float,
    y: float,
    own: float,
    kii: float,
    t: float,
    params: Array,
    low: int,
    high: int,
    weight: float,
    dual: Any,
) -> int:
    """Return where in params[low:high] the change differs first, `high` if nowhere.

    The set is sorted: if both ends agree, all do.
    """
    u = change(rule, loss, s, y, own, kii, t, params[low], weight, dual)
    if change(rule, loss, s, y, own, kii, t, params[high - 1], weight, dual) == u:
        return high
    at = low + 1
    while change(rule, loss, s, y, own, kii, t, params[at], weight, dual) == u:
        at += 1
    return at


@compiled
def tick_clocks(share: float, active: Array, frozen: Array, clock: Array) -> None:
    """Advance the clocks of averages after a step without projection."""
    for j in range(active[0]):
        if not frozen[j]:
            clock[j] += share


@compiled
def finish_step(
    t: float, radius: Array, mode: Mode, columns: Columns, state: State, block: Block
) -> None:
    """Project on the ball after a step (norm is up to date), and advance the clock of averages."""
    for j in range(columns.active[0]):
        limit = radius[columns.low[j]] * t
        if state.norm[j] > limit * limit:
            state.scale[j] *= limit / np.sqrt(state.norm[j])
            state.norm[j] = limit * limit
            if state.scale[j] < 1e-4:
                renormalize(j, mode, state, block)
        if mode.averaging and not columns.frozen[j]:
            state.clock[j] += tick(mode.rule, state.scale[j], t)


@compiled
def renormalize(j: int, mode: Mode, state: State, block: Block) -> None:
    """Multiply the scale into the vector before it underflows.

    The past of averages goes into the sums: B becomes B - clock V, and the clock 0.
    """
    scale, clock = state.scale[j], state.clock[j]
    if mode.averaging:
        if mode.dual:
            add_row(-clock, state.coefficients, state.sums, j)
        else:
            add_row(-clock, state.weights, state.sums, j)
            add_row(-clock, block.changes, block.clocked, j)
        state.sum_bias[j] -= clock * state.bias[j]
        state.clock[j] = 0.0
    scale_row(scale, state.weights, j)
    scale_row(scale, state.coefficients, j)
    scale_row(scale, block.scores, j)
    scale_row(scale, block.changes, j)
    state.bias[j] *= scale
    state.scale[j] = 1.0


@compiled
def walk_block(
    first: int,
    last: int,
    step: int,
    mode: Mode,
    radius: Any,
    dual: Any,
    cross: Array,
    stored: bool,
    problem: Problem,
    columns: Columns,
    state: State,
    block: Block,
) -> int:
    """Walk examples first..last of the block (whole steps; `step` is the number of the first).

    Return where the column at `block.place` is to be split, or -1 at the end. `cross` holds the
    kernel between the block's examples, or, if `stored`, between all rows.
    """
    index, scores, touched, line = block.drawn, block.scores, block.touched, block.line
    codes, weights, diagonal = problem
    active, classes, low, high, frozen, params = columns
    _, bias, coefficients, sums, sum_bias, scale, _, clock, losses, mistakes = state
    changes, clocked, place = block.changes, block.clocked, block.place
    keeps = coefficients.shape[1] > 0
    rule, loss, reads_own = mode.rule, mode.loss, mode.reads_own
    size = index.size
    for start in range(first, last, mode.batch):
        stop = start + mode.batch
        t = float(step)
        step += 1
        for r in range(max(start, place[0]), stop):
            i = index[r]
            code, weight, kii = codes[i], weights[i], diagonal[i]
            j = place[1]
            if j == 0:
                touched[r] = False
            while j < active[0]:
                if not frozen[j]:
                    s = scale[j] * float(scores[j, r])
                    y = 1.0 if code == classes[j] else -1.0
                    own = y * float(coefficients[j, i]) if reads_own else 0.0
                    if high[j] - low[j] > 1:
                        at = first_different(
                            rule, loss, s, y, own, kii, t, params, low[j], high[j], weight, dual
                        )
                        if at < high[j]:
                            place[0], place[1] = r, j
                            return at
                    if mode.tracking:
                        losses[j] += weight * drawn_loss(rule, loss, s, y, t, params[low[j]])
                    u = change(rule, loss, s, y, own, kii, t, params[low[j]], weight, dual)
                    if u != 0.0:
                        touched[r] = True
                        u /= scale[j]
                        changes[j, r] = u
                        mistakes[j] += 1
                        if keeps:
                            coefficients[j, i] += u
                        if mode.averaging and mode.dual:
                            sums[j, i] += u * clock[j]
                        elif mode.averaging:
                            clocked[j, r] = u * clock[j]
                j += 1
            place[1] = 0
        for r in range(start, stop):
            if touched[r]:
                begin = stop if radius is None else start
                fill_line(r, begin, cross, stored, mode.constant, block)
                for j in range(active[0]):
                    u = changes[j, r]
                    if u != 0.0:
                        bias[j] += mode.constant * u
                        sum_bias[j] += mode.constant * u * clock[j]
                        for q in range(stop, size):
                            scores[j, q] += u * line[q]
                        if radius is not None:
                            grow_norm(j, r, start, stop, state, block)
        if radius is not None:
            finish_step(t, radius, mode, columns, state, block)
        elif mode.averaging:
            tick_clocks(tick(rule, 1.0, t), active, frozen, clock)
    return -1


@compiled
def fill_line(
    r: int, begin: int, cross: Array, stored: bool, constant: float, block: Block
) -> None:
    """Compute the kernel of example r with the block's examples from `begin` on."""
    extra = block.line.dtype.type(constant)
    if stored:
        row = cross[block.drawn[r]]
        for q in range(begin, block.drawn.size):
            block.line[q] = row[block.drawn[q]] + extra
    else:
        for q in range(begin, block.drawn.size):
            block.line[q] = cross[r, q] + extra


@compiled
def grow_norm(j: int, r: int, start: int, stop: int, state: State, block: Block) -> None:
    """Add example r's share of ‖V + Σ u_q x_q‖² - ‖V‖² over the step's examples q = start..stop."""
    u = state.scale[j] * float(block.changes[j, r])
    share = 2.0 * state.scale[j] * float(block.scores[j, r])
    for q in range(start, stop):
        share += state.scale[j] * float(block.changes[j, q]) * float(block.line[q])
    state.norm[j] += u * share


@compiled
def walk_rows(
    first: int,
    step: int,
    mode: Mode,
    radius: Any,
    dual: Any,
    dense: Any,
    csr: Any,
    problem: Problem,
    columns: Columns,
    state: State,
    block: Block,
) -> int:
    """Walk block.drawn[first:] over explicit features: a dense array, or data, indices and indptr.

    `step` is the number of the first step. Return where the column at `block.place` is to be
    split, or -1 at the end.
    """
    drawn, touched = block.drawn, block.touched
    codes, weights, diagonal = problem
    active, classes, low, high, frozen, params = columns
    vectors, bias, coefficients, sums, sum_bias, scale, norm, clock, losses, mistakes = state
    changes, clocked, place = block.changes, block.clocked, block.place
    keeps = coefficients.shape[1] > 0
    reads_diagonal = mode.reads_own or mode.projecting
    if csr is not None:
        data, indices, indptr = csr
    rule, loss, reads_own = mode.rule, mode.loss, mode.reads_own
    for start in range(first, drawn.size, mode.batch):
        stop = start + mode.batch
        t = float(step)
        step += 1
        for r in range(max(start, place[0]), stop):
            i = drawn[r]
            if r + 2 * AHEAD < drawn.size:
                later = drawn[r + 2 * AHEAD]
                prefetch(codes, later)
                prefetch(weights, later)
                if csr is not None:
                    prefetch(indptr, later)
            if r + AHEAD < drawn.size:
                soon = drawn[r + AHEAD]
                if csr is not None:
                    fetch(data, indptr[soon], indptr[soon + 1])
                    fetch(indices, indptr[soon], indptr[soon + 1])
                if dense is not None:
                    fetch(dense[soon], 0, dense.shape[1])
            code, weight = codes[i], weights[i]
            kii = diagonal[i] if reads_diagonal else 0.0
            j = place[1]
            if j == 0:
                touched[r] = False
            while j < active[0]:
                if not frozen[j]:
                    dot = 0.0
                    if csr is not None:
                        dot = float(sparse_dot(data, indices, indptr[i], indptr[i + 1], vectors[j]))
                    if dense is not None:
                        dot = float(dense_dot(dense[i], vectors[j]))
                    s = scale[j] * (dot + mode.constant * bias[j])
                    y = 1.0 if code == classes[j] else -1.0
                    own = y * float(coefficients[j, i]) if reads_own else 0.0
                    if high[j] - low[j] > 1:
                        at = first_different(
                            rule, loss, s, y, own, kii, t, params, low[j], high[j], weight, dual
                        )
                        if at < high[j]:
                            place[0], place[1] = r, j
                            return at
                    if mode.tracking:
                        losses[j] += weight * drawn_loss(rule, loss, s, y, t, params[low[j]])
                    u = change(rule, loss, s, y, own, kii, t, params[low[j]], weight, dual)
                    if u != 0.0:
                        touched[r] = True
                        u /= scale[j]
                        changes[j, r] = u
                        mistakes[j] += 1
                        if keeps:
                            coefficients[j, i] += u
                        if mode.averaging and mode.dual:
                            sums[j, i] += u * clock[j]
                        elif mode.averaging:
                            clocked[j, r] = u * clock[j]
                        if radius is not None and mode.batch == 1:
                            u *= scale[j]
                            norm[j] += u * (2.0 * s + u * kii)
                j += 1
            place[1] = 0
        for r in range(start, stop):
            if touched[r]:
                i = drawn[r]
                for j in range(active[0]):
                    u = changes[j, r]
                    if u != 0.0:
                        changes[j, r] = 0.0
                        bias[j] += mode.constant * u
                        sum_bias[j] += mode.constant * u * clock[j]
                        if csr is not None:
                            add_sparse(u, data, indices, indptr[i], indptr[i + 1], vectors[j])
                        if dense is not None:
                            add_dense(u, dense[i], vectors[j])
                        if mode.averaging:
                            share = clocked[j, r]
                            clocked[j, r] = 0.0
                            if csr is not None:
                                add_sparse(share, data, indices, indptr[i], indptr[i + 1], sums[j])
                            if dense is not None:
                                add_dense(share, dense[i], sums[j])
        if radius is not None:
            if mode.batch > 1:
                for j in range(columns.active[0]):
                    length = (
                        float(dense_dot(state.weights[j], state.weights[j])) + state.bias[j] ** 2
                    )
                    state.norm[j] = state.scale[j] ** 2 * length
            finish_step(t, radius, mode, columns, state, block)
        elif mode.averaging:  # not `finish_step`: passing all arrays costs more than the step
            tick_clocks(tick(rule, 1.0, t), active, frozen, clock)
    return -1
