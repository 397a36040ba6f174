"""The sweep: a whole grid by cross-validation in shared walks."""

from pegasos.search.sweep import SweepCV

__all__ = ["SweepCV"]
