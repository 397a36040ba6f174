"""Run a study: sweeps that resume, and a collection of numbers, claims and figures."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, train_test_split

from pegasos.search.anatomy import anatomy
from pegasos.search.store import fingerprint
from pegasos.search.sweep import SweepCV
from pegasos.studies.judging import judge
from pegasos.studies.results import Best, Claim, Figure, JudgedNumber, StudyResult
from pegasos.studies.study import Study

Array = np.ndarray[Any, Any]


def run_study(
    study: Study,
    X: Any,
    y: Any,
    *,
    folder: str | Path,
    seeds: int = 5,
    jobs: int | None = None,
    log: Callable[[str], None] = lambda text: None,
) -> StudyResult:
    """Run a study on rows X with labels y.

    Parameters
    ----------
    study : Study
        The study.
    X, y : array-like
        Rows and labels.
    folder : path
        Folder for finished cells; the same call resumes an interrupted run.
    seeds : int, default=5
        Number of seeds for splits and training.
    jobs : int, optional
        Number of threads; results do not depend on it.
    log : callable, optional
        Receives one line per part.

    Returns
    -------
    StudyResult
        Numbers with verdicts, claims and figures.

    See Also
    --------
    Study : Declaration of a study.
    """
    run = Run(study, X, y, Path(folder), seeds, jobs, log)
    begin = time.perf_counter()
    study.run(run)
    if words := run.result.noise_words():
        run.note(words)
    run.result.seconds = round(time.perf_counter() - begin, 1)
    return run.result


class Run:
    """Running study: its rows, its searches, and the result it fills."""

    def __init__(
        self,
        study: Study,
        X: Any,
        y: Any,
        folder: Path,
        seeds: int,
        jobs: int | None,
        log: Callable[[str], None],
    ) -> None:
        self.X = X if sparse.issparse(X) else np.asarray(X)
        self.y, self.folder = np.asarray(y), folder
        self.seeds, self.jobs = range(seeds), jobs
        self.result = StudyResult(
            study.name, study.title, study.protocol, study.data, len(self.y), seeds
        )
        self._log, self._name, self._begin = log, study.name, time.perf_counter()

    def log(self, text: str) -> None:
        """Report progress."""
        self._log(f"{self._name}: {text} ({time.perf_counter() - self._begin:.0f} s)")

    def sweep(
        self,
        name: str,
        estimator: Any,
        grid: Any,
        cv: Any,
        *,
        seed: int | None = None,
        X: Any = None,
        y: Any = None,
        **options: Any,
    ) -> SweepCV:
        """Run all cells of a grid and return the fitted search.

        Finished cells are stored in the folder of the study.

        Parameters
        ----------
        name : str
            Name of the search in log and folder.
        estimator : estimator
            Classifier or pipeline.
        grid : dict or list of dicts
            Grid of parameters.
        cv : int or cross-validation splitter
            Folds.
        seed : int, optional
            Seed of the classifier, 0 by default.
        X, y : array-like, optional
            Rows and labels; those of the study by default.
        **options
            Further parameters of `SweepCV`.

        Returns
        -------
        SweepCV
            The fitted search.
        """
        X, y = self.X if X is None else X, self.y if y is None else y
        self.log(name if seed is None else f"{name}, seed {seed + 1} of {len(self.seeds)}")
        estimator = clone(estimator)
        anatomy(estimator).learner.set_params(random_state=0 if seed is None else seed)
        parts = [re.sub(r"\W+", "-", name), fingerprint(X)[:8], str(seed)]
        options = {"refit": False, "n_jobs": self.jobs, **options}
        search = SweepCV(
            estimator, grid, cv=cv, store=self.folder / "store" / "-".join(parts), **options
        )
        with warnings.catch_warnings(action="ignore"):  # a report's grid may end at its best cell
            return search.fit(X, y)

    def number(
        self, name: str, printed: str | float, ours: float | Sequence[float] | Array, **facts: Any
    ) -> JudgedNumber:
        """Judge a printed number and add it to the result; the parameters are those of `judge`."""
        self.result.numbers.append(judge(name, printed, ours, **facts))
        return self.result.numbers[-1]

    def claim(self, claim: str, verdict: str, evidence: str, source: str = "report") -> None:
        """Add a claim to the result; the parameters are the fields of `Claim`."""
        self.result.claims.append(Claim(claim, verdict, evidence, source))

    def figure(
        self, kind: str, title: str, rows: Iterable[Mapping[str, Any]], **options: Any
    ) -> None:
        """Add a table or chart to the result; the parameters are the fields of `Figure`."""
        listed = [dict(row) for row in rows]
        self.result.figures.append(Figure(kind, title, listed, **options))

    def note(self, text: str) -> None:
        """Add a paragraph to the summary."""
        self.result.notes.append(text)

    def best(self, what: str, error: float, rows: int, seconds: float) -> None:
        """Add the lowest error reached here; the parameters are the fields of `Best`."""
        self.result.best.append(Best(what, error, rows, round(seconds, 1)))

    def compare(
        self, models: Mapping[str, tuple[Any, Any]], *, test_size: float = 0.2, folds: int = 5
    ) -> list[dict[str, Any]]:
        """Tune each model by cross-validation on training rows and evaluate it on test rows.

        Parameters
        ----------
        models : mapping of str to (estimator, grid)
            The models by name.
        test_size : float, default=0.2
            Share of the rows held out as test rows, in a stratified split for each seed.
        folds : int, default=5
            Folds within the training rows.

        Returns
        -------
        list of dict
            One row per model, the lowest cross-validated error first: the setting chosen with the
            first seed, the mean errors over seeds, and in "test errors" those of each seed. Also
            added as a table and a chart.
        """
        found = [
            self._tuned(name, estimator, grid, test_size, folds)
            for name, (estimator, grid) in models.items()
        ]
        found.sort(key=lambda row: row["cross-validated error"])
        rows = [{key: row[key] for key in row if key != "test errors"} for row in found]
        caption = (
            f"Mean errors over {len(self.seeds)} seeds. Settings are chosen by {folds}-fold cross-validation on the "
            f"training rows; the test rows ({test_size:.0%}) take no part in a choice."
        )
        self.figure("table", "Models", rows, caption=caption)
        self.figure("bars", "Test error", rows, x="model", y="test error", caption=caption)
        return found

    def _tuned(
        self, name: str, estimator: Any, grid: Any, test_size: float, folds: int
    ) -> dict[str, Any]:
        found, settings = [], []
        for seed in self.seeds:
            train, test = train_test_split(
                np.arange(len(self.y)), test_size=test_size, random_state=seed, stratify=self.y
            )
            cv = StratifiedKFold(folds, shuffle=True, random_state=seed)
            parts = self.X[train], self.y[train]
            search = self.sweep(
                name, estimator, grid, cv, seed=seed, X=parts[0], y=parts[1], refit=True
            )
            model = search.best_estimator_
            errors = [1 - model.score(self.X[rows], self.y[rows]) for rows in (train, test)]
            found.append([1 - search.best_score_, *errors])
            settings.append(search.best_params_)
        cv_error, train_error, test_error = np.mean(found, axis=0)
        spread = float(np.std([row[2] for row in found], ddof=1)) if len(found) > 1 else None
        setting = ", ".join(
            f"{key.rpartition('__')[2]}={value!r}" for key, value in settings[0].items()
        )
        return {
            "model": name,
            "setting": setting,
            "cross-validated error": round(float(cv_error), 5),
            "training error": round(float(train_error), 5),
            "test error": round(float(test_error), 5),
            "± over seeds": None if spread is None else round(spread, 5),
            "test errors": [row[2] for row in found],
        }
