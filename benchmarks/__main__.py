"""Run benchmarks: python -m benchmarks [NAME ...] [--case CASE ...] [--repeats N] [--try ROWS]."""

from __future__ import annotations

import argparse
import os
import pkgutil
import sys
from importlib import import_module

import benchmarks
from benchmarks.harness import LARGEST, Benchmark, NotHereError, Row
from benchmarks.report import HEADS, PAGE, keep, line, read_results

WIDTHS = (60, 9, 9, 9, 10, 7, 16)


def listed() -> dict[str, Benchmark]:
    """Return all benchmarks: the modules of this folder that define one."""
    names = [
        module.name
        for module in pkgutil.iter_modules(benchmarks.__path__)
        if module.name != "__main__"
    ]
    modules = [import_module(f"benchmarks.{name}") for name in names]
    found = [module.BENCHMARK for module in modules if hasattr(module, "BENCHMARK")]
    return {benchmark.name: benchmark for benchmark in found}


def show(cells: list[str]) -> None:
    """Print one line of the table."""
    print(
        "  "
        + "  ".join(
            cell.replace("*", "").ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)
        ).rstrip(),
        flush=True,
    )


def main() -> int:
    """Run the benchmarks named on the command line."""
    known = listed()
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure; results go to " + str(PAGE)
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}; default: all"
    )
    parser.add_argument(
        "--repeats", type=int, default=5, help="how often each side is timed (default 5)"
    )
    parser.add_argument(
        "--try",
        type=int,
        dest="rows",
        metavar="ROWS",
        help="tables of at most so many rows; nothing is written",
    )
    parser.add_argument(
        "--case",
        action="append",
        default=[],
        help="of one benchmark: only this part of it; may be given again",
    )
    given = parser.parse_args()
    if given.rows is not None:
        os.environ[LARGEST] = str(given.rows)
    if given.repeats < 1:
        parser.error("--repeats must be at least 1")
    for name in given.names:
        if name not in known:
            parser.error(f"there is no benchmark {name!r}; there are {', '.join(known)}")
    for case in given.case:
        cases = known[given.names[0]].cases if len(given.names) == 1 else {}
        if case not in cases:
            parser.error(
                f"--case {case} is none of this one benchmark; it has {', '.join(cases) or 'none'}"
            )
    results = read_results()
    missed = left_out = 0
    for benchmark in [known[name] for name in given.names or known]:
        print(f"\n{benchmark.name}: {benchmark.compares}", flush=True)
        show(HEADS)
        for measure in [benchmark.cases[case] for case in given.case] or [benchmark.run]:
            rows: list[Row] = []
            skipped = ""
            try:
                for row in measure(given.repeats):
                    rows.append(row)
                    show(line(row.as_dict()))
                    if row.note:
                        print(f"      {row.note}", flush=True)
            except NotHereError as reason:
                skipped = str(reason)
                left_out += 1
                print(f"  skipped: {skipped}", flush=True)
            if given.rows is None:
                keep(results, benchmark, rows, skipped, part=bool(given.case))
            missed += sum(row.reached is False for row in rows)
    print(f"\n{missed} targets missed, {left_out} benchmarks skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
