"""The work behind `study`: studies by name or file, their list, the template, the run, and the summary for a person."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import pkgutil
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from pegasos.program import published
from pegasos.program.errors import UsageError
from pegasos.program.files import resumable, write_text
from pegasos.program.jobs.datasets import load
from pegasos.program.pipelines import make_encoder
from pegasos.program.records.studies import StudyCell, StudyRecord
from pegasos.program.studies.runner import Options, run_study
from pegasos.program.studies.study import Study
from pegasos.program.studies.template import template
from pegasos.program.studies.writing import best_of_each, book
from pegasos.program.tables.dataset import Column
from pegasos.program.tables.messages import near, plain, shown
from pegasos.program.terminal import console
from pegasos.program.terminal.options import ReadingOptions


def study_names() -> list[str]:
    return sorted(
        each.name
        for each in pkgutil.iter_modules(published.__path__)
        if not each.name.startswith("_")
    )


def known_studies() -> list[Study]:
    return [
        _study_of(importlib.import_module(f"{published.__name__}.{name}"), name)
        for name in study_names()
    ]


def find_study(name: str) -> Study:
    """The study of this name, or the one in this file, whose Python is run: it is the user's own program."""
    if name in study_names():
        return _study_of(importlib.import_module(f"{published.__name__}.{name}"), name)
    path = Path(name)
    if path.suffix != ".py":
        raise ValueError(
            f"there is no study {shown(name)}.{near(name, study_names())} `pegasos study list` shows all of them."
        )
    if not path.is_file():
        raise ValueError(
            f"the file {shown(name)} does not exist. `pegasos study new {name} --data DATA` writes one."
        )
    spec = importlib.util.spec_from_file_location(f"study_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # SystemExit, too
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == spec.origin
        ]
        line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
        where = shown(name) if line is None else f"{shown(name)}, line {line}"
        raise UsageError(
            f"{where}: {type(error).__name__}: {plain(error)}. This study is a Python program: mend it."
        ) from error
    return _study_of(module, name)


def _study_of(module: Any, name: str) -> Study:
    found = getattr(module, "STUDY", None)
    if not isinstance(found, Study):
        raise ValueError(
            f"{shown(name)} has no STUDY: a file of a study ends with STUDY = Study(...)."
        )
    return found


def show_list(as_json: bool) -> None:
    rows = [(each.name, each.data, len(each.numbers()), each.title) for each in known_studies()]
    if as_json:
        console.show_json([{"name": a, "title": d, "data": b, "numbers": c} for a, b, c, d in rows])
    else:
        console.table(("study", "data", "printed numbers", "title"), rows, left=2)


def write_new(file: str | None, data: str | None) -> None:
    """A study of one's own, to be changed."""
    if file is None or data is None:
        raise UsageError("write `pegasos study new mine.py --data my.csv`.")
    path = Path(file)
    if path.exists():
        raise UsageError(f"{file} exists already; give another name or remove it first.")
    write_text(path, template(path.stem, file, data))
    console.show(f"written: {file}")
    console.say(
        f"next:    pegasos study ./{file}"
        if path.parent == Path()
        else f"next:    pegasos study {file}"
    )


def run(
    asked: str | Study, out: str | None, seeds: int, quick: bool, jobs: int | None
) -> StudyRecord:
    """Run a study of the package, of a file, or one that is given."""
    study = find_study(asked) if isinstance(asked, str) else asked
    source = asked if isinstance(asked, str) else study.name
    options = Options(
        seeds, quick, jobs, console.say, progress=not console.state.quiet, page=True, source=source
    )
    folder = out if out is not None else f"runs/{study.name}"
    with resumable(folder):
        return run_study(study, folder, options, load=_load)


def run_all(out: str | None, seeds: int, quick: bool, jobs: int | None, page: str | None) -> None:
    """Every study of the package, one after the other, and their findings as one page."""
    begin, records = time.perf_counter(), []
    for name in study_names():
        records.append(run(name, f"{out or 'runs'}/{name}", seeds, quick, jobs))
        show(records[-1])
        console.show()
    console.heading(f"{len(records)} studies in {time.perf_counter() - begin:.0f} s")
    if page is not None:
        write_text(Path(page), book(records))
        console.show(f"written: {page}")


def _load(source: str) -> Any:
    """A named set, or a file whose text columns and gaps are encoded first: studies work on numbers."""
    dataset = load(source, ReadingOptions())
    if not dataset.has_frame:
        return dataset
    encoder = make_encoder(dataset)
    X = encoder.fit_transform(dataset.X)
    columns = [
        Column(name.partition("__")[2]) for name in encoder.get_feature_names_out()
    ]  # behind the part that made it
    console.say(
        "note: medians and categories were taken from all rows, before the splits of the study."
    )
    return dataclasses.replace(dataset, X=X, columns=columns)


def _setting(cell: StudyCell) -> str:
    """What tells a cell from the others of its experiment."""
    named = {"kernel": "", "lam": "λ = ", "n_iter": "steps = ", "epochs": "epochs = "}
    given = {named[name]: value for name, value in cell.words().items() if name in named}
    return ", ".join(
        f"{name}{value:g}" if isinstance(value, float) else f"{name}{value}"
        for name, value in given.items()
    )


def show(record: StudyRecord) -> None:
    """The summary for a person; findings.md has everything."""
    console.heading(record.title, "")
    numbers = record.numbers
    if numbers:
        counts = Counter(number.verdict for number in numbers)
        console.show(
            f"{len(numbers)} printed numbers: "
            + ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        )
        for fit in record.readings:
            if fit.chosen:
                distance = f"(mean distance {fit.mean_distance:.2f} standard errors)"
                console.show(
                    f"  {fit.group}: {fit.fitting} of {fit.numbers} fit, read {fit.reading} {distance}"
                )
        console.show()
    else:
        rows = [
            (cell.experiment, _setting(cell), console.percent(cell.error))
            for cell in best_of_each(record.cells)
        ]
        console.table(("best of each", "setting", "error"), rows, left=2)
        console.show()
    for claim in record.claims:
        console.show(f"claim: {claim.claim}: {claim.verdict}")
    if record.better:
        console.show()
        rows = [(each.what, console.percent(each.error), each.comparison) for each in record.better]
        console.table(("the best reached here", "error", "against the report's best"), rows, left=1)
    if not record.data.real and numbers:
        console.show(
            "", "THESE ROWS ARE NOT THE REPORT'S DATA: the verdicts are about the machinery."
        )
    files = "report.html, findings.md, results.json, results.csv, cells.csv"
    console.show("", f"{record.total_seconds:.0f} s; written: {record.folder}/{files}")
