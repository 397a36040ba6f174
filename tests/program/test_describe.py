"""Compare descriptions with NumPy for every container, and with published figures."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

from command_line import call, fine
from pegasos.program.records.codec import to_json
from pegasos.program.tables import sample_statistics as module
from pegasos.program.tables.dataset import TEXT, BadData, Column, Dataset, take
from pegasos.program.tables.named_sets import read_set
from pegasos.program.tables.statistics import describe, describe_blocks
from samples import real_data


def dataset(X, y=None, **more) -> Dataset:
    return Dataset(
        "a set",
        X,
        [Column(f"x{j + 1}") for j in range(X.shape[1])],
        None if y is None else np.asarray(y),
        **more,
    )


def said(found) -> str:
    return "\n".join(found.advice)


small = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, max_side=12),
    elements=st.integers(-4, 4).map(lambda k: k / 2) | st.just(0.0),
)


@given(small, st.sampled_from([0.5, 1.0, 2.0]))
def test_statistics_are_those_of_numpy_in_every_container(X, outlier):
    deviation = X.std(axis=0)
    constant = X.min(axis=0) == X.max(axis=0)
    binary = ((X.min(axis=0) == X) | (X.max(axis=0) == X)).all(axis=0)  # has no outliers
    z = np.where(binary, 0, (X - X.mean(axis=0)) / np.where(constant, 1, deviation))
    near = (
        np.abs(np.abs(z) - outlier) < 1e-9
    )  # a z exactly at the threshold may round to either side
    frame = polars.DataFrame({f"x{j + 1}": X[:, j] for j in range(X.shape[1])})
    for container in (X, X.astype(np.float32), sparse.csr_array(X), frame):
        found = describe(dataset(container), outlier)
        assert (found.rows, found.features) == X.shape and found.missing == 0
        for name in ("mean", "std", "min", "max", "median", "quartile1", "quartile3"):
            plain = {
                "quartile1": lambda X, axis: np.quantile(X, 0.25, axis),
                "quartile3": lambda X, axis: np.quantile(X, 0.75, axis),
            }
            expected = plain.get(name, getattr(np, name, None))(X, axis=0)
            np.testing.assert_allclose(
                [getattr(f, name) for f in found.columns], expected, atol=1e-12
            )
        if not near.any():
            assert [f.outliers for f in found.columns] == (np.abs(z) >= outlier).sum(
                axis=0
            ).tolist()
            assert found.outlier_rows == (np.abs(z) >= outlier).any(axis=1).sum()
        assert found.constant == [f"x{j + 1}" for j in np.flatnonzero(constant)]
        assert found.duplicates == len(X) - len(np.unique(X, axis=0)) and found.contradictions == 0
        varying = np.flatnonzero(~constant)
        if len(varying) > 1:
            r = np.corrcoef(X[:, varying].T)
            strongest = np.sort(np.abs(r[np.triu_indices(len(varying), 1)]))[::-1][:10]
            np.testing.assert_allclose(
                [abs(pair[2]) for pair in found.correlations], strongest, atol=1e-6
            )
        else:
            assert found.correlations == []
        json.dumps(to_json(found), allow_nan=False)


def test_classes_and_the_error_of_the_baseline():
    found = describe(dataset(np.arange(10.0)[:, None], [1.0] * 8 + [-1.0, 3.0]))
    assert found.classes == [("1", 8), ("-1", 1), ("3", 1)]
    assert found.largest_share == 0.8 and found.baseline_error == pytest.approx(0.2)
    assert "always predicting '1' has an error of 20.00 %" in said(
        found
    ) and "'1' has 8 times the rows of '3'" in said(found)
    one = describe(dataset(np.arange(10.0)[:, None], np.array(["a"] * 10, dtype=object)))
    assert "all labels are 'a'" in said(one)
    many = describe(dataset(np.arange(2000.0)[:, None], np.arange(2000)))
    assert (
        "is the label a number to predict?" in said(many)
        and "2000 distinct labels" in many.notes[0]
        and len(many.classes) == 1000
    )
    assert describe(dataset(np.arange(10.0)[:, None])).classes == []


def test_frames_with_column_notes():
    frame = polars.DataFrame(
        {"a": [1.0, None, 3.0, 4.0], "b": ["x", "y", None, "x"], "c": [None] * 4},
        schema_overrides={"c": float},
    )
    found = describe(Dataset("mixed", frame, [Column("a"), Column("b", TEXT), Column("c")]))
    a, b, c = found.columns
    assert (a.missing, a.min, a.max, a.median) == (1, 1, 4, 3) and a.mean == pytest.approx(8 / 3)
    assert (b.kind, b.missing, b.distinct, b.mean) == ("text", 1, 2, None)
    assert (c.missing, c.mean) == (4, None) and found.constant == ["c"]
    assert (found.missing, found.rows_with_missing) == (6, 4)
    assert found.dtype == "2 columns of numbers, 1 of categories"
    assert (
        "6 values in 4 rows; train and tune fill them, in text columns as one more category"
        in said(found)
        and "b has the most values (2)" in said(found)
    )
    json.dumps(to_json(found), allow_nan=False)


def test_correlations_use_the_rows_in_which_both_are_there():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    X[:, 1] += 2 * X[:, 0]
    X[random.random(X.shape) < 0.2] = np.nan
    first, second, r = describe(dataset(X)).correlations[0]
    both = np.isfinite(X[:, :2]).all(axis=1)
    assert (first, second) == ("x1", "x2") and r == pytest.approx(
        np.corrcoef(X[both, 0], X[both, 1])[0, 1]
    )


def test_infinite_and_huge_numbers_are_distinguished():
    X = np.array([[1.0, 1e300], [np.inf, -1e300], [3.0, 1e300], [4.0, 1e308]])
    found = describe(dataset(X))
    assert (
        found.columns[0].missing == 1
        and found.columns[0].max == 4
        and "1 infinite values" in found.notes[0]
    )
    assert found.columns[1].max == 1e308
    json.dumps(to_json(found), allow_nan=False)


def test_float32_far_from_zero_keeps_its_deviation():
    X = (10_000 + np.random.default_rng(0).normal(size=(5000, 1))).astype(np.float32)
    feature = describe(dataset(X)).columns[0]
    assert feature.std == pytest.approx(X.astype(np.float64).std(), rel=1e-12)


def test_repeats_and_contradictions():
    X = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [3.0, 4.0]])
    found = describe(dataset(X, [0, 0, 1, 1]))
    assert (found.duplicates, found.contradictions) == (1, 1)
    assert (
        "1 rows repeat an earlier one, 1 have the features of an earlier one but another label"
        in said(found)
    )


def test_advice_on_scaling():
    random = np.random.default_rng(0)
    assert (
        "standardize, which is the default; stds differ by a factor of 9.87e+03 (x1 0.0104, x10 102)"
        in said(describe(read_set("quadric")))
    )
    words = "Scaling: --scale normalize, which is the default for pixels, here 0 to 16"
    assert words in said(describe(read_set("digits")))
    assert "standardize, which is the default; x1 lies far from zero (99.9 ± 0.974)" in said(
        describe(dataset(random.normal([100, 0], 1, (99, 2))))
    )
    assert "Scaling: not needed" in said(describe(dataset(random.normal(size=(99, 2)))))
    assert "rows are sparse (10.00% of the numbers" in said(
        describe(dataset(sparse.random_array((50, 40), density=0.1, format="csr", rng=0)))
    )
    assert "no numbers that vary" in said(describe(dataset(np.ones((3, 2)))))


def test_advice_on_outliers():
    large = describe(dataset(np.random.default_rng(0).normal(size=(20_000, 1))))
    assert f"{large.outlier_rows} of 20000 rows" in said(large)
    assert "would give about 54" in said(large)


def test_correlations_of_wide_sets_are_sampled_and_say_so(monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 30)) * np.linspace(1, 2, 30)
    X[:, 29] = 0.9 * X[:, 28] + 0.1 * X[:, 29]
    exact = describe(dataset(X))
    assert exact.notes == []
    monkeypatch.setattr(module, "CORRELATED_FEATURES", 20)
    monkeypatch.setattr(module, "CORRELATED_NUMBERS", 40_000)
    for container in (
        X,
        sparse.csr_array(X),
        polars.DataFrame(X, schema=[f"x{j + 1}" for j in range(30)]),
    ):
        found = describe(dataset(container))
        assert found.notes == [
            "Correlations are among the 20 features with the largest variance.",
            "Correlations come from a sample of 2000 rows.",
        ]
        assert found.outlier_rows == exact.outlier_rows  # never from a sample
        assert [f.median for f in found.columns] == [f.median for f in exact.columns]
        assert found.correlations[0][:2] == ("x29", "x30")
        assert found.correlations[0][2] == pytest.approx(exact.correlations[0][2], abs=0.01)
        assert {name for pair in found.correlations for name in pair[:2]} <= {
            f"x{j}" for j in range(11, 31)
        }


def blocks_of(whole: Dataset, rows: int) -> Iterator[Dataset]:
    for start in range(0, len(whole), rows):
        yield take(whole, np.arange(start, min(start + rows, len(whole))))


@pytest.mark.parametrize("kind", ["numbers", "float32", "gaps and words", "sparse"])
@pytest.mark.parametrize("rows", [500, 7])
def test_blocks_of_rows_are_described_as_one_block(kind, rows):
    """Counts, ranges and quartiles are equal, moments and correlations up to rounding."""
    random = np.random.default_rng(3)
    X = random.normal(size=(1800, 6)) * [1, 2, 3, 1e3, 1e-3, 1] + [0, 0, 0, 1e6, 0, 0]
    X[:, 1] += X[:, 0]
    X[-100:] = X[:100]
    X[:, 5] = 4.0
    columns = [Column(f"x{j + 1}") for j in range(6)]
    if kind == "float32":
        X = X.astype(np.float32)
    if kind == "sparse":
        X = sparse.csr_matrix(np.where(random.random(X.shape) < 0.3, X, 0))
    if kind == "gaps and words":
        words = [None if value < -1 else f"town {value:.1f}" for value in X[:, 0]]
        X = polars.DataFrame(np.where(X[:, :1] > 1, np.nan, X), schema=[c.name for c in columns])
        X = X.fill_nan(None).with_columns(town=polars.Series(words))
        columns = [*columns, Column("town", TEXT)]
    y = random.choice(["a", "b", "c"], size=1800)
    whole = Dataset("a set", X, columns, y)
    one = to_json(describe(whole))
    other = to_json(describe_blocks("a set", blocks_of(whole, rows), columns, "y"))
    for name in one.keys() - {"columns", "correlations"}:
        assert one[name] == other[name], name
    for mine, theirs in zip(one["columns"], other["columns"], strict=True):
        for name in mine:
            rounded = name in ("mean", "std") and theirs[name] is not None
            assert mine[name] == (
                pytest.approx(theirs[name], rel=1e-12, abs=1e-15) if rounded else theirs[name]
            ), name
    assert [pair[:2] for pair in one["correlations"]] == [
        pair[:2] for pair in other["correlations"]
    ]
    np.testing.assert_allclose(
        [pair[2] for pair in one["correlations"]],
        [pair[2] for pair in other["correlations"]],
        atol=1e-12,
    )


def test_blocks_within_little_memory_are_estimated_closely():
    """Quartiles from 6,944 of 40,000 rows are within three standard errors."""
    random = np.random.default_rng(1)
    X = random.normal(size=(40_000, 3))
    columns = [Column(f"x{j + 1}") for j in range(3)]
    whole = Dataset("a set", X, columns, np.arange(40_000) % 2)
    exact = describe(whole)
    found = describe_blocks("a set", blocks_of(whole, 500), columns, "y", memory=2e6)
    assert "a sample of 6944 of 40000 rows" in found.notes[0]
    for mine, theirs in zip(found.columns, exact.columns, strict=True):
        assert (mine.min, mine.max, mine.missing) == (theirs.min, theirs.max, theirs.missing)
        assert (mine.mean, mine.std) == pytest.approx((theirs.mean, theirs.std), rel=1e-12)
        # the density of a normal number at its quartiles is 0.32 and 0.4
        assert mine.median == pytest.approx(theirs.median, abs=3 * 0.5 / 0.4 / 6944**0.5)
        assert mine.quartile3 == pytest.approx(theirs.quartile3, abs=3 * 0.44 / 0.32 / 6944**0.5)
        assert mine.outliers == pytest.approx(theirs.outliers, abs=3 * (108 / 0.17) ** 0.5)
    assert found.duplicates == 0


def test_nothing_to_describe():
    with pytest.raises(BadData, match="a set has no rows"):
        describe(dataset(np.zeros((0, 2))))
    with pytest.raises(
        ValueError, match="outlier must be a positive number of standard deviations, got 0"
    ):
        describe(dataset(np.zeros((1, 2))), outlier=0)
    assert describe(dataset(np.zeros((1, 1)))).columns[0].std == 0


def test_binary10_as_published(monkeypatch):
    """265 rows have |z| >= 3; the report counts columns from zero, so x2 there is x3 here."""
    monkeypatch.setenv("PEGASOS_DATA", str(real_data("binary10.csv").parent))
    found = describe(read_set("binary10"))
    assert found.outlier_rows == 265 and sum(f.outliers for f in found.columns) == 282
    assert {pair[:2] for pair in found.correlations[:2]} == {("x3", "x6"), ("x6", "x10")}
    assert [round(r, 2) for *_, r in found.correlations[:3]] == [-0.99, 0.99, -0.98]
    assert found.classes == [("-1", 5008), ("1", 4992)] and found.duplicates == 0


def test_usps(monkeypatch):
    pytest.importorskip("h5py")
    monkeypatch.setenv("PEGASOS_DATA", str(real_data("usps.h5").parent))
    found = describe(read_set("usps"))
    assert found.classes[0] == ("0", 1553) and found.dtype == "float32" and found.constant == []
    assert "pixels share one range, 0 to 1" in said(found)


def test_one_feature_is_one(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("x,kind,y\n" + "".join(f"{row},same,{'ab'[row % 2]}\n" for row in range(6)))
    told = fine("describe", str(path), "--drop", "kind").out
    assert "6 rows, 1 feature," in told
    assert "1 category " in fine("describe", str(path)).out


def test_figures_show_pairs_of_features_by_class(tmp_path):
    pytest.importorskip("vl_convert")
    random, table = np.random.default_rng(0), tmp_path / "flowers.csv"
    columns = {name: random.normal(size=60) for name in "abc"}
    polars.DataFrame({**columns, "label": ["x", "y"] * 30}).write_csv(table)
    answer = call("describe", table, "--figures", tmp_path / "about", "--json")
    assert answer.code == 0 and answer.json["rows"] == 60
    assert "Correlations of features" in (tmp_path / "about" / "report.html").read_text()
    written = {path.name for path in (tmp_path / "about" / "figures").iterdir()}
    assert {f"pair-{n}.png" for n in (1, 2, 3)} | {"correlations.svg", "features.csv"} <= written
    unlabeled = tmp_path / "rows.csv"
    unlabeled.write_text("a,b\n1.5,2\n2.5,3\n")
    refused = call("describe", unlabeled, "--no-label", "--figures", tmp_path / "rows")
    assert refused.code == 2
