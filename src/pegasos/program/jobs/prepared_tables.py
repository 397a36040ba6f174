"""Rows of a table beyond memory through the steps of a pipeline into files, for fits in passes; and the model they give."""

from __future__ import annotations

import contextlib
import datetime
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from pegasos.learners.one_vs_all import NotFinite
from pegasos.metrics import Answers, answers
from pegasos.program import scoring
from pegasos.program.jobs.large_tables import LargeTable
from pegasos.program.large.prepared import PreparedRows, SparseRows, needed_bytes, workplace
from pegasos.program.large.word_steps import word_steps
from pegasos.program.modelfile import save
from pegasos.program.records.codec import to_json
from pegasos.program.records.models import CardData, CardSplit, ModelCard
from pegasos.program.records.runs import ErrorCount
from pegasos.program.saved_models import fingerprint
from pegasos.program.tables.dataset import BadData, Dataset, take
from pegasos.program.tables.labels import label_texts
from pegasos.program.tables.messages import plain, size
from pegasos.program.tables.row_hashes import hash_rows
from pegasos.program.tables.survey import Survey
from pegasos.program.terminal import console
from pegasos.search.results import calibrated_in_fold

Array = np.ndarray[Any, Any]

#: Bytes that the hash of a row takes while hashes are sorted, written and checked; where they do not fit, none are kept.
_HASH_BYTES = 64
#: The share of the memory that rows take on their way through the steps.
_STEP_SHARE = 1 / 16


class PreparedTable:
    """The second pass: rows through the fitted steps into files, and what is counted on the way.

    A file for each kind of rows: the training rows, perhaps some of them apart, by which fits are compared, and the test rows.
    """

    def __init__(
        self,
        table: LargeTable,
        found: Survey,
        estimator: Any,
        folder: Path,
        width: int,
        compared: float = 0.0,
    ) -> None:
        self.table, self.found, self.estimator = table, found, estimator
        self.classes, self._compared = found.classes, compared
        thin = word_steps(estimator.steps[:-1], width)
        self.steps = Pipeline(estimator.steps[:-1]) if thin is None else thin
        kind = PreparedRows if stored_numbers(found, estimator, width) is None else SparseRows
        self.train, self.compare, self.test = (
            kind(folder, name, width) for name in ("training", "comparison", "test")
        )
        self.files = (self.train, self.compare, self.test)
        self.texts = label_texts(self.classes)
        counts = np.array([found.trained[text] for text in self.texts], dtype=np.float64)
        #: The code of the class that most training rows have.
        self.usual = int(counts.argmax())
        #: Of each file and class: the sum of sample weights, and the number of rows where it is above 0.
        self.sums = np.zeros((3, len(self.classes)))
        self.present = np.zeros((3, len(self.classes)), dtype=np.int64)
        #: Hashes of all rows and which of them are training rows, as long as they fit.
        self.hashes: list[Array] | None = [] if _HASH_BYTES * found.rows <= table.budget else None
        self._tests: list[Array] = []

    def write(self) -> None:
        """Read all rows once more."""
        draw, features, frame = self.table.draw(), self.found.features, self.found.needs_frame
        apart = np.random.default_rng([self.table.running.seed, 2])
        stored = stored_numbers(self.found, self.estimator, self.train.width)
        each = (
            self.train.width
            if stored is None or self.found.sparse
            else 4 * stored // self.found.rows
        )
        seen, step = 0, max(64, int(_STEP_SHARE * self.table.budget) // (8 * each))
        with console.working(
            f"second pass over {self.table.data}: preparing rows", "rows", self.found.rows
        ) as progress:
            for part in progress.counting(self.table.parts(features, frame)):
                test = draw.test(len(part))
                kinds = np.where(test, 2, apart.random(len(part)) < self._compared)
                X, weights = self.table.weighed(part.X, seen)
                weights = np.ones(len(part)) if weights is None else weights
                part, texts = replace(part, X=X), label_texts(part.labels)
                for start in range(0, len(part), step):
                    some = np.arange(start, min(start + step, len(part)))
                    self._add(take(part, some), texts[some], weights[some], kinds[some])
                if self.hashes is not None:
                    self.hashes.append(hash_rows(X, part.y))
                    self._tests.append(test)
                seen += len(part)
        self.close()
        if seen != self.found.rows:
            raise BadData(
                f"{self.table.data} changed while it was read: {self.found.rows} rows at first, then {seen}."
            )
        if not self.sums[:2].sum() > 0.0:
            raise BadData(f"{self.table.data}: all weights are 0.")

    def _add(self, part: Dataset, texts: Array, weights: Array, kinds: Array) -> None:
        known = {text: code for code, text in enumerate(self.texts.tolist())}
        codes = np.array(
            [known.get(text, -1) for text in texts.tolist()], dtype=np.int64
        )  # -1: only test rows have it
        rows = scoring.prepared(self.steps, part)
        weights = np.where(codes < 0, 0.0, weights)  # a class without a predictor is not learned
        for number, file in enumerate(self.files):
            own = kinds == number
            file.add(rows[own], codes[own], weights[own])
            there = own & (codes >= 0)
            self.sums[number] += np.bincount(
                codes[there], weights[there], minlength=len(self.classes)
            )
            self.present[number] += np.bincount(
                codes[there & (weights > 0)], minlength=len(self.classes)
            )

    def close(self) -> None:
        for file in self.files:
            file.close()

    def scores(self, learner: Any, X: Any) -> Array:
        """Scores of prepared rows; where one has none the table is read once more, to tell which row of which file it is."""
        try:
            return np.asarray(learner.decision_function(X))
        except NotFinite as error:
            whole = Pipeline([*self.estimator.steps[:-1], ("learner", learner)])
            for part in self.table.parts(self.found.features, self.found.needs_frame):
                scoring.scores_of(whole, replace(part, X=self.table.weighed(part.X, None)[0]))
            raise BadData(f"{self.table.data}: {error}") from error

    def learned(self, *numbers: int) -> tuple[Sequence[PreparedRows], Array, Array, Array]:
        """What a fit to some of the files needs."""
        files = [self.files[number] for number in numbers]
        return (
            files,
            self.classes,
            self.sums[list(numbers)].sum(axis=0),
            self.present[list(numbers)].sum(axis=0),
        )

    def known(self, everything: bool = False) -> Known:
        """The training rows, or everything, as what a model knows."""
        classes = self.found.labels.counts if everything else self.found.trained
        if self.hashes is None:
            console.say(
                "the model file keeps no hashes of so many rows: `run` cannot tell training rows from others"
            )
            return Known(classes, None)
        hashes = np.concatenate(self.hashes)
        return Known(
            classes,
            hashes if everything else hashes[~np.concatenate(self._tests)],
            fingerprint(hashes),
        )


@contextlib.contextmanager
def prepared(
    table: LargeTable, found: Survey, estimator: Any, width: int, compared: float = 0.0
) -> Iterator[PreparedTable]:
    """All rows through the steps of the estimator, in temporary files that go whatever happens."""
    needed = needed_bytes(found.rows, width, stored_numbers(found, estimator, width))
    with workplace(needed) as folder:
        console.say(
            f"prepared rows: {size(needed)} as float32 in {plain(folder)}, removed at the end"
        )
        with contextlib.closing(
            PreparedTable(table, found, estimator, folder, width, compared)
        ) as rows:
            rows.write()
            yield rows


def stored_numbers(found: Survey, estimator: Any, width: int) -> int | None:
    """How many numbers of all prepared rows are stored where they are sparse; None where each has as many as features."""
    if found.sparse:
        return None if "nystroem" in dict(estimator.steps) else found.stored
    thin = word_steps(estimator.steps[:-1], width)
    return None if thin is None else found.rows * thin.stored


def count_errors(
    table: PreparedTable, learner: Any, **kinds: Sequence[PreparedRows]
) -> dict[str, ErrorCount]:
    """Errors on rows in files, in as little memory, beside those of always guessing what most training rows are."""
    found = {}
    for name, files in kinds.items():
        rows = mistakes = others = 0
        for X, codes, _ in (part for file in files for part in file.parts()):
            scores = table.scores(learner, X)
            said = (
                (scores > learner.threshold_).astype(np.int64)
                if scores.ndim == 1
                else scores.argmax(axis=1)
            )
            rows, mistakes = rows + len(codes), mistakes + int((said != codes).sum())
            others += int((codes != table.usual).sum())
        if rows:
            found[name] = ErrorCount.counted(rows, mistakes, others / rows)
    return found


def answers_of(table: PreparedTable, learner: Any, file: PreparedRows) -> Answers:
    """What a linear model says about all rows of a file, a few numbers each; their classes are known to it."""
    parts = [(codes, table.scores(learner, X)) for X, codes, _ in file.parts()]
    codes, scores = (np.concatenate(each) for each in zip(*parts, strict=True))
    everyone = np.arange(len(table.classes))
    p = (
        learner.probabilities_of(scores)
        if learner.has_probabilities
        else calibrated_in_fold(scores, codes, everyone)
    )
    return answers(table.classes, table.classes[codes], learner.labels_of(scores), scores, p)


@dataclass(frozen=True)
class Known:
    """The rows that a model knows: how many of each class, hashes of them if there was room, and one text for the whole table."""

    classes: Counter[str]
    hashes: Array | None
    mark: str = "not kept"

    @property
    def rows(self) -> int:
        return self.classes.total()


def save_large(
    path: str, table: LargeTable, found: Survey, estimator: Any, known: Known, **more: Any
) -> None:
    """A model file with its card."""
    test, kind = (
        found.rows - found.training,
        "random, row by row" if table.share else "none set aside",
    )
    texts = label_texts(found.classes).tolist()
    card = ModelCard(
        columns=found.features,
        frame=found.needs_frame,
        label=table.outline.label,
        data=CardData(table.data, found.rows, known.mark),
        classes={
            str(label): known.classes[text]
            for label, text in zip(found.classes, texts, strict=True)
        },
        split=CardSplit(kind, table.running.seed, table.share, found.training, test, known.rows),
        **more,
        command=console.command_line(),
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    save(estimator, path, card=to_json(card), rows=known.hashes)
