"""Steps fitted to a sample, and all rows of a table through them into files, for fits in passes."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from pegasos.engine.rows.blocks import THIN
from pegasos.learners.one_vs_all import NotFinite
from pegasos.metrics import Answers, answers
from pegasos.program import scoring
from pegasos.program.learning.row_files import RowFile, bytes_of_rows, fit_to_files, workplace
from pegasos.program.learning.streamed import StreamedTable
from pegasos.program.learning.tables import Cluster, Known, Steps
from pegasos.program.pipelines import make_recipe, scaler_of
from pegasos.program.records.runs import ErrorCount
from pegasos.program.saved_models import fingerprint
from pegasos.program.tables.dataset import Array, BadData, Dataset, take
from pegasos.program.tables.labels import label_texts
from pegasos.program.tables.messages import plain, size
from pegasos.program.tables.row_hashes import hash_rows
from pegasos.program.terminal import console
from pegasos.search.decisions import calibrated_in_fold

#: Files of a prepared table: training rows, some of them apart to compare fits, and test rows.
TRAINING, APART, TEST = range(3)
#: Bytes of the hash of a row while hashes are sorted, written and checked.
_HASH_BYTES = 64
#: The share of the memory for rows on their way through the steps.
_STEP_SHARE = 1 / 16
#: Numbers of a sample that are transformed for the later steps (32 MB), and least rows.
_NUMBERS, _LEAST_ROWS = 4_000_000, 1000


class Preparation:
    """The steps before a learner, fitted to a sample of the rows of a table.

    Encoder and scaler are fitted to the whole sample, expansion and landmarks to fewer rows if
    these are wide.
    """

    def __init__(self, table: StreamedTable, learner: Any, steps: Steps) -> None:
        rows, _ = table.sample()
        #: The pipeline, whose learner is not fitted.
        self.estimator: Any = make_recipe(rows, learner, *steps).estimator
        before = self.estimator.steps[:-1]
        X, named = rows.X, dict(before)
        for name, step in before:
            if step == "passthrough":
                continue
            step.fit(X)
            if name == "encode":
                width = step.transform(X[:2]).shape[1]
                X = X[:: 1 + len(rows) // max(_LEAST_ROWS, _NUMBERS // width)]
            elif name == "scale" and len(rows) > X.shape[0]:
                imputer, names = _part(named["encode"], "numbers")
                scaler_of(step).fit(imputer.transform(rows.X.select(names))[:, : len(names)])
            X = step.transform(X)
        self.width = int(X.shape[1])
        #: What transforms rows, and the numbers that all rows store if they are sparse.
        self.steps, self.stored = Pipeline(before), None
        if table.outline.sparse:
            self.stored = None if "nystroem" in named else table.stored
        elif (encoding := sparse_encoding(before, self.width)) is not None:
            self.steps, self.stored = encoding, table.rows * encoding.stored


def _part(encoder: Any, name: str) -> tuple[Any, list[str]]:
    """Return a fitted part of an encoder and its columns; None if there are none."""
    parts = {each: (part, columns) for each, part, columns in encoder.transformers_}
    return parts.get(name, (None, []))


class SparseEncoding:
    """The fitted steps `encode` and `scale` of a pipeline, with CSR rows as their result.

    These store one number per column of categories instead of one per one-hot column.
    """

    def __init__(self, encoder: Any, scaler: Any) -> None:
        words, self._word_names = _part(encoder, "words")
        self._words = copy.copy(words)
        self._words.sparse_output = True
        self._imputer, self._number_names = _part(encoder, "numbers")
        self._scaler = scaler
        indicators = 0 if self._imputer is None else len(self._imputer.indicator_.features_)
        #: Upper bound of the numbers stored per row.
        self.stored = len(self._number_names) + indicators + len(self._word_names)

    def transform(self, X: Any) -> Any:
        """Return the rows of a frame as CSR."""
        words = self._words.transform(X.select(self._word_names))
        if self._imputer is None:
            return words.tocsr()
        numbers: Array = np.asarray(self._imputer.transform(X.select(self._number_names)))
        if self._scaler != "passthrough":
            scaled = slice(len(self._number_names))
            numbers[:, scaled] = self._scaler.transform(numbers[:, scaled])
        return sparse.hstack([sparse.csr_matrix(numbers), words], format="csr")


def sparse_encoding(steps: list[tuple[str, Any]], width: int) -> SparseEncoding | None:
    """Return the steps with CSR rows as their result if that saves memory, else None."""
    used = {name: step for name, step in steps if step != "passthrough"}
    encoder = used.pop("encode", None)
    scaler = scaler_of(used.pop("scale", "passthrough"))
    if used or encoder is None or _part(encoder, "words")[0] is None:
        return None
    found = SparseEncoding(encoder, scaler)
    return found if THIN * found.stored <= width else None


@contextlib.contextmanager
def prepared(
    table: StreamedTable, preparation: Preparation, apart: float = 0.0
) -> Iterator[PreparedTable]:
    """Write all rows through the steps into temporary files.

    `apart` is the share of training rows that are kept apart.
    """
    rows, stored = table.rows, preparation.stored
    numbers = rows * preparation.width if stored is None else stored
    needed = int(bytes_of_rows(rows, numbers, stored is not None))
    with workplace(needed) as folder:
        console.say(
            f"prepared rows: {size(needed)} as float32 in {plain(folder)}, removed at the end"
        )
        made = PreparedTable(table, preparation, folder)
        with contextlib.closing(made):
            made.write(apart)
            yield made


class PreparedTable:
    """All rows of a table, prepared and in files, with class codes; -1 is an unknown class."""

    def __init__(self, table: StreamedTable, preparation: Preparation, folder: Path) -> None:
        self._table, self._preparation = table, preparation
        self.files = tuple(
            RowFile(folder, name, preparation.width, preparation.stored is not None)
            for name in ("training", "comparison", "test")
        )
        self.classes = table.classes
        texts = label_texts(self.classes).tolist()
        self._codes = {text: code for code, text in enumerate(texts)}
        #: Of each file and class: the sum of weights, and the number of rows with a weight.
        self._sums = np.zeros((3, len(texts)))
        self._present = np.zeros((3, len(texts)), dtype=np.int64)
        #: Hashes of all rows and which of them are test rows; None where there is no room.
        fits = _HASH_BYTES * table.rows <= table.budget
        self._hashes: list[tuple[Array, Array]] | None = [] if fits else None

    def write(self, apart: float) -> None:
        """Pass over all rows."""
        table, rows, draw = self._table, self._table.rows, self._table.draw()
        random, seen = np.random.default_rng([table.running.seed, 2]), 0
        width, stored = self._preparation.width, self._preparation.stored
        numbers = width if stored is None else 4 * stored // rows
        step = max(64, int(_STEP_SHARE * table.budget) // (8 * max(1, numbers)))
        about = f"second pass over {table.name}: preparing rows"
        with console.working(about, "rows", rows) as progress:
            for part in progress.counting(table.parts()):
                test = draw.test(len(part))
                kinds = np.where(test, TEST, random.random(len(part)) < apart)
                for start in range(0, len(part), step):
                    some = np.arange(start, min(start + step, len(part)))
                    self._add(take(part, some), kinds[some])
                if self._hashes is not None:
                    self._hashes.append((hash_rows(part.X, part.y), test))
                seen += len(part)
        self.close()
        if seen != rows:
            counts = f"{rows} rows at first, then {seen}"
            raise BadData(f"{table.name} changed while it was read: {counts}.")
        if not self._sums[:TEST].sum() > 0.0:
            raise BadData(f"{table.name}: all weights are 0.")

    def _add(self, part: Dataset, kinds: Array) -> None:
        codes = np.array([self._codes.get(text, -1) for text in label_texts(part.labels).tolist()])
        rows, width = scoring.prepared(self._preparation.steps, part), len(self.classes)
        weights = np.ones(len(part)) if part.weights is None else part.weights
        weights = np.where(codes < 0, 0.0, weights)
        for number, file in enumerate(self.files):
            own = kinds == number
            file.add(rows[own], codes[own], weights[own])
            own &= codes >= 0
            self._sums[number] += np.bincount(codes[own], weights[own], minlength=width)
            self._present[number] += np.bincount(codes[own & (weights > 0)], minlength=width)

    def close(self) -> None:
        """Close the files."""
        for file in self.files:
            file.close()

    def fit(self, learner: Any, numbers: Sequence[int], cluster: Cluster | None = None) -> None:
        """Fit a learner to the rows of some files."""
        chosen, files = list(numbers), [self.files[number] for number in numbers]
        sums, present = (each[chosen].sum(axis=0) for each in (self._sums, self._present))
        fit_to_files(learner, files, self.classes, sums, present, cluster)

    def count_errors(self, learner: Any, *numbers: int) -> ErrorCount:
        """Return the errors on the rows of some files, and those of the baseline."""
        rows = mistakes = others = 0
        usual = int(np.argmax([self._table.trained[text] for text in self._codes]))
        for number in numbers:
            for X, codes, _ in self.files[number].parts():
                scores = self._scores(learner, X)
                binary = scores.ndim == 1
                predicted = scores > learner.threshold_ if binary else scores.argmax(axis=1)
                rows, mistakes = rows + len(codes), mistakes + int((predicted != codes).sum())
                others += int((codes != usual).sum())
        return ErrorCount.counted(rows, mistakes, others / max(1, rows))

    def errors(self, learner: Any) -> dict[str, ErrorCount]:
        """Return the errors on training and test rows."""
        with console.working("counting errors"):
            found = {"training": self.count_errors(learner, TRAINING, APART)}
            if self.files[TEST].count:
                found["test"] = self.count_errors(learner, TEST)
        return found

    def answers(self, learner: Any, number: int) -> Answers:
        """Return all answers for the rows of a file, whose classes are known."""
        parts = [(codes, self._scores(learner, X)) for X, codes, _ in self.files[number].parts()]
        codes, scores = (np.concatenate(each) for each in zip(*parts, strict=True))
        if learner.has_probabilities:
            p = learner.probabilities_of(scores)
        else:
            p = calibrated_in_fold(scores, codes, np.arange(len(self.classes)))
        return answers(self.classes, self.classes[codes], learner.labels_of(scores), scores, p)

    def _scores(self, learner: Any, X: Any) -> Array:
        """Return scores; where one is not finite, read the table again to name its row."""
        try:
            return np.asarray(learner.decision_function(X))
        except NotFinite as error:
            whole = Pipeline([*self._preparation.estimator.steps[:-1], ("learner", learner)])
            for part in self._table.parts():
                scoring.scores_of(whole, part)
            raise BadData(f"{self._table.name}: {error}") from error

    def known(self, everything: bool = False) -> Known:
        """Return the training rows, or all rows, as what a model was trained on."""
        counts = self._table.labels.counts if everything else self._table.trained
        texts = zip(self.classes.tolist(), self._codes, strict=True)
        classes, learned = {str(label): counts[text] for label, text in texts}, counts.total()
        if self._hashes is None:
            console.say(
                "the model file keeps no hashes of so many rows: "
                "`run` cannot tell training rows from others"
            )
            return Known(classes, learned, None)
        hashes, test = (np.concatenate(each) for each in zip(*self._hashes, strict=True))
        own = hashes if everything else hashes[~test]
        return Known(classes, learned, own, fingerprint(hashes))
