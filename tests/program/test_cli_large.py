"""Test training beyond memory: the optimum of in-memory fits, and removed files."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import pegasos
from command_line import call, fine, messy, numbers
from pegasos.program.learning import passes, prepared, streamed
from pegasos.program.pipelines import make_recipe, scaler_of
from pegasos.program.tables.accumulators import Moments, Sample
from pegasos.program.tables.dataset import ReadOptions
from pegasos.program.tables.reading import read

SETTINGS = [
    ("csv", messy(900), ("--seed", 3)),  # words, gaps, three classes
    (
        "csv",
        messy(900),
        ("-m", "sdca-logistic", "--scale", "normalize", "--class-weight", "balanced"),
    ),
    ("parquet", numbers(900), ("--expand", 2, "--C", 0.5, "--test-size", 0)),
    (
        "csv",
        numbers(900).with_columns(w=pl.int_range(pl.len()) % 3),
        ("--label", "y", "--weight", "w", "--drop", "b"),
    ),
]


def _written(frame: pl.DataFrame, kind: str) -> Path:
    """Write the frame in three CSV files or one Parquet file."""
    folder = Path("shards")
    folder.mkdir()
    if kind == "parquet":
        frame.write_parquet(folder / "0.parquet")
        return folder
    for part in range(3):
        frame[part * 300 : (part + 1) * 300].write_csv(folder / f"{part}.csv")
    return folder


@pytest.mark.parametrize(("kind", "frame", "options"), SETTINGS)
def test_the_same_optimum_as_in_memory(
    kind: str, frame: pl.DataFrame, options: tuple[object, ...], place: Path
) -> None:
    """Certify the objective of a fit in passes on the rows prepared in memory."""
    folder = _written(frame, kind)
    answer = fine(
        "train", folder, "--memory", "15kB", "--tol", 1e-4, "-o", "large.model", "--json", *options
    )
    assert "passes over a file" in answer.err and not list((place / "temporary").iterdir())
    record, large = answer.json, pegasos.load("large.model")
    given = {
        str(name).lstrip("-"): value
        for name, value in zip(options[::2], options[1::2], strict=True)
    }
    whole = read(
        folder,
        ReadOptions(
            label=given.get("label"), weight=given.get("weight"), drop=tuple(given.get("drop", ""))
        ),
    )
    share = given.get("test-size", 0.2)
    test = np.random.default_rng(int(given.get("seed", 0))).random(900) < share
    rows = np.flatnonzero(~test)
    learner = large.steps[-1][1]
    recipe = make_recipe(
        whole, pegasos.SDCA(), str(given.get("scale", "auto")), given.get("expand")
    )
    steps = recipe.estimator[:-1].fit(whole.X[rows])
    X, weights = (
        steps.transform(whole.X[rows]),
        None if whole.weights is None else whole.weights[rows],
    )
    np.testing.assert_allclose(large[:-1].transform(whole.X[rows]), X, rtol=1e-9, atol=1e-9)
    y = whole.labels[rows]
    alone = pegasos.SDCA(
        learner.loss, learner.lam, tol=1e-4, class_weight=learner.class_weight
    ).fit(X, y, weights)
    bound = large.steps[-1][1].certificate(X, y, weights)
    np.testing.assert_allclose(bound.primal, alone.objective_, rtol=2.1e-4)
    errors = {"training": (rows, large.predict(whole.X[rows]) != y)}
    if share:
        others = np.flatnonzero(test)
        errors["test"] = (others, large.predict(whole.X[others]) != whole.labels[others])
    assert {name: (each["rows"], each["mistakes"]) for name, each in record["errors"].items()} == {
        name: (len(own), int(wrong.sum())) for name, (own, wrong) in errors.items()
    }


@pytest.mark.parametrize("scale", ["standardize", "normalize", "none"])
def test_one_hot_columns_are_stored_sparse(
    scale: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sparse one-hot rows give the optimum and errors of dense rows."""
    random = np.random.default_rng(2)
    word = pl.Series(
        "word",
        [None if row % 17 == 0 else f"word {row % 40}" for row in random.integers(400, size=900)],
    )
    folder = _written(messy(900).with_columns(word), "csv")
    options = (
        "--memory",
        "15kB",
        "--tol",
        1e-4,
        "--scale",
        scale,
        "--lam",
        0.01,
        "--label",
        "species",
        "--json",
    )
    thin = fine("train", folder, *options, "-o", "thin.model")
    monkeypatch.setattr(prepared, "THIN", 1000)
    dense = fine("train", folder, *options, "-o", "dense.model")
    bytes_told = [
        float(re.search(r"prepared rows: ([0-9.]+) kB", each.err)[1]) for each in (thin, dense)
    ]
    assert bytes_told[0] < 0.6 * bytes_told[1]
    one, other = (pegasos.load(name).steps[-1][1] for name in ("thin.model", "dense.model"))
    assert (one.dual_objective_ <= other.objective_ * (1 + 1e-6)).all()
    assert (other.dual_objective_ <= one.objective_ * (1 + 1e-6)).all()
    np.testing.assert_allclose(one.coef_, other.coef_, atol=0.02)
    np.testing.assert_allclose(one._reach, other._reach, rtol=1e-5)
    model, whole = pegasos.load("thin.model"), read(folder, ReadOptions(label="species"))
    test = np.random.default_rng(0).random(900) < 0.2
    wrong = model.predict(whole.X[np.flatnonzero(test)]) != whole.labels[test]
    assert thin.json["errors"]["test"]["mistakes"] == int(wrong.sum())


def test_its_rows_are_known_again(place: Path) -> None:
    folder = _written(
        numbers(900).with_columns((pl.col("a") * k).alias(f"a{k}") for k in range(2, 9)), "csv"
    )
    trained = fine("train", folder, "--memory", "60kB", "-o", "large.model", "--json").json
    shown = fine("run", "large.model", folder, "--json").json
    assert shown["errors"] == trained["errors"] and not shown["notes"]
    y = read(folder, ReadOptions()).labels
    test = np.random.default_rng(0).random(900) < 0.2
    usual = max(set(y[~test].tolist()), key=y[~test].tolist().count)
    assert [trained["errors"][name]["baseline"] for name in ("training", "test")] == [
        pytest.approx((y[rows] != usual).mean()) for rows in (~test, test)
    ]
    assert (
        fine("show", "large.model", "--json").json["card"]["split"]["kind"] == "random, row by row"
    )
    fine("train", folder, "--memory", "15kB", "-o", "larger.model")
    assert set(fine("run", "larger.model", folder, "--json").json["errors"]) == {
        "all (training rows unknown)"
    }


def test_a_table_that_turns_out_to_be_too_large(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table larger than its first rows suggest is found out while it is read."""
    folder = _written(numbers(900), "csv")
    monkeypatch.setattr("pegasos.program.datasets._MOST_SWELL", 0)
    assert (
        "passes over a file" in fine("train", folder, "--memory", "10kB", "-o", "large.model").err
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("-m", "pegasos"),
            "in passes sdca and sdca-logistic learn, without a kernel or with --landmarks. Give it more --memory, or some",
        ),
        (("--kernel", "gaussian"), "without a kernel"),
        (("--drop-outliers", 3), "--drop-outliers needs all rows at once"),
        (("--group", "a"), "--group needs all rows at once"),
        (("--strict",), "missing numbers in c .300.; --strict allows none"),
        (("--weight", "b"), "the weight .column 'b'. is -"),
        (("--label", "a"), "an ID or a measurement rather than classes|looks continuous"),
    ],
)
def test_what_is_refused(options: tuple[object, ...], message: str, place: Path) -> None:
    frame = numbers(900).with_columns(c=pl.when(pl.int_range(pl.len()) % 3 > 0).then("c"))
    answer = call(
        "train", _written(frame, "csv"), "--memory", "15kB", "-o", "large.model", *options
    )
    assert answer.code == 3
    assert re.search(message, answer.err), answer.err
    assert not list((place / "temporary").iterdir()) and not Path("large.model").exists()


def test_late_text_values_and_full_disks(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _written(numbers(900), "csv")
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("usage", (), {"free": 10**8}))
    answer = call("train", folder, "--memory", "15kB", "-o", "large.model")
    assert answer.code == 3 and "set TMPDIR to a larger place" in answer.err
    (folder / "9.csv").write_text("a,b,c,y\n1,x,2,yes\n")
    answer = call("train", folder, "--memory", "15kB", "-o", "large.model")
    assert (
        answer.code == 3 and "line 2 of shards/9.csv, column 'b': 'x' is not a number" in answer.err
    )
    assert "if it holds categories, use --text b" in answer.err


def test_too_many_categories_are_refused_on_the_way(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pegasos.program.learning.streamed.MOST_CATEGORIES", 20)
    frame = numbers(900).with_columns(city="town " + (pl.int_range(pl.len()) % 30).cast(pl.String))
    answer = call("train", _written(frame, "csv"), "--memory", "15kB", "--label", "y")
    assert answer.code == 3
    assert "more than 20 different categories with column 'city'" in answer.err


def test_an_interrupted_fit_leaves_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def interrupt(*given: object, **more: object) -> None:
        seen.extend((place / "temporary").rglob("*.training"))
        raise KeyboardInterrupt

    monkeypatch.setattr(passes.TableInPasses, "_fit", interrupt)
    answer = call("train", _written(numbers(900), "csv"), "--memory", "15kB", "-o", "large.model")
    assert answer.code == 130 and seen and not list((place / "temporary").iterdir())


def test_statistics_of_parts_are_those_of_the_whole() -> None:
    values = np.random.default_rng(0).normal(1e6, 1.0, size=(1000, 1))
    found = Moments(1)
    for part in np.split(values, [0, 1, 300, 301]):
        found.see(part)
    np.testing.assert_allclose(
        [found.mean[0], found.variance[0]], [values.mean(), values.var()], rtol=1e-9
    )
    assert (found.count, found.low, found.high) == (1000, values.min(), values.max())


def test_sparse_parts_may_be_wider_or_narrower_than_earlier_ones() -> None:
    found = Moments()
    for part in ([[1.0, 0.0]], [[2.0, 0.0, 3.0]], [[5.0]]):
        found.see(sparse.csr_matrix(part))
    assert (found.count == 3).all() and (found.low == 0).tolist() == [False, True, True]
    np.testing.assert_allclose(found.mean, [8 / 3, 0, 1])


def test_steps_before_the_learner_are_fitted_to_a_sample(
    monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    """Median, std and landmarks come from a sample of 300 of 900 rows."""
    frame = messy(900).with_columns(
        width=pl.when(pl.int_range(pl.len()) % 9 > 0).then(pl.int_range(pl.len()) / 2)
    )
    columns = [column for column in frame.columns if column != "species"]
    row = sum(8 if frame[name].dtype.is_numeric() else 32 for name in columns)
    monkeypatch.setattr(streamed, "SAMPLE_BYTES", 300 * row)
    monkeypatch.setattr(prepared, "_NUMBERS", 1)
    monkeypatch.setattr(prepared, "_LEAST_ROWS", 20)
    folder = _written(frame, "csv")
    answer = fine("train", folder, "--memory", "15kB", "-o", "large.model", "--test-size", 0)
    assert "scales, medians and categories come from a sample of 300 rows" in answer.err
    steps = dict(pegasos.load("large.model").steps)
    sample = Sample(0, 300)
    sample.see(np.arange(900.0)[:, None])
    sampled = np.array([row / 2 if row % 9 else np.nan for row in sample.rows()[1]])
    numbers = [name for name in columns if frame[name].dtype.is_numeric()]
    median = np.nanmedian(sampled)
    encoder, scaler = steps["encode"].named_transformers_["numbers"], scaler_of(steps["scale"])
    assert encoder.statistics_[numbers.index("width")] == median
    filled = np.where(np.isnan(sampled), median, sampled)
    assert scaler.scale_[numbers.index("width")] == pytest.approx(filled.std())


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_dates_are_days_and_identifiers_are_left_out(kind: str, place: Path) -> None:
    """Column types found in the first rows hold for all rows."""
    days = [f"2024-{1 + row % 12:02}-{1 + row % 28:02}" for row in range(900)]
    frame = (
        numbers(900)
        .with_columns(day=pl.Series(days), member_id=pl.int_range(900, 0, -1))
        .select("member_id", "day", "a", "y")
    )
    folder = _written(frame, kind)
    said = fine("train", folder, "--memory", "15kB", "-o", "large.model").err
    assert "dates in day: read as days since 1970-01-01" in said and "text column" not in said
    assert "member_id is excluded as a likely ID" in said
    assert fine("predict", "large.model", folder).out.count("\n") == 901
    for memory in ((), ("--memory", "15kB")):
        described = fine("describe", folder, *memory, "--json").json
        assert [each["name"] for each in described["columns"]] == ["day", "a"]
