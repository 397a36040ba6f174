"""The work behind `tune`: a grid from options, the sweep, the choice, and the files of the run."""

from __future__ import annotations

import csv
import io
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from pegasos.engine.interruption import Interrupted
from pegasos.learners.catalogue import MODELS, make_learner
from pegasos.metrics import LABELS, METRICS, PROBABILITIES, Metric
from pegasos.nystroem import Nystroem
from pegasos.program.errors import UsageError
from pegasos.program.files import resumable, write_text
from pegasos.program.grids import GridRequest, default_models, make_grid
from pegasos.program.jobs import outputs, training
from pegasos.program.jobs.clusters import check_cluster, cluster_of
from pegasos.program.jobs.datasets import Split, load_or_outline, split_rows, take
from pegasos.program.large.optimum import Cluster
from pegasos.program.pages import record_sweep, save_record, write_report
from pegasos.program.pipelines import Recipe, check_expansion, chosen_scale, learned_rows, make_recipe
from pegasos.program.records.codec import save
from pegasos.program.records.decisions import CalibrationRecord, calibration_record
from pegasos.program.records.runs import Decision, TuneRecord, cell_records, out_of_fold
from pegasos.program.scoring import scores_of
from pegasos.program.tables.dataset import BadData, Dataset
from pegasos.program.tables.description import fitting_words, guessing_words, is_unbalanced
from pegasos.program.tables.labels import label_text
from pegasos.program.tables.read_options import Outline
from pegasos.program.terminal import console, judging_values, option_values
from pegasos.program.terminal.options import (
    HERE,
    ClusterOptions,
    JudgingOptions,
    LearningOptions,
    ReadingOptions,
    RunningOptions,
)
from pegasos.program.terminal.reproduction import effective_kernel, expansion_degree, landmarks_of
from pegasos.search.advice import SweepWarning
from pegasos.search.anatomy import anatomy
from pegasos.search.decisions import Aim, Threshold, carry_over
from pegasos.search.racing import RacingCV, limited
from pegasos.search.store import OtherQuestion

#: The share of --max-time after which the model whose error is told should be there; what is left is for the refit on all rows.
TOLD_SHARE = 0.8
#: Rows that tell how the scores of the refitted model compare with those before.
SCALE_ROWS = 2000
#: Seconds of search from which the page's map may take some, too.
MAP_SECONDS = 10.0
#: The longest time that a search may be given: clocks and locks can count it.
MOST_SECONDS = 1e9


@dataclass(frozen=True)
class TuneJob:
    """Everything that the command line asks of tune."""

    data: str
    folder: str
    models: list[str]
    cv: int
    judging: JudgingOptions
    jobs: int | None
    max_time: float | None
    learning: LearningOptions
    reading: ReadingOptions
    running: RunningOptions
    page: bool = True
    refit_all: bool = True
    #: What the threshold is chosen for, as the option says it.
    threshold: str | None = None
    #: Rows to search on where the table does not fit into memory.
    sample: int | None = None
    where: ClusterOptions = HERE

    @property
    def metric(self) -> str:
        """What settings are compared by, by name."""
        return judging_values.check(self.judging, self.threshold)

    @property
    def asks_for_a_grid(self) -> bool:
        """Whether settings were listed, or a score of scikit-learn's: then every one of them is run on every fold."""
        listed = (self.learning.kernel, self.learning.lam, self.learning.cost, self.learning.n_iter, self.learning.epochs)
        several = any("," in (each or "") for each in (self.learning.average, self.learning.expand, self.learning.landmarks))
        return any(listed) or several or self.metric not in METRICS


def tune(job: TuneJob) -> TuneRecord:
    """Run the sweep, write the folder, and answer what was found."""
    with resumable(job.folder):
        return _tune(job)


def _tune(job: TuneJob) -> TuneRecord:
    begin, begin_clock = time.perf_counter(), time.monotonic()
    outputs.check_folder(job.folder)
    option_values.check(job.models, job.learning, job.running.memory)
    judging_values.check(job.judging, job.threshold)  # a name that means nothing is refused before anything is read
    check_cluster(job.where)
    if job.max_time is not None and not 0 < job.max_time <= MOST_SECONDS:
        raise UsageError(f"--max-time must be a number of seconds above 0, at most {MOST_SECONDS:g}; got {job.max_time:g}.")
    until = None if job.max_time is None else begin_clock + job.max_time
    dataset = load_or_outline(job.data, job.reading, job.running.memory)
    if isinstance(dataset, Outline):
        from pegasos.program.jobs.large_tuning import tune_large

        return tune_large(job, dataset, begin, until)
    split = split_rows(dataset, job.running.test_size, job.running.seed)
    rows = take(dataset, split.train)
    aim = None if job.threshold is None else judging_values.make_aim(job.threshold, job.judging, rows.labels)
    with cluster_of(job.where) as cluster:
        explored = explore(job, rows, until, cluster)
    search = explored.search
    calibration, threshold = _decide(search, aim)
    errors, figures = training.judged(search.best_estimator_, dataset, split, explored.metric)
    model, known = _refit_all(job, search, explored.recipe, dataset, split, until)
    saved = search.refit_rows_ if model is search.best_estimator_ else len(known)
    record = make_record(
        job,
        explored,
        begin,
        data=dataset.name,
        training_rows=len(split.train),
        test_rows=len(split.test),
        split=split.kind,
        scale=chosen_scale(rows, job.learning.scale),
        decision=decided(job, search, search.refit_rows_, saved, job.refit_all and len(split.test) > 0, split.kind),
        errors=errors,
        figures={**out_of_fold(search), **figures},
        calibration=calibration,
        threshold=threshold,
    )
    training.save_model(model, record.model, dataset, split, known, **facts_of_card(record, explored))
    write_run(record, search, rows, split.train, job)
    return record


class Explored(NamedTuple):
    """A search that is done: its metric (None: a scorer of scikit-learn), its pipeline, and how many rows a learner saw."""

    search: Any
    metric: Metric | None
    recipe: Recipe
    learned: int


def explore(job: TuneJob, rows: Dataset, until: float | None, cluster: Cluster | None) -> Explored:
    """The search on these rows."""
    metric = _metric(job, rows)
    models = _models(job, metric, len(rows))
    nystroem = Nystroem(memory=job.running.memory, random_state=job.running.seed) if job.learning.landmarks else None
    recipe = make_recipe(rows, make_learner(models[0], {}), job.learning.scale, None, job.learning.drop_outliers, nystroem)
    learned = learned_rows(rows, job.learning.drop_outliers)
    request = _request(job, metric, models, rows, learned)
    for degree in request.expand:
        check_expansion(rows, degree)
    search = _search(job, metric, recipe, make_grid(request, recipe, rows), rows, until, cluster)
    return Explored(search, metric, recipe, learned)


def decided(job: TuneJob, search: Any, fitted_rows: int, saved_rows: int, all_wanted: bool, split: str) -> Decision:
    return Decision(search.decided_by_, job.cv, job.max_time, fitted_rows, saved_rows, all_wanted, split)


def make_record(job: TuneJob, explored: Explored, begin: float, **found: Any) -> TuneRecord:
    """What a run found; `found`: what is known of rows, errors and the model that is kept."""
    search, metric = explored.search, explored.metric
    folder = Path(job.folder)
    return TuneRecord(
        source=job.data,
        folds=int(search.n_splits_),
        metric=job.metric,
        positive=None if metric is None or metric.positive is None else label_text(metric.positive),
        complete=bool(search.completed_),
        seed=job.running.seed,
        cells=cell_records(search, explored.learned, scoring=search.scoring),
        best=int(search.best_index_),
        simplest=search.simplest_index_,
        honest=search.honest_estimate(),
        advice=search.advice_,
        folder=job.folder,
        model=str(folder / "best.model"),
        page=str(folder / "report.html") if job.page else None,
        command=console.command_line(),
        seconds=round(time.perf_counter() - begin, 2),
        **found,
    )


def facts_of_card(record: TuneRecord, explored: Explored) -> dict[str, Any]:
    """What the card of the saved model says of the choice."""
    metric = explored.metric
    names = ("metric", "positive", "figures", "honest", "errors", "seconds", "threshold")
    found = {name: getattr(record, name) for name in names}
    found["calibration"] = None if record.calibration is None else record.calibration.kind
    found["costs"] = [] if metric is None else [(label_text(a), label_text(b), cost) for a, b, cost in metric.costs]
    refitted = record.decision.saved_rows if record.decision.refitted else None
    return {**found, "value": record.choice.value, "refitted_rows": refitted}


def write_run(record: TuneRecord, search: Any, rows: Dataset, positions: Any, job: TuneJob) -> None:
    """The files of a run beside the model: summary.json, results.csv, and the page."""
    folder = Path(record.folder)
    save(folder / "summary.json", record)
    _write_cells(folder / "results.csv", record)
    if job.page:
        _write_page(record, search, rows, positions, job)


def _write_page(record: TuneRecord, search: Any, rows: Dataset, positions: Any, job: TuneJob) -> None:
    """report.json, which has all that the page needs, and report.html, which is written from the folder alone."""
    size = job.running.test_size
    options = [*as_arguments(job.reading), *([] if size is None else ["--test-size", f"{size:g}"])]  # of every command line
    names = (
        "source",
        "command",
        "errors",
        "honest",
        "advice",
        "seconds",
        "decision",
        "positive",
        "figures",
        "calibration",
        "threshold",
    )
    found = {name: getattr(record, name) for name in names}
    with console.working("writing the page"):
        # A map by t-SNE takes seconds: where the search took less, principal components are drawn.
        page = record_sweep(search, rows, options=options, positions=positions, tsne=search.time_ > MAP_SECONDS, **found)
        # The same cells as in summary.json, with the C of the rows that no outlier filter drops.
        save_record(record.folder, replace(page, cells=record.cells))
        write_report(record.folder)


def as_arguments(reading: ReadingOptions) -> list[str]:
    """The options that read a file, as they stand on a command line.

    >>> as_arguments(ReadingOptions(label="kind", drop=["id", "name"], strict=True))
    ['--label', 'kind', '--drop', 'id', '--drop', 'name', '--strict']
    """
    arguments: list[str] = []
    for name, value in vars(reading).items():
        option = f"--{name}"
        if value is True:
            arguments.append(option)
        elif isinstance(value, list):
            arguments += [part for each in value for part in (option, each)]
        elif value is not None and value is not False:
            arguments += [option, str(value)]
    return arguments


def _metric(job: TuneJob, rows: Dataset) -> Metric | None:
    """What settings are compared by; and where classes are unbalanced and nothing was asked for, what might fit better."""
    classes, counts = np.unique(rows.labels, return_counts=True)
    found = judging_values.make_metric(job.judging, classes, job.threshold)
    try:
        metric = None if found is None else found.settled(rows.labels)
    except ValueError as error:
        raise UsageError(f"--metric {job.metric}: {error}") from None
    if metric is not None and metric.name == "error" and is_unbalanced(counts):
        common = label_text(classes[counts.argmax()])
        console.say(f"note: {guessing_words(common, 1 - counts.max() / counts.sum())}; {fitting_words(len(classes))}.")
    return metric


def _models(job: TuneJob, metric: Metric | None, rows: int) -> list[str]:
    """The models to compare: those with probabilities where the metric needs them."""
    wanted = metric is not None and metric.kind.needs == PROBABILITIES
    having = [model for model, (_, each) in MODELS.items() if each.fixed.get("loss") == "logistic"]
    for model in job.models if wanted else ():
        if model not in having:
            assert metric is not None
            raise UsageError(
                f"--metric {metric.name} needs probabilities, which {model} does not have: -m {' or '.join(having)}."
            )
    return job.models or default_models(0 if job.learning.landmarks else rows, wanted)


def _request(job: TuneJob, metric: Metric | None, models: list[str], rows: Dataset, learned: int) -> GridRequest:
    values = option_values.grids(job.learning, learned, np.unique(rows.labels))
    for note in option_values.refuse_unknown(models, values):
        console.say(f"note: {note}")
    counts = np.unique(rows.labels, return_counts=True)[1]
    if metric is not None and metric.kind.needs == LABELS and metric.name != "error" and is_unbalanced(counts):
        values.setdefault("class_weight", [None, "balanced"])
    expand = option_values.parse_expand(job.learning.expand)
    landmarks = option_values.parse_landmarks(job.learning.landmarks)
    return GridRequest(models, values.pop("kernel", []), expand, values, job.running.seed, job.running.memory, landmarks)


def _search(
    job: TuneJob,
    metric: Metric | None,
    recipe: Recipe,
    grid: list[dict[str, list[Any]]],
    rows: Dataset,
    until: float | None,
    cluster: Cluster | None,
) -> Any:
    groups = {} if rows.groups is None else {"groups": rows.groups}
    scoring: Any = job.metric if metric is None else metric
    scoring = None if metric is not None and metric.name == "error" else scoring  # the learners' own score is that, and quicker
    search = RacingCV(
        recipe.estimator,
        grid,
        cv=_folds(job, rows),
        scoring=scoring,
        n_jobs=job.jobs,
        store=job.folder,
        memory=job.running.memory,
        client=None if cluster is None else cluster.client,
        max_time=None if until is None else max(1e-9, TOLD_SHARE * (until - time.monotonic())),
        verbose=0 if console.state.quiet else 1,
        narrow=not job.asks_for_a_grid,
        warm_path=not job.asks_for_a_grid,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SweepWarning)  # shown with the result
        warnings.filterwarnings("ignore", "The least populated class")  # _folds says so
        try:
            return search.fit(rows.X, rows.y, **recipe.weights_of(rows), **groups)
        except OtherQuestion as error:
            remedy = "give another folder with -o, or delete it if no longer wanted"
            raise UsageError(f"{job.folder} keeps a run on other {', '.join(error.different)}: {remedy}.") from error
        except (ValueError, AttributeError) as error:  # the latter where a scorer asks for probabilities that are not there
            if metric is not None:
                raise
            raise UsageError(f"--metric {scoring} does not work here: {error}") from error


def _decide(search: Any, aim: Aim | None) -> tuple[CalibrationRecord | None, Threshold | None]:
    """Calibrate the choice, and choose its threshold if one is wished for; both where its out-of-fold scores allow it."""
    calibration = None
    try:
        _, codes = search.scored()
        classes = search.best_estimator_.classes_
        calibration = calibration_record(search.calibrate(), codes, classes, search.positive(aim))
    except ValueError as error:
        console.say(f"note: no probabilities: {error}")
    if aim is None:
        return calibration, None
    try:
        return calibration, search.choose_threshold(aim)
    except ValueError as error:
        raise UsageError(f"--threshold: {error}") from None


def _refit_all(job: TuneJob, search: Any, recipe: Recipe, dataset: Dataset, split: Split, until: float | None) -> tuple[Any, Any]:
    """The model that is kept, and the rows that it knows: all of them, as their errors have been counted; if time allows."""
    everyone = np.sort(np.concatenate([split.train, split.test]))
    if not job.refit_all or not len(split.test) or search.refit_rows_ < len(split.train):
        return search.best_estimator_, split.train
    rows = take(dataset, everyone)
    model = clone(search.best_estimator_)
    try:
        with limited(until), console.working(f"refitting on all {len(rows)} rows"):
            model.fit(rows.X, rows.y, **recipe.weights_of(rows))
            both = search.best_estimator_, model
            some = take(dataset, np.sort(np.random.default_rng(0).permutation(split.train)[:SCALE_ROWS]))
            carry_over(*(anatomy(each, fitted=True).learner for each in both), *(scores_of(each, some) for each in both))
            return model, everyone
    except Interrupted:
        return search.best_estimator_, split.train


def _folds(job: TuneJob, rows: Dataset) -> Any:
    _, counts = np.unique(rows.labels, return_counts=True)
    if counts.max() < job.cv:
        raise BadData(f"{rows.name}: no class has {job.cv} training rows; give fewer folds (--cv) or more rows.")
    if counts.min() < job.cv:
        console.say(f"note: the rarest class has {counts.min()} training rows, so it is missing in some of the {job.cv} folds.")
    groups = job.cv if rows.groups is None else len(np.unique(rows.groups))
    if groups < job.cv:
        raise BadData(f"{rows.name}: {groups} groups in the training rows; give at most as many folds (--cv).")
    kind = StratifiedKFold if rows.groups is None else StratifiedGroupKFold
    return kind(job.cv, shuffle=True, random_state=job.running.seed)


def _write_cells(path: Path, record: TuneRecord) -> None:
    """results.csv: a line for each cell, kernels as the option --kernel takes them."""
    lines = []
    for cell in record.cells:
        setting = cell.setting
        line = {"cell": cell.number, "model": setting.model, "kernel": effective_kernel(setting)}
        line |= {} if (part := landmarks_of(setting)) is None else {"landmarks": part.get("landmarks", Nystroem().landmarks)}
        line |= {"expand": expansion_degree(setting), "lam": setting.lam, "C": cell.cost}
        line |= {} if setting.stop is None else {setting.stop.name: setting.stop.count}
        line |= {name: value for name, value in setting.options if isinstance(value, str | float | int)}
        line |= {record.measure.name: cell.value, "deviation": cell.deviation}
        line |= {"folds": sum(fold is not None for fold in cell.folds)}
        line |= {"support_vectors": cell.support_vectors, "gap": cell.gap}
        if cell.ended is not None:
            line |= {f"ended_{name}": value for name, value in vars(cell.ended).items()}
        lines.append(line)
    text = io.StringIO()
    writer = csv.DictWriter(text, dict.fromkeys(name for line in lines for name in line), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    write_text(path, text.getvalue())
