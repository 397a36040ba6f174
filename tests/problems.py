"""Generated problems, each described by one line of a CSV file.

Optimum and chosen method are frozen in `data/`, so that a change of the engine that changes either
is seen. `python tests/problems.py` writes both files again.
"""

from __future__ import annotations

import csv
import re
import warnings
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from pegasos import SDCA, Nystroem
from pegasos.kernels import Gaussian, Laplacian, Linear, Polynomial

Array = np.ndarray[Any, Any]

DATA = Path(__file__).parent / "engine" / "data"
KERNELS: dict[str, Any] = {
    "": None,
    "gaussian": Gaussian(2.0),
    "narrow gaussian": Gaussian(0.05),
    "wide gaussian": Gaussian(50.0),
    "laplacian": Laplacian(2.0),
    "linear": Linear(),
    "cubic": Polynomial(3, coef0=1.0),
    "precomputed": "precomputed",
}


@dataclass(frozen=True)
class Problem:
    """A table of random rows and the parameters of an SDCA.

    Parameters
    ----------
    storage : "dense", "csr", or "mapped" (features computed in every pass).
    density : share of nonzero values.
    noise : share of labels that are flipped.
    repeated : whether rows occur several times, with different labels.
    scales : powers of ten between which the scales of the columns lie.
    """

    loss: str
    C: float
    kernel: str = ""
    intercept: str = "True"
    rows: int = 200
    features: int = 4
    classes: int = 2
    storage: str = "dense"
    density: float = 1.0
    dtype: str = "float64"
    noise: float = 0.1
    repeated: bool = False
    weighted: bool = False
    scales: int = 0
    memory: str = "1GB"
    finish: bool = True
    seed: int = 0

    @classmethod
    def from_record(cls, record: dict[str, str]) -> Problem:
        """Return the problem that a line of a CSV file describes."""
        defaults = {field.name: field.default for field in fields(cls)}
        types = {"loss": str, "C": float} | {
            name: type(value) for name, value in defaults.items() if name not in ("loss", "C")
        }
        convert = {
            name: (lambda text: text == "True") if kind is bool else kind
            for name, kind in types.items()
        }
        return cls(**{name: make(record[name]) for name, make in convert.items()})

    @property
    def name(self) -> str:
        """Return the values that differ from their defaults as text."""
        other = [
            f"{field.name}={getattr(self, field.name)}"
            for field in fields(self)[2:]
            if getattr(self, field.name) != field.default
        ]
        return " ".join([self.loss, f"C={self.C:g}", *other])

    def make_rows(self) -> tuple[Any, Array, Array | None]:
        """Return X (the kernel matrix if precomputed), y and sample weights."""
        random = np.random.default_rng(self.seed)
        if self.density < 1.0:
            X = sparse.random_array(
                (self.rows, self.features), density=self.density, rng=random, format="csr"
            )
            scores = np.asarray(X @ random.normal(size=(self.features, self.classes)))
            y = np.argmax(scores, axis=1)
        else:
            X = random.normal(size=(self.rows, self.features))
            if self.repeated:
                X = X[random.integers(self.rows // 2, size=self.rows)]
            centers = random.normal(size=(self.classes, self.features))
            bent = X + 0.3 * np.roll(X, 1, axis=1) * X
            y = np.argmax(bent @ centers.T, axis=1)
            if self.scales:
                X = X * 10.0 ** random.integers(-self.scales, self.scales + 1, size=self.features)
        flipped = random.random(self.rows) < self.noise
        y = np.where(flipped, random.integers(self.classes, size=self.rows), y)
        y[: self.classes] = np.arange(self.classes)
        weights = random.integers(0, 4, self.rows) / 2 if self.weighted else None
        if weights is not None:
            weights[: self.classes] = 1.0
        X = X.astype(self.dtype)
        if self.kernel == "precomputed":
            X = Gaussian(2.0)(X)
        elif self.storage == "csr":
            X = sparse.csr_array(X)
        elif self.storage == "mapped":
            X = (
                Nystroem(Gaussian(2.0), landmarks=20, random_state=0, memory="100KB")
                .fit(X, y)
                .transform(X)
            )
        return X, y, weights

    def fit(self, tol: float = 1e-3) -> SDCA:
        """Return the SDCA fitted to this problem."""
        X, y, weights = self.make_rows()
        intercept: Any = {"True": True, "False": False}.get(self.intercept, self.intercept)
        clf = SDCA(
            self.loss,
            lam=1.0 / (self.C * len(y)),
            kernel=KERNELS[self.kernel],
            tol=tol,
            fit_intercept=intercept,
            finish=self.finish,
            memory=self.memory,
            random_state=0,
        )
        with threadpool_limits(2):  # each thread needs memory of its own
            return clf.fit(X, y, sample_weight=weights)


def read_problems(name: str) -> list[tuple[Problem, dict[str, str]]]:
    """Return the problems of a file in `data/`, each with its whole line."""
    with open(DATA / name, newline="", encoding="utf-8") as lines:
        return [(Problem.from_record(record), record) for record in csv.DictReader(lines)]


def method_of(clf: SDCA) -> str:
    """Return the storage of rows and the method used, without counts of rounds."""
    without_counts = re.sub(
        r"(,? ?\b(up to )?\d+ (epochs|rounds))|\d+ of \d+ columns by ", "", clf.plan_.method
    )
    return f"{clf.plan_.rows}: {without_counts or 'none'}"


def optimum_problems() -> list[Problem]:
    """Return 120 small random problems that vary everything a solver may depend on."""
    random = np.random.default_rng(31)
    found = []
    kernels = ["", "", "gaussian", "narrow gaussian", "wide gaussian", "laplacian", "linear"]
    kernels += ["cubic", "precomputed"]
    for number in range(120):
        loss = ("hinge", "logistic")[number % 3 == 2]
        kernel = str(random.choice(kernels))
        C = 10.0 ** (number % 11 - 4)
        intercept = str(random.choice([str(kernel == ""), "True", "free", "False"]))
        storage = "csr" if kernel != "precomputed" and random.random() < 0.3 else "dense"
        # Logistic loss, free intercept, large C and columns of all scales: not solved today.
        scaled = kernel == "" and random.random() < 0.5
        scaled &= not (loss == "logistic" and intercept == "free" and C > 1000)
        single = kernel in ("", "gaussian", "laplacian") and not scaled and C <= 10
        large = kernel in ("gaussian", "narrow gaussian") and loss == "hinge" and C <= 100
        found.append(
            Problem(
                loss,
                C,
                kernel,
                intercept,
                rows=2500 if large else int(random.integers(30, 400)),
                features=int(random.integers(2, 8)),
                classes=int(random.choice([2, 2, 3])),
                storage=storage,
                dtype="float32" if single and random.random() < 0.3 else "float64",
                noise=float(random.choice([0.0, 0.1, 0.5])),
                repeated=bool(random.random() < 0.3),
                weighted=bool(random.random() < 0.3),
                scales=6 if scaled else 0,
                seed=number,
            )
        )
    return found


def choice_problems() -> list[Problem]:
    """Return problems that cover every branch of the choice of a method."""
    found = []
    for loss in ("hinge", "logistic"):
        dense = [
            Problem(loss, 1.0),
            Problem(loss, 1.0, finish=False),
            Problem(loss, 1.0, intercept="free"),
            Problem(loss, 1.0, intercept="False", classes=3),
            Problem(loss, 1.0, rows=500, features=40, memory="200KB"),
            Problem(loss, 1.0, rows=60, features=150),
            Problem(loss, 1e4, rows=60, features=150),
            Problem(loss, 1.0, rows=60, features=150, intercept="free"),
            Problem(loss, 1.0, rows=700, features=320),
            Problem(loss, 1.0, rows=700, features=320, intercept="free"),
            Problem(loss, 1.0, rows=20_000, features=3),
            Problem(loss, 100.0, rows=20_000, features=3, classes=3),
            Problem(loss, 1.0, rows=20_000, features=3, intercept="free"),
            Problem(loss, 1.0, rows=6200, features=256, memory="4GB"),
            Problem(loss, 1.0, rows=2500, storage="mapped"),
        ]
        wide = {"storage": "csr", "features": 3000, "density": 0.003}
        csr = [
            Problem(loss, 1.0, storage="csr"),
            Problem(loss, 1.0, rows=300, **wide),
            Problem(loss, 1e4, rows=300, **wide),
            Problem(loss, 1.0, rows=4500, **wide),
            Problem(loss, 10.0, rows=4500, **wide),
            Problem(loss, 1e3, rows=4500, **wide),
            Problem(loss, 1.0, rows=4500, intercept="free", **wide),
            Problem(loss, 1.0, rows=4500, storage="csr", features=200_000, density=1e-5),
        ]
        kernel = [
            Problem(loss, 0.01, "gaussian"),
            Problem(loss, 1.0, "gaussian", finish=False),
            Problem(loss, 1.0, "gaussian", rows=1000),
            Problem(loss, 100.0, "gaussian", classes=3),
            Problem(loss, 1e6, "wide gaussian"),
            Problem(loss, 1.0, "gaussian", intercept="free"),
            Problem(loss, 1.0, "precomputed"),
            Problem(loss, 1.0, "gaussian", rows=2000),
            Problem(loss, 1.0, "gaussian", rows=2000, classes=3),
            Problem(loss, 1.0, "gaussian", rows=2500, memory="45MB"),
            Problem(loss, 1e5, "cubic", rows=1600, features=3, noise=0.3),
        ]
        found += [*dense, *csr, *kernel]
    return found


def write_problems(name: str, lines: list[dict[str, Any]]) -> None:
    """Write a file in `data/`."""
    with open(DATA / name, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def freeze() -> None:
    """Solve all problems and write their methods and optima."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        chosen = [asdict(each) | {"method": method_of(each.fit())} for each in choice_problems()]
        write_problems("choice_of_method.csv", chosen)
        optima: list[dict[str, Any]] = []
        for each in optimum_problems():
            best = each.fit(tol=1e-5 if each.dtype == "float32" or each.C > 1e3 else 1e-7)
            usual = each.fit()
            optima.append(
                asdict(each)
                | {
                    "lower": float(max(best.dual_objective_.sum(), usual.dual_objective_.sum())),
                    "upper": float(min(best.objective_.sum(), usual.objective_.sum())),
                    "gap": f"{usual.gap_:.1e}",
                }
            )
        write_problems("optima.csv", optima)


if __name__ == "__main__":
    freeze()
