"""Test named sets: shapes, seeds, search paths, and checksums of published data."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn.datasets

import pegasos
from pegasos.program.tables import named_sets
from pegasos.program.tables.dataset import BadData, Column, Dataset
from pegasos.program.tables.named_sets import SETS, read_set
from samples import quadric_like, real_data

GENERATED = {
    "quadric": (2000, 10),
    "moons": (1000, 2),
    "circles": (1000, 2),
    "xor": (1000, 2),
    "blobs": (1000, 2),
}


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Hide all real data: PEGASOS_DATA and the user's folder are empty."""
    monkeypatch.setenv("PEGASOS_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(tmp_path / "own"))
    return tmp_path


@pytest.fixture
def published():
    """Return the digits as stored in the published file."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(real_data("usps.h5")) as file:
        X = np.concatenate([file[group]["data"][:] for group in ("train", "test")])
        y = np.concatenate([file[group]["target"][:] for group in ("train", "test")])
    return X, y


@pytest.mark.parametrize("name", GENERATED)
def test_generated_sets(name):
    data = read_set(name)
    assert data.X.shape == GENERATED[name] and data.X.dtype == np.float64
    assert (
        len(data.columns) == data.X.shape[1] and data.columns[0].name == "x1" and data.name == name
    )
    classes, counts = np.unique(data.y, return_counts=True)
    assert list(classes) == {"quadric": [-1, 1], "blobs": [0, 1, 2]}.get(name, [0, 1])
    assert counts.min() > 0.25 * len(data)
    np.testing.assert_array_equal(read_set(name).X, data.X)
    assert not np.array_equal(read_set(name, seed=1).X, data.X)
    assert read_set(name, rows=5003).X.shape == (5003, GENERATED[name][1])
    with pytest.raises(
        BadData, match=f"rows=3 is too few for the set '{name}'; ask for 10 or more"
    ):
        read_set(name, rows=3)


def test_the_numbers_of_quadric_stay():
    X, y = quadric_like(500, seed=3)
    data = read_set("quadric", seed=3, rows=500)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_allclose(
        quadric_like()[0][0, :3],
        [-4.998742697789066, -3.8925647851831737, -2.7281921777973155],
        rtol=1e-12,
    )
    assert int((quadric_like()[1] == 1).sum()) == 1014


def test_digits():
    data = read_set("digits")
    assert data.X.shape == (1797, 64) and data.X.dtype == np.float64 and data.image == (8, 8)
    assert (data.X.min(), data.X.max()) == (0, 16) and set(data.y) == set(range(10))
    assert data.columns[9].name == "pixel_1_1"
    with pytest.raises(BadData, match="rows=50: the set 'digits' has its 1797 rows"):
        read_set("digits", rows=50)


def test_unknown_names_suggest_similar_ones():
    assert "usps" in SETS and "mnist" not in SETS
    with pytest.raises(
        BadData,
        match=r"no set called 'digit'; the sets are digits, quadric.* Did you mean 'digits'\?",
    ):
        read_set("digit")
    with pytest.raises(BadData, match="A file needs its path and its ending"):
        read_set("zzz")


def test_every_set_says_what_it_is():
    for name, (description, rows) in SETS.items():
        assert name and description and "\n" not in description and rows > 0


@pytest.mark.parametrize(("name", "file"), [("usps", "usps.h5"), ("binary10", "binary10.csv")])
def test_missing_data_name_the_folders(name, file, nowhere, monkeypatch):
    with pytest.raises(BadData) as refusal:
        read_set(name)
    said = str(refusal.value)
    assert f"{file} is not in {nowhere / 'data'} or {nowhere / 'own'}." in said
    assert "set PEGASOS_DATA to the folder" in said and ("fetch=True" in said) == (name == "usps")
    monkeypatch.delenv("PEGASOS_DATA")
    with pytest.raises(BadData, match=f"{file} is not in {nowhere / 'own'}"):
        read_set(name)


def test_the_users_folder_is_the_second_place(monkeypatch):
    monkeypatch.setenv("PEGASOS_DATA", "somewhere")
    first, *rest = named_sets.data_folders()
    assert first == Path("somewhere") and all("pegasos" in str(folder) for folder in rest)


def test_usps_from_a_file(published, monkeypatch):
    monkeypatch.setenv("PEGASOS_DATA", str(real_data("usps.h5").parent))
    data = read_set("usps")
    np.testing.assert_array_equal(data.X, published[0])
    np.testing.assert_array_equal(data.y, published[1])
    assert data.X.dtype == np.float32 and data.X.shape == (9298, 256) and data.image == (16, 16)
    assert data.test.sum() == 2007 and not data.test[:7291].any()


def test_the_fingerprint_of_usps_forgives_noise_and_nothing_else(published):
    X, y = published
    random = np.random.default_rng(0)
    assert named_sets.usps_fingerprint(X, y) == named_sets.USPS_FINGERPRINT
    assert (
        named_sets.usps_fingerprint(X + random.uniform(-1e-6, 1e-6, X.shape), y)
        == named_sets.USPS_FINGERPRINT
    )
    assert (
        named_sets.usps_fingerprint(X.astype(np.float64), y.astype(float))
        == named_sets.USPS_FINGERPRINT
    )
    swapped = np.r_[1, 0, 2 : len(X)]
    other = X.copy()
    other[5000, 100] += 0.0005
    assert named_sets.USPS_FINGERPRINT not in (
        named_sets.usps_fingerprint(X[swapped], y[swapped]),
        named_sets.usps_fingerprint(other, y),
        named_sets.usps_fingerprint(X, y[swapped]),
        named_sets.usps_fingerprint(2 * X - 1, y),
    )


def as_openml(X, y):
    """Return the digits as on OpenML: pixels -1 to 1 with three decimals, labels "1" to "10"."""
    return SimpleNamespace(
        data=np.round(2 * X.astype(np.float64) - 1, 3), target=(y + 1).astype(str).astype(object)
    )


def test_usps_from_openml_is_the_published_data_to_the_last_bit_and_is_kept(
    published, nowhere, monkeypatch
):
    X, y = published
    asked = []
    monkeypatch.setattr(
        sklearn.datasets, "fetch_openml", lambda **options: asked.append(options) or as_openml(X, y)
    )
    data = read_set("usps", fetch=True)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    assert data.X.dtype == np.float32 and asked[0]["data_id"] == 41082 and data.test.sum() == 2007
    again = read_set("usps")
    assert len(asked) == 1 and str(nowhere / "own" / "usps.h5") in again.notes[0]
    np.testing.assert_array_equal(again.X, X)
    assert [path.name for path in (nowhere / "own").iterdir()] == ["usps.h5"]


def test_that_a_folder_cannot_be_written_is_a_remark(published, nowhere, monkeypatch):
    (nowhere / "own").write_text("a file where the folder should be")
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **options: as_openml(*published))
    assert "not kept" in read_set("usps", fetch=True).notes[1]


def test_rows_in_another_order_are_refused(published, nowhere, monkeypatch):
    X, y = published
    mixed = np.random.default_rng(0).permutation(len(X))
    monkeypatch.setattr(
        sklearn.datasets, "fetch_openml", lambda **options: as_openml(X[mixed], y[mixed])
    )
    with pytest.raises(
        BadData,
        match=r"OpenML sent as data 41082 is not the published usps data: its fingerprint is .*order of rows",
    ):
        read_set("usps", fetch=True)
    assert not (nowhere / "own").exists()


@pytest.mark.parametrize(
    "target", [np.arange(1, 21).astype(str), np.array(["seven"] * 20, dtype=object)]
)
def test_other_data_from_openml_are_refused(target, nowhere, monkeypatch):
    sent = SimpleNamespace(data=np.zeros((20, 256)), target=target)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **options: sent)
    with pytest.raises(BadData, match="OpenML sent as data 41082 is not the published usps data"):
        read_set("usps", fetch=True)


def test_without_a_network_the_message_says_so(nowhere, monkeypatch):
    def fail(**options):
        raise OSError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    with pytest.raises(
        BadData, match=r"fetching it from OpenML failed \(OSError: no route to host\)"
    ):
        read_set("usps", fetch=True)


def test_a_wrong_file_is_refused(nowhere):
    h5py = pytest.importorskip("h5py")
    (nowhere / "data").mkdir()
    path = nowhere / "data" / "usps.h5"
    with h5py.File(path, "w") as file:
        for group in ("train", "test"):
            file[f"{group}/data"], file[f"{group}/target"] = (
                np.zeros((3, 256), np.float32),
                np.zeros(3, np.int32),
            )
    with pytest.raises(
        BadData,
        match=r"usps.h5 is not the published usps data: its fingerprint is [0-9a-f]{12}….*by its path",
    ):
        read_set("usps")
    path.write_text("no HDF5 at all")
    with pytest.raises(BadData, match=r"cannot be read as usps.h5"):
        read_set("usps")
    (nowhere / "data" / "binary10.csv").write_text("x1,y\n1,2\n")
    with pytest.raises(BadData, match=r"binary10.csv is not the published binary10 data"):
        read_set("binary10")
    (nowhere / "data" / "binary10.csv").write_text("x1,y\n1,hello\n")
    with pytest.raises(BadData, match=r"binary10.csv cannot be read as ten numbers and a label"):
        read_set("binary10")


def test_binary10(monkeypatch):
    path = real_data("binary10.csv")
    monkeypatch.setenv("PEGASOS_DATA", str(path.parent))
    data = read_set("binary10")
    assert (
        data.X.shape == (10_000, 10)
        and set(data.y) == {-1, 1}
        and [c.name for c in data.columns][::9] == ["x1", "x10"]
    )
    noise = np.random.default_rng(0).uniform(-1e-6, 1e-6, data.X.shape)
    for same in (data.X, data.X + noise, data.X.astype(np.float32)):
        assert named_sets.binary10_fingerprint(same, data.y) == named_sets.BINARY10_FINGERPRINT
    assert (
        named_sets.binary10_fingerprint(data.X[::-1], data.y[::-1])
        != named_sets.BINARY10_FINGERPRINT
    )
    assert named_sets.binary10_fingerprint(data.X, -data.y) != named_sets.BINARY10_FINGERPRINT


def test_fingerprints_are_the_same_on_every_machine():
    cells, labels = np.array([[1, 2], [2000, 0]], "<i4"), np.array([3, 4], "<i4")
    expected = hashlib.sha256(cells.tobytes() + labels.tobytes()).hexdigest()
    assert named_sets.usps_fingerprint(cells.astype(">f4") / 2000, labels.astype(">i8")) == expected


# in Python


def test_a_set_in_python_is_what_the_program_reads():
    bunch = pegasos.load_set("moons", seed=2, rows=60)
    data = read_set("moons", seed=2, rows=60)
    np.testing.assert_array_equal(bunch.data, data.X)
    np.testing.assert_array_equal(bunch.target, data.y)
    assert bunch.feature_names == ["x1", "x2"] and bunch.target_names.tolist() == [0, 1]
    assert bunch.DESCR.splitlines() == [f"moons: {SETS['moons'][0]}.", *data.notes]
    assert (bunch.frame, bunch.test_data, bunch.test_target, bunch.images) == (None,) * 4
    X, y = pegasos.load_set("moons", seed=2, rows=60, return_X_y=True)
    np.testing.assert_array_equal(X, data.X)
    np.testing.assert_array_equal(y, data.y)


@pytest.mark.parametrize(
    ("asked", "module"), [(True, "pandas"), ("pandas", "pandas"), ("polars", "polars")]
)
def test_a_set_in_python_as_a_frame(asked, module):
    bunch = pegasos.load_set("digits", as_frame=asked)
    assert {
        type(each).__module__.split(".")[0] for each in (bunch.data, bunch.target, bunch.frame)
    } == {module}
    assert (
        list(bunch.frame.columns) == [*bunch.feature_names, "digit"]
        and bunch.target.name == "digit"
    )
    np.testing.assert_array_equal(np.asarray(bunch.data), read_set("digits").X)
    assert bunch.images.shape == (1797, 8, 8)


def test_a_set_in_python_keeps_test_rows_apart(monkeypatch):
    whole = Dataset(
        "usps", np.arange(8.0).reshape(4, 2), [Column("a"), Column("b")], np.array([0, 1, 0, 1])
    )
    whole.test = np.array([False, False, False, True])
    monkeypatch.setattr(named_sets, "read_set", lambda *_, **__: whole)
    bunch = pegasos.load_set("usps")
    assert bunch.data.tolist() == [[0, 1], [2, 3], [4, 5]] and bunch.target.tolist() == [0, 1, 0]
    assert bunch.test_data.tolist() == [[6, 7]] and bunch.test_target.tolist() == [1]


def test_a_set_in_python_that_is_not_there_is_refused_as_in_the_program(nowhere):
    with pytest.raises(
        BadData, match=r"there is no set called 'mons'; the sets are digits, quadric, .*moons"
    ):
        pegasos.load_set("mons")
    with pytest.raises(BadData, match=r"the set 'usps' is not here: usps\.h5 is not in"):
        pegasos.load_set("usps")
    with pytest.raises(
        ValueError, match="as_frame must be True, False, 'pandas' or 'polars'; got 'dask'"
    ):
        pegasos.load_set("moons", as_frame="dask")


def test_the_real_digits_in_python(published, monkeypatch):
    monkeypatch.setenv("PEGASOS_DATA", str(real_data("usps.h5").parent))
    bunch = pegasos.load_set("usps")
    assert (
        bunch.data.shape == (7291, 256)
        and bunch.test_data.shape == (2007, 256)
        and bunch.images.shape == (7291, 16, 16)
    )
    np.testing.assert_array_equal(np.concatenate([bunch.target, bunch.test_target]), published[1])
