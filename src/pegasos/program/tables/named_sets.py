"""Named sets: generated ones, scikit-learn's digits, and two published sets read from files."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from pegasos.program.files import replacing
from pegasos.program.tables.dataset import Array, BadData, Column, Dataset
from pegasos.program.tables.messages import near

#: SHA-256 of values and labels on the grids below, whatever file holds them.
USPS_FINGERPRINT = "1042c8d95510ba3e090dc55c938327710d13271cfa3e6ec383cec86a629b9079"
BINARY10_FINGERPRINT = "75bb5faaebd3620e88996b263f2287ac104a108d18a88b656047a2d152e83558"
#: Number of the USPS digits on OpenML, where a name stands for the newest version.
USPS_ON_OPENML = 41082
USPS_TRAIN = 7291
#: Smaller generated sets may lack a class.
FEWEST_ROWS = 10

#: Description and number of rows of each set; the default number if it is generated.
SETS: dict[str, tuple[str, int]] = {
    "digits": ("handwritten digits of 8 x 8 pixels, ten classes; comes with scikit-learn", 1797),
    "quadric": ("10 features on different scales, a cubic boundary, two classes; generated", 2000),
    "moons": ("two half circles in the plane, with normal noise of 0.2; generated", 1000),
    "circles": ("a circle inside a wider one, with normal noise of 0.1; generated", 1000),
    "xor": ("four squares of two classes, as on a chessboard; generated", 1000),
    "blobs": ("three normal classes with std 0.8 around fixed centers; generated", 1000),
    "usps": ("digits of 16 x 16 pixels, 7291 to train; usps.h5 or from OpenML", 9298),
    "binary10": ("10 features, two classes; binary10.csv", 10_000),
}


def read_set(name: str, seed: int = 0, rows: int | None = None, fetch: bool = False) -> Dataset:
    """Return the set of a name in SETS; `seed` and `rows` are for generated sets.

    With `fetch`, usps is downloaded from OpenML if no folder has it, and kept in the user's data
    folder.

    >>> read_set("moons", rows=50).X.shape
    (50, 2)
    """
    if name not in SETS:
        hint = near(name, SETS) or " A file needs its path and its ending."
        raise BadData(f"there is no set called {name!r}; the sets are {', '.join(SETS)}.{hint}")
    usual = SETS[name][1]
    m = usual if rows is None else rows
    if name in _GENERATORS:
        if m < FEWEST_ROWS:
            todo = f"ask for {FEWEST_ROWS} or more"
            raise BadData(f"rows={rows} is too few for the set {name!r}; {todo}.")
        X, y = _GENERATORS[name](m, seed)
        notes = [f"{name}: generated, {m} rows, seed {seed}."]
        return Dataset(name, X, _numbered(X), y, "y", notes=notes)
    if m != usual:
        has = f"has its {usual} rows, no others; leave rows out"
        raise BadData(f"rows={rows}: the set {name!r} {has}.")
    return _digits() if name == "digits" else _usps(fetch) if name == "usps" else _binary10()


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
    found = read_set(name, seed=seed, rows=rows, fetch=fetch)
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
        DESCR="\n".join([f"{name}: {SETS[name][0]}.", *found.notes]),
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


def quadric(m: int = 2000, seed: int = 0) -> tuple[Array, Array]:
    """Return ten features on different scales and labels -1 and +1 with a cubic boundary.

    With z1..z10 standard normal, but z5 = 0.8 z2 + 0.6 (a normal number) and
    z9 = 0.7 z5 + 0.714 (another), so that r(2, 5) = 0.8 and r(5, 9) = 0.7:

        y = the sign of  z1 z2 - z3² + z4 + 0.3 z6³ - 0.5 z7 + 0.8 + 0.1 (normal noise)

    Then each number is, with probability 0.003, made 4 times as large (an outlier), and feature
    j = 1..10 is z_j times 10^(-2 + 4 (j - 1)/9), that is 0.01 to 100, plus an offset between -5
    and 5.
    """
    random = np.random.default_rng(seed)
    Z = random.normal(size=(m, 10))
    Z[:, 4] = 0.8 * Z[:, 1] + 0.6 * Z[:, 4]
    Z[:, 8] = 0.7 * Z[:, 4] + np.sqrt(1 - 0.7**2) * Z[:, 8]
    score = Z[:, 0] * Z[:, 1] - Z[:, 2] ** 2 + Z[:, 3] + 0.3 * Z[:, 5] ** 3 - 0.5 * Z[:, 6] + 0.8
    y = np.where(score + 0.1 * random.normal(size=m) > 0, 1, -1)
    Z[random.random((m, 10)) < 0.003] *= 4
    return Z * np.logspace(-2, 2, 10) + np.linspace(-5, 5, 10), y


def xor(m: int = 1000, seed: int = 0) -> tuple[Array, Array]:
    """Return two uniform numbers in [-1, 1] with noise of 0.1, and whether their signs differ."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, size=(m, 2))
    return X + 0.1 * random.normal(size=(m, 2)), (X[:, 0] * X[:, 1] < 0).astype(np.int64)


def _scikit_learn(maker: str, m: int, seed: int, **options: Any) -> tuple[Array, Array]:
    from sklearn import datasets

    return getattr(datasets, maker)(m, random_state=seed, **options)


_CENTERS = np.array([[-2.0, -1.0], [2.0, -1.0], [0.0, 2.0]])
_GENERATORS: dict[str, Callable[[int, int], tuple[Array, Array]]] = {
    "quadric": quadric,
    "moons": partial(_scikit_learn, "make_moons", noise=0.2),
    "circles": partial(_scikit_learn, "make_circles", noise=0.1, factor=0.5),
    "xor": xor,
    "blobs": partial(_scikit_learn, "make_blobs", centers=_CENTERS, cluster_std=0.8),
}


def _numbered(X: Array) -> list[Column]:
    return [Column(f"x{j + 1}") for j in range(X.shape[1])]


def _pixels(side: int) -> list[Column]:
    return [Column(f"pixel_{row}_{column}") for row in range(side) for column in range(side)]


def _digits() -> Dataset:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    notes = ["digits: scikit-learn's own, 1797 images of 8 x 8, values 0 to 16."]
    return Dataset("digits", X, _pixels(8), y, "digit", image=(8, 8), notes=notes)


def data_folders() -> list[Path]:
    """Return the folders of published sets: PEGASOS_DATA, then the user's data folder."""
    folders = [Path(os.environ["PEGASOS_DATA"])] if os.environ.get("PEGASOS_DATA") else []
    with contextlib.suppress(ImportError):  # comes with pegasos[app]
        from platformdirs import user_data_dir

        folders.append(Path(user_data_dir("pegasos", appauthor=False)))
    return folders


def find_data_file(file: str) -> Path | None:
    """Return the path of a file in the first data folder that has it."""
    return next((folder / file for folder in data_folders() if (folder / file).is_file()), None)


def _missing(name: str, file: str, also: str = "") -> BadData:
    folders = " or ".join(map(str, data_folders())) or "no folder"
    todo = f"Put it there, or set PEGASOS_DATA to the folder that holds it{also}"
    return BadData(f"the set {name!r} is not here: {file} is not in {folders}. {todo}.")


def _fingerprint(X: Array, y: Array, scale: float, shift: float) -> str:
    """Return the SHA-256 of labels and of values rounded down on a grid."""
    values = np.clip(np.nan_to_num(X.astype(np.float64), nan=-1e6), -1e6, 1e6)
    cells = np.floor(values * scale + shift).astype("<i4")
    return hashlib.sha256(cells.tobytes() + y.astype("<i4").tobytes()).hexdigest()


#: Pixels are multiples of 1/2000, so rounding to these forgives noise up to 0.0002.
usps_fingerprint = partial(_fingerprint, scale=2000, shift=0.5)
#: None of the 100,000 values is within 6e-6 of an edge of this grid of 0.1: values in float32, or
#: printed with fewer digits, give the same.
binary10_fingerprint = partial(_fingerprint, scale=10, shift=-0.7131785)


def _check(found: str, expected: str, source: object, name: str) -> None:
    if found != expected:
        prints = f"its fingerprint is {found[:12]}…, expected {expected[:12]}…"
        differs = "values, labels or the order of rows differ"
        todo = "Put the published file in its place, or read this one by its path"
        raise BadData(f"{source} is not the published {name} data: {prints} ({differs}). {todo}.")


def _usps(fetch: bool) -> Dataset:
    path, source = find_data_file("usps.h5"), f"what OpenML sent as data {USPS_ON_OPENML}"
    if path is None and not fetch:
        also = ", or fetch it once from OpenML (--fetch; in Python fetch=True)"
        raise _missing("usps", "usps.h5", also)
    X, y = _fetch_usps(source) if path is None else _read_usps(path)
    _check(usps_fingerprint(X, y), USPS_FINGERPRINT, path or source, "usps")
    notes = [f"usps: read from {path}."]
    if path is None:
        notes = [f"usps: fetched from OpenML (data {USPS_ON_OPENML}).", _keep_usps(X, y)]
    test = np.arange(len(X)) >= USPS_TRAIN
    return Dataset("usps", X, _pixels(16), y, "digit", test=test, image=(16, 16), notes=notes)


def _read_usps(path: Path) -> tuple[Array, Array]:
    try:
        import h5py

        with h5py.File(path) as file:
            X, y = (
                np.concatenate([file[group][name][:] for group in ("train", "test")])
                for name in ("data", "target")
            )
            return X.astype(np.float32), y.astype(np.int64)
    except (ImportError, OSError, KeyError, TypeError) as error:
        form = "groups train and test with data and target"
        raise BadData(f"{path} cannot be read as usps.h5, {form}: {error}") from error


def _fetch_usps(source: str) -> tuple[Array, Array]:
    """Download the digits, with pixels in [-1, 1] and labels "1" to "10", in published form."""
    from scipy import sparse
    from sklearn.datasets import fetch_openml

    try:
        raw = fetch_openml(data_id=USPS_ON_OPENML, as_frame=False, parser="liac-arff")
    except Exception as error:  # no network, an answer of the server, a full disk
        also = f"; fetching it from OpenML failed ({type(error).__name__}: {error})"
        raise _missing("usps", "usps.h5", also) from error
    try:
        # The published pixels were made in float32, so these agree with them to the last bit.
        pixels = raw.data.toarray() if sparse.issparse(raw.data) else np.asarray(raw.data)
        X = (pixels.astype(np.float32) + np.float32(1)) / np.float32(2)
        return X, np.asarray(raw.target).astype(np.float64).astype(np.int64) - 1
    except (TypeError, ValueError) as error:
        raise BadData(f"{source} is not the published usps data: {error}") from error


def _keep_usps(X: Array, y: Array) -> str:
    """Write downloaded digits into the user's data folder; return a note, also of a failure."""
    try:
        import h5py

        folder = data_folders()[-1]
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / "usps.h5") as unfinished, h5py.File(unfinished, "w") as file:
            for group, start, stop in (("train", 0, USPS_TRAIN), ("test", USPS_TRAIN, len(X))):
                file[f"{group}/data"] = X[start:stop]
                file[f"{group}/target"] = y[start:stop].astype(np.int32)
    except (ImportError, IndexError, OSError) as error:
        return f"usps: not kept ({error}); the next time it is fetched again."
    return f"usps: kept as {folder / 'usps.h5'}."


def _binary10() -> Dataset:
    path = find_data_file("binary10.csv")
    if path is None:
        raise _missing("binary10", "binary10.csv")
    try:
        table = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    except (OSError, ValueError) as error:
        form = "ten numbers and a label a line, below one line of names"
        raise BadData(f"{path} cannot be read as {form}: {error}") from error
    X, y = np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(np.int64)
    _check(binary10_fingerprint(X, y), BINARY10_FINGERPRINT, path, "binary10")
    return Dataset("binary10", X, _numbered(X), y, "y", notes=[f"binary10: read from {path}."])
