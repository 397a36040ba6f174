"""A table that does not fit into memory, as train, tune and describe read it: in parts, after one look at all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pegasos.engine.rows.plan import budget_bytes
from pegasos.program.datasets import USUAL_TEST_SIZE, read_options
from pegasos.program.tables.column_tables import told_gaps
from pegasos.program.tables.dataset import NUMBER, TEXT, BadData, Column, Dataset, is_frame
from pegasos.program.tables.labels import (
    checked_weights,
    label_texts,
    rare_classes,
    unlabelled_note,
)
from pegasos.program.tables.messages import listed, size
from pegasos.program.tables.read_options import Outline
from pegasos.program.tables.reading import stream
from pegasos.program.tables.sampling import Draw, Sample, rows_within
from pegasos.program.tables.survey import Survey, survey
from pegasos.program.terminal import console
from pegasos.program.terminal.options import LearningOptions, ReadingOptions, RunningOptions

Array = np.ndarray[Any, Any]

#: The share of the memory for a sample, of which twice is held meanwhile.
_SAMPLE_SHARE = 1 / 8


@dataclass(frozen=True)
class LargeTable:
    """Where the rows are, how they are read, and what the first of them told."""

    data: str
    reading: ReadingOptions
    running: RunningOptions
    outline: Outline

    @property
    def budget(self) -> int:
        return budget_bytes(self.running.memory)

    @property
    def share(self) -> float:
        return USUAL_TEST_SIZE if self.running.test_size is None else self.running.test_size

    @property
    def label(self) -> str:
        return self.outline.label or "y"

    @property
    def about(self) -> str:
        return f"{self.data} takes about {size(self.outline.bytes)} in memory, and {size(self.budget)} are allowed"

    def draw(self) -> Draw:
        return Draw(self.running.seed, self.share)

    def check(self, learning: LearningOptions) -> None:
        """Refuse what needs all rows at once, with the way out."""
        ways = "Give it more --memory, or some of its files by a pattern"
        if learning.drop_outliers is not None:
            raise BadData(f"{self.about}: --drop-outliers needs all rows at once. {ways}.")
        if learning.scale == "robust":
            raise BadData(f"{self.about}: --scale robust needs all rows at once. {ways}.")
        if self.outline.group is not None:
            raise BadData(f"{self.about}: --group needs all rows at once. {ways}.")

    def parts(self, columns: list[Column], frame: bool, weighed: bool = True) -> Iterator[Dataset]:
        """The rows with these columns, and behind them the weight if there is one and it is wanted."""
        weight = (
            [Column(self.outline.weight, NUMBER)]
            if weighed and self.outline.weight is not None
            else []
        )
        label = None if self.outline.sparse else self.outline.label
        options = replace(
            read_options(self.reading, self.running.memory, labelled=False), label=label
        )
        chunk = int(min(8 * 2**20, max(2**12, self.budget // 32)))
        yield from stream(
            self.data, [*columns, *weight], options, frame=frame, chunk=chunk, labelled=True
        )

    def sample(self, most: int | None = None) -> Sample:
        """A sample that will hold as many training rows as the memory allows, and at most so many."""
        room = rows_within(_SAMPLE_SHARE * self.budget, self.outline.columns)
        return Sample(self.running.seed, room if most is None else min(most, room))

    def look(self, sample: Sample | None = None, others: Sample | None = None) -> Survey:
        """The first pass over all rows; tells what a person should know of them.

        Training rows go into the sample, test rows into that of the others.
        """
        for note in self.outline.notes:
            console.say(note)
        columns, dense = self.outline.columns, not self.outline.sparse
        found = Survey(self.data, columns)

        def keep(part: Dataset, test: Array) -> None:
            if sample is not None:
                sample.see(part.X, ~test, label_texts(part.labels))
            if others is not None:
                others.see(part.X, test, label_texts(part.labels))

        with console.working(f"first pass over {self.data}", "rows") as progress:
            survey(
                found, progress.counting(self.parts(columns, dense)), self.draw(), self.label, keep
            )
        self._tell(found)
        return found

    def sampled(self, found: Survey, sample: Sample) -> tuple[Dataset, Array]:
        """The rows of a sample as they would be read, and their numbers in the table."""
        X, places, texts = sample.rows()
        X, weights = self._features(found, X)
        classes = found.classes
        known = label_texts(classes)
        order = np.argsort(known)
        y = classes[order[np.searchsorted(known, texts, sorter=order)]]
        name = f"{self.data} ({len(places)} rows of it)"
        return Dataset(name, X, found.features, y, self.outline.label, weights=weights), places

    def sampled_texts(self, found: Survey, sample: Sample) -> tuple[Any, Array]:
        """The same rows without their weights, and the texts of their labels, which training rows need not have."""
        X, _, texts = sample.rows()
        return self._features(found, X)[0], texts

    def _features(self, found: Survey, X: Any) -> tuple[Any, Array | None]:
        """The features that a pipeline gets of rows of a sample, and the weights of these rows."""
        X, weights = self.weighed(X, None)
        if found.sparse:
            return found.aligned(X), weights
        X = X.select(column.name for column in found.features)
        return X if found.needs_frame else X.to_numpy(order="c", writable=True), weights

    def weighed(self, X: Any, seen: int | None) -> tuple[Any, Array | None]:
        """Features and weights, which stand behind them; `seen`: rows before these, for messages."""
        name = self.outline.weight
        if name is None:
            return X, None
        values = X[:, -1].to_numpy() if is_frame(X) else X[:, -1]
        some = np.append(values, 1.0)  # a chunk may hold nothing but zeros
        weights = checked_weights(
            some, name, self.data, lambda row: f"row {(seen or 0) + row + 1}"
        )[:-1]
        return X[:, :-1], weights

    def _tell(self, found: Survey) -> None:
        """With --strict some of it is an error."""
        whole, strict = found.rows + found.unlabelled, self.reading.strict
        for note in unlabelled_note(found.unlabelled, whole, self.label, self.data, strict):
            console.say(note)
        if found.empty:
            console.say(f"columns without any value are left out: {listed(found.empty)}")
        kinds = {column.name: column.kind for column in found.features}
        counts = found.gaps
        gaps = {name: counts[name] for name, kind in kinds.items() if kind != TEXT and counts[name]}
        words = [name for name, kind in kinds.items() if kind == TEXT]
        for note in told_gaps(gaps, words, self.data, self.reading.strict):
            console.say(note)
        if gaps and not found.exact_medians:
            console.say("medians come from a sample of the training rows")
        for question in rare_classes(found.labels.counts):
            console.say(question)
        test = found.rows - found.training
        classes = f"{len(found.trained)} classes"
        console.say(
            f"{self.data}: {found.rows} rows, {test} of them set aside, {len(found.features)} features, {classes}"
        )
