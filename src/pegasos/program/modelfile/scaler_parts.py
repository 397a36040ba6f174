"""scikit-learn's scalers and PolynomialFeatures: built again on a row of zeros, then given their numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, PolynomialFeatures, RobustScaler, StandardScaler

from pegasos.program.modelfile import checks
from pegasos.program.modelfile.container import FLOATS, WHOLES
from pegasos.program.modelfile.tree import (
    MOST_CELLS,
    Arrays,
    Check,
    Node,
    Part,
    Place,
    Planned,
    checked_names,
    checked_width,
    set_names,
    tell_names,
)
from pegasos.program.modelfile.values import decode, encode

#: Columns that PolynomialFeatures may make: one row of them still fits anywhere.
_MOST_PRODUCTS = 2**24


@dataclass(frozen=True)
class Scaler:
    """A part whose state is a number a feature, under several names."""

    cls: type
    params: dict[str, Check]
    #: The arrays, each with the setting that makes it necessary ("": it always is; None: it is for information).
    arrays: dict[str, str | None]
    counts: bool = True
    left_out: tuple[str, ...] = ()

    def describe(self, estimator: Any, place: Place, arrays: Arrays) -> dict[str, Any]:
        told = tell_names(estimator, place)
        present = [name for name in self.arrays if getattr(estimator, name) is not None]
        for name in present:
            arrays.add(place.array(name), getattr(estimator, name), f"{place.words}: {name}")
        if self.counts:
            seen = estimator.n_samples_seen_
            if np.ndim(seen):
                arrays.add(place.array("n_samples_seen_"), seen, f"{place.words}: n_samples_seen_")
            told["seen"] = None if np.ndim(seen) else encode(seen, f"{place.words}: n_samples_seen_")
        return told

    def plan(self, node: Node, width: int | None) -> Planned:
        inputs = checked_width(node.state, width, MOST_CELLS)
        names = checked_names(node.state, inputs)
        present = []
        for name, needed_by in self.arrays.items():
            needed = needed_by is not None and (needed_by == "" or node.params.get(needed_by, True))
            if needed or node.place.array(name) in node.file:
                node.file.expect(node.place.array(name), FLOATS, (inputs,))
                present.append(name)
        seen = decode(node.state.take("seen"), f"{node.place.words}: seen") if self.counts else None
        if self.counts and seen is None:
            node.file.expect(node.place.array("n_samples_seen_"), (*FLOATS, *WHOLES), (inputs,))
        elif self.counts and not checks.number(seen):
            raise node.state.bad("the number of rows it saw is no number")

        def build() -> Any:
            estimator = self.cls(**node.params).fit(np.zeros((1, inputs)))
            for name in self.arrays:
                setattr(estimator, name, node.file.read(node.place.array(name)) if name in present else None)
            if self.counts:
                estimator.n_samples_seen_ = node.file.read(node.place.array("n_samples_seen_")) if seen is None else seen
            set_names(estimator, names)
            return estimator

        return Planned(inputs, inputs, build)


class Products:
    """PolynomialFeatures: its settings and its width are all there is."""

    cls = PolynomialFeatures
    params: dict[str, Check]
    left_out: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.params = {
            "degree": checks.either(checks.whole, checks.pair_of(checks.whole)),
            "interaction_only": checks.flag,
            "include_bias": checks.flag,
            "order": checks.one_of("C", "F"),
        }

    def describe(self, estimator: Any, place: Place, arrays: Arrays) -> dict[str, Any]:
        return tell_names(estimator, place)

    def plan(self, node: Node, width: int | None) -> Planned:
        inputs = checked_width(node.state, width, MOST_CELLS)
        names = checked_names(node.state, inputs)
        degree = node.params.get("degree", 2)
        lowest, highest = degree if isinstance(degree, tuple | list) else (0, degree)
        bias = node.params.get("include_bias", True)
        counted = count_products(inputs, lowest, highest, node.params.get("interaction_only", False), bias)
        if lowest > highest or not 1 <= counted <= _MOST_PRODUCTS:
            raise node.state.bad(f"degree={degree} for {inputs} features makes no table that could be computed")

        def build() -> Any:
            estimator = PolynomialFeatures(**node.params).fit(np.zeros((1, inputs)))
            set_names(estimator, names)
            return estimator

        return Planned(inputs, counted, build)


def count_products(n_features: int, lowest: int, highest: int, interaction_only: bool, bias: bool) -> int:
    """Columns of PolynomialFeatures; beyond what can be computed the count ends early.

    >>> count_products(3, 0, 2, False, True), count_products(3, 0, 2, True, False)
    (10, 6)
    """
    found = int(bias)
    for degree in range(max(1, lowest), highest + 1):
        if interaction_only and degree > n_features:
            break
        if not interaction_only and min(n_features - 1, degree) > 32:
            return _MOST_PRODUCTS + 1  # more than 64 over 32, which would take long to tell exactly
        if interaction_only and min(n_features - degree, degree) > 32:
            return _MOST_PRODUCTS + 1
        found += math.comb(n_features, degree) if interaction_only else math.comb(n_features + degree - 1, degree)
        if found > _MOST_PRODUCTS:
            break
    return found


SCALERS: dict[str, Part] = {
    "StandardScaler": Scaler(
        StandardScaler,
        {"copy": checks.flag, "with_mean": checks.flag, "with_std": checks.flag},
        {"mean_": "with_mean", "var_": None, "scale_": "with_std"},
    ),
    "MinMaxScaler": Scaler(
        MinMaxScaler,
        {"feature_range": checks.pair_of(checks.number), "copy": checks.flag, "clip": checks.flag},
        {"min_": "", "scale_": "", "data_min_": "", "data_max_": "", "data_range_": ""},
    ),
    "MaxAbsScaler": Scaler(MaxAbsScaler, {"copy": checks.flag, "clip": checks.flag}, {"scale_": "", "max_abs_": ""}),
    "RobustScaler": Scaler(
        RobustScaler,
        {
            "with_centering": checks.flag,
            "with_scaling": checks.flag,
            "quantile_range": checks.pair_of(checks.number),
            "copy": checks.flag,
            "unit_variance": checks.flag,
        },
        {"center_": "with_centering", "scale_": "with_scaling"},
        counts=False,
    ),
    "Normalizer": Scaler(Normalizer, {"norm": checks.one_of("l1", "l2", "max"), "copy": checks.flag}, {}, counts=False),
    "PolynomialFeatures": Products(),
}
