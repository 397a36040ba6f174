"""Rows for a command: read from a file or a named set, and split into training and test rows."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from pegasos.engine.runtime.memory import parse_bytes
from pegasos.program.errors import UsageError
from pegasos.program.modelfile.container import begins_like_model
from pegasos.program.tables.column_roles import places_of
from pegasos.program.tables.dataset import BadData, Column, Dataset, TooLarge, holds_words
from pegasos.program.tables.labels import label_texts, rare_classes
from pegasos.program.tables.messages import near, plain
from pegasos.program.tables.named_sets import SETS, load_set
from pegasos.program.tables.read_options import Outline, ReadOptions
from pegasos.program.tables.reading import outline, read, stream
from pegasos.program.tables.shards import files_of, is_pattern
from pegasos.program.terminal import console
from pegasos.program.terminal.options import ReadingOptions

Array = np.ndarray[Any, Any]

USUAL_TEST_SIZE = 0.2
#: A file that is so many times smaller than the memory is read without asking how large its table will be.
_MOST_SWELL = 100


def read_options(
    reading: ReadingOptions, memory: str | None = None, labelled: bool = True
) -> ReadOptions:
    """The options as the readers take them."""
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in vars(reading).items()
        if name not in ("fetch", "pool")
    }
    return ReadOptions(
        **given, limit=None if memory is None else parse_bytes(memory), labelled=labelled
    )


T = TypeVar("T")


def with_labels_or_without(source: str, reading: ReadingOptions, read: Callable[[bool], T]) -> T:
    """What `read` answers for True: the last column may be the label; where it cannot be, for False: all are features."""
    try:
        return read(True)
    except BadData as error:
        if (
            source == "-" or reading.label is not None or source in SETS
        ):  # it can be read only once, or it was asked for
            raise
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
    """The whole data set; of a table that does not fit into memory, as it is or `encoded`, what its first rows tell."""
    found = too_large(source, reading, memory, labelled=labelled)
    if found is not None:
        return found
    try:
        dataset = load(source, reading, memory, labelled)
    except TooLarge:
        found = too_large(source, reading, memory, sure=True, labelled=labelled)
        if found is None:
            raise
        return found
    needed = _encoded_bytes(dataset) if encoded else 0
    if needed > read_options(reading, memory).allowed():
        found = too_large(source, reading, memory, sure=True, labelled=labelled)
        return (
            dataset if found is None else replace(found, bytes=needed, notes=[])
        )  # they were shown
    return dataset


def _encoded_bytes(dataset: Dataset) -> int:
    """What a table of words takes when each has a column of its own; 0 where nothing is encoded."""
    if not dataset.has_frame:
        return 0
    words = [series.n_unique() for series in dataset.X.get_columns() if holds_words(series)]
    return 8 * len(dataset) * (dataset.X.shape[1] - len(words) + sum(words))


def load(
    source: str, reading: ReadingOptions, memory: str | None = None, labelled: bool = True
) -> Dataset:
    """The whole data set; its notes are shown."""
    if source in SETS:
        _refuse_reading(source, reading)
        dataset = load_set(source, fetch=reading.fetch)
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
    console.say(f"{dataset.name}: {_size(dataset)}")
    return dataset


def too_large(
    source: str,
    reading: ReadingOptions,
    memory: str | None = None,
    sure: bool = False,
    labelled: bool = True,
) -> Outline | None:
    """What is known of a table that does not fit into memory, as its first rows foretell, or because it was tried (`sure`);
    None where it may fit, or where it cannot be read twice.
    """
    if source in SETS or source == "-":
        return None
    options = read_options(reading, memory, labelled)
    try:
        length = sum(path.stat().st_size for path in files_of(source) or [Path(source)])
    except (OSError, ValueError):
        return None  # reading says what is wrong
    if _MOST_SWELL * length <= options.allowed() and not sure:
        return None
    found = outline(source, options)
    return found if found is not None and (sure or found.bytes > options.allowed()) else None


def _refuse_reading(source: str, reading: ReadingOptions) -> None:
    for name, value in vars(reading).items():
        if value and name not in ("fetch", "pool"):
            raise UsageError(
                f"--{name} is for files; {source!r} is a named set with columns and labels of its own."
            )


def check_source(source: str) -> None:
    """Refuse a set whose name is nearly right, and a model where data should be."""
    if source in SETS:
        return
    path = Path(source)
    if (
        source != "-"
        and "." not in path.name
        and not os.path.lexists(path)
        and not is_pattern(source)
    ):
        known = f"the sets are {', '.join(SETS)}.{near(source, list(SETS))}"
        raise BadData(f"{source!r} is neither a file, nor a folder, nor a named set; {known}")
    with contextlib.suppress(OSError):
        if path.is_file() and begins_like_model(path):
            raise BadData(
                f"{source} is a model file, not data; `pegasos show {shlex.quote(source)}` tells what it is."
            )


def _size(dataset: Dataset) -> str:
    classes = "" if dataset.y is None else f", {len(np.unique(dataset.y))} classes"
    test = "" if dataset.test is None else f", {int(dataset.test.sum())} of them a test group"
    width = dataset.X.shape[1]
    return f"{len(dataset)} rows{test}, {width} feature{'s' * (width != 1)}{classes}"


def chunks(
    source: str,
    columns: list[Column],
    frame: bool,
    label_name: str | None,
    reading: ReadingOptions,
    memory: str | None = None,
    keep: tuple[str, ...] = (),
    labelled: bool = False,
) -> Iterator[Dataset]:
    """The rows of a file or a set with a model's columns, some at a time; labels come along where there are any, and columns
    that are to be kept. If `labelled`, rows without a label are left out."""
    if source not in SETS:
        check_source(source)
        options = replace(read_options(reading, memory, labelled=False), keep=keep)
        for part in stream(
            source, columns, options, frame=frame, label_name=label_name, labelled=labelled
        ):
            for note in part.notes:
                console.say(note)
            yield part
        return
    _refuse_reading(source, reading)
    dataset = load_set(source, fetch=reading.fetch)
    places = places_of(
        [column.name for column in columns], [column.name for column in dataset.columns], source
    )
    X = dataset.X[:, places]
    if frame:
        import polars

        X = polars.DataFrame(
            np.asarray(X, dtype=np.float64), schema=[column.name for column in columns]
        )
    yield replace(dataset, X=X, columns=columns)


@dataclass(frozen=True)
class Split:
    """Positions of training and test rows, and how they were chosen."""

    train: Array
    test: Array
    kind: str
    seed: int
    test_size: float | None


def split_rows(dataset: Dataset, test_size: float | None, seed: int) -> Split:
    """The file's own test group, or a share of the rows drawn at random: by class, or by group where groups are given.

    At least two classes must be among the training rows.
    """
    rows = np.arange(len(dataset))
    for question in rare_classes(Counter(label_texts(dataset.labels).tolist())):
        console.say(question)
    if dataset.test is not None and test_size is None:
        split = Split(
            rows[~dataset.test], rows[dataset.test], "the file's own test group", seed, test_size
        )
    else:
        if dataset.test is not None:
            console.say(
                "note: the file has a test group of its own; --test-size sets rows aside among its training rows, and"
            )
            console.say("      the test group takes no part in learning.")
            rows = rows[~dataset.test]
        share = USUAL_TEST_SIZE if test_size is None else test_size
        train, test, kind = (
            _draw(dataset, rows, share, seed) if share else (rows, rows[:0], "none set aside")
        )
        split = Split(np.sort(train), np.sort(test), kind, seed, share)
    classes, count = np.unique(dataset.labels[split.train]), len(split.train)
    if len(classes) < 2:
        only = f"{count} training rows, all of" if count > 1 else "one training row, of"
        remedy = "two are needed. Give more rows, or a smaller --test-size."
        raise BadData(f"{dataset.name}: {only} class {plain(classes[0])!r}; {remedy}")
    return split


def _draw(dataset: Dataset, rows: Array, share: float, seed: int) -> tuple[Array, Array, str]:
    if dataset.groups is not None:
        splitter = GroupShuffleSplit(1, test_size=share, random_state=seed)
        if len(np.unique(dataset.groups[rows])) < 2:
            raise BadData(
                f"{dataset.name}: all rows are of one group, so none can be set aside; --test-size 0 keeps them all."
            )
        train, test = next(splitter.split(rows, groups=dataset.groups[rows]))
        return rows[train], rows[test], "random groups"
    y = dataset.labels[rows]
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    single = counts[codes] == 1  # learned from, as a test cannot ask for what training lacks
    if len(counts) - int(single.sum()) < 2:
        single[:] = False
    many, y = rows[~single], y[~single]
    _, counts = np.unique(y, return_counts=True)
    by_class = counts.min() >= 2 and min(share, 1 - share) * len(many) >= len(counts)
    try:
        train, test = train_test_split(
            many, test_size=share, random_state=seed, stratify=y if by_class else None
        )
    except ValueError as error:
        raise BadData(
            f"{dataset.name}: {len(rows)} rows cannot be split for a test of {share:g}: {error}"
        ) from None
    return np.append(train, rows[single]), test, "random, by class" if by_class else "random"


def stem(data: str) -> str:
    """Return a name for results: of the set, of the file without suffixes, or of its folder."""
    if data == "-":
        return "stdin"
    if is_pattern(data):
        folders = reversed(Path(data).parts[:-1])
        data = next((part for part in folders if not is_pattern(part)), "data")
    return data if data in SETS else Path(data).name.split(".")[0] or "data"
