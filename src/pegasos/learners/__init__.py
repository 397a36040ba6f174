"""The learners: estimators in scikit-learn's sense, each a rule over the one engine."""

from pegasos.learners.pegasos import Pegasos
from pegasos.learners.perceptron import Perceptron
from pegasos.learners.sdca import SDCA

__all__ = ["SDCA", "Pegasos", "Perceptron"]
