"""One pass over all rows of a table: counts, means, deviations, words and labels, all that a preparation needs to know."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pegasos.program.tables.dataset import (
    TEXT,
    BadData,
    Column,
    Dataset,
    NotClasses,
    NotNumber,
    is_pixel_range,
)
from pegasos.program.tables.labels import (
    check_classes,
    label_texts,
    plausible_labels,
    unlabelled_note,
)
from pegasos.program.tables.messages import shown
from pegasos.program.tables.sizes import check_sizes

Array = np.ndarray[Any, Any]

#: Numbers of the rows from which medians come: all of them, or every second, fourth ... row.
SAMPLE_NUMBERS = 4_000_000
#: Different words in all columns together: each becomes a column of its own.
MOST_WORDS = 10_000
#: More labels than this are no classes in any table.
MOST_LABELS = 10_000


class Draw:
    """Which rows are set aside: each by itself with the same chance, from the seed and its number in the table alone."""

    def __init__(self, seed: int, share: float) -> None:
        self._random, self._share = np.random.default_rng(seed), share

    def test(self, count: int) -> Array:
        """Whether each of the next rows is set aside."""
        return self._random.random(count) < self._share


@dataclass
class Numbers:
    """A column of numbers in training rows: how many are there, their mean, squared deviations, and the ends."""

    present: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = np.inf
    high: float = -np.inf
    #: Whether all numbers are whole.
    whole: bool = True

    def add(self, count: int, mean: float, squares: float) -> None:
        """Some more numbers, by their own mean and squared deviations from it (Chan, Golub and LeVeque 1983)."""
        if count:
            total, away = self.present + count, mean - self.mean
            self.squares += squares + away * away * self.present * count / total
            self.mean += away * count / total
            self.present = total

    def see(self, values: Array) -> None:
        if len(values):
            mean = float(values.mean())
            self.add(len(values), mean, float(np.square(values - mean).sum()))
            self.low, self.high = (
                min(self.low, float(values.min())),
                max(self.high, float(values.max())),
            )
            self.whole = self.whole and bool((values == np.rint(values)).all())


def are_pixels(columns: list[Numbers]) -> bool:
    """Return whether columns without gaps are whole numbers in the range of pixels."""
    if not columns or not all(column.whole for column in columns):
        return False
    low, high = min(each.low for each in columns), max(each.high for each in columns)
    return is_pixel_range(len(columns), low, high)


@dataclass
class LabelCounts:
    """The labels of all rows: how many of each, and of which kinds."""

    counts: Counter[str] = field(default_factory=Counter)
    kinds: set[str] = field(default_factory=set)

    def see(self, y: Array, file: str) -> Array:
        """Some more labels; answers their texts."""
        texts = label_texts(y)
        self.kinds.add(y.dtype.kind)
        _count(self.counts, texts)
        if len(self.counts) > MOST_LABELS:
            raise NotClasses(
                f"{file}: more than {MOST_LABELS} different labels; use --label to name the column of classes."
            )
        return texts

    def check(self, rows: int, column: str) -> None:
        """Refuse labels that are no classes; `column` names file and column."""
        check_classes(
            "f" in self.kinds and self.kinds <= {"f", "i"}, len(self.counts), rows, column
        )


def _count(counter: Counter[str], texts: Array) -> None:
    counter.update(
        dict(zip(*(each.tolist() for each in np.unique(texts, return_counts=True)), strict=True))
    )


@dataclass
class Survey:
    """What all rows together say. `columns` are the features; statistics are of training rows, `gaps` and `labels` of all."""

    #: Whether rows are sparse.
    sparse = False

    file: str
    columns: list[Column]
    rows: int = 0
    training: int = 0
    #: Rows that were left out because they have no label.
    unlabelled: int = 0
    labels: LabelCounts = field(default_factory=LabelCounts)
    trained: Counter[str] = field(default_factory=Counter)
    gaps: Counter[str] = field(default_factory=Counter)
    numbers: dict[str, Numbers] = field(default_factory=dict)
    #: Words of training rows and how often each is there; None is a gap.
    words: dict[str, Counter[str | None]] = field(default_factory=dict)
    #: Columns without any value.
    empty: list[str] = field(default_factory=list)
    _sample: list[Array] = field(default_factory=list)
    _stride: int = 1

    def see(self, part: Dataset, test: Array) -> None:
        """Some rows, and which of them are set aside."""
        if part.y is None:
            raise BadData(f"{part.name}: rows from number {self.rows + 1} on have no label.")
        self.unlabelled += part.unlabelled
        check_sizes(part)
        self._see_features(part, test)
        _count(self.trained, self.labels.see(part.y, self.file)[~test])
        self.rows, self.training = self.rows + len(part), self.training + int((~test).sum())

    def _see_features(self, part: Dataset, test: Array) -> None:
        values = []
        for column, series in zip(self.columns, part.X.get_columns(), strict=False):
            self.gaps[column.name] += series.null_count()
            if column.kind == TEXT:
                counts = self.words.setdefault(column.name, Counter())
                counts.update(dict(series.filter(~test).value_counts().iter_rows()))
                self._check_words(column.name)
            else:
                values.append(series.to_numpy().astype(np.float64))  # null becomes NaN
                own = values[-1][~test]
                self.numbers.setdefault(column.name, Numbers()).see(own[~np.isnan(own)])
        if values:
            self._keep(np.column_stack(values)[~test])

    def _check_words(self, name: str) -> None:
        if sum(map(len, self.words.values())) > MOST_WORDS:
            what = f"more than {MOST_WORDS} different words with column {shown(name)}, and each becomes a column"
            raise BadData(f"{self.file}: {what}; leave such columns out with --drop.")

    def _keep(self, values: Array) -> None:
        """Rows for medians: every stride-th training row; the stride doubles whenever there are too many."""
        self._sample.append(
            values[-self.training % self._stride :: self._stride].copy()
        )  # a view would keep the whole chunk
        while sum(map(len, self._sample)) * values.shape[1] > SAMPLE_NUMBERS:
            self._sample = [np.concatenate(self._sample)[::2].copy()]
            self._stride *= 2

    def median(self, name: str) -> float:
        """The median of the numbers in training rows, or in every stride-th of them; nan where there are none."""
        place = [column.name for column in self.columns if column.kind != TEXT].index(name)
        values = np.concatenate([part[:, place] for part in self._sample])
        values = values[~np.isnan(values)]
        return float(np.median(values)) if len(values) else np.nan

    @property
    def holds_pixels(self) -> bool:
        """Whether all columns are whole numbers in the range of pixels, without gaps."""
        return not self.needs_frame and are_pixels(list(self.numbers.values()))

    @property
    def distinct(self) -> dict[str, int]:
        """About how many values each column has: words of training rows, numbers of the sample."""
        found = {name: len(words.keys() - {None}) for name, words in self.words.items()}
        values = np.concatenate(self._sample) if self._sample else np.empty((0, 0))
        numbers = [column.name for column in self.columns if column.kind != TEXT]
        for name, own in zip(numbers, values.T, strict=False):
            found[name] = len(np.unique(own[~np.isnan(own)]))
        return found

    @property
    def exact_medians(self) -> bool:
        return self._stride == 1

    @property
    def classes(self) -> Array:
        """The labels of training rows as one sorted array: whole numbers if all labels are, else their texts, as in memory."""
        if self.labels.kinds == {"i"}:
            return np.sort(np.array([int(text) for text in self.trained if self.trained[text]]))
        return np.sort(np.array([text for text in self.trained if self.trained[text]], dtype=str))

    @property
    def usual(self) -> Any:
        """The class that most training rows have."""
        return self.classes[
            int(np.argmax([self.trained[text] for text in label_texts(self.classes).tolist()]))
        ]

    @property
    def features(self) -> list[Column]:
        """The columns that hold anything."""
        return [column for column in self.columns if column.name not in self.empty]

    @property
    def needs_frame(self) -> bool:
        """Whether words or missing numbers are among the rows."""
        return any(column.kind == TEXT or self.gaps[column.name] for column in self.features)

    def missing(self, name: str) -> int:
        """Gaps in training rows."""
        return self.training - self.numbers[name].present

    def check(self, label: str) -> None:
        """Refuse what cannot be learned from."""
        self.empty = [column.name for column in self.columns if self.gaps[column.name] == self.rows]
        if not self.features:
            raise BadData(f"{self.file}: no feature has a value in any row.")
        self.labels.check(self.rows, f"{self.file}: column {shown(label)}")
        if len(self.trained) < 2:
            only = f"only {shown(next(iter(self.trained), ''))} among the {self.training} training rows"
            raise BadData(
                f"{self.file}: column {shown(label)} holds {only}; two classes are needed."
            )


@contextlib.contextmanager
def telling_of_words() -> Iterator[None]:
    """A word in a column that the first rows show as numbers: how it can be read."""
    try:
        yield
    except NotNumber as error:
        todo = f"Its first rows show numbers in this column; if it holds categories, use --text {error.column}."
        raise BadData(f"{error} {todo}") from error


@contextlib.contextmanager
def naming_labels(distinct: Callable[[], Mapping[str, int]]) -> Iterator[None]:
    """Add the columns that could be the label to the error that one does not hold classes."""
    try:
        yield
    except NotClasses as error:
        raise NotClasses(f"{error}{plausible_labels(distinct(), 1000)}") from None


def survey(
    found: Survey,
    parts: Iterator[Dataset],
    draw: Draw,
    label: str,
    *others: Callable[[Dataset, Array], None],
) -> None:
    """One pass over the rows, which are frames that begin with the survey's columns, or sparse; `others` see them, too."""
    with telling_of_words(), naming_labels(lambda: found.distinct):
        for part in parts:
            test = draw.test(len(part))
            found.see(part, test)
            for other in others:
                other(part, test)
    unlabelled_note(found.unlabelled, found.rows + found.unlabelled, label, found.file, False)
    if not found.rows:
        raise BadData(f"{found.file} has no rows.")
    with naming_labels(lambda: found.distinct):
        found.check(label)
