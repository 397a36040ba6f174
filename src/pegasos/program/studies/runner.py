"""Runs any study: experiments over seeds, verdicts, checks, extras and the last part, each kept in the run folder once done."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from pegasos import SweepCV, __version__
from pegasos.program.pages import join_experiments, record_experiment, save_record, write_report
from pegasos.program.pages.fitted_facts import made
from pegasos.program.records import codec
from pegasos.program.records.pages import PageRecord
from pegasos.program.records.studies import (
    Better,
    Claim,
    ExtraRecord,
    KeptPart,
    StudyData,
    StudyRecord,
)
from pegasos.program.studies import writing
from pegasos.program.studies.decoding import DecodedAccuracy
from pegasos.program.studies.judging import judge
from pegasos.program.studies.results import Context, Result, Results
from pegasos.program.studies.study import Emulation, Experiment, Study
from pegasos.program.studies.time_left import time_left
from pegasos.program.tables.dataset import BadData, Dataset
from pegasos.program.tables.named_sets import load_set
from pegasos.program.tables.row_hashes import hash_rows
from pegasos.search.anatomy import anatomy
from pegasos.search.grid import Cell
from pegasos.search.store import ALGORITHMS

Array = np.ndarray[Any, Any]

QUICK_ROWS = 2000
MACHINERY = "verdicts are about the machinery, not about the report."


@dataclass(frozen=True)
class Options:
    """How much of a study is run."""

    seeds: int = 5
    quick: bool = False
    jobs: int | None = None
    say: Callable[[str], None] = lambda text: None
    progress: bool = False
    #: Whether to write report.html.
    page: bool = False
    #: The name or file that the study was asked for by.
    source: str = ""


def run_study(
    study: Study, folder: str | Path, options: Options, load: Callable[[str], Dataset] = load_set
) -> StudyRecord:
    """Everything a study declares; writes results.json, results.csv, cells.csv and findings.md, and answers results.json."""
    begin = time.perf_counter()
    dataset, real = _data(study, options, load)
    run = _Run(study, Path(folder), options, dataset)
    seeds = list(range(1 if options.quick else options.seeds))
    results = Results()
    seconds: dict[str, float] = {}
    parts: tuple[Experiment | Emulation, ...] = (*study.experiments, *study.emulations)
    left = time_left(parts, len(seeds))
    for part in parts:
        start = now = time.perf_counter()
        for seed in seeds:
            options.say(f"{study.name}: {part.name}, seed {seed + 1} of {len(seeds)}{left.words()}")
            results.rows += (
                run.experiment(part, seed)
                if isinstance(part, Experiment)
                else run.emulation(part, seed)
            )
            before, now = now, time.perf_counter()
            left.took(part.name, now - before)
        if isinstance(part, Experiment):
            seconds[part.name] = round(now - start, 2)
    context = Context(study, dataset, results, seeds, real, options.quick, run.labels, options.say)
    numbers, readings = judge(study.numbers(), results, study.tolerance)
    record = StudyRecord(
        study=study.name,
        title=study.title,
        protocol=study.protocol,
        data=StudyData(dataset.name, len(dataset), real, run.fingerprint),
        seeds=seeds,
        quick=options.quick,
        numbers=numbers,
        readings=readings,
        claims=[Claim(check.claim, *check.look(context)) for check in study.checks],
        extras=run.extras(context),
        better=run.better(context),
        findings=study.findings if real else "",
        cells=results.cells(),
        seconds=seconds,
        made=made(),
        total_seconds=round(time.perf_counter() - begin, 2),
        folder=str(folder),
        source=options.source or study.name,
    )
    writing.write(run.folder, record)
    if options.page:
        options.say(f"{study.name}: writing the page")
        save_record(run.folder, join_experiments(run.recorded))
        write_report(run.folder)
    return record


def _data(study: Study, options: Options, load: Callable[[str], Dataset]) -> tuple[Dataset, bool]:
    """The study's own data, or its stand-in where they are not here; a part of them if it must be quick."""
    real = True
    try:
        dataset = load(study.data)
    except BadData as error:
        if study.stand_in is None:
            raise
        options.say(f"{error}")
        options.say(f"RUNNING ON THE STAND-IN {study.stand_in!r} INSTEAD: {MACHINERY}")
        dataset, real = load(study.stand_in), False
    dataset = study.prepare(dataset)
    if options.quick and len(dataset) > QUICK_ROWS:
        options.say(f"--quick: {QUICK_ROWS} of {len(dataset)} rows; {MACHINERY}")
        kept = np.sort(np.random.default_rng(0).permutation(len(dataset))[:QUICK_ROWS])
        parts = {
            "y": dataset.labels[kept],
            "test": None if dataset.test is None else dataset.test[kept],
        }
        dataset, real = Dataset(**{**vars(dataset), "X": dataset.X[kept], **parts}), False
    return dataset, real


class _Run:
    """One folder: sweeps with their stores, and everything else once computed."""

    def __init__(self, study: Study, folder: Path, options: Options, dataset: Dataset) -> None:
        self.study, self.folder, self.options, self.dataset = study, folder, options, dataset
        self.fingerprint = hashlib.sha256(
            hash_rows(dataset.X, dataset.labels).astype("<u8").tobytes()
        ).hexdigest()[:16]
        self.recorded: list[PageRecord] = []
        self._searches: dict[tuple[str, int], tuple[list[Result], Array]] = {}

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What an earlier run in this folder has computed for the same data and version, or what `make` answers now, as JSON."""
        asked = {
            "data": self.fingerprint,
            "algorithms": ALGORITHMS,
            "seeds": self.options.seeds,
            "pegasos": __version__,
        }
        path = self.folder / "parts" / f"{name}.json"
        with contextlib.suppress(
            BadData, FileNotFoundError
        ):  # damaged or of another version: computed again
            kept = codec.load(KeptPart, path)
            if kept.asked == asked:
                return kept.answer
        part = KeptPart(asked, codec.to_json(make()))
        codec.save(path, part)
        return part.answer

    def experiment(self, experiment: Experiment, seed: int) -> list[Result]:
        """All cells of an experiment with this seed."""
        dataset = self.dataset
        estimator = clone(experiment.estimator)
        anatomy(estimator).learner.set_params(random_state=seed)
        plain = experiment.decodings == ("argmax",)
        splits = experiment.splits(dataset.labels, seed)
        search = SweepCV(
            estimator,
            experiment.grid,
            cv=splits,
            scoring=None if plain else DecodedAccuracy(experiment.decodings),
            refit=False,
            return_train_score=experiment.training,
            n_jobs=self.options.jobs,
            store=self.folder / "store" / self.fingerprint / f"{_slug(experiment.name)}-{seed}",
            verbose=int(self.options.progress),
        )
        with warnings.catch_warnings(
            action="ignore"
        ):  # borders and gaps of a report's grid are its own
            search.fit(dataset.X, dataset.y)
        learned = round(float(np.mean([len(train) for train, _ in splits])))
        rows = list(_rows(experiment, seed, search, plain, learned))
        first = [
            row
            for row in rows
            if row.split == experiment.split_name and row.decoding == experiment.decodings[0]
        ]
        self._searches[experiment.name, seed] = (first, search.labels_)
        if self.options.page and seed == 0:
            self.recorded.append(
                record_experiment(search, dataset, experiment.name, learned=splits[0][0])
            )
        return rows

    def emulation(self, emulation: Emulation, seed: int) -> list[Result]:
        """What a report's own program would have found with this seed."""
        rows = self.once(
            f"{_slug(emulation.name)}-{seed}", lambda: emulation.run(self.dataset, seed)
        )
        own = ("split", "decoding", "error", "rows")
        known = [{name: row.pop(name) for name in own if name in row} for row in rows]
        return [
            Result(emulation.name, seed, **each, tags=row)
            for each, row in zip(known, rows, strict=True)
        ]

    def labels(self, experiment: str, seed: int, **key: Any) -> Array:
        """Out-of-fold codes of one cell."""
        cells, labels = self._searches[experiment, seed]
        found = Results(cells).find(**key)
        if len(found) != 1:
            raise ValueError(f"{key} picks {len(found)} cells of {experiment!r}, not one.")
        return np.asarray(labels[found[0].cell])

    def extras(self, context: Context) -> list[ExtraRecord]:
        found = []
        for extra in self.study.extras:
            if extra.slow and context.quick:
                continue
            self.options.say(f"{self.study.name}: {extra.title}")
            answer = self.once(f"extra-{extra.name}", functools.partial(extra.make, context))
            found.append(ExtraRecord(extra.name, extra.title, answer.pop("text", ""), answer))
        return found

    def better(self, context: Context) -> list[Better]:
        if self.study.surpass is None or context.quick:
            return []
        self.options.say(f"{self.study.name}: the best that this project reaches")
        answer = self.once("surpass", functools.partial(self.study.surpass, context))
        return list(codec.from_json(list[Better], answer, f"{self.folder}/parts/surpass.json"))


def _rows(
    experiment: Experiment, seed: int, search: Any, plain: bool, learned: int
) -> Iterator[Result]:
    results = search.cv_results_
    tested = int((search.labels_[0] >= 0).sum())
    parts = {"test": experiment.split_name, **({"train": "train"} if experiment.training else {})}
    for cell in search.cells_:
        names = tuple(dict.fromkeys(_names(cell)))
        for how in experiment.decodings:
            for part, split in parts.items():
                error = 1 - float(results[f"mean_{part}_{'score' if plain else how}"][cell.number])
                known = (cell.setting, names, experiment.tags, cell.number, learned)
                yield Result(experiment.name, seed, error, tested, split, how, *known)


def _names(cell: Cell) -> Iterator[str]:
    """What the grid varies, as settings call it: a parameter of the learner by its name, one of a step by that of the step."""
    parts = cell.parts
    for name in cell.params:
        *above, last = name.split("__")
        if f"{name}__" == parts.prefix:
            yield "model"
        elif name.startswith(parts.prefix):
            yield name.removeprefix(parts.prefix).partition("__")[0]
        else:
            filters = (
                stage.name
                for stage in parts.stages
                if stage.drops and last in stage.part.get_params(deep=False)
            )
            yield next(
                (stage.name for stage in parts.stages if stage.name in above), next(filters, last)
            )


def _slug(name: str) -> str:
    return "".join(char if char.isalnum() else "-" for char in name)
