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
from pegasos.engine.runtime.interruption import Interrupted
from pegasos.learners.catalogue import MODELS, SDCA, make_learner, model_of
from pegasos.nystroem import Nystroem
from pegasos.program.learning.in_memory import SCALE_ROWS, carry_decisions
from pegasos.program.learning.prepared import NoRoom, prepared
from pegasos.program.learning.streamed import StreamedTable
from pegasos.program.learning.tables import Choice, Learned, TrainingTable, why_not_in_passes
from pegasos.program.records.runs import ErrorCount, WholeRecord
from pegasos.program.scoring import labels_of
from pegasos.program.tables.dataset import BadData, take
from pegasos.program.tables.labels import label_texts
from pegasos.program.tables.row_hashes import hash_rows
from pegasos.program.terminal import console, option_values
from pegasos.program.terminal.options import LearningOptions
from pegasos.program.terminal.reproduction import expansion_degree, landmarks_of
from pegasos.search.settings import Setting
from pegasos.search.two_stage import limited


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
        self.split_kind = "random, row by row" if self.test_share else "none set aside"
        self.search_rows = self.sample(self.room(most))

    def fit(self, learner: Any, client: Any, **steps: Any) -> Learned:
        """Fit a learner to the training rows, and count its errors."""
        about = f"training {model_of(learner).name} on {self.training_rows} rows"
        with prepared(self, learner, steps) as rows:
            with console.working(about, "passes"):
                rows.fit(learner, client)
            return Learned(rows.estimator, rows.errors(learner), **rows.known())

    def finish(self, choice: Choice) -> Learned:
        """Return the choice fitted to all rows; or the model of the sample, and why."""
        setting = choice.search.settings_[choice.search.best_index_]
        loss = MODELS[setting.model][1].fixed.get("loss")
        model = next((model.name for model in SDCA.models if model.fixed["loss"] == loss), None)
        why = f"{setting.model} does not learn in passes; sdca and sdca-logistic do"
        if model is not None:
            try:
                with limited(choice.until):
                    return self._fit_choice(choice, setting, model)
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
        labels, counts = np.unique(label_texts(rows.labels), return_counts=True)
        return Learned(
            best,
            errors,
            classes=dict(zip(labels.tolist(), counts.tolist(), strict=True)),
            learned=len(rows),
            hashes=hash_rows(rows.X, rows.y),
            fitted_rows=len(rows),
            saved_rows=len(rows),
            whole=WholeRecord(len(rows), "sample", why, setting.model, setting.lam),
        )

    def _fit_choice(self, choice: Choice, setting: Setting, model: str) -> Learned:
        """Fit the choice with its C to all training rows, and refit it on all rows if requested."""
        best, sample = choice.search.best_estimator_, choice.rows
        nystroem = self._landmarks(setting)
        if nystroem is not None:
            many = f"{nystroem.landmarks} landmarks (Nyström features)"
            console.say(f"a kernel won: all rows are learned through {many}")
        assert setting.lam is not None  # both models that learn in passes have one
        lam = setting.lam * len(sample) / self.training_rows
        given = option_values.grids(choice.learning, len(sample), self.classes)
        settings = {"lam": lam, "class_weight": best[-1].class_weight}
        settings |= {"tol": given["tol"][0]} if "tol" in given else {}
        settings |= {"seed": self.running.seed, "memory": self.running.memory}
        learner = make_learner(model, settings)
        steps = {"scale": choice.learning.scale, "expand": expansion_degree(setting)}
        with prepared(self, learner, steps | {"nystroem": nystroem}) as rows:
            with console.working(f"training {model} on {self.training_rows} rows", "passes"):
                rows.fit(learner, choice.client)
            some = take(sample, np.arange(min(len(sample), SCALE_ROWS)))
            carry_decisions(best, rows.estimator, some)
            errors, kept = rows.errors(learner), rows.estimator
            refits = choice.refit_all and self.test_rows > 0
            if refits:
                kept = Pipeline([*kept.steps[:-1], ("learner", clone(learner))])
                try:
                    with console.working(f"refitting on all {self.rows} rows", "passes"):
                        rows.fit(kept[-1], choice.client, everything=True)
                    carry_decisions(best, kept, some)
                except Interrupted:
                    kept = rows.estimator
            whole = WholeRecord(
                sample=len(sample),
                how="passes" if nystroem is None else "landmarks",
                model=model,
                lam=lam,
                cost=1.0 / (lam * self.training_rows),
                landmarks=None if nystroem is None else len(kept["nystroem"].landmarks_),
                passes=int(learner.n_iter_),
                gap=float(learner.gap_),
            )
            known = rows.known(everything=kept is not rows.estimator)
            return Learned(kept, errors, **known, refits=refits, whole=whole)

    def _landmarks(self, setting: Setting) -> Nystroem | None:
        """Return Nyström features for the kernel of a setting, if it has one."""
        usual = Nystroem()
        part = landmarks_of(setting) or {"kernel": setting.kernel}
        kernel = part.get("kernel", usual.kernel)
        if kernel is None:
            return None
        many = part.get("landmarks", usual.landmarks)
        seed, memory = self.running.seed, self.running.memory
        return Nystroem(as_kernel(kernel), many, memory=memory, random_state=seed)
