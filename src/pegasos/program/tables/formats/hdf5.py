"""HDF5 files with data and target, or X and y, flat or in the groups train and test; decoded in a child process."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.program.tables import array_files
from pegasos.program.tables.dataset import Array, BadData, Dataset
from pegasos.program.tables.decoder import Decoder, used
from pegasos.program.tables.labels import simplest
from pegasos.program.tables.messages import plain, size
from pegasos.program.tables.read_options import MOST_COLUMNS, ReadOptions, Wanted
from pegasos.program.tables.source import Source

NAME = "hdf5"
EXTENSIONS = (".h5", ".hdf5", ".hdf")
_SLICE = 16 * 2**20
#: A dataset that claims to hold this many times what the file stores for it is a lie or a bomb.
_SWELL = 2000


def sniff(head: bytes) -> bool:
    return head.startswith(b"\x89HDF\r\n\x1a\n")


class File:
    """Arrays of one file, by path, with sizes that were checked before anything is read."""

    def __init__(self, decoder: Decoder, source: Source, limit: int) -> None:
        self.decoder, self.source, self.limit = decoder, source, limit
        self.used = 0
        self.about: dict[str, Any] = decoder.describe()["arrays"]

    def groups(self) -> list[str]:
        """Prefixes of the parts of the data: train and test, or only the file itself."""
        found = [group for group in ("train/", "test/") if any(path.startswith(group) for path in self.about)]
        return found if "train/" in found else [""]

    def known(self, group: str) -> list[str]:
        return [path.removeprefix(group) for path in self.about if path.startswith(group) and "/" not in path.removeprefix(group)]

    def shape(self, path: str) -> tuple[int, ...]:
        shape = tuple(self.about[path]["shape"])
        if not shape:
            raise BadData(f"{self.source.name}: {plain(path)} is a single value, not a table.")
        if math.prod(shape[1:]) > MOST_COLUMNS:
            raise BadData(
                f"{self.source.name}: {plain(path)} has rows of shape {shape[1:]}; a table may have {MOST_COLUMNS} columns."
            )
        return shape

    def slices(self, path: str, amount: int) -> Iterator[Array]:
        """An array, about `amount` bytes at a time."""
        shape, itemsize = self.shape(path), self.about[path]["itemsize"]
        if math.prod(shape) * itemsize > _SWELL * (self.about[path]["stored"] + 2**16):
            raise BadData(f"{self.source.name} is damaged: {plain(path)} of shape {shape} is larger than anything stored for it.")
        step = max(1, amount // max(1, math.prod(shape[1:]) * itemsize))
        for start in range(0, shape[0], step):
            with used(self.decoder.part(array=path, start=start, count=step)) as part:
                try:
                    found = np.load(part, allow_pickle=False)
                except (ValueError, EOFError) as error:
                    raise BadData(f"{self.source.name} is damaged: {plain(path)} cannot be read.") from error
            yield found

    def array(self, path: str) -> Array:
        """A whole array, within the limit."""
        shape = self.shape(path)
        self.used += math.prod(shape) * self.about[path]["itemsize"]
        if self.used > self.limit:
            raise BadData(
                f"{self.source.name}: with {plain(path)} the data take {size(self.used)}, and {size(self.limit)} are allowed."
            )
        parts = list(self.slices(path, _SLICE))
        return np.concatenate(parts) if parts else np.empty(shape)


def read(source: Source, options: ReadOptions) -> Dataset:
    """All rows; a group called test is pooled with train, and marked."""
    limit = options.allowed()
    with Decoder(source, "hdf5", "HDF5", limit) as decoder:
        file = File(decoder, source, limit)
        found: list[tuple[Array, Array | None]] = []
        label = None
        for group in file.groups():
            rows, label = array_files.pair(file.known(group), options, source.name)
            found.append((file.array(group + rows), None if label is None else file.array(group + label)))
        flat = file.groups() == [""]
        groups, weights = _extras(file, options) if flat else (None, None)
    shapes = {X.shape[1:] for X, _ in found}
    if len(shapes) > 1 or len({labels.ndim for _, labels in found if labels is not None}) > 1:
        raise BadData(f"{source.name}: train and test are not alike: rows of shapes {sorted(shapes)}.")
    X = np.concatenate([X for X, _ in found])
    y = None if label is None else np.concatenate([labels for _, labels in found if labels is not None])
    test = None if len(found) == 1 else np.arange(len(X)) >= len(found[0][0])
    return array_files.dataset(source.name, X, y, options, label, None, groups, weights, test)


def _extras(file: File, options: ReadOptions) -> tuple[Array | None, Array | None]:
    known = file.known("")
    groups = array_files.extra(known, options.group, "groups", file.source.name)
    weights = array_files.extra(known, options.weight, "weights", file.source.name)
    return (None if groups is None else file.array(groups), None if weights is None else file.array(weights))


def stream(source: Source, wanted: Wanted, options: ReadOptions) -> Iterator[Dataset]:
    """Slices of rows, train before test; labels, which are small, are read at once."""
    limit = options.allowed()
    with Decoder(source, "hdf5", "HDF5", limit) as decoder:
        file = File(decoder, source, limit)
        first = 0
        for group in file.groups():
            known = file.known(group)
            rows = array_files.pair([name for name in known if name != "y"], ReadOptions(labelled=False), source.name)[0]
            usual = next((labels for data, labels in array_files.PAIRS if data == rows and labels in known), None)
            label = next((name for name in (options.label, wanted.label_name, usual) if name in known), None)
            y = None if label is None else simplest(file.array(group + label))
            start = 0
            for part in file.slices(group + rows, wanted.chunk):
                labels = None if y is None else y[start : start + len(part)]
                if labels is not None and labels.shape != (len(part),):
                    raise BadData(f"{source.name}: more rows than labels.")
                found = array_files.chunk(source.name, part, labels, None, wanted, label, first)
                yield found if group == "" else replace(found, test=np.full(len(part), group == "test/"))
                start += len(part)
                first += len(part)
