"""Runs any study: experiments over seeds, verdicts, checks, extras and the last part, each kept in the run folder once done."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from pegasos import SweepCV, __version__
from pegasos.program.files import as_json, write_text
from pegasos.program.pages import join_experiments, record_experiment, save_record, write_report
from pegasos.program.pages.fitted_facts import made
from pegasos.program.records.pages import PageRecord
from pegasos.program.studies import writing
from pegasos.program.studies.decoding import DecodedAccuracy
from pegasos.program.studies.judging import judge
from pegasos.program.studies.results import Context, Results, Row, same
from pegasos.program.studies.study import Emulation, Experiment, Study
from pegasos.program.tables.dataset import BadData, Dataset
from pegasos.program.tables.named_sets import load_set
from pegasos.program.tables.row_hashes import hash_rows
from pegasos.search.anatomy import anatomy
from pegasos.search.store import ALGORITHMS

Array = np.ndarray[Any, Any]

QUICK_ROWS = 2000


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


def run_study(study: Study, folder: str | Path, options: Options, load: Callable[[str], Dataset] = load_set) -> dict[str, Any]:
    """Everything a study declares; writes results.json, results.csv, cells.csv and findings.md, and answers results.json."""
    begin = time.perf_counter()
    dataset, real = _data(study, options, load)
    run = _Run(study, Path(folder), options, dataset)
    seeds = list(range(1 if options.quick else options.seeds))
    results = Results()
    times: dict[str, float] = {}
    for experiment in study.experiments:
        for seed in seeds:
            options.say(f"{study.name}: {experiment.name}, seed {seed + 1} of {len(seeds)}")
            start = time.perf_counter()
            results.rows += run.experiment(experiment, seed)
            times[experiment.name] = times.get(experiment.name, 0.0) + time.perf_counter() - start
    for emulation in study.emulations:
        for seed in seeds:
            options.say(f"{study.name}: {emulation.name}, seed {seed + 1} of {len(seeds)}")
            results.rows += run.emulation(emulation, seed)
    context = Context(study, dataset, results, seeds, real, options.quick, run.labels, options.say)
    judged, fits = judge(study.numbers(), results, study.tolerance)
    found: dict[str, Any] = {
        "study": study.name,
        "title": study.title,
        "protocol": study.protocol,
        "data": {"name": dataset.name, "rows": len(dataset), "real": real, "fingerprint": run.fingerprint},
        "seeds": seeds,
        "quick": options.quick,
        "numbers": [each.as_row() for each in judged],
        "readings": fits,
        "checks": run.checks(context),
        "extras": run.extras(context),
        "surpass": run.surpass(context),
        "findings": study.findings if real else "",
        "seconds": {name: round(seconds, 2) for name, seconds in times.items()},
        "made": made(),
    }
    found["cells"] = writing.summarize(results)
    found["total_seconds"] = round(time.perf_counter() - begin, 2)
    writing.write(run.folder, found)
    if options.page:
        options.say(f"{study.name}: writing the page")
        save_record(run.folder, join_experiments(run.recorded))
        write_report(run.folder)
    return found


def _data(study: Study, options: Options, load: Callable[[str], Dataset]) -> tuple[Dataset, bool]:
    """The study's own data, or its stand-in where they are not here; a part of them if it must be quick."""
    real = True
    try:
        dataset = load(study.data)
    except BadData as error:
        if study.stand_in is None:
            raise
        options.say(f"{error}")
        options.say(
            f"RUNNING ON THE STAND-IN {study.stand_in!r} INSTEAD: verdicts are about the machinery, not about the report."
        )
        dataset, real = load(study.stand_in), False
    dataset = study.prepare(dataset)
    if options.quick and len(dataset) > QUICK_ROWS:
        options.say(f"--quick: {QUICK_ROWS} of {len(dataset)} rows; verdicts are about the machinery, not about the report.")
        kept = np.sort(np.random.default_rng(0).permutation(len(dataset))[:QUICK_ROWS])
        parts = {"y": dataset.labels[kept], "test": None if dataset.test is None else dataset.test[kept]}
        dataset = Dataset(**{**vars(dataset), "X": dataset.X[kept], **parts})
        real = False
    return dataset, real


class _Run:
    """One folder: sweeps with their stores, and everything else once computed."""

    def __init__(self, study: Study, folder: Path, options: Options, dataset: Dataset) -> None:
        self.study, self.folder, self.options, self.dataset = study, folder, options, dataset
        self.fingerprint = hashlib.sha256(hash_rows(dataset.X, dataset.labels).astype("<u8").tobytes()).hexdigest()[:16]
        self.recorded: list[PageRecord] = []
        self._labels: dict[tuple[str, int], tuple[list[Row], Array]] = {}
        (folder / "parts").mkdir(parents=True, exist_ok=True)

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What an earlier run in this folder has computed for the same data and version, or what `make` answers now."""
        asked = {"data": self.fingerprint, "algorithms": ALGORITHMS, "seeds": self.options.seeds, "version": __version__}
        path = self.folder / "parts" / f"{name}.json"
        if path.exists():
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["asked"] == asked:
                return kept["answer"]
        answer = as_json(make())
        write_text(path, json.dumps({"asked": asked, "answer": answer}))
        return answer

    def experiment(self, experiment: Experiment, seed: int) -> list[Row]:
        """All cells of an experiment with this seed."""
        dataset = self.dataset
        estimator = clone(experiment.estimator)
        anatomy(estimator).learner.set_params(random_state=seed)
        plain = experiment.decodings == ("argmax",)
        search = SweepCV(
            estimator,
            experiment.grid,
            cv=experiment.splits(dataset.labels, seed),
            scoring=None if plain else DecodedAccuracy(experiment.decodings),
            refit=False,
            return_train_score=experiment.training,
            n_jobs=self.options.jobs,
            store=self.folder / "store" / self.fingerprint / f"{_slug(experiment.name)}-{seed}",
            verbose=int(self.options.progress),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # borders and gaps of a report's grid are its own
            search.fit(dataset.X, dataset.y)
        rows = _rows(experiment, seed, search, plain)
        cells = [row for row in rows if row["split"] == experiment.split_name and row["decoding"] == experiment.decodings[0]]
        self._labels[experiment.name, seed] = (cells, search.labels_)
        if self.options.page and seed == 0:
            self.recorded.append(record_experiment(search, dataset, experiment.name))
        return rows

    def emulation(self, emulation: Emulation, seed: int) -> list[Row]:
        """What a report's own program would have found with this seed."""
        rows = self.once(f"{_slug(emulation.name)}-{seed}", lambda: emulation.run(self.dataset, seed))
        return [{"experiment": emulation.name, "seed": seed, "decoding": "argmax", **row} for row in rows]

    def labels(self, experiment: str, seed: int, **cell: Any) -> Array:
        """Out-of-fold codes of one cell."""
        cells, labels = self._labels[experiment, seed]
        found = [row["cell"] for row in cells if all(same(row.get(name), value) for name, value in cell.items())]
        if len(found) != 1:
            raise ValueError(f"{cell} picks {len(found)} cells of {experiment!r}.")
        return np.asarray(labels[found[0]])

    def checks(self, context: Context) -> list[dict[str, str]]:
        answers = [(check.claim, *check.look(context)) for check in self.study.checks]
        return [{"claim": claim, "verdict": verdict, "evidence": evidence} for claim, verdict, evidence in answers]

    def extras(self, context: Context) -> list[dict[str, Any]]:
        found = []
        for extra in self.study.extras:
            if extra.slow and context.quick:
                continue
            self.options.say(f"{self.study.name}: {extra.title}")
            answer = self.once(f"extra-{extra.name}", lambda extra=extra: extra.make(context))  # type: ignore[misc]
            found.append({"name": extra.name, "title": extra.title, **answer})
        return found

    def surpass(self, context: Context) -> list[dict[str, Any]]:
        if self.study.surpass is None or context.quick:
            return []
        self.options.say(f"{self.study.name}: the best that this project reaches")
        make = self.study.surpass
        return list(self.once("surpass", lambda: make(context)))


def _rows(experiment: Experiment, seed: int, search: Any, plain: bool) -> list[Row]:
    results = search.cv_results_
    tested = int((search.labels_[0] >= 0).sum())
    rows = []
    for number, params in enumerate(results["params"]):
        cell = {name.rpartition("__")[2]: _named(value) for name, value in params.items()}
        for how in experiment.decodings:
            metric = "score" if plain else how
            common = {"experiment": experiment.name, "seed": seed, "decoding": how, "cell": number, **experiment.tags, **cell}
            for part, split in (("test", experiment.split_name), ("train", "train")):
                if part == "train" and not experiment.training:
                    continue
                score = results[f"mean_{part}_{metric}"][number]
                rows.append({**common, "split": split, "error": 1 - float(score), "rows": tested})
    return rows


def _named(value: Any) -> Any:
    """A parameter as it stands in tables: numbers as they are, all else as text."""
    if value is None:
        return "linear"
    if isinstance(value, bool | int | float | str):
        return value
    return value.item() if isinstance(value, np.generic) else repr(value)


def _slug(name: str) -> str:
    return "".join(char if char.isalnum() else "-" for char in name)
