"""Working sets: the hinge loss to its optimum on any rows, where coordinate ascent crawls.

A round takes the rows that violate optimality most and those inside their box, solves for their coefficients together by greedy
pair steps, and brings the scores of all rows up to date by one product. Predictors (classes, λ) go in step and share the lines of
K. After Joachims (1999) and Wen and others (2018, ThunderSVM); the steps within a set are those of `pair_steps`.

Everything is in terms of c_i = y_i a_i and of the gradient v_i = y_i - s_i, so that labels matter only for the box of c.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from pegasos.engine.certificate import halvings, stretched
from pegasos.engine.compiling import announced, compiled
from pegasos.engine.interruption import check_interruption, tell_gap
from pegasos.engine.lines import Lines
from pegasos.engine.optimum import Intercept, Optimum, Target
from pegasos.engine.pair_steps import SetKernel, climb
from pegasos.engine.threads import run_each

Array = np.ndarray[Any, Any]

#: Rows of a set at first, and at most: it grows from round to round, the last time only if its rows need many steps.
SMALLEST_SET, USUAL_SET, LARGEST_SET = 500, 2000, 4000
#: Rounds after which more rows than that are inside their box, and must move together; and the largest set for them.
MANY_ROUNDS, LAST_SET = 25, 10_000
#: A step is worth it if it gains this share of the gap, spread over the set, or of the largest gain that there is.
SHARE_OF_GAP, SHARE_OF_GAIN = 3e-4, 0.03
#: Pair steps between two looks at the keyboard, and sets' worth of steps in a round at most.
STEPS_AT_ONCE, STEPS_A_ROW = 20_000, 100
#: Rounds at most, and rounds in double precision that may gain nothing.
MOST_ROUNDS, PATIENCE = 10_000, 3


@compiled
def survey(
    labels: Array, bounds: Array, c: Array, scores: Array, diagonal: Array, bias: float, gains: Array
) -> tuple[float, float]:
    """‖w‖² and G of one predictor, and into `gains` what each coordinate's own best step gains (or would, at this intercept)."""
    squared, linear = 0.0, 0.0
    for i in range(c.size):
        y, own, v = labels[i], c[i], labels[i] - scores[i] - bias
        squared += own * scores[i]
        linear += y * own
        low, high = min(0.0, y * bounds[i]) - own, max(0.0, y * bounds[i]) - own
        step = min(max(v / max(diagonal[i], 1e-300), low), high)
        gains[i] = step * (v - 0.5 * diagonal[i] * step)
    return squared, linear - 0.5 * squared


class Predictor:
    """One target on its way to the optimum: its coefficients, scores, certificate, and the next set."""

    def __init__(self, target: Target, diagonal: Array, constant: float, free: bool) -> None:
        self.labels, self.bounds = target.labels, target.bounds
        self.kind = hash(target.labels.tobytes())  # the same for those who tell the same class from the others
        self._diagonal, self._constant, self._free = diagonal, constant, free
        self.c = np.zeros(len(diagonal))
        self.scores = np.zeros(len(diagonal))
        self.gains = np.empty(len(diagonal))
        self.bias, self.factor, self.primal, self.bound = 0.0, 1.0, math.inf, -math.inf
        self.rounds = 0
        self._size = SMALLEST_SET
        self.precise = False
        self.exact_at = -1  # the round after which scores were last computed exactly
        self._idle = 0
        self._course: list[tuple[float, float]] = []  # after each round, as last looked at

    @property
    def relative(self) -> float:
        return (self.primal - self.bound) / self.primal if self.primal > 0 else 0.0

    def goes_on(self, tol: float, rounds: int) -> bool:
        """Whether it has not arrived, and another round may help."""
        return self.relative > tol and self._idle <= PATIENCE and self.rounds < rounds

    def look(self, products: Array, tol: float) -> None:
        """The certificate at scores that follow from the coefficients; products are those without the constant feature."""
        constant = self._constant * float(self.c.sum())
        self.scores = products + constant if constant else products
        self.bias = best_bias(self.labels - self.scores, self.bounds, self.labels) if self._free else 0.0
        before, gap = self.bound, self.relative
        squared, self.bound = survey(self.labels, self.bounds, self.c, self.scores, self._diagonal, self.bias, self.gains)
        self.factor, self.primal = stretched(self.labels, self.bounds, self.scores, self.bias, squared, 0)
        if self.relative > tol:
            self.factor, self.primal = stretched(self.labels, self.bounds, self.scores, self.bias, squared, halvings(tol))
        self._course[self.rounds :] = [(self.primal, self.bound)]
        if self.rounds and self.exact_at != self.rounds and not self.bound > before and not self.relative < gap:
            # rounding ate the round's gain: from now on in double precision, and then this is as far as one gets
            self._idle += self.precise
            self.precise = True

    def choose(self) -> Array:
        """Half a set of the rows that gain most, then those inside their box, then again those that gain most."""
        inside = np.flatnonzero((self.c != 0) & (np.abs(self.c) < self.bounds))
        size = min(len(self.c), self._size)
        gaining = np.flatnonzero(self.gains > 0)
        chosen = np.zeros(len(self.c), dtype=bool)
        half = max(2, size // 2)
        self._choose_ends(chosen, half)
        _choose(chosen, inside, self.gains, size - int(chosen.sum()))
        _choose(chosen, gaining, self.gains, size - int(chosen.sum()))
        return np.flatnonzero(chosen)

    def _choose_ends(self, chosen: Array, count: int) -> None:
        """Half of those that would go up furthest, and as many down: else the mean score swings from round to round."""
        v = self.labels - self.scores
        top = self.labels * self.bounds
        _choose(chosen, np.flatnonzero(self.c < np.maximum(top, 0.0)), v, count // 2)
        _choose(chosen, np.flatnonzero(self.c > np.minimum(top, 0.0)), -v, count // 2)

    def improve(self, index: Array, places: Array, kernel: SetKernel) -> Array:
        """The set's coefficients after pair steps; their changes are returned.

        The kernel is that of a set of `len(kernel.K)` rows, of which those of `index` are at `places`.
        """
        spread, scale = partial(_spread, kernel.K, places), 1.0 / kernel.factor
        top = self.labels[index] * self.bounds[index]
        before = self.c[index]
        low, high = np.minimum(0.0, top), np.maximum(0.0, top)
        down, up = spread((low - before) * scale), spread((high - before) * scale)
        v = spread(self.labels[index] - self.scores[index] - self.bias)
        diagonal = spread(self._diagonal[index] * kernel.factor)
        worth = SHARE_OF_GAP * (self.primal - self.bound) / len(index)
        least = scale * min(worth, SHARE_OF_GAIN * float(self.gains.max()))
        change, taken = np.zeros(len(index)), 0
        while taken < STEPS_A_ROW * len(index):
            check_interruption()
            part, steps = climb(kernel, diagonal, v, down, up, least, STEPS_AT_ONCE, self._free)
            change += part[places]
            taken += steps
            if steps < STEPS_AT_ONCE:
                break
        down, up = down[places], up[places]
        # who ran out of room is at the bound itself, not a rounding beside it
        after = np.where(down >= 0, low, np.where(up <= 0, high, np.clip(before + change / scale, low, high)))
        if self._free:
            after = rebalanced(after, low, high, float(before.sum()))
        self.c[index] = after
        # who is not there soon has many rows that must move together; if most go straight to their bound, a large set is cheap
        at_bound = np.count_nonzero(np.abs(after) >= self.bounds[index])
        if self.rounds % 2 or 2 * at_bound > len(index):
            self._size = max(self._size, min(2 * self._size, self._most(taken > len(index))))
        self.rounds += 1
        return np.asarray(after - before)

    def _most(self, steps_were_many: bool) -> int:
        """The largest set by now: after many rounds one with room for all rows inside their box and as many others."""
        usual = LARGEST_SET if steps_were_many else USUAL_SET
        if self.rounds < MANY_ROUNDS:
            return usual
        inside = np.count_nonzero((self.c != 0) & (np.abs(self.c) < self.bounds))
        return max(usual, min(2 * int(inside), LAST_SET))

    def optimum(self) -> Optimum:
        bias = self.bias if self._free else self._constant * float(self.c.sum())
        certified = self.primal, self.bound, self.rounds, tuple(self._course)
        return Optimum(self.factor * self.c, self.factor * bias, self.labels * self.c, *certified)


def _spread(K: Array, places: Array, values: Array) -> Array:
    """Values of some rows of a set among zeros for the others, in K's dtype."""
    full = np.zeros(len(K), dtype=K.dtype)
    full[places] = values
    return full


def _choose(chosen: Array, candidates: Array, values: Array, count: int) -> None:
    """Mark `count` more of the candidates, those of the largest values."""
    candidates = candidates[~chosen[candidates]]
    if count <= 0:
        return
    if len(candidates) > count:
        candidates = candidates[np.argpartition(-values[candidates], count - 1)[:count]]
    chosen[candidates] = True


def best_bias(v: Array, bounds: Array, labels: Array) -> float:
    """The free intercept of least loss, given v = y - s: Σ C_i max(0, y_i (v_i - b)) has its kinks at the v_i."""
    order = np.argsort(v, kind="stable")
    order = order[bounds[order] > 0]
    passed = np.cumsum(bounds[order])
    place = int(np.searchsorted(passed, bounds[labels > 0].sum() * (1 - 1e-12)))
    return float(v[order[min(place, len(order) - 1)]])


def rebalanced(c: Array, low: Array, high: Array, total: float) -> Array:
    """c moved within its box until it sums to `total` again: rounding of single steps must not add up."""
    for _ in range(4):
        missing = total - math.fsum(c)
        room = np.where((c > low) & (c < high), (high if missing > 0 else low) - c, 0.0)
        available = math.fsum(room)
        if missing == 0 or available == 0:
            break
        c = np.clip(c + room * min(1.0, missing / available), low, high)
    return c


class _Exact:
    """Coefficients for which scores are exact, and those scores: later ones differ from them in few rows."""

    def __init__(self, predictors: list[Predictor], scores: Array, exact: bool) -> None:
        """Those that a start has given, if its scores are exact; else none."""
        self.c = np.stack([predictor.c * exact for predictor in predictors])
        self.scores = scores * exact


class WorkingSets:
    """All predictors on these rows. Coefficients and scores stay from one call to the next, for a path along λ.

    diagonal  K_ii of all rows, without the constant feature; members  the training rows (None: all)
    """

    def __init__(self, lines: Lines, diagonal: Array, intercept: Intercept, members: Array | None = None) -> None:
        self._lines, self._diagonal, self._all = lines, diagonal, members is None
        self._rows = np.arange(len(diagonal)) if members is None else members
        self._constant = 1.0 if intercept is Intercept.AUGMENTED else 0.0
        self._free = intercept is Intercept.FREE
        # of the kernel within sets, so that float32's range does not matter
        self._factor = 1.0 / (float(diagonal[self._rows].max(initial=0.0)) + self._constant or 1.0)
        self._known: dict[int, tuple[Array, Array]] = {}

    def solve(
        self,
        targets: list[Target],
        tol: float,
        start: Array | None = None,
        names: list[int] | None = None,
        rounds: int = MOST_ROUNDS,
    ) -> list[Optimum]:
        """The optimum of the hinge loss for each target, certified to a relative gap of tol unless rounding or rounds forbid it.

        start  coefficients y·a to begin with, targets x members (None: zero; for a free intercept they must sum to 0)
        names  under which scores are kept, for calls with starts that hardly differ from where the last call ended
        """
        names = list(range(len(targets))) if names is None else names
        predictors, scores = self._begin(targets, start, names)
        exact = _Exact(predictors, scores, not self._lines.whole) if self._lines.rounded else None
        numbers = range(len(predictors))
        with announced("sets"):
            while True:
                for j in numbers:  # by one thread: two would mostly wait for each other's calls of NumPy
                    predictors[j].look(scores[j] if self._all else scores[j, self._rows], tol)
                late = [j for j in numbers if predictors[j].goes_on(tol, rounds)]
                if exact is not None and not late:  # all seem to have arrived: one pass for all
                    self._make_exact(predictors, scores, exact, tol)
                    late = [j for j in numbers if predictors[j].goes_on(tol, rounds)]
                if not late:
                    break
                tell_gap(max(predictors[j].relative for j in late), tol)
                self._round([predictors[j] for j in late], late, scores)
        self._known |= {name: (predictors[j].c, scores[j]) for j, name in enumerate(names)}
        return [predictor.optimum() for predictor in predictors]

    def _make_exact(self, predictors: list[Predictor], scores: Array, exact: _Exact, tol: float) -> None:
        """Who seems to have arrived by rounded lines gets exact scores, and is looked at once more."""
        arrived = [j for j, predictor in enumerate(predictors) if predictor.exact_at != predictor.rounds]
        if not arrived:
            return
        changes = np.stack([predictors[j].c for j in arrived]) - exact.c[arrived]
        exact.c[arrived] += changes
        exact.scores[arrived] += self._scores_of(changes)
        scores[arrived] = exact.scores[arrived]
        for j in arrived:
            predictors[j].exact_at = predictors[j].rounds
            predictors[j].look(scores[j] if self._all else scores[j, self._rows], tol)

    def _begin(self, targets: list[Target], start: Array | None, names: list[int]) -> tuple[list[Predictor], Array]:
        scores = np.zeros((len(targets), len(self._diagonal)))
        own = self._diagonal[self._rows] + self._constant
        predictors = [Predictor(target, own, self._constant, self._free) for target in targets]
        if start is not None:
            changes = np.array(start, dtype=np.float64)
            for j, name in enumerate(names):
                predictors[j].c[:] = start[j]
                if name in self._known:
                    before, scores[j] = self._known[name]
                    changes[j] -= before
            if self._lines.whole:
                self._lines.add(self._rows, changes, scores)
            else:
                scores += self._scores_of(changes)
        return predictors, scores

    def _round(self, predictors: list[Predictor], numbers: list[int], scores: Array) -> None:
        """One set for each predictor, and the scores after all of them."""
        sets = [predictor.choose() for predictor in predictors]
        changes: list[Array] = [np.empty(0)] * len(predictors)
        union = np.unique(np.concatenate(sets))

        def improve(members: list[int]) -> None:
            rows = np.unique(np.concatenate([sets[j] for j in members]))
            kind = np.float64 if predictors[members[0]].precise else np.float32
            kernel = self._lines.within(self._rows[rows], self._constant, self._factor, kind)
            for j in members:
                changes[j] = predictors[j].improve(sets[j], np.searchsorted(rows, sets[j]), kernel)
            self._lines.done_with(kernel)

        alike = _alike(predictors)
        if len(alike) > 1:
            run_each(lambda group: improve(alike[group]), range(len(alike)), self._lines.most_workers)
        else:
            improve(alike[0])  # here all threads help with the kernel
        together = np.zeros((len(predictors), len(union)))
        for j, index in enumerate(sets):
            together[j, np.searchsorted(union, index)] = changes[j]
        part = scores[numbers]
        check_interruption()
        self._lines.add(self._rows[union], together, part)
        scores[numbers] = part

    def _scores_of(self, changes: Array) -> Array:
        used = np.flatnonzero(changes.any(axis=0))
        return self._lines.scores_of(self._rows[used], np.ascontiguousarray(changes[:, used]))


def _alike(predictors: list[Predictor]) -> list[list[int]]:
    """Predictors that share the kernel of their sets: those of the same labels (other λ) choose nearly the same rows."""
    alike: dict[tuple[int, bool], list[int]] = {}
    for j, predictor in enumerate(predictors):
        alike.setdefault((predictor.kind, predictor.precise), []).append(j)
    return list(alike.values())
