"""Saving and loading models.

A model file is one safetensors file with a checksum (see `container`). Its header holds, as text, the format's version, the
versions of libraries, the tree of parts (see `tree`) and the caller's card; its arrays are the numbers that were learned.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from pegasos.engine.runtime.memory import parse_bytes, total_bytes
from pegasos.program.errors import BadModel, short
from pegasos.program.files import replacing
from pegasos.program.modelfile import (  # noqa: F401 - parts
    composed_parts,
    learner_parts,
    nystroem_parts,
    strictjson,
    transformer_parts,
)
from pegasos.program.modelfile.checks import text
from pegasos.program.modelfile.container import MOST_HEADER_BYTES, Container, write
from pegasos.program.modelfile.tree import Draft, Place, build, describe

Array = np.ndarray[Any, Any]

#: 4: with a checksum; formats 2 and 3 had none, and 1 was never released.
FORMAT = 4
MOST_CARD_BYTES = 4 * 2**20
_ROWS = "rows"


@dataclass(frozen=True)
class Model:
    """What a file held: a fitted estimator, its columns, the card, sorted hashes of rows (or None), format and versions."""

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
        return np.asarray(self.estimator.classes_)


def save(
    estimator: Any,
    path: str | os.PathLike[str],
    *,
    card: dict[str, Any] | None = None,
    rows: Array | None = None,
) -> None:
    """Write a fitted learner, or a pipeline that ends with one, to a file; of a search its best estimator.

    `card` is a dict of JSON values that is kept as it is; `rows` are 64-bit hashes of rows (uint64), kept sorted.
    The file is written whole or not at all, and read once before it takes its place. Parts that a file cannot hold are refused
    by name. The state of learning is not kept: a loaded model predicts as the saved one does, but a later `fit` starts anew even
    with warm_start, and `partial_fit` refuses to go on. A generator as random_state is kept as the seed that was drawn from it;
    caches, threads and verbosity of pipelines are not kept, and labels that were Python text come back as NumPy's.
    """
    draft = Draft()
    tree = _described(estimator, draft)
    if not isinstance(card, dict | None):
        raise BadModel(f"card must be a dict, got {type(card).__name__}.")
    plain_card = strictjson.plain(card or {}, "card")
    if len(strictjson.write(plain_card)) > MOST_CARD_BYTES:
        raise BadModel(f"card takes more than {MOST_CARD_BYTES:,} bytes as JSON; keep less in it.")
    if rows is not None:
        rows = np.asarray(rows)
        if rows.dtype != np.uint64 or rows.ndim != 1:
            raise BadModel(
                f"rows must be a one-dimensional array of uint64, got {rows.ndim}-D {rows.dtype}."
            )
        draft.arrays[_ROWS] = np.sort(rows)
    head = strictjson.write(
        {"format": FORMAT, "versions": _versions(), "model": tree, "card": plain_card}
    )
    if (
        2 * len(head) > MOST_HEADER_BYTES
        and len(strictjson.write(head)) > MOST_HEADER_BYTES - 2**20
    ):
        raise BadModel(
            "the names, categories and the card together are too large for a model file (16 MB of text)."
        )
    with replacing(path) as unfinished:
        size = write(unfinished, draft.arrays, head)
        try:  # a file that nobody could open must not take the place of one that can be
            _read(unfinished, max(size, 2**30))
        except BadModel as error:
            raise BadModel(
                f"the model is not saved, since it could not be read again: {error}"
            ) from error


def load(path: str | os.PathLike[str]) -> Any:
    """The fitted estimator that a file holds; see `read_model`."""
    return read_model(path).estimator


def read_model(path: str | os.PathLike[str], limit: int | float | str | None = None) -> Model:
    """Read a model file, or raise BadModel if it is damaged. Nothing in it is executed.

    `limit`: bytes (or "2GB") that the file may have; None: half of the machine's memory.
    """
    if Path(path).is_dir():
        raise BadModel(f"{os.fspath(path)!r}: this is a folder; give the name of a model file.")
    try:
        return _read(path, total_bytes() // 2 if limit is None else parse_bytes(limit))
    except BadModel as error:
        raise type(error)(f"{os.fspath(path)!r}: {error}") from None


def _read(path: str | os.PathLike[str], limit: int) -> Model:
    file = Container(path, limit)
    head = _checked_head(file.head)
    try:
        built = build(head["model"], Place(), file, None)
    except BadModel:
        raise
    except (
        ValueError,
        TypeError,
        ArithmeticError,
        LookupError,
        AttributeError,
        MemoryError,
    ) as error:
        raise BadModel(
            f"its parts cannot be put together ({type(error).__name__}: {short(str(error))}). Perhaps scikit-learn "
            f"{version('scikit-learn')} differs too much from {short(head['versions'].get('scikit-learn'))}, "
            "with which it was written: fit the model again and save it."
        ) from error
    if not built.learner or built.inputs is None:
        raise BadModel("it does not end with a learner of pegasos, so it cannot predict.")
    rows = file.read(_ROWS, ("U64",), (None,)) if _ROWS in file else None
    file.check_all_read()
    if rows is not None and (rows[:-1] > rows[1:]).any():
        raise BadModel("its rows are not sorted: the file was not written by pegasos.")
    return Model(
        built.estimator, built.inputs, head["card"], rows, head["format"], head["versions"]
    )


def _checked_head(head: Any) -> dict[str, Any]:
    """Return the description if its format is the one of this version, and its parts are there."""
    found = head.get("format") if isinstance(head, dict) else None
    if type(found) is int and found > FORMAT:
        raise BadModel(
            f"the file was written by a newer pegasos (format {found}; this one reads {FORMAT}): upgrade pegasos."
        )
    if found != FORMAT or set(head) != {"format", "versions", "model", "card"}:
        raise BadModel("its header is not that of a model: the file was not written by pegasos.")
    card, versions = head["card"], head["versions"]
    if (
        not isinstance(card, dict)
        or not isinstance(versions, dict)
        or not all(map(text, versions.values()))
    ):
        raise BadModel("its card or its versions are missing.")
    return head


def fitted_model(estimator: Any) -> Any:
    """The fitted estimator that a file would hold: of a search its best one. BadModel says why a file could not."""
    _described(estimator, Draft())
    return _found(estimator)


def _described(estimator: Any, draft: Draft) -> dict[str, Any]:
    """The tree of an estimator, or of the best one that a search found; its arrays go to the draft."""
    estimator = _found(estimator)
    try:
        check_is_fitted(estimator)
        return describe(estimator, draft)
    except NotFittedError:
        raise BadModel(
            f"this {type(estimator).__name__} is not fitted yet: there is nothing to save. Call fit first."
        ) from None


def _found(estimator: Any) -> Any:
    """The estimator itself, or the best one that a search found."""
    from pegasos.sklearn_private import is_search

    kind = type(estimator).__name__
    if isinstance(estimator, type):
        raise BadModel(f"{estimator.__name__} is a class; save a fitted estimator.")
    if is_search(estimator):
        if "best_estimator_" not in vars(estimator):
            raise BadModel(
                f"this {kind} has no best estimator to save: fit it first, with refit=True."
            )
        estimator = estimator.best_estimator_
    if not isinstance(estimator, BaseEstimator):
        raise BadModel(
            f"{short(estimator)} is a {kind}, not an estimator; save a fitted learner or pipeline."
        )
    return estimator


@cache
def _versions() -> dict[str, str]:
    libraries = ("pegasos", "scikit-learn", "numpy", "scipy")
    return {**{name: version(name) for name in libraries}, "python": platform.python_version()}
