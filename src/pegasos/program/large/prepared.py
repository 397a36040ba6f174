"""Prepared rows in temporary files, and passes over them: a block for each thread is in memory, however many rows there are."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from pegasos.engine.kernels.distances import squared_norms
from pegasos.engine.optimum.passes.passes import MOST_FEATURES, WIDE_NUMBERS, LabelledBlocks
from pegasos.engine.rows.blocks import THIN, THIN_ROWS, Block
from pegasos.engine.runtime.memory import Buffers
from pegasos.program.files import temporary_folder
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import plain, size

Array = np.ndarray[Any, Any]

#: Bytes of a row beside its features: its class and its weight.
_BESIDE = 16
#: Free space that is left alone.
_SPARED = 100 * 10**6


class NoRoom(BadData):
    """Prepared rows do not fit on the disk."""


class PreparedRows:
    """Rows of one kind (training or test) in files: features as float32, the code of the class, the weight."""

    #: What is kept: endings of files, and types of what is in them.
    kept: tuple[tuple[str, Any], ...] = (
        ("codes", np.int64),
        ("weights", np.float64),
        ("rows", np.float32),
    )

    def __init__(self, folder: Path, name: str, width: int) -> None:
        self.folder, self.width, self.count, self.numbers = folder, width, 0, 0
        #: The largest x·x so far.
        self.reach = 0.0
        self._paths = [folder / f"{name}.{ending}" for ending, _ in self.kept]
        self._files: list[IO[bytes]] = [path.open("wb") for path in self._paths]

    def add(self, X: Any, codes: Array, weights: Array) -> None:
        self._write(codes, weights, X)
        self._count(X, codes)

    def _count(self, X: Any, codes: Array) -> None:
        self.count, self.numbers = self.count + len(codes), self.numbers + X.size
        self.reach = max(self.reach, float(squared_norms(X).max(initial=0)))

    def _write(self, *values: Any) -> None:
        for file, each, (_, dtype) in zip(self._files, values, self.kept, strict=True):
            file.write(np.ascontiguousarray(each, dtype).data)

    def close(self) -> None:
        for file in self._files:
            file.close()

    def __getstate__(self) -> dict[str, Any]:
        """Another process reads the files by their names."""
        return {**vars(self), "_files": []}

    def complete(self) -> bool:
        """Whether this process sees the files, and all their rows in them."""
        try:
            sizes = [path.stat().st_size for path in self._paths[:2]]
        except OSError:
            return False
        return sizes == [8 * self.count] * 2

    def read(self, span: slice) -> tuple[Any, Array, Array]:
        """Features, codes and weights of some rows; files are read, not mapped, so that what was read does not stay."""
        codes, weights = (self._numbers(place, span.start, span.stop) for place in (0, 1))
        return self._rows(span), codes, weights

    def _rows(self, span: slice) -> Any:
        return self._numbers(2, span.start * self.width, span.stop * self.width).reshape(
            -1, self.width
        )

    def _numbers(self, place: int, start: int, stop: int) -> Array:
        dtype = np.dtype(self.kept[place][1])
        return np.fromfile(self._paths[place], dtype, stop - start, offset=start * dtype.itemsize)

    def parts(self, rows: int = 1 << 14) -> Iterator[tuple[Any, Array, Array]]:
        for start in range(0, self.count, rows):
            yield self.read(slice(start, min(start + rows, self.count)))


class SparseRows(PreparedRows):
    """The same for CSR rows: the numbers that are not zero, their columns, and where each row ends."""

    kept = (
        *PreparedRows.kept[:2],
        ("ends", np.int64),
        ("columns", np.int32),
        ("values", np.float32),
    )

    def add(self, X: Any, codes: Array, weights: Array) -> None:
        self._write(codes, weights, self.numbers + X.indptr[1:].astype(np.int64), X.indices, X.data)
        self._count(X, codes)

    def _rows(self, span: slice) -> Any:
        before = 1 if span.start else 0
        ends = self._numbers(2, span.start - before, span.stop)
        ends = ends if before else np.concatenate([[0], ends])
        columns, values = (self._numbers(place, int(ends[0]), int(ends[-1])) for place in (3, 4))
        return sparse.csr_matrix(
            (values, columns, ends - ends[0]), (span.stop - span.start, self.width)
        )

    @property
    def thin(self) -> bool:
        return THIN * self.numbers <= self.count * self.width


def spans(files: Sequence[PreparedRows], rows: int) -> list[tuple[PreparedRows, slice]]:
    """All rows of some files in pieces of so many; none crosses from one file to the next."""
    return [
        (file, slice(k, min(k + rows, file.count)))
        for file in files
        for k in range(0, file.count, rows)
    ]


def block_rows(files: Sequence[PreparedRows], usual: int) -> int:
    """Rows in a block: of narrow dense ones as usual."""
    if files[0].width <= MOST_FEATURES:
        return (
            THIN_ROWS
            if all(isinstance(file, SparseRows) and file.thin for file in files)
            else usual
        )
    return int(
        max(
            64,
            WIDE_NUMBERS
            // (
                1 + sum(file.numbers for file in files) // max(1, sum(file.count for file in files))
            ),
        )
    )


def bytes_of(files: Sequence[PreparedRows]) -> float:
    """What a row takes in memory: its numbers, and their columns where it is sparse."""
    numbers, rows = (sum(getattr(file, name) for file in files) for name in ("numbers", "count"))
    return _BESIDE + (8 if isinstance(files[0], SparseRows) else 4) * numbers / max(1, rows)


class FileBlocks(LabelledBlocks):
    """Blocks that are read when their turn comes, and forgotten after it; `room` is for rows that a method keeps."""

    def __init__(self, *files: PreparedRows, room: int = 0) -> None:
        self.room, self.row_bytes = room, bytes_of(files)
        count, width = sum(file.count for file in files), files[0].width
        # arrays without memory: only the number of rows of a block is had from them
        nothing = np.broadcast_to(np.float32(0), (count, width))
        super().__init__(nothing, np.broadcast_to(np.int64(0), count), np.broadcast_to(0.0, count))
        rows = block_rows(files, self.blocks[0].count)
        self._buffers = Buffers()
        self.blocks = []
        for file, span in spans(files, rows):
            block = Block(nothing, slice(0, span.stop - span.start), self._buffers)
            block.own = file, span
            self.blocks.append(block)

    def _parts(self, work: Callable[..., Any], arguments: Sequence[Any]) -> Iterator[Any]:
        def read_and_work(block: Block, *arguments: Any) -> Any:
            file, span = block.own
            rows, codes, weights = file.read(span)
            there = Block(rows, slice(0, block.count), self._buffers)
            there.own = codes, weights
            return work(there, *arguments)

        yield from super()._parts(read_and_work, arguments)


def needed_bytes(rows: int, width: int, stored: int | None = None) -> int:
    """What so many rows take on disk; `stored`: numbers of all rows that are not zero, where rows are sparse."""
    return rows * _BESIDE + (4 * rows * width if stored is None else 8 * (rows + stored))


@contextlib.contextmanager
def workplace(needed: int) -> Iterator[Path]:
    """A temporary folder with room for so many bytes; it goes whatever happens."""
    with temporary_folder() as folder:
        free = shutil.disk_usage(folder).free
        if needed + _SPARED > free:
            where = f"{plain(folder.parent)} has {size(free)} free"
            raise NoRoom(
                f"the prepared rows take {size(needed)} on disk, but {where}; set TMPDIR to a larger place."
            )
        yield folder
