"""List models, kernels and options with formulas and their names in scikit-learn."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from pegasos.learners.catalogue import MODELS
from pegasos.program.terminal import console

if TYPE_CHECKING:
    from pegasos.engine.kernels.base import Kernel

_SCALE = (
    "gaussian:V has the variance V. gaussian:2s has twice the data's scale, which is the variance "
    "of\ngamma='scale' in scikit-learn; exponential and laplacian take multiples of theirs."
)
#: Options with their names in scikit-learn.
_OPTIONS = {
    "--lam λ": "alpha of SGDClassifier; λ = 1/(C m), m training rows",
    "--C C": "C of SVC and LinearSVC",
    "--epochs N": "max_iter",
    "--average yes": "average of SGDClassifier",
    "--intercept no|free": "fit_intercept=False; free: not regularized, as in SVC",
    "--multiclass one-vs-one": "OneVsOneClassifier, as in SVC",
    "--expand N": "PolynomialFeatures(N, include_bias=False)",
    "--landmarks N": "Nystroem(n_components=N): φ(x) = K(L,L)^(-1/2) K(L,x)",
    "--scale standardize": "StandardScaler()",
    "--scale normalize": "MinMaxScaler()",
    "--scale robust": "RobustScaler()",
}


def command() -> dict[str, Any]:
    """List models, kernels and options with their names in scikit-learn.

    Examples
    --------
      pegasos models
      pegasos models --json
    """
    from pegasos.engine.kernels.standard import KERNELS

    models = [
        {
            "name": model.name,
            "step": model.step,
            "objective": model.objective,
            "predictor": _predictor(declaration.usual_average),
            "scikit-learn": model.in_scikit_learn,
        }
        for declaration, model in MODELS.values()
    ]
    kernels = [
        {
            "name": kind.name,
            "form": _form(kind),
            "formula": kind.formula,
            "scikit-learn": kind.in_scikit_learn,
        }
        for kind in KERNELS.values()
    ]
    return {"models": models, "kernels": kernels, "words": _OPTIONS}


def show(found: dict[str, Any]) -> None:
    """Print models, kernels and options as tables."""
    console.heading(
        "Models (-m). s is the score w·x, or Σ a y K(x_i, x) with a kernel; y is 1 or -1, with one "
        "predictor per class",
        "",
    )
    head = ("model", "step on a drawn row", "minimizes", "predicts with", "in scikit-learn")
    console.table(head, [tuple(row.values()) for row in found["models"]], left=5)
    console.show()
    console.heading("Kernels (--kernel). Parts in [ ] are optional", _SCALE, "")
    heads = ("kernel", "formula", "in scikit-learn")
    console.table(heads, [tuple(row.values())[1:] for row in found["kernels"]], left=3, width=120)
    console.show()
    console.heading("Options", "")
    console.table(("option", "in scikit-learn"), _OPTIONS.items(), left=2)


def _predictor(average: float | None) -> str:
    """Return which vector a model predicts with, given its default average."""
    if average is None:
        return "the optimum"
    return "mean of all steps" if average == 1 else f"mean of the last {100 * average:g} %"


def _form(kind: type[Kernel]) -> str:
    """Return the form of a kernel and its parameters in --kernel."""
    others = "".join(
        f"[:{each.name}={each.name[0]}]"
        for each in dataclasses.fields(kind)
        if each.name != kind.main
    )
    if kind.main is None:
        return kind.name + others
    mains = [kind.main, *(f"{name}={name[0]}" for name in kind.alternatives)]
    return f"{kind.name}[:{'|'.join(mains)}]{others}"
