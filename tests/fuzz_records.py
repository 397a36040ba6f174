"""Fuzz the records of a run: `report` writes a page or says that they are damaged.

Run more from the project's folder: python tests/fuzz_records.py --count 2000 --seed 0
"""

from __future__ import annotations

import argparse
import collections
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from command_line import call, fine, messy, numbers, written
from fuzz_models import changed_json

#: Small searches: words and three classes, and a threshold.
RUNS = [
    (messy(90), "-m sdca --kernel linear --kernel gaussian:1,2 --lam 0.01,0.1 --cv 3"),
    (numbers(90), "-m sdca --lam 0.01,0.1 --cv 3 --threshold recall=0.7 --positive yes"),
]
RECORDS = ("report.json", "summary.json")


def seeds(folder: Path) -> list[tuple[str, Any]]:
    """Return the records of small runs by name."""
    found = []
    for number, (table, options) in enumerate(RUNS):
        data, run = written(table, folder / "table.csv"), folder / f"run-{number}"
        fine("tune", data, *options.split(), "-q", "-o", run)
        found += [(name, json.loads((run / name).read_text(encoding="utf-8"))) for name in RECORDS]
    return found


def outcome(name: str, record: Any, folder: Path) -> str:
    """Return the result of `report` on a folder with one record."""
    run = folder / "changed"
    run.mkdir(exist_ok=True)
    for each in run.iterdir():
        each.unlink()
    (run / name).write_text(json.dumps(record), encoding="utf-8")
    answer = call("report", run)
    if answer.code == 0:
        return "a page"
    told = str(run) in answer.err and "pegasos: unexpected" not in answer.err
    return (
        "refused"
        if answer.code == 3 and told
        else f"FAILED: {name} ends with {answer.code}: {answer.err[-300:]}"
    )


def run(count: int, seed: int, folder: Path) -> tuple[dict[str, int], list[str]]:
    """Return counts of outcomes, and failures."""
    random, records = np.random.default_rng(seed), seeds(folder)
    outcomes: collections.Counter[str] = collections.Counter()
    failures = []
    for number in range(count):
        name, record = records[number % len(records)]
        for _ in range(random.integers(1, 4) if number >= len(records) else 0):
            record = changed_json(record, random)
        found = outcome(name, record, folder)
        if found.startswith("FAILED"):
            failures.append(f"{number}: {found}")
        outcomes[found[:7]] += 1
    return dict(outcomes), failures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        outcomes, failures = run(options.count, options.seed, Path(folder))
    print(f"{options.count} records in {time.perf_counter() - begin:.0f} s: {outcomes}")
    for failure in failures:
        print("FAILED", failure)
    raise SystemExit(bool(failures))


if __name__ == "__main__":
    main()
