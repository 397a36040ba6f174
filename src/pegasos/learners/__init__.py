"""Learners: estimators in scikit-learn's sense, each an update rule over one engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegasos.learners.catalogue import DECLARATIONS, learner_class

if TYPE_CHECKING:
    from pegasos.learners.pegasos import Pegasos
    from pegasos.learners.perceptron import Perceptron
    from pegasos.learners.sdca import SDCA

__all__ = ["SDCA", "Pegasos", "Perceptron"]


def __getattr__(name: str) -> Any:
    """Import a learner on first use: the catalogue alone loads nothing."""
    for declaration in DECLARATIONS:
        if declaration.learner == name:
            return learner_class(declaration)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
