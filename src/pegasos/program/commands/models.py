"""pegasos models."""

from __future__ import annotations

from pegasos.program.terminal import console
from pegasos.program.terminal.options import OutputOptions

PLACE = 70
SHORT = "What can be trained, with formulas."

_ROWS = [
    ("perceptron", "y s <= 0: w += y x", "none", "Perceptron"),
    ("pegasos", "w = (1 - 1/t) w + [y s < 1] y x/(λ t)", "λ/2 |w|² + mean max(0, 1 - y w·x)", "SGDClassifier(loss='hinge')"),
    ("logistic", "w = (1 - 1/t) w + σ(-y s) y x/(λ t)", "λ/2 |w|² + mean log(1 + exp(-y w·x))", "SGDClassifier(loss='log_loss')"),
    ("sdca", "a = clip(a + (1 - y s)/K(x,x), 0, C)", "as pegasos, with a certificate", "LinearSVC(loss='hinge'), SVC"),
    ("sdca-logistic", "Newton steps on one a of the dual", "as logistic, with a certificate", "LogisticRegression"),
]
_WORDS = [
    ("--lam λ", "alpha of SGDClassifier; C = 1/(λ m) of SVC, m training rows"),
    ("--C C", "C of SVC and LinearSVC"),
    ("--kernel gaussian:v", "SVC(kernel='rbf', gamma=1/(2 v)); gaussian:gamma=g is gamma=g; gaussian alone is gamma='scale'"),
    ("--kernel polynomial:d", "SVC(kernel='poly', degree=d, gamma=1, coef0=1)"),
    ("--kernel laplacian:s", "metrics.pairwise.laplacian_kernel(gamma=1/s)"),
    ("--kernel exponential:s", "exp(-|x-z|/s): none"),
    ("--epochs N", "max_iter"),
    ("--expand N", "PolynomialFeatures(N, include_bias=False)"),
    ("--scale standardize", "StandardScaler(); normalize: MinMaxScaler()"),
]


def command(talking: OutputOptions) -> None:
    """What can be trained, with formulas and scikit-learn's names for the same things.

    \b
    Examples:
      pegasos models
      pegasos models --json
    """
    if talking.as_json:
        console.show_json(
            {
                "models": [dict(zip(("name", "step", "objective", "scikit-learn"), row, strict=True)) for row in _ROWS],
                "words": dict(_WORDS),
            }
        )
        return
    console.heading("Models (-m): s is the score w·x, or Σ a y K(x_i, x) with a kernel; y is ±1, one predictor a class")
    console.show()
    console.table(("model", "step at a drawn example", "minimizes", "in scikit-learn"), _ROWS, left=4)
    console.show()
    console.heading("Words")
    console.show()
    console.table(("here", "in scikit-learn"), _WORDS, left=2)
