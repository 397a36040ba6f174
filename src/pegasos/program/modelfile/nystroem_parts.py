"""Nystroem: its landmarks, fitted kernel, and the weights that map kernel values to features."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.landmarks import SELECTIONS
from pegasos.engine.kernels.standard import ALIASES, KERNELS
from pegasos.nystroem import CUTS, Nystroem
from pegasos.program.modelfile.checks import Check, count, either, nothing, one_of
from pegasos.program.modelfile.learner_parts import checked_kernel, keep_rows, read_rows
from pegasos.program.modelfile.tree import MOST_FEATURES, Built, Draft, Node, Part, register
from pegasos.program.modelfile.values import encode


class Landmarks(Part):
    """Nystroem features: landmarks, weights and eigenvalues."""

    def describe(self, estimator: Any, draft: Draft) -> dict[str, Any]:
        """Return the kernel of a fitted map, and keep its arrays."""
        for name in ("landmark_indices_", "weights_", "eigenvalues_"):
            draft.keep(name, getattr(estimator, name))
        rows = keep_rows(draft, "landmarks_", estimator.landmarks_)
        return {"kernel": encode(estimator.kernel_, f"{draft.place.words}: kernel_"), "rows": rows}

    def build(self, node: Node, width: int | None) -> Built:
        """Return the fitted map of a node."""
        estimator = Nystroem(**node.params)
        try:
            estimator._check_parameters()
        except ValueError as error:
            raise node.bad(f"{error!s:.200}".rstrip(".")) from None
        kernel = checked_kernel(node, estimator.kernel)
        if not isinstance(kernel, Kernel):
            raise node.bad("its kernel is no kernel of rows")
        weights = node.array("weights_", ("F64",), (None, None))
        landmarks, features = weights.shape
        if not 1 <= features <= landmarks <= estimator.landmarks:
            raise node.bad(
                f"{features} features of {landmarks} landmarks are not possible with landmarks={estimator.landmarks}"
            )
        values = node.array("eigenvalues_", ("F64",), (features,))
        indices = node.array("landmark_indices_", ("I64",), (landmarks,))
        kind = "F64" if estimator.dtype == "float64" else "F32"
        estimator.kernel_, estimator.weights_, estimator.eigenvalues_ = kernel, weights, values
        estimator.landmark_indices_ = indices.astype(np.intp, copy=False)
        estimator.landmarks_ = read_rows(node, "rows", "landmarks_", kind, landmarks, landmarks)
        return Built(estimator, node.inputs, features)


_SETTINGS: dict[str, Check] = {
    "kernel": either(lambda value: isinstance(value, Kernel), one_of(*KERNELS, *ALIASES)),
    "landmarks": count,
    "selection": one_of(*SELECTIONS),
    "dtype": one_of(*CUTS),
    "random_state": either(nothing, count),
}

register(Landmarks(Nystroem, _SETTINGS, left_out=("memory",), most_features=MOST_FEATURES))
