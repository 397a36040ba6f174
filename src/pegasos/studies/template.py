"""Template of a study file: eight models on a data set, as `pegasos study new` writes it."""

from __future__ import annotations

_TEXT = '''"""Eight models on @DATA@. Change what you like, then: pegasos study @FILE@"""

from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from pegasos import Pegasos, Perceptron
from pegasos.kernels import Gaussian, Polynomial
from pegasos.studies import Study

LAMS = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1]
KERNELS = [Polynomial(2), Polynomial(3), Gaussian("0.3 scale"), Gaussian("scale")]
EPOCHS = [10]


def model(learner, degree=1, **grid):
    """Return a learner on standardized features and their products, and the grid to search."""
    steps = [
        ("scale", StandardScaler()),
        ("expand", PolynomialFeatures(degree, include_bias=False)),
        ("learner", learner),
    ]
    return Pipeline(steps), {f"learner__{key}": values for key, values in grid.items()}


MODELS = {
    "perceptron": model(Perceptron(), epochs=EPOCHS),
    "pegasos": model(Pegasos(), lam=LAMS),
    "logistic": model(Pegasos("logistic"), lam=LAMS),
    "perceptron, degree 2": model(Perceptron(), degree=2, epochs=EPOCHS),
    "pegasos, degree 2": model(Pegasos(), degree=2, lam=LAMS),
    "logistic, degree 2": model(Pegasos("logistic"), degree=2, lam=LAMS),
    "kernel perceptron": model(Perceptron(), kernel=KERNELS, epochs=EPOCHS),
    "kernel pegasos": model(Pegasos(), kernel=KERNELS, lam=LAMS),
}


def run(study):
    """Tune each model on training rows, evaluate the choice on test rows, and check claims."""
    rows = study.compare(MODELS, test_size=0.2, folds=5)
    errors = {row["model"]: row["test error"] for row in rows}  # means over the seeds
    gain = errors["pegasos"] - errors["kernel pegasos"]
    verdict = "holds" if gain > 0 else "does not hold"
    study.claim("a kernel lowers the error", verdict, f"by {gain:.4f}", source="ours")
    # To compare the errors of all seeds with a printed number:
    # study.number("table 1", "0.043", rows[0]["test errors"])


STUDY = Study(
    name=@NAME@,
    title=@TITLE@,
    data=@SOURCE@,
    protocol="One fifth of the rows, drawn by class anew for each seed, is the test part. Settings "
    "are chosen by 5-fold cross-validation on the training rows.",
    run=run,
)
'''


def make_template(name: str, file: str, data: str) -> str:
    """Return the Python text of a study; name and data are inserted as quoted literals."""
    words = {"@DATA@": _comment(data), "@FILE@": _comment(file), "@NAME@": repr(name)}
    words |= {"@TITLE@": repr(f"Eight models on {data}"), "@SOURCE@": repr(data)}
    text = _TEXT
    for mark, word in words.items():
        text = text.replace(mark, word)
    return text


def _comment(text: str) -> str:
    """Return text without characters that would end the docstring of the file."""
    return "".join(char for char in text if char.isprintable()).replace("\\", "/").replace('"', "'")
