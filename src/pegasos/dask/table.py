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

from pegasos.dask import blocks, inputs
from pegasos.dask.blocks import Counted, Described
from pegasos.dask.passes import ClusterPasses, results
from pegasos.engine.rows.plan import Plan
from pegasos.engine.runtime.memory import parse_bytes

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
    `reach` is the largest squared norm of a row. `plan` says whether blocks stay on the workers, or
    are recomputed in every pass.
    """

    passes: ClusterPasses
    classes: Array
    whole: Counted
    training: tuple[Counted, ...]
    reach: float
    dtype: np.dtype[Any]
    plan: Plan


def open_table(
    client: Client, X: Any, y: Any, sample_weight: Any, memory: Any, folds: Any = None
) -> Table:
    """Validate and describe all blocks.

    Blocks that fit into `memory`, by default a share of the workers' memory, are kept there; others
    are recomputed when needed. `folds` are those of a cross-validation, in the blocks of X.
    """
    if y is None:
        raise ValueError("y is None: a classifier needs labels.")
    read, describe, encode = (
        dask.delayed(each, pure=False) for each in (blocks.read, blocks.describe, blocks.encode)
    )
    pieces = inputs.split(X, y, sample_weight, folds)
    rows = [read(number, *piece) for number, piece in enumerate(pieces)]
    budget = parse_bytes(memory) if memory is not None else _room(client)
    if inputs.is_array(X) and X.nbytes <= budget:  # else its size is found first
        rows = client.compute(rows)
    described = results(client, [describe(each) for each in rows])
    full = {number: found for number, found in enumerate(described) if found.rows}
    _check_widths(full)
    classes = _classes({number: found.labels for number, found in full.items()})
    coded = [encode(rows[number], classes) for number in full]
    every, first = list(full.values()), next(iter(full.values()))
    size, count = (sum(getattr(each, name) for each in every) for name in ("bytes", "rows"))
    kept = size <= budget
    place = "kept on the workers" if kept else "made again from their source in every pass"
    kind = "csr" if first.sparse else "dense"
    totals = _totals(classes, every)
    return Table(
        ClusterPasses(client, client.compute(coded) if kept else coded, first.width, size / count),
        classes,
        Counted(*totals.sum(axis=0)),
        tuple(
            Counted(*np.delete(totals, fold, axis=0).sum(axis=0)) for fold in range(1, len(totals))
        ),
        max(found.reach for found in every),
        np.result_type(*(found.dtype for found in every)),
        Plan(kind, "by blocks", 0, size, budget, 1, f"blocks {place}"),
    )


def _check_widths(full: dict[int, Described]) -> None:
    if not full:
        raise ValueError("X has no rows: all its blocks are empty.")
    first = next(iter(full))
    for number, found in full.items():
        if found.width != full[first].width:
            raise ValueError(
                f"block {number} of X has {found.width} columns, "
                f"block {first} has {full[first].width}."
            )


def _totals(classes: Array, described: Iterable[Described]) -> Array:
    """Return the sums of the blocks' totals, in their order, with the labels of all blocks."""
    folds = max(len(found.totals) for found in described)
    totals = np.zeros((folds, 3, len(classes)))
    for found in described:
        totals[: len(found.totals), :, np.searchsorted(classes, found.labels)] += found.totals
    return totals


def _classes(labels: dict[int, Array]) -> Array:
    """Return the sorted labels of all blocks."""
    first = next(iter(labels))
    for number, own in labels.items():
        if _kind(own) != _kind(labels[first]):
            raise ValueError(
                f"the labels in block {number} of y are of another kind ({own.dtype}) "
                f"than those in block {first} ({labels[first].dtype})."
            )
    try:
        classes = np.unique(np.concatenate(list(labels.values())))
    except TypeError:
        raise ValueError(
            f"y has labels of different types, which have no order: {blocks.ALIKE}."
        ) from None
    check_classification_targets(classes)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only ({classes[0]!r}); "
            "a classifier needs examples of at least two classes."
        )
    return classes


def _kind(labels: Array) -> str:
    return "text" if labels.dtype.kind in "OUST" else "numbers"


def _room(client: Client) -> int:
    """Return how many bytes of blocks the workers can keep."""
    with contextlib.suppress(TimeoutError):  # the only worker may be restarting
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    if not workers:
        raise ValueError(
            "the Dask cluster has no workers (yet): start some, "
            "or wait with client.wait_for_workers(1)."
        )
    room = 0.0
    for worker in workers:
        limit = worker["memory_limit"] or 0
        room += max(0.0, min(KEPT_SHARE * limit, FULL_SHARE * limit - worker["metrics"]["memory"]))
    return int(room)
