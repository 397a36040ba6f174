"""One pass over a table of any size: all that a preparation needs to know of its rows."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from pegasos.program.tables.block_statistics import LabelCounts, Moments, numeric_blocks
from pegasos.program.tables.dataset import (
    TEXT,
    Array,
    BadData,
    Column,
    Dataset,
    NotClasses,
    NotNumber,
)
from pegasos.program.tables.labels import label_texts, plausible_labels, unlabelled_note
from pegasos.program.tables.messages import shown
from pegasos.program.tables.sampling import Draw, Sample, widened
from pegasos.program.tables.sizes import check_sizes

#: Numbers of the rows from which medians are computed.
SAMPLE_NUMBERS = 4_000_000
#: Distinct words in all columns together: each becomes a column of its own.
MOST_WORDS = 10_000


class Survey:
    """Statistics of training rows, and gaps and labels of all rows.

    Parameters
    ----------
    file : name for messages.
    columns : the features; none for sparse rows, whose columns are named when all rows were seen.
    """

    def __init__(self, file: str, columns: list[Column]) -> None:
        self.file, self.columns, self.sparse = file, columns, not columns
        #: Rows; those that are not set aside; those left out because they have no label.
        self.rows = self.training = self.unlabelled = 0
        self.labels = LabelCounts()
        #: Training rows of each class.
        self.trained: Counter[str] = Counter()
        self._gaps = np.zeros(len(columns), dtype=np.int64)
        self._numeric = [place for place, each in enumerate(columns) if each.kind != TEXT]
        self.moments = Moments(len(self._numeric))
        #: Words of training rows and their counts; None is a gap.
        self.words: dict[str, Counter[str | None]] = {
            column.name: Counter() for column in columns if column.kind == TEXT
        }
        #: Columns without any value.
        self.empty: list[str] = []
        #: Numbers that sparse rows store, and the smallest index of a column, at most 1.
        self.stored, self._lowest = 0, 1
        self._sample = Sample(0, SAMPLE_NUMBERS // max(1, len(self._numeric)))

    def see(self, part: Dataset, test: Array) -> None:
        """Add rows, of which `test` are set aside; frames begin with the survey's columns."""
        if part.y is None:
            raise BadData(f"{part.name}: rows from number {self.rows + 1} on have no label.")
        check_sizes(part)
        if self.words:
            self._see_words(part.X, ~test)
        if self.sparse:
            self.stored += part.X.nnz
            self._lowest = min(self._lowest, int(part.X.indices.min(initial=1)))
        for span, values in numeric_blocks(part.X, self.columns):
            training = values[~test[span]]
            self.moments.see(training)
            if not self.sparse:
                self._gaps[self._numeric] += np.isnan(values).sum(axis=0)
                self._sample.see(training)
        texts = self.labels.see(part.y, self.file)
        self.trained.update(texts[~test].tolist())
        self.unlabelled += part.unlabelled
        self.rows, self.training = self.rows + len(part), self.training + int((~test).sum())

    def _see_words(self, X: Any, training: Array) -> None:
        for place, column in enumerate(self.columns):
            if column.kind == TEXT:
                series = X.to_series(place)
                self._gaps[place] += series.null_count()
                counts = series.filter(training).value_counts()
                self.words[column.name].update(dict(counts.iter_rows()))
                if sum(map(len, self.words.values())) > MOST_WORDS:
                    what = f"more than {MOST_WORDS} different words with column"
                    raise BadData(
                        f"{self.file}: {what} {shown(column.name)}, and each becomes a column; "
                        "leave such columns out with --drop."
                    )

    def check(self, label: str) -> None:
        """Complete the columns, and refuse what cannot be learned from."""
        if self.sparse:
            places = np.arange(self._lowest, len(self.moments.count))
            self.columns = [Column(f"x{place}") for place in places]
            self.moments = self.moments.of(places)
            self._gaps = np.zeros(len(self.columns), dtype=np.int64)
            self._numeric = list(range(len(self.columns)))
        gaps = zip(self.columns, self._gaps, strict=True)
        self.empty = [column.name for column, count in gaps if count == self.rows]
        if not self.features:
            raise BadData(f"{self.file}: no feature has a value in any row.")
        column = f"{self.file}: column {shown(label)}"
        self.labels.check(self.rows, column)
        if len(self.trained) < 2:
            only = f"only {shown(next(iter(self.trained), ''))}"
            raise BadData(
                f"{column} holds {only} among the {self.training} training rows; "
                "two classes are needed."
            )

    def aligned(self, X: Any) -> Any:
        """Return sparse rows with the columns of the survey; their indices are those of the file."""
        return widened(X, self._lowest + len(self.columns))[:, self._lowest :]

    @property
    def gaps(self) -> dict[str, int]:
        """Missing values of each column, in all rows."""
        return {
            column.name: int(count) for column, count in zip(self.columns, self._gaps, strict=True)
        }

    @property
    def features(self) -> list[Column]:
        """The columns that hold anything."""
        return [column for column in self.columns if column.name not in self.empty]

    @property
    def _filled(self) -> Array:
        """Positions among the numeric columns of those that hold anything."""
        return np.flatnonzero(self._gaps[self._numeric] < self.rows)

    @property
    def numbers(self) -> Moments:
        """Moments of the numeric features, in training rows."""
        return self.moments.of(self._filled)

    @property
    def medians(self) -> Array:
        """Medians of the numeric features, in a sample of training rows; NaN without a number."""
        values = [own[~np.isnan(own)] for own in self._sampled()]
        return np.array([np.median(own) if len(own) else np.nan for own in values])[self._filled]

    def _sampled(self) -> Array:
        """Return the numbers of a sample of training rows, one row per numeric column."""
        return np.asarray(self._sample.rows()[0].T) if self._numeric else np.zeros((0, 0))

    @property
    def exact_medians(self) -> bool:
        """Whether medians are those of all training rows."""
        return self._sample.whole

    @property
    def needs_frame(self) -> bool:
        """Whether words or missing numbers are among the rows."""
        gaps = self.gaps
        return any(column.kind == TEXT or gaps[column.name] for column in self.features)

    @property
    def holds_pixels(self) -> bool:
        """Whether all columns are whole numbers in the range of pixels, without gaps."""
        return not self.sparse and not self.needs_frame and self.moments.are_pixels()

    @property
    def distinct(self) -> dict[str, int]:
        """Approximate number of values of each column: words, and numbers of the sample."""
        found = {name: len(words.keys() - {None}) for name, words in self.words.items()}
        if self.training and not self.sparse:
            for place, own in zip(self._numeric, self._sampled(), strict=True):
                found[self.columns[place].name] = len(np.unique(own[~np.isnan(own)]))
        return found

    @property
    def classes(self) -> Array:
        """Sorted labels of training rows: whole numbers if all labels are, else their texts."""
        texts = [text for text in self.trained if self.trained[text]]
        if self.labels.kinds == {"i"}:
            return np.sort(np.array(list(map(int, texts))))
        return np.sort(np.array(texts, dtype=str))

    @property
    def usual(self) -> Any:
        """The most frequent class of the training rows."""
        classes = self.classes
        return classes[np.argmax([self.trained[text] for text in label_texts(classes).tolist()])]


@contextlib.contextmanager
def explaining_columns(distinct: Callable[[], Mapping[str, int]]) -> Iterator[None]:
    """Add the way out to errors that later rows of a column cause.

    Parameters
    ----------
    distinct : returns the number of values of each column, to list those that may be the label.
    """
    try:
        yield
    except NotNumber as error:
        raise BadData(
            f"{error} Its first rows show numbers in this column; "
            f"if it holds categories, use --text {error.column}."
        ) from error
    except NotClasses as error:
        raise NotClasses(f"{error}{plausible_labels(distinct(), 1000)}") from None


def survey(
    found: Survey,
    parts: Iterable[Dataset],
    draw: Draw,
    label: str,
    *others: Callable[[Dataset, Array], None],
) -> None:
    """Pass over the rows once; `others` get each part and its test rows, too."""
    with explaining_columns(lambda: found.distinct):
        for part in parts:
            test = draw.test(len(part))
            found.see(part, test)
            for other in others:
                other(part, test)
        whole = found.rows + found.unlabelled
        unlabelled_note(found.unlabelled, whole, label, found.file, False)
        if not found.rows:
            raise BadData(f"{found.file} has no rows.")
        found.check(label)
