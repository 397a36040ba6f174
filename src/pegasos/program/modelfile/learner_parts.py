"""Our learners: what they learned, and what tells a person how."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from pegasos.engine.kernels import ALIASES, KERNELS, Kernel, is_relative
from pegasos.engine.losses import REGULARIZED
from pegasos.engine.plan import Plan
from pegasos.learners import SDCA, Pegasos, Perceptron
from pegasos.program.modelfile import checks
from pegasos.program.modelfile.container import FLOATS, WHOLES
from pegasos.program.modelfile.errors import BadModel
from pegasos.program.modelfile.support_vectors import describe_support, plan_support
from pegasos.program.modelfile.tree import (
    Arrays,
    Check,
    Node,
    Part,
    Place,
    Planned,
    State,
    checked_names,
    checked_width,
    set_names,
    tell_names,
)
from pegasos.program.modelfile.values import decode, decode_labels, encode, encode_labels, strings

Array = np.ndarray[Any, Any]

_PRECOMPUTED = "precomputed"
_CURVES = ("loss_curve_", "loss_curve_steps_", "mistakes_", "gap_curve_", "objective_", "dual_objective_")


def _is_kernel(value: Any) -> bool:
    named = isinstance(value, str) and (value == _PRECOMPUTED or ALIASES.get(value, value) in KERNELS)
    return value is None or named or isinstance(value, Kernel)


_MAYBE_WHOLE = checks.either(checks.nothing, checks.whole)
_SETTINGS: dict[str, Check] = {
    "loss": checks.one_of(*REGULARIZED),
    "lam": checks.either(checks.number, checks.one_of("auto")),
    "kernel": _is_kernel,
    "n_iter": _MAYBE_WHOLE,
    "epochs": _MAYBE_WHOLE,
    "tol": checks.number,
    "max_epochs": checks.whole,
    "batch_size": checks.whole,
    "learning_rate": checks.number,
    "shuffle": checks.scalar,
    "sampling": checks.one_of("uniform", "permutation", "fixed-permutation"),
    "draws": checks.one_of("shared", "independent"),
    "finish": checks.scalar,
    "projection": checks.scalar,
    "average": checks.either(checks.flag, checks.number),
    "fit_intercept": checks.either(checks.flag, checks.one_of("auto", "augment", "free")),
    "class_weight": checks.either(checks.nothing, checks.one_of("balanced"), checks.weights(checks.scalar)),
    "checkpoints": checks.either(checks.nothing, checks.list_of(checks.whole)),
    "warm_start": checks.scalar,
    "memory": checks.scalar,
    "random_state": _MAYBE_WHOLE,
}


class NotKept:
    """Stands where a learner keeps what partial_fit goes on from, which files do not hold."""

    def __getitem__(self, key: Any) -> Any:
        raise ValueError(
            "partial_fit cannot go on from a model that was loaded: a file holds what was learned, not the state of learning. "
            "Call fit, or partial_fit on a new estimator."
        )


@dataclass(frozen=True)
class Learner:
    """Pegasos, Perceptron or SDCA."""

    cls: type
    left_out: tuple[str, ...] = ()

    @property
    def params(self) -> dict[str, Check]:
        return _SETTINGS

    def describe(self, estimator: Any, place: Place, arrays: Arrays) -> dict[str, Any]:
        what = place.words
        told = {
            **tell_names(estimator, place),
            "classes": _told_classes(estimator.classes_, what),
            "rows": int(estimator._m),
            "constant": float(estimator._constant),
            "seed": int(estimator._seed) if hasattr(estimator, "_seed") else None,
            "n_iter": int(estimator.n_iter_),
            "lam": encode(estimator.lam_, f"{what}: lam_"),
            "gap": encode(getattr(estimator, "gap_", None), f"{what}: gap_"),
            "checkpoints": [int(stop) for stop in estimator.checkpoints_],
            "plan": asdict(estimator.plan_),
            "kernel": None,
        }
        arrays.add(place.array("intercept_"), estimator.intercept_, f"{what}: intercept_")
        if hasattr(estimator, "coef_"):
            arrays.add(place.array("coef_"), estimator.coef_, f"{what}: coef_")
        else:
            told["kernel"] = encode(estimator.kernel_, f"{what}: kernel_")
            told["support"] = describe_support(estimator, place, arrays)
        if estimator.checkpoints_:
            arrays.add(place.array("stage_vectors"), estimator._stage_vectors, f"{what}: stages")
            arrays.add(place.array("stage_bias"), estimator._stage_bias, f"{what}: stages")
        for name in _CURVES:
            if getattr(estimator, name, None) is not None:
                arrays.add(place.array(name), getattr(estimator, name), f"{what}: {name}")
        return told

    def plan(self, node: Node, width: int | None) -> Planned:
        state, place, file = node.state, node.place, node.file
        inputs = checked_width(state, width)
        names = checked_names(state, inputs)
        classes = _checked_classes(state, place)
        columns = 1 if len(classes) == 2 else len(classes)
        facts = self._facts(state, place)
        vectors = {"intercept_": file.expect(place.array("intercept_"), FLOATS, (columns,))}
        kernel = _checked_kernel(state, place, node.params.get("kernel"))
        support = None
        if kernel is None:
            vectors["coef_"] = file.expect(place.array("coef_"), FLOATS, (columns, inputs))
            length = inputs
        else:
            support = plan_support(node, kernel, columns, inputs, facts["_m"])
            length = support.length
        stages = len(facts["checkpoints_"])
        if stages:
            file.expect(place.array("stage_vectors"), FLOATS, (stages, columns, length))
            file.expect(place.array("stage_bias"), FLOATS, (stages, columns))
        curves = [name for name in _CURVES if place.array(name) in file]
        for name in curves:
            file.expect(place.array(name), (*FLOATS, *WHOLES), None)

        def build() -> Any:
            estimator = self.cls(**node.params)
            vars(estimator).update(facts)
            estimator.n_features_in_, estimator.classes_ = inputs, classes
            set_names(estimator, names)
            for name in vectors:
                setattr(estimator, name, _finite(file.read(place.array(name)), name, state))
            if support is not None:
                estimator.kernel_ = kernel
                vars(estimator).update(support.build())
            kind = estimator.intercept_.dtype
            estimator._stage_vectors = np.empty((0, columns, length), dtype=kind)
            estimator._stage_bias = np.empty((0, columns), dtype=kind)
            if stages:
                estimator._stage_vectors = _finite(file.read(place.array("stage_vectors")), "a stage", state)
                estimator._stage_bias = _finite(file.read(place.array("stage_bias")), "a stage", state)
            for name in curves:
                setattr(estimator, name, file.read(place.array(name)))
            estimator._saved, estimator._mark = (NotKept() if kernel is None else None), None
            return estimator

        return Planned(inputs, None, build, learner=True)

    def _facts(self, state: State, place: Place) -> dict[str, Any]:
        """The attributes that are single numbers or short lists."""
        facts: dict[str, Any] = {"_m": state.whole("rows", 1), "n_iter_": state.whole("n_iter"), "plan_": _checked_plan(state)}
        constant = state.take("constant")
        if constant not in (0.0, 1.0) or isinstance(constant, bool):
            raise state.bad("its constant feature is neither 0 nor 1")
        facts["_constant"] = float(constant)
        stops = state.places("checkpoints", 2**63)
        facts["checkpoints_"] = stops
        seed = state.take("seed")
        if seed is not None:
            if not checks.whole(seed):
                raise state.bad("its seed is no whole number")
            facts["_seed"] = seed
        lam, gap = decode(state.take("lam"), place.words), decode(state.take("gap"), place.words)
        if self.cls is Perceptron:
            if lam is not None:
                raise state.bad("a Perceptron has no lam")
        elif not checks.number(lam) or lam <= 0:
            raise state.bad("lam is not a number above 0")
        else:
            facts["lam_"] = float(lam)
        if gap is not None:
            if not isinstance(gap, float):
                raise state.bad("its gap is no number")
            facts["gap_"] = gap
        return facts


def _told_classes(classes: Array, what: str) -> dict[str, Any]:
    """Classes as they are; objects that are all text become NumPy's strings."""
    if classes.dtype == object and all(isinstance(label, str) for label in classes):
        classes = strings(list(classes), f"{what}: classes_")
    if classes.dtype == object:
        raise BadModel(f"{what} has classes of mixed kinds ({classes!r}); a model file holds numbers, booleans or text.")
    if classes.dtype.kind == "f" and not np.isfinite(classes).all():
        raise BadModel(f"{what} has classes that are not finite ({classes!r}).")
    return encode_labels(classes, f"{what}: classes_")


def _checked_classes(state: State, place: Place) -> Array:
    classes = decode_labels(state.take("classes"), f"{place.words}: classes")
    if classes.dtype == object or len(classes) < 2:
        raise state.bad("it has fewer than two classes, or classes of mixed kinds")
    if not (classes[:-1] < classes[1:]).all():
        raise state.bad("its classes are not in order")
    return classes


def _checked_kernel(state: State, place: Place, setting: Any) -> Kernel | str | None:
    """The kernel with its numbers; it must be of the kind that the settings name."""
    kernel = decode(state.take("kernel"), f"{place.words}: kernel_")
    kind = KERNELS[ALIASES.get(setting, setting)] if isinstance(setting, str) and setting != _PRECOMPUTED else type(setting)
    if not _is_kernel(kernel) or (isinstance(kernel, str) and kernel != _PRECOMPUTED):
        raise state.bad("kernel_ is no kernel")
    if isinstance(kernel, Kernel):
        if type(kernel) is not kind or any(map(is_relative, kernel.get_params().values())):
            raise state.bad("kernel_ is another kernel than the settings name, or lacks a number")
    elif kernel != setting:
        raise state.bad("kernel_ is another kernel than the settings name")
    return kernel


def _checked_plan(state: State) -> Plan:
    told = state.take("plan")
    kinds = {"rows": str, "walk": str, "reason": str, "block": int, "bytes": int, "budget": int, "threads": int}
    if not isinstance(told, dict) or set(told) != {field.name for field in fields(Plan)}:
        raise state.bad("its plan is none")
    if not all(type(value) is kinds[name] for name, value in told.items()):
        raise state.bad("its plan is none")
    return Plan(**told)


def _finite(values: Array, name: str, state: State) -> Array:
    if not np.isfinite(values).all():
        raise state.bad(f"{name} holds numbers that are not finite")
    return values


LEARNERS: dict[str, Part] = {cls.__name__: Learner(cls) for cls in (Pegasos, Perceptron, SDCA)}
