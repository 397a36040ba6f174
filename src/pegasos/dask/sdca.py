"""SDCA's optimum for rows on a cluster."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from distributed import Client, get_client
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pegasos.dask import prediction
from pegasos.dask.table import Table, open_table
from pegasos.engine.cutting_planes import solve_by_cuts
from pegasos.engine.losses import LOSSES
from pegasos.engine.optimum import Intercept
from pegasos.engine.passes import MOST_FEATURES, Certified
from pegasos.engine.plan import Plan
from pegasos.engine.streaming import solve_in_passes
from pegasos.learners.connected import Connected
from pegasos.learners.convergence import NotConverged
from pegasos.learners.regularized import gives_probabilities
from pegasos.learners.sdca import SDCA
from pegasos.learners.task import intercept_of

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
        self._keep(table, self._solve(table))
        self._name_features(X)
        self._warn_if_late()
        return self

    def _solve(self, table: Table) -> list[Certified]:
        columns, given = table.columns(float(self.lam_ or 0.0)), (intercept_of(self), float(self.tol), int(self.max_epochs))
        wide = table.width > MOST_FEATURES
        if wide and intercept_of(self) is Intercept.FREE:
            raise ValueError(
                f"fit_intercept='free' with {table.width:,} features: on a cluster there is a way for at most {MOST_FEATURES:,}. "
                "Use fit_intercept='augment' (a constant feature), or centre the features."
            )
        if wide and LOSSES[self.loss].linear_dual:
            return solve_by_cuts(table.passes, columns, *given)
        return solve_in_passes(table.passes, LOSSES[self.loss], columns, *given)

    def _method(self, table: Table) -> str:  # type: ignore[override]
        if table.width <= MOST_FEATURES:
            return "Newton's method"
        return "cutting planes" if LOSSES[self.loss].linear_dual else "L-BFGS"

    def _keep(self, table: Table, found: list[Certified]) -> None:
        """The fitted attributes, none of which knows the cluster."""
        lam, dtype = float(self.lam_ or 0.0), table.dtype
        self.classes_, self.n_features_in_ = table.classes, table.width
        self.coef_ = np.stack([each.vector for each in found]).astype(dtype)
        self.intercept_ = np.array([each.bias for each in found]).astype(dtype)
        self.objective_ = lam * np.array([each.primal for each in found])
        self.dual_objective_ = lam * np.array([each.bound for each in found])
        longest = max(len(each.curve) for each in found)
        curves = [[*each.curve, *[each.relative] * (longest - len(each.curve))] for each in found]
        self.gap_curve_ = np.array(curves).T.reshape(longest, len(found))
        self.n_iter_, self.gap_ = longest, max(each.relative for each in found)
        place = "kept on the workers" if table.kept else "made again from their source in every pass"
        kind = "csr" if table.sparse else "dense"
        self.plan_ = Plan(
            kind,
            "by blocks",
            0,
            table.bytes,
            table.budget,
            1,
            f"blocks {place}",
            f"{self._method(table)}, {longest} passes over the rows",
        )
        self.checkpoints_: list[int] = []
        self._m, self._constant, self._seed = table.rows, float(intercept_of(self) is Intercept.AUGMENTED), 0
        self._stage_vectors, self._stage_bias = np.empty((0, *self.coef_.shape), dtype), np.empty((0, len(found)), dtype)
        self._saved = self._mark = None

    def _name_features(self, X: Any) -> None:
        self.__dict__.pop("feature_names_in_", None)
        names = getattr(X, "columns", None)
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(names, dtype=object)

    def _warn_if_late(self) -> None:
        if self.gap_ > self.tol:
            last, stuck = self.gap_curve_[-1], self.n_iter_ < self.max_epochs
            late, single = int((last > self.tol).sum()), self.coef_.dtype == np.float32
            message = NotConverged("DaskSDCA", self.n_iter_, self.gap_, self.tol, late, len(last), single, stuck)
            warnings.warn(message, stacklevel=3)

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
