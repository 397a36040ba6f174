"""Perceptron, Pegasos and SDCA: linear and kernel classifiers for scikit-learn."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegasos import kernels, metrics, plot
    from pegasos.explaining import explain
    from pegasos.learners.pegasos import Pegasos
    from pegasos.learners.perceptron import Perceptron
    from pegasos.learners.sdca import SDCA
    from pegasos.nystroem import Nystroem, full_kernel_bound
    from pegasos.preprocessing import DropOutliers
    from pegasos.program.modelfile import load, save
    from pegasos.program.onnxfile import export_onnx
    from pegasos.program.pages import report
    from pegasos.program.pages.play_page import play
    from pegasos.program.tables.named_sets import load_set
    from pegasos.search.sweep import SweepCV
    from pegasos.search.two_stage import TwoStageSearchCV
    from pegasos.shrinking import shrink

__version__ = "0.1.0"
__all__ = [
    "SDCA",
    "DropOutliers",
    "Nystroem",
    "Pegasos",
    "Perceptron",
    "SweepCV",
    "TwoStageSearchCV",
    "explain",
    "export_onnx",
    "full_kernel_bound",
    "kernels",
    "load",
    "load_set",
    "metrics",
    "play",
    "plot",
    "report",
    "save",
    "shrink",
]

_HOMES = {
    "DropOutliers": "pegasos.preprocessing",
    "Nystroem": "pegasos.nystroem",
    "Pegasos": "pegasos.learners.pegasos",
    "Perceptron": "pegasos.learners.perceptron",
    "SDCA": "pegasos.learners.sdca",
    "SweepCV": "pegasos.search.sweep",
    "TwoStageSearchCV": "pegasos.search.two_stage",
    "explain": "pegasos.explaining",
    "export_onnx": "pegasos.program.onnxfile",
    "full_kernel_bound": "pegasos.nystroem",
    "kernels": "pegasos.kernels",
    "load": "pegasos.program.modelfile",
    "load_set": "pegasos.program.tables.named_sets",
    "metrics": "pegasos.metrics",
    "play": "pegasos.program.pages.play_page",
    "plot": "pegasos.plot",
    "report": "pegasos.program.pages",
    "save": "pegasos.program.modelfile",
    "shrink": "pegasos.shrinking",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use: ``import pegasos`` itself loads nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'pegasos' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    return home if home.__name__ == f"pegasos.{name}" else getattr(home, name)


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
