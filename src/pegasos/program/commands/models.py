from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from pegasos.learners.catalogue import MODELS
from pegasos.program.terminal import console
from pegasos.program.terminal.options import OutputOptions

if TYPE_CHECKING:
    from pegasos.engine.kernels.base import Kernel

PLACE = 70
SHORT = "What can be trained, with formulas."

_WORDS = {
    "--lam λ": "alpha of SGDClassifier; λ = 1/(C m), m training rows",
    "--C C": "C of SVC and LinearSVC",
    "--epochs N": "max_iter",
    "--multiclass one-vs-one": "OneVsOneClassifier; what SVC does for several classes",
    "--expand N": "PolynomialFeatures(N, include_bias=False)",
    "--landmarks N": "Nystroem(n_components=N): φ(x) = K(L,L)^(-1/2) K(L,x)",
    "--scale standardize": "StandardScaler(); normalize: MinMaxScaler(); robust: RobustScaler()",
}


def command(talking: OutputOptions) -> None:
    """What can be trained, with formulas and scikit-learn's names for the same things.

    \b
    Examples:
      pegasos models
      pegasos models --json
    """
    from pegasos.engine.kernels.standard import KERNELS

    models = [
        {
            "name": model.name,
            "step": model.step,
            "objective": model.objective,
            "scikit-learn": model.in_scikit_learn,
        }
        for _, model in MODELS.values()
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
    if talking.as_json:
        console.show_json({"models": models, "kernels": kernels, "words": _WORDS})
        return
    console.heading(
        "Models (-m): s is the score w·x, or Σ a y K(x_i, x) with a kernel; y is ±1, one predictor a class",
        "",
    )
    head = ("model", "step at a drawn example", "minimizes", "in scikit-learn")
    console.table(head, [tuple(row.values()) for row in models], left=4)
    console.show()
    console.heading(
        "Kernels (--kernel): what stands in [ ] may be left out; 2s for a width is twice what suits the data",
        "",
    )
    console.table(
        ("kernel", "formula", "in scikit-learn"),
        [tuple(row.values())[1:] for row in kernels],
        left=3,
        width=120,
    )
    console.show()
    console.heading("Other options", "")
    console.table(("here", "in scikit-learn"), _WORDS.items(), left=2)


def _form(kind: type[Kernel]) -> str:
    """How --kernel names a kernel and its parameters."""
    others = [each.name for each in dataclasses.fields(kind) if each.name != kind.main]
    main = (
        ""
        if kind.main is None
        else f"[:{'|'.join([kind.main, *(f'{name}=' + name[0] for name in kind.alternatives)])}]"
    )
    return kind.name + main + "".join(f"[:{name}={name[0]}]" for name in others)
