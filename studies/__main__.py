"""Run published studies: `python -m studies usps_kernels -o DIR`, or `all` of them."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from pegasos.program.commands.study import PUBLISHED, run_to_folder, show
from studies.summary import write_summary


def main() -> None:
    """Run the studies that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    parser.add_argument("name", choices=[*PUBLISHED, "all"])
    parser.add_argument("-o", "--out", required=True, help="folder of the results")
    seeds_help = "seeds of splits and draws (default: 5)"
    parser.add_argument("--seeds", type=int, default=5, help=seeds_help)
    parser.add_argument("--jobs", type=int, help="threads; they never change a result")
    parser.add_argument("--page", type=Path, help="with all: write the summary as Markdown")
    options = parser.parse_args()
    if options.page is not None and options.name != "all":
        parser.error("--page summarizes all studies: run `python -m studies all`.")
    if options.seeds < 1:
        parser.error("--seeds must be at least 1.")
    folders = {options.name: options.out}
    if options.name == "all":
        folders = {name: str(Path(options.out) / name) for name in PUBLISHED}
    results = []
    for name, folder in folders.items():
        study = import_module(f"studies.{name}").STUDY
        results.append(run_to_folder(study, folder, options.seeds, options.jobs))
        show(results[-1])
    if options.page is not None:
        write_summary(options.page, results)


if __name__ == "__main__":
    main()
