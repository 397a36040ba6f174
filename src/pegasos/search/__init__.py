"""Searches of grids by cross-validation: all settings in shared walks, or in two stages."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegasos.search.sweep import SweepCV
    from pegasos.search.two_stage import TwoStageSearchCV

__all__ = ["SweepCV", "TwoStageSearchCV"]

_HOMES = {"SweepCV": "pegasos.search.sweep", "TwoStageSearchCV": "pegasos.search.two_stage"}


def __getattr__(name: str) -> Any:
    """Import a search on first use: settings and estimates of records need no learner."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
