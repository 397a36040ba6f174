"""A table that does not fit into memory: its rows in parts, and a first pass over them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from pegasos.engine.rows.plan import budget_bytes
from pegasos.program.datasets import USUAL_TEST_SIZE, read_options
from pegasos.program.tables.dataset import NUMBER, TEXT, Array, Column, Dataset
from pegasos.program.tables.gaps import gap_notes
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
from pegasos.program.tables.survey import Survey
from pegasos.program.terminal import console
from pegasos.program.terminal.options import ReadingOptions, RunningOptions

#: Size of the training rows to which the steps before a learner are fitted; the sample of an
#: ordinary table has 400,000 rows and more, which gives a std to 0.2 %.
SAMPLE_BYTES = 32 * 10**6
#: The share of the memory for other samples, of which twice as many rows are held meanwhile.
_SAMPLE_SHARE = 1 / 8
#: Test rows by which a model of the sample is judged: the std of an error of 10 % is 0.2 points.
JUDGED_ROWS = 20_000


class StreamedTable:
    """A table that is read in parts, and the outline that its first rows give."""

    def __init__(
        self, data: str, reading: ReadingOptions, running: RunningOptions, outline: Outline
    ) -> None:
        self.name, self.reading, self.running, self.outline = data, reading, running, outline
        self.budget = budget_bytes(running.memory)
        self.share = USUAL_TEST_SIZE if running.test_size is None else running.test_size
        self.label = outline.label

    @property
    def about(self) -> str:
        """The sizes of the table and the memory, in words."""
        needed, allowed = size(self.outline.bytes), size(self.budget)
        return f"{self.name} takes about {needed} in memory, and {allowed} are allowed"

    def draw(self) -> Draw:
        """Return the draw of test rows; each pass begins a new one, which is equal."""
        return Draw(self.running.seed, self.share)

    def parts(self, columns: list[Column], frame: bool) -> Iterator[Dataset]:
        """Yield all rows with these columns, and with weights if one column holds them."""
        weight = self.outline.weight
        wanted = columns if weight is None else [*columns, Column(weight, NUMBER)]
        label = None if self.outline.sparse else self.label
        options = read_options(self.reading, self.running.memory, labelled=False)
        options = replace(options, label=label)
        chunk = int(min(8 * 2**20, max(2**12, self.budget // 32)))
        for part in stream(self.name, wanted, options, frame=frame, chunk=chunk, labelled=True):
            if weight is not None:
                last = np.asarray(part.X[:, -1])
                some = np.append(last, 1.0)  # a part may hold nothing but zeros
                assert part.where is not None
                weights = checked_weights(some, weight, self.name, part.where)
                part = replace(part, X=part.X[:, :-1], weights=weights[:-1])
            yield part

    def feature_parts(self) -> Iterator[Dataset]:
        """Yield all rows with the columns that hold anything."""
        yield from self.parts(self.found.features, self.found.needs_frame)

    @cached_property
    def found(self) -> Survey:
        """Result of a first pass over all rows, which prints notes."""
        for note in self.outline.notes:
            console.say(note)
        columns, seed = self.outline.columns, self.running.seed
        training = Sample(seed, rows_within(SAMPLE_BYTES, columns))
        test = Sample(seed, self._room(JUDGED_ROWS))
        found = Survey(self.name, self.label or "y", columns, training, test)
        with console.working(f"first pass over {self.name}", "rows") as progress:
            parts = progress.counting(self.parts(columns, not self.outline.sparse))
            found.read(parts, self.draw())
        self._say_notes(found)
        return found

    def _room(self, most: int) -> int:
        return min(most, rows_within(_SAMPLE_SHARE * self.budget, self.outline.columns))

    @cached_property
    def sample(self) -> Dataset:
        """Training rows to which the steps before a learner are fitted."""
        return self._read(self.found.sample)[0]

    def small_sample(self, most: int) -> tuple[Dataset, Array]:
        """Return at most `most` training rows as memory allows, and their positions."""
        return self._read(self.found.sample, self._room(most))

    @property
    def sampled_test_rows(self) -> Dataset | None:
        """Some test rows; their labels are texts if training rows lack them."""
        return self._read(self.found.test_sample)[0] if self.found.test_sample.seen else None

    def _read(self, sample: Sample, most: float = math.inf) -> tuple[Dataset, Array]:
        X, places, texts, *weights = sample.rows(most)
        classes = self.found.classes.tolist()
        known = dict(zip(label_texts(classes).tolist(), classes, strict=True))
        y = np.array([known.get(text, text) for text in texts.tolist()])
        rows = Dataset(
            f"{self.name} ({len(places)} rows of it)",
            self.found.select(X),
            self.found.features,
            y,
            self.label,
            weights=weights[0] if weights else None,
        )
        return rows, places

    def _say_notes(self, found: Survey) -> None:
        """Print what was found; with --strict gaps are errors."""
        whole, strict = found.rows + found.unlabelled, self.reading.strict
        words = [column.name for column in found.features if column.kind == TEXT]
        numbers = [column.name for column in found.features if column.kind != TEXT]
        gaps = {name: found.gaps[name] for name in numbers if found.gaps[name]}
        notes = unlabelled_note(found.unlabelled, whole, found.label, self.name, strict)
        if found.empty:
            notes.append(f"columns without any value are left out: {listed(found.empty)}")
        notes += gap_notes(gaps, words, self.name, strict)
        if not found.sample.whole:
            count = found.sample.most
            notes.append(f"scales, medians and categories come from a sample of {count} rows")
        notes += rare_classes(found.labels.counts)
        counts = f"{found.rows} rows, {found.rows - found.training} of them set aside"
        width, classes = len(found.features), len(found.trained)
        for note in [*notes, f"{self.name}: {counts}, {width} features, {classes} classes"]:
            console.say(note)
