"""Model files: a fitted model in one file of numbers and text, without executable code."""

from pegasos.program.errors import BadModel, NotAModel
from pegasos.program.modelfile.model import Model, fitted_model, load, read_model, save

__all__ = ["BadModel", "Model", "NotAModel", "fitted_model", "load", "read_model", "save"]
