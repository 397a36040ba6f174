"""The file that `pegasos study new` writes: eight models on one's own data."""

from __future__ import annotations

_TEXT = '''"""Eight models on @DATA@. Change what you like, then: pegasos study @FILE@"""

from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from pegasos import Pegasos, Perceptron
from pegasos.kernels import Gaussian, Polynomial
from pegasos.studies import Experiment, Study, train_test

LAMS = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1]
KERNELS = [Polynomial(2), Polynomial(3), Gaussian("0.3 scale"), Gaussian("scale")]
EPOCHS = [10]
SPLITS = train_test(0.2)  # or folds(5), from pegasos.studies


def model(name, learner, degree=1, **grid):
    """A learner on standardized features and their products up to a degree; each cell of the grid is compared."""
    steps = [("scale", StandardScaler()), ("expand", PolynomialFeatures(degree, include_bias=False)), ("learner", learner)]
    return Experiment(name, Pipeline(steps), {f"learner__{key}": values for key, values in grid.items()}, SPLITS)


STUDY = Study(
    name=@NAME@,
    title=@TITLE@,
    data=@SOURCE@,
    stand_in=None,
    protocol="One fifth of the rows is the test, drawn by class anew for each seed.",
    experiments=(
        model("perceptron", Perceptron(), epochs=EPOCHS),
        model("pegasos", Pegasos(), lam=LAMS),
        model("logistic", Pegasos("logistic"), lam=LAMS),
        model("perceptron, degree 2", Perceptron(), degree=2, epochs=EPOCHS),
        model("pegasos, degree 2", Pegasos(), degree=2, lam=LAMS),
        model("logistic, degree 2", Pegasos("logistic"), degree=2, lam=LAMS),
        model("kernel perceptron", Perceptron(), kernel=KERNELS, epochs=EPOCHS),
        model("kernel pegasos", Pegasos(), kernel=KERNELS, lam=LAMS),
    ),
)
'''


def template(name: str, file: str, data: str) -> str:
    """A study as Python text; what comes from outside is quoted as Python quotes it."""
    words = {"@DATA@": _comment(data), "@FILE@": _comment(file), "@NAME@": repr(name)}
    words |= {"@TITLE@": repr(f"Eight models on {data}"), "@SOURCE@": repr(data)}
    text = _TEXT
    for mark, word in words.items():
        text = text.replace(mark, word)
    return text


def _comment(text: str) -> str:
    """Text inside the docstring of the file."""
    return "".join(char for char in text if char.isprintable()).replace("\\", "/").replace('"', "'")
