"""Run published studies: `python -m studies usps_kernels -o DIR`, or `all` of them."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from pegasos.program.commands.study import PUBLISHED, run_to_folder, show
from pegasos.program.files import as_csv, write_text
from pegasos.studies import StudyResult
from studies.summary import summarize

#: Our errors and verdicts of the published grid. The published errors are not in the repository.
_CELLS = "usps_kernels_cells.csv"


def main() -> None:
    """Run the studies that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    parser.add_argument("name", choices=[*PUBLISHED, "all"])
    parser.add_argument("-o", "--out", required=True, help="folder of the results")
    parser.add_argument(
        "--seeds", type=int, default=5, help="seeds of splits and draws (default: 5)"
    )
    parser.add_argument("--jobs", type=int, help="threads; they never change a result")
    parser.add_argument("--page", type=Path, help="with all: write the summary as Markdown")
    asked = parser.parse_args()
    if asked.page is not None and asked.name != "all":
        parser.error("--page summarizes all studies: run `python -m studies all`.")
    if asked.seeds < 1:
        parser.error("--seeds must be at least 1.")
    names = PUBLISHED if asked.name == "all" else (asked.name,)
    results = []
    for name in names:
        folder = str(Path(asked.out) / name) if asked.name == "all" else asked.out
        study = import_module(f"studies.{name}").STUDY
        results.append(run_to_folder(study, folder, asked.seeds, asked.jobs))
        show(results[-1], folder)
    if asked.page is not None:
        _write_page(asked.page, results)


def _write_page(page: Path, results: list[StudyResult]) -> None:
    write_text(page, summarize(results))
    numbers = next(result.numbers for result in results if result.study == "usps_kernels")
    cells = [each for each in numbers if not each.id.startswith("printed:")]
    if cells:  # else the published cells are not in the data folder
        rows = [{"id": each.id, "ours": each.ours, "verdict": each.verdict} for each in cells]
        write_text(page.parent / _CELLS, as_csv(rows))


if __name__ == "__main__":
    main()
