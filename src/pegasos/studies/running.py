"""Declare and run a study: sweeps that resume, and a collection of numbers, claims and figures."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, train_test_split

from pegasos.learners.task import fingerprint
from pegasos.search.anatomy import anatomy
from pegasos.search.sweep import SweepCV
from pegasos.studies.results import Best, Claim, Figure, JudgedNumber, StudyResult, judge

Row = dict[str, Any]
Log = Callable[[str], None]


@dataclass(frozen=True)
class Study:
    """Protocol on one data set.

    Parameters
    ----------
    name : str
        Short name; the default folder of its results.
    title : str
        Heading of its page.
    data : str
        A named set or a file.
    protocol : str
        Description of the protocol, in one paragraph.
    run : callable
        Called with a `Run`; runs the protocol and adds numbers, claims and figures.

    See Also
    --------
    run_study : Run a study.

    Examples
    --------
    >>> def protocol(run):
    ...     run.number("rows", "4", len(run.y))
    >>> Study("tiny", "A tiny study", "four rows", "Rows are counted.", protocol).name
    'tiny'
    """

    name: str
    title: str
    data: str
    protocol: str
    run: Callable[[Run], None]


def run_study(
    study: Study,
    X: Any,
    y: Any,
    *,
    folder: str | Path,
    seeds: int = 5,
    jobs: int | None = None,
    log: Log = lambda text: None,
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
    judge : Compare one printed number with ours.

    Examples
    --------
    >>> import tempfile
    >>> def protocol(run):
    ...     run.number("rows", "4", len(run.y))
    >>> study = Study("tiny", "A tiny study", "four rows", "Rows are counted.", protocol)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = run_study(study, [[0], [1], [2], [3]], [0, 1, 0, 1], folder=folder)
    >>> result.numbers[0].verdict
    'exact'
    """
    run = Run(study, X, y, Path(folder), seeds, jobs, log)
    study.run(run)
    if words := run.result.describe_noise():
        run.note(words)
    run.result.seconds = round(run.elapsed(), 1)
    return run.result


class Run:
    """Running study: its rows, its searches, and the result it fills."""

    def __init__(
        self, study: Study, X: Any, y: Any, folder: Path, seeds: int, jobs: int | None, log: Log
    ) -> None:
        self.X = X if sparse.issparse(X) else np.asarray(X)
        self.y, self.folder = np.asarray(y), folder
        self.seeds, self.jobs = range(seeds), jobs
        about = (study.name, study.title, study.protocol, study.data)
        self.result = StudyResult(*about, rows=len(self.y), seeds=seeds)
        self._log, self._begin = log, time.perf_counter()

    def elapsed(self) -> float:
        """Return the seconds since the study began."""
        return time.perf_counter() - self._begin

    def log(self, text: str) -> None:
        """Report progress."""
        self._log(f"{self.result.study}: {text} ({self.elapsed():.0f} s)")

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
        store = self.folder / "store" / "-".join(parts)
        with warnings.catch_warnings(action="ignore"):  # a report's grid may end at its best cell
            return SweepCV(estimator, grid, cv=cv, store=store, **options).fit(X, y)

    def number(self, name: str, printed: str | float, ours: Any, **facts: Any) -> JudgedNumber:
        """Judge a printed number and add it to the result; the parameters are those of `judge`."""
        self.result.numbers.append(judge(name, printed, ours, **facts))
        return self.result.numbers[-1]

    def claim(self, claim: str, verdict: bool | str, evidence: str, source: str = "report") -> None:
        """Add a claim; the parameters are the fields of `Claim`, the verdict may be a bool."""
        words = verdict if isinstance(verdict, str) else "holds" if verdict else "does not hold"
        self.result.claims.append(Claim(claim, words, evidence, source))

    def figure(self, kind: str, title: str, rows: Iterable[Row], **options: Any) -> None:
        """Add a table or chart to the result; the parameters are the fields of `Figure`."""
        self.result.figures.append(Figure(kind, title, [dict(row) for row in rows], **options))

    def note(self, text: str) -> None:
        """Add a paragraph to the summary."""
        self.result.notes.append(text)

    def best(self, what: str, error: float, rows: int, seconds: float) -> None:
        """Add the lowest error reached here; the parameters are the fields of `Best`."""
        self.result.best.append(Best(what, error, rows, round(seconds, 1)))

    def compare(
        self, models: Mapping[str, tuple[Any, Any]], *, test_size: float = 0.2, folds: int = 5
    ) -> list[Row]:
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
        found = [self._tune(name, model, test_size, folds) for name, model in models.items()]
        found.sort(key=lambda row: row["cross-validated error"])
        rows = [{key: row[key] for key in row if key != "test errors"} for row in found]
        caption = (
            f"Mean errors over {len(self.seeds)} seeds. Settings are chosen by {folds}-fold "
            f"cross-validation on the training rows; the test rows ({test_size:.0%}) take no part."
        )
        self.figure("table", "Models", rows, caption=caption)
        self.figure("bars", "Test error", rows, x="model", y="test error", caption=caption)
        return found

    def _tune(self, name: str, model: tuple[Any, Any], test_size: float, folds: int) -> Row:
        errors, setting = [], ""
        for seed in self.seeds:
            train, test = train_test_split(
                np.arange(len(self.y)), test_size=test_size, random_state=seed, stratify=self.y
            )
            cv = StratifiedKFold(folds, shuffle=True, random_state=seed)
            rows = {"X": self.X[train], "y": self.y[train]}
            search = self.sweep(name, *model, cv, seed=seed, refit=True, **rows)
            scores = [search.score(self.X[part], self.y[part]) for part in (train, test)]
            errors.append([1 - search.best_score_, 1 - scores[0], 1 - scores[1]])
            chosen = {key.rpartition("__")[2]: value for key, value in search.best_params_.items()}
            setting = setting or ", ".join(f"{key}={value!r}" for key, value in chosen.items())
        validated, trained, tested = zip(*errors, strict=True)
        return {
            "model": name,
            "setting": setting,
            "cross-validated error": round(float(np.mean(validated)), 5),
            "training error": round(float(np.mean(trained)), 5),
            "test error": round(float(np.mean(tested)), 5),
            "± over seeds": round(float(np.std(tested, ddof=1)), 5) if len(tested) > 1 else None,
            "test errors": [*tested],
        }
