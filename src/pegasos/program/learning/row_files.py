"""Prepared rows in temporary files, which other processes may read, too."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from pegasos.engine.kernels.distances import squared_norms
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
    """Rows in files: class codes, weights, and features as float32, dense or CSR.

    CSR rows are stored numbers, their columns, and the end of each row. Other processes may read
    the files of a pickled copy by their names.
    """

    def __init__(self, folder: Path, name: str, width: int, is_sparse: bool = False) -> None:
        self.folder, self.width, self.is_sparse = folder, width, is_sparse
        #: Rows and stored numbers, and the largest x·x.
        self.count, self.numbers, self.reach = 0, 0, 0.0
        self._types: dict[str, Any] = {"codes": np.int64, "weights": np.float64}
        if is_sparse:
            self._types |= {"ends": np.int64, "columns": np.int32, "values": np.float32}
        else:
            self._types["rows"] = np.float32
        self._paths = {ending: folder / f"{name}.{ending}" for ending in self._types}
        self._files: list[IO[bytes]] = [path.open("wb") for path in self._paths.values()]

    def add(self, X: Any, codes: Array, weights: Array) -> None:
        """Append rows."""
        features = [X]
        if self.is_sparse:
            features = [self.numbers + X.indptr[1:].astype(np.int64), X.indices, X.data]
        values = codes, weights, *features
        for file, dtype, each in zip(self._files, self._types.values(), values, strict=True):
            file.write(np.ascontiguousarray(each, dtype).data)
        self.count, self.numbers = self.count + len(codes), self.numbers + X.size
        self.reach = max(self.reach, float(squared_norms(X).max(initial=0)))

    def close(self) -> None:
        """Close the files; they can be read from now on."""
        for file in self._files:
            file.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_files": []}

    def is_complete(self) -> bool:
        """Return whether this process sees the files with all their rows."""
        with contextlib.suppress(OSError):
            sizes = [self._paths[ending].stat().st_size for ending in ("codes", "weights")]
            return sizes == [8 * self.count] * 2
        return False

    def read(self, span: slice) -> tuple[Any, Array, Array]:
        """Return features, codes and weights of some rows."""
        start, stop = span.start, span.stop
        codes, weights = (self._numbers(ending, start, stop) for ending in ("codes", "weights"))
        if not self.is_sparse:
            numbers = self._numbers("rows", start * self.width, stop * self.width)
            return numbers.reshape(-1, self.width), codes, weights
        ends = self._numbers("ends", max(0, start - 1), stop)
        if start == 0:
            ends = np.append(0, ends)
        columns, values = (
            self._numbers(ending, int(ends[0]), int(ends[-1])) for ending in ("columns", "values")
        )
        rows = sparse.csr_matrix((values, columns, ends - ends[0]), (stop - start, self.width))
        return rows, codes, weights

    def _numbers(self, ending: str, start: int, stop: int) -> Array:
        """Read numbers; files are not mapped, as mapped pages would stay in memory."""
        dtype = np.dtype(self._types[ending])
        return np.fromfile(self._paths[ending], dtype, stop - start, offset=start * dtype.itemsize)

    def parts(self, rows: int = 1 << 14) -> Iterator[tuple[Any, Array, Array]]:
        """Yield all rows in parts."""
        for _, span in spans([self], rows):
            yield self.read(span)


def spans(files: Sequence[RowFile], rows: int) -> list[tuple[RowFile, slice]]:
    """Return all rows of some files in pieces of at most `rows`, each from one file."""
    return [
        (file, slice(start, min(start + rows, file.count)))
        for file in files
        for start in range(0, file.count, rows)
    ]


def bytes_of_rows(rows: float, numbers: float, is_sparse: bool) -> float:
    """Return the size of rows with so many stored numbers."""
    return _OTHER_BYTES * rows + (8 * (rows + numbers) if is_sparse else 4 * numbers)


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
