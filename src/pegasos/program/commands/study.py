from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pegasos.program.errors import UsageError
from pegasos.program.terminal import console
from pegasos.program.terminal.options import OutputOptions, option

PLACE = 65
SHORT = "Run a study: models compared on your data, printed numbers, claims."


def command(
    name: Annotated[str, typer.Argument(metavar="FILE.py|new", help="A study's file, or new.")],
    talking: OutputOptions,
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE.py]", help="With new: the file to write.")
    ] = None,
    data: Annotated[
        str | None, option("DATA", "With new: the data of the study.", "--data")
    ] = None,
    out: Annotated[
        str | None,
        option("DIR", "Folder of the run. Default: runs/ + the study's name.", "--out", "-o"),
    ] = None,
    seeds: Annotated[
        int, option("N", "Seeds of splits and draws; noise needs at least 5.", min=1)
    ] = 5,
    jobs: Annotated[int | None, option("N", "Threads. It never changes a result.", min=1)] = None,
) -> None:
    """Run a study of your own: a Python file with a protocol, printed numbers to compare with, and claims.

    \b
    Examples:
      pegasos study new mine.py --data my.csv      a template with eight models
      pegasos study mine.py -o runs/mine

    The folder gets report.html, results.json and tables as CSV. The same command resumes an interrupted run. The five
    published studies are in the folder studies/ of the repository: python -m studies usps_kernels -o DIR.
    """
    from pegasos.program.jobs import study_runs
    from pegasos.program.views import give

    if name == "new":
        _write_new(file, data)
        return
    study = study_runs.read_study(name)
    folder = out if out is not None else f"runs/{study.name}"
    result = study_runs.run_to_folder(study, folder, seeds, jobs)
    give(result, talking.as_json, lambda: study_runs.show(result, folder))


def _write_new(file: str | None, data: str | None) -> None:
    from pegasos.program.files import write_text
    from pegasos.program.jobs.study_template import make_template

    if file is None or data is None:
        raise UsageError("write `pegasos study new mine.py --data my.csv`.")
    path = Path(file)
    if path.exists():
        raise UsageError(f"{file} exists already; give another name or remove it first.")
    write_text(path, make_template(path.stem, file, data))
    console.show(f"written: {file}")
    console.say(f"next:    pegasos study {file}")
