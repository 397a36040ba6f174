"""Parts with kernels: the learners with the record of their training, and Nystroem."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, get_type_hints

import numpy as np
from scipy import sparse

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.standard import ALIASES, KERNELS, as_kernel
from pegasos.engine.optimum.history import empty_history
from pegasos.engine.rows.plan import Plan
from pegasos.learners.calibration import ISOTONIC, POWERS, SIGMOID, Calibration
from pegasos.learners.catalogue import DECLARATIONS, learner_class
from pegasos.learners.task import PRECOMPUTED, is_precomputed
from pegasos.nystroem import Nystroem
from pegasos.program.modelfile import checks
from pegasos.program.modelfile.checks import Check, count, either, nothing, one_of, scalar
from pegasos.program.modelfile.container import FLOATS, NUMBERS, WHOLES
from pegasos.program.modelfile.tree import MOST_FEATURES, Built, Draft, Node, Part, register
from pegasos.program.modelfile.values import decode_labels, encode_labels, strings

Array = np.ndarray[Any, Any]

_SPARSE: dict[str, Any] = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}
_CSR = ("data", "indices", "indptr")


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
    def numbers(self) -> dict[str, Check]:
        """Checks of the fitted numbers, by name; gap_ is nan if it is unknown."""
        declared = dict.fromkeys(self.cls.declaration.fitted_numbers, checks.of_type(int, float))
        return _NUMBERS | declared

    def _describe(self, estimator: Any, draft: Draft) -> dict[str, Any]:
        linear = "kernel_" not in vars(estimator)
        state = {
            name: draft.encode(getattr(estimator, name, None), name) for name in self.numbers
        } | {
            "classes": _encoded_classes(estimator.classes_, draft),
            "plan": asdict(estimator.plan_),
        }
        for name in ("coef_",) if linear else ("dual_coef_", "support_"):
            draft.keep(name, getattr(estimator, name))
        draft.keep("intercept_", estimator.intercept_)
        declaration = self.cls.declaration
        names = (*declaration.fitted_arrays, declaration.fitted_course)
        if estimator.checkpoints_:
            names += ("_stage_vectors", "_stage_bias")
        for name in filter(None, names):
            draft.keep(name, getattr(estimator, name))
        if estimator.threshold_:
            state["threshold"] = draft.encode(float(estimator.threshold_), "threshold_")
        if (calibration := estimator.calibration_) is not None:
            state["calibration"] = calibration.kind
            state["calibration_power"] = draft.encode(float(calibration.power), "calibration_")
            for place, column in enumerate(calibration.columns):
                draft.keep(f"calibration_{place}", column)
        if not linear:
            state["kernel"] = draft.encode(estimator.kernel_, "kernel_")
            state["support"] = _keep_rows(draft, "support_vectors_", estimator.support_vectors_)
        return state

    def _build(self, node: Node, width: int | None) -> Built:
        estimator = self.cls(**node.params)
        estimator._check_parameters()
        _ = estimator._stop  # otherwise checked only by fit and by pages
        for name, check in self.numbers.items():
            setattr(estimator, name, node.take(name, check))
        if "lam_" in self.numbers and not 0 < estimator.lam_ < np.inf:
            raise node.bad("lam_ is not a number above 0")
        estimator.classes_, estimator.plan_ = _classes(node), _plan(node)
        columns = estimator.predictor_count(estimator.classes_)
        estimator.intercept_ = node.array("intercept_", FLOATS, (columns,))
        if estimator.kernel is None:
            estimator.coef_ = node.array("coef_", FLOATS, (columns, node.inputs))
            length, estimator._saved = node.inputs, NotKept()
        else:
            _set_support(node, estimator, columns)
            length, estimator._saved = len(estimator.support_), None
        stages = len(estimator.checkpoints_)
        for name, sides in (("_stage_vectors", (columns, length)), ("_stage_bias", (columns,))):
            values = np.empty((0, *sides), dtype=estimator.intercept_.dtype)
            if stages:
                values = node.array(name, FLOATS, (stages, *sides))
            setattr(estimator, name, values)
        _set_curves(node, estimator)
        estimator.calibration_, estimator.threshold_, estimator._mark = None, 0.0, None
        if "threshold" in node.state and columns == 1:
            estimator.threshold_ = node.take("threshold", checks.number)
        if "calibration" in node.state:
            pairs = estimator.has_pairs(estimator.classes_)
            estimator.calibration_ = _calibration(node, columns, pairs)
        return Built(estimator, node.inputs, None, learner=True)


def _encoded_classes(classes: Array, draft: Draft) -> dict[str, Any]:
    """Return the encoded classes; an object array must hold text."""
    what = f"{draft.place.words}: classes_"
    return encode_labels(strings(list(classes), what) if classes.dtype == object else classes, what)


def _classes(node: Node) -> Array:
    classes = decode_labels(node.item("classes"), f"{node.place.words}: classes")
    in_order = classes.dtype != object and bool((classes[:-1] < classes[1:]).all())
    if len(classes) < 2 or not in_order:  # nan is below nothing
        raise node.bad(
            "it has fewer than two classes, or they are of mixed kinds, not finite or not in order"
        )
    return classes


def _plan(node: Node) -> Plan:
    plan, kinds = node.item("plan"), get_type_hints(Plan)
    if not isinstance(plan, dict) or {name: type(plan[name]) for name in plan} != kinds:
        raise node.bad("the description of the plan is missing or damaged")
    return Plan(**plan)


def _kernel(node: Node, setting: Any) -> Kernel | str:
    """Return the fitted kernel, which must be of the class that the settings name."""
    is_kernel = either(one_of(PRECOMPUTED), lambda value: isinstance(value, Kernel))
    kernel: Kernel | str = node.take("kernel", is_kernel)
    named = setting if is_precomputed(setting) else as_kernel(setting)
    if type(kernel) is not type(named) or (isinstance(kernel, Kernel) and kernel.relative):
        raise node.bad(
            "kernel_ is not the kernel that the settings name, or one of its numbers is missing"
        )
    return kernel


def _set_support(node: Node, estimator: Any, columns: int) -> None:
    """Set the kernel, and indices, dual coefficients and rows of the support vectors."""
    estimator.kernel_ = _kernel(node, estimator.kernel)
    support = node.array("support_", ("I64",), (None,))
    precomputed = estimator.kernel_ == PRECOMPUTED  # new rows have a column for each training row
    below = min(estimator._m, node.inputs) if precomputed else estimator._m
    if len(support) and (support.min() < 0 or support.max() >= below):
        raise node.bad("the numbers of its support vectors are beyond its training rows")
    estimator.support_ = support.astype(np.intp, copy=False)
    estimator.dual_coef_ = node.array("dual_coef_", FLOATS, (columns, len(support)))
    kind = "F64" if estimator.dual_coef_.dtype == np.float64 else "F32"
    dense = 0 if precomputed else len(support)
    estimator.support_vectors_ = _read_rows(
        node, "support", "support_vectors_", kind, dense, len(support)
    )


def _set_curves(node: Node, estimator: Any) -> None:
    """Set objectives and curves of the training; old files are without `fitted_course`."""
    declaration = estimator.declaration
    for name in declaration.fitted_arrays:
        setattr(estimator, name, node.array(name, NUMBERS, finite=False))
    objectives = [vars(estimator).get(name) for name in ("objective_", "dual_objective_")]
    if len({each.shape for each in objectives if each is not None}) > 1:
        raise node.bad("its primal and dual objectives are not of the same predictors")
    if (course := declaration.fitted_course) is not None:
        values = empty_history()
        if node.has_array(course):
            values = node.array(course, ("F64",), (None, 3))
        setattr(estimator, course, values)


def _calibration(node: Node, columns: int, pairs: bool) -> Calibration:
    """Return the map to probabilities: sigmoids as slope and offset, isotonic steps as knots."""
    kind = node.take("calibration", one_of(SIGMOID, ISOTONIC))
    shape = (2,) if kind == SIGMOID else (None, 2)
    parts = tuple(node.array(f"calibration_{place}", FLOATS, shape) for place in range(columns))
    for part in parts if kind == ISOTONIC else ():
        if not len(part) or part[:, 1].min() < 0 or part[:, 1].max() > 1:
            raise node.bad("the knots of its calibration are not probabilities")
    least, most = POWERS
    power = node.take(
        "calibration_power", lambda value: checks.number(value) and least <= value <= most
    )
    return Calibration(kind, parts, power, pairs)


class Landmarks(Part):
    """Nystroem features: landmarks, the fitted kernel, and the weights of kernel values."""

    def _describe(self, estimator: Any, draft: Draft) -> dict[str, Any]:
        for name in ("landmark_indices_", "weights_", "eigenvalues_"):
            draft.keep(name, getattr(estimator, name))
        rows = _keep_rows(draft, "landmarks_", estimator.landmarks_)
        return {"kernel": draft.encode(estimator.kernel_, "kernel_"), "rows": rows}

    def _build(self, node: Node, width: int | None) -> Built:
        estimator = Nystroem(**node.params)
        estimator._check_parameters()
        kernel = _kernel(node, estimator.kernel)
        if not isinstance(kernel, Kernel):
            raise node.bad("its kernel is not a kernel of rows")
        estimator.kernel_ = kernel
        estimator.weights_ = node.array("weights_", ("F64",), (None, None))
        landmarks, features = estimator.weights_.shape
        if not 1 <= features <= landmarks:
            raise node.bad(f"{landmarks} landmarks cannot give {features} features")
        estimator.eigenvalues_ = node.array("eigenvalues_", ("F64",), (features,))
        indices = node.array("landmark_indices_", ("I64",), (landmarks,))
        estimator.landmark_indices_ = indices.astype(np.intp, copy=False)
        kind = "F64" if estimator.dtype == "float64" else "F32"
        estimator.landmarks_ = _read_rows(node, "rows", "landmarks_", kind, landmarks, landmarks)
        return Built(estimator, node.inputs, features)


def _keep_rows(draft: Draft, name: str, rows: Any) -> str:
    """Keep dense or CSR rows, and return their form."""
    if not sparse.issparse(rows):
        draft.keep(name, rows)
        return "dense"
    for each in _CSR:
        draft.keep(f"{name}.{each}", getattr(rows, each))
    return "csr_array" if isinstance(rows, sparse.sparray) else "csr_matrix"


def _read_rows(node: Node, form_name: str, name: str, kind: str, dense: int, length: int) -> Any:
    """Return rows that `_keep_rows` kept: `length` of them, or `dense` if they are not sparse."""
    form, inputs = node.take(form_name, one_of("dense", *_SPARSE)), node.inputs
    if form == "dense":
        return node.array(name, (kind,), (dense, inputs))
    data = node.array(f"{name}.data", (kind,), (None,))
    indices = node.array(f"{name}.indices", WHOLES, data.shape)
    indptr = node.array(f"{name}.indptr", WHOLES, (length + 1,))
    rows = _SPARSE[form]((data, indices, indptr), shape=(length, inputs))
    rows.check_format(full_check=True)  # compiled code would read beyond the arrays
    return rows


#: Checks of the settings that `_check_parameters` does not check; others may be any scalar here.
_SETTINGS: dict[str, Check] = {
    "kernel": either(
        nothing, lambda value: isinstance(value, Kernel), one_of(PRECOMPUTED, *KERNELS, *ALIASES)
    ),
    "fit_intercept": either(checks.flag, one_of("free")),
    "class_weight": either(nothing, one_of("balanced"), checks.weights(scalar)),
    "checkpoints": either(nothing, checks.list_of(count)),
    "random_state": either(nothing, count),
}
#: Numbers of every fitted learner.
_NUMBERS: dict[str, Check] = {
    "n_iter_": count,
    "_m": lambda value: count(value) and value > 0,
    "_constant": one_of(0.0, 1.0),
    "_reach": either(nothing, lambda value: checks.number(value) and value >= 0),
    "_seed": either(nothing, count),
    "checkpoints_": checks.places(2**63),
}


def _settings(cls: Any, *left_out: str) -> dict[str, Check]:
    names = (name for name in cls._get_param_names() if name not in left_out)
    return {name: _SETTINGS.get(name, scalar) for name in names}


register(
    *(
        Learner(cls, _settings(cls), most_features=MOST_FEATURES)
        for cls in map(learner_class, DECLARATIONS)
    ),
    Landmarks(
        Nystroem,
        _settings(Nystroem, "memory"),
        left_out=("memory",),
        most_features=MOST_FEATURES,
    ),
)
