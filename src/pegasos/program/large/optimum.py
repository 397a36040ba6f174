"""SDCA's optimum for rows in files: an ordinary fitted learner, which nobody can tell from one that had all rows in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.engine.rows.plan import Plan, budget_bytes
from pegasos.engine.runtime.threads import blas_threads
from pegasos.learners.from_passes import fit_in_passes, warn_if_late
from pegasos.learners.sdca import SDCA
from pegasos.program.large.prepared import FileBlocks, PreparedRows, SparseRows

Array = np.ndarray[Any, Any]

#: The share of the memory for rows that are held in it between passes.
ROOM_SHARE = 0.5


@dataclass(frozen=True)
class Cluster:
    """Where work is sent: a distributed.Client, and the bytes in which rows may stay there; None: as there is room."""

    client: Any
    memory: int | None = None


def fit_to_files(
    learner: SDCA,
    files: Sequence[PreparedRows],
    classes: Array,
    sums: Array,
    present: Array,
    cluster: Cluster | None = None,
) -> None:
    """Fit a linear SDCA; `sums` are the sample weights of each class, `present` its rows with a weight above 0.

    On a cluster the workers read the files, piece by piece: they must see them under the same names.
    """
    learner._check_parameters()
    rows, budget = sum(file.count for file in files), budget_bytes(learner.memory)
    given = (classes, sums, rows, present, max(file.reach for file in files), np.float64)
    if cluster is None:
        with FileBlocks(*files, room=int(ROOM_SHARE * budget)) as blocks:
            done = fit_in_passes(learner, blocks, *given)
        where = "rows in a file of float32"
    else:
        from pegasos.program.large.cluster_rows import passes_on_cluster

        with passes_on_cluster(cluster.client, files, cluster.memory) as passes:
            done = fit_in_passes(learner, passes, *given)
        where = "rows in a file of float32, read by the workers of a cluster"
    kind = "csr" if isinstance(files[0], SparseRows) else "dense"
    learner.plan_ = Plan(kind, "by blocks", 0, 0, budget, blas_threads(), where, done)
    warn_if_late(learner, single=True)
