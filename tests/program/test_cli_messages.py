"""Test messages: wrong names, wrong files, odd tables, and control characters in files."""

from __future__ import annotations

import io
import json
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from command_line import call, fine, messy, numbers, written
from pegasos.learners.parameters import NotConverged
from pegasos.program import app, datasets
from pegasos.program.terminal import console, failures
from pegasos.search.sweep import OutOfTime


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(numbers(), tmp_path / "table.csv")
    written(numbers(), tmp_path / "rows.csv")
    fine("train", "table.csv")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "one.csv").write_text("a,b,y\n1,2,yes\n")
    (tmp_path / "two.csv").write_text("a,b,y\n1,2,yes\n3,4,no\n")
    (tmp_path / "head.csv").write_text("a,b,y\n")
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("tran table.csv", 2, "Did you mean 'train'?"),
        ("train", 2, "Missing argument 'DATA'"),
        ("train tabel.csv", 3, "Did you mean 'table.csv'?"),
        ("train digit", 3, "Did you mean 'digits'?"),
        ("train folder", 3, "is a folder without files of data"),
        ("train folder/*.csv", 3, "no file has such a name; the folder is empty"),
        ("train folder/none/x.csv", 3, "nor does its folder"),
        ("train empty.csv", 3, "is empty"),
        ("train one.csv", 3, "two classes are needed"),
        ("train two.csv", 3, "one training row, of class"),
        ("train head.csv", 3, "no rows"),
        ("train rows.csv --label z", 3, "its columns are a, b, c, y"),
        ("train rows.csv --label 9", 3, "it has 4 columns"),
        ("train rows.csv --drop x", 3, "no column 'x' (--drop)"),
        ("train rows.csv --format xls", 3, "there is no format called 'xls'"),
        ("train rows.csv --lamda 1", 2, "--lam"),
        ("train table.csv -o folder", 2, "is a folder; give the name of a file"),
        ("train table.csv -o table.csv/a", 2, "is a file, not a folder"),
        ("train digits --label 3", 2, "--label is for files"),
        ("train table.model", 3, "is a model file, not data; `pegasos show table.model`"),
        ("describe table.model", 3, "is a model file"),
        ("describe table.csv --outlier 0", 2, "'--outlier': must be a finite number above 0"),
        ("tune table.csv -o table.csv", 2, "tune needs a folder"),
        ("run table.model", 2, "Missing argument 'DATA'"),
        ("run table.csv table.model", 4, "MODEL comes first, then DATA"),
        ("run tabel.model table.csv", 4, "Did you mean 'table.model'?"),
        ("run folder table.csv", 4, "is a folder"),
        ("run table.model table.model", 3, "is a model file"),
        ("run table.model digits", 3, "lacks 3 of the model's 3 columns"),
        ("run table.model table.csv --memory x", 2, "--memory"),
        ("show none/at/all.model", 4, "does not exist"),
        ("show empty.csv", 4, "empty.csv"),
        ("predict table.model two.csv", 3, "c"),
        ("predict table.model table.csv -o folder", 2, "is a folder"),
    ],
)
def test_mistakes(folder, words, code, message):
    answer = call(*words.split())
    assert answer.code == code
    assert message in answer.err
    assert answer.out == ""
    assert len(answer.err.strip().splitlines()) <= 4


def test_an_unexpected_error_is_one_line_and_debug_shows_all(folder, monkeypatch):
    def fails(*_):
        raise KeyError("inner")

    monkeypatch.setattr("pegasos.program.learning.in_memory.split_rows", fails)
    answer = call("train", "rows.csv", "-q")
    assert answer.code == 1
    assert (
        answer.err
        == "pegasos: unexpected KeyError: 'inner'. Please report it; --debug shows the traceback.\n"
    )
    for words in (("--debug", "train", "rows.csv"), ("train", "rows.csv", "--debug")):
        with pytest.raises(KeyError):
            app.run(list(words))


@pytest.mark.parametrize(
    ("warning", "words"),
    [
        (
            NotConverged("3 of 9 cells did not reach their tolerance.", "Raise max_epochs", True),
            "3 of 9 cells did not reach their tolerance. Raise --epochs or --lam, scale",
        ),
        (UserWarning("max_epochs is a word of the data"), "max_epochs is a word of the data"),
    ],
)
def test_warnings_name_options(capsys, warning, words):
    failures.show_warning(warning)
    assert words in capsys.readouterr().err
    assert str(pickle.loads(pickle.dumps(warning))) == str(warning)


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (MemoryError(), 1, "not enough memory"),
        (PermissionError(13, "Permission denied", "x"), 1, "Permission denied: x"),
        (ModuleNotFoundError("no", name="h5py"), 1, "pip install '.[all]'"),
        (OutOfTime(5.0), 1, "after 5 seconds: raise --max-time"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_other_ends(folder, monkeypatch, error, code, text):
    def fails(*_):
        raise error

    monkeypatch.setattr("pegasos.program.learning.in_memory.split_rows", fails)
    answer = call("train", "rows.csv", "-q")
    assert answer.code == code
    assert text in answer.err


def test_quiet_prints_results_only(folder):
    answer = fine("train", "rows.csv", "--quiet")
    assert answer.err == ""
    assert "saved: rows.model" in answer.out


def test_a_model_of_the_default_name_is_replaced_on_request_only(folder):
    before = (folder / "table.model").read_bytes()
    answer = call("train", "table.csv", "--kernel", "gaussian")
    assert answer.code == 2 and "table.model exists: --force replaces it" in answer.err
    assert (folder / "table.model").read_bytes() == before
    fine("train", "table.csv", "--kernel", "gaussian", "--force")
    fine("train", "table.csv", "-o", "table.model")


def test_describe_works_without_any_label(folder):
    random = np.random.default_rng(0)
    frame = pl.DataFrame({"length": random.normal(size=80), "height": random.normal(size=80)})
    answer = fine("describe", written(frame, folder / "free.csv"))
    assert "no labels" in answer.err
    assert "looks continuous" in answer.err
    assert "height" in answer.out
    assert fine("describe", "free.csv", "--json").json["features"] == 2
    assert call("describe", "free.csv", "--label", "height").code == 3


def test_describe_of_a_messy_table(folder):
    answer = fine("describe", written(messy(), folder / "messy.csv"))
    for word in ("length", "categories", "missing", "kind 0", "strongest correlations"):
        assert word in answer.out
    found = fine("describe", "messy.csv", "--json").json
    assert {each["name"] for each in found["columns"]} == {"length", "width", "city"}


def test_strict_refuses_column_notes(folder):
    written(messy(), folder / "messy.csv")
    assert call("train", "messy.csv", "--strict").code == 3
    assert call("train", "messy.csv", "--strict", "--drop", "width", "--drop", "city").code == 0


HOSTILE = "\x1b[31mred\x1b[0m [bold]x[/bold] \x9b2J \u202eabc \x07"


def test_hostile_names_and_labels_are_shown_harmlessly(folder):
    frame = numbers().rename({"a": HOSTILE}).with_columns(y=pl.lit(HOSTILE) + pl.col("y"))
    name = "\x1b]0;title\x07.csv"
    written(frame, folder / name)
    told = fine("train", name, "-o", "h.model")
    answers = [
        told,
        fine("describe", name),
        fine("run", "h.model", name),
        fine("show", "h.model"),
        call("train", name, "--label", "z"),
    ]
    answers += [
        call("train", "x" + name),
        call("run", name, name),
        call("train", name, "--" + HOSTILE),
        call(HOSTILE),
    ]
    answers += [
        call("train", name, option, HOSTILE)
        for option in ("--lam", "--kernel", "-m", "--class-weight", "--memory")
    ]
    answers += [
        fine("show", "h.model", "--json"),
        fine("run", "h.model", name, "--json"),
        fine("describe", name, "--json"),
    ]
    answers += [fine("predict", "h.model", name, "--json")]
    for answer in answers:
        for text in (answer.out, answer.err):
            assert not {"\x1b", "\x9b", "\x07", "\u202e"} & set(text)
    assert "[bold]x[/bold]" in answers[1].out
    assert json.loads(answers[-1].out.splitlines()[0])["label"].startswith(HOSTILE)


def test_no_escape_codes_without_a_terminal_or_with_no_color(folder, monkeypatch, capsys):
    assert "\x1b" not in fine("show", "table.model").out

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for variable, coloured in (("", True), ("NO_COLOR", False)):
        monkeypatch.delenv("NO_COLOR", raising=False)
        if variable:
            monkeypatch.setenv(variable, "1")
        assert ("\x1b" in console._styled("text", "1", Terminal())) is coloured


def test_models_lists_formulas_and_scikit_learn_names(folder):
    answer = fine("models")
    for word in (
        "perceptron",
        "SGDClassifier",
        "LinearSVC",
        "λ = 1/(C m)",
        "gamma=1/(2 v)",
        "PolynomialFeatures",
    ):
        assert word in answer.out
    assert {row["name"] for row in fine("models", "--json").json["models"]} >= {
        "perceptron",
        "pegasos",
        "pegasos-logistic",
        "sdca",
    }


def test_show_prints_the_origin_of_a_model(folder):
    answer = fine("show", "table.model")
    for word in (
        "hinge",
        "λ = 0.00833 (C = 1)",
        "features: 3: a, b, c",
        "table.csv, 150 rows",
        "pegasos train table.csv",
        "by class",
    ):
        assert word in answer.out


def test_next_commands_quote_odd_names(folder):
    written(numbers(), folder / "my table.csv")
    assert "pegasos evaluate 'my table.model' 'my table.csv'" in fine("train", "my table.csv").err


def test_a_set_may_be_fetched(folder, monkeypatch):
    from pegasos.program.tables.named_sets import read_set

    asked = []

    def load(name, fetch=False):
        asked.append(fetch)
        return read_set("moons", rows=80)

    monkeypatch.setattr(datasets, "read_set", load)
    fine("describe", "usps", "--fetch")
    fine("describe", "usps")
    assert asked == [True, False]


def test_demo_on_small_sets(folder, monkeypatch):
    from pegasos.program.commands import demo

    monkeypatch.setattr(demo, "_SETS", ("moons",))
    monkeypatch.setattr(demo, "_MODELS", ["perceptron"])
    answer = fine("demo")
    assert "open runs/demo/moons/report.html in a browser" in answer.out
    assert (folder / "runs" / "demo" / "moons" / "report.html").is_file()
    assert set(fine("demo", "--json").json) == {"moons"}


def test_numbers_beyond_measure_and_endless_fields_name_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = numbers(40).write_csv().splitlines()
    for name, value, words in (
        ("large.csv", "1e308", "large.csv, line 7, column 'b': 1e+308 is too large to learn from"),
        (
            "small.csv",
            "-1e308",
            "small.csv, line 7, column 'b': -1e+308 is too large to learn from",
        ),
        ("long.csv", "u" * 140_000, "long.csv, line 7, column 'b'"),
        ("quoted.csv", '"' + "u," * 70_000 + '"', "quoted.csv, line 7, column 'b'"),
        ("digits.csv", "9" * 140_000, "digits.csv, line 7, column 'b'"),
    ):
        row = lines[6].split(",")
        (tmp_path / name).write_text(
            "\n".join([*lines[:6], ",".join([row[0], value, *row[2:]]), *lines[7:]]) + "\n"
        )
        for command in (
            ("train", name, "-m", "sdca", "-o", "my.model"),
            ("tune", name, "-m", "sdca", "--cv", "2", "-o", "run"),
        ):
            answer = call(*command)
            assert answer.code == 3 and words in answer.err, answer.err
            assert not (tmp_path / "my.model").exists()


@pytest.mark.parametrize("value", ["abc", "-1", "", "1.5", "\u0663"])
@pytest.mark.parametrize("name", ["NUMBA_NUM_THREADS", "POLARS_MAX_THREADS", "SOURCE_DATE_EPOCH"])
def test_variables_that_libraries_would_stumble_over(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    answer = call("describe", "xor")
    assert answer.code == 2 and f"the environment variable {name} is {value!r}" in answer.err


def test_a_library_that_fails_in_an_odd_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names NUMBA_DISABLE_JIT and does not ask for a report."""

    def load(*_: object) -> None:
        raise NotImplementedError("not usable in pure-python")

    monkeypatch.setattr(datasets, "load", load)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    answer = call("describe", "xor")
    assert (
        answer.code == 1
        and "NUMBA_DISABLE_JIT" in answer.err
        and "Unset" in answer.err
        and "unexpected" not in answer.err
    )


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux only")
def test_file_names_that_are_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models and runs keep the command line with the name in escaped form."""
    monkeypatch.chdir(tmp_path)
    data = os.fsdecode(b"table\xff.csv")
    Path(data).write_text(numbers(60).write_csv())
    fine("train", data, "-m", "perceptron", "-q", "-o", os.fsdecode(b"my\xff.model"))
    assert "table\\udcff.csv" in fine("show", os.fsdecode(b"my\xff.model")).out
    fine("tune", data, "-m", "perceptron", "--cv", "2", "-q", "-o", os.fsdecode(b"run\xff"))
    fine("report", os.fsdecode(b"run\xff"))


def test_more_memory_than_there_is_anywhere(tmp_path: Path) -> None:
    table = written(numbers(40), tmp_path / "table.csv")
    fine(
        "train",
        table,
        "-m",
        "perceptron",
        "--memory",
        "99999999999999999999GB",
        "-q",
        "-o",
        tmp_path / "my.model",
    )
    fine("show", tmp_path / "my.model")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--max-time", "inf"), "--max-time': must be a finite number above 0"),
        (("--max-time", "nan"), "--max-time': must be a finite number above 0"),
        (("--max-time", "-1"), "--max-time': must be a finite number above 0"),
        (("--workers", "99999999999"), "'--workers': Input should be less than or equal to 1000"),
        (("--error-cost", "yes>no:1e308,no>yes:1"), "costs must be numbers from 0 to 1e+100"),
    ],
)
def test_numbers_that_would_overflow_later(
    options: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    table = written(numbers(40), tmp_path / "table.csv")
    answer = call(
        "tune",
        table,
        "-m",
        "perceptron",
        "--cv",
        2,
        "--no-page",
        "-q",
        "-o",
        tmp_path / "run",
        *options,
    )
    assert answer.code in (1, 2) and words in answer.err and "unexpected" not in answer.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n1 / 0\n", "line 2: ZeroDivisionError"),
        ("def\n", "line 1: SyntaxError"),
        ("import sys\nsys.exit(3)\n", "line 2: SystemExit"),
        ("import nothing_of_this_name\n", "line 1: ModuleNotFoundError"),
    ],
)
def test_studies_that_fail_when_they_are_read(
    text: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(text)
    answer = call("study", "mine.py")
    assert answer.code == 2 and f"'mine.py', {words}" in answer.err


@pytest.mark.parametrize("quiet", [False, True])
def test_compiling_is_announced_once_and_never_with_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, quiet: bool
) -> None:
    from pegasos.engine.runtime import compiling

    monkeypatch.setattr(compiling, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(compiling, "_announced", False)
    fine("models", *["-q"] * quiet)
    for loop in ("test loop", "another test loop"):
        with compiling.announced(loop):
            pass
    expected = [] if quiet else ["pegasos: compiling, once per machine: a few seconds ..."]
    assert caplog.messages == expected


def test_progress_counts_parts_and_follows_the_gap() -> None:
    told: list[dict[str, Any]] = []
    progress = console.Progress("reading", "rows", 10, lambda **given: told.append(given))
    assert [len(part) for part in progress.counting([range(4), range(6)])] == [4, 6]
    assert told[-1] == {"description": "reading: 10 of 10 rows", "completed": 10}
    progress = console.Progress("training", update=lambda **given: told.append(given))
    for gap in (1.0, 0.1, 0.01, 0.001):
        progress.hear(gap, 0.001)
    assert told[-1]["description"] == "training: gap 0.01 (goal 0.001)"
    assert [each["completed"] for each in told[-3:]] == pytest.approx([0, 1 / 3, 2 / 3])
