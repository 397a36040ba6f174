"""Run the command line inside the test process, and small tables to run it on."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from pegasos.program import app

CITIES = ("oslo", "bergen", "trondheim")


@dataclass(frozen=True)
class Answer:
    """Result of a command: exit code, results and messages."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def call(*arguments: object) -> Answer:
    """Run a command as the program does, and capture its output."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = app.run([str(each) for each in arguments])
    assert "Traceback" not in err.getvalue()
    return Answer(code, out.getvalue(), err.getvalue())


def fine(*arguments: object) -> Answer:
    """Run a command that must succeed, and return its output."""
    answer = call(*arguments)
    assert answer.code == 0, answer.err
    return answer


def numbers(rows: int = 150, seed: int = 0) -> pl.DataFrame:
    """Return three float32 features and two text classes; one row in ten is mislabelled."""
    random = np.random.default_rng(seed)
    X = random.integers(-400, 400, size=(rows, 3)) / 128
    wrong = random.random(rows) < 0.1
    y = np.where((X[:, 0] + X[:, 1] > 0) ^ wrong, "yes", "no")
    return pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})


def messy(rows: int = 150, seed: int = 0) -> pl.DataFrame:
    """Return numbers with gaps, text, and three classes."""
    random = np.random.default_rng(seed)
    kind = random.integers(3, size=rows)
    length = np.round(random.normal(kind, 0.5), 3)
    width = [
        None if gap else float(value)
        for gap, value in zip(random.random(rows) < 0.1, length[::-1], strict=True)
    ]
    city = [CITIES[each] if random.random() < 0.8 else None for each in kind]
    return pl.DataFrame(
        {
            "length": length,
            "width": width,
            "city": city,
            "species": [f"kind {each}" for each in kind],
        }
    )


def written(frame: pl.DataFrame, path: Path) -> Path:
    """Write a table as a CSV or Parquet file."""
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)
    return path
