"""Predictors of one class at several C: the optimum of the largest C is that of a smaller one, too, if it is within its bounds.

With 0 <= a <= C < C' the dual objective of a is the same for both, and the primal one for C is no larger: the same losses count
less. So the gap that is proved for C' holds for C. Where classes can be told apart, that is the case for all large C of a grid.
Where some coefficients are beyond the smaller bounds, it is still a good start, within them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.engine.optimum.problem import Target

Array = np.ndarray[Any, Any]


class Followers:
    """Who waits for whom: `leaders` of all that still wait, by their place among the targets.

    share  of a leader's coefficients that may be beyond the bounds of who follows it
    """

    def __init__(self, targets: list[Target], share: float) -> None:
        self._share = share
        self._bounds = [target.bounds for target in targets]
        self.leaders: dict[int, int] = {}
        alike: dict[int, list[int]] = {}
        for place, target in enumerate(targets):
            alike.setdefault(target.kind, []).append(place)
        for places in alike.values():
            leader = (
                max(places, key=lambda place: float(self._bounds[place].sum()))
                if len(places) > 1
                else places[0]
            )
            for place in places:
                if place != leader and (self._bounds[place] <= self._bounds[leader]).all():
                    self.leaders[place] = leader

    def others(self, count: int) -> list[int]:
        """Those of `count` targets who do not wait."""
        return [place for place in range(count) if place not in self.leaders]

    def released(self, coefficients: list[Array]) -> list[int]:
        """Those who wait no longer, because too many coefficients of their leader have passed their bounds."""
        gone = [
            place
            for place, leader in self.leaders.items()
            if self._beyond(coefficients[leader], self._bounds[place])
        ]
        for place in gone:
            del self.leaders[place]
        return gone

    def _beyond(self, leading: Array, bounds: Array) -> bool:
        beyond = np.count_nonzero(np.abs(leading) > bounds)
        return bool(beyond > self._share * np.count_nonzero(leading))

    def led(self, late: list[int]) -> dict[int, int]:
        """Those whose leader has arrived, and that leader; they wait no longer."""
        found = {place: leader for place, leader in self.leaders.items() if leader not in late}
        for place in found:
            del self.leaders[place]
        return found
