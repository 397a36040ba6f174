"""Fit SDCA to rows in files: the fitted learner is one that any other data could have given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pegasos.engine.rows.plan import Plan, budget_bytes
from pegasos.engine.runtime.threads import blas_threads
from pegasos.learners.from_passes import fit_in_passes, warn_if_late
from pegasos.learners.sdca import SDCA
from pegasos.program.learning.row_files import (
    FileBlocks,
    RowFile,
    SparseRowFile,
    bytes_of_row,
    spans,
    totals,
)
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


def fit_to_files(
    learner: SDCA,
    files: Sequence[RowFile],
    classes: Array,
    sums: Array,
    present: Array,
    cluster: Cluster | None = None,
) -> None:
    """Fit a linear SDCA.

    Parameters
    ----------
    learner : changed by the fit.
    files : prepared rows; the workers of a cluster must see them under the same names.
    classes : all classes.
    sums, present : of each class, the sum of sample weights, and the number of rows with a weight.
    cluster : where rows are read; None: in this process.
    """
    learner._check_parameters()
    rows, budget = totals(files)[0], budget_bytes(learner.memory)
    given = (classes, sums, rows, present, max(file.reach for file in files), np.float64)
    where = "rows in a file of float32"
    if cluster is None:
        with FileBlocks(*files, room=int(_KEPT_SHARE * budget)) as blocks:
            done = fit_in_passes(learner, blocks, *given)
    else:
        with _passes_on_cluster(cluster, files) as passes:
            done = fit_in_passes(learner, passes, *given)
        where += ", read by the workers of a cluster"
    kind = "csr" if isinstance(files[0], SparseRowFile) else "dense"
    learner.plan_ = Plan(kind, "by blocks", 0, 0, budget, blas_threads(), where, done)
    warn_if_late(learner, single=True)


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
    for file in files:
        blind = [name for name, answer in client.run(_sees, file).items() if not answer]
        if blind:
            raise BadData(
                f"{len(blind)} of {len(workers)} workers cannot read {plain(file.folder)}, where "
                "the prepared rows are: set TMPDIR to a folder that all of them share."
            )
    rows, numbers = totals(files)
    least = max(_LEAST_ROWS, -(-rows // (_PIECES_PER_WORKER * len(workers))))
    size = max(1, min(_PIECE_NUMBERS // max(1, numbers // max(1, rows)), least))
    # Not pure: the files of two runs may have the same names.
    lazy = [
        dask.delayed(_read_piece, pure=False)(file, span.start, span.stop)
        for file, span in spans(files, size)
    ]
    memory = room(workers.values()) if cluster.memory is None else cluster.memory
    fits = _NUMBER_BYTES * (numbers + 2 * rows) <= memory
    held: list[Any] = client.compute(lazy) if fits else lazy
    with guarded(client, held if fits else []):
        yield ClusterPasses(client, held, files[0].width, bytes_of_row(files))


def _read_piece(file: RowFile, start: int, stop: int) -> Any:
    from pegasos.dask.blocks import BlockRows

    return BlockRows(*file.read(slice(start, stop)))


def _sees(file: RowFile) -> bool:
    return file.is_complete()
