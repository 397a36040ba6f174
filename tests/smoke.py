"""Try an installed package away from its sources: a fit, a search, a model file, the program."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import pegasos
from pegasos import SDCA, Pegasos, SweepCV, load, save


def main() -> None:
    assert "site-packages" in pegasos.__file__, (
        f"this is a try of an installed package, not of {pegasos.__file__}"
    )
    X, y = load_digits(return_X_y=True)
    X, y = X[:600] / 16, y[:600]
    model = SDCA(C=10, kernel="gaussian", random_state=0).fit(X[:400], y[:400])
    assert model.gap_ <= model.tol and model.score(X[400:], y[400:]) > 0.85
    sweep = SweepCV(
        Pegasos(random_state=0), {"lam": [1e-4, 1e-2], "n_iter": [300]}, cv=3, verbose=0
    ).fit(X, y)
    assert len(sweep.settings_) == 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save(model, folder / "digits.model")
        np.testing.assert_array_equal(load(folder / "digits.model").predict(X), model.predict(X))
        np.savetxt(
            folder / "my.csv",
            np.column_stack([X[:, 20:24], y == 3]),
            delimiter=",",
            header="a,b,c,d,y",
            comments="",
        )
        program = Path(sys.executable).with_name("pegasos")
        for words in (
            ["--version"],
            ["train", "my.csv", "-o", "my.model", "-q"],
            ["predict", "my.model", "my.csv", "-o", "labels.csv"],
        ):
            subprocess.run([program, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        assert (folder / "labels.csv").read_text().count("\n") == 601
    print(
        f"pegasos {subprocess.run([program, '--version'], capture_output=True, text=True, check=True).stdout.split()[1]} works"
    )


if __name__ == "__main__":
    main()
