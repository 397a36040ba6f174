"""Prepared rows in temporary files, and blocks of them for fits in passes."""

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
from pegasos.program.tables.dataset import Array, BadData
from pegasos.program.tables.messages import plain, size

#: Bytes of a row besides its features: its class and its weight.
_OTHER_BYTES = 16
#: Free disk space that is left alone.
_SPARED_BYTES = 100 * 10**6


class NoRoom(BadData):
    """Prepared rows do not fit on the disk."""


class RowFile:
    """Dense rows in files: class codes, weights, and features as float32.

    Other processes may read the files of a pickled copy by their names.
    """

    #: Ending and type of each file.
    _PARTS: tuple[tuple[str, Any], ...] = (
        ("codes", np.int64),
        ("weights", np.float64),
        ("rows", np.float32),
    )

    def __init__(self, folder: Path, name: str, width: int) -> None:
        self.folder, self.width = folder, width
        #: Rows and stored numbers, and the largest x·x.
        self.count, self.numbers, self.reach = 0, 0, 0.0
        self._paths = [folder / f"{name}.{ending}" for ending, _ in self._PARTS]
        self._files: list[IO[bytes]] = [path.open("wb") for path in self._paths]

    def add(self, X: Any, codes: Array, weights: Array) -> None:
        """Append rows."""
        values = codes, weights, *self._features(X)
        for file, each, (_, dtype) in zip(self._files, values, self._PARTS, strict=True):
            file.write(np.ascontiguousarray(each, dtype).data)
        self.count, self.numbers = self.count + len(codes), self.numbers + X.size
        self.reach = max(self.reach, float(squared_norms(X).max(initial=0)))

    def _features(self, X: Any) -> tuple[Any, ...]:
        return (X,)

    def close(self) -> None:
        """Close the files; they can be read from now on."""
        for file in self._files:
            file.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_files": []}

    def is_complete(self) -> bool:
        """Return whether this process sees the files with all their rows."""
        try:
            sizes = [path.stat().st_size for path in self._paths[:2]]
        except OSError:
            return False
        return sizes == [8 * self.count] * 2

    def read(self, span: slice) -> tuple[Any, Array, Array]:
        """Return features, codes and weights of some rows."""
        codes, weights = (self._numbers(place, span.start, span.stop) for place in (0, 1))
        return self._rows(span), codes, weights

    def _rows(self, span: slice) -> Any:
        numbers = self._numbers(2, span.start * self.width, span.stop * self.width)
        return numbers.reshape(-1, self.width)

    def _numbers(self, place: int, start: int, stop: int) -> Array:
        """Read numbers; files are not mapped, as mapped pages would stay in memory."""
        dtype = np.dtype(self._PARTS[place][1])
        return np.fromfile(self._paths[place], dtype, stop - start, offset=start * dtype.itemsize)

    def parts(self, rows: int = 1 << 14) -> Iterator[tuple[Any, Array, Array]]:
        """Yield all rows in parts."""
        for _, span in spans([self], rows):
            yield self.read(span)


class SparseRowFile(RowFile):
    """CSR rows in files: stored numbers, their columns, and the end of each row."""

    _PARTS = (
        *RowFile._PARTS[:2],
        ("ends", np.int64),
        ("columns", np.int32),
        ("values", np.float32),
    )

    def _features(self, X: Any) -> tuple[Any, ...]:
        return self.numbers + X.indptr[1:].astype(np.int64), X.indices, X.data

    def _rows(self, span: slice) -> Any:
        first = np.zeros(1, np.int64) if span.start == 0 else self._ends(span.start - 1, span.start)
        ends = np.concatenate([first, self._ends(span.start, span.stop)])
        columns, values = (self._numbers(place, int(ends[0]), int(ends[-1])) for place in (3, 4))
        shape = span.stop - span.start, self.width
        return sparse.csr_matrix((values, columns, ends - ends[0]), shape)

    def _ends(self, start: int, stop: int) -> Array:
        return self._numbers(2, start, stop)


def spans(files: Sequence[RowFile], rows: int) -> list[tuple[RowFile, slice]]:
    """Return all rows of some files in pieces of at most `rows`, each from one file."""
    return [
        (file, slice(start, min(start + rows, file.count)))
        for file in files
        for start in range(0, file.count, rows)
    ]


def totals(files: Sequence[RowFile]) -> tuple[int, int]:
    """Return the number of rows and of stored numbers."""
    return sum(file.count for file in files), sum(file.numbers for file in files)


def bytes_of_row(files: Sequence[RowFile]) -> float:
    """Return the mean size of a row in memory."""
    rows, numbers = totals(files)
    each = 8 if isinstance(files[0], SparseRowFile) else 4  # a column beside each sparse number
    return _OTHER_BYTES + each * numbers / max(1, rows)


def _block_rows(files: Sequence[RowFile], usual: int) -> int:
    rows, numbers = totals(files)
    width = files[0].width
    if width > MOST_FEATURES:
        return max(64, WIDE_NUMBERS // (1 + numbers // max(1, rows)))
    is_thin = isinstance(files[0], SparseRowFile) and THIN * numbers <= rows * width
    return THIN_ROWS if is_thin else usual


class FileBlocks(LabelledBlocks):
    """Blocks of rows that are read when their turn comes, and released after it.

    `room` is the memory for rows that a method keeps.
    """

    def __init__(self, *files: RowFile, room: int = 0) -> None:
        self.room, self.row_bytes = room, bytes_of_row(files)
        count, width = totals(files)[0], files[0].width
        # Arrays without memory: blocks take only the number of rows from them.
        nothing = np.broadcast_to(np.float32(0), (count, width))
        super().__init__(nothing, np.broadcast_to(np.int64(0), count), np.broadcast_to(0.0, count))
        rows = _block_rows(files, self.blocks[0].count)
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


def bytes_on_disk(rows: int, width: int, stored: int | None = None) -> int:
    """Return the size of prepared rows in files.

    `stored` is the number of stored numbers if rows are sparse.
    """
    features = 4 * rows * width if stored is None else 8 * (rows + stored)
    return rows * _OTHER_BYTES + features


@contextlib.contextmanager
def workplace(needed: int) -> Iterator[Path]:
    """Create a temporary folder with room for so many bytes, and remove it in any case."""
    with temporary_folder() as folder:
        free = shutil.disk_usage(folder).free
        if needed + _SPARED_BYTES > free:
            where = f"{plain(folder.parent)} has {size(free)} free"
            raise NoRoom(
                f"the prepared rows take {size(needed)} on disk, but {where}; "
                "set TMPDIR to a larger place."
            )
        yield folder
