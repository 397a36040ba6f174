"""Learn from rows in memory, here or on the workers of a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from pegasos.engine.runtime.interruption import Interrupted
from pegasos.learners.catalogue import model_of
from pegasos.metrics import PROBABILITIES, Answers, Metric, answers
from pegasos.program.datasets import split_rows
from pegasos.program.learning.tables import Choice, Cluster, Known, Learned, Steps, TrainingTable
from pegasos.program.pipelines import check_expansion, learned_rows, make_recipe
from pegasos.program.records.runs import ErrorCount
from pegasos.program.records.searches import as_text
from pegasos.program.saved_models import fingerprint
from pegasos.program.scoring import predictor_scores, probabilities_of, scores_of
from pegasos.program.tables.dataset import Array, Dataset, take
from pegasos.program.tables.row_hashes import hash_rows
from pegasos.program.terminal import console
from pegasos.program.terminal.options import RunningOptions
from pegasos.search.anatomy import anatomy
from pegasos.search.decisions import carry_over
from pegasos.search.estimates import Figure, measured
from pegasos.search.two_stage import limited

#: Training rows that relate the scores of a refitted model to those before.
SCALE_ROWS = 2000
#: Bytes of a block that goes to a worker.
_BLOCK_BYTES = 32 * 2**20


class TableInMemory(TrainingTable):
    """A data set, split into training and test rows."""

    def __init__(self, dataset: Dataset, running: RunningOptions) -> None:
        self.dataset, self.running, self.name = dataset, running, dataset.name
        self.columns, self.frame = dataset.columns, dataset.has_frame
        self.label, self.image = dataset.label_name, dataset.image
        self.split = split_rows(dataset, running.test_size, running.seed)
        self.split_kind, self.test_share = self.split.kind, self.split.test_size
        self.training = take(dataset, self.split.train)
        self.search_rows = self.training, self.split.train
        self.classes = np.unique(self.training.labels)
        self.training_rows = len(self.split.train)
        self.rows = self.training_rows + len(self.split.test)

    def test_sample(self, most: int) -> Dataset:
        """Return every k-th test row."""
        return take(self.dataset, self.split.test[:: 1 + len(self.split.test) // most])

    def fit(self, learner: Any, steps: Steps, cluster: Cluster | None) -> Learned:
        """Fit a learner to the training rows, and count its errors."""
        rows = self.training
        check_expansion(rows, steps.expand)
        recipe = make_recipe(rows, learner, *steps)
        with console.working(f"training {model_of(learner).name} on {len(rows)} rows"):
            if cluster is None:
                recipe.estimator.fit(rows.X, rows.y, **recipe.weights_of(rows))
            else:
                _fit_on_cluster(recipe.estimator, rows, cluster)
        errors, figures = self._judged(recipe.estimator, Metric("error"))
        known = self._known(recipe.estimator, self.split.train)
        return Learned(recipe.estimator, errors, known, len(rows), len(rows), figures)

    def finish(self, choice: Choice) -> Learned:
        """Compute the errors of the chosen model, then refit it on all rows if requested."""
        search = choice.search
        errors, figures = self._judged(search.best_estimator_, choice.metric)
        model, rows = self._refitted(choice)
        known, fitted = self._known(model, rows), search.refit_rows_
        saved = fitted if model is search.best_estimator_ else len(rows)
        refits = choice.refit_all and len(self.split.test) > 0
        return Learned(model, errors, known, fitted, saved, figures, refits)

    def _judged(
        self, estimator: Any, metric: Metric | None
    ) -> tuple[dict[str, ErrorCount], dict[str, Figure]]:
        """Return errors on training and test rows, and the metric on them."""
        errors, figures = {}, {}
        classes, counts = np.unique(self.training.labels, return_counts=True)
        usual = classes[counts.argmax()]
        for name, rows in (("training", self.split.train), ("test", self.split.test)):
            if not len(rows):
                continue
            with console.working(f"predicting {len(rows)} {name} rows"):
                found = ask(estimator, take(self.dataset, rows))
            truth = self.dataset.labels[rows]
            errors[name] = ErrorCount.of(truth, found.classes[found.labels], usual)
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
        best, split = choice.search.best_estimator_, self.split
        late = choice.search.refit_rows_ < len(split.train)  # time was up before
        if late or not choice.refit_all or not len(split.test):
            return best, split.train
        known = np.isin(self.dataset.labels[split.test], self.classes)
        everyone = np.sort(np.concatenate([split.train, split.test[known]]))
        rows, model = take(self.dataset, everyone), clone(best)
        some = np.random.default_rng(0).permutation(split.train)[:SCALE_ROWS]
        try:
            with limited(choice.until), console.working(f"refitting on all {len(rows)} rows"):
                model.fit(rows.X, rows.y, **choice.recipe.weights_of(rows))
                carry_decisions(best, model, take(self.dataset, np.sort(some)))
        except Interrupted:
            return best, split.train
        return model, everyone

    def _known(self, estimator: Any, rows: Array) -> Known:
        hashes = hash_rows(self.dataset.X, self.dataset.y)
        labels, counts = np.unique(self.dataset.labels[rows], return_counts=True)
        classes = {str(label): count for label, count in zip(labels, counts.tolist(), strict=True)}
        learned = learned_rows(take(self.dataset, rows), anatomy(estimator).outlier_threshold)
        return Known(classes, learned, hashes[rows], fingerprint(hashes))


def carry_decisions(before: Any, after: Any, rows: Dataset) -> None:
    """Copy calibration and threshold to a refitted model, adjusted to its scores on `rows`."""
    both = before, after
    learners = (anatomy(each, fitted=True).learner for each in both)
    carry_over(*learners, *(predictor_scores(each, rows) for each in both))


def ask(estimator: Any, rows: Dataset) -> Answers:
    """Return all answers of a fitted model, computing its scores once."""
    learner: Any = anatomy(estimator, fitted=True).learner
    scores = scores_of(estimator, rows)
    p = probabilities_of(estimator, rows, scores)
    return answers(estimator.classes_, rows.labels, learner.labels_of(scores), scores, p)


def _fit_on_cluster(estimator: Pipeline, rows: Dataset, cluster: Cluster) -> None:
    """Fit a pipeline that ends with a linear SDCA: other steps here, the learner on the workers.

    Prepared rows are sent to the workers once, in blocks.
    """
    from pegasos.dask import DaskSDCA

    name, learner = estimator.steps[-1]
    X = estimator[:-1].fit_transform(rows.X)
    workers = len(cluster.client.scheduler_info(n_workers=-1)["workers"])
    numbers = X.nnz if sparse.issparse(X) else X.shape[0] * X.shape[1]
    width = 1 + numbers // X.shape[0]
    size = max(1, min(_BLOCK_BYTES // (8 * width), -(-X.shape[0] // workers)))
    blocks = [slice(start, start + size) for start in range(0, X.shape[0], size)]
    values = [each for each in (X, rows.y, rows.weights) if each is not None]
    parts = [[each[block] for block in blocks] for each in values]
    if not sparse.issparse(X):  # Nyström features are computed on demand
        parts[0] = [np.asarray(part) for part in parts[0]]
    sent = [cluster.client.scatter(part, hash=False) for part in parts]
    names = [each for each in DaskSDCA._get_param_names() if each != "client"]
    given = {each: getattr(learner, each) for each in names}
    given |= {"memory": cluster.memory, "client": cluster.client}
    fitted = DaskSDCA(**given).fit(*sent).to_local().set_params(memory=learner.memory)
    estimator.steps[-1] = (name, fitted)
