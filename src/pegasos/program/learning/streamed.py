"""A table that does not fit into memory: its rows in parts, and a first pass over them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.engine.rows.plan import budget_bytes
from pegasos.program.datasets import USUAL_TEST_SIZE, read_options
from pegasos.program.tables.accumulators import (
    LabelCounts,
    Sample,
    explaining_columns,
    rows_within,
    widened,
)
from pegasos.program.tables.columns import gap_notes
from pegasos.program.tables.dataset import (
    NUMBER,
    TEXT,
    Array,
    BadData,
    Column,
    Dataset,
    Outline,
    check_sizes,
)
from pegasos.program.tables.labels import (
    checked_weights,
    label_texts,
    rare_classes,
    unlabelled_note,
)
from pegasos.program.tables.messages import listed, shown, size
from pegasos.program.tables.reading import stream
from pegasos.program.terminal import console
from pegasos.program.terminal.options import ReadingOptions, RunningOptions

#: Size of the training rows to which the steps before a learner are fitted; the sample of an
#: ordinary table has 400,000 rows and more, which gives a std to 0.2 %.
SAMPLE_BYTES = 32 * 10**6
#: The share of the memory for other samples, of which twice as many rows are held meanwhile.
_SAMPLE_SHARE = 1 / 8
#: Test rows by which a model of the sample is judged: the std of an error of 10 % is 0.2 points.
JUDGED_ROWS = 20_000
#: Distinct categories in all columns together: each becomes a column of its own.
MOST_CATEGORIES = 10_000


class StreamedTable:
    """A table that is read in parts, the outline of its first rows, and counts of all rows.

    Beside the rows of a sample are the texts of their labels, and their weights if there are any.
    """

    def __init__(
        self, data: str, reading: ReadingOptions, running: RunningOptions, outline: Outline
    ) -> None:
        self.name, self.reading, self.running, self.outline = data, reading, running, outline
        self.budget, self.label = budget_bytes(running.memory), outline.label
        given = running.test_size
        self.test_share: float | None = USUAL_TEST_SIZE if given is None else given
        #: The features, in the end those with a value in any row, and whether some need a frame.
        self.columns, self.frame = outline.columns, not outline.sparse
        #: Rows; those that are not set aside; those left out because they have no label.
        self.rows = self.training_rows = self.unlabelled = 0
        #: All rows and training rows of each class, and missing values of each column.
        self.labels, self.trained, self.gaps = LabelCounts(), Counter[str](), Counter[str]()
        #: Sorted labels of training rows: whole numbers if all labels are, else their texts.
        self.classes: Array = np.array([])
        #: Of sparse rows: the least index of a column, at most 1, and the width.
        self._lowest, self._width = 1, 0
        self._categories = defaultdict[str, set[str]](set)
        self._training_sample = Sample(running.seed, rows_within(SAMPLE_BYTES, outline.columns))
        self._test_sample = Sample(running.seed, self.room(JUDGED_ROWS))

    @property
    def about(self) -> str:
        """The sizes of the table and the memory, in words."""
        needed, allowed = size(self.outline.bytes), size(self.budget)
        return f"{self.name} takes about {needed} in memory, more than the limit of {allowed}"

    def draw(self) -> Callable[[int], Array]:
        """Return a function that draws which of the next rows of a pass are set aside."""
        random, share = np.random.default_rng(self.running.seed), self.test_share or 0.0
        return lambda count: random.random(count) < share

    def parts(self) -> Iterator[Dataset]:
        """Yield all rows with the columns of the features, and with weights if there are any."""
        weight = self.outline.weight
        wanted = self.columns if weight is None else [*self.columns, Column(weight, NUMBER)]
        label = None if self.outline.sparse else self.label
        options = read_options(self.reading, self.running.memory, labelled=False)
        options = replace(options, label=label)
        chunk = int(min(8 * 2**20, max(2**12, self.budget // 32)))
        given: dict[str, Any] = {"frame": self.frame, "chunk": chunk, "labelled": True}
        for part in stream(self.name, wanted, options, **given):
            if weight is not None:
                assert part.where is not None
                last = np.asarray(part.X[:, -1])
                some = np.append(last, 1.0)  # a part may hold nothing but zeros
                weights = checked_weights(some, weight, self.name, part.where)
                part = replace(part, X=part.X[:, :-1], weights=weights[:-1])
            yield part

    def read(self) -> None:
        """Pass over all rows, choose columns, refuse what cannot be learned, and print notes."""
        for note in self.outline.notes:
            console.say(note)
        draw, strict, label = self.draw(), self.reading.strict, self.label or "y"
        column, about = f"{self.name}: column {shown(label)}", f"first pass over {self.name}"
        with explaining_columns(self._training_sample, self.columns):
            with console.working(about, "rows") as progress:
                for part in progress.counting(self.parts()):
                    self._see(part, draw(len(part)))
            whole = self.rows + self.unlabelled
            notes = unlabelled_note(self.unlabelled, whole, label, self.name, strict)
            if not self.rows:
                raise BadData(f"{self.name} has no rows.")
            self.labels.check(self.rows, column)
            if len(self.trained) < 2:
                only = f"only {shown(next(iter(self.trained), ''))}"
                raise BadData(
                    f"{column} holds {only} among the {self.training_rows} training rows; "
                    "two classes are needed."
                )
        is_whole = self.labels.kinds == {"i"}
        self.classes = np.sort(np.array(list(self.trained)).astype(int if is_whole else str))
        for note in notes + self._choose_columns() + rare_classes(self.labels.counts):
            console.say(note)

    def _see(self, part: Dataset, test: Array) -> None:
        if part.y is None:
            raise BadData(f"{part.name}: rows from number {self.rows + 1} on have no label.")
        check_sizes(part)
        if self.outline.sparse:
            self._lowest = min(self._lowest, int(part.X.indices.min(initial=1)))
            self._width = max(self._width, part.X.shape[1])
        else:
            for column, values in zip(self.columns, part.X.get_columns(), strict=True):
                self.gaps[column.name] += values.null_count()
                if column.kind == TEXT:
                    self._see_words(column.name, values.drop_nulls().unique().to_list())
        texts = self.labels.see(part.y, self.name)
        self.trained.update(texts[~test].tolist())
        beside = [texts] if part.weights is None else [texts, part.weights]
        self._training_sample.see(part.X, ~test, *beside)
        self._test_sample.see(part.X, test, *beside)
        self.unlabelled += part.unlabelled
        self.rows, self.training_rows = self.rows + len(part), self._training_sample.seen

    def _see_words(self, name: str, words: list[str]) -> None:
        self._categories[name].update(words)
        if sum(map(len, self._categories.values())) > MOST_CATEGORIES:
            raise BadData(
                f"{self.name}: more than {MOST_CATEGORIES} different categories with column "
                f"{shown(name)}, and each becomes a column; leave such columns out with --drop."
            )

    def _choose_columns(self) -> list[str]:
        """Keep columns that have a value; return notes. --strict refuses missing values."""
        if self.outline.sparse:
            self.columns = [Column(f"x{place}") for place in range(self._lowest, self._width)]
        empty = [each.name for each in self.columns if self.gaps[each.name] == self.rows]
        self.columns = [each for each in self.columns if each.name not in empty]
        if not self.columns:
            raise BadData(f"{self.name}: no feature has a value in any row.")
        self.frame = any(each.kind == TEXT or self.gaps[each.name] for each in self.columns)
        words = [each.name for each in self.columns if each.kind == TEXT]
        names = [each.name for each in self.columns if each.kind != TEXT]
        gaps = {name: self.gaps[name] for name in names if self.gaps[name]}
        notes = [f"empty columns are excluded: {listed(empty)}"] if empty else []
        notes += gap_notes(gaps, words, self.name, self.reading.strict)
        if not self._training_sample.whole:
            most = self._training_sample.most
            notes.append(f"scales, medians and categories come from a sample of {most} rows")
        aside = f"{self.rows} rows, {self.rows - self.training_rows} of them set aside"
        sizes = f"{aside}, {len(self.columns)} features, {len(self.trained)} classes"
        return [*notes, f"{self.name}: {sizes}"]

    def room(self, most: int) -> int:
        """Return how many rows memory allows for a sample, at most `most`."""
        return min(most, rows_within(_SAMPLE_SHARE * self.budget, self.outline.columns))

    def sample(self, most: float = math.inf) -> tuple[Dataset, Array]:
        """Return at most `most` training rows, and their positions."""
        return self._rows(self._training_sample, most)

    def _rows(self, sample: Sample, most: float = math.inf) -> tuple[Dataset, Array]:
        X, places, texts, *weights = sample.rows(most)
        if self.outline.sparse:
            X = widened(X, self._width)[:, self._lowest :]
        else:
            X = X.select(column.name for column in self.columns)
            X = X if self.frame else X.to_numpy(order="c", writable=True)
        classes = self.classes.tolist()
        known = dict(zip(label_texts(classes).tolist(), classes, strict=True))
        y = np.array([known.get(text, text) for text in texts.tolist()])
        name, own = f"{self.name} ({len(places)} rows of it)", weights[0] if weights else None
        return Dataset(name, X, self.columns, y, self.label, weights=own), places
