from __future__ import annotations

from typing import Annotated

import typer

from pegasos.program.terminal.options import OutputOptions, option

PLACE = 65
SHORT = "Reproduce a report number by number."


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE.py|all|list|new", help="A study, a file with one, or what to do."
        ),
    ],
    talking: OutputOptions,
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE.py]", help="With new: the file to write.")
    ] = None,
    data: Annotated[
        str | None, option("DATA", "With new: the data of the study.", "--data")
    ] = None,
    out: Annotated[
        str | None, option("DIR", "Folder of the run. Default: runs/ + NAME.", "--out", "-o")
    ] = None,
    seeds: Annotated[
        int, option("N", "Seeds of splits and draws; noise needs at least 5.", min=1)
    ] = 5,
    quick: Annotated[
        bool, option(None, "One seed on 2000 rows: does the machinery run?", "--quick")
    ] = False,
    page: Annotated[
        str | None, option("FILE.md", "With all: write the findings of all as one page.")
    ] = None,
    jobs: Annotated[int | None, option("N", "Threads. It never changes a result.", min=1)] = None,
) -> None:
    """Reproduce a report number by number, or run a study of your own.

    \b
    Examples:
      pegasos study list
      pegasos study usps_kernels -o runs/usps_kernels
      pegasos study all --page studies.md
      pegasos study new mine.py --data my.csv      a template with eight models
      pegasos study ./mine.py

    The folder gets results.json, results.csv, cells.csv and findings.md; the same command goes on after an interruption. Where
    the real data are missing a stand-in is used, and the run says so.
    """
    from pegasos.program.jobs import study_runs
    from pegasos.program.jobs.views import give

    if name == "list":
        study_runs.show_list(talking.as_json)
    elif name == "new":
        study_runs.write_new(file, data)
    elif name == "all":
        study_runs.run_all(out, seeds, quick, jobs, page)
    else:
        record = study_runs.run(name, out, seeds, quick, jobs)
        give(record, talking.as_json, lambda: study_runs.show(record))
