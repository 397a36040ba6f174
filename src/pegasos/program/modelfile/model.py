"""Saving and loading models.

A model file is one safetensors file. Its header holds, as text, the format's version, the versions of libraries, the tree of
parts (see `tree`) and the card, which is the caller's own; its arrays are the numbers that were learned.
"""

from __future__ import annotations

import contextlib
import os
import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import scipy
import sklearn
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from pegasos.engine.memory import free_bytes, parse_bytes
from pegasos.program.files import replacing
from pegasos.program.modelfile import strictjson
from pegasos.program.modelfile.container import KEY, MOST_HEADER_BYTES, Container
from pegasos.program.modelfile.errors import BadModel, short
from pegasos.program.modelfile.parts import PARTS
from pegasos.program.modelfile.tree import Arrays, Place, describe, plan

Array = np.ndarray[Any, Any]

FORMAT = 1
MOST_CARD_BYTES = 4 * 2**20
_ROWS = "rows"


@dataclass(frozen=True)
class Model:
    """What a file held: a fitted estimator, its columns, the card, sorted hashes of rows (or None), and what the header tells."""

    estimator: Any
    n_features: int
    card: dict[str, Any] = field(default_factory=dict)
    rows: Array | None = None
    format: int = FORMAT
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def feature_names(self) -> list[str] | None:
        """The columns that the model was fitted to, if they had names."""
        names = getattr(self.estimator, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    @property
    def classes(self) -> Array:
        """The labels that the model gives."""
        return np.asarray(self.estimator.classes_)


def save(estimator: Any, path: str | os.PathLike[str], *, card: dict[str, Any] | None = None, rows: Array | None = None) -> None:
    """Write a fitted learner, or a pipeline that ends with one, to a file; of a search its best estimator.

    `card` is a dict of JSON values that is kept as it is; `rows` are 64-bit hashes of rows (uint64), kept sorted.
    The file is written whole or not at all, and read once before it takes its place. Parts that a file cannot hold are refused
    by name. The state of learning is not kept: a loaded model predicts as the saved one does, but a later `fit` starts anew even
    with warm_start, and `partial_fit` refuses to go on. A generator as random_state is kept as the seed that was drawn from it;
    caches, threads and verbosity of pipelines are not kept, and labels that were Python text come back as NumPy's.
    """
    tree, arrays = _described(estimator)
    card = {} if card is None else card
    if not isinstance(card, dict):
        raise BadModel(f"card must be a dict, got {type(card).__name__}.")
    told_card = strictjson.plain(card, "card")
    if len(strictjson.write(told_card)) > MOST_CARD_BYTES:
        raise BadModel(f"card takes more than {MOST_CARD_BYTES:,} bytes as JSON; keep less in it.")
    if rows is not None:
        rows = np.asarray(rows)
        if rows.dtype != np.uint64 or rows.ndim != 1:
            raise BadModel(f"rows must be a one-dimensional array of uint64, got {rows.ndim}-D {rows.dtype}.")
        arrays.named[_ROWS] = np.sort(rows)
    head = strictjson.write(
        {"format": FORMAT, "versions": _versions(), "model": tree, "card": told_card, "rows": rows is not None}
    )
    if 2 * len(head) > MOST_HEADER_BYTES and len(strictjson.write(head)) > MOST_HEADER_BYTES - 2**20:
        raise BadModel("the names, categories and the card together are too large for a model file (16 MB of text).")
    content = safetensors.numpy.save(arrays.named, metadata={KEY: head})
    with replacing(path, check=lambda written: _read_back(written, max(len(content), 2**30))) as unfinished:
        unfinished.write_bytes(content)


def _read_back(path: Path, limit: int) -> None:
    """A file that nobody could open must not take the place of one that can be."""
    with os.fdopen(_opened(path), "rb") as file:
        try:
            _model(Container(file, limit))
        except BadModel as error:
            raise BadModel(f"the model is not saved, since it could not be read again: {error}") from error


def _opened(path: str | os.PathLike[str]) -> int:
    # A pipe must not make us wait: it is opened without waiting, and then refused.
    return os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))


def load(path: str | os.PathLike[str]) -> Any:
    """The fitted estimator that a file holds; see `read_model`."""
    return read_model(path).estimator


def read_model(path: str | os.PathLike[str], limit: int | float | str | None = None) -> Model:
    """Read a model file. Nothing in it is executed, and all of it is checked; what is not in order is a BadModel.

    `limit`: bytes (or "2GB") that the file may have; None: half of the memory that is free.
    """
    most = free_bytes() // 2 if limit is None else parse_bytes(limit)
    if Path(path).is_dir():
        raise BadModel(f"{os.fspath(path)!r}: this is a folder; give the name of a model file.")
    with os.fdopen(_opened(path), "rb") as file:
        try:
            return _model(Container(file, most))
        except BadModel as error:
            raise BadModel(f"{os.fspath(path)!r}: {error}") from None


def _model(file: Container) -> Model:
    head = file.head
    if not isinstance(head, dict) or type(head.get("format")) is not int:
        raise BadModel("its header has no format: the file is damaged or was not written by pegasos.")
    if head["format"] != FORMAT:
        newer = head["format"] > FORMAT
        told = "a newer pegasos" if newer else "no known pegasos"
        remedy = ": upgrade pegasos." if newer else "."
        raise BadModel(f"the file was written by {told} (format {head['format']}; this one reads {FORMAT}){remedy}")
    if set(head) != {"format", "versions", "model", "card", "rows"}:
        raise BadModel(f"its header holds {short(sorted(head))}: the file is damaged or was not written by pegasos.")
    versions, card = head["versions"], head["card"]
    if not isinstance(card, dict) or not isinstance(versions, dict):
        raise BadModel("its header has no card or no versions: the file is damaged.")
    if not all(isinstance(told, str) for told in versions.values()):
        raise BadModel("its versions are not text: the file is damaged.")
    planned = plan(head["model"], Place(), file, None, PARTS)
    if not planned.learner or planned.inputs is None:
        raise BadModel("it does not end with a learner, so it cannot predict.")
    if head["rows"] is True:
        file.expect(_ROWS, ("U64",), (None,))
    elif head["rows"] is not False:
        raise BadModel("its header does not say whether it has rows: the file is damaged.")
    file.check_all_asked()
    try:
        estimator = planned.build()
        rows = file.read(_ROWS) if head["rows"] else None
    except BadModel:
        raise
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, MemoryError) as error:
        written = versions.get("scikit-learn", "unknown")
        raise BadModel(
            f"its parts cannot be put together ({type(error).__name__}: {short(str(error))}). The file is damaged, or "
            f"scikit-learn {sklearn.__version__} differs too much from {short(written)}, with which it was written."
        ) from error
    if rows is not None and (rows[:-1] > rows[1:]).any():
        raise BadModel("its rows are not sorted: the file is damaged.")
    return Model(estimator, planned.inputs, card, rows, head["format"], versions)


def _described(estimator: Any) -> tuple[dict[str, Any], Arrays]:
    """The tree and the arrays of an estimator, or of the best one that a search found."""
    if isinstance(estimator, type):
        raise BadModel(f"{estimator.__name__} is a class; save a fitted estimator.")
    if not hasattr(estimator, "best_estimator_") and hasattr(estimator, "refit"):
        raise BadModel(f"this {type(estimator).__name__} has no best estimator to save: fit it first, with refit=True.")
    estimator = getattr(estimator, "best_estimator_", estimator)
    arrays = Arrays()
    with _told_if_unfitted(estimator):
        if not hasattr(estimator, "fit"):
            raise BadModel(
                f"{short(estimator)} is a {type(estimator).__name__}, no estimator; save a fitted learner or pipeline."
            )
        check_is_fitted(estimator)
        if not hasattr(estimator, "predict"):
            raise BadModel(f"this {type(estimator).__name__} does not end with a learner of ours, so it cannot predict.")
        return describe(estimator, Place(), arrays, PARTS), arrays


@contextlib.contextmanager
def _told_if_unfitted(estimator: Any) -> Any:
    try:
        yield
    except NotFittedError:
        raise BadModel(f"this {type(estimator).__name__} is not fitted yet: there is nothing to save. Call fit first.") from None


def _versions() -> dict[str, str]:
    return {
        "pegasos": version("pegasos"),
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }
