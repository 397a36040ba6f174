"""Test the installed program: formats, exit codes, streams, signals, help."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from command_line import call, fine, numbers, written

PROGRAM = Path(sys.executable).with_name("pegasos")
COMMANDS = ("describe", "train", "run", "evaluate", "predict", "tune", "show", "models", "demo")
ESCAPE = re.compile(r"\x1b")

pytestmark = pytest.mark.skipif(
    not PROGRAM.exists(), reason="the program is not installed beside this Python"
)


def program(*arguments, code=0, folder=None, text=None, **environment):
    """Run the program; check its exit code, and that it prints no traceback or escape codes."""
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=folder,
        input=text,
        env={**os.environ, **environment},
        timeout=300,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert not ESCAPE.search(done.stdout + done.stderr)
    return done


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write 150 rows in every format; in HDF5 the last 30 are the test group."""
    folder = tmp_path_factory.mktemp("formats")
    frame = (
        numbers()
        .with_columns(y=(numbers()["y"] == "yes").cast(int))
        .rename({"a": "x1", "b": "x2", "c": "x3"})
    )
    X, y = frame.drop("y").to_numpy(), frame["y"].to_numpy()
    written(frame, folder / "csv.csv")
    written(frame, folder / "parquet.parquet")
    dump_svmlight_file(X, y, str(folder / "svmlight.svm"), zero_based=False)
    for name, pack in (("gz", gzip.compress), ("bz2", bz2.compress)):
        (folder / f"{name}.svm.{name}").write_bytes(pack((folder / "svmlight.svm").read_bytes()))
    np.savez(folder / "npz.npz", X=X, y=y)
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "hdf5.h5", "w") as file:
        for group, part in (("train", slice(None, 120)), ("test", slice(120, None))):
            file[f"{group}/data"], file[f"{group}/target"] = X[part], y[part]
    return folder


NAMES = (
    "csv.csv",
    "parquet.parquet",
    "svmlight.svm",
    "gz.svm.gz",
    "bz2.svm.bz2",
    "npz.npz",
    "hdf5.h5",
)


#: The same everywhere, so that models can be compared.
OPTIONS = ("--scale", "none", "--lam", "0.01", "--json", "-q")


@pytest.fixture(scope="module")
def trained(files):
    """Return the output of train for each file."""
    return {
        name: fine("train", files / name, *OPTIONS, "-o", files / f"{name}.model").json
        for name in NAMES
    }


@pytest.mark.xdist_group("formats")
def test_train_agrees_on_all_formats(files, trained):
    for name in NAMES[:-1]:
        assert trained[name]["errors"] == trained["csv.csv"]["errors"]
    assert trained["hdf5.h5"]["errors"]["test"]["rows"] == 30
    piped = program(
        "train",
        "-",
        *OPTIONS,
        "-o",
        "stdin.model",
        folder=files,
        text=(files / "csv.csv").read_text(),
    )
    assert json.loads(piped.stdout)["errors"] == trained["csv.csv"]["errors"]


@pytest.mark.xdist_group("formats")
def test_run_and_predict_agree_on_all_formats(files, trained):
    """Apply the model of one format to the file of another."""
    wanted = trained["csv.csv"]["errors"]
    labels = fine("predict", files / "csv.csv.model", files / "csv.csv").out
    assert labels.count("\n") == 151
    for name in NAMES:
        found = fine("run", files / "csv.csv.model", files / name, "--json").json["errors"]
        assert found["training"] == wanted["training"]
        assert name == "hdf5.h5" or found["test"] == wanted["test"]
        assert sum(each["mistakes"] for each in found.values()) == sum(
            each["mistakes"] for each in wanted.values()
        )
        assert (
            fine("run", files / f"{name}.model", files / name, "--json").json["errors"]
            == trained[name]["errors"]
        )
        assert fine("predict", files / "csv.csv.model", files / name).out == labels


def test_the_whole_way_from_data_to_labels(tmp_path, monkeypatch):
    """Tune in one process, and predict in another."""
    written(numbers(), tmp_path / "my.csv")
    monkeypatch.chdir(tmp_path)
    tuned = fine("tune", "my.csv", "-m", "sdca", "--json")
    assert "label: column 'y'" in tuned.err
    program("predict", tuned.json["model"], "my.csv", "-o", "labels.csv")
    assert (tmp_path / "labels.csv").read_text().count("\n") == 151


def test_what_was_tuned_is_shown_and_judged(tmp_path, monkeypatch):
    written(numbers(), tmp_path / "my.csv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pegasos", "tune", "my.csv", "--json"])
    assert fine("describe", "my.csv", "--json").json["rows"] == 150
    model = fine("tune", "my.csv", "--json").json["model"]
    assert "pegasos tune my.csv --json" in fine("show", model).out
    checked = fine("evaluate", model, "my.csv", "--json").json
    assert checked["errors"]["training"]["rows"] == 150
    assert "test rows" in checked["notes"][1]
    assert fine("models", "--json").json["words"]


def test_exit_codes(tmp_path, monkeypatch):
    (tmp_path / "bad.csv").write_text("a,y\n1\n2,3,4\n")
    (tmp_path / "bad.model").write_bytes(b"\x80\x04 not a model")
    written(numbers(), tmp_path / "my.csv")
    assert program("train", "bad.csv", "-o", "new.model", code=3, folder=tmp_path).stdout == ""
    assert re.fullmatch(r"pegasos \d+\.\d+\.\d+\n", program("--version").stdout)
    monkeypatch.chdir(tmp_path)
    for arguments, code, said in (
        (("train", "my.csv", "--colour", "red"), 2, "No such option"),
        (("train", "my.csv", "--expand", "99999"), 1, "polynomial:99999"),
        (("run", "bad.model", "my.csv"), 4, "pickle"),
    ):
        answer = call(*arguments)
        assert answer.code == code and said in answer.err


def test_a_reader_that_leaves_is_no_error_to_talk_about(tmp_path):
    written(numbers(20_000), tmp_path / "my.csv")
    fine(
        "train", tmp_path / "my.csv", "-m", "pegasos", "--epochs", "1", "-o", tmp_path / "my.model"
    )
    with subprocess.Popen(
        [PROGRAM, "predict", "my.model", "my.csv"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"label\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) in (0, 1)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_an_interrupted_tune_goes_on_where_it_was(tmp_path, monkeypatch):
    written(numbers(800), tmp_path / "my.csv")
    grid = ("-m", "pegasos", "--kernel", "gaussian:0.1s:10s:5", "--epochs", "1,30", "--cv", "3")
    command = [PROGRAM, "tune", "my.csv", *grid, "-o", "run"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        end = time.monotonic() + 120
        while _cells(tmp_path / "run") == 0 and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert out == ""
    assert "interrupted" in err
    assert "Traceback" not in err
    kept = _cells(tmp_path / "run")
    assert kept > 0
    stamps = _stamps(tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    result = fine(*command[1:], "--json", "--no-page").json
    assert result["complete"]
    assert _cells(tmp_path / "run") == len(result["cells"]) * result["folds"]
    assert stamps <= _stamps(tmp_path / "run")


def _cells(folder):
    return len(_stamps(folder))


def _stamps(folder):
    """Return the number of the row of each cell in a store; a computed cell gets a new one."""
    if not (folder / "sweep.sqlite").exists():
        return set()
    try:
        with sqlite3.connect(
            f"file:{folder / 'sweep.sqlite'}?mode=ro", uri=True, timeout=10
        ) as connection:
            found = set(connection.execute("SELECT rowid, params, fold FROM cells"))
        connection.close()
    except sqlite3.OperationalError:
        return set()
    return found


def test_help_of_every_command_is_light_and_begins_with_examples():
    """Help loads no heavy package."""
    code = f"""
import contextlib, io, sys
from pegasos.program import app
for words in [["--help"], *([name, "--help"] for name in {COMMANDS!r})]:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        assert app.run(words) == 0, words
    assert 0 < text.getvalue().index("Examples:") < text.getvalue().index("Options:"), words
    assert max(map(len, text.getvalue().splitlines())) <= 130, words
heavy = {{"sklearn", "numba", "polars", "scipy", "h5py"}} & set(sys.modules)
assert not heavy, heavy
print("light")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "light\n", done.stderr


def test_switches_have_one_name():
    told = fine("tune", "--help").out
    assert "  --json   " in told
    assert "  --refit-all / --no-refit-all" in told
    assert not any(name in told for name in ("--as_json", "--refit_all", "--no-pool"))


def test_help_of_tune_lists_about_ten_common_options_first():
    lines = fine("tune", "--help").out.splitlines()
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    sections = ["Data:", "Model:", "Search:", "Resources:", "Output:"]
    assert titles == ["Arguments:", "Options:", *sections]
    common = lines[lines.index("Options:") + 1 : lines.index("Data:")]
    assert 8 <= sum(line.startswith("  -") for line in common) <= 11


def test_the_page_of_a_run_loads_no_learner(tmp_path):
    """`report` reads records without importing scikit-learn."""
    written(numbers(), tmp_path / "my.csv")
    grid = ["-m", "sdca", "--kernel", "gaussian:1s", "--lam", "0.1,1", "--cv", "2"]
    fine("tune", tmp_path / "my.csv", *grid, "-q", "-o", tmp_path / "run")
    code = f"""
import sys
from pegasos.program import app
assert app.run(["report", {str(tmp_path / "run")!r}]) == 0
heavy = {{"sklearn", "scipy.stats", "scipy.optimize", "scipy.spatial", "pandas", "polars", "vl_convert"}} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_completion():
    assert "_PEGASOS_COMPLETE=complete_bash" in program(_PEGASOS_COMPLETE="source_bash").stdout
    words = {"_PEGASOS_COMPLETE": "complete_bash", "COMP_WORDS": "pegasos tr", "COMP_CWORD": "1"}
    assert program(**words).stdout.strip() == "train"


def test_python_m_pegasos_is_the_same_program():
    done = subprocess.run(
        [sys.executable, "-m", "pegasos", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("pegasos ")


@pytest.mark.parametrize("missing", ["typer", "polars"])
def test_without_the_packages_of_the_app_a_kind_message(missing, tmp_path):
    written(numbers(), tmp_path / "my.csv")
    code = f"""
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
sys.argv = ["pegasos", "train", "my.csv"]
from pegasos.__main__ import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 1
    assert "pip install '.[" in done.stderr
    assert "Traceback" not in done.stderr


def test_output_that_cannot_show_a_letter_is_no_error():
    shown = program("models", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert "\\u03bb" in shown.stdout


LADDER = [
    [*model, *more]
    for model in (["-m", "perceptron"], ["-m", "pegasos"], ["-m", "pegasos-logistic"])
    for more in ([], ["--expand", "2"])
]
LADDER += [["-m", model, "--kernel", "polynomial:3"] for model in ("perceptron", "pegasos")]


@pytest.mark.slow
@pytest.mark.parametrize("options", LADDER, ids=" ".join)
def test_the_eight_algorithms_of_the_ladder_on_binary10(options, tmp_path):
    from samples import real_data

    where = {"PEGASOS_DATA": str(real_data("binary10.csv").parent)}
    trained = json.loads(
        program(
            "train", "binary10", *options, "-o", "m.model", "--json", folder=tmp_path, **where
        ).stdout
    )
    found = json.loads(
        program("run", "m.model", "binary10", "--json", folder=tmp_path, **where).stdout
    )
    assert found["errors"] == trained["errors"]
    assert trained["errors"]["test"]["rows"] == 2000
    assert trained["errors"]["test"]["error"] < (0.45 if "perceptron" in options else 0.35)
