"""Working sets: the hinge loss to its optimum on any rows, where coordinate ascent crawls.

A round takes the rows that violate optimality most and those inside their box, solves for their coefficients together by greedy
pair steps, and brings the scores of all rows up to date by one product. Predictors (classes, λ) go in step and share the lines of
K. After Joachims (1999) and Wen and others (2018, ThunderSVM); a predictor's own part is in `set_predictor`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.engine.optimum.hinge.common_sets import (
    COMMON_ROUNDS,
    LEAST_CLASSES,
    common_rows,
    gather_lines,
)
from pegasos.engine.optimum.hinge.exact_scores import ExactScores
from pegasos.engine.optimum.hinge.followers import Followers
from pegasos.engine.optimum.hinge.lines import Lines, StoredLines
from pegasos.engine.optimum.hinge.set_predictor import FEW_ROWS, NO_LIMIT, Limit, Predictor
from pegasos.engine.optimum.problem import Intercept, Optimum, Target
from pegasos.engine.runtime.compiling import announced
from pegasos.engine.runtime.interruption import check_interruption, tell_gap
from pegasos.engine.runtime.threads import run_each, run_repeatedly

Array = np.ndarray[Any, Any]

#: How often exact scores may send back who seemed to have arrived by rounded lines, before these are computed in full precision.
MOST_RETURNS = 1
#: The share of a leader's coefficients that may be beyond the bounds of who follows it.
MOST_BEYOND = 0.9
#: The share of rows with a coefficient at the start from which its scores are computed exactly at once.
EXACT_START = 0.7


@dataclass
class _Run:
    """All predictors of a call: where they are, and where each begins (`start`, None: at zero); `names` are for the next call."""

    predictors: list[Predictor]
    scores: Array
    exact: ExactScores | None
    start: Array | None
    names: list[int]
    returns: int = 0  # how often exact scores have sent back who seemed to have arrived
    spread: bool = True  # whether gains may be spread over so many rows that one set serves all

    def astray(self, going: list[int], tol: float) -> bool:
        """Whether rounded lines do not lead to the optimum, as exact scores have just shown once more."""
        wrong = [
            one
            for one in (self.predictors[j] for j in going)
            if one.exact_at == one.rounds and one.relative > tol
        ]
        self.returns += bool(wrong)
        return self.returns > MOST_RETURNS or any(predictor.gave_up for predictor in wrong)

    def late(self, going: list[int], tol: float, limit: Limit) -> list[int]:
        """Those who have not arrived, and may."""
        return [j for j in going if self.predictors[j].goes_on(tol, limit)]


class WorkingSets:
    """All predictors on these rows. Coefficients and scores stay from one call to the next, for a path along λ.

    diagonal  K_ii of all rows, without the constant feature; members  the training rows (None: all)
    """

    def __init__(
        self, lines: Lines, diagonal: Array, intercept: Intercept, members: Array | None = None
    ) -> None:
        self._lines, self._diagonal, self._all = lines, diagonal, members is None
        self._rows = np.arange(len(diagonal)) if members is None else members
        self._constant = 1.0 if intercept is Intercept.AUGMENTED else 0.0
        self._free = intercept is Intercept.FREE
        # of the kernel within sets, so that float32's range does not matter
        self._factor = 1.0 / (float(diagonal[self._rows].max(initial=0.0)) + self._constant or 1.0)
        self._known: dict[int, tuple[Array, Array]] = {}
        self._mixed: set[int] = (
            set()
        )  # names whose scores are no longer those of rounded lines alone

    @property
    def lines(self) -> Lines:
        """The lines of K as they are now."""
        return self._lines

    def solve(
        self,
        targets: list[Target],
        tol: float,
        start: Array | None = None,
        names: list[int] | None = None,
        limit: Limit = NO_LIMIT,
    ) -> list[Optimum]:
        """The optimum of the hinge loss for each target, certified to a relative gap of tol unless rounding or `limit` forbid it.

        start  coefficients y·a to begin with, targets x members (None: zero; for a free intercept they must sum to 0)
        names  under which scores are kept, for calls with starts that hardly differ from where the last call ended
        """
        names = list(range(len(targets))) if names is None else names
        own = self._diagonal[self._rows] + self._constant
        predictors = [Predictor(target, own, self._constant, self._free) for target in targets]
        scores = np.zeros((len(targets), len(self._diagonal)))
        exact = ExactScores(self._lines, self._rows, scores) if self._lines.rounded else None
        run = _Run(predictors, scores, exact, start, names)
        with announced("sets"):
            self._solve(run, Followers(targets, 0.0 if self._free else MOST_BEYOND), tol, limit)
        self._known |= {name: (predictors[j].c, scores[j]) for j, name in enumerate(names)}
        return [
            predictor.optimum(None if self._lines.rounded else own)
            for predictor, own in zip(predictors, scores, strict=True)
        ]

    def _solve(self, run: _Run, followers: Followers, tol: float, limit: Limit) -> None:
        """Rounds until all have arrived; who waits for a leader is not in them."""
        new = followers.others(len(run.predictors))
        late: list[int] = []
        self._begin(run, new)
        while new or late:
            for j in new:  # by one thread: two would mostly wait for each other's calls of NumPy
                self._look(run, j, tol)
            going = followers.others(len(run.predictors))
            if not run.late(going, tol, limit):  # all seem to have arrived: one pass for all
                self._make_exact(run, going, tol)
            if run.exact is not None and run.astray(going, tol):
                self._end_rounding(run, tol)
            late = run.late(going, tol, limit)
            new = followers.released([predictor.c for predictor in run.predictors])
            self._begin(run, new)
            for follower, leader in followers.led(late).items():
                self._adopt(run, follower, leader)
                new.append(follower)
            if late:
                self._advance(run, late, tol, limit)

    def _look(self, run: _Run, j: int, tol: float) -> None:
        run.predictors[j].look(self._members_of(run.scores[j]), tol)

    def _members_of(self, scores: Array) -> Array:
        return scores if self._all else scores[self._rows]

    def _begin(self, run: _Run, who: list[int]) -> None:
        """Those go to their start, and get the scores there."""
        if run.start is None or not who:
            return
        changes = np.array(run.start[who], dtype=np.float64)
        for change, j in zip(changes, who, strict=True):
            run.predictors[j].c[:] = change
            if run.names[j] in self._known:
                before, run.scores[j] = self._known[run.names[j]]
                change -= before
        if self._lines.whole:
            part = run.scores[who]
            self._lines.add(self._rows, changes, part)
            run.scores[who] = part
            return
        used = np.flatnonzero(changes.any(axis=0))
        # of few rows exact scores are cheaper in the end, when the others' do not matter
        exactly = (
            run.exact is not None and len(used) > EXACT_START * len(self._rows) and not self._known
        )
        added = self._lines.scores_of(
            self._rows[used], np.ascontiguousarray(changes[:, used]), rounded=not exactly
        )
        run.scores[who] += added
        if exactly and run.exact is not None:
            run.exact.know(who, run.start[who], added)
            self._mixed.update(run.names[j] for j in who)

    def _adopt(self, run: _Run, follower: int, leader: int) -> None:
        """The follower goes on from where its leader ended, within its own bounds: mostly it has arrived there, or nearly."""
        own, other = run.predictors[follower], run.predictors[leader]
        own.c[:] = np.clip(other.c, -own.bounds, own.bounds)
        run.scores[follower] = run.scores[leader]
        changes = (own.c - other.c)[None]
        if changes.any():
            self._lines.add(self._rows, changes, run.scores[follower : follower + 1])
        if run.exact is not None:
            run.exact.know([follower], run.exact.c[leader], run.exact.scores[leader])
            if run.names[leader] in self._mixed:
                self._mixed.add(run.names[follower])
            if other.exact_at == other.rounds and not other.by_bound and not changes.any():
                own.exact_at = own.rounds

    def _make_exact(self, run: _Run, going: list[int], tol: float) -> None:
        """Who seems to have arrived by rounded lines gets exact scores, unless it has arrived whatever rounding did."""
        predictors = run.predictors
        arrived = [j for j in going if predictors[j].exact_at != predictors[j].rounds]
        if run.exact is None or not arrived:
            return
        for j in arrived:
            predictors[j].exact_at = predictors[j].rounds
        # the bound is for scores all of whose parts come from the same rounded lines
        doubtful = [
            j
            for j in arrived
            if run.names[j] in self._mixed or not predictors[j].holds(self._lines.error, tol)
        ]
        self._mixed.update(run.names[j] for j in doubtful)
        if doubtful:
            run.exact.settle(predictors, doubtful, run.scores, lambda j: self._look(run, j, tol))

    def _end_rounding(self, run: _Run, tol: float) -> None:
        """From now on lines, and scores, in the precision of the rows."""
        self._lines, run.exact = self._lines.unrounded(), None
        self._known.clear()
        run.scores[:] = 0.0
        self._lines.add(
            self._rows, np.stack([predictor.c for predictor in run.predictors]), run.scores
        )
        for j, predictor in enumerate(run.predictors):
            predictor.take_heart()
            self._look(run, j, tol)

    def _advance(self, run: _Run, late: list[int], tol: float, limit: Limit) -> None:
        """One round for those who are late; who shares nothing with others goes on until it has arrived."""
        tell_gap((run.predictors[j].relative for j in late), tol)
        check_interruption()
        alike = _alike(run.predictors, late)
        rows = self._common_rows(run, late) if len(alike) >= LEAST_CLASSES else None
        few = (
            len(late) > 1 or len(self._diagonal) <= FEW_ROWS
        )  # on few rows other threads are no help for one predictor
        if rows is None and self._lines.independent and len(alike) == len(late) and few:
            self._go_alone(run, late, tol, limit)
            return
        if rows is None:
            self._improve_in_own_sets(run, alike)
        else:
            self._improve_in_one_set(run, late, rows)
        for j in late:
            self._look(run, j, tol)

    def _go_alone(self, run: _Run, late: list[int], tol: float, limit: Limit) -> None:
        """Each in sets of its own, round after round: lines of K that one has read are still in the cache in its next round."""

        lines = self._lines
        assert isinstance(lines, StoredLines)
        matrix = lines.matrix

        def take_round(j: int) -> bool:
            check_interruption()
            predictor, products = run.predictors[j], run.scores[j : j + 1]
            if self._free:
                rows = predictor.choose()
                kernel = lines.within(
                    self._rows[rows], self._constant, self._factor, predictor.kind_of_sets
                )
                change = predictor.improve(rows, np.arange(len(rows)), kernel)
                lines.done_with(kernel)
                lines.add(self._rows[rows], change[None], products)
                self._look(run, j, tol)
            else:
                square, most = (
                    lines.square(predictor.soon, predictor.kind_of_sets),
                    limit.rounds - predictor.rounds,
                )
                predictor.take_rounds(matrix, self._rows, products, self._factor, square, most)
                lines.give_back(square)
            tell_gap((run.predictors[j].relative for j in late), tol)
            return predictor.goes_on(tol, limit)

        run_repeatedly(take_round, late, self._lines.most_workers)

    def _common_rows(self, run: _Run, late: list[int]) -> Array | None:
        predictors = [run.predictors[j] for j in late]
        run.spread &= self._lines.independent and not any(
            one.precise or one.rounds >= COMMON_ROUNDS for one in predictors
        )
        rows = common_rows([one.gains for one in predictors]) if run.spread else None
        run.spread = rows is not None
        return rows

    def _improve_in_one_set(self, run: _Run, late: list[int], rows: Array) -> None:
        kernel = self._lines.within(self._rows[rows], self._constant, self._factor, np.float32)
        gather_lines(kernel)
        changes: dict[int, Array] = {}

        def improve(place: int) -> None:
            changes[late[place]] = run.predictors[late[place]].improve(
                rows, np.arange(len(rows)), kernel
            )

        run_each(improve, range(len(late)), self._lines.most_workers)
        self._lines.done_with(kernel)
        self._add(run, late, dict.fromkeys(late, rows), changes)

    def _improve_in_own_sets(self, run: _Run, alike: list[list[int]]) -> None:
        sets: dict[int, Array] = {}
        changes: dict[int, Array] = {}

        def improve(members: list[int]) -> None:
            sets.update((j, run.predictors[j].choose()) for j in members)
            rows = self._union([sets[j] for j in members])
            kind = run.predictors[members[0]].kind_of_sets
            kernel = self._lines.within(self._rows[rows], self._constant, self._factor, kind)
            for j in members:
                changes[j] = run.predictors[j].improve(
                    sets[j], np.searchsorted(rows, sets[j]), kernel
                )
            self._lines.done_with(kernel)
            if self._lines.independent:  # at once: what was read of the lines is still in the cache
                self._add(run, members, sets, changes)

        if len(alike) > 1:
            # the longest first, as far as the last round tells, so that no thread ends up alone with one
            order = sorted(
                alike, key=lambda members: -sum(run.predictors[j].steps for j in members)
            )
            run_each(
                lambda group: improve(order[group]), range(len(order)), self._lines.most_workers
            )
        else:
            improve(alike[0])  # here all threads help with the kernel
        if not self._lines.independent:
            self._add(run, [j for members in alike for j in members], sets, changes)

    def _add(
        self, run: _Run, who: list[int], sets: dict[int, Array], changes: dict[int, Array]
    ) -> None:
        """The scores of these predictors after the changes of their sets."""
        if len(who) == 1:
            (j,) = who
            self._lines.add(self._rows[sets[j]], changes[j][None], run.scores[j : j + 1])
            return
        union = self._union([sets[j] for j in who])
        together = np.zeros((len(who), len(union)))
        for place, j in enumerate(who):
            together[place, np.searchsorted(union, sets[j])] = changes[j]
        part = run.scores[who]
        self._lines.add(self._rows[union], together, part)
        run.scores[who] = part

    def _union(self, sets: list[Array]) -> Array:
        if len(sets) == 1:
            return sets[0]
        chosen = np.zeros(len(self._rows), dtype=bool)
        for index in sets:
            chosen[index] = True
        return np.flatnonzero(chosen)


def _alike(predictors: list[Predictor], who: list[int]) -> list[list[int]]:
    """Those who share the kernel of their sets: predictors of the same labels (other λ) choose nearly the same rows."""
    alike: dict[tuple[int, bool], list[int]] = {}
    for j in who:
        alike.setdefault((predictors[j].kind, predictors[j].precise), []).append(j)
    return list(alike.values())
