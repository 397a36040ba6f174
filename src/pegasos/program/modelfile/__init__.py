"""Model files: a fitted model in one file that holds numbers and words, and nothing that could run."""

from pegasos.program.errors import BadModel, NotAModel
from pegasos.program.modelfile.model import Model, load, read_model, save

__all__ = ["BadModel", "Model", "NotAModel", "load", "read_model", "save"]
