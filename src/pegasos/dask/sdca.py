"""SDCA's optimum for rows on a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pegasos.dask import blocks, prediction
from pegasos.dask.connection import current_client, localized
from pegasos.dask.table import Table, open_table
from pegasos.learners.catalogue import ONE_VS_REST
from pegasos.learners.connected import Connected
from pegasos.learners.from_passes import fit_in_passes, warn_if_late
from pegasos.learners.one_vs_all import gives_probabilities
from pegasos.learners.sdca import SDCA

Array = np.ndarray[Any, Any]


class DaskSDCA(Connected, SDCA):
    """The exact optimum of a linear predictor, one-vs-all, with a certificate, for rows on a Dask cluster.

    A kernel needs all rows at once: put `DaskNystroem` before it, which makes features of a kernel block by block.

    Minimizes P(w) = λ/2 ‖w‖² + Σ ω_i ℓ(y_i w·x_i)/Σω, as `SDCA` does. Each iteration is one pass: a task for each block, and a
    sum over the blocks in a fixed order; nothing but sums as wide as the features leaves a block, and nothing about its rows is
    kept between passes. The same blocks give the same bits on any number of workers; other blocks, or rows in another order, give
    an optimum with its own certificate, so that two objectives differ by no more than their gaps. A worker that dies costs time,
    not the result.

    Parameters
    ----------
    loss, lam, C, tol, fit_intercept, class_weight : as in `SDCA`.
    max_epochs : passes over the rows at most.
    memory : bytes on the workers within which blocks are kept between passes (default: half of what the workers have, and
        60 % with all else that is there); larger data are made again from their source in every pass.
    client : the distributed.Client; None: the current one.

    Attributes
    ----------
    classes_, coef_, intercept_, gap_, objective_, dual_objective_, plan_ : as in `SDCA`.
    gap_curve_ : relative gap after each pass (n_iter_ x columns).

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> with Client(processes=False, n_workers=1, dashboard_address=None) as client:
    ...     clf = DaskSDCA("logistic").fit(da.from_array(X / 16, chunks=(500, -1)), y)
    >>> bool(clf.gap_ <= clf.tol), round(clf.to_local().score(X / 16, y), 2)
    (True, 0.97)
    """

    kernel = None
    multiclass = ONE_VS_REST
    sampling, random_state = "permutation", None
    finish, max_time, checkpoints, warm_start = True, None, None, False

    def __init__(
        self,
        loss: str = "hinge",
        lam: float | None = None,
        tol: float = 1e-3,
        max_epochs: int = 1000,
        *,
        C: float | None = None,
        fit_intercept: bool | str = True,
        class_weight: Any = None,
        memory: Any = None,
        client: Any = None,
    ) -> None:
        self.loss = loss
        self.lam = lam
        self.C = C
        self.tol = tol
        self.max_epochs = max_epochs
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.memory = memory
        self.client = client

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DaskSDCA:
        """Learn from Dask arrays (dense or CSR blocks), Dask DataFrames or lists of delayed parts; all with the same blocks."""
        self._check_parameters()
        table = open_table(current_client(self.client), X, y, sample_weight, self.memory)
        return self.fit_table(table, X)

    def fit_table(self, table: Table, X: Any) -> DaskSDCA:
        """Learn from rows that were checked and described already; X are the same rows as they were handed in."""
        self._check_parameters()
        counted = (table.whole.sums, table.rows, table.whole.present, table.reach)
        done = fit_in_passes(self, table.passes, table.classes, *counted, table.dtype)
        self.plan_ = table.plan(done)
        blocks.name_features(self, X)
        warn_if_late(self, self.coef_.dtype == np.float32)
        return self

    def to_local(self) -> SDCA:
        """The ordinary learner with what was learned: for rows in memory, and for model files."""
        check_is_fitted(self)
        return localized(self, SDCA)

    def decision_function(self, X: Any) -> Any:
        """Scores, lazily and block by block for lazy rows: (rows,) for two classes, (rows, classes) for more."""
        return prediction.lazily(self.to_local(), "decision_function", X)

    def predict(self, X: Any) -> Any:
        """The class of each row, lazily and block by block for lazy rows."""
        return prediction.lazily(self.to_local(), "predict", X)

    @available_if(gives_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """σ(score) of each class, normalized over the classes; lazily and block by block for lazy rows."""
        return prediction.lazily(self.to_local(), "predict_proba", X)
