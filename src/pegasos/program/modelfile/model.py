"""Saving and loading models.

A model file is one safetensors file with a checksum (see `container`). Its header contains the
version of the format, the versions of libraries, the estimator (see `parts`) and the card of the
caller as JSON; its arrays are the fitted parameters.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from pegasos.engine.runtime.memory import parse_bytes, total_bytes
from pegasos.program.errors import BadModel
from pegasos.program.files import replacing
from pegasos.program.modelfile import container, learners, transformers  # noqa: F401 - parts
from pegasos.program.modelfile.parts import LEARNER, Built
from pegasos.program.modelfile.values import Decoder, Encoder, parse, to_json

Array = np.ndarray[Any, Any]

#: Earlier formats were never released.
FORMAT = 5
_ROWS = "rows"
_AGAIN = "fit the model again and save it"


@dataclass(frozen=True)
class Model:
    """Content of a model file.

    Attributes
    ----------
    estimator : estimator
        Fitted learner or pipeline.
    n_features : int
        Number of columns that the estimator takes.
    card : dict
        JSON values that were passed to `save`.
    rows : ndarray of uint64 or None
        Sorted hashes of the training rows.
    format : int
        Version of the file format.
    versions : dict
        Versions of the libraries that wrote the file.
    """

    estimator: Any
    n_features: int
    card: dict[str, Any] = field(default_factory=dict)
    rows: Array | None = None
    format: int = FORMAT
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the training columns, or None if they had no names."""
        names = getattr(self.estimator, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    @property
    def classes(self) -> Array:
        """Class labels in increasing order."""
        return np.asarray(self.estimator.classes_)


def save(
    estimator: Any,
    path: str | os.PathLike[str],
    *,
    card: dict[str, Any] | None = None,
    rows: Array | None = None,
) -> None:
    """Write a fitted estimator to a model file.

    The file is written atomically and read back once before it replaces an older one. A loaded
    model predicts exactly as the saved one. The file contains no solver state: `fit` of a loaded
    model starts from scratch even with warm_start, and `partial_fit` raises an error. A generator
    passed as random_state is stored as the seed that was drawn from it. Caches, threads and
    verbosity of pipelines are not stored, and labels that were Python strings are loaded as NumPy
    strings.

    Parameters
    ----------
    estimator : estimator
        Fitted learner, pipeline that ends with one, or search, of which the best estimator is
        saved. Parts that a file cannot contain raise `BadModel` with their name.
    path : str or PathLike
        Name of the file.
    card : dict, optional
        JSON values to store with the model.
    rows : ndarray of uint64, optional
        64-bit hashes of the training rows, stored in increasing order.

    See Also
    --------
    load : Read the estimator of a model file.

    Examples
    --------
    >>> import tempfile
    >>> import pegasos
    >>> model = pegasos.Perceptron().fit([[0.0], [1.0]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pegasos.save(model, f"{folder}/my.model")
    ...     loaded = pegasos.load(f"{folder}/my.model")
    >>> loaded.predict([[2.0]]).tolist()
    ['b']
    """
    encoder = Encoder()
    model = encoder.encode(fitted_model(estimator), "model")
    if rows is not None:
        encoder.arrays[_ROWS] = np.sort(rows)
    try:
        head = to_json(
            {"format": FORMAT, "versions": _versions(), "model": model, "card": card or {}}
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise BadModel(f"card cannot be written as JSON: {error!s:.200}.") from None
    with replacing(path) as unfinished:
        size = container.write(unfinished, encoder.arrays, head)
        try:  # an unreadable file must not replace a readable one
            _read(unfinished, max(size, 2**30))
        except BadModel as error:
            raise BadModel(
                f"the model is not saved, since it could not be read again: {error}"
            ) from error


def load(path: str | os.PathLike[str]) -> Any:
    """Return the fitted estimator of a model file.

    Nothing in the file is executed. A damaged file raises `BadModel`.

    Parameters
    ----------
    path : str or PathLike
        Name of a file that `save` or the program wrote.

    Returns
    -------
    estimator
        Fitted learner or pipeline.

    See Also
    --------
    save : Write a fitted estimator to a model file.

    Examples
    --------
    >>> import tempfile
    >>> import pegasos
    >>> model = pegasos.Perceptron().fit([[0.0], [1.0]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pegasos.save(model, f"{folder}/my.model")
    ...     loaded = pegasos.load(f"{folder}/my.model")
    >>> loaded.predict([[2.0]]).tolist()
    ['b']
    """
    return read_model(path).estimator


def read_model(path: str | os.PathLike[str], limit: int | float | str | None = None) -> Model:
    """Return the content of a model file, or raise BadModel if it is damaged.

    Nothing in the file is executed.

    Parameters
    ----------
    path : str or PathLike
        Name of the file.
    limit : int, float or str, optional
        Largest size of the file in bytes or as text ("2GB"); by default half of the memory.
    """
    try:
        return _read(path, total_bytes() // 2 if limit is None else parse_bytes(limit))
    except BadModel as error:
        raise type(error)(f"{os.fspath(path)!r}: {error}") from None


def _read(path: str | os.PathLike[str], limit: int) -> Model:
    description, arrays = container.read(path, limit)
    try:
        head = parse(description, limit)
        if (found := head["format"]) != FORMAT:
            age, todo = ("a newer", "upgrade pegasos") if found > FORMAT else ("an older", _AGAIN)
            formats = f"format {found:.0f}; this one reads {FORMAT}"
            raise BadModel(f"the file was written by {age} pegasos ({formats}): {todo}.")
        built = Decoder(arrays).decode(head["model"], "model")
        if not isinstance(built, Built) or built.outputs != LEARNER:
            raise BadModel("it does not end with a learner of pegasos, so it cannot predict.")
        rows = arrays.get(_ROWS)
        is_list = rows is None or (rows.dtype == np.uint64 and rows.ndim == 1)
        if not is_list or (rows is not None and (rows[:-1] > rows[1:]).any()):
            raise BadModel("its rows are not sorted 64-bit hashes.")
        versions = {name: str(value) for name, value in head["versions"].items()}
        return Model(built.estimator, built.inputs, dict(head["card"]), rows, FORMAT, versions)
    except BadModel:
        raise
    except Exception as error:  # an untrusted file may cause any
        reason = " ".join(str(error).split())[:200]
        raise BadModel(
            f"its parts cannot be put together ({type(error).__name__}: {reason}). It is damaged, "
            f"or was written with another scikit-learn than {version('scikit-learn')}: {_AGAIN}."
        ) from error


def fitted_model(estimator: Any) -> Any:
    """Return the estimator that `save` writes: of a search, the best one.

    Estimators that a file cannot contain raise BadModel with the reason.
    """
    from pegasos.sklearn_private import is_search

    kind = type(estimator).__name__
    if is_search(estimator):
        estimator = vars(estimator).get("best_estimator_")
        if estimator is None:
            raise BadModel(f"this {kind} has no best estimator to save: fit it with refit=True.")
    if not isinstance(estimator, BaseEstimator):
        raise BadModel(f"a {kind} is not an estimator; save a fitted learner or pipeline.")
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        what = f"this {kind} is not fitted yet: there is nothing to save"
        raise BadModel(f"{what}. Call fit first.") from None
    Encoder().encode(estimator, "model")
    return estimator


def _versions() -> dict[str, str]:
    libraries = ("pegasos", "scikit-learn", "numpy", "scipy")
    return {**{name: version(name) for name in libraries}, "python": platform.python_version()}
