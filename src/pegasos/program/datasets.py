"""Rows for a command: read from files or named sets, and split into training and test rows."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from pegasos.engine.runtime.memory import parse_bytes
from pegasos.program.errors import UsageError
from pegasos.program.modelfile.container import begins_like_model
from pegasos.program.tables.dataset import (
    Array,
    BadData,
    Dataset,
    Outline,
    ReadOptions,
    TooLarge,
    holds_words,
)
from pegasos.program.tables.labels import label_texts, rare_classes
from pegasos.program.tables.messages import near, plain
from pegasos.program.tables.named_sets import SETS, read_set
from pegasos.program.tables.reading import outline, read
from pegasos.program.tables.sources import files_of, is_pattern
from pegasos.program.terminal import console
from pegasos.program.terminal.options import ReadingOptions

USUAL_TEST_SIZE = 0.2
#: A file this many times smaller than the memory is read without estimating its size in memory.
_MOST_SWELL = 100
#: Reading options that named sets have, too.
_FOR_SETS = ("fetch", "pool")

T = TypeVar("T")
#: Copies of the encoded table at once while a pipeline is fitted: its columns and their
#: concatenation. 11 GB of encoded flights (3 million rows) took more than 23 GB.
ENCODED_COPIES = 2


def read_options(
    reading: ReadingOptions, memory: str | None = None, labelled: bool = True
) -> ReadOptions:
    """Return the options as readers take them."""
    given = {name: value for name, value in vars(reading).items() if name not in _FOR_SETS}
    limit = None if memory is None else parse_bytes(memory)
    return ReadOptions(**given, limit=limit, labelled=labelled)


def with_labels_or_without(source: str, reading: ReadingOptions, read: Callable[[bool], T]) -> T:
    """Call `read(True)`; if the table has no usable labels, call `read(False)`."""
    try:
        return read(True)
    except BadData as error:
        if source == "-" or reading.label is not None or source in SETS:
            raise  # standard input can be read only once
        try:
            found = read(False)
        except BadData:
            raise error from None
        console.say(f"no labels: {error}")
        return found


def load_or_outline(
    source: str,
    reading: ReadingOptions,
    memory: str | None = None,
    *,
    labelled: bool = True,
    encoded: bool = True,
) -> Dataset | Outline:
    """Return all rows, or the outline of a table that does not fit into memory.

    With `encoded`, fitting a pipeline on its one-hot columns must fit, too.
    """
    options = read_options(reading, memory, labelled)
    most, read_once = options.allowed(), source in SETS or source == "-"
    if not read_once and _MOST_SWELL * _file_bytes(source) > most:
        found = outline(source, options)  # its first rows predict the size
        if found is not None and found.bytes > most:
            return found
    try:
        dataset = load(source, reading, memory, labelled)
    except TooLarge:
        found = None if read_once else outline(source, options)
        if found is None:
            raise
        return found
    needed = _encoded_bytes(dataset) if encoded else 0
    found = outline(source, options) if needed > most and not read_once else None
    # notes were printed by load
    return dataset if found is None else replace(found, bytes=needed, notes=[])


def _file_bytes(source: str) -> int:
    """Return the size of the files; 0 if there are none, which reading reports."""
    try:
        return sum(path.stat().st_size for path in files_of(source) or [Path(source)])
    except (OSError, ValueError):
        return 0


def _encoded_bytes(dataset: Dataset) -> int:
    """Return the memory for fitting a pipeline on one-hot columns; 0 for a table of arrays."""
    if not dataset.has_frame:
        return 0
    categories = [series.n_unique() for series in dataset.X.get_columns() if holds_words(series)]
    width = dataset.X.shape[1] - len(categories) + sum(categories)
    return ENCODED_COPIES * 8 * len(dataset) * width


def load(
    source: str, reading: ReadingOptions, memory: str | None = None, labelled: bool = True
) -> Dataset:
    """Return all rows of a file or named set, and print notes on them."""
    if source in SETS:
        dataset = load_named(source, reading)
    else:
        check_source(source)
        with console.working(f"reading {source}"):
            dataset = read(source, read_options(reading, memory, labelled))
    if reading.pool:
        dataset = replace(dataset, test=None)
    if dataset.y is not None and dataset.y.dtype.kind == "f":
        # 1 and 1.5 may be names of classes, but a learner takes no such numbers.
        dataset = replace(dataset, y=label_texts(dataset.y))
    for note in dataset.notes:
        console.say(note)
    width = dataset.X.shape[1]
    size = f"{len(dataset)} rows"
    if dataset.test is not None:
        size += f", {int(dataset.test.sum())} of them a test group"
    size += f", {width} feature{'s' * (width != 1)}"
    if dataset.y is not None:
        size += f", {len(np.unique(dataset.y))} classes"
    console.say(f"{dataset.name}: {size}")
    return dataset


def load_named(source: str, reading: ReadingOptions) -> Dataset:
    """Return a named set, or refuse options that are for files."""
    for name, value in vars(reading).items():
        if value and name not in _FOR_SETS:
            what = f"{source!r} is a named set with columns and labels of its own"
            raise UsageError(f"--{name} is for files; {what}.")
    return read_set(source, fetch=reading.fetch)


def check_source(source: str) -> None:
    """Raise BadData for a misspelled named set, and for a model file given as data."""
    if source in SETS:
        return
    path = Path(source)
    is_name = source != "-" and "." not in path.name and not is_pattern(source)
    if is_name and not os.path.lexists(path):
        known = f"the sets are {', '.join(SETS)}.{near(source, list(SETS))}"
        raise BadData(f"{source!r} is neither a file, nor a folder, nor a named set; {known}")
    with contextlib.suppress(OSError):
        if path.is_file() and begins_like_model(path):
            show = f"`pegasos show {shlex.quote(source)}` describes it"
            raise BadData(f"{source} is a model file, not data; {show}.")


def split_rows(
    dataset: Dataset, test_size: float | None, seed: int
) -> tuple[Array, Array, str, float | None]:
    """Return positions of training and test rows, how they were chosen, and the share of the test.

    Test rows are the file's own test group, or a random share of the rows.
    The share is drawn by class, or by group if there are groups. At least two classes must be
    among the training rows.
    """
    rows, own = np.arange(len(dataset)), dataset.test
    for question in rare_classes(Counter(label_texts(dataset.labels).tolist())):
        console.say(question)
    if own is not None and test_size is None:
        train, test, kind = rows[~own], rows[own], "the file's own test group"
    else:
        if own is not None:
            console.say(
                "note: --test-size sets rows aside among the file's training rows; "
                "its own test group takes no part in learning."
            )
            rows = rows[~own]
        test_size = USUAL_TEST_SIZE if test_size is None else test_size
        train, test, kind = _draw(dataset, rows, test_size, seed)
    classes, count = np.unique(dataset.labels[train]), len(train)
    if len(classes) < 2:
        only = f"{count} training rows, all of" if count > 1 else "one training row, of"
        remedy = "two are needed. Give more rows, or a smaller --test-size."
        raise BadData(f"{dataset.name}: {only} class {plain(classes[0])!r}; {remedy}")
    return np.sort(train), np.sort(test), kind, test_size


def _draw(dataset: Dataset, rows: Array, share: float, seed: int) -> tuple[Array, Array, str]:
    """Return training rows, test rows drawn by class or by group, and how they were drawn."""
    if not share:
        return rows, rows[:0], "none set aside"
    if dataset.groups is not None:
        groups = dataset.groups[rows]
        if len(np.unique(groups)) < 2:
            what = "all rows are of one group, so none can be set aside"
            raise BadData(f"{dataset.name}: {what}; --test-size 0 keeps them all.")
        splitter = GroupShuffleSplit(1, test_size=share, random_state=seed)
        train, test = next(splitter.split(rows, groups=groups))
        return rows[train], rows[test], "random groups"
    y = dataset.labels[rows]
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    # The only row of a class is a training row: a test row would be of an unknown class.
    single = (counts[codes] == 1) & ((counts > 1).sum() >= 2)
    many, y = rows[~single], y[~single]
    _, counts = np.unique(y, return_counts=True)
    by_class = counts.min() >= 2 and min(share, 1 - share) * len(many) >= len(counts)
    try:
        train, test = train_test_split(
            many, test_size=share, random_state=seed, stratify=y if by_class else None
        )
    except ValueError as error:
        what = f"{len(rows)} rows cannot be split for a test of {share:g}: {error}"
        raise BadData(f"{dataset.name}: {what}") from None
    return np.append(train, rows[single]), test, "random, by class" if by_class else "random"


def stem(data: str) -> str:
    """Return a name for results: of the set, of the file without suffixes, or of its folder."""
    if data == "-":
        return "stdin"
    if is_pattern(data):
        folders = reversed(Path(data).parts[:-1])
        data = next((part for part in folders if not is_pattern(part)), "data")
    return data if data in SETS else Path(data).name.split(".")[0] or "data"
