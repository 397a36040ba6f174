"""Named sets for Python, as scikit-learn's loaders give theirs."""

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
    """One of the named sets that the program knows, too: digits, quadric, moons, circles, xor, blobs, usps, binary10.

    Parameters
    ----------
    name : its name; usps and binary10 are looked for in the folder that the environment variable PEGASOS_DATA names, then in the
        user's data folder, and are only taken if they are the published data.
    return_X_y : only (data, target).
    as_frame : True gives a pandas frame and series, "polars" polars ones.
    seed, rows : of the sets that are generated.
    fetch : lets usps come from OpenML, once; nothing is ever downloaded without it.

    Returns
    -------
    Bunch
        with data, target, feature_names, target_names, DESCR, and frame (data and target together, else None). Where a set has
        test rows of its own (usps), data and target are its training rows, and test_data and test_target its test rows; elsewhere
        these are None. images: the rows as pictures, where they are some.

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
    test_data, test_target, _ = (
        _part(found, tested, library) if tested.any() else (None, None, None)
    )
    pictures = None if found.image is None else found.X[~tested].reshape(-1, *found.image)
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        test_data=test_data,
        test_target=test_target,
        feature_names=[column.name for column in found.columns],
        target_names=np.unique(found.labels),
        images=pictures,
        DESCR="\n".join([f"{name}: {named_sets.SETS[name][0]}.", *found.notes]),
    )


def _part(found: Dataset, rows: Array, library: bool | str) -> tuple[Any, Any, Any]:
    """Some of the rows: data, target, and both in one frame (None for arrays)."""
    X, y, names = found.X[rows], found.labels[rows], [column.name for column in found.columns]
    label = found.label_name or "target"
    if library == "pandas":
        import pandas as pd

        data, target = pd.DataFrame(X, columns=names), pd.Series(y, name=label)
        return data, target, pd.concat([data, target], axis=1)
    if library == "polars":
        import polars as pl

        frame = pl.DataFrame(X, schema=names)
        return frame, pl.Series(label, y), frame.with_columns(pl.Series(label, y))
    return X, y, None
