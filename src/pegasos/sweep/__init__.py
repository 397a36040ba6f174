"""The sweep: a whole grid by cross-validation in shared walks."""

from pegasos.sweep.search import SweepCV

__all__ = ["SweepCV"]
