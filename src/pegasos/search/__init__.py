"""The sweep: a whole grid by cross-validation in shared walks; and the race, which ends early what is clearly behind."""

from pegasos.search.racing import RacingCV
from pegasos.search.sweep import SweepCV

__all__ = ["RacingCV", "SweepCV"]
