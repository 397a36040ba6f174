"""Records on disk: report.json of a run folder, beside it a study's results.json or a tuning run's summary.json."""

from __future__ import annotations

from pathlib import Path

from pegasos.program.records import codec
from pegasos.program.records.pages import DataRecord, PageRecord
from pegasos.program.records.runs import TuneRecord
from pegasos.program.tables.dataset import BadData
from pegasos.studies.results import StudyResult

NAME = "report.json"
#: What is read in a run folder.
RECORDS = (NAME, "results.json", "summary.json")


def save_record(folder: str | Path, record: PageRecord) -> Path:
    """Put what was recorded into a run folder."""
    return codec.save(Path(folder) / NAME, record)


def read_run(folder: Path) -> PageRecord | StudyResult:
    """Return the record of a run folder that its page shows."""
    if (folder / "results.json").is_file():
        return codec.load(StudyResult, folder / "results.json")
    if (folder / NAME).is_file():
        return codec.load(PageRecord, folder / NAME)
    if (folder / "summary.json").is_file():
        return _of_summary(codec.load(TuneRecord, folder / "summary.json"))
    raise BadData(
        f"{folder} holds no results: a run of tune or study leaves results.json or summary.json in its folder."
    )


def _of_summary(found: TuneRecord) -> PageRecord:
    """A run of tune without its report.json: a page without rows."""
    advice = [str(each) for each in found.advice]
    data = DataRecord(found.data, found.source, found.training_rows)
    return PageRecord(
        kind="tune",
        data=data,
        made={},
        measure=found.measure,
        positive=found.positive,
        figures=found.figures,
        calibration=found.calibration,
        threshold=found.threshold,
        command=found.command,
        saved=found.model,
        seed=found.seed,
        seconds=found.seconds,
        cells=found.cells,
        folds=found.folds,
        complete=found.complete,
        decision=found.decision,
        best=found.best,
        simplest=found.simplest,
        advice=advice,
        errors=found.errors,
        honest=found.honest,
    )
