"""Nyström features of rows on a Dask cluster, computed lazily block by block."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import dask
import numpy as np
from distributed import Client
from scipy import sparse

from pegasos.dask import inputs
from pegasos.dask.inputs import lazily, localized
from pegasos.dask.table import current_client, results
from pegasos.engine.optimum.passes.passes import stacked
from pegasos.engine.rows.landmarks import SAMPLE
from pegasos.learners.parameters import Connected
from pegasos.learners.task import draw_seed
from pegasos.nystroem import Nystroem

Array = np.ndarray[Any, Any]


@dataclass(eq=False, repr=False)
class DaskNystroem(Connected, Nystroem):
    """Nyström features φ(x) = Wᵀ K(landmarks, x) of rows on a Dask cluster.

    Landmarks (and widths such as "scale") come from a sample drawn from all blocks: at most 20,000
    rows, or as many as there are landmarks. A table that is not larger gives the landmarks of
    `Nystroem`. Features are computed lazily, block by block; a following `DaskSDCA` keeps them on
    the workers if they fit there and recomputes them in every pass otherwise. Its certificate
    refers to these features. The same blocks give bitwise identical results on any number of
    workers.

    Parameters
    ----------
    kernel, landmarks, selection, dtype, random_state
        As in `Nystroem`.
    memory : int or str, optional
        Memory budget for features of rows in memory. The features of a Dask block are always
        computed as a whole, so blocks of a million rows are too large.
    client : distributed.Client, optional
        The current client by default.

    Attributes
    ----------
    landmarks_, kernel_, weights_, eigenvalues_
        As in `Nystroem`.
    landmark_indices_ : ndarray
        Positions of the landmarks among all rows.

    See Also
    --------
    Nystroem : Nyström features of rows in memory.
    DaskSDCA : Linear classifier that learns from these features.

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

    client: Any = field(default=None, kw_only=True)

    def fit(self, X: Any, y: Any = None) -> DaskNystroem:
        """Choose landmarks.

        Parameters
        ----------
        X : Dask array, Dask DataFrame or list of delayed objects
            Rows, dense or CSR.
        y : None
            Ignored.

        Returns
        -------
        DaskNystroem
            The fitted transformer.
        """
        self._check_parameters()
        seed = draw_seed(self.random_state)
        rows, positions = _sample(current_client(self.client), X, max(SAMPLE, self.landmarks), seed)
        super().fit(rows)
        self.landmark_indices_ = positions[self.landmark_indices_]
        inputs.name_features(self, X)
        return self

    def transform(self, X: Any) -> Any:
        """Return the features φ(x) of each row.

        Parameters
        ----------
        X : Dask array, Dask DataFrame, list of delayed objects, or array-like
            Rows.

        Returns
        -------
        Dask array, list of delayed objects, or the result of `Nystroem.transform`
            A list for a list, and the result of `Nystroem.transform` for rows in memory.
        """
        return lazily(self.to_local(), "transform", X)

    def to_local(self) -> Nystroem:
        """Return a fitted `Nystroem` with the same landmarks.

        It serves rows in memory and model files.
        """
        return localized(self, Nystroem)


def _sample(client: Client, X: Any, most: int, seed: int) -> tuple[Any, Array]:
    """Return at most `most` rows drawn uniformly from all blocks, and their positions, in order."""
    parts = [dask.delayed(part) for (part, *_) in inputs.split(X)]
    counts = np.array(results(client, [part.shape[0] for part in parts]))
    total = int(counts.sum())
    if not total:
        raise ValueError("X has no rows: all its blocks are empty.")
    generator = np.random.default_rng(seed)
    drawn = total > most
    positions = np.sort(generator.choice(total, most, replace=False)) if drawn else np.arange(total)
    ends = np.cumsum(counts)
    places = np.split(positions, np.searchsorted(positions, ends[:-1]))
    each = zip(parts, places, ends - counts, strict=True)
    lazy = [dask.delayed(_take)(part, place - start) for part, place, start in each if len(place)]
    return stacked(results(client, lazy)), positions


def _take(rows: Any, index: Array) -> Any:
    return rows.tocsr()[index] if sparse.issparse(rows) else np.asarray(rows)[index]
