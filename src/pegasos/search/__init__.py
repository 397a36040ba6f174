"""The sweep: a whole grid by cross-validation in shared walks; and the race, which ends early what is clearly behind."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegasos.search.racing import RacingCV
    from pegasos.search.sweep import SweepCV

__all__ = ["RacingCV", "SweepCV"]

_HOMES = {"RacingCV": "pegasos.search.racing", "SweepCV": "pegasos.search.sweep"}


def __getattr__(name: str) -> Any:
    """Import a search when it is first asked for: who reads settings and estimates of a record loads no learner."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
