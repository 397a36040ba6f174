"""One pass over a table beyond memory: labels, gaps and columns of all rows, samples of some."""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from pegasos.program.tables.block_statistics import LabelCounts
from pegasos.program.tables.dataset import (
    TEXT,
    Array,
    BadData,
    Column,
    Dataset,
    NotClasses,
    NotNumber,
    check_sizes,
    is_frame,
)
from pegasos.program.tables.labels import label_texts, plausible_labels, unlabelled_note
from pegasos.program.tables.messages import shown
from pegasos.program.tables.sampling import Draw, Sample, widened

#: Distinct categories in all columns together: each becomes a column of its own.
MOST_CATEGORIES = 10_000


class Survey:
    """Counts of all rows, and samples of training and test rows.

    Beside the rows of a sample are the texts of their labels, and their weights if there are any.

    Parameters
    ----------
    file, label : names for messages.
    columns : the features; none for sparse rows, whose columns are named when all rows were seen.
    training, test : empty samples.
    """

    def __init__(
        self, file: str, label: str, columns: list[Column], training: Sample, test: Sample
    ) -> None:
        self.file, self.label, self.columns, self.sparse = file, label, columns, not columns
        self.sample, self.test_sample = training, test
        #: Rows; those that are not set aside; those left out because they have no label.
        self.rows = self.training = self.unlabelled = 0
        self.labels = LabelCounts()
        #: Training rows of each class.
        self.trained: Counter[str] = Counter()
        #: Missing values of each column in all rows.
        self.gaps: Counter[str] = Counter()
        self._categories = defaultdict[str, set[str]](set)
        #: Of sparse rows: stored numbers, the least index of a column, at most 1, and the width.
        self.stored, self._lowest, self._width = 0, 1, 0

    def read(self, parts: Iterable[Dataset], draw: Draw) -> None:
        """Pass over the rows once, and refuse what cannot be learned from."""
        with explaining_columns(self.sample, self.columns):
            for part in parts:
                self.see(part, draw.test(len(part)))
            whole = self.rows + self.unlabelled
            unlabelled_note(self.unlabelled, whole, self.label, self.file, False)
            self._check()

    def see(self, part: Dataset, test: Array) -> None:
        """Add rows, of which `test` are set aside."""
        if part.y is None:
            raise BadData(f"{part.name}: rows from number {self.rows + 1} on have no label.")
        check_sizes(part)
        if self.sparse:
            self.stored += part.X.nnz
            self._lowest = min(self._lowest, int(part.X.indices.min(initial=1)))
            self._width = max(self._width, part.X.shape[1])
        else:
            for place, column in enumerate(self.columns):
                self._see_column(column, part.X.to_series(place))
        texts = self.labels.see(part.y, self.file)
        self.trained.update(texts[~test].tolist())
        beside = [texts] if part.weights is None else [texts, part.weights]
        self.sample.see(part.X, ~test, *beside)
        self.test_sample.see(part.X, test, *beside)
        self.unlabelled += part.unlabelled
        self.rows, self.training = self.rows + len(part), self.training + int((~test).sum())

    def _see_column(self, column: Column, values: Any) -> None:
        self.gaps[column.name] += values.null_count()
        if column.kind != TEXT:
            return
        self._categories[column.name].update(values.drop_nulls().unique().to_list())
        if sum(map(len, self._categories.values())) > MOST_CATEGORIES:
            raise BadData(
                f"{self.file}: more than {MOST_CATEGORIES} different categories with column "
                f"{shown(column.name)}, and each becomes a column; "
                "leave such columns out with --drop."
            )

    def _check(self) -> None:
        if not self.rows:
            raise BadData(f"{self.file} has no rows.")
        if self.sparse:
            self.columns = [Column(f"x{place}") for place in range(self._lowest, self._width)]
        if not self.features:
            raise BadData(f"{self.file}: no feature has a value in any row.")
        column = f"{self.file}: column {shown(self.label)}"
        self.labels.check(self.rows, column)
        if len(self.trained) < 2:
            only = f"only {shown(next(iter(self.trained), ''))}"
            raise BadData(
                f"{column} holds {only} among the {self.training} training rows; "
                "two classes are needed."
            )

    @property
    def empty(self) -> list[str]:
        """Columns without any value."""
        return [column.name for column in self.columns if self.gaps[column.name] == self.rows]

    @property
    def features(self) -> list[Column]:
        """The columns that hold anything."""
        empty = set(self.empty)
        return [column for column in self.columns if column.name not in empty]

    @property
    def needs_frame(self) -> bool:
        """Whether categories or missing numbers are among the rows."""
        return any(column.kind == TEXT or self.gaps[column.name] for column in self.features)

    def select(self, X: Any) -> Any:
        """Return the features of rows of a sample, as a reader would."""
        if self.sparse:
            return widened(X, self._width)[:, self._lowest :]
        X = X.select(column.name for column in self.features)
        return X if self.needs_frame else X.to_numpy(order="c", writable=True)

    @property
    def classes(self) -> Array:
        """Sorted labels of training rows: whole numbers if all labels are, else their texts."""
        texts = list(self.trained)
        if self.labels.kinds == {"i"}:
            return np.sort(np.array(list(map(int, texts))))
        return np.sort(np.array(texts, dtype=str))

    @property
    def usual(self) -> Any:
        """The most frequent class of the training rows."""
        classes = self.classes
        return classes[np.argmax([self.trained[text] for text in label_texts(classes).tolist()])]


@contextlib.contextmanager
def explaining_columns(sample: Sample, columns: list[Column]) -> Iterator[None]:
    """Add the way out to errors that later rows of a column cause.

    The sample of a frame tells which columns may be the label.
    """
    try:
        yield
    except NotNumber as error:
        raise BadData(
            f"{error} Its first rows show numbers in this column; "
            f"if it holds categories, use --text {error.column}."
        ) from error
    except NotClasses as error:
        distinct = {}
        if sample.seen and is_frame(X := sample.rows()[0]):
            pairs = zip(columns, X.get_columns(), strict=True)
            distinct = {column.name: own.drop_nulls().n_unique() for column, own in pairs}
        raise NotClasses(f"{error}{plausible_labels(distinct, 1000)}") from None
