"""`train` where the rows do not fit into memory: a pass that looks, a pass that writes prepared rows, and passes that learn."""

from __future__ import annotations

import contextlib
import datetime
import shlex
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from pegasos.engine.plan import budget_bytes
from pegasos.learners.catalogue import SDCA, make_learner
from pegasos.program.jobs.datasets import USUAL_TEST_SIZE, read_options
from pegasos.program.jobs.model_cards import fingerprint
from pegasos.program.large.optimum import fit_to_file
from pegasos.program.large.preparation import fitted_pipeline
from pegasos.program.large.prepared import PreparedRows, workplace
from pegasos.program.large.survey import Draw, Survey, survey
from pegasos.program.modelfile import save
from pegasos.program.records.codec import to_json
from pegasos.program.records.models import CardData, CardSplit, ModelCard, TrainRecord, learner_facts
from pegasos.program.records.runs import ErrorCount
from pegasos.program.tables.column_tables import told_gaps
from pegasos.program.tables.dataset import NUMBER, TEXT, BadData, Column, Dataset
from pegasos.program.tables.labels import checked_weights, label_texts
from pegasos.program.tables.messages import listed, plain, size
from pegasos.program.tables.read_options import Outline
from pegasos.program.tables.reading import stream
from pegasos.program.tables.row_hashes import hash_rows
from pegasos.program.terminal import console, option_values
from pegasos.program.terminal.options import LearningOptions, ReadingOptions, RunningOptions

Array = np.ndarray[Any, Any]

#: Bytes that the hash of a row takes while hashes are sorted, written and checked; where they do not fit, none are kept.
_HASH_BYTES = 64
#: The share of the memory that rows take on their way through the steps.
_STEP_SHARE = 1 / 16


@dataclass(frozen=True)
class LargeJob:
    """What `train` was asked for, and what the first rows told."""

    data: str
    model: str
    path: str
    learning: LearningOptions
    reading: ReadingOptions
    running: RunningOptions
    outline: Outline

    @property
    def budget(self) -> int:
        return budget_bytes(self.running.memory)

    @property
    def share(self) -> float:
        return USUAL_TEST_SIZE if self.running.test_size is None else self.running.test_size

    @property
    def label(self) -> str:
        return self.outline.label or "y"

    def draw(self) -> Draw:
        return Draw(self.running.seed, self.share)

    def parts(self, columns: list[Column], frame: bool) -> Iterator[Dataset]:
        """The rows with these columns, and behind them the weight if there is one."""
        weight = [] if self.outline.weight is None else [Column(self.outline.weight, NUMBER)]
        options = replace(read_options(self.reading, self.running.memory, labelled=False), label=self.outline.label)
        chunk = int(min(8 * 2**20, max(2**12, self.budget // 32)))
        yield from stream(self.data, [*columns, *weight], options, frame=frame, chunk=chunk)


def check(job: LargeJob) -> None:
    """Refuse what needs all rows at once, with the way out."""
    about = f"{job.data} takes about {size(job.outline.bytes)} in memory, and {size(job.budget)} are allowed"
    ways = "Give it more --memory, or some of its files by a pattern"
    if job.model not in [model.name for model in SDCA.models] or job.learning.kernel:
        names = " and ".join(model.name for model in SDCA.models)
        raise BadData(f"{about}: such a table is learned by {names} without a kernel. {ways}, or use -m {SDCA.models[0].name}.")
    if job.learning.drop_outliers is not None:
        raise BadData(f"{about}: --drop-outliers needs all rows at once. {ways}.")
    if job.outline.group is not None:
        raise BadData(f"{about}: --group needs all rows at once. {ways}.")
    console.say(f"{about}: it is learned in passes over a file of prepared rows")


def train_large(job: LargeJob) -> TrainRecord:
    """Train one model in bounded memory, save it, and answer what was found."""
    begin = time.perf_counter()
    check(job)
    for note in job.outline.notes:
        console.say(note)
    with console.working(f"first pass over {job.data}"):
        found = survey(job.data, job.outline.columns, lambda: job.parts(job.outline.columns, True), job.draw(), job.label)
    _tell(job, found)
    (expand,) = option_values.parse_expand(job.learning.expand)
    classes = found.classes
    given = option_values.grids(job.learning, found.training, classes)
    settings = {**option_values.single(given), "seed": job.running.seed, "memory": job.running.memory}
    learner = make_learner(job.model, settings)
    console.say(f"scale: {'standardize' if job.learning.scale == 'auto' else job.learning.scale}")
    estimator, width = fitted_pipeline(found, learner, job.learning.scale, expand)
    with contextlib.ExitStack() as stack:
        folder, needed = stack.enter_context(workplace(found.rows, width))
        console.say(f"prepared rows: {size(needed)} as float32 in {plain(folder)}, removed at the end")
        files = [stack.enter_context(contextlib.closing(PreparedRows(folder, name, width))) for name in ("training", "test")]
        rows = _Prepared(job, found, estimator, classes, *files)
        with console.working(f"second pass over {job.data}: preparing rows"):
            rows.write()
        with console.working(f"training {job.model} on {found.training} rows", "passes"):
            fit_to_file(learner, rows.train, classes, rows.sums, rows.present)
        with console.working("counting errors"):
            errors = _errors(learner, {"training": rows.train, "test": rows.test})
    seconds = round(time.perf_counter() - begin, 2)
    _save(job, found, estimator, rows, errors, seconds)
    return TrainRecord(job.path, job.data, learner_facts(estimator, found.training), errors, seconds)


def _tell(job: LargeJob, found: Survey) -> None:
    """What a person should know of the rows; with --strict some of it is an error."""
    if found.empty:
        console.say(f"columns without any value are left out: {listed(found.empty)}")
    kinds = {column.name: column.kind for column in found.features}
    gaps = {name: found.gaps[name] for name, kind in kinds.items() if kind == NUMBER and found.gaps[name]}
    words = [name for name, kind in kinds.items() if kind == TEXT]
    for note in told_gaps(gaps, words, job.data, job.reading.strict):
        console.say(note)
    if gaps and not found.exact_medians:
        console.say("medians come from a sample of the training rows")
    test = found.rows - found.training
    classes = f"{len(found.trained)} classes"
    console.say(f"{job.data}: {found.rows} rows, {test} of them set aside, {len(found.features)} features, {classes}")


class _Prepared:
    """The second pass: rows through the fitted steps into files, and what is counted on the way."""

    def __init__(
        self, job: LargeJob, found: Survey, estimator: Any, classes: Array, train: PreparedRows, test: PreparedRows
    ) -> None:
        self.job, self.found, self.classes, self.train, self.test = job, found, classes, train, test
        self.steps = Pipeline(estimator.steps[:-1])
        learner = estimator.steps[-1][1]
        self.texts = label_texts(classes)
        counts = np.array([found.trained[text] for text in self.texts], dtype=np.float64)
        self.each = class_weights(learner.class_weight, classes, counts)
        self.sums, self.present = np.zeros(len(classes)), 0
        #: Hashes of all rows and which of them are training rows, as long as they fit.
        self.hashes: list[Array] | None = [] if _HASH_BYTES * found.rows <= job.budget else None
        self.tests: list[Array] = []

    def write(self) -> None:
        draw, features, frame = self.job.draw(), self.found.features, self.found.needs_frame
        seen, step = 0, max(64, int(_STEP_SHARE * self.job.budget) // (8 * self.train.width))
        for part in self.job.parts(features, frame):
            test = draw.test(len(part))
            X, weights = self._weighed(part, seen)
            texts = label_texts(part.labels)
            for start in range(0, len(part), step):
                some = slice(start, start + step)
                self._add(X[some], texts[some], weights[some], test[some])
            if self.hashes is not None:
                self.hashes.append(hash_rows(X, part.y))
                self.tests.append(test)
            seen += len(part)
        self.train.close()
        self.test.close()
        if seen != self.found.rows:
            raise BadData(f"{self.job.data} changed while it was read: {self.found.rows} rows at first, then {seen}.")
        if not self.sums.sum() > 0.0:
            raise BadData(f"{self.job.data}: all weights are 0.")

    def _weighed(self, part: Dataset, seen: int) -> tuple[Any, Array]:
        """Features and weights; the weight stands behind the features."""
        name = self.job.outline.weight
        if name is None:
            return part.X, np.ones(len(part))
        values = part.X[:, -1].to_numpy() if part.has_frame else part.X[:, -1]
        some = np.append(values, 1.0)  # a chunk may hold nothing but zeros
        weights = checked_weights(some, name, part.name, lambda row: f"row {seen + row + 1}")[:-1]
        return part.X[:, :-1], weights

    def _add(self, X: Any, texts: Array, weights: Array, test: Array) -> None:
        known = {text: code for code, text in enumerate(self.texts.tolist())}
        codes = np.array([known.get(text, -1) for text in texts.tolist()], dtype=np.int64)  # -1: only test rows have it
        with np.errstate(over="ignore"):
            rows = np.asarray(self.steps.transform(X)).astype(np.float32)
        if not np.isfinite(rows).all():
            raise BadData(f"{self.job.data}: prepared rows hold numbers beyond float32; scale them, or leave such columns out.")
        weights = weights * self.each[codes]
        train = ~test
        self.train.add(rows[train], codes[train], weights[train])
        self.test.add(rows[test], codes[test], weights[test])
        self.sums += np.bincount(codes[train], weights[train], minlength=len(self.sums))
        self.present += int((weights[train] > 0).sum())


def class_weights(class_weight: Any, classes: Array, counts: Array) -> Array:
    """The weight of each class, as scikit-learn means it."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        return np.asarray(counts.sum() / (len(classes) * counts))
    return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])


def _errors(learner: Any, parts: dict[str, PreparedRows]) -> dict[str, ErrorCount]:
    """Errors on rows in files, in as little memory."""
    found = {}
    for name, rows in parts.items():
        mistakes = 0
        for X, codes, _ in rows.parts():
            scores = learner.decision_function(X)
            guesses = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
            mistakes += int((guesses != codes).sum())
        if rows.count:
            found[name] = ErrorCount.counted(rows.count, mistakes)
    return found


def _save(job: LargeJob, found: Survey, estimator: Any, rows: _Prepared, errors: dict[str, ErrorCount], seconds: float) -> None:
    hashes = None if rows.hashes is None else np.concatenate(rows.hashes)
    if hashes is None:
        console.say("the model file keeps no hashes of so many rows: `run` cannot tell training rows from others")
    mark = "not kept" if hashes is None else fingerprint(hashes)
    test, kind = found.rows - found.training, "random, row by row" if job.share else "none set aside"
    card = ModelCard(
        columns=found.features,
        frame=found.needs_frame,
        label=job.outline.label,
        data=CardData(job.data, found.rows, mark),
        classes={str(label): found.trained[text] for label, text in zip(rows.classes, rows.texts.tolist(), strict=True)},
        split=CardSplit(kind, job.running.seed, job.share, found.training, test, found.training),
        errors=errors,
        seconds=seconds,
        command=shlex.join(["pegasos", *console.state.arguments]),
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )
    Path(job.path).parent.mkdir(parents=True, exist_ok=True)
    known = None if hashes is None else hashes[~np.concatenate(rows.tests)]
    save(estimator, job.path, card=to_json(card), rows=known)
