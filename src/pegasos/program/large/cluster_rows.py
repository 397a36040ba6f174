"""Prepared rows on a Dask cluster: its workers read pieces of the files, and keep them where their memory has room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dask
from distributed import Client

from pegasos.dask.blocks import Coded
from pegasos.dask.passes import ClusterPasses, guarded
from pegasos.dask.table import room
from pegasos.program.large.prepared import PreparedRows, bytes_of, spans
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import plain

#: Numbers in a piece, which is one task of a pass: 64 MB as float32; and tasks for each worker at least, as far as rows go round.
PIECE_NUMBERS, PIECES_A_WORKER, LEAST_ROWS = 1 << 24, 4, 1 << 12
#: What a piece takes on a worker for each number that a file has: kept as it is, with the numbers of its rows.
_BYTES = 8


def read_piece(file: PreparedRows, start: int, stop: int) -> Coded:
    """What a worker does: some rows of a file."""
    return Coded(*file.read(slice(start, stop)))


def sees(file: PreparedRows) -> bool:
    """Whether this process can read the file, and finds all of it."""
    return file.complete()


@contextmanager
def passes_on_cluster(
    client: Client, files: Sequence[PreparedRows], memory: int | None
) -> Iterator[ClusterPasses]:
    """Passes over all rows. Pieces are kept on the workers if all of them fit into `memory` (None: as much as the workers
    have room for), else read again in every pass.
    """
    workers = client.scheduler_info(n_workers=-1)["workers"]
    if not workers:
        raise ConnectionError("the Dask cluster has no workers: start some with `dask worker`.")
    for file in files:
        blind = [name for name, answer in client.run(sees, file).items() if not answer]
        if blind:
            what = f"{len(blind)} of {len(workers)} workers cannot read {plain(file.folder)}, where the prepared rows are"
            raise BadData(f"{what}: set TMPDIR to a folder that all of them share.")
    rows, numbers = sum(file.count for file in files), sum(file.numbers for file in files)
    each = max(1, numbers // max(1, rows))
    size = min(PIECE_NUMBERS // each, max(LEAST_ROWS, -(-rows // (PIECES_A_WORKER * len(workers)))))
    # pieces that cannot be told from others by name: the files of two runs may have the same
    lazy = [
        dask.delayed(read_piece, pure=False)(file, span.start, span.stop)
        for file, span in spans(files, max(1, size))
    ]
    if memory is None:
        memory = room(workers.values())
    kept = _BYTES * (numbers + 2 * rows) <= memory
    held: list[Any] = client.compute(lazy) if kept else lazy
    with guarded(client, held if kept else []):
        yield ClusterPasses(client, held, files[0].width, kept, bytes_of(files))
