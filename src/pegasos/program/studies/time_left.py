"""How long the experiments of a study will still take, told by those that are done."""

from __future__ import annotations

from collections.abc import Iterable

from sklearn.model_selection import ParameterGrid

from pegasos.program.pages.wording import duration
from pegasos.program.studies.study import Emulation, Experiment


class TimeLeft:
    """Each part takes as long with one seed as with another; of one that was not run yet the cells tell how long.

    >>> left = TimeLeft({"small": 10, "large": 40}, seeds=2)
    >>> left.words()
    ''
    >>> left.took("small", 3.0)
    >>> left.words()
    ' (about 27.0 s left for the experiments)'
    """

    def __init__(self, cells: dict[str, int], seeds: int) -> None:
        self._cells, self._seeds = cells, seeds
        self._taken: dict[str, list[float]] = {name: [] for name in cells}

    def took(self, part: str, seconds: float) -> None:
        """One more seed of a part is done."""
        self._taken[part].append(seconds)

    def words(self) -> str:
        """What is left, in brackets; nothing while nothing is known."""
        known = {name: max(times) for name, times in self._taken.items() if times}
        if not known:
            return ""
        pace = sum(known.values()) / sum(self._cells[name] for name in known)
        each = {name: known.get(name, pace * cells) for name, cells in self._cells.items()}
        left = sum(
            seconds * (self._seeds - len(self._taken[name])) for name, seconds in each.items()
        )
        return f" (about {duration(left)} left for the experiments)"


def time_left(parts: Iterable[Experiment | Emulation], seeds: int) -> TimeLeft:
    """By the cells of each grid; what a report's own program does counts as one."""
    return TimeLeft(
        {
            part.name: len(ParameterGrid(part.grid)) if isinstance(part, Experiment) else 1
            for part in parts
        },
        seeds,
    )
