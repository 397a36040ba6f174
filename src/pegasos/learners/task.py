"""Preparation of a fit: checked parameters, class codes, weights, rows and plan."""

from __future__ import annotations

import hashlib
import math
import numbers
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.standard import as_kernel, warn_if_collapsed
from pegasos.engine.optimum.problem import Intercept
from pegasos.engine.rows.features import MappedFeatures, MappedRows, explicit_rows
from pegasos.sklearn_private import check_sample_weight

if TYPE_CHECKING:  # solvers are imported where a fit starts: predictions need none
    from pegasos.engine.rows.plan import Plan
    from pegasos.engine.walk.draws import Draws
    from pegasos.engine.walk.rules import Method
    from pegasos.engine.walk.walk import Walk

Array = np.ndarray[Any, Any]

PRECOMPUTED = "precomputed"


@dataclass
class Task:
    """Rows with class codes and weights ω; `columns` are the codes that get a predictor.

    The training rows are `members` of the rows (None: all of them); weights elsewhere are zero.
    With `warm_path` predictors may start from those of the next larger λ.
    """

    X: Any
    codes: Array
    weights: Array
    columns: Array
    kernel: Kernel | str | None
    constant: float
    plan: Plan
    rows: Any
    members: Array | None = None
    warm_path: bool = False

    @property
    def m(self) -> int:
        """Number of training rows."""
        return len(self.codes) if self.members is None else len(self.members)

    def training(self, values: Array) -> Array:
        """Return the part of an array over all rows that belongs to the training rows."""
        return values if self.members is None else values[self.members]

    @property
    def total_weight(self) -> float:
        """Σω of the training rows."""
        return float(self.training(self.weights).sum())

    @property
    def relative_weights(self) -> Array:
        """Weights m ω/Σω, the factors of the changes of Pegasos and the Perceptron."""
        return self.weights * (self.m / self.weights.sum())

    def walk(
        self,
        method: Method,
        draws: Draws,
        params: Array,
        weights: Array,
        columns: Array | None = None,
        **options: Any,
    ) -> Walk:
        """Return a walk over the training rows, by default for all predictors."""
        from pegasos.engine.walk.walk import Walk

        columns = self.columns if columns is None else columns
        options |= {"members": self.members, "block": self.plan.block, "by_rows": self.plan.by_rows}
        return Walk(self.rows, self.codes, weights, columns, params, method, draws, **options)


def open_task(learner: Any, X: Any, codes: Array, weights: Array, n_classes: int) -> Task:
    """Resolve the kernel, plan within the memory budget, and make the rows."""
    from pegasos.engine.rows.kernel_rows import KernelRows
    from pegasos.engine.rows.plan import plan_dual, plan_primal
    from pegasos.engine.rows.sources import GramRows

    columns, constant = column_codes(n_classes), constant_feature(learner)
    (m, width), budget = X.shape, (len(columns), X.dtype.itemsize, learner.memory)
    kernel: Kernel | str | None = None
    if is_precomputed(learner.kernel):
        if m != width:
            raise ValueError(f"kernel='precomputed' needs a square matrix, got shape {X.shape}.")
        X, kernel = X.toarray() if sparse.issparse(X) else X, PRECOMPUTED
        plan = plan_dual(m, 0, *budget, precomputed=True, dense=False)
        rows: Any = GramRows(_symmetric(X))
    elif learner.kernel is None:
        keeps = learner.declaration.keeps_coefficients
        plan = plan_primal(sparse.issparse(X), m, width, *budget, keeps)
        if isinstance(X, MappedRows):
            reason = "features that are computed in every pass"
            plan = replace(plan, rows="on the fly", walk="by blocks", reason=reason)
        rows = MappedFeatures(X) if isinstance(X, MappedRows) else explicit_rows(X)
    else:
        found = as_kernel(learner.kernel)
        assert found is not None
        kernel = found.resolve(X)
        kernel.check_range(X)
        plan = plan_dual(m, width, *budget, precomputed=False, dense=not sparse.issparse(X))
        warn_if_collapsed(kernel, X)
        rows = GramRows.of(kernel, X) if plan.rows == "gram" else KernelRows(kernel, X)
    task = Task(X, codes, weights, columns, kernel, constant, plan, rows)
    _check_diagonal(rows.diagonal, X.dtype)
    return task


def is_precomputed(kernel: Any) -> bool:
    """Tell whether X is the kernel matrix itself."""
    return isinstance(kernel, str) and kernel == PRECOMPUTED


def _symmetric(K: Array) -> Array:
    """Return a symmetric matrix: remove differences by rounding, refuse larger ones."""
    difference = np.abs(K - K.T).max(initial=0)
    if difference == 0:
        return K
    if difference > 1e-3 * max(np.abs(K).max(), np.finfo(K.dtype).tiny):
        raise ValueError(
            f"the kernel matrix is not symmetric: K and its transpose differ by {difference:.3g}."
        )
    return np.asarray((K + K.T) / 2)


def _check_diagonal(diagonal: Array, dtype: Any) -> None:
    if not diagonal.max(initial=0) <= np.finfo(dtype).max:  # NaN, too
        raise ValueError(f"squared lengths of rows overflow {dtype}: scale X, or use float64.")
    if (diagonal < 0).any():
        i = int(np.argmin(diagonal))
        raise ValueError(f"K[{i}, {i}] = {diagonal[i]:.3g} is negative: this is not a kernel.")


def encode_classes(y: Array) -> tuple[Array, Array]:
    """Return the sorted class labels and the code of each row; refuse a single class."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has one class only ({classes[0]!r}); a classifier needs two.")
    return classes, codes.reshape(-1)


def column_codes(n_classes: int) -> Array:
    """Return the classes that get a predictor: the second of two, or all of several."""
    return np.array([1]) if n_classes == 2 else np.arange(n_classes)


def column_labels(codes: Array, columns: Array) -> Array:
    """Return ±1, columns x rows."""
    return np.where(codes[None, :] == columns[:, None], 1.0, -1.0)


def known_codes(y: Array, classes: Array) -> Array:
    """Return the codes of labels, all of which must be classes of the model."""
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(f"y has classes unknown to the model: {np.unique(y[unknown])!r}.")
    return np.searchsorted(classes, y)


def combined_weights(
    sample_weight: Any, class_weight: Any, classes: Array, codes: Array, X: Any
) -> Array:
    """Return sample_weight times the weight of the class, in float64."""
    if sample_weight is None:
        weights = np.ones(X.shape[0])
    else:
        given = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        weights = np.array(given)
    each = class_weights(class_weight, classes, np.bincount(codes, weights, len(classes)))
    return weights if class_weight is None else weights * each[codes]


def class_weights(class_weight: Any, classes: Array, sums: Array) -> Array:
    """Return the weight of each class, given the total sample weight of each.

    "balanced" gives every class the same share of the total, as in scikit-learn; a class without
    weight is left out.

    >>> class_weights("balanced", np.array(["a", "b"]), np.array([1.0, 4.0]))
    array([2.5  , 0.625])
    """
    each = np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        known = sums > 0
        each[known] = sums.sum() / (known.sum() * sums[known])
    elif class_weight is not None:
        each = np.asarray(compute_class_weight(class_weight, classes=classes, y=classes), float)
        if not (np.isfinite(each) & (each >= 0)).all():
            raise ValueError(f"class_weight must be finite and not negative, got {class_weight!r}.")
    if not (each * sums).sum() > 0:
        raise ValueError("all weights are zero. Check sample_weight and class_weight.")
    return each


def intercept_of(learner: Any) -> Intercept:
    """Return the kind of intercept that `fit_intercept` selects."""
    given, free = learner.fit_intercept, learner.declaration.free_intercept
    if isinstance(given, bool | np.bool_):
        return Intercept.AUGMENTED if given else Intercept.NONE
    if free and isinstance(given, str) and given == "free":
        return Intercept.FREE
    known = "True, False or 'free'" if free else "True or False (only SDCA has 'free')"
    raise ValueError(f"fit_intercept must be {known}, got {given!r}.")


def constant_feature(learner: Any) -> float:
    """Return the value of the constant feature, 0 for none."""
    return 1.0 if intercept_of(learner) is Intercept.AUGMENTED else 0.0


def draw_seed(random_state: Any) -> int:
    """Return a seed for the draws: the number itself, or one drawn from a generator."""
    is_number = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if is_number and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, a NaN of any kind, or the NA of pandas."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # NA is neither equal to itself nor different
        return True


def positive(name: str, value: Any) -> float:
    """Return a finite number above zero; refuse anything else."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value <= 0:
        raise ValueError(f"{name} must be a finite number above 0, got {value!r}.")
    return float(value)


def whole_number(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number of at least `least`; refuse anything else."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} must be a whole number >= {least}, got {value!r}.")
    return int(value)


def one_of(name: str, value: Any, options: tuple[str, ...]) -> None:
    """Refuse a value that is none of the options."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}.")


def check_stops(checkpoints: Any, start: int, total: int, unit: str) -> list[int]:
    """Return the sorted, distinct checkpoints of a run from `start` to `total`."""
    if checkpoints is None:
        return []
    if not np.iterable(checkpoints):
        raise ValueError(f"checkpoints must be a list of {unit}, got {checkpoints!r}.")
    stops = sorted({whole_number("each of checkpoints", stop) for stop in checkpoints})
    if stops and stops[-1] > total:
        raise ValueError(f"checkpoint {stops[-1]} lies beyond the run of {total} {unit}.")
    if stops and stops[0] <= start:
        raise ValueError(f"checkpoint {stops[0]} lies before the {start} {unit} of warm_start.")
    return stops


def fingerprint(*values: Any) -> str:
    """Return a hash of arrays (dense, CSR, tables, lists): shape, dtype and every byte."""
    digest = hashlib.sha256()
    for value in values:
        parts = [np.asarray(value)]
        if sparse.issparse(value):
            parts = [value.data, value.indices, value.indptr, np.array(value.shape)]
        for part in parts:
            digest.update(f"{part.shape} {part.dtype};".encode())
            if part.dtype == object:
                digest.update("\x1f".join(part.astype(str).ravel().tolist()).encode())
            else:
                digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()
