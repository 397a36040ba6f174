"""`pegasos tune DATA` without options, against a tuned SVC on the same rows: errors, not only seconds."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.harness import Benchmark, NotHereError, Row
from pegasos.program.datasets import split_rows
from pegasos.program.pipelines import chosen_scale, make_encoder
from pegasos.program.tables.dataset import BadData, Dataset
from pegasos.program.tables.named_sets import SETS, load_set, quadric
from pegasos.program.tables.reading import read

FOLDER = Path(
    os.environ.get("PEGASOS_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
)
SVC_GRID = [
    {"svc__kernel": ["linear"], "svc__C": [0.01, 0.1, 1, 10]},
    {"svc__kernel": ["poly"], "svc__degree": [3], "svc__coef0": [1], "svc__C": [0.1, 1, 10, 100]},
    {
        "svc__kernel": ["rbf"],
        "svc__gamma": ["scale", 0.01, 0.03, 0.1],
        "svc__C": [1, 10, 100, 1000],
    },
]


def mixed_table(path: Path, rows: int = 2000) -> None:
    """A CSV with missing numbers and text columns: the boundary of `quadric`, moved by two words."""
    X, y = quadric(rows)
    random = np.random.default_rng(0)
    city, color = random.choice(["Aa", "Bb", "Cc"], rows), random.choice(["red", "blue"], rows)
    flip = (city == "Aa") & (color == "red") & (random.random(rows) < 0.8)
    labels = np.where(np.where(flip, -y, y) > 0, "yes", "no")
    lines = [",".join([*(f"x{place}" for place in range(1, 11)), "city", "color", "answer"])]
    for row, *words in zip(X, city, color, labels, strict=True):
        numbers = ["" if random.random() < 0.03 else f"{value:.10g}" for value in row]
        lines.append(",".join([*numbers, *words]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def svc_errors(dataset: Dataset) -> tuple[float, int, float]:
    """Test error of a tuned SVC on the rows that `tune` sets aside, their number, and seconds."""
    split = split_rows(dataset, None, 0)
    steps: list[Any] = [("encode", make_encoder(dataset))] if dataset.has_frame else []
    steps += [("scale", StandardScaler())] if chosen_scale(dataset) == "standardize" else []
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(Pipeline([*steps, ("svc", SVC())]), SVC_GRID, cv=folds, n_jobs=2)
    begin = time.perf_counter()
    search.fit(dataset.X[split.train], dataset.labels[split.train])
    seconds = time.perf_counter() - begin
    return (
        1 - search.score(dataset.X[split.test], dataset.labels[split.test]),
        len(split.test),
        seconds,
    )


def run(repeats: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mixed_table(folder / "mixed.csv")
        for source in ("digits", str(folder / "mixed.csv"), "binary10", "usps"):
            try:
                dataset = load_set(source) if source in SETS else read(source)
            except BadData as error:
                raise NotHereError(str(error)) from error
            begin = time.perf_counter()
            told = subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "pegasos",
                    "tune",
                    source,
                    "--json",
                    "-q",
                    "-o",
                    str(folder / f"run-{Path(source).stem}"),
                ],
                capture_output=True,
                check=True,
                env={**os.environ, "PEGASOS_DATA": str(FOLDER)},
            )
            ours_seconds = time.perf_counter() - begin
            ours = json.loads(told.stdout)["errors"]["test"]["error"]
            theirs, rows, theirs_seconds = svc_errors(dataset)
            deviation = math.sqrt(max(theirs, 1 / rows) * (1 - theirs) / rows)
            yield Row(
                f"{Path(source).stem}: test error above SVC's",
                (ours - theirs) / deviation,
                "standard errors",
                goal=1.0,
                at_least=False,
                ours_seconds=ours_seconds,
                theirs_seconds=theirs_seconds,
                note=f"{ours:.4f} against {theirs:.4f} on {rows} test rows",
            )


BENCHMARK = Benchmark(
    "tune_program",
    "`pegasos tune` without options against a tuned SVC, same training and test rows",
    run,
)
