"""Named sets for Python, in the form of scikit-learn's loaders."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from pegasos.program.tables import named_sets
from pegasos.program.tables.dataset import Array, Dataset


def load_set(
    name: str,
    *,
    return_X_y: bool = False,
    as_frame: bool | str = False,
    seed: int = 0,
    rows: int | None = None,
    fetch: bool = False,
) -> Bunch | tuple[Any, Any]:
    """Return a named set of the program.

    Parameters
    ----------
    name : {"digits", "quadric", "moons", "circles", "xor", "blobs", "usps", "binary10"}
        The set. usps and binary10 are read from the folder in the environment variable
        PEGASOS_DATA, or from the user's data folder, and must be the published data.
    return_X_y : bool
        Return only (data, target).
    as_frame : bool or {"pandas", "polars"}
        Return a pandas frame and series (True), or those of a library.
    seed, rows : int, optional
        Seed and number of rows of generated sets.
    fetch : bool
        Allow usps to be downloaded from OpenML, once; nothing else is ever downloaded.

    Returns
    -------
    Bunch
        data, target, feature_names, target_names, DESCR, and frame (data and target together, else
        None). If a set has test rows of its own (usps), data and target are its training rows, and
        test_data and test_target its test rows, otherwise None. images: rows as pictures, or None.

    See Also
    --------
    pegasos.play : Learners on a set in the browser, step by step.

    Examples
    --------
    >>> from pegasos import load_set
    >>> X, y = load_set("moons", rows=200, return_X_y=True)
    >>> digits = load_set("digits")
    >>> X.shape, digits.data.shape, digits.images.shape, digits.target_names
    ((200, 2), (1797, 64), (1797, 8, 8), array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]))
    """
    if as_frame not in (True, False, "pandas", "polars"):
        raise ValueError(f"as_frame must be True, False, 'pandas' or 'polars'; got {as_frame!r}.")
    found = named_sets.load_set(name, seed=seed, rows=rows, fetch=fetch)
    tested = np.zeros(len(found), dtype=bool) if found.test is None else found.test
    library = "pandas" if as_frame is True else as_frame
    data, target, frame = _part(found, ~tested, library)
    if return_X_y:
        return data, target
    test = _part(found, tested, library) if tested.any() else (None, None, None)
    pictures = None if found.image is None else found.X[~tested].reshape(-1, *found.image)
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        test_data=test[0],
        test_target=test[1],
        feature_names=[column.name for column in found.columns],
        target_names=np.unique(found.labels),
        images=pictures,
        DESCR="\n".join([f"{name}: {named_sets.SETS[name][0]}.", *found.notes]),
    )


def _part(found: Dataset, rows: Array, library: bool | str) -> tuple[Any, Any, Any]:
    """Return data and target of some rows, and both in one frame (None for arrays)."""
    X, y, names = found.X[rows], found.labels[rows], [column.name for column in found.columns]
    label, frame = found.label_name or "target", None
    if library == "pandas":
        import pandas as pd

        frame = pd.DataFrame(X, columns=names).assign(**{label: y})
    elif library == "polars":
        import polars as pl

        frame = pl.DataFrame(X, schema=names).with_columns(pl.Series(label, y))
    return (X, y, None) if frame is None else (frame[names], frame[label], frame)
