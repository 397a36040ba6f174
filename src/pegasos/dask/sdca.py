"""`DaskSDCA`: the optimum of a linear SDCA for rows on a Dask cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from pegasos.dask import inputs
from pegasos.dask.inputs import lazily, localized
from pegasos.dask.table import Table, current_client, open_table
from pegasos.learners.catalogue import ONE_VS_REST
from pegasos.learners.from_passes import fit_in_passes
from pegasos.learners.one_vs_all import gives_probabilities
from pegasos.learners.parameters import Connected
from pegasos.learners.sdca import SDCA, warn_if_late

Array = np.ndarray[Any, Any]


class DaskSDCA(Connected, SDCA):
    """Linear classifier at its certified optimum, one-vs-rest, for rows on a Dask cluster.

    Minimizes P(w) = λ/2 ‖w‖² + Σ ω_i ℓ(y_i w·x_i)/Σω, as `SDCA` does. Each iteration is one pass
    over the rows: one task per block, and a sum over the blocks in a fixed order. Only sums as long
    as the number of features leave a block, and no state of its rows is kept between passes. The
    same blocks give bitwise identical results on any number of workers. Other blocks, or rows in
    another order, give an optimum with its own certificate: two objectives differ by no more than
    their duality gaps. A lost worker costs time but does not change the result.

    A kernel would need all rows at once: use `DaskNystroem` before this classifier instead.

    Parameters
    ----------
    loss, lam, C, tol, fit_intercept, class_weight
        As in `SDCA`.
    max_epochs : int, default=1000
        Maximum number of passes over the rows.
    memory : int or str, optional
        Bytes on the workers within which blocks are kept between passes. The default is half of the
        workers' memory, or less if other data would fill more than 60 % with them. Larger data are
        read again from their source in every pass.
    client : distributed.Client, optional
        The current client by default.

    Attributes
    ----------
    classes_, coef_, intercept_, gap_, objective_, dual_objective_, plan_
        As in `SDCA`.
    gap_curve_ : ndarray of shape (n_iter_, n_columns)
        Relative duality gap after each pass.

    See Also
    --------
    SDCA : Classifier for rows in memory.
    DaskNystroem : Kernel features of rows on a cluster.
    DaskSweepCV : Grid search in shared passes.

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
        """Fit the classifier.

        Parameters
        ----------
        X : Dask array, Dask DataFrame or list of delayed objects
            Rows, in dense or CSR blocks.
        y : Dask array, Dask Series or list of delayed objects
            Labels, in the same blocks as X.
        sample_weight : Dask array, Dask Series or list of delayed objects, optional
            Weights of the rows, in the same blocks as X.

        Returns
        -------
        DaskSDCA
            The fitted classifier.
        """
        self._check_parameters()
        table = open_table(current_client(self.client), X, y, sample_weight, self.memory)
        return self._fit_table(table, X)

    def _fit_table(self, table: Table, X: Any) -> DaskSDCA:
        """Fit the classifier to a validated table; X provides feature names."""
        self._check_parameters()
        rows = int(table.whole.counts.sum())
        counted = (table.whole.sums, rows, table.whole.present, table.reach)
        done = fit_in_passes(self, table, table.classes, *counted, table.dtype)
        self.plan_ = replace(table.plan, method=done)
        inputs.name_features(self, X)
        warn_if_late(self, self.coef_.dtype == np.float32, self.n_iter_ < self.max_epochs)
        return self

    def to_local(self) -> SDCA:
        """Return a fitted `SDCA` with the same coefficients.

        It serves rows in memory and model files.
        """
        return localized(self, SDCA)

    def decision_function(self, X: Any) -> Any:
        """Return the scores of the rows, lazily for lazy rows.

        Parameters
        ----------
        X : Dask array, Dask DataFrame, list of delayed objects, or array-like
            Rows.

        Returns
        -------
        Dask array, list of delayed objects, or ndarray
            Scores of shape (n_rows,) for two classes and (n_rows, n_classes) for more.
        """
        return lazily(self.to_local(), "decision_function", X)

    def predict(self, X: Any) -> Any:
        """Return the predicted class of each row; see `decision_function`."""
        return lazily(self.to_local(), "predict", X)

    @available_if(gives_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Return σ(score) of each class, normalized over the classes; see `decision_function`."""
        return lazily(self.to_local(), "predict_proba", X)
