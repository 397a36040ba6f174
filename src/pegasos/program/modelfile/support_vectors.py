"""The support of a kernel predictor: which training rows count, how much, and their numbers, dense or CSR."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.engine.kernels import Kernel
from pegasos.program.modelfile.container import FLOATS, WHOLES
from pegasos.program.modelfile.tree import Arrays, Node, Place

_FORMATS: dict[str, Any] = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}


@dataclass(frozen=True)
class Support:
    """Checked: how many rows support the predictor, and how to get its attributes."""

    length: int
    build: Callable[[], dict[str, Any]]


def describe_support(estimator: Any, place: Place, arrays: Arrays) -> str:
    """Keep the arrays; returns their format."""
    what = f"{place.words}: the support vectors"
    arrays.add(place.array("dual_coef_"), estimator.dual_coef_, what)
    arrays.add(place.array("support_"), estimator.support_.astype(np.int64), what)
    if isinstance(estimator.kernel_, str):
        return "none"
    rows = estimator.support_vectors_
    if not sparse.issparse(rows):
        arrays.add(place.array("support_vectors_"), rows, what)
        return "dense"
    for part in ("data", "indices", "indptr"):
        arrays.add(place.array(f"support_vectors_.{part}"), getattr(rows, part), what)
    return "csr_array" if isinstance(rows, sparse.sparray) else "csr_matrix"


def plan_support(node: Node, kernel: Kernel | str, columns: int, inputs: int, m: int) -> Support:
    """Check the arrays against each other, as far as the header tells."""
    state, place, file = node.state, node.place, node.file
    form = state.take("support")
    length = file.expect(place.array("support_"), ("I64",), (None,)).shape[0]
    dual_dtype = file.expect(place.array("dual_coef_"), FLOATS, (columns, length)).dtype
    if isinstance(kernel, str) != (form == "none"):
        raise state.bad("only a precomputed kernel has no support vectors")
    if form == "none":
        if m != inputs:
            raise state.bad(f"a precomputed kernel takes as many columns as it had training rows, not {inputs} for {m}")
    elif form == "dense":
        file.expect(place.array("support_vectors_"), (dual_dtype,), (length, inputs))
    elif isinstance(form, str) and form in _FORMATS:
        data = file.expect(place.array("support_vectors_.data"), (dual_dtype,), (None,))
        wholes = file.expect(place.array("support_vectors_.indices"), WHOLES, data.shape).dtype
        file.expect(place.array("support_vectors_.indptr"), (wholes,), (length + 1,))
    else:
        raise state.bad("the format of its support vectors is unknown")

    def build() -> dict[str, Any]:
        support, dual = file.read(place.array("support_")), file.read(place.array("dual_coef_"))
        if length and (support[0] < 0 or support[-1] >= m or not (support[:-1] < support[1:]).all()):
            raise state.bad("the numbers of its support vectors are not in order, or beyond its training rows")
        rows = _read_rows(node, form, inputs, length, dual.dtype)
        if not np.isfinite(dual).all() or not np.isfinite(rows.data if sparse.issparse(rows) else rows).all():
            raise state.bad("its support vectors hold numbers that are not finite")
        return {"support_": support.astype(np.intp, copy=False), "dual_coef_": dual, "support_vectors_": rows}

    return Support(length, build)


def _read_rows(node: Node, form: str, inputs: int, length: int, dtype: Any) -> Any:
    file, place = node.file, node.place
    if form == "none":
        return np.empty((0, inputs), dtype=dtype)
    if form == "dense":
        return file.read(place.array("support_vectors_"))
    data, indices, indptr = (file.read(place.array(f"support_vectors_.{part}")) for part in ("data", "indices", "indptr"))
    # SciPy's compiled code believes these numbers: one that is wrong would read beyond the arrays.
    if indptr[0] != 0 or indptr[-1] != len(data) or (indptr[:-1] > indptr[1:]).any():
        raise node.state.bad("the rows of its sparse support vectors are damaged")
    if len(indices) and (indices.min() < 0 or indices.max() >= inputs):
        raise node.state.bad("its sparse support vectors have columns beyond their width")
    return _FORMATS[form]((data, indices, indptr), shape=(length, inputs))
