"""Tables on a cluster: coded blocks, and the statistics of a first pass over them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import dask
import numpy as np
from distributed import Client
from sklearn.utils.multiclass import check_classification_targets

from pegasos.dask import blocks
from pegasos.dask.blocks import Counted, Described
from pegasos.dask.passes import ClusterPasses
from pegasos.engine.rows.plan import Plan
from pegasos.engine.runtime.memory import parse_bytes
from pegasos.learners.cluster_tasks import guarded, results_of

Array = np.ndarray[Any, Any]

#: Largest share of a worker's memory for blocks kept between passes, and largest share of it in use
#: with them: from 70 % on Dask spills blocks to disk in every pass.
KEPT_SHARE, FULL_SHARE = 0.5, 0.6
#: Seconds to wait for the first worker.
WORKER_SECONDS = 10


@dataclass(frozen=True)
class Table:
    """Coded blocks of rows, ready for passes.

    `whole` counts the rows of each class, and `training` those of each fold's training part.
    `reach` is the largest squared norm of a row. `kept` blocks stay on the workers; others are
    recomputed in every pass.
    """

    passes: ClusterPasses
    classes: Array
    whole: Counted
    training: tuple[Counted, ...]
    reach: float
    dtype: np.dtype[Any]
    sparse: bool
    bytes: int
    budget: int
    kept: bool

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.whole.counts.sum())

    def plan(self, done: str) -> Plan:
        """Return the plan of a fit: the methods used (`done`) and the storage of the blocks."""
        place = "kept on the workers" if self.kept else "made again from their source in every pass"
        return Plan(
            "csr" if self.sparse else "dense",
            "by blocks",
            0,
            self.bytes,
            self.budget,
            1,
            f"blocks {place}",
            done,
        )


def open_table(
    client: Client, X: Any, y: Any, sample_weight: Any, memory: Any, folds: Any = None
) -> Table:
    """Validate and describe all blocks.

    Blocks that fit into the workers' memory are kept there; others are recomputed when needed.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    X, y, sample_weight : Dask array, Dask DataFrame or list of delayed objects
        Rows, labels and optional weights.
    memory : int or str, optional
        Bytes on the workers within which blocks are kept.
    folds : DrawnFolds, Dask array or list of delayed objects, optional
        Folds, in the blocks of X.

    Returns
    -------
    Table
        The coded blocks.
    """
    if y is None:
        raise ValueError("y is None: a classifier needs labels.")
    pieces = blocks.split(X, y, sample_weight, folds)
    lazy = [
        dask.delayed(blocks.read, pure=False)(number, *piece) for number, piece in enumerate(pieces)
    ]
    budget = _budget(client, memory)
    rows = client.compute(lazy) if blocks.known_bytes(X) <= budget else lazy
    described = _described(client, rows)
    full = [number for number, found in enumerate(described) if found.rows]
    classes = _classes([(number, described[number].labels) for number in full])
    size = sum(found.bytes for found in described)
    kept = size <= budget
    rows = (
        client.compute([rows[number] for number in full])
        if kept and rows is lazy
        else [rows[number] for number in full]
    )
    held = client.submit(blocks.hold, classes, pure=False)
    if kept:
        coded = [client.submit(blocks.encode, piece, held, pure=False) for piece in rows]
    else:
        coded = [dask.delayed(blocks.encode, pure=False)(piece, held) for piece in rows]
    first = described[full[0]]
    most = max(len(found.folds) for found in described)
    parts = [
        _total(classes, [(d.labels, d.folds[place]) for d in described if place < len(d.folds)])
        for place in range(most)
    ]
    return Table(
        ClusterPasses(
            client, coded, first.width, kept, size / sum(found.rows for found in described)
        ),
        classes,
        _total(classes, [(d.labels, d.whole) for d in described]),
        tuple(
            _sum([part for number, part in enumerate(parts) if number != place])
            for place in range(1, most)
        ),
        max(found.reach for found in described),
        np.result_type(*(described[number].dtype for number in full)),
        first.sparse,
        size,
        budget,
        kept,
    )


def _described(client: Client, rows: list[Any]) -> list[Described]:
    futures = client.compute([dask.delayed(blocks.describe, pure=False)(piece) for piece in rows])
    with guarded(client, futures):
        described: list[Described] = results_of(client, futures)
    full = [(number, found) for number, found in enumerate(described) if found.rows]
    if not full:
        raise ValueError("X has no rows: all its blocks are empty.")
    first, width = full[0][0], full[0][1].width
    for number, found in full:
        if found.width != width:
            raise ValueError(
                f"block {number} of X has {found.width} columns, block {first} has {width}."
            )
    return described


def _classes(labels: list[tuple[int, Array]]) -> Array:
    """Return the sorted labels of all blocks."""
    first, kind = labels[0][0], _kind(labels[0][1])
    for number, own in labels:
        if _kind(own) != kind:
            raise ValueError(
                f"the labels in block {number} of y are of another kind ({own.dtype}) than those in block {first} "
                f"({labels[0][1].dtype})."
            )
    try:
        classes = np.unique(np.concatenate([own for _, own in labels]))
    except TypeError:
        raise ValueError(
            f"y has labels of different types, which have no order: {blocks.ALIKE}."
        ) from None
    check_classification_targets(classes)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only ({classes[0]!r}); a classifier needs examples of at least two classes."
        )
    return classes


def _kind(labels: Array) -> str:
    return "text" if labels.dtype.kind in "OUST" else "numbers"


def _total(classes: Array, parts: list[tuple[Array, Counted]]) -> Counted:
    """Return the sums over the blocks, in their order."""
    total = [np.zeros(len(classes)) for _ in range(3)]
    for labels, counted in parts:
        for mine, numbers in zip(
            total, (counted.counts, counted.present, counted.sums), strict=True
        ):
            if len(labels):
                mine[np.searchsorted(classes, labels)] += numbers
    return Counted(*total)


def _sum(parts: list[Counted]) -> Counted:
    return Counted(
        *(
            np.sum([getattr(part, name) for part in parts], axis=0)
            for name in ("counts", "present", "sums")
        )
    )


def _budget(client: Client, memory: Any) -> int:
    if memory is not None:
        return parse_bytes(memory)
    with contextlib.suppress(TimeoutError):  # the only worker may be restarting
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    if not workers:
        raise ValueError(
            "the Dask cluster has no workers (yet): start some, or wait with client.wait_for_workers(1)."
        )
    return room(workers)


def room(workers: Iterable[dict[str, Any]]) -> int:
    """Return how many bytes of blocks the workers can keep.

    `workers` is the scheduler's information on them.
    """
    found = 0.0
    for worker in workers:
        limit = worker["memory_limit"] or 0
        found += max(0.0, min(KEPT_SHARE * limit, FULL_SHARE * limit - worker["metrics"]["memory"]))
    return int(found)
