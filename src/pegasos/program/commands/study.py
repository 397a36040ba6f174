"""Run a study from a Python file, or write a study to start from."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
import traceback
from pathlib import Path
from typing import Annotated, Any

import typer

from pegasos import studies
from pegasos.program.errors import UsageError
from pegasos.program.files import as_csv, write_text
from pegasos.program.tables.messages import plain, shown
from pegasos.program.terminal import console
from pegasos.program.terminal.options import Jobs, ReadingOptions, option
from pegasos.studies.template import make_template

#: The reports that this project reproduces, in the folder studies/ of the repository.
PUBLISHED = ("binary_ladder", "binary_models", "usps_gaussian", "usps_iterations", "usps_kernels")


def command(
    name: Annotated[str, typer.Argument(metavar="FILE.py|new", help="A study's file, or new.")],
    file: Annotated[
        str | None, typer.Argument(metavar="FILE.py", help="With new: the file to write.")
    ] = None,
    data: Annotated[
        str | None, option("DATA", "With new: the data of the study.", "--data")
    ] = None,
    out: Annotated[
        str | None,
        option("DIR", "Folder of the run. Default: runs/ + the study's name.", "--out", "-o"),
    ] = None,
    seeds: Annotated[
        int, option("N", "Number of seeds; estimates of noise need at least 5.", min=1)
    ] = 5,
    jobs: Jobs = None,
) -> studies.StudyResult | None:
    """Run a study: compare models on your data, check published numbers.

    Examples
    --------
      pegasos study new mine.py --data my.csv      a template with eight models
      pegasos study mine.py -o runs/mine

    A study is a Python file with a protocol, published numbers to check, and claims. The folder
    gets report.html, results.json and tables as CSV. The same command resumes an
    interrupted run. The five published studies are in the folder studies/ of the repository:
    python -m studies usps_kernels -o DIR.
    """
    if name == "new":
        _write_new(file, data)
        return None
    study = read_study(name)
    return run_to_folder(study, out or f"runs/{study.name}", seeds, jobs)


def _write_new(file: str | None, data: str | None) -> None:
    if file is None or data is None:
        raise UsageError("new needs a file and --data: `pegasos study new mine.py --data my.csv`.")
    path = Path(file)
    if path.exists():
        raise UsageError(f"{file} exists already; give another name or remove it first.")
    write_text(path, make_template(path.stem, file, data))
    console.show(f"written: {file}")
    console.say(f"next:    pegasos study {file}")


def read_study(file: str) -> studies.Study:
    """Execute a study's file and return its STUDY."""
    path = Path(file)
    if path.suffix != ".py" or not path.is_file():
        raise UsageError(
            f"there is no study {shown(file)}. `pegasos study new mine.py --data DATA` writes one; "
            f"those in the folder studies/ of a clone ({', '.join(PUBLISHED)}) are run by "
            f"`python -m studies {file if file in PUBLISHED else 'NAME'} -o DIR`."
        )
    spec = importlib.util.spec_from_file_location(f"study_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # pickle needs it there
    try:
        spec.loader.exec_module(module)
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # SystemExit, too
        raise UsageError(f"{_place(file, spec.origin, error)}. Correct this file.") from error
    found = getattr(module, "STUDY", None)
    if not isinstance(found, studies.Study):
        raise UsageError(
            f"{shown(file)} has no STUDY: a study's file ends with STUDY = Study(...)."
        )
    return found


def _place(file: str, origin: str | None, error: BaseException) -> str:
    """Describe an error of a study's file with the last line of it that was executed."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == origin]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    where = shown(file) if line is None else f"{shown(file)}, line {line}"
    return f"{where}: {type(error).__name__}: {plain(error)}"


def run_to_folder(
    study: studies.Study, folder: str, seeds: int, jobs: int | None
) -> studies.StudyResult:
    """Run a study; write results.json, its tables as CSV, and report.html into a folder."""
    from pegasos.program.pages import write_report
    from pegasos.program.records import codec

    dataset = _load(study.data)
    result = studies.run_study(
        study, dataset.X, dataset.labels, folder=folder, seeds=seeds, jobs=jobs, log=console.say
    )
    for name, rows in result.files():
        write_text(Path(folder) / name, as_csv(rows))
    codec.save(Path(folder) / "results.json", result)
    write_report(folder)
    written = f"{folder}/report.html, results.json and tables as CSV"
    console.say(f"{result.seconds:.0f} s; written: {written}")
    return result


def _load(source: str) -> Any:
    """Load a named set or a file; encode categories and missing values as numbers."""
    from pegasos.program.datasets import load
    from pegasos.program.pipelines import make_encoder
    from pegasos.program.tables.dataset import Column

    dataset = load(source, ReadingOptions())
    if not dataset.has_frame:
        return dataset
    encoder = make_encoder(dataset)
    X = encoder.fit_transform(dataset.X)
    names = [name.partition("__")[2] for name in encoder.get_feature_names_out()]
    console.say("note: medians and categories were taken from all rows, before the study's splits.")
    return dataclasses.replace(dataset, X=X, columns=[Column(name) for name in names])


def show(result: studies.StudyResult) -> None:
    """Print the summary of a study."""
    console.heading(result.title, "")
    if result.numbers:
        counts = ", ".join(f"{many} {verdict}" for verdict, many in result.counts().items() if many)
        console.show(f"{len(result.numbers)} printed numbers: {counts}")
    for figure in result.figures:
        if figure.kind == "table" and figure.rows:
            console.show("", figure.title)
            rows = [["" if cell is None else cell for cell in row.values()] for row in figure.rows]
            console.table(tuple(figure.rows[0]), rows, left=2)
    for claim in result.claims:
        console.show(f"claim: {claim.claim}: {claim.verdict}")
    for best in result.best:
        console.show(
            f"best error found: {console.percent(best.error)} of {best.rows} rows ({best.what})"
        )
