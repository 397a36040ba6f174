"""Test describe and tune on tables beyond memory, sparse rows and landmarks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

import pegasos
from command_line import call, fine, messy, numbers
from pegasos import SDCA
from pegasos.engine.runtime.interruption import Interrupted
from pegasos.program.datasets import load_or_outline
from pegasos.program.learning import passes, streamed
from pegasos.program.learning.passes import TableInPasses
from pegasos.program.learning.streamed import StreamedTable
from pegasos.program.records.codec import load as load_record
from pegasos.program.records.codec import to_json
from pegasos.program.records.runs import TuneRecord
from pegasos.program.tables.accumulators import Sample
from pegasos.program.tables.dataset import Dataset, Outline, ReadOptions
from pegasos.program.tables.reading import read
from pegasos.program.tables.statistics import describe, describe_blocks
from pegasos.program.terminal.options import ReadingOptions, RunningOptions

#: A grid that takes no time.
QUICK = ("--cv", 2, "--lam", "1e-3,1e-1")


def shards(frame: pl.DataFrame, count: int = 3) -> Path:
    folder = Path("shards")
    folder.mkdir()
    step = -(-frame.height // count)
    for part in range(count):
        frame[part * step : (part + 1) * step].write_csv(folder / f"{part}.csv")
    return folder


# Samples


def drawn(seed: int, cuts: list[int], most: int, rows: Any) -> tuple[Any, np.ndarray]:
    sample, wanted = Sample(seed, most), np.arange(1000) % 5 > 0
    for start, stop in zip([0, *cuts], [*cuts, 1000], strict=True):
        sample.see(rows[start:stop], wanted[start:stop])
    return sample.rows()


@pytest.mark.parametrize("kind", ["array", "csr", "frame"])
def test_a_sample_is_the_same_in_any_parts_and_fair(kind: str) -> None:
    values = np.arange(1, 1001.0)[:, None]
    rows = {
        "array": values,
        "csr": sparse.csr_matrix(values),
        "frame": pl.DataFrame({"a": values[:, 0]}),
    }[kind]
    found, places = drawn(3, [1, 40, 41, 700], 50, rows)
    again, _ = drawn(3, [500], 50, rows)
    plain = [np.asarray(each.toarray() if kind == "csr" else each)[:, 0] for each in (found, again)]
    np.testing.assert_array_equal(*plain)
    np.testing.assert_array_equal(plain[0], places + 1)
    assert len(places) == 50 and (places % 5 > 0).all()
    counts = np.zeros(1000)
    for seed in range(200):
        counts[drawn(seed, [600], 50, rows)[1]] += 1
    halves = counts[:500].sum() / counts.sum()
    assert abs(halves - 0.5) < 0.02 and counts[::5].sum() == 0


# Describe


@pytest.mark.parametrize(
    "frame",
    [numbers(900), messy(900), messy(900).drop("species")],
    ids=["numbers", "messy", "no labels"],
)
def test_a_stream_with_room_for_all_rows_describes_as_memory_does(
    frame: pl.DataFrame, place: Path
) -> None:
    frame = pl.concat([frame, frame[:30]])
    whole = read(
        shards(frame), ReadOptions(labelled="species" in frame.columns or "y" in frame.columns)
    )
    exact = describe(whole)
    rows = (
        whole.X
        if whole.has_frame
        else pl.DataFrame(whole.X, schema=[column.name for column in whole.columns])
    )
    parts = [
        type(whole)(
            whole.name, rows[some], whole.columns, None if whole.y is None else whole.y[some]
        )
        for some in (slice(0, 7), slice(7, 300), slice(300, None))
    ]
    found = describe_blocks(whole.name, parts, whole.columns, memory=10**8)
    one, other = (to_json(each) for each in (found, exact))
    assert one["duplicates"] >= 30
    for name in one:
        if name == "columns":
            for mine, theirs in zip(one[name], other[name], strict=True):
                values = {key for key, value in theirs.items() if isinstance(value, float)}
                assert {key: mine[key] for key in mine.keys() - values} == {
                    key: theirs[key] for key in theirs.keys() - values
                }
                assert [mine[key] for key in values] == pytest.approx(
                    [theirs[key] for key in values], rel=1e-9, abs=1e-12
                )
        elif name == "correlations":
            assert [pair[:2] for pair in one[name]] == [pair[:2] for pair in other[name]]
            np.testing.assert_allclose(
                [pair[2] for pair in one[name]], [pair[2] for pair in other[name]], atol=1e-9
            )
        else:
            assert one[name] == other[name], name


def test_describe_says_what_is_a_sample(place: Path) -> None:
    folder = shards(messy(3000))
    exact, answer = (
        fine("describe", folder, "--json"),
        fine("describe", folder, "--memory", "15kB", "--json"),
    )
    assert "described in one pass" in answer.err
    exact, found = exact.json, answer.json
    same = (
        "rows",
        "features",
        "classes",
        "missing",
        "rows_with_missing",
        "constant",
        "baseline_error",
    )
    assert {name: found[name] for name in same} == {name: exact[name] for name in same}
    for mine, theirs in zip(found["columns"], exact["columns"], strict=True):
        assert [mine[name] for name in ("name", "kind", "missing", "distinct")] == [
            theirs[name] for name in ("name", "kind", "missing", "distinct")
        ]
        for name in ("mean", "std", "min", "max") if theirs["distinct"] is None else ():
            assert mine[name] == pytest.approx(theirs[name], rel=1e-9), name
        if mine["median"] is not None:
            assert abs(mine["median"] - theirs["median"]) < theirs["std"]
    assert "estimated from a sample of 100 of 3000 rows" in " ".join(found["notes"])
    assert re.search(
        "Repeats are estimated from one in [48] of the hashes", " ".join(found["notes"])
    )
    assert abs(found["duplicates"] - exact["duplicates"]) <= 0.2 * 3000
    shown = fine("describe", folder, "--memory", "15kB").out
    assert "- Quartiles and outliers are estimated" in shown and "kind 2" in shown


def test_describe_without_labels(place: Path) -> None:
    """The last column is a measurement, and so a feature."""
    folder = shards(
        numbers(900).drop("y").with_columns(pl.int_range(pl.len()).alias("last") * 0.37)
    )
    answer = fine("describe", folder, "--memory", "10kB", "--json")
    assert (
        "no labels:" in answer.err and answer.json["features"] == 4 and not answer.json["classes"]
    )
    assert call("describe", folder, "--memory", "10kB", "--label", "last").code == 3
    assert call("describe", folder, "--memory", "none").code == 2
    assert "Correlations come from a sample of 100 rows" in " ".join(answer.json["notes"])
    assert len(answer.json["correlations"]) == 6


# Tune


def test_tune_searches_a_sample_and_learns_from_all_rows(place: Path) -> None:
    frame = numbers(3000)
    folder = shards(frame)
    options = ("--memory", "60kB", "--sample", 250, "--kernel", "linear", *QUICK, "--seed", 4)
    answer = fine("tune", folder, *options, "-o", "run", "--no-refit-all", "--json")
    record = answer.json
    assert "sample: 250 of 2403 training rows, drawn over all files by --seed 4" in answer.err
    assert not list((place / "temporary").iterdir())
    test = np.random.default_rng(4).random(3000) < 0.2
    assert (record["training_rows"], record["test_rows"]) == (int((~test).sum()), int(test.sum()))
    model, X, y = (
        pegasos.load("run/best.model"),
        frame.select("a", "b", "c").to_numpy(),
        frame["y"].to_numpy(),
    )
    for name, rows in (("training", ~test), ("test", test)):
        told = record["errors"][name]
        assert (told["rows"], told["mistakes"]) == (
            int(rows.sum()),
            int((model.predict(X[rows]) != y[rows]).sum()),
        )
    whole = record["whole"]
    assert (whole["how"], whole["sample"], whole["model"]) == (
        "passes",
        250,
        "sdca",
    ) and 0 <= whole["gap"] <= 1e-3
    # the optimum on all training rows, for the C of the choice
    chosen = record["cells"][record["best"]]["setting"]["lam"]
    assert whole["lam"] == pytest.approx(chosen * 250 / 2403)
    learner = model.steps[-1][1]
    assert learner.lam == whole["lam"]
    rows = model[:-1].transform(X[~test])
    alone = pegasos.SDCA(lam=whole["lam"], tol=1e-4).fit(rows, y[~test])
    assert learner.certificate(rows, y[~test]).primal[0] <= alone.objective_[0] * (1 + 1.2e-3)
    page = Path("run/report.html").read_text(encoding="utf-8")
    assert "Settings were compared on a sample of 250 of 2,403 training rows" in page
    assert load_record(TuneRecord, "run/summary.json").whole is not None
    refitted = fine("tune", folder, *options, "-o", "run", "--no-page", "--force")
    assert "The saved model was refitted after that, on all 3,000 rows" in refitted.out
    assert "sdca was trained on all training rows: λ = " in refitted.out
    card = fine("show", "run/best.model", "--json").json["card"]
    assert card["refitted_rows"] == 3000 and card["split"]["train_rows"] == 2403


def test_tune_chooses_a_threshold_on_the_sample(place: Path) -> None:
    """Decisions made on the sample are adjusted to the scores of the model of all rows."""
    random = np.random.default_rng(1)
    frame = numbers(3000).with_columns(
        pl.Series("y", np.where(random.random(3000) < 0.2, "yes", "no"))
    )
    frame = frame.with_columns(a=pl.col("a") + 1.5 * (pl.col("y") == "yes"))
    options = (
        "-m",
        "sdca-logistic",
        "--memory",
        "60kB",
        "--kernel",
        "linear",
        *QUICK,
        "--no-page",
        "--no-refit-all",
        "--json",
    )
    record = fine(
        "tune",
        shards(frame),
        *options,
        "--threshold",
        "recall=0.8",
        "--positive",
        "yes",
        "-o",
        "run",
    ).json
    assert record["threshold"] is not None and record["calibration"] is not None
    model, test = pegasos.load("run/best.model"), np.random.default_rng(0).random(3000) < 0.2
    X, y = frame.select("a", "b", "c").to_numpy()[test], frame["y"].to_numpy()[test]
    said = model.predict(X)
    assert record["errors"]["test"]["mistakes"] == int((said != y).sum())
    assert model.steps[-1][1].threshold_ != 0.0 and record["threshold"]["recall"] >= 0.8
    assert abs(np.mean(said[y == "yes"] == "yes") - record["threshold"]["recall"]) < 0.1
    assert abs(model.predict_proba(X)[:, 1].mean() - 0.2) < 0.05


def test_tune_ends_in_time_also_where_the_samples_model_is_kept(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without time for another pass, sampled test rows evaluate the model."""

    def no_time(self: object, *given: object) -> None:
        raise Interrupted

    monkeypatch.setattr(passes.TableInPasses, "_fit_choice", no_time)
    given = (
        "tune",
        shards(numbers(2500)),
        "--memory",
        "50kB",
        "--kernel",
        "linear",
        *QUICK,
        "--no-page",
        "--json",
    )
    monkeypatch.setattr(streamed, "JUDGED_ROWS", 120)
    answer = fine(*given, "-o", "late", "--max-time", 60)
    late = answer.json
    assert late["errors"]["test"]["rows"] == 120 and late["errors"]["test"]["baseline"] is not None
    assert "its error is that on 120 test rows, drawn by --seed" in late["whole"]["why"]


@pytest.mark.slow
def test_tune_learns_a_kernel_through_landmarks(place: Path) -> None:
    options = (
        "--memory",
        "60kB",
        "--kernel",
        "gaussian:1s",
        *QUICK,
        "--no-page",
        "-o",
        "run",
        "--json",
    )
    answer = fine("tune", shards(messy(2500)), *options)
    whole = answer.json["whole"]
    assert (
        whole["how"] == "landmarks"
        and whole["sample"] == 156
        and whole["landmarks"] == 500
        and whole["gap"] <= 1e-3
    )
    assert "a kernel model was chosen: it is fitted to all rows with 500 landmarks" in answer.err
    model = pegasos.load("run/best.model")
    assert [name for name, _ in model.steps] == ["encode", "scale", "expand", "nystroem", "learner"]
    assert answer.json["errors"]["test"]["error"] < 0.2


def test_tune_keeps_the_sample_where_there_is_no_other_way(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shards(numbers(2500))
    given = ("--memory", "50kB", "--no-page", "--cv", 2, "--kernel", "linear")
    answer = fine(
        "tune", folder, "-m", "perceptron", "--epochs", 3, *given, "-o", "one", "--json"
    ).json
    assert (
        answer["whole"]["how"] == "sample"
        and "perceptron does not learn in passes" in answer["whole"]["why"]
    )
    assert "its error is that on 260 test rows" in answer["whole"]["why"]
    sample, frame = Sample(0, 260), numbers(2500)
    sample.see(
        frame.select("a", "b", "c").to_numpy(),
        np.random.default_rng(0).random(2500) < 0.2,
        frame["y"].to_numpy(),
    )
    X, _, y = sample.rows()
    wrong = pegasos.load("one/best.model").predict(X) != y
    assert answer["errors"]["test"]["rows"] == 260
    assert answer["errors"]["test"]["mistakes"] == int(wrong.sum())
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("usage", (), {"free": 10**8}))
    full = call("tune", folder, "--lam", "1e-3", *given, "-o", "two")
    assert full.code == 3 and "set TMPDIR to a larger place" in full.err
    assert call("tune", folder, "--drop-outliers", 3, *given, "-o", "three").code == 3


def test_categories_that_exceed_memory_as_columns(place: Path) -> None:
    """A table of 40 kB goes through passes if its one-hot columns exceed memory."""
    frame = numbers(900).with_columns(
        ("word " + (pl.int_range(pl.len()) % 300).cast(pl.String)).alias("c")
    )
    data = shards(frame)
    for memory, allowed in (("200kB", "200 kB"), ("3MB", "3 MB")):
        answer = fine("train", data, "--memory", memory, "-o", f"{memory}.model", "--json")
        words = f"takes about 4.35 MB in memory, more than the limit of {allowed}: it is processed"
        assert words in answer.err
    assert fine("describe", "shards", "--memory", "200kB", "--json").json["notes"] == []
    assert "passes" not in fine("train", "shards", "--memory", "5MB", "-o", "small.model").err


# Landmarks and sparse rows


def test_train_through_landmarks(place: Path) -> None:
    answer = fine(
        "train",
        shards(messy(2500)),
        "--memory",
        "60kB",
        "--landmarks",
        40,
        "--kernel",
        "gaussian",
        "--json",
        "-o",
        "m",
    )
    assert (
        "40 landmarks" in answer.json["learner"]["kernel"] and answer.json["learner"]["gap"] <= 1e-3
    )
    assert answer.json["errors"]["test"]["error"] < 0.2


@pytest.mark.parametrize(
    ("width", "options"),
    [
        (40, ()),
        (2500, ("--lam", 0.01)),
        (2500, ("-m", "sdca-logistic")),
        (40, ("--scale", "standardize", "--class-weight", "balanced")),
    ],
)
def test_sparse_rows_have_the_same_optimum_as_in_memory(
    width: int, options: tuple[object, ...], place: Path
) -> None:
    random = np.random.default_rng(0)
    X = sparse.random(
        900,
        width,
        0.05 if width < 100 else 0.01,
        "csr",
        random_state=0,
        data_rvs=lambda n: np.round(random.normal(size=n), 3),
    )
    y = np.where(X @ random.normal(size=width) + 0.3 * random.normal(size=900) > 0, 1, -1)
    folder = Path("shards")
    folder.mkdir()
    for part in range(3):
        rows = slice(300 * part, 300 * part + 300)
        dump_svmlight_file(X[rows], y[rows], str(folder / f"{part}.svm"), zero_based=False)
    answer = fine(
        "train",
        folder,
        "--memory",
        "15kB",
        "-o",
        "large.model",
        "--tol",
        1e-4,
        "--json",
        "--test-size",
        0.1,
        *options,
    )
    assert "passes over a file" in answer.err and not list((place / "temporary").iterdir())
    large, test = pegasos.load("large.model"), np.random.default_rng(0).random(900) < 0.1
    whole = read(folder)
    rows, labels = large[:-1].transform(whole.X[~test]), whole.labels[~test]
    learner = large.steps[-1][1]
    alone = pegasos.SDCA(
        learner.loss, learner.lam, tol=1e-4, class_weight=learner.class_weight
    ).fit(rows, labels)
    np.testing.assert_allclose(
        learner.certificate(rows, labels).primal, alone.objective_, rtol=2.1e-4
    )
    told = answer.json["errors"]["test"]
    assert (told["rows"], told["mistakes"]) == (
        int(test.sum()),
        int((large.predict(whole.X[test]) != whole.labels[test]).sum()),
    )
    if "--scale" in options:
        deviations = np.asarray(whole.X[~test].toarray()).std(axis=0)
        np.testing.assert_allclose(large.steps[0][1].scale_, deviations, rtol=1e-9)


def test_sparse_parts_become_wider(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample has all columns, although later parts are wider."""
    X = sparse.csr_matrix(np.arange(1.0, 41.0).reshape(10, 4) * [0, 1, 1, 1])
    outline = Outline([], "y", None, None, 1e9, [], sparse=True)
    found = StreamedTable("rows", ReadingOptions(), RunningOptions(test_size=0.3), outline)
    parts = [(0, 3), (5, 4)]
    y = np.arange(5) % 2
    blocks = [Dataset("rows", X[start : start + 5, :width], [], y) for start, width in parts]
    monkeypatch.setattr(found, "parts", lambda: iter(blocks))
    found.read()
    test = np.random.default_rng(0).random(10) < 0.3
    expected = X.toarray()
    expected[:5, 3] = 0
    known = found.sample()[0].X.toarray()
    np.testing.assert_array_equal(known, expected[~test, 1:])
    assert [column.name for column in found.columns] == ["x1", "x2", "x3"]
    assert (found.rows, found.training_rows) == (10, (~test).sum())


def test_a_class_with_test_rows_only_is_not_trained_on(place: Path) -> None:
    """Rows of the class count as errors and are left out of the refit on all rows."""
    frame, test = numbers(900), np.random.default_rng(0).random(900) < 0.2
    other = test & (frame["y"] == "yes").to_numpy()
    frame = frame.with_columns(y=pl.Series(np.where(other, "other", frame["y"].to_numpy())))
    frame.write_csv("rows.csv")
    reading, running = ReadingOptions(), RunningOptions(memory="15kB")
    outline = load_or_outline("rows.csv", reading, running.memory)
    assert isinstance(outline, Outline)
    table = TableInPasses("rows.csv", reading, running, outline)
    table.read()
    learner = SDCA(lam=0.01, tol=1e-6)
    with table._prepared(learner, {"scale": "none"}):
        table._fit(learner, None, everything=True)
        assert table._errors(learner)["test"].mistakes >= other.sum()
    X, y = frame.select("a", "b", "c").to_numpy(), frame["y"].to_numpy()
    alone = SDCA(lam=0.01, tol=1e-6).fit(X[~other], y[~other])
    np.testing.assert_allclose(learner.objective_, alone.objective_, rtol=1e-4)
    np.testing.assert_allclose(learner.coef_, alone.coef_, atol=1e-2)


def test_sparse_rows_are_described_in_one_pass(place: Path) -> None:
    X, y = np.round(sparse.random(3000, 20, 0.3, random_state=0).toarray(), 3), np.arange(3000) % 3
    X[:, 4] = 0.5  # constant
    dump_svmlight_file(sparse.csr_matrix(X), y, "rows.svm", zero_based=False)
    exact, answer = (
        fine("describe", "rows.svm", "--json").json,
        fine("describe", "rows.svm", "--memory", "20kB", "--json"),
    )
    found = answer.json
    assert "described in one pass" in answer.err and "a sample of 100 of 3000 rows" in " ".join(
        found["notes"]
    )
    same = ("rows", "features", "sparse", "density", "classes", "constant")
    assert {name: found[name] for name in same} == {name: exact[name] for name in same}
    for mine, theirs in zip(found["columns"], exact["columns"], strict=True):
        for name in ("mean", "std", "min", "max"):
            assert mine[name] == pytest.approx(theirs[name], rel=1e-9), name
        assert abs(mine["median"] - theirs["median"]) <= 0.2
