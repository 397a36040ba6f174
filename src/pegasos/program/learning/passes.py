"""Learn from a table that does not fit into memory.

A first pass finds statistics and draws samples, a second one writes prepared rows into files, and
SDCA learns in passes over these. A search compares settings on a sample; its choice is then fitted
to all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from pegasos.engine.kernels.standard import as_kernel
from pegasos.engine.optimum.passes.passes import MOST_FEATURES
from pegasos.engine.runtime.interruption import Interrupted
from pegasos.learners.catalogue import MODELS, SDCA, make_learner, model_of
from pegasos.metrics import measure_of
from pegasos.nystroem import Nystroem
from pegasos.program.learning.in_memory import SCALE_ROWS, carry_decisions
from pegasos.program.learning.prepared import (
    APART,
    TEST,
    TRAINING,
    Preparation,
    PreparedTable,
    prepared,
)
from pegasos.program.learning.row_files import NoRoom
from pegasos.program.learning.streamed import StreamedTable
from pegasos.program.learning.tables import (
    Choice,
    Cluster,
    Known,
    Learned,
    Steps,
    TrainingTable,
    why_not_in_passes,
)
from pegasos.program.records.runs import Compared, ErrorCount, WholeRecord
from pegasos.program.scoring import labels_of
from pegasos.program.tables.dataset import BadData, Dataset, take
from pegasos.program.tables.labels import label_texts
from pegasos.program.tables.row_hashes import hash_rows
from pegasos.program.terminal import console, option_values
from pegasos.program.terminal.options import LearningOptions, RunningOptions
from pegasos.program.terminal.reproduction import expansion_degree, landmarks_of
from pegasos.search.settings import Setting
from pegasos.search.two_stage import limited

#: The share of training rows by which λ are compared again, and the numbers rows x features² up
#: to which a fit is cheap enough for that: about a second per pass.
_COMPARED_SHARE, _CHEAP = 0.1, 1e11


class TableInPasses(StreamedTable, TrainingTable):
    """A table whose rows are read in each pass."""

    search_share = 0.5

    def scan(
        self, learning: LearningOptions, plan: str, most: int, model: str | None = None
    ) -> None:
        """Read all rows once, and draw a sample of at most `most` rows for a search."""
        why = why_not_in_passes(learning, model)
        if learning.scale == "robust":
            why = "--scale robust needs all rows at once"
        if self.outline.group is not None:
            why = "--group needs all rows at once"
        if why is not None:
            ways = "Give it more --memory, or some of its files by a pattern"
            raise BadData(f"{self.about}: {why}. {ways}.")
        console.say(f"{self.about}: {plan}")
        self.read()
        self.test_share = self.share
        self.split_kind = "random, row by row" if self.share else "none set aside"
        self.search_rows = self.sample(self.room(most))

    def fit(self, learner: Any, steps: Steps, cluster: Cluster | None) -> Learned:
        """Fit a learner to the training rows, and count its errors."""
        preparation, count = Preparation(self, learner, steps), self.training_rows
        with prepared(self, preparation) as rows:
            self._fit(rows, learner, cluster)
            errors, known = rows.errors(learner), rows.known()
            return Learned(preparation.estimator, errors, known, count, count)

    def _fit(self, rows: PreparedTable, learner: Any, cluster: Cluster | None) -> None:
        about = f"training {model_of(learner).name} on {self.training_rows} rows"
        with console.working(about, "passes"):
            rows.fit(learner, (TRAINING, APART), cluster)

    def finish(self, choice: Choice) -> Learned:
        """Return the choice fitted to all rows; or the model of the sample, and why."""
        setting = choice.search.settings_[choice.search.best_index_]
        loss = MODELS[setting.model][1].fixed.get("loss")
        model = next((model.name for model in SDCA.models if model.fixed["loss"] == loss), None)
        why = f"{setting.model} does not learn in passes; sdca and sdca-logistic do"
        if model is not None:
            try:
                with limited(choice.until):
                    return self._from_sample(choice, setting, model)
            except NoRoom as error:
                why = str(error).rstrip(".")
            except Interrupted:
                why = "time was up before all rows were learned"
        console.say(f"the model of the sample is kept: {why}")
        return self._keep_sample(choice, setting, why)

    def _keep_sample(self, choice: Choice, setting: Setting, why: str) -> Learned:
        best, rows = choice.search.best_estimator_, choice.rows
        texts = label_texts(self.classes).tolist()
        usual = self.classes[np.argmax([self.trained[text] for text in texts])]
        errors = {"training": ErrorCount.of(rows.labels, labels_of(best, rows), usual)}
        if (test := self.sampled_test_rows()) is not None:
            errors["test"] = ErrorCount.of(test.labels, labels_of(best, test), usual)
            if len(test) < self.test_rows:
                why += f"; its error is that on {len(test)} test rows, drawn by --seed"
        whole = WholeRecord(len(rows), "sample", why, setting.model, setting.lam)
        labels, counts = np.unique(label_texts(rows.labels), return_counts=True)
        classes = dict(zip(labels.tolist(), counts.tolist(), strict=True))
        known = Known(classes, len(rows), hash_rows(rows.X, rows.y))
        return Learned(best, errors, known, len(rows), len(rows), whole=whole)

    def _from_sample(self, choice: Choice, setting: Setting, model: str) -> Learned:
        """Prepare all rows, choose λ for them, count errors, and refit on all rows if requested."""
        share = len(choice.rows) / self.training_rows
        assert setting.lam is not None  # both models that learn in passes have one
        nystroem = _landmarks(self.running, setting)
        learner = self._learner(choice, model)
        steps = Steps(choice.learning.scale, expansion_degree(setting), None, nystroem)
        preparation = Preparation(self, learner, steps)
        estimator, width, stored = preparation.estimator, preparation.width, preparation.stored
        if nystroem is not None:
            many = f"{len(nystroem.landmarks_)} landmarks (Nyström features)"
            console.say(f"a kernel won: all rows are learned through {many}")
        # A pass costs the square of this for each row.
        cost = width if stored is None or width > MOST_FEATURES else stored / self.rows
        cheap = self.training_rows * cost**2 <= _CHEAP and share < 1.0
        with prepared(self, preparation, _COMPARED_SHARE if cheap else 0.0) as rows:
            compared, lam = [], setting.lam * share**0.5
            if cheap:
                tried = (setting.lam, lam, setting.lam * share)
                compared = [_compared(choice, rows, learner, each) for each in tried]
                lam = _best(choice, compared)
            self._fit(rows, learner.set_params(lam=lam), choice.cluster)
            some = take(choice.rows, np.arange(min(len(choice.rows), SCALE_ROWS)))
            carry_decisions(choice.search.best_estimator_, estimator, some)
            errors = rows.errors(learner)
            whole = WholeRecord(
                sample=len(choice.rows),
                how="passes" if nystroem is None else "landmarks",
                model=model,
                lam=lam,
                cost=1.0 / (lam * self.training_rows),
                landmarks=None if nystroem is None else len(nystroem.landmarks_),
                passes=int(learner.n_iter_),
                gap=float(learner.gap_),
                compared=compared,
                metric="error" if choice.metric is None else choice.metric.name,
            )
            refits = choice.refit_all and self.test_rows > 0
            kept = self._refitted(choice, estimator, rows, some) if refits else estimator
            known = rows.known(everything=kept is not estimator)
            return Learned(
                kept, errors, known, self.training_rows, known.learned, refits=refits, whole=whole
            )

    def _learner(self, choice: Choice, model: str) -> Any:
        """Return the unfitted learner of a choice, with the usual tolerance."""
        given = option_values.grids(choice.learning, len(choice.rows), self.classes)
        settings = {"class_weight": choice.search.best_estimator_[-1].class_weight}
        settings |= {"tol": given["tol"][0]} if "tol" in given else {}
        settings |= {"seed": self.running.seed, "memory": self.running.memory}
        return make_learner(model, settings)

    def _refitted(self, choice: Choice, estimator: Any, rows: PreparedTable, some: Dataset) -> Any:
        """Return the model of all rows, or of the training rows if time is up."""
        *steps, (name, learner) = estimator.steps
        last = clone(learner)
        try:
            with console.working(f"refitting on all {self.rows} rows", "passes"):
                rows.fit(last, (TRAINING, APART, TEST), choice.cluster)
        except Interrupted:
            return estimator
        kept = Pipeline([*steps, (name, last)])
        carry_decisions(choice.search.best_estimator_, kept, some)
        return kept


def _landmarks(running: RunningOptions, setting: Setting) -> Nystroem | None:
    """Return Nyström features for the kernel of a setting, if it has one."""
    part, usual = landmarks_of(setting), Nystroem()
    kernel = setting.kernel if part is None else part.get("kernel", usual.kernel)
    if kernel is None:
        return None
    many = usual.landmarks if part is None else part.get("landmarks", usual.landmarks)
    kernel = as_kernel(kernel)
    return Nystroem(kernel, many, memory=running.memory, random_state=running.seed)


def _compared(choice: Choice, rows: PreparedTable, learner: Any, lam: float) -> Compared:
    """Fit with a λ between that of equal λ and that of equal C, and judge it on rows apart."""
    candidate = clone(learner).set_params(lam=lam)
    about = f"comparing λ = {lam:.3g} on {rows.files[TRAINING].count} rows"
    with console.working(about, "passes"):
        rows.fit(candidate, (TRAINING,), choice.cluster)
        errors = rows.count_errors(candidate, APART)
        if choice.metric is None or choice.metric.name == "error":
            return Compared(lam, errors)
        return Compared(lam, errors, choice.metric.value(rows.answers(candidate, APART)))


def _best(choice: Choice, compared: list[Compared]) -> float:
    """Return the λ with the best metric (or error), and of equal ones the largest."""
    sign = 1 if choice.metric is None or measure_of(choice.metric.name).least else -1

    def order(each: Compared) -> tuple[float, float]:
        value = each.errors.error if each.value is None else each.value
        assert value is not None
        return sign * value, -each.lam

    return min(compared, key=order).lam
