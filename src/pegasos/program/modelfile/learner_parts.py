"""The learners of this package: their fitted parameters, and the record of their training."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, get_type_hints

import numpy as np
from scipy import sparse

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.standard import ALIASES, KERNELS, as_kernel
from pegasos.engine.optimum.history import no_course
from pegasos.engine.rows.plan import Plan
from pegasos.learners.calibration import ISOTONIC, POWERS, SIGMOID, Calibration
from pegasos.learners.catalogue import DECLARATIONS, learner_class
from pegasos.learners.task import PRECOMPUTED, is_precomputed
from pegasos.program.errors import BadModel
from pegasos.program.modelfile import checks
from pegasos.program.modelfile.checks import Check, count, either, nothing, one_of, scalar
from pegasos.program.modelfile.container import FLOATS, NUMBERS, WHOLES
from pegasos.program.modelfile.tree import MOST_FEATURES, Built, Draft, Node, Part, register
from pegasos.program.modelfile.values import decode_labels, encode, encode_labels, strings

Array = np.ndarray[Any, Any]

_SPARSE: dict[str, Any] = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}
_CSR = ("data", "indices", "indptr")


class NotKept:
    """Placeholder for the state of `partial_fit`, which model files do not contain."""

    def __getitem__(self, key: Any) -> Any:
        raise ValueError(
            "partial_fit cannot continue from a loaded model: a model file holds the fitted "
            "parameters, not the state of the solver. Call fit, or partial_fit on a new estimator."
        )


class Learner(Part):
    """A learner, whose declaration lists the numbers and curves that its model file keeps."""

    @property
    def numbers(self) -> dict[str, Check]:
        """Checks of the fitted numbers, by name."""
        return _NUMBERS | dict.fromkeys(
            self.cls.declaration.fitted_numbers, checks.of_type(int, float)
        )

    def describe(self, estimator: Any, draft: Draft) -> dict[str, Any]:
        """Return the fitted numbers of a learner, and keep its arrays."""
        what, linear = draft.place.words, "kernel_" not in vars(estimator)
        state = {
            name: encode(getattr(estimator, name, None), f"{what}: {name}") for name in self.numbers
        }
        state |= {
            "classes": _encoded_classes(estimator.classes_, what),
            "plan": asdict(estimator.plan_),
        }
        vectors = ["intercept_", "coef_"] if linear else ["intercept_", "dual_coef_", "support_"]
        stages = ["_stage_vectors", "_stage_bias"] if estimator.checkpoints_ else []
        for name in (*vectors, *stages, *self.cls.declaration.fitted_arrays):
            draft.keep(name, getattr(estimator, name))
        if (course := self.cls.declaration.fitted_course) is not None:
            draft.keep(course, getattr(estimator, course))
        if estimator.threshold_:
            state["threshold"] = encode(float(estimator.threshold_), f"{what}: threshold_")
        if estimator.calibration_ is not None:
            state["calibration"] = estimator.calibration_.kind
            state["calibration_power"] = encode(
                float(estimator.calibration_.power), f"{what}: calibration_"
            )
            for place, column in enumerate(estimator.calibration_.columns):
                draft.keep(f"calibration_{place}", column)
        if not linear:
            state["kernel"] = encode(estimator.kernel_, f"{what}: kernel_")
            state["support"] = keep_rows(draft, "support_vectors_", estimator.support_vectors_)
        return state

    def build(self, node: Node, width: int | None) -> Built:
        """Return the fitted learner of a node."""
        estimator = self.cls(**node.params)
        try:
            estimator._check_parameters()
            _ = estimator._stop  # otherwise checked only by fit and by pages
        except ValueError as error:
            raise node.bad(f"{error!s:.200}".rstrip(".")) from None
        for name, check in self.numbers.items():
            setattr(estimator, name, node.take(name, check))
        if "lam_" in self.numbers and not 0 < estimator.lam_ < np.inf:
            raise node.bad("lam_ is not a number above 0")
        estimator.classes_, estimator.plan_ = _checked_classes(node), _checked_plan(node)
        columns = estimator.predictor_count(estimator.classes_)
        estimator.intercept_ = node.array("intercept_", FLOATS, (columns,))
        if estimator.kernel is None:
            estimator.coef_ = node.array("coef_", FLOATS, (columns, node.inputs))
        else:
            estimator.kernel_ = checked_kernel(node, estimator.kernel)
            vars(estimator).update(_support(node, estimator, columns))
        length = node.inputs if estimator.kernel is None else len(estimator.support_)
        shape = (len(estimator.checkpoints_), columns, length)
        estimator._stage_vectors, estimator._stage_bias = (
            node.array(name, FLOATS, sides)
            if shape[0]
            else np.empty(sides, dtype=estimator.intercept_.dtype)
            for name, sides in (("_stage_vectors", shape), ("_stage_bias", shape[:2]))
        )
        for name in self.cls.declaration.fitted_arrays:
            setattr(estimator, name, node.array(name, NUMBERS, finite=False))
        objectives = [vars(estimator).get(name) for name in ("objective_", "dual_objective_")]
        if len({each.size for each in objectives if each is not None}) > 1:
            raise node.bad("its primal and dual objectives are not of the same predictors")
        if (course := self.cls.declaration.fitted_course) is not None:
            known = f"{node.place.path}/{course}" in node.file
            setattr(
                estimator, course, node.array(course, ("F64",), (None, 3)) if known else no_course()
            )
        estimator.calibration_, estimator.threshold_ = None, 0.0
        if "threshold" in node.state:
            if columns > 1:
                raise node.bad("it has a threshold, which only two classes have")
            estimator.threshold_ = node.take("threshold", checks.number)
        if "calibration" in node.state:
            pairs = estimator.has_pairs(estimator.classes_)
            estimator.calibration_ = _calibration(node, columns, pairs)
        estimator._saved, estimator._mark = (NotKept() if estimator.kernel is None else None), None
        return Built(estimator, node.inputs, None, learner=True)


def _calibration(node: Node, columns: int, pairs: bool) -> Calibration:
    """Return the map to probabilities: sigmoids as slope and offset, isotonic steps as knots."""
    kind = node.take("calibration", one_of(SIGMOID, ISOTONIC))
    shape = (2,) if kind == SIGMOID else (None, 2)
    parts = tuple(node.array(f"calibration_{place}", FLOATS, shape) for place in range(columns))
    for part in parts if kind == ISOTONIC else ():
        if not len(part) or part[:, 1].min() < 0 or part[:, 1].max() > 1:
            raise node.bad("the knots of its calibration are not probabilities")
    least, most = POWERS
    return Calibration(
        kind,
        parts,
        node.take(
            "calibration_power", lambda value: checks.number(value) and least <= value <= most
        ),
        pairs,
    )


def _encoded_classes(classes: Array, what: str) -> dict[str, Any]:
    """Return the encoded classes; an object array of text is encoded as NumPy strings."""
    if classes.dtype == object and all(isinstance(label, str) for label in classes):
        classes = strings(list(classes), f"{what}: classes_")
    if classes.dtype == object:
        raise BadModel(
            f"{what} has classes of mixed kinds ({classes!r}); a model file holds numbers, booleans or text."
        )
    return encode_labels(classes, f"{what}: classes_")


def _checked_classes(node: Node) -> Array:
    classes = decode_labels(node.state.pop("classes", None), f"{node.place.words}: classes")
    if (
        classes.dtype == object or len(classes) < 2 or not (classes[:-1] < classes[1:]).all()
    ):  # nan is below nothing
        raise node.bad(
            "it has fewer than two classes, or they are of mixed kinds, not finite or not in order"
        )
    return classes


def _checked_plan(node: Node) -> Plan:
    plan = node.state.pop("plan", None)
    if not isinstance(plan, dict) or {
        name: type(value) for name, value in plan.items()
    } != get_type_hints(Plan):
        raise node.bad("the description of the plan is missing or damaged")
    return Plan(**plan)


def checked_kernel(node: Node, setting: Any) -> Kernel | str:
    """Return the fitted kernel, which must be of the class that the settings name."""
    kernel: Kernel | str = node.take(
        "kernel", either(one_of(PRECOMPUTED), lambda value: isinstance(value, Kernel))
    )
    named = setting if is_precomputed(setting) else as_kernel(setting)
    if type(kernel) is not type(named) or (isinstance(kernel, Kernel) and kernel.relative):
        raise node.bad(
            "kernel_ is not the kernel that the settings name, or one of its numbers is missing"
        )
    return kernel


def _support(node: Node, estimator: Any, columns: int) -> dict[str, Any]:
    """Return indices, dual coefficients and rows (dense or CSR) of the support vectors."""
    support = node.array("support_", ("I64",), (None,))
    length, m, inputs = len(support), estimator._m, node.inputs
    if length and (support.min() < 0 or support.max() >= m):
        raise node.bad("the numbers of its support vectors are beyond its training rows")
    dual = node.array("dual_coef_", FLOATS, (columns, length))
    kind = "F64" if dual.dtype == np.float64 else "F32"
    if estimator.kernel_ == PRECOMPUTED and m != inputs:
        raise node.bad(
            f"a precomputed kernel takes as many columns as there were training rows, not {inputs} for {m}"
        )
    dense = 0 if estimator.kernel_ == PRECOMPUTED else length
    rows = read_rows(node, "support", "support_vectors_", kind, dense, length)
    return {
        "support_": support.astype(np.intp, copy=False),
        "dual_coef_": dual,
        "support_vectors_": rows,
    }


def keep_rows(draft: Draft, name: str, rows: Any) -> str:
    """Keep dense or CSR rows, and return their form."""
    if not sparse.issparse(rows):
        draft.keep(name, rows)
        return "dense"
    for each in _CSR:
        draft.keep(f"{name}.{each}", getattr(rows, each))
    return "csr_array" if isinstance(rows, sparse.sparray) else "csr_matrix"


def read_rows(node: Node, form_name: str, name: str, kind: str, dense: int, length: int) -> Any:
    """Return rows that `keep_rows` kept: `length` of them, or `dense` if they are not sparse."""
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
#: Numbers of every fitted learner. The declared ones may be any number (gap_ is nan if unknown).
_NUMBERS: dict[str, Check] = {
    "n_iter_": count,
    "_m": lambda value: count(value) and value > 0,
    "_constant": one_of(0.0, 1.0),
    "_reach": either(nothing, lambda value: checks.number(value) and value >= 0),
    "_seed": either(nothing, count),
    "checkpoints_": checks.places(2**63),
}

for _declaration in DECLARATIONS:
    _cls = learner_class(_declaration)
    register(
        Learner(
            _cls,
            {name: _SETTINGS.get(name, scalar) for name in _cls._get_param_names()},
            most_features=MOST_FEATURES,
        )
    )
