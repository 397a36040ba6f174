"""`tune` where the rows do not fit into memory: a search on a sample of them, then its choice on all rows, in passes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from pegasos.engine.kernels.standard import as_kernel
from pegasos.engine.optimum.passes.passes import MOST_FEATURES
from pegasos.engine.runtime.interruption import Interrupted
from pegasos.learners.catalogue import MODELS, ONE_VS_REST, SDCA, make_learner
from pegasos.metrics import Metric, measure_of
from pegasos.nystroem import Nystroem
from pegasos.program.commands.tune import files as tune_files
from pegasos.program.commands.tune import search as tune_search
from pegasos.program.commands.tune import tuning
from pegasos.program.commands.tune.search import TuneJob
from pegasos.program.grids import SEARCH_ROWS
from pegasos.program.jobs.clusters import cluster_of
from pegasos.program.jobs.large_tables import LargeTable
from pegasos.program.jobs.large_training import chosen_scale
from pegasos.program.jobs.prepared_tables import (
    Known,
    PreparedTable,
    answers_of,
    count_errors,
    prepared,
    save_large,
    stored_numbers,
)
from pegasos.program.large.optimum import Cluster, fit_to_files
from pegasos.program.large.preparation import fitted_pipeline
from pegasos.program.large.prepared import NoRoom
from pegasos.program.pages.wording import whole_words
from pegasos.program.pipelines import scale_words
from pegasos.program.records.runs import Compared, ErrorCount, TuneRecord, WholeRecord, out_of_fold
from pegasos.program.scoring import labels_of, scores_of
from pegasos.program.tables.dataset import Dataset, take
from pegasos.program.tables.labels import label_texts
from pegasos.program.tables.leaks import leaks
from pegasos.program.tables.read_options import Outline
from pegasos.program.tables.row_hashes import hash_rows
from pegasos.program.tables.sampling import Sample
from pegasos.program.tables.survey import Survey
from pegasos.program.terminal import console, option_values
from pegasos.program.terminal.reproduction import expansion_degree, landmarks_of
from pegasos.search.anatomy import anatomy
from pegasos.search.decisions import carry_over
from pegasos.search.settings import Setting
from pegasos.search.two_stage import limited

Array = np.ndarray[Any, Any]

#: The share of training rows by which λ are compared again, and the numbers rows x features² up to which a fit is cheap
#: enough for that: about a second a pass.
COMPARED, CHEAP = 0.1, 1e11
#: The share of the memory for the search beside its rows, and the bytes that it has at least: kernels need a few in any case.
SEARCH_SHARE, LEAST_MEMORY = 0.5, 64 * 10**6
#: Test rows by which the sample's model is judged where time is up, and those that are predicted between two looks at the clock.
JUDGED_ROWS, PREDICTED_ROWS = 5000, 2000
#: The share of --max-time that is left for all rows when the search begins.
ALL_ROWS_SHARE = 0.5
TRAINING, APART, TEST = range(3)


@dataclass(frozen=True)
class Told:
    """A model that does not know the test rows, its errors, and how it came; then the model that is kept, and what it knows."""

    errors: dict[str, ErrorCount]
    fitted_rows: int
    whole: WholeRecord
    kept: Any
    known: Known


def tune_large(job: TuneJob, outline: Outline, begin: float, until: float | None) -> TuneRecord:
    """Search on a sample, learn the choice from all rows, write the folder, and answer what was found."""
    table = LargeTable(job.data, job.reading, job.running, outline)
    table.check(job.learning)
    console.say(
        f"{table.about}: settings are compared on a sample of its rows, then the best one learns from all of them"
    )
    sample, judges = (
        table.sample(job.sample or SEARCH_ROWS),
        None if until is None else table.sample(JUDGED_ROWS),
    )
    found = table.look(sample, judges)
    rows, places = table.sampled(found, sample)
    for leak in leaks(rows.X, rows.columns, rows.labels):
        console.say(leak)
    if job.learning.scale == "auto" and found.holds_pixels:
        console.say(scale_words("normalize", "auto"))
    aim = (
        None
        if job.threshold is None
        else option_values.make_aim(job.threshold, job.judging, rows.labels)
    )
    console.say(
        f"sample: {len(rows)} of {found.training} training rows, drawn over all files by --seed {job.running.seed}"
    )
    memory = f"{max(int(SEARCH_SHARE * table.budget), LEAST_MEMORY)}B"
    with cluster_of(job.where, job.running.memory) as cluster:
        # Fits in passes know one-vs-rest only, and scale by moments or ends.
        scale, pairs = chosen_scale(found, job.learning.scale), job.learning.multiclass
        learning = replace(job.learning, multiclass=pairs or ONE_VS_REST, scale=scale)
        searched = replace(job, running=replace(job.running, memory=memory), learning=learning)
        explored = tune_search.explore(searched, rows, _until_search(until), cluster)
        search = explored.search
        calibration, threshold = tuning.decide(search, aim)
        told = _Whole(job, table, found, search, rows, cluster, explored.metric, judges).learned(
            until
        )
    split = "random, row by row" if table.share else "none set aside"
    record = tune_files.make_record(
        job,
        explored,
        begin,
        data=table.data,
        training_rows=found.training,
        test_rows=found.rows - found.training,
        split=split,
        scale=chosen_scale(found, job.learning.scale),
        decision=tuning.decided(
            job,
            search,
            told.fitted_rows,
            told.known.rows,
            _refits(job, table) and told.whole.how != "sample",
            split,
        ),
        errors=told.errors,
        figures=out_of_fold(search),
        calibration=calibration,
        threshold=threshold,
        whole=told.whole,
    )
    facts = tune_files.facts_of_card(record, explored)
    save_large(record.model, table, found, told.kept, told.known, **facts)
    page = replace(rows, notes=[*whole_words(told.whole, found.training), *rows.notes])
    tune_files.write_run(record, search, page, places, job)
    return record


def _until_search(until: float | None) -> float | None:
    """Until when the search may go on: all rows need their time, too."""
    return None if until is None else until - ALL_ROWS_SHARE * max(0.0, until - time.monotonic())


def _refits(job: TuneJob, table: LargeTable) -> bool:
    return job.refit_all and table.share > 0


@dataclass(frozen=True)
class _Whole:
    """The choice of a search on a sample, on its way to all rows."""

    job: TuneJob
    table: LargeTable
    found: Survey
    search: Any
    rows: Dataset
    cluster: Cluster | None
    #: What was searched by; None: a scorer of scikit-learn.
    metric: Metric | None
    #: Test rows by which the sample's model is judged where there is no time for all of them.
    judges: Sample | None

    @property
    def setting(self) -> Setting:
        return self.search.settings_[self.search.best_index_]

    def learned(self, until: float | None) -> Told:
        """The choice learned from all rows; where that cannot be, the model of the sample, and why."""
        loss = MODELS[self.setting.model][1].fixed.get("loss")
        model = next((model.name for model in SDCA.models if model.fixed["loss"] == loss), None)
        why = f"{self.setting.model} does not learn in passes; sdca and sdca-logistic do"
        if model is not None:
            try:
                with limited(until):
                    return self._in_passes(model)
            except NoRoom as error:
                why = str(error).rstrip(".")
            except Interrupted:
                why = "time was up before all rows were learned"
        console.say(f"the model of the sample is kept: {why}")
        return self._of_sample(why, until)

    def _of_sample(self, why: str, until: float | None) -> Told:
        model, rows, found = self.search.best_estimator_, self.rows, self.found
        errors = {"training": ErrorCount.of(rows.labels, labels_of(model, rows), found.usual)}
        try:
            errors |= _stream_errors(self.table, found, model, until)
        except Interrupted:
            assert self.judges is not None  # there is one wherever time is limited
            X, texts = self.table.sampled_texts(found, self.judges)
            judged = Dataset(
                f"{self.table.data} ({len(texts)} of its test rows)", X, found.features
            )
            errors["test"] = ErrorCount.of(texts, labels_of(model, judged), found.usual)
            why += f"; there was no time for all test rows either: its error is that on {len(texts)} of them, drawn by --seed"
        whole = WholeRecord(len(rows), "sample", why, self.setting.model, self.setting.lam)
        known = Known(Counter(label_texts(rows.labels).tolist()), hash_rows(rows.X, rows.y))
        return Told(errors, len(rows), whole, model, known)

    def _in_passes(self, model: str) -> Told:
        """Prepared rows in files, a λ for all rows, the errors, and a refit on all rows."""
        found, setting, share = self.found, self.setting, len(self.rows) / self.found.training
        assert setting.lam is not None  # both models that learn in passes have one
        nystroem = _landmarks(self.job, setting)
        learner, estimator, width = self._pipeline(model, nystroem)
        stored = stored_numbers(found, estimator, width)
        # the square of it is what a pass costs for each row
        cost = width if stored is None or width > MOST_FEATURES else stored / found.rows
        cheap = found.training * cost**2 <= CHEAP and share < 1.0
        with prepared(self.table, found, estimator, width, COMPARED if cheap else 0.0) as files:
            compared = list(self._compared(learner, files, setting.lam, share)) if cheap else []
            best = min(compared, key=self._order, default=None)
            lam = setting.lam * share**0.5 if best is None else best.lam
            with console.working(f"training {model} on {found.training} rows", "passes"):
                self._fit(learner, files, lam, TRAINING, APART)
            self._carry_over(estimator)
            with console.working("counting errors"):
                errors = count_errors(
                    files, learner, training=[files.train, files.compare], test=[files.test]
                )
            whole = WholeRecord(
                sample=len(self.rows),
                how="passes" if nystroem is None else "landmarks",
                model=model,
                lam=lam,
                cost=1.0 / (lam * found.training),
                landmarks=None if nystroem is None else len(nystroem.landmarks_),
                passes=int(learner.n_iter_),
                gap=float(learner.gap_),
                compared=compared,
                metric="error" if self.metric is None else self.metric.name,
            )
            kept = self._refitted(estimator, files, lam)
            return Told(
                errors, found.training, whole, kept, files.known(everything=kept is not estimator)
            )

    def _pipeline(self, model: str, nystroem: Nystroem | None) -> tuple[Any, Any, int]:
        job, found = self.job, self.found
        given = option_values.grids(job.learning, len(self.rows), found.classes)
        settings: dict[str, Any] = {"class_weight": self.search.best_estimator_[-1].class_weight}
        settings |= {"tol": given["tol"][0]} if "tol" in given else {}
        learner = make_learner(
            model, {**settings, "seed": job.running.seed, "memory": job.running.memory}
        )
        sample = None if nystroem is None else self.rows.X
        estimator, width = fitted_pipeline(
            found,
            learner,
            chosen_scale(found, job.learning.scale),
            expansion_degree(self.setting),
            nystroem,
            sample,
        )
        if nystroem is not None:
            console.say(
                f"a kernel won: all rows are learned through {len(nystroem.landmarks_)} landmarks (Nyström features)"
            )
        return learner, estimator, width

    def _compared(
        self, learner: Any, files: PreparedTable, lam: float, share: float
    ) -> Iterator[Compared]:
        """The same λ, the same C, and what lies between: which of them suits many times the rows is asked of rows kept apart."""
        for each in (lam, lam * share**0.5, lam * share):
            candidate = clone(learner)
            with console.working(f"comparing λ = {each:.3g} on {files.train.count} rows", "passes"):
                self._fit(candidate, files, each, TRAINING)
                errors = count_errors(files, candidate, apart=[files.compare])["apart"]
                if self.metric is None or self.metric.name == "error":
                    yield Compared(each, errors)
                else:
                    yield Compared(
                        each, errors, self.metric.value(answers_of(files, candidate, files.compare))
                    )

    def _order(self, found: Compared) -> tuple[float, float]:
        """The better by the metric first, then the larger λ; by errors where settings were compared by scikit-learn's scorer."""
        if found.value is None:
            assert found.errors.error is not None
            return found.errors.error, -found.lam
        return found.value if measure_of(self.job.metric).least else -found.value, -found.lam

    def _refitted(self, estimator: Any, files: PreparedTable, lam: float) -> Any:
        """The model that is kept: of all rows, if that was asked for and time allows. The steps stay those of training rows."""
        if not _refits(self.job, self.table):
            return estimator
        *steps, (name, learner) = estimator.steps
        last = clone(learner)
        try:
            with console.working(f"refitting on all {self.found.rows} rows", "passes"):
                self._fit(last, files, lam, TRAINING, APART, TEST)
        except Interrupted:
            return estimator
        kept = Pipeline([*steps, (name, last)])
        self._carry_over(kept)
        return kept

    def _carry_over(self, estimator: Any) -> None:
        """What out-of-fold scores on the sample taught (calibration, threshold), for a model of more rows."""
        both, some = (
            (self.search.best_estimator_, estimator),
            take(self.rows, np.arange(min(len(self.rows), tuning.SCALE_ROWS))),
        )
        carry_over(
            *(anatomy(each, fitted=True).learner for each in both),
            *(scores_of(each, some) for each in both),
        )

    def _fit(self, learner: Any, files: PreparedTable, lam: float, *numbers: int) -> None:
        fit_to_files(learner.set_params(lam=lam), *files.learned(*numbers), cluster=self.cluster)


def _landmarks(job: TuneJob, setting: Setting) -> Nystroem | None:
    """Nyström features for a kernel: as the setting has them, or the usual number."""
    part = landmarks_of(setting)
    kernel = setting.kernel if part is None else as_kernel(part.get("kernel", Nystroem().kernel))
    if kernel is None:
        return None
    many = Nystroem().landmarks if part is None else part.get("landmarks", Nystroem().landmarks)
    return Nystroem(kernel, many, memory=job.running.memory, random_state=job.running.seed)


def _stream_errors(
    table: LargeTable, found: Survey, model: Any, until: float | None
) -> dict[str, ErrorCount]:
    """Errors of the sample's model on all test rows, as they come by; `Interrupted` where time is up before."""
    draw, rows, mistakes, others, [usual] = table.draw(), 0, 0, 0, label_texts([found.usual])
    with console.working(f"predicting test rows of {table.data}", "rows", found.rows) as progress:
        for part in progress.counting(table.parts(found.features, found.needs_frame)):
            test = np.flatnonzero(draw.test(len(part)))
            part = replace(part, X=table.weighed(part.X, None)[0])
            for some in np.array_split(test, -(-len(test) // PREDICTED_ROWS) or 1):
                if until is not None and time.monotonic() >= until:
                    raise Interrupted
                if len(some):
                    truth, answers = (
                        label_texts(part.labels[some]),
                        label_texts(labels_of(model, take(part, some))),
                    )
                    rows, mistakes = rows + len(some), mistakes + int((answers != truth).sum())
                    others += int((truth != usual).sum())
    return {"test": ErrorCount.counted(rows, mistakes, others / rows)} if rows else {}
