"""Learn from a table that does not fit into memory.

A first pass finds statistics and draws samples, a second one writes prepared rows into files, and
SDCA learns in passes over these. A search compares settings on a sample; its choice is then fitted
to all rows.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from pegasos.engine.kernels.standard import as_kernel
from pegasos.engine.runtime.interruption import Interrupted
from pegasos.learners.catalogue import MODELS, SDCA, make_learner, model_of
from pegasos.nystroem import Nystroem
from pegasos.program import scoring
from pegasos.program.files import temporary_folder
from pegasos.program.learning.clusters import fit_on_cluster
from pegasos.program.learning.in_memory import SCALE_ROWS, carry_decisions
from pegasos.program.learning.prepared import (
    RowFile,
    count_rows,
    fit_steps,
    fit_to_files,
    read_on_workers,
)
from pegasos.program.learning.streamed import StreamedTable
from pegasos.program.learning.tables import Choice, Learned, TrainingTable, why_not_in_passes
from pegasos.program.pipelines import make_recipe
from pegasos.program.records.runs import ErrorCount, WholeRecord
from pegasos.program.saved_models import fingerprint
from pegasos.program.scoring import labels_of
from pegasos.program.tables.dataset import Array, BadData, Dataset, take
from pegasos.program.tables.labels import label_texts
from pegasos.program.tables.messages import plain, size
from pegasos.program.tables.row_hashes import hash_rows
from pegasos.program.terminal import console, option_values
from pegasos.program.terminal.options import LearningOptions
from pegasos.program.terminal.reproduction import expansion_degree, nystroem_of
from pegasos.search.settings import Setting
from pegasos.search.two_stage import limited

#: Free disk space that is left alone.
_SPARED_BYTES = 100 * 10**6
#: Bytes of the hash of a row while hashes are sorted, written and checked.
_HASH_BYTES = 64
#: The share of the memory for rows on their way through the steps.
_STEP_SHARE = 1 / 16


class TableInPasses(StreamedTable, TrainingTable):
    """A table whose rows are read in each pass, and prepared in files during a fit."""

    search_share = 0.5
    #: Prepared training and test rows, and hashes of all rows.
    _files: dict[str, list[RowFile]]
    _hashes: list[tuple[Array, Array]]

    def scan(self, learning: LearningOptions, most: int, model: str | None) -> None:
        """Read all rows once, and draw a sample of at most `most` rows for a search."""
        why = why_not_in_passes(learning, model)
        if learning.scale == "robust":
            why = "--scale robust needs all rows at once"
        if self.outline.group is not None:
            why = "--group needs all rows at once"
        if why is not None:
            ways = "Give it more --memory, or some of its files by a pattern"
            raise BadData(f"{self.about}: {why}. {ways}.")
        plan = "it is processed in passes over a file of prepared rows"
        if model is None:
            plan = (
                "settings are compared on a sample of its rows, then the best one learns from all"
            )
        console.say(f"{self.about}: {plan}")
        self.read()
        self.split_kind = "random, row by row" if self.test_share else "none set aside"
        self.search_rows = self.sample(self.room(most))

    def fit(self, learner: Any, client: Any, **steps: Any) -> Learned:
        """Fit a learner to the training rows, and count its errors."""
        with self._prepared(learner, steps) as estimator:
            self._fit(learner, client)
            return Learned(estimator, self._errors(learner), **self._known())

    @contextlib.contextmanager
    def _prepared(self, learner: Any, steps: dict[str, Any]) -> Iterator[Any]:
        """Write all rows through steps fitted to a sample into files; yield the pipeline."""
        rows, _ = self.sample()
        estimator: Any = make_recipe(rows, learner, **steps).estimator
        fitted = fit_steps(rows, estimator.steps[:-1])
        X = fitted.transform(rows.X[:100])
        numbers = X.nnz / X.shape[0] if sparse.issparse(X) else X.shape[1]
        number_bytes, row_bytes = (8, 24) if sparse.issparse(X) else (4, 16)
        needed = int(self.rows * (number_bytes * numbers + row_bytes))
        with temporary_folder() as folder:
            where, free = plain(folder), shutil.disk_usage(folder).free
            if needed + _SPARED_BYTES > free:
                raise BadData(
                    f"the prepared rows take {size(needed)} on disk, but {plain(folder.parent)} "
                    f"has {size(free)} free; set TMPDIR to a larger place."
                )
            console.say(f"prepared rows: {size(needed)} as float32 in {where}, removed at the end")
            step = max(64, int(_STEP_SHARE * self.budget / (8 * (1 + numbers))))
            self._write(fitted, folder, step)
            yield estimator

    def _write(self, steps: Any, folder: Path, step: int) -> None:
        """Pass over all rows, with at most `step` rows in a file."""
        draw, seen, about = self.draw(), 0, f"second pass over {self.name}: preparing rows"
        self._files, self._hashes = {"training": [], "test": []}, []
        with console.working(about, "rows", self.rows) as progress:
            for part in progress.counting(self.parts()):
                test = draw(len(part))
                for start in range(0, len(part), step):
                    some = np.arange(start, min(start + step, len(part)))
                    self._add(steps, take(part, some), test[some], folder / f"{seen + start}")
                if self._keeps_hashes:
                    self._hashes.append((hash_rows(part.X, part.y), test))
                seen += len(part)
        if seen != self.rows:
            counts = f"{self.rows} rows at first, then {seen}"
            raise BadData(f"{self.name} changed while it was read: {counts}.")
        if not any(file.present.any() for file in self._files["training"]):
            raise BadData(f"{self.name}: all weights are 0.")

    def _add(self, steps: Any, part: Dataset, test: Array, path: Path) -> None:
        known = {text: code for code, text in enumerate(label_texts(self.classes).tolist())}
        codes = np.array([known.get(text, -1) for text in label_texts(part.labels).tolist()])
        rows = scoring.prepared(steps, part)
        weights = np.ones(len(part)) if part.weights is None else part.weights
        weights = np.where(codes < 0, 0.0, weights)
        for name, own in ("training", ~test), ("test", test):
            if own.any():
                values = rows[own], codes[own], weights[own], len(known)
                self._files[name].append(RowFile.write(path.with_suffix(f".{name}"), *values))

    def _fit(self, learner: Any, client: Any, everything: bool = False) -> None:
        """Fit a linear SDCA to the prepared training rows, or to all rows."""
        files = self._files["training"] + (self._files["test"] if everything else [])
        about = f"training {model_of(learner).name} on {count_rows(files)} rows"
        with console.working(about, "passes"):
            if client is None:
                fit_to_files(learner, files, self.classes)
            else:
                fit_on_cluster(learner, client, *read_on_workers(client, files, self.classes))

    def _errors(self, learner: Any) -> dict[str, ErrorCount]:
        """Return the errors on training and test rows, and those of the baseline."""
        usual = int(np.argmax([self.trained[text] for text in label_texts(self.classes).tolist()]))
        found = {}
        with console.working("counting errors"):
            for name, files in self._files.items():
                mistakes = others = 0
                for X, codes, _ in (file.read() for file in files):
                    scores = np.asarray(learner.decision_function(X))
                    binary = scores.ndim == 1
                    predicted = scores > learner.threshold_ if binary else scores.argmax(axis=1)
                    mistakes += int((predicted != codes).sum())
                    others += int((codes != usual).sum())
                if rows := count_rows(files):
                    found[name] = ErrorCount.counted(rows, mistakes, others / rows)
        return found

    @property
    def _keeps_hashes(self) -> bool:
        return _HASH_BYTES * self.rows <= self.budget

    def _known(self, everything: bool = False) -> dict[str, Any]:
        """Return the fields of `Learned` on the training rows, or all rows."""
        counts, classes = self.labels.counts if everything else self.trained, self.classes.tolist()
        texts, rows = zip(classes, label_texts(classes).tolist(), strict=True), counts.total()
        found = {"classes": {str(label): counts[text] for label, text in texts}, "learned": rows}
        found |= {"fitted_rows": self.training_rows, "saved_rows": rows, "hashes": None}
        if not self._keeps_hashes:
            console.say(
                "the model file keeps no hashes of so many rows: "
                "`evaluate` cannot tell training rows from others"
            )
            return found
        hashes, test = (np.concatenate(each) for each in zip(*self._hashes, strict=True))
        own = hashes if everything else hashes[~test]
        return found | {"hashes": own, "fingerprint": fingerprint(hashes)}

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
            except Interrupted:
                why = "time was up before it was fitted to all rows"
        console.say(f"the model of the sample is kept: {why}")
        return self._keep_sample(choice, setting, why)

    def _keep_sample(self, choice: Choice, setting: Setting, why: str) -> Learned:
        best, (rows, _) = choice.search.best_estimator_, self.search_rows
        texts = label_texts(self.classes).tolist()
        usual = self.classes[np.argmax([self.trained[text] for text in texts])]
        errors = {"training": ErrorCount.of(rows.labels, labels_of(best, rows), usual)}
        if self._test_sample.seen:
            test, _ = self._rows(self._test_sample)
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
        """Fit the chosen setting, at the same C, to all training rows; refit on request."""
        best, (sample, _) = choice.search.best_estimator_, self.search_rows
        nystroem = nystroem_of(setting)
        if nystroem is None and setting.kernel is not None:
            nystroem = Nystroem(setting.kernel)
        if nystroem is not None:
            own = {"memory": self.running.memory, "random_state": self.running.seed}
            nystroem.set_params(kernel=as_kernel(nystroem.kernel), **own)
            many = f"{nystroem.landmarks} landmarks (Nyström features)"
            console.say(f"a kernel model was chosen: it is fitted to all rows with {many}")
        assert setting.lam is not None  # both models that learn in passes have one
        lam = setting.lam * len(sample) / self.training_rows
        given = option_values.grids(choice.learning, len(sample), self.classes)
        settings = {"lam": lam, "class_weight": best[-1].class_weight}
        settings |= {"tol": given["tol"][0]} if "tol" in given else {}
        settings |= {"seed": self.running.seed, "memory": self.running.memory}
        learner = make_learner(model, settings)
        steps = {"scale": choice.learning.scale, "expand": expansion_degree(setting)}
        with self._prepared(learner, steps | {"nystroem": nystroem}) as estimator:
            self._fit(learner, choice.client)
            some = take(sample, np.arange(min(len(sample), SCALE_ROWS)))
            carry_decisions(best, estimator, some)
            errors, kept = self._errors(learner), estimator
            refits = choice.refit_all and self.test_rows > 0
            if refits:
                kept = Pipeline([*kept.steps[:-1], ("learner", clone(learner))])
                try:
                    self._fit(kept[-1], choice.client, everything=True)
                    carry_decisions(best, kept, some)
                except Interrupted:
                    kept = estimator
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
            known = self._known(everything=kept is not estimator)
            return Learned(kept, errors, **known, refits=refits, whole=whole)
