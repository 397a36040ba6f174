"""Fit SDCA in passes over rows in files, which this process or the workers of a cluster read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pegasos.engine.optimum.passes.passes import MOST_FEATURES, WIDE_NUMBERS, LabelledBlocks
from pegasos.engine.rows.blocks import THIN, THIN_ROWS, Block
from pegasos.engine.rows.plan import Plan, budget_bytes
from pegasos.engine.runtime.memory import Buffers
from pegasos.engine.runtime.threads import blas_threads
from pegasos.learners.from_passes import fit_in_passes, warn_if_late
from pegasos.learners.sdca import SDCA
from pegasos.program.learning.row_files import RowFile, bytes_of_rows, spans
from pegasos.program.learning.tables import Cluster
from pegasos.program.tables.dataset import Array, BadData
from pegasos.program.tables.messages import plain

#: The share of the memory for rows that are kept between passes.
_KEPT_SHARE = 0.5
#: Numbers in a piece of rows on a cluster, which is one task of a pass (64 MB as float32), least
#: tasks per worker, and least rows in a task.
_PIECE_NUMBERS, _PIECES_PER_WORKER, _LEAST_ROWS = 1 << 24, 4, 1 << 12
#: Bytes on a worker for each number in a file.
_NUMBER_BYTES = 8


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
    warn_if_late(learner, single=True)


def _totals(files: Sequence[RowFile]) -> tuple[int, int]:
    """Return the number of rows and of stored numbers."""
    return sum(file.count for file in files), sum(file.numbers for file in files)


@contextmanager
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
