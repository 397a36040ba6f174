"""Prepared rows in temporary files, and fits of SDCA in passes over them, here or on a cluster."""

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
from pegasos.engine.rows.plan import Plan, budget_bytes
from pegasos.engine.runtime.memory import Buffers
from pegasos.engine.runtime.threads import blas_threads
from pegasos.learners.from_passes import fit_in_passes
from pegasos.learners.sdca import SDCA, warn_if_late
from pegasos.program.files import temporary_folder
from pegasos.program.learning.tables import Cluster
from pegasos.program.tables.dataset import Array, BadData
from pegasos.program.tables.messages import plain, size

#: Bytes of a row besides its features: its class and its weight.
_OTHER_BYTES = 16
#: Free disk space that is left alone.
_SPARED_BYTES = 100 * 10**6
#: The share of the memory for rows that are kept between passes.
_KEPT_SHARE = 0.5
#: Numbers in a piece of rows on a cluster, which is one task of a pass (64 MB as float32), least
#: tasks per worker, and least rows in a task.
_PIECE_NUMBERS, _PIECES_PER_WORKER, _LEAST_ROWS = 1 << 24, 4, 1 << 12
#: Bytes on a worker for each number in a file.
_NUMBER_BYTES = 8


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
    """Return the size in bytes of rows with `numbers` stored values."""
    return _OTHER_BYTES * rows + (8 * (rows + numbers) if is_sparse else 4 * numbers)


@contextlib.contextmanager
def workplace(needed: int) -> Iterator[Path]:
    """Create a temporary folder with room for `needed` bytes, and remove it on exit."""
    with temporary_folder() as folder:
        free = shutil.disk_usage(folder).free
        if needed + _SPARED_BYTES > free:
            where = f"{plain(folder.parent)} has {size(free)} free"
            raise NoRoom(
                f"the prepared rows take {size(needed)} on disk, but {where}; "
                "set TMPDIR to a larger place."
            )
        yield folder


class FileBlocks(LabelledBlocks):
    """Blocks of rows that are read when their turn comes, and released after it.

    `room` is the memory for rows that a method keeps.
    """

    def __init__(self, files: Sequence[RowFile], room: float = 0.0) -> None:
        rows, numbers = _totals(files)
        width, is_sparse = files[0].width, files[0].is_sparse
        # An array without memory: blocks take only the number of rows from it.
        nothing = np.broadcast_to(np.float32(0), (rows, width))
        super().__init__(nothing)
        self.room, self.row_bytes = room, bytes_of_rows(1, numbers / rows, is_sparse)
        size = self.blocks[0].count
        if width > MOST_FEATURES:
            size = max(64, WIDE_NUMBERS // (1 + numbers // rows))
        elif is_sparse and THIN * numbers <= rows * width:
            size = THIN_ROWS
        self._buffers = Buffers()
        self.blocks = []
        for file, span in spans(files, size):
            block = Block(nothing, slice(0, span.stop - span.start), self._buffers)
            block.own = file, span
            self.blocks.append(block)

    def _parts(self, work: Callable[..., Any], arguments: Sequence[Any]) -> Iterator[Any]:
        def read_and_work(block: Block, *arguments: Any) -> Any:
            file, span = block.own
            rows, *own = file.read(span)
            there = Block(rows, slice(0, block.count), self._buffers)
            there.own = tuple(own)
            return work(there, *arguments)

        yield from super()._parts(read_and_work, arguments)


def fit_to_files(
    learner: SDCA,
    files: Sequence[RowFile],
    classes: Array,
    sums: Array,
    present: Array,
    cluster: Cluster | None = None,
) -> None:
    """Fit a linear SDCA, which afterwards is as one that was fitted to rows in memory.

    Parameters
    ----------
    learner : changed by the fit.
    files : prepared rows; the workers of a cluster must see them under the same names.
    classes : all classes.
    sums, present : of each class, the sum of sample weights, and the number of rows with a weight.
    cluster : where rows are read; None: in this process.
    """
    learner._check_parameters()
    rows, budget = _totals(files)[0], budget_bytes(learner.memory)
    given = (classes, sums, rows, present, max(file.reach for file in files), np.float64)
    where = "rows in a file of float32"
    if cluster is None:
        with FileBlocks(files, _KEPT_SHARE * budget) as blocks:
            done = fit_in_passes(learner, blocks, *given)
    else:
        with _passes_on_cluster(cluster, files) as passes:
            done = fit_in_passes(learner, passes, *given)
        where += ", read by the workers of a cluster"
    kind = "csr" if files[0].is_sparse else "dense"
    learner.plan_ = Plan(kind, "by blocks", 0, 0, budget, blas_threads(), where, done)
    warn_if_late(learner, single=True, finished=learner.n_iter_ < learner.max_epochs)


def _totals(files: Sequence[RowFile]) -> tuple[int, int]:
    """Return the number of rows and of stored numbers."""
    return sum(file.count for file in files), sum(file.numbers for file in files)


@contextlib.contextmanager
def _passes_on_cluster(cluster: Cluster, files: Sequence[RowFile]) -> Iterator[Any]:
    """Yield passes over all rows; pieces stay on the workers if all of them fit."""
    import dask

    from pegasos.dask.passes import ClusterPasses, guarded
    from pegasos.dask.table import room

    client = cluster.client
    workers = client.scheduler_info(n_workers=-1)["workers"]
    if not workers:
        raise ConnectionError("the Dask cluster has no workers: start some with `dask worker`.")
    seen = [client.run(RowFile.is_complete, file) for file in files]
    if blind := {worker for answers in seen for worker, sees in answers.items() if not sees}:
        raise BadData(
            f"{len(blind)} of {len(workers)} workers cannot read {plain(files[0].folder)}, where "
            "the prepared rows are: set TMPDIR to a folder that all of them share."
        )
    rows, numbers = _totals(files)
    least = max(_LEAST_ROWS, -(-rows // (_PIECES_PER_WORKER * len(workers))))
    size = max(1, min(_PIECE_NUMBERS // max(1, numbers // rows), least))
    # Not pure: the files of two runs may have the same names.
    lazy = [
        dask.delayed(_read_piece, pure=False)(file, span.start, span.stop)
        for file, span in spans(files, size)
    ]
    memory = room(workers.values()) if cluster.memory is None else cluster.memory
    fits = _NUMBER_BYTES * (numbers + 2 * rows) <= memory
    held: list[Any] = client.compute(lazy) if fits else lazy
    row_bytes = bytes_of_rows(1, numbers / rows, files[0].is_sparse)
    with guarded(client, held if fits else []):
        yield ClusterPasses(client, held, files[0].width, row_bytes)


def _read_piece(file: RowFile, start: int, stop: int) -> Any:
    from pegasos.dask.blocks import BlockRows

    return BlockRows(*file.read(slice(start, stop)))
