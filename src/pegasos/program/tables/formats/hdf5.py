"""HDF5 files with data and target, or X and y, decoded in a child process.

The datasets are at the top level, or in the groups train and test.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence

import numpy as np

from pegasos.program.tables import array_files
from pegasos.program.tables.array_files import ArrayFile, Part, pair
from pegasos.program.tables.dataset import Array, BadData, Dataset
from pegasos.program.tables.decoder import Decoder
from pegasos.program.tables.messages import plain
from pegasos.program.tables.read_options import ReadOptions, Wanted
from pegasos.program.tables.shards import Shards
from pegasos.program.tables.source import Source

NAME = "hdf5"
EXTENSIONS = (".h5", ".hdf5", ".hdf")
_SLICE = 16 * 2**20
#: Maximum ratio of a dataset's declared size to its stored size; larger ones are corrupt or
#: malicious.
_SWELL = 2000


def sniff(head: bytes) -> bool:
    """Return whether the bytes are the signature of HDF5."""
    return head.startswith(b"\x89HDF\r\n\x1a\n")


def read(shards: Shards, options: ReadOptions) -> Dataset:
    """Read the whole table."""
    return array_files.read(shards, opened, options)


def stream(shards: Shards, wanted: Wanted, options: ReadOptions) -> Iterator[Dataset]:
    """Yield chunks of rows for a model."""
    return array_files.stream(shards, opened, wanted, options)


@contextlib.contextmanager
def opened(source: Source, limit: int) -> Iterator[File]:
    """Open a file in a decoder process."""
    with Decoder(source, "hdf5", "HDF5", limit) as decoder:
        yield File(decoder, source, limit)


class File(ArrayFile):
    """Datasets by path, as described by the decoder."""

    def __init__(self, decoder: Decoder, source: Source, limit: int) -> None:
        self.decoder, self.about = decoder, decoder.describe()["arrays"]
        super().__init__(source.name, limit, self.about)

    def parts(self, asked: Sequence[str | None], labelled: bool) -> list[Part]:
        """Return the groups train and test, or the top level."""
        found = []
        groups = [
            group
            for group in ("train/", "test/")
            if any(path.startswith(group) for path in self.names)
        ]
        for group in groups if "train/" in groups else [""]:
            inside = [path.removeprefix(group) for path in self.about if path.startswith(group)]
            rows, labels = pair(
                [name for name in inside if "/" not in name], asked, labelled, self.name
            )
            test = None if group == "" else group == "test/"
            found.append(Part(group + rows, None if labels is None else group + labels, test))
        return found

    def declared(self, name: str) -> tuple[tuple[int, ...], int]:
        """Return shape and item size of a dataset."""
        return tuple(self.about[name]["shape"]), self.about[name]["itemsize"]

    def load(self, name: str) -> Array:
        """Return a whole dataset."""
        parts = list(self.slices(name, _SLICE))
        return np.concatenate(parts) if parts else np.empty(self.declared(name)[0])

    def slices(self, name: str, amount: int) -> Iterator[Array]:
        """Yield a dataset in slices of about `amount` bytes."""
        shape, itemsize = self.declared(name)
        if not shape or math.prod(shape) * itemsize > _SWELL * (self.about[name]["stored"] + 2**16):
            raise BadData(
                f"{self.name} is damaged: {plain(name)} of shape {shape} is not what is stored for it."
            )
        step = max(1, amount // max(1, math.prod(shape[1:]) * itemsize))
        for start in range(0, shape[0], step):
            with self.decoder.part(array=name, start=start, count=step) as part:
                try:
                    found = np.load(part, allow_pickle=False)
                except (ValueError, EOFError) as error:
                    raise BadData(
                        f"{self.name} is damaged: {plain(name)} cannot be read."
                    ) from error
            yield found
