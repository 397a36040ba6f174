"""Prepared rows in temporary files, and passes over them: a block for each thread is in memory, however many rows there are."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from pegasos.engine.distances import squared_norms
from pegasos.engine.passes import LabelledBlocks
from pegasos.engine.row_blocks import Block
from pegasos.program.files import temporary_folder
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import plain, size

Array = np.ndarray[Any, Any]

#: Bytes of a row beside its features: its class and its weight.
_BESIDE = 16
#: Free space that is left alone.
_SPARED = 100 * 10**6


class PreparedRows:
    """Rows of one kind (training or test) in files: features as float32, the code of the class, the weight."""

    def __init__(self, folder: Path, name: str, width: int) -> None:
        self.width, self.count = width, 0
        #: The largest x·x so far.
        self.reach = 0.0
        self._paths = [folder / f"{name}.{part}" for part in ("rows", "codes", "weights")]
        self._types: list[Any] = [np.float32, np.int64, np.float64]
        self._files: list[IO[bytes]] = [path.open("wb") for path in self._paths]

    def add(self, X: Array, codes: Array, weights: Array) -> None:
        for file, values, dtype in zip(self._files, (X, codes, weights), self._types, strict=True):
            file.write(np.ascontiguousarray(values, dtype).data)
        self.count += len(codes)
        self.reach = max(self.reach, float(squared_norms(X).max(initial=0)))

    def close(self) -> None:
        for file in self._files:
            file.close()

    def read(self, span: slice) -> tuple[Array, Array, Array]:
        """Features, codes and weights of some rows; files are read, not mapped, so that what was read does not stay."""
        found = []
        for path, dtype, width in zip(self._paths, self._types, (self.width, 1, 1), strict=True):
            offset = span.start * width * np.dtype(dtype).itemsize
            found.append(np.fromfile(path, dtype, (span.stop - span.start) * width, offset=offset))
        rows, codes, weights = found
        return rows.reshape(-1, self.width), codes, weights

    def parts(self, rows: int = 1 << 14) -> Iterator[tuple[Array, Array, Array]]:
        for start in range(0, self.count, rows):
            yield self.read(slice(start, min(start + rows, self.count)))


class FileBlocks(LabelledBlocks):
    """Blocks that are read when their turn comes, and forgotten after it."""

    def __init__(self, rows: PreparedRows) -> None:
        # arrays without memory: only the spans of the blocks are made from them
        nothing = np.broadcast_to(np.float32(0), (rows.count, rows.width))
        super().__init__(nothing, np.broadcast_to(np.int64(0), rows.count), np.broadcast_to(0.0, rows.count))
        self._file, self._buffers = rows, threading.local()

    def _parts(self, work: Callable[..., Any], arguments: Sequence[Any]) -> Iterator[Any]:
        def read_and_work(block: Block, *arguments: Any) -> Any:
            rows, codes, weights = self._file.read(block.span)
            there = Block(rows, slice(0, block.count), self._buffers)
            there.own = codes, weights
            return work(there, *arguments)

        yield from super()._parts(read_and_work, arguments)


@contextlib.contextmanager
def workplace(rows: int, width: int) -> Iterator[tuple[Path, int]]:
    """A temporary folder with room for so many rows, and the bytes that they will take; it goes whatever happens."""
    needed = rows * (4 * width + _BESIDE)
    with temporary_folder() as folder:
        free = shutil.disk_usage(folder).free
        if needed + _SPARED > free:
            where = f"{plain(folder.parent)} has {size(free)} free"
            raise BadData(f"the prepared rows take {size(needed)} on disk, but {where}; set TMPDIR to a larger place.")
        yield folder, needed
