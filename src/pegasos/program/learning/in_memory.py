"""Learn from rows in memory, here or on the workers of a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from pegasos.engine.runtime.interruption import Interrupted
from pegasos.estimates import Figure, measured
from pegasos.learners.calibration import carry_over
from pegasos.learners.catalogue import model_of
from pegasos.metrics import PROBABILITIES, Metric, answers
from pegasos.program.datasets import split_rows
from pegasos.program.learning.clusters import fit_on_cluster
from pegasos.program.learning.tables import Choice, Learned, TrainingTable
from pegasos.program.pipelines import check_expansion, learned_rows, make_recipe
from pegasos.program.records.fitted import as_text
from pegasos.program.records.runs import ErrorCount
from pegasos.program.saved_models import fingerprint
from pegasos.program.scoring import predictor_scores, probabilities_of, scores_of
from pegasos.program.tables.dataset import Array, Dataset, take
from pegasos.program.tables.row_hashes import hash_rows
from pegasos.program.terminal import console
from pegasos.program.terminal.options import RunningOptions
from pegasos.search.anatomy import anatomy
from pegasos.search.two_stage import limited

#: Training rows that relate the scores of a refitted model to those before.
SCALE_ROWS = 2000
#: Numbers in a block that goes to a worker (32 MB as float64).
_BLOCK_NUMBERS = 1 << 22


class TableInMemory(TrainingTable):
    """A data set, split into training and test rows."""

    def __init__(self, dataset: Dataset, running: RunningOptions) -> None:
        self.dataset, self.running, self.name = dataset, running, dataset.name
        self.columns, self.frame = dataset.columns, dataset.has_frame
        self.label, self.image = dataset.label_name, dataset.image
        found = split_rows(dataset, running.test_size, running.seed)
        self.train, self.test, self.split_kind, self.test_share = found
        self.training = take(dataset, self.train)
        self.search_rows = self.training, self.train
        self.classes = np.unique(self.training.labels)
        self.training_rows = len(self.train)
        self.rows = self.training_rows + len(self.test)

    def test_sample(self, most: int) -> Dataset:
        """Return every k-th test row."""
        return take(self.dataset, self.test[:: 1 + len(self.test) // most])

    def fit(self, learner: Any, client: Any, **steps: Any) -> Learned:
        """Fit a learner to the training rows, and count its errors."""
        rows = self.training
        check_expansion(rows, steps["expand"])
        recipe = make_recipe(rows, learner, **steps)
        with console.working(f"training {model_of(learner).name} on {len(rows)} rows"):
            if client is None:
                recipe.estimator.fit(rows.X, rows.y, **recipe.weights_of(rows))
            else:
                _send_and_fit(recipe.estimator, rows, client)
        return self._learned(recipe.estimator, recipe.estimator, Metric("error"), self.train)

    def finish(self, choice: Choice) -> Learned:
        """Compute the errors of the chosen model, then refit it on all rows if requested."""
        best, fitted = choice.search.best_estimator_, choice.search.refit_rows_
        model, rows = self._refitted(choice)
        return self._learned(
            best,
            model,
            choice.metric,
            rows,
            fitted_rows=fitted,
            saved_rows=fitted if model is best else len(rows),
            refits=choice.refit_all and len(self.test) > 0,
        )

    def _learned(
        self, judged: Any, kept: Any, metric: Metric | None, rows: Array, **more: Any
    ) -> Learned:
        """Return the record of the model `kept`, with errors measured on the model `judged`."""
        errors, figures = self._errors(judged, metric)
        hashes = hash_rows(self.dataset.X, self.dataset.y)
        labels, counts = np.unique(self.dataset.labels[rows], return_counts=True)
        thresholds = [stage.part.threshold for stage in anatomy(kept).stages if stage.drops]
        return Learned(
            kept,
            errors,
            classes=dict(zip(map(str, labels), counts.tolist(), strict=True)),
            learned=learned_rows(take(self.dataset, rows), *thresholds),
            hashes=hashes[rows],
            fingerprint=fingerprint(hashes),
            figures=figures,
            **{"fitted_rows": len(rows), "saved_rows": len(rows)} | more,
        )

    def _errors(
        self, estimator: Any, metric: Metric | None
    ) -> tuple[dict[str, ErrorCount], dict[str, Figure]]:
        """Return errors on training and test rows, and the metric on them."""
        errors, figures = {}, {}
        learner: Any = anatomy(estimator, fitted=True).learner
        classes, counts = np.unique(self.training.labels, return_counts=True)
        usual = classes[counts.argmax()]
        for name, rows in (("training", self.train), ("test", self.test)):
            if not len(rows):
                continue
            with console.working(f"predicting {len(rows)} {name} rows"):
                part = take(self.dataset, rows)
                scores = scores_of(estimator, part)
                p = probabilities_of(estimator, part, scores)
            truth, predicted = part.labels, learner.labels_of(scores)
            found = answers(estimator.classes_, truth, predicted, scores, p)
            errors[name] = ErrorCount.of(truth, predicted, usual)
            lacking = found.probabilities is None
            if metric is not None and not (lacking and metric.kind.needs == PROBABILITIES):
                known = counts[np.searchsorted(classes, found.classes).clip(max=len(classes) - 1)]
                known = np.where(np.isin(found.classes, classes), known, 0)
                figures[name] = as_text(measured(metric, found, known))
        return errors, figures

    def _refitted(self, choice: Choice) -> tuple[Any, Array]:
        """Return the final model and its rows, refitted on all rows if requested and in time.

        Test rows of a class without training rows are left out, because calibration and threshold
        were fitted without that class.
        """
        best = choice.search.best_estimator_
        late = choice.search.refit_rows_ < len(self.train)  # time was up before
        if late or not choice.refit_all or not len(self.test):
            return best, self.train
        known = np.isin(self.dataset.labels[self.test], self.classes)
        everyone = np.sort(np.concatenate([self.train, self.test[known]]))
        rows, model = take(self.dataset, everyone), clone(best)
        some = np.random.default_rng(0).permutation(self.train)[:SCALE_ROWS]
        try:
            with limited(choice.until), console.working(f"refitting on all {len(rows)} rows"):
                model.fit(rows.X, rows.y, **choice.recipe.weights_of(rows))
                carry_decisions(best, model, take(self.dataset, np.sort(some)))
        except Interrupted:
            return best, self.train
        return model, everyone


def carry_decisions(before: Any, after: Any, rows: Dataset) -> None:
    """Copy calibration and threshold to a refitted model, adjusted to its scores on `rows`."""
    both = before, after
    learners = (anatomy(each, fitted=True).learner for each in both)
    carry_over(*learners, *(predictor_scores(each, rows) for each in both))


def _send_and_fit(estimator: Any, rows: Dataset, client: Any) -> None:
    """Fit the steps of a pipeline here, and its linear SDCA to blocks of prepared rows on workers.

    The blocks are sent once.
    """
    X = estimator[:-1].fit_transform(rows.X)
    if not sparse.issparse(X):  # Nyström features are computed on demand
        X = np.asarray(X)
    width = 1 + X.size // X.shape[0]
    size = max(1, min(_BLOCK_NUMBERS // width, -(-X.shape[0] // len(client.nthreads()))))
    starts = range(0, X.shape[0], size)
    values = [each for each in (X, rows.y, rows.weights) if each is not None]
    blocks = [[each[start : start + size] for start in starts] for each in values]
    fit_on_cluster(estimator[-1], client, *(client.scatter(each, hash=False) for each in blocks))
