"""What was measured, where and when: results.json for programs, docs/benchmarks.md and a table for people."""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.harness import Benchmark, Row

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
PACKAGES = ("pegasos", "numpy", "scipy", "scikit-learn", "numba")

Results = dict[str, Any]


def machine() -> dict[str, Any]:
    """Processor, cores, memory and versions."""
    processor = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        models = [
            line.partition(":")[2].strip()
            for line in information.read_text().splitlines()
            if line.startswith("model name")
        ]
        processor = models[0] if models else processor
    memory = (
        os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        if hasattr(os, "sysconf")
        else float("nan")
    )
    versions = {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "memory_gib": round(memory, 1),
        "versions": versions,
    }


def earlier() -> Results:
    """The results of earlier runs, if they were measured on this machine with these versions."""
    fresh: Results = {"machine": machine(), "benchmarks": {}}
    if not RESULTS.exists():
        return fresh
    found: Results = json.loads(RESULTS.read_text())
    return found if found.get("machine") == fresh["machine"] else fresh


def keep(
    results: Results, benchmark: Benchmark, rows: list[Row], skipped: str, part: bool = False
) -> None:
    """Write the rows of one benchmark down at once: a later one may fail; rows of other parts of it stay."""
    if skipped and benchmark.name in results["benchmarks"]:
        return  # what was measured here earlier stands
    before = results["benchmarks"].get(benchmark.name, {}).get("rows", []) if part else []
    new = {row.case: row.as_dict() for row in rows}
    results["benchmarks"][benchmark.name] = {
        "compares": benchmark.compares,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "skipped": skipped,
        "rows": list(({each["case"]: each for each in before} | new).values()),
    }
    results["benchmarks"] = dict(sorted(results["benchmarks"].items()))
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(results))


def line(row: dict[str, Any]) -> list[str]:
    """Return the cells of a row: case, times, figure, target, reached, and peak memory of ours and theirs."""
    times = [
        "" if row[key] is None else duration(row[key]) for key in ("ours_seconds", "theirs_seconds")
    ]
    reached = {True: "yes", False: "**no**", None: ""}[row["reached"]]
    return [
        row["case"],
        *times,
        f"{number(row['figure'])} {row['unit']}".strip(),
        row["target"],
        reached,
        _memory(row.get("ours_bytes"), row.get("theirs_bytes")),
    ]


def _memory(ours: int | None, theirs: int | None) -> str:
    return "" if ours is None or theirs is None else f"{ours / 1e6:.0f} / {theirs / 1e6:.0f} MB"


def number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def duration(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.1f} ms"


HEADS = ["case", "ours", "theirs", "measured", "target", "reached", "peak memory"]


def page(results: Results) -> str:
    """The page for people, in Markdown."""
    about = results["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    text = [
        "# Benchmarks",
        "",
        "`make bench` measures all of this and writes this page; `python -m benchmarks NAME` measures one. The two sides of a",
        "comparison run in one process and by turns; times are medians; `x` says how many times faster we are.",
        "",
        f"{about['processor']}, {about['cores']} cores, {about['memory_gib']} GiB; {versions}.",
    ]
    for name, result in results["benchmarks"].items():
        text += ["", f"## {name}", "", f"{result['compares']}. ({result['date']})", ""]
        if result["skipped"]:
            text.append(f"Skipped: {result['skipped']}.")
            continue
        cells = [[*line(row), row["note"]] for row in result["rows"]]
        text += [
            "| " + " | ".join(each) + " |"
            for each in [[*HEADS, "note"], ["---"] * (len(HEADS) + 1), *cells]
        ]
    return "\n".join(text) + "\n"
