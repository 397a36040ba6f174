"""Test full disks, signals and odd environments: one message, an exit code, no partial files."""

from __future__ import annotations

import builtins
import contextlib
import errno
import io
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fuzz_records
from command_line import call, fine, numbers, written
from pegasos import SDCA, SweepCV
from pegasos.program import app, files
from pegasos.search.store import StoreFailure

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the ways of POSIX")
PROGRAM = [sys.executable, "-m", "pegasos"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "temporary").mkdir()
    written(numbers(60), tmp_path / "table.csv")
    return tmp_path


def left_over(folder: Path) -> list[str]:
    """Return files and processes that should not outlive a command."""
    return [
        str(path)
        for path in folder.rglob("*")
        if path.name.endswith(".part") or path.parent.name == "temporary"
    ]


def shell(line: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Return a shell command line in which PEGASOS stands for the program."""
    line = re.sub(r"\bPEGASOS\b", " ".join(PROGRAM), line)  # but not in the names of variables
    environment = {**os.environ, **environment}
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "Traceback" not in done.stderr and "unexpected" not in done.stderr, done.stderr
    return done


# a full disk


@contextlib.contextmanager
def full_after(count: int, below: Path) -> Iterator[list[str]]:
    """Simulate a disk that fails after `count` writes to files below a folder."""
    told: list[str] = []
    real = {name: getattr(os, name) for name in ("open", "write", "fsync", "replace", "mkdir")}
    real_open = builtins.open

    def spend(path: Any) -> None:
        if str(path).startswith(str(below)):
            told.append(str(path))
            if len(told) > count:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def opened(path: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if isinstance(path, str | os.PathLike) and set(mode) & set("wax+"):
            spend(os.fspath(path))
        return real_open(path, mode, *rest, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtins, "open", opened)
        patch.setattr(io, "open", opened)
        patch.setattr(
            os,
            "open",
            lambda path, flags, *rest, **more: (
                spend(path) if flags & (os.O_WRONLY | os.O_RDWR) else None,
                real["open"](path, flags, *rest, **more),
            )[1],
        )
        patch.setattr(
            os,
            "replace",
            lambda source, target: (spend(target), real["replace"](source, target))[1],
        )
        yield told


OUTPUTS = {
    "model": "train table.csv -m perceptron -q -o out/my.model",
    "predictions": "predict my.model table.csv -o out/labels.csv",
    "page": "report my.model -o out/page.html",
    "run": "tune table.csv -m perceptron --epochs 1,2 --cv 2 -q --force -o out",
}


@pytest.mark.parametrize(
    "name",
    [
        "predictions",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("model", "page", "run")),
    ],
)
def test_a_disk_that_is_full_at_any_write(name: str, place: Path) -> None:
    """Let each write fail in turn: a message, no partial file, the old file unchanged."""
    fine("train", "table.csv", "-m", "perceptron", "-q", "-o", "my.model")
    out = place / "out"
    out.mkdir()
    command = OUTPUTS[name].split()
    fine(*command)  # what is compiled or kept once is there
    old = {
        path: path.read_bytes()
        for path in out.iterdir()
        if path.suffix in (".model", ".csv", ".html", ".json")
    }
    assert old
    for count in range(200):
        with full_after(count, out) as told:
            answer = call(*command)
        assert not left_over(place)
        if answer.code == 0:
            assert count and len(told) <= count
            return
        assert (
            answer.code == 1
            and "no space left for " in answer.err
            and "unexpected" not in answer.err
        )
        if name == "run":
            assert "finished settings are kept" in answer.err
            continue
        assert "the incomplete file was removed" in answer.err
        assert {path: path.read_bytes() for path in old} == old
    raise AssertionError("it never ended")


def test_a_store_on_a_full_disk_says_so_and_goes_on_later(tmp_path: Path) -> None:
    """Limit the pages of SQLite itself."""
    random_numbers = np.random.default_rng(0)
    X = random_numbers.normal(size=(60, 3))
    y = X[:, 0] > 0
    store = tmp_path / "store"

    def sweep(lams: list[float]) -> SweepCV:
        return SweepCV(SDCA(random_state=0), {"lam": lams}, cv=2, store=store, n_jobs=1).fit(X, y)

    sweep([1.0])
    with sqlite3.connect(store / "sweep.sqlite") as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.close()
    real = sqlite3.connect

    def small(*arguments: Any, **options: Any) -> Any:
        found = real(*arguments, **options)
        found.execute(f"PRAGMA max_page_count = {pages}")
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", small)
        with pytest.raises(
            StoreFailure, match="no space left on its disk; what was finished before is kept"
        ) as caught:
            sweep([1.0, *np.logspace(-3, -1, 60)])
    assert caught.value.errno == errno.ENOSPC and caught.value.filename.endswith("sweep.sqlite")
    assert len(sweep([1.0, 0.1]).cv_results_["params"]) == 2


@pytest.mark.parametrize(
    ("damage", "number", "words"),
    [
        (
            lambda path: path.write_bytes(b"not a database, but long enough to be looked at" * 50),
            errno.EILSEQ,
            "it is damaged. Delete",
        ),
        (
            lambda path: path.write_bytes(path.read_bytes()[:5000]),
            errno.EILSEQ,
            "it is damaged. Delete",
        ),
        (lambda path: _execute(path, "UPDATE cells SET head = '{'"), errno.EILSEQ, "it is damaged"),
        (
            lambda path: _execute(path, "UPDATE cells SET head = '{}'"),
            errno.EILSEQ,
            "it is damaged",
        ),
        (
            lambda path: _execute(path, "UPDATE cells SET arrays = x'00'"),
            errno.EILSEQ,
            "it is damaged",
        ),
        (lambda path: _execute(path, "DROP TABLE cells"), None, None),
    ],
)
def test_stores_that_are_damaged(damage: Any, number: int | None, words: str, place: Path) -> None:
    command = [
        "tune",
        "table.csv",
        "-m",
        "perceptron",
        "--epochs",
        "1,2",
        "--cv",
        "2",
        "-q",
        "-o",
        "out",
        "--no-page",
        "--force",
    ]
    fine(*command)
    for path in place.glob("out/sweep.sqlite-*"):
        path.unlink()
    damage(place / "out" / "sweep.sqlite")
    answer = call(*command)
    if number is None:
        assert answer.code == 0
    else:
        assert (
            answer.code == 1 and "the store out/sweep.sqlite" in answer.err and words in answer.err
        )


def _execute(path: Path, line: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(line)
        connection.commit()


def test_a_store_that_another_process_writes_to(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [
        "tune",
        "table.csv",
        "-m",
        "perceptron",
        "--epochs",
        "1,2",
        "--cv",
        "2",
        "-q",
        "-o",
        "out",
        "--no-page",
        "--force",
    ]
    fine(*command)
    monkeypatch.setattr("pegasos.search.store._PATIENCE", 0.2)
    with contextlib.closing(sqlite3.connect(place / "out" / "sweep.sqlite")) as other:
        other.execute("BEGIN IMMEDIATE")
        answer = call(*command[:5], "3", *command[6:])
    assert answer.code == 1 and "another process has been writing to it" in answer.err


@pytest.mark.parametrize("name", ["summary.json", "report.json"])
@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"version": 3}',
        '{"version": 99}',
        "\x00" * 100,
        '{"version":3,"cells":' + "[" * 5000,
    ],
)
def test_records_that_are_damaged(name: str, content: str, place: Path) -> None:
    folder = place / "run"
    folder.mkdir()
    (folder / name).write_text(content)
    answer = call("report", "run")
    assert answer.code == 3 and f"run/{name}" in answer.err and "again" in answer.err


def test_devices_and_pipes_stay_what_they_are(place: Path) -> None:
    """Only regular files are replaced, never devices, which root could replace."""
    os.mkfifo("pipe")
    fine("train", "table.csv", "-m", "perceptron", "-q", "-o", "my.model")
    for command in (
        ("play", "-o", "pipe"),
        ("report", "my.model", "-o", "pipe"),
        ("train", "table.csv", "-o", "pipe"),
    ):
        answer = call(*command)
        assert answer.code == 2 and "is a device" in answer.err
    with pytest.raises(FileExistsError, match="a device, a pipe or a socket"):
        files.write_text("pipe", "x")
    assert Path("pipe").is_fifo() and not left_over(place)


def test_the_page_of_a_run_is_written_anew(place: Path) -> None:
    fine("tune", "table.csv", "-m", "perceptron", "--cv", "2", "-q", "-o", "run")
    Path("run/report.html").write_text("old")
    fine("report", "run")
    assert "<html" in Path("run/report.html").read_text(encoding="utf-8")
    for name in ("report.json", "summary.json"):
        answer = call("report", "run", "-o", f"run/{name}")
        assert answer.code == 2 and "is also an input" in answer.err


class Full(io.StringIO):
    """Stream on a full disk."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_messages_that_cannot_be_written_stop_nothing(place: Path) -> None:
    with contextlib.redirect_stderr(Full()), contextlib.redirect_stdout(io.StringIO()):
        assert app.run(["train", "table.csv", "-m", "perceptron", "-o", "my.model"]) == 0
        assert app.run(["describe", "nothing.csv"]) == 3
    assert Path("my.model").exists()


def test_help_for_a_full_disk() -> None:
    for arguments in (["--version"], ["--help"], ["tune", "--help"]):
        said = io.StringIO()
        with contextlib.redirect_stdout(Full()), contextlib.redirect_stderr(said):
            assert app.run(arguments) == 1
        assert "no space left where the results are written" in said.getvalue()


def test_records_that_were_changed(tmp_path: Path) -> None:
    outcomes, failures = fuzz_records.run(24, 0, tmp_path)
    assert not failures
    assert (
        outcomes["a page"] >= len(fuzz_records.RUNS) * len(fuzz_records.RECORDS)
        and outcomes["refused"] > 5
    )


# environments

#: Shell commands, exit codes, and parts of the messages. `my.model` was trained on `table.csv`.
ENVIRONMENTS = [
    (
        "PEGASOS predict my.model table.csv > /dev/full",
        1,
        "no space left where the results are written",
    ),
    ("PEGASOS predict my.model table.csv -o /dev/full", 1, "no space left for /dev/full"),
    ("PEGASOS predict my.model large.csv --what scores | head -1; exit ${PIPESTATUS[0]}", 1, ""),
    ("PEGASOS predict my.model table.csv >&-", 0, ""),
    ("PEGASOS models >&- 2>&-", 0, ""),
    ("PEGASOS predict my.model - <&-", 3, "standard input is closed"),
    ("PEGASOS train table.csv -o folder", 2, "is a folder"),
    ("PEGASOS train table.csv -o /dev/full", 2, "is a device"),
    ("PEGASOS train table.csv -o table.csv/x.model", 2, "is a file, not a folder"),
    ("ulimit -f 1; PEGASOS report my.model -o page.html", 1, "no space left for page.html"),
    ("ulimit -v 300000; PEGASOS describe table.csv", 1, "not enough memory"),
    (
        "env -u HOME LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 NUMBA_CACHE_DIR=/proc/1 PEGASOS show my.model",
        0,
        "",
    ),
    ("TMPDIR=/nonexistent PEGASOS predict my.model - < table.csv", 0, ""),
    ("PEGASOS_DATA=/nonexistent PEGASOS describe binary10", 3, "is not in /nonexistent"),
    ("PEGASOS tune --help > /dev/full", 1, "no space left where the results are written"),
    ("PEGASOS train table.csv -m perceptron -o said.model 2> /dev/full", 0, ""),
    ("PEGASOS describe nothing.csv 2> /dev/full", 3, ""),
    ("PEGASOS --version > /dev/full", 1, "no space left where the results are written"),
    ("NUMBA_NUM_THREADS=abc PEGASOS train table.csv -o x.model", 2, "NUMBA_NUM_THREADS is 'abc'"),
    (
        "NUMBA_DISABLE_JIT=1 PEGASOS train table.csv -m perceptron -o x.model",
        1,
        "NUMBA_DISABLE_JIT. Unset",
    ),
    ("SOURCE_DATE_EPOCH=abc PEGASOS train table.csv -o x.model", 2, "SOURCE_DATE_EPOCH is 'abc'"),
    ("ulimit -n 10; PEGASOS predict my.model table.parquet", 3, "Too many open files"),
    ("PEGASOS predict my.model table.csv -o out.csv >&- 2>&- <&-", 0, ""),
    ("mkdir gone; cd gone; rmdir ../gone; PEGASOS describe table.csv", 3, "does not exist"),
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    (folder / "folder").mkdir()
    written(numbers(60), folder / "table.csv")
    written(numbers(60), folder / "table.parquet")
    written(numbers(20_000), folder / "large.csv")  # more than a pipe holds
    fine("train", folder / "table.csv", "-m", "perceptron", "-q", "-o", folder / "my.model")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("line", "code", "words"), ENVIRONMENTS)
def test_odd_environments(line: str, code: int, words: str, trained: Path) -> None:
    done = shell(line, trained)
    assert done.returncode == code and words in done.stderr, done.stderr
    assert not left_over(trained)


# signals


def test_a_signal_between_any_two_steps_leaves_nothing(tmp_path: Path) -> None:
    """Temporary files are registered before they are made, and removed at exit."""
    target = tmp_path / "x"
    unfinished = files.replacing(target)
    with unfinished as path:
        path.write_text("half")
        files.clean_up()  # as the program does when a signal has ended it
        assert not list(tmp_path.iterdir())
        path.write_text("whole")
    assert target.read_text() == "whole" and not left_over(tmp_path)
    with contextlib.suppress(KeyboardInterrupt), files.temporary_folder() as folder:
        (folder / "x").write_text("x")
        raise KeyboardInterrupt
    assert not folder.exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_at_random_moments(name: str, place: Path) -> None:
    """Exit code 130 or success, no traceback, no partial file; then a rerun succeeds."""
    if signal.getsignal(getattr(signal, name)) is signal.SIG_IGN:
        pytest.skip("this signal is ignored here, as nohup asks, and so it is by the program")
    written(numbers(3000), place / "large.csv")
    command = [
        "tune",
        "large.csv",
        "-m",
        "sdca",
        "--kernel",
        "gaussian:0.5,2,8",
        "--lam",
        "1e-4:1e-1:4",
        "--cv",
        "3",
        "-o",
        "out",
    ]
    chance, ended = random.Random(name), []
    for _ in range(8):
        process = subprocess.Popen(
            [*PROGRAM, *command],
            cwd=place,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(chance.uniform(1.5, 6))
        process.send_signal(getattr(signal, name))
        _, err = process.communicate(timeout=60)
        ended.append(process.returncode)
        assert "Traceback" not in err and "unexpected" not in err, err
        assert not left_over(place)
    assert set(ended) <= {0, 130} and 130 in ended
    assert shell(f"PEGASOS {' '.join(command)}", place).returncode == 0
    assert not left_over(place)


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", ["train - -m sdca -o out.model -q", "predict my.model - -o labels.csv"]
)
def test_signals_while_standard_input_is_read(line: str, place: Path) -> None:
    fine("train", "table.csv", "-m", "perceptron", "-q", "-o", "my.model")
    process = subprocess.Popen(
        [*PROGRAM, *line.split()], cwd=place, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(b"a,b,c,y\n" + b"1,2,3,yes\n" * 10_000)
    process.stdin.flush()
    time.sleep(3)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and b"Traceback" not in err
    assert not left_over(place)


# a disk that is really full


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Any]:
    """Mount small disks, as root."""
    mounted: list[Path] = []

    def mount(options: str) -> Path:
        folder = tmp_path / f"disk-{len(mounted)}"
        folder.mkdir()
        if subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder],
            capture_output=True,
            check=False,
        ).returncode:
            pytest.skip("a small disk can be mounted by root only")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.slow
def test_disks_that_are_really_full(disk: Any, place: Path) -> None:
    fine("train", "table.csv", "-m", "perceptron", "-q", "-o", "my.model")
    written(numbers(20_000), place / "large.csv")
    small = disk("size=200k")
    lines = {
        # First, because on a completely full disk Python uses another temporary folder by itself.
        f"TMPDIR={small} PEGASOS predict my.model - < large.csv > /dev/null": "set TMPDIR to a folder on another disk",
        f"PEGASOS tune digits --no-page -q -m perceptron --cv 2 -o {small}/run": "finished settings are kept",
        f"PEGASOS train digits -q -m sdca --kernel gaussian -o {small}/my.model": "the incomplete file was removed",
        f"PEGASOS report my.model -o {small}/page.html": "the incomplete file was removed",
        f"PEGASOS report my.model -o {small}/page.html --figures": "the incomplete file was removed",
        f"PEGASOS predict my.model large.csv --what scores -o {small}/scores.csv": "the incomplete file was removed",
    }
    for line, words in lines.items():
        done = shell(line, place)
        assert done.returncode == 1 and "no space left" in done.stderr and words in done.stderr, (
            done.stderr
        )
        assert not left_over(small) and not list(small.glob("pegasos-*"))
    for path in (small / "run").iterdir():
        path.unlink()


@pytest.mark.slow
def test_a_run_goes_on_when_there_is_room_again(disk: Any, place: Path) -> None:
    """After the disk is enlarged, the command ends with the undisturbed table."""
    line = "PEGASOS tune digits --no-page -q -m perceptron --epochs 1,2,3,5,8 --cv 3 --force -o {}"
    small = disk("size=300k")
    assert "no space left" in shell(line.format(f"{small}/run"), place).stderr
    subprocess.run(["mount", "-o", "remount,size=20m", small], check=True)
    assert shell(line.format(f"{small}/run"), place).returncode == 0
    assert shell(line.format("plain"), place).returncode == 0
    assert (small / "run" / "results.csv").read_text() == (
        place / "plain" / "results.csv"
    ).read_text()


@pytest.mark.slow
def test_a_folder_that_can_only_be_read(disk: Any, place: Path) -> None:
    frozen = disk("size=1m")
    subprocess.run(["mount", "-o", "remount,ro", frozen], check=True)
    fine("train", "table.csv", "-m", "perceptron", "-q", "-o", "my.model")
    for line in (
        "train table.csv -o {}/x.model",
        "tune table.csv -o {}/run",
        "report my.model -o {}/x.html",
    ):
        done = shell(f"PEGASOS {line.format(frozen)}", place)
        assert done.returncode == 2 and "no permission to write to" in done.stderr, done.stderr
    done = shell(
        "PEGASOS train table.csv -q -o y.model",
        place,
        HOME=str(frozen),
        TMPDIR=str(frozen),
        NUMBA_CACHE_DIR=str(frozen),
    )
    assert done.returncode == 0, done.stderr
