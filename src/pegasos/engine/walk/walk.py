"""Walk: steps of all columns that share draws, block by block; it can stop after any step."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from pegasos.engine.rows.features import read_only
from pegasos.engine.runtime.compiling import announced
from pegasos.engine.runtime.interruption import check_interruption
from pegasos.engine.walk.draws import Draws
from pegasos.engine.walk.loops import Block, Columns, Mode, Problem, State, walk_block, walk_rows
from pegasos.engine.walk.rules import Method

Array = np.ndarray[Any, Any]

#: Examples between two checks for an interruption in a row-by-row walk.
ROW_CHUNK = 8192


class Walk:
    """All columns (classes x params) over one sequence of draws.

    rows     source of the rows, of which `members` are training rows (default: all)
    codes    class code of each row; `weights` of rows, in the scaling that the rule needs
    classes  the predicted classes; `params` the rule's number for each λ, in any order
    radius   for projection: √λ k of each param
    by_rows  walk explicit features row by row instead of block by block
    origin   the step after which the draws begin, if the walk continues on other rows
    """

    def __init__(
        self,
        rows: Any,
        codes: Array,
        weights: Array,
        classes: Array,
        params: Array,
        method: Method,
        draws: Draws,
        *,
        members: Array | None = None,
        radius: Array | None = None,
        block: int = 256,
        by_rows: bool = False,
        origin: int = 0,
    ) -> None:
        self.rows, self.method, self.draws, self.members = rows, method, draws, members
        self.by_rows = by_rows
        self.step = self.origin = origin
        self._order = np.argsort(params, kind="stable")
        self.classes = np.asarray(classes)
        diagonal = rows.diagonal + method.constant * method.constant
        self._problem = Problem(codes.astype(np.int64), weights.astype(np.float64), diagonal)
        sorted_params = np.asarray(params, dtype=np.float64)[self._order]
        # None for what is not used: see `loops`.
        self._radius = np.asarray(radius, float)[self._order] if method.projecting else None
        self._dual = True if method.rule.reads_own else None
        self._columns = self._new_columns(sorted_params)
        self._block_size = method.batch * max(1, (ROW_CHUNK if by_rows else block) // method.batch)
        # Of the block: its first example in the draws, examples walked, its size.
        self._first = self._done = self._size = 0
        self._cross: Array = read_only(np.empty((0, 0), dtype=rows.dtype))
        codes_of = (method.rule.code, method.loss.code, method.batch, float(method.constant))
        switches = (method.projecting, method.averaging, method.tracking)
        self._mode = Mode(*codes_of, *switches, rows.dual, method.rule.reads_own)

    @property
    def _most(self) -> int:
        return len(self.classes) * len(self._order)

    def _new_columns(self, params: Array) -> Columns:
        classes, count = len(self.classes), len(params)
        most = self._most
        low, high = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
        codes = np.zeros(most, dtype=np.int64)
        if self.method.merges:
            active = classes
            codes[:classes], high[:classes] = self.classes, count
        else:
            active = most
            codes[:], low[:] = np.repeat(self.classes, count), np.tile(np.arange(count), classes)
            high[:] = low + 1
        return Columns(np.array([active]), codes, low, high, np.zeros(most, dtype=np.bool_), params)

    @cached_property
    def _state(self) -> State:
        """Solver state, allocated on first use."""
        most, dtype, rows = self._most, self.rows.dtype, self.rows
        length = rows.count if rows.dual or self.method.rule.reads_own else 0
        summed = (rows.count if rows.dual else rows.width) if self.method.averaging else 0
        return State(
            weights=np.zeros((most, rows.width), dtype=dtype),
            bias=np.zeros(most),
            coefficients=np.zeros((most, length), dtype=dtype),
            sums=np.zeros((most, summed), dtype=dtype),
            sum_bias=np.zeros(most),
            scale=np.ones(most),
            norm=np.zeros(most),
            clock=np.zeros(most),
            loss=np.zeros(most),
            mistakes=np.zeros(most, dtype=np.int64),
        )

    @cached_property
    def _block(self) -> Block:
        """Arrays of a block, allocated on first use."""
        most, size, dtype = self._most, self._block_size, self.rows.dtype
        clocked = size if self.method.averaging and not self.rows.dual else 0
        return Block(
            drawn=np.zeros(size, dtype=np.int64),
            scores=np.zeros((most, 0 if self.by_rows else size), dtype=dtype),
            changes=np.zeros((most, size), dtype=dtype),
            clocked=np.zeros((most, clocked), dtype=dtype),
            touched=np.zeros(size, dtype=np.bool_),
            line=np.zeros(size, dtype=dtype),
            place=np.zeros(2, dtype=np.int64),
        )

    def advance(self, step: int) -> None:
        """Walk until `step` steps are done; the result does not depend on where walks stop."""
        kind = "rows" if self.by_rows else "block"
        with announced(kind, self.rows.dtype):
            while self.step < step:
                check_interruption()
                if self.by_rows:
                    self._walk_rows(step)
                else:
                    self._walk_block(step)

    def _drawn(self, start: int, stop: int) -> Array:
        index = self.draws.take(start, stop)
        return index if self.members is None else self.members[index]

    def _walk_rows(self, until: int) -> None:
        batch = self.method.batch
        size = min(self._block_size, (until - self.step) * batch)
        block = self._block
        if size != len(block.drawn):
            block = block._replace(drawn=np.zeros(size, dtype=np.int64))
        start = (self.step - self.origin) * batch
        block.drawn[:] = self._drawn(start, start + size)
        dense, csr = self.rows.matrices
        given = (self._mode, self._radius, self._dual, dense, csr)
        arrays = (self._problem, self._columns, self._state, block)
        block.place[:] = 0
        while True:
            first = int(block.place[0]) // batch * batch
            at = walk_rows(first, self.step + 1 + first // batch, *given, *arrays)
            if at < 0:
                break
            self._split(int(block.place[1]), at)
        self.step += size // batch

    def _walk_block(self, until: int) -> None:
        batch = self.method.batch
        if self._done == self._size:
            self._open_block()
        last = min(self._size, (until - self.origin) * batch - self._first)
        given = (self._mode, self._radius, self._dual, self._cross, self.rows.stored)
        arrays = (self._problem, self._columns, self._state, self._block)
        place = self._block.place
        place[:] = self._done, 0
        while True:
            first = int(place[0]) // batch * batch
            step = self.step + 1 + (first - self._done) // batch
            at = walk_block(first, last, step, *given, *arrays)
            if at < 0:
                break
            self._split(int(place[1]), at)
        self.step += (last - self._done) // batch
        self._done = last
        if last == self._size:
            self._close_block()

    def _open_block(self) -> None:
        """Read a block of draws, on a fixed grid: a resumed walk has the same blocks."""
        batch, size = self.method.batch, self._block_size
        position = (self.step - self.origin) * batch
        self._first = position // size * size
        self._done, self._size = position - self._first, size
        block, active = self._block, self.active
        block.drawn[:] = self._drawn(self._first, self._first + size)
        self.rows.scores(block.drawn, self._state.weights[:active], block.scores[:active])
        if self.method.constant:
            bias = (self.method.constant * self._state.bias[:active]).astype(self.rows.dtype)
            block.scores[:active] += bias[:, None]
        block.changes[:] = 0
        block.clocked[:] = 0
        if size > batch or self.method.projecting:
            # From a stored matrix the compiled code picks the entries that it needs.
            stored = self.rows.stored
            self._cross = self.rows.K if stored else read_only(self.rows.cross(block.drawn))

    def _close_block(self) -> None:
        active, block, state = self.active, self._block, self._state
        self.rows.add(block.drawn, block.changes[:active], state.weights[:active])
        if self.method.averaging and not self.rows.dual:
            self.rows.add(block.drawn, block.clocked[:active], state.sums[:active])

    @property
    def steps_a_block(self) -> int:
        """Steps after which a block is closed, and a row of kernel values is no longer needed."""
        return self._block_size // self.method.batch

    @property
    def active(self) -> int:
        """Number of distinct columns."""
        return int(self._columns.active[0])

    def column_of(self) -> Array:
        """Return the column of each class and param (classes x params)."""
        columns = self._columns
        found = np.empty((len(self.classes), len(self._order)), dtype=np.int64)
        position = {int(code): row for row, code in enumerate(self.classes)}
        for j in range(self.active):
            members = self._order[columns.low[j] : columns.high[j]]
            found[position[int(columns.classes[j])], members] = j
        return found

    def _with_pending(self, base: Array, pending: Array) -> Array:
        """Return `base` plus the changes of the current block, which is left as it is."""
        result = base[: self.active].copy()
        if not self.by_rows and self._done != self._size:
            self.rows.add(self._block.drawn, pending[: self.active], result)
        return result

    def vectors(self) -> tuple[Array, Array]:
        """Return the raw vector of each column (coefficients or weights) and its bias."""
        state, active = self._state, self.active
        scale = state.scale[:active]
        if self.rows.dual:
            vectors = state.coefficients[:active].copy()
        else:
            vectors = self._with_pending(state.weights, self._block.changes)
        vectors *= scale[:, None].astype(vectors.dtype)
        return vectors, scale * state.bias[:active]

    def sums(self) -> tuple[Array, Array]:
        """Return Σ c_τ V_τ over all steps in float64; c_τ = 1/τ (Pegasos) or 1 (Perceptron)."""
        state, active = self._state, self.active
        clock = state.clock[:active]
        if self.rows.dual:
            base, vectors = state.sums[:active], state.coefficients[:active]
        else:
            base = self._with_pending(state.sums, self._block.clocked)
            vectors = self._with_pending(state.weights, self._block.changes)
        total = clock[:, None] * vectors.astype(np.float64) - base
        return total, clock * state.bias[:active] - state.sum_bias[:active]

    def scores(self, index: Array | None = None) -> Array:
        """Return raw scores of all or chosen rows (columns x rows), with the constant feature."""
        state, active = self._state, self.active
        if not self.rows.dual:
            vectors, bias = self.vectors()
            index = np.arange(self.rows.count) if index is None else index
            scores = self.rows.evaluate(index, vectors)
        else:
            bias = state.scale[:active] * state.bias[:active]
            if index is None:
                scores = self._with_pending(state.weights, self._block.changes)
            else:
                scores = state.weights[:active][:, index]
                if self._done != self._size:
                    used = np.flatnonzero(self._block.changes[:active].any(axis=0))
                    changes = np.ascontiguousarray(self._block.changes[:active, used])
                    scores += changes @ self.rows.between(self._block.drawn[used], index)
            if self.method.projecting:
                scores *= state.scale[:active, None].astype(scores.dtype)
        if self.method.constant:
            scores = scores + (self.method.constant * bias[:, None]).astype(scores.dtype)
        return scores

    def settled_scores(self) -> tuple[Array, Array]:
        """Return the scores of all rows before the intercept (not copied), and the intercepts."""
        self._settle()
        weights, bias = self._state.weights[: self.active], self._state.bias[: self.active]
        scores = weights if self.rows.dual else np.ascontiguousarray(self.rows.products(weights).T)
        return scores, self.method.constant * bias

    def coefficients(self) -> Array:
        """Return the coefficients y·a of each column, for rules with `reads_own`."""
        return self._state.coefficients[: self.active]

    def take_losses(self) -> Array:
        """Return the summed losses of the examples drawn since the last call, by column."""
        return self._take(self._state.loss)

    def take_mistakes(self) -> Array:
        """Return the number of changes since the last call, by column."""
        return self._take(self._state.mistakes)

    def _take(self, counted: Array) -> Array:
        taken = counted[: self.active].copy()
        counted[:] = 0
        return taken

    def save(self) -> dict[str, Any]:
        """Return the state for `resume`; in the primal it may continue on other rows."""
        vectors, bias = self.vectors()
        state, active = self._state, self.active
        frozen = self._columns.frozen[:active].copy()
        saved: dict[str, Any] = {"step": self.step, "vectors": vectors}
        saved |= {"bias": bias, "frozen": frozen}
        if self.method.rule.reads_own:
            saved["coefficients"] = state.coefficients[:active].copy()
        if self.method.averaging:
            saved["sums"], saved["sum_bias"] = self.sums()
            saved["clock"] = state.clock[:active].copy()
        if self.method.projecting:
            saved["norm"] = state.norm[:active].copy()
        return saved

    def resume(self, saved: dict[str, Any]) -> None:
        """Continue from what `save` returned; columns must not merge."""
        state = self._state
        self.step = saved["step"]
        state.bias[:] = saved["bias"]
        self._columns.frozen[:] = saved["frozen"]
        if self.rows.dual:
            state.coefficients[:] = saved["vectors"]
            self.refresh()
        else:
            state.weights[:] = saved["vectors"]
            if self.method.rule.reads_own:
                state.coefficients[:] = saved["coefficients"]
        if self.method.averaging:  # with the clock at zero the past is -B: see `renormalize`
            state.sums[:] = -saved["sums"]
            state.sum_bias[:] = -saved["sum_bias"]
        if self.method.projecting:
            state.norm[:] = saved["norm"]

    def refresh(self, columns: Array | None = None) -> None:
        """Recompute the scores of all rows, without accumulated rounding errors."""
        if not self.rows.dual:
            return
        state, active = self._state, self.active
        if columns is None or len(columns) == active:
            self._done = self._size = 0
            self.rows.products(state.coefficients[:active], out=state.weights[:active])
            return
        self._settle()  # for the others, whose changes may still wait
        fresh = np.empty((len(columns), self.rows.count), dtype=self.rows.dtype)
        self.rows.products(np.ascontiguousarray(state.coefficients[columns]), out=fresh)
        state.weights[columns] = fresh

    def separate(self, row: int, number: int) -> None:
        """Split off the predictor of class `row` and param `number` if it shares a column."""
        columns = self._columns
        rank = int(np.flatnonzero(self._order == number)[0])
        column = int(self.column_of()[row, number])
        if columns.high[column] - rank > 1:
            self._split(column, rank + 1)
        if rank > columns.low[column]:
            self._split(column, rank)

    def _split(self, column: int, at: int) -> None:
        """Give params[at:high[column]] a column of their own, with all state of that column."""
        columns, state, block = self._columns, self._state, self._block
        new = self.active
        copied = (columns.classes, columns.high, columns.frozen, *state)
        for array in (*copied, block.scores, block.changes, block.clocked):
            array[new] = array[column]
        columns.low[new] = columns.high[column] = at
        columns.active[0] = new + 1

    def adopt(self, column: int, coefficients: Array) -> None:
        """Replace the dual coefficients of a column between two steps."""
        self._settle()
        state = self._state
        change = (coefficients - state.coefficients[column]).astype(self.rows.dtype)
        state.coefficients[column] = coefficients
        state.bias[column] = self.method.constant * float(coefficients.sum())
        index = np.flatnonzero(change)
        self.rows.add(index, change[None, index], state.weights[column : column + 1])

    def _settle(self) -> None:
        """Add the changes of the current block; its other draws are read again."""
        if not self.by_rows and self._done != self._size:
            self._close_block()
            self._done = self._size = 0

    def freeze(self, frozen: Array) -> None:
        """Freeze the columns of a mask: later steps change only the others."""
        self._columns.frozen[: self.active] = frozen
