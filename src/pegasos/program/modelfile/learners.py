"""Learners with the record of their training, Nystroem, and the values of both."""

from __future__ import annotations

from typing import Any, get_type_hints

import numpy as np

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.distances import squared_norms
from pegasos.engine.kernels.standard import KERNELS, as_kernel
from pegasos.engine.rows.plan import Plan
from pegasos.learners.calibration import ISOTONIC, POWERS, SIGMOID, Calibration
from pegasos.learners.catalogue import DECLARATIONS, learner_class
from pegasos.learners.task import PRECOMPUTED, is_precomputed
from pegasos.nystroem import Nystroem
from pegasos.program.errors import short
from pegasos.program.modelfile import parts
from pegasos.program.modelfile.parts import Built, Check, Fields, Part, count, number
from pegasos.program.modelfile.values import Record, is_scalar, register, strings

_NOT_FINITE = "are not finite for rows of the size of the training rows"


class NotKept:
    """Placeholder for the state of `partial_fit`, which model files do not contain."""

    def __getitem__(self, key: Any) -> Any:
        """Raise ValueError: training cannot continue."""
        raise ValueError(
            "partial_fit cannot continue from a loaded model: a model file holds the fitted "
            "parameters, not the state of the solver. Call fit, or partial_fit on a new estimator."
        )


class Learner(Part):
    """A learner, whose declaration lists the numbers and curves that its model file keeps."""

    @property
    def _values(self) -> dict[str, Check]:
        """Checks of fitted values other than arrays, by name."""
        declared = self.cls.declaration.fitted_numbers
        return _VALUES | {name: _NUMBERS[name] for name in declared}

    @property
    def _curves(self) -> tuple[str, ...]:
        declaration = self.cls.declaration
        return (*declaration.fitted_arrays, *filter(None, [declaration.fitted_course]))

    def _describe(self, estimator: Any, place: str) -> dict[str, Any]:
        classes = estimator.classes_
        if classes.dtype == object:
            classes = strings(list(classes), f"{place}/classes_")
        vectors = _LINEAR if hasattr(estimator, "coef_") else _KERNEL
        names = (*self._values, *self._curves, *_ARRAYS, *vectors)
        return {name: getattr(estimator, name, None) for name in names} | {"classes_": classes}

    def _build(self, params: dict[str, Any], fields: Fields) -> Built:
        estimator, width = _with_settings(self.cls, params, fields), fields.width
        _ = estimator._stop  # otherwise checked only by fit and by pages
        for name, check in self._values.items():
            setattr(estimator, name, fields.take(name, check))
        estimator.classes_ = _classes(fields)
        columns = estimator.predictor_count(estimator.classes_)
        estimator.intercept_ = fields.array("intercept_", parts.FLOATS, columns)
        if estimator.kernel is None:
            length, estimator._saved = width, NotKept()
            estimator.coef_ = fields.array("coef_", parts.FLOATS, columns, width)
        else:
            _set_support(fields, estimator, columns)
            length, estimator._saved = len(estimator.support_), None
        stages = len(estimator.checkpoints_)
        for name, shape in (("_stage_vectors", (columns, length)), ("_stage_bias", (columns,))):
            setattr(estimator, name, fields.array(name, parts.FLOATS, stages, *shape))
        shapes: dict[Any, Any] = dict.fromkeys(("objective_", "dual_objective_"), (columns,))
        shapes[self.cls.declaration.fitted_course] = (None, 3)
        for name in self._curves:
            curve = fields.array(name, parts.NUMBERS, *shapes.get(name, ()), finite=False)
            setattr(estimator, name, np.atleast_1d(curve))
        pairs, estimator._mark = estimator.has_pairs(estimator.classes_), None
        estimator.calibration_ = _calibration(fields, columns, pairs)
        _check_scores(estimator, fields)
        return Built(estimator, width, parts.LEARNER)


def _with_settings(cls: Any, params: dict[str, Any], fields: Fields) -> Any:
    """Return an unfitted estimator with checked parameters."""
    for name, value in params.items():
        is_possible = _SETTINGS.get(name, is_scalar)(value)
        fields.require(is_possible, f"{name}={short(value)} is not possible")
    estimator = cls(**params)
    estimator._check_parameters()
    return estimator


def _classes(fields: Fields) -> Any:
    classes = fields.take("classes_", parts.is_array)
    in_order = classes.dtype != object and bool((classes[:-1] < classes[1:]).all())
    fields.require(
        len(classes) > 1 and classes.ndim == 1 and in_order,  # nan is below nothing
        "it has fewer than two classes, or they are of mixed kinds, not finite or not in order",
    )
    return classes


def _kernel(fields: Fields, setting: Any) -> Any:
    """Return the fitted kernel, which must be of the class that the settings name."""
    named = setting if is_precomputed(setting) else as_kernel(setting)

    def is_fitted(kernel: Any) -> bool:
        if isinstance(kernel, Kernel):
            return _is_kernel(kernel) and type(kernel) is type(named) and not kernel.relative
        return is_precomputed(kernel) and is_precomputed(setting)

    return fields.take("kernel_", is_fitted)


def _is_kernel(value: Any) -> bool:
    """Return whether a value is a kernel, or raise ValueError if its parameters are invalid."""
    return isinstance(value, Kernel) and value.resolve(np.zeros((1, 1))) is not None


def _set_support(fields: Fields, estimator: Any, columns: int) -> None:
    """Set the kernel, and indices, dual coefficients and rows of the support vectors."""
    estimator.kernel_ = _kernel(fields, estimator.kernel)
    estimator.support_ = support = fields.array("support_", (np.int64,), None)
    precomputed = estimator.kernel_ == PRECOMPUTED  # new rows have a column for each training row
    below = min(estimator._m, fields.width) if precomputed else estimator._m
    is_inside = ((support >= 0) & (support < below)).all()
    fields.require(is_inside, "the numbers of its support vectors are beyond its training rows")
    estimator.dual_coef_ = fields.array("dual_coef_", parts.FLOATS, columns, len(support))
    count, kinds = 0 if precomputed else len(support), (estimator.dual_coef_.dtype.type,)
    estimator.support_vectors_ = fields.array(
        "support_vectors_", kinds, count, fields.width, or_csr=True
    )


def _calibration(fields: Fields, columns: int, pairs: bool) -> Any:
    """Return the map to probabilities: sigmoids as slope and offset, isotonic steps as knots."""
    calibration = fields.take("calibration_", parts.of_type(Calibration, type(None)))
    if calibration is None:
        return None
    kind, maps, (least, most) = calibration.kind, calibration.columns, POWERS
    fields.require(
        kind in (SIGMOID, ISOTONIC)
        and len(maps) == columns
        and (number(calibration.power) and least <= calibration.power <= most)
        and calibration.pairs is pairs,
        "its calibration is not possible",
    )
    for part in maps:
        fields.check_shape("calibration_", part, *((2,) if kind == SIGMOID else (None, 2)))
        fields.require(np.isfinite(part).all(), "its calibration holds numbers that are not finite")
        knots = part[:, 1] if kind == ISOTONIC else np.zeros(1)
        are_probabilities = len(knots) and knots.min() >= 0 and knots.max() <= 1
        fields.require(are_probabilities, "the knots of its calibration are not probabilities")
    return calibration


class Landmarks(Part):
    """Nystroem features: landmarks, the fitted kernel, and the weights of kernel values."""

    def _build(self, params: dict[str, Any], fields: Fields) -> Built:
        estimator = _with_settings(Nystroem, params, fields)
        estimator.kernel_ = kernel = _kernel(fields, estimator.kernel)
        estimator.weights_ = fields.array("weights_", (np.float64,), None, None)
        landmarks, features = estimator.weights_.shape
        fields.require(1 <= features <= landmarks, "it has more features than landmarks, or none")
        estimator.eigenvalues_ = fields.array("eigenvalues_", (np.float64,), features)
        estimator.landmark_indices_ = fields.array("landmark_indices_", (np.int64,), landmarks)
        kinds = (np.dtype(estimator.dtype).type,)
        estimator.landmarks_ = fields.array(
            "landmarks_", kinds, landmarks, fields.width, or_csr=True
        )
        _largest_value(kernel, estimator.landmarks_, 0.0, fields)
        return Built(estimator, fields.width, features)


def _check_scores(learner: Any, fields: Fields) -> None:
    """Refuse a learner whose scores may overflow for rows no larger than the training rows.

    Scores of linear models are bounded by |w·x| <= |w||x|, others by the largest |K(x, z)|.
    """
    kernel, reach = vars(learner).get("kernel_"), learner._reach or 0.0
    largest = np.sqrt(reach) if kernel is None else reach
    if isinstance(kernel, Kernel):
        largest = _largest_value(kernel, learner.support_vectors_, reach, fields)
    for vectors, bias in (
        (learner._vectors, learner.intercept_),
        (learner._stage_vectors, learner._stage_bias),
    ):
        with np.errstate(all="ignore"):
            wide = vectors.astype(np.float64)
            sizes = np.linalg.norm(wide, 2 if kernel is None else 1, axis=-1)
            scores = sizes * largest + np.abs(bias)
        are_finite = (scores <= np.finfo(vectors.dtype).max).all()
        fields.require(are_finite, f"its scores {_NOT_FINITE}")


def _largest_value(kernel: Kernel, rows: Any, reach: float, fields: Fields) -> float:
    """Return the largest finite |K(x, z)| of rows as long as these, or with x·x <= reach."""
    reach = max(reach, float(squared_norms(rows).max(initial=0)))
    distances = [0.0, 1.0, np.finfo(rows.dtype).max]  # have no limit
    with np.errstate(all="ignore"):
        values = np.array([-reach, reach] if kernel.measure == "inner" else distances, rows.dtype)
        kernel.transform(values)
        largest = float(np.abs(values).max())
    fields.require(np.isfinite(largest), f"values of its kernel {kernel!r} {_NOT_FINITE}")
    return largest


#: Checks of the settings that may be no scalars, or that `_check_parameters` does not check.
_SETTINGS: dict[str, Check] = {
    "kernel": lambda value: is_scalar(value) or _is_kernel(value),
    "fit_intercept": lambda value: type(value) is bool or value == "free",
    "class_weight": lambda value: value in (None, "balanced") or parts.weights(value),
    "checkpoints": parts.optional(parts.list_of(count)),
    "random_state": parts.optional(count),
}
#: Checks of the fitted values of every learner, and of those that its declaration may name.
_VALUES: dict[str, Check] = {
    "n_iter_": count,
    "_m": lambda value: count(value) and value > 0,
    "_constant": lambda value: type(value) is float and value in (0.0, 1.0),
    "_reach": parts.optional(lambda value: number(value) and value >= 0),
    "_seed": parts.optional(count),
    "checkpoints_": parts.list_of(count),
    "threshold_": number,
    "plan_": lambda value: (
        type(value) is Plan
        and {name: type(each) for name, each in vars(value).items()} == get_type_hints(Plan)
    ),
}
_NUMBERS: dict[str, Check] = {
    "lam_": lambda value: number(value) and value > 0,
    "gap_": parts.of_type(int, float),  # nan if it is unknown
}
_ARRAYS = ("intercept_", "_stage_vectors", "_stage_bias", "calibration_")
_LINEAR, _KERNEL = ("coef_",), ("kernel_", "support_", "support_vectors_", "dual_coef_")

register(
    *map(Record, (*KERNELS.values(), Plan, Calibration)),
    *(Learner(learner_class(each), most_features=parts.MOST_FEATURES) for each in DECLARATIONS),
    Landmarks(
        Nystroem,
        attributes=("kernel_", "landmarks_", "landmark_indices_", "weights_", "eigenvalues_"),
        left_out=("memory",),
        most_features=parts.MOST_FEATURES,
    ),
)
