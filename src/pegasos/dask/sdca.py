"""SDCA's optimum for rows on a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from distributed import Client, get_client
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pegasos.dask import prediction
from pegasos.dask.table import open_table
from pegasos.engine.plan import Plan
from pegasos.learners.connected import Connected
from pegasos.learners.from_passes import fit_in_passes, warn_if_late
from pegasos.learners.one_vs_all import gives_probabilities
from pegasos.learners.sdca import SDCA

Array = np.ndarray[Any, Any]


class DaskSDCA(Connected, SDCA):
    """The exact optimum of a linear predictor, one-vs-all, with a certificate, for rows on a Dask cluster.

    Minimizes P(w) = λ/2 ‖w‖² + Σ ω_i ℓ(y_i w·x_i)/Σω, as `SDCA` does. Each iteration is one pass: a task for each block, and a
    sum over the blocks in a fixed order; nothing but sums as wide as the features leaves a block, and nothing about its rows is
    kept between passes. The same blocks give the same bits on any number of workers; other blocks, or rows in another order, give
    an optimum with its own certificate, so that two objectives differ by no more than their gaps. A worker that dies costs time,
    not the result.

    Parameters
    ----------
    loss, lam, tol, fit_intercept, class_weight : as in `SDCA`.
    kernel : None; other kernels need all rows at once.
    max_epochs : passes over the rows at most.
    sampling, random_state : without effect: nothing is drawn.
    finish, checkpoints, warm_start : only their defaults: there are no epochs of coordinate ascent.
    memory : bytes on the workers within which blocks are kept between passes (default: half of what the workers have); larger
        data are made again from their source in every pass.
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

    def __init__(
        self,
        loss: str = "hinge",
        lam: float | str = "auto",
        kernel: Any = None,
        tol: float = 1e-3,
        max_epochs: int = 1000,
        *,
        sampling: str = "permutation",
        finish: bool = True,
        fit_intercept: str | bool = "auto",
        class_weight: Any = None,
        checkpoints: Any = None,
        warm_start: bool = False,
        memory: Any = None,
        random_state: Any = None,
        client: Any = None,
    ) -> None:
        super().__init__(
            loss,
            lam,
            kernel,
            tol,
            max_epochs,
            sampling=sampling,
            finish=finish,
            fit_intercept=fit_intercept,
            class_weight=class_weight,
            checkpoints=checkpoints,
            warm_start=warm_start,
            memory=memory,
            random_state=random_state,
        )
        self.client = client

    def check_parameters(self) -> None:
        if self.kernel is not None:
            raise ValueError(
                f"kernel={self.kernel!r} needs all rows at once: on a cluster there is kernel=None only. For a nonlinear "
                "predictor give features that are made block by block, for example by sklearn.kernel_approximation.Nystroem."
            )
        for name, usual in (("finish", True), ("checkpoints", None), ("warm_start", False)):
            if getattr(self, name) is not usual:
                raise ValueError(f"{name}={getattr(self, name)!r} has no meaning on a cluster: there are no epochs to walk.")
        super().check_parameters()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DaskSDCA:
        """Learn from Dask arrays (dense or CSR blocks), Dask DataFrames or lists of delayed parts; all with the same blocks."""
        self.check_parameters()
        table = open_table(current_client(self.client), X, y, sample_weight, self.class_weight, self.memory)
        done = fit_in_passes(self, table.passes, table.classes, table.sums, table.rows, table.present, table.dtype)
        place = "kept on the workers" if table.kept else "made again from their source in every pass"
        kind = "csr" if table.sparse else "dense"
        self.plan_ = Plan(kind, "by blocks", 0, table.bytes, table.budget, 1, f"blocks {place}", done)
        self._name_features(X)
        warn_if_late(self, self.coef_.dtype == np.float32)
        return self

    def _name_features(self, X: Any) -> None:
        self.__dict__.pop("feature_names_in_", None)
        names = getattr(X, "columns", None)
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(names, dtype=object)

    def to_local(self) -> SDCA:
        """The ordinary learner with what was learned: for rows in memory, and for model files."""
        check_is_fitted(self)
        names = SDCA._get_param_names()
        local = SDCA(**{name: value for name, value in self.get_params(deep=False).items() if name in names})
        local.__dict__.update({name: value for name, value in vars(self).items() if name not in {*names, "client"}})
        return local

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


def current_client(client: Any) -> Client:
    """The client that is given, or the current one."""
    if client is not None:
        return client
    try:
        return get_client()
    except ValueError:
        raise ValueError("no Dask client: make one first, client = distributed.Client(...), or give it as client=.") from None
