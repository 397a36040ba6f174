"""Nyström features of rows on a cluster: landmarks from a sample of all blocks, features block by block when they are needed."""

from __future__ import annotations

from typing import Any

import dask
import numpy as np
from distributed import Client
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from pegasos.dask import blocks
from pegasos.dask.connection import current_client, localized
from pegasos.dask.prediction import lazily
from pegasos.engine.kernels.landmarks import SAMPLE
from pegasos.learners.cluster_tasks import guarded, results_of
from pegasos.learners.connected import Connected
from pegasos.learners.task import draw_seed
from pegasos.nystroem import Nystroem

Array = np.ndarray[Any, Any]


class DaskNystroem(Connected, Nystroem):
    """`Nystroem` for rows on a Dask cluster: φ(x) = Wᵀ K(landmarks, x), lazily and block by block.

    Landmarks (and widths such as "scale") come from a sample of at most 20,000 rows (or as many as there are landmarks), drawn
    from all blocks; a table that is not larger gives the landmarks of `Nystroem`. A `DaskSDCA` behind it keeps the features on
    the workers if they fit there, or has them made again in every pass; its certificate is about these features. The same blocks
    give the same bits on any number of workers.

    Parameters
    ----------
    kernel, landmarks, selection, dtype, random_state : as in `Nystroem`.
    memory : for rows in memory only: features of a block are always made as a whole, so blocks of a million rows are too large.
    client : the distributed.Client; None: the current one.

    Attributes
    ----------
    landmarks_, kernel_, weights_, eigenvalues_ : as in `Nystroem`; landmark_indices_ : positions among all rows.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from pegasos.dask import DaskSDCA
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(DaskNystroem(landmarks=200, random_state=0), DaskSDCA("logistic"))
    >>> with Client(processes=False, n_workers=1, dashboard_address=None) as client:
    ...     model = model.fit(da.from_array(X[:1000] / 16, chunks=(250, -1)), y[:1000])
    >>> round(float((model.predict(X[1000:] / 16) == y[1000:]).mean()), 2)
    0.93
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        landmarks: int = 500,
        selection: str = "kmeans++",
        *,
        dtype: str = "float32",
        memory: Any = None,
        random_state: Any = None,
        client: Any = None,
    ) -> None:
        super().__init__(
            kernel, landmarks, selection, dtype=dtype, memory=memory, random_state=random_state
        )
        self.client = client

    def fit(self, X: Any, y: Any = None) -> DaskNystroem:
        """Choose landmarks among the rows of a Dask array (dense or CSR), a Dask DataFrame or a list of delayed parts."""
        self._check_parameters()
        seed = draw_seed(self.random_state)
        rows, positions = _sample(current_client(self.client), X, max(SAMPLE, self.landmarks), seed)
        super().fit(rows)
        self.landmark_indices_ = positions[self.landmark_indices_]
        blocks.name_features(self, X)
        return self

    def transform(self, X: Any) -> Any:
        """φ of each row: a Dask array, or a list for a list of parts; as `Nystroem` has it for rows in memory."""
        return lazily(self.to_local(), "transform", X)

    def to_local(self) -> Nystroem:
        """The ordinary step with the same landmarks: for rows in memory, and for model files."""
        check_is_fitted(self)
        return localized(self, Nystroem)


def _sample(client: Client, X: Any, most: int, seed: int) -> tuple[Any, Array]:
    """At most so many rows of all blocks, any of them equally likely, in their order; and their positions."""
    pieces = [dask.delayed(piece) for (piece, *_) in blocks.split(X)]
    counts = np.array(_results(client, [dask.delayed(_count)(piece) for piece in pieces]))
    total = int(counts.sum())
    if not total:
        raise ValueError("X has no rows: all its blocks are empty.")
    generator = np.random.default_rng(seed)
    positions = (
        np.arange(total) if total <= most else np.sort(generator.choice(total, most, replace=False))
    )
    parts = np.split(positions, np.searchsorted(positions, np.cumsum(counts)[:-1]))
    starts = np.cumsum(counts) - counts
    asked = [
        (piece, part - start)
        for piece, part, start in zip(pieces, parts, starts, strict=True)
        if len(part)
    ]
    found = _results(client, [dask.delayed(_take)(piece, part) for piece, part in asked])
    return (
        sparse.vstack(found, format="csr") if sparse.issparse(found[0]) else np.concatenate(found)
    ), positions


def _results(client: Client, lazy: list[Any]) -> list[Any]:
    futures = client.compute(lazy)
    with guarded(client, futures):
        return results_of(client, futures)


def _count(rows: Any) -> int:
    return int(rows.shape[0])


def _take(rows: Any, index: Array) -> Any:
    return rows.tocsr()[index] if sparse.issparse(rows) else np.asarray(rows)[index]
