"""Results of the benchmarks: results.json has every row, docs/benchmarks.md a summary."""

from __future__ import annotations

import json
import os
import platform
import statistics
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.charts import draw_differences, draw_speedups
from benchmarks.harness import Benchmark, Row

RESULTS = Path(__file__).with_name("results.json")
DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "benchmarks.md"
PACKAGES = ("pegasos", "numpy", "scipy", "scikit-learn", "numba")
HEADS = ["case", "ours", "theirs", "measured", "target", "reached", "peak memory"]

#: Benchmark -> what it compares, when and where it was measured, and its rows.
Results = dict[str, dict[str, Any]]

INTRODUCTION = """\
# Benchmarks

A speedup is the time of the peer divided by ours: above 1 pegasos is faster. Both sides of a
comparison alternate in one process, times are medians of repeats, and compiled code is loaded from
its cache. `make bench` measures everything and rewrites this page; `python -m benchmarks NAME`
measures one benchmark. Every single case, with its times, duality gap, peak memory and the method
that solved it, is a row of `benchmarks/results.json`.

![Speedup of each case by benchmark](images/speedups.svg)

Each point is one case; the line marks equal times. A benchmark compares with the fastest peer that
reaches the same objective: SVC and scikit-learn-intelex (kernels), LinearSVC (linear hinge),
the solvers of LogisticRegression (logistic), SGDClassifier (Pegasos), GridSearchCV (grids).
"""


def describe_machine() -> dict[str, Any]:
    """Return processor, cores, memory and versions."""
    processor = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        models = [
            line.partition(":")[2].strip()
            for line in information.read_text().splitlines()
            if line.startswith("model name")
        ]
        processor = models[0] if models else processor
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "memory_gib": round(memory, 1),
        "versions": versions,
    }


def read_results() -> Results:
    """Return the results of earlier runs."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def keep(
    results: Results, benchmark: Benchmark, rows: list[Row], skipped: str, part: bool = False
) -> None:
    """Write the rows of one benchmark at once, since a later one may fail.

    Earlier rows stay where only a part of the benchmark was measured, or where it was skipped.
    """
    if skipped and benchmark.name in results:
        return
    before = results.get(benchmark.name, {}).get("rows", []) if part else []
    new = {row.case: row.as_dict() for row in rows}
    results[benchmark.name] = {
        "compares": benchmark.compares,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": describe_machine(),
        "skipped": skipped,
        "rows": list(({each["case"]: each for each in before} | new).values()),
    }
    RESULTS.write_text(json.dumps(dict(sorted(results.items())), indent=2) + "\n")
    write_page(results)


def line(row: dict[str, Any]) -> list[str]:
    """Return the cells of a row, in the order of HEADS."""
    times = [
        "" if row[key] is None else format_duration(row[key])
        for key in ("ours_seconds", "theirs_seconds")
    ]
    reached = {True: "yes", False: "**no**", None: ""}[row["reached"]]
    ours, theirs = row.get("ours_bytes"), row.get("theirs_bytes")
    memory = "" if ours is None or theirs is None else f"{ours / 1e6:.0f} / {theirs / 1e6:.0f} MB"
    measured = f"{format_number(row['figure'])} {row['unit']}".strip()
    return [row["case"], *times, measured, row["target"], reached, memory]


def format_number(value: float) -> str:
    """Return three significant digits."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def format_duration(value: float) -> str:
    """Return a duration in seconds or milliseconds."""
    return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.1f} ms"


def write_page(results: Results) -> None:
    """Write docs/benchmarks.md and its charts."""
    results = dict(sorted(results.items()))
    text = [INTRODUCTION, _speedups(results)]
    text += ["## Times, memory and gaps\n", _limits(results)]
    if "tune_tables" in results:
        text += ["## Test errors of `pegasos tune`\n", _tune(results["tune_tables"])]
        draw_differences(results["tune_tables"]["rows"], DOCS / "images" / "tune_tables.svg")
    text += ["## Targets missed\n", _missed(results)]
    text += ["## Machines\n", _machines(results)]
    PAGE.write_text("\n".join(text))
    draw_speedups(_comparisons(results), DOCS / "images" / "speedups.svg")


def _comparisons(results: Results) -> dict[str, list[dict[str, Any]]]:
    """Return the rows that compare with a peer, by benchmark and group of cases."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for name, result in results.items():
        for row in result["rows"]:
            if row["unit"] == "x" and row["ours_seconds"] and row["theirs_seconds"]:
                groups.setdefault(f"{name} {row.get('group', '')}".strip(), []).append(row)
    return groups


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(each) + " |" for each in lines) + "\n"


def _speedups(results: Results) -> str:
    rows = []
    for name, cases in _comparisons(results).items():
        figures = sorted(case["figure"] for case in cases)
        missed = sum(case["reached"] is False for case in cases)
        spread = [format_number(each) for each in (statistics.median(figures), *figures[:1])]
        rows.append([name, str(len(figures)), *(f"{each}x" for each in spread), str(missed)])
    return _table(["benchmark", "cases", "median speedup", "smallest", "targets missed"], rows)


def _limits(results: Results) -> str:
    """Return the table of cases with a target that are no comparisons of time."""
    compared = {id(row) for rows in _comparisons(results).values() for row in rows}
    rows = [
        [name, *(line(row)[k] for k in (0, 3, 4))]
        for name, result in results.items()
        for row in result["rows"]
        if row["target"] and id(row) not in compared and not name.startswith("tune")
    ]
    return _table(["benchmark", "case", "measured", "target"], rows)


def _tune(result: dict[str, Any]) -> str:
    sums = [row for row in result["rows"] if ": " in row["case"]]
    rows = [[row["case"], *line(row)[3:5], _basis(row)] for row in sums]
    return (
        "Public tables, 70/30 splits; below 0 `tune` has the lower test error. The tables of the\n"
        "group *holdout* are only reported, never looked at during development.\n\n"
        "![Difference of the test errors on each table](images/tune_tables.svg)\n\n"
        + _table(["summary", "measured", "target", "tables or times"], rows)
    )


def _basis(row: dict[str, Any]) -> str:
    """Return the tables that a mean is taken over, or the times that a ratio is made of."""
    if row["unit"] == "points":
        return row["note"].rpartition("; ")[2]
    return " / ".join(line(row)[1:3])


def _missed(results: Results) -> str:
    rows = [
        [name, *(line(row)[k] for k in (0, 3, 4))]
        for name, result in results.items()
        for row in result["rows"]
        if row["reached"] is False
    ]
    return _table(["benchmark", "case", "measured", "target"], rows) if rows else "None.\n"


def _machines(results: Results) -> str:
    rows: dict[str, list[str]] = {}
    for name, result in results.items():
        machine = result["machine"]
        versions = ", ".join(f"{key} {value}" for key, value in machine["versions"].items())
        text = f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB"
        rows.setdefault(f"{text}; {versions}", []).append(f"{name} ({result['date']})")
    return "\n".join(f"- {machine}: {', '.join(names)}." for machine, names in rows.items()) + "\n"
