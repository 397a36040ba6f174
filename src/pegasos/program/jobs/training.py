"""The work behind `train`, and what tune shares with it: from options to a fitted pipeline, its errors, and its file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from pegasos.learners.catalogue import make_learner
from pegasos.metrics import PROBABILITIES, Answers, Metric, answers
from pegasos.nystroem import Nystroem
from pegasos.program.datasets import Split, check_source, load_or_outline, split_rows
from pegasos.program.jobs.clusters import check_cluster, check_learning, cluster_of, fit_on_cluster
from pegasos.program.modelfile import save
from pegasos.program.pipelines import (
    check_expansion,
    chosen_scale,
    learned_rows,
    make_recipe,
    scale_words,
)
from pegasos.program.records.codec import to_json
from pegasos.program.records.models import TrainRecord, learner_facts
from pegasos.program.records.runs import ErrorCount, as_text
from pegasos.program.saved_models import make_card
from pegasos.program.scoring import probabilities_of, scores_of
from pegasos.program.tables.dataset import Dataset, take
from pegasos.program.tables.named_sets import SETS
from pegasos.program.tables.read_options import Outline
from pegasos.program.tables.shards import is_pattern
from pegasos.program.terminal import console, option_values, outputs
from pegasos.program.terminal.options import (
    HERE,
    ClusterOptions,
    LearningOptions,
    ReadingOptions,
    RunningOptions,
)
from pegasos.search.anatomy import anatomy
from pegasos.search.estimates import Figure, measured


def train(
    data: str,
    model: str,
    path: str,
    learning: LearningOptions,
    reading: ReadingOptions,
    running: RunningOptions,
    where: ClusterOptions = HERE,
) -> TrainRecord:
    """Train one model, save it, and answer what was found."""
    begin = time.perf_counter()
    option_values.single(option_values.check([model], learning, running.memory))
    check_source(data)
    outputs.check_file(path, data, what="a model")
    if where.asked:
        check_learning(model, learning)
        check_cluster(where)
    dataset = load_or_outline(data, reading, running.memory)
    if isinstance(dataset, Outline):
        from pegasos.program.jobs.large_tables import LargeTable
        from pegasos.program.jobs.large_training import LargeJob, train_large

        return train_large(
            LargeJob(LargeTable(data, reading, running, dataset), model, path, learning, where)
        )
    split = split_rows(dataset, running.test_size, running.seed)
    rows = take(dataset, split.train)
    (expand,) = option_values.parse_expand(learning.expand)
    check_expansion(rows, expand)
    given = option_values.grids(
        learning, learned_rows(rows, learning.drop_outliers), np.unique(rows.labels)
    )
    settings, (landmarks,), nystroem = (
        option_values.single(given),
        option_values.parse_landmarks(learning.landmarks),
        None,
    )
    if landmarks is not None:
        kernel = settings.pop("kernel", "gaussian")
        nystroem = Nystroem(kernel, landmarks, memory=running.memory, random_state=running.seed)
    learner = make_learner(model, {**settings, "seed": running.seed, "memory": running.memory})
    recipe = make_recipe(rows, learner, learning.scale, expand, learning.drop_outliers, nystroem)
    console.say(scale_words(chosen_scale(rows, learning.scale), learning.scale))
    with (
        cluster_of(where, running.memory) as cluster,
        console.working(f"training {model} on {len(rows)} rows"),
    ):
        if cluster is None:
            recipe.estimator.fit(rows.X, rows.y, **recipe.weights_of(rows))
        else:
            fit_on_cluster(recipe.estimator, rows, cluster)
    errors, figures = judged(recipe.estimator, dataset, split, Metric("error"))
    seconds = round(time.perf_counter() - begin, 2)
    learned = save_model(recipe.estimator, path, dataset, split, errors=errors, seconds=seconds)
    return TrainRecord(
        path, dataset.name, learner_facts(recipe.estimator, learned), errors, seconds, figures
    )


def judged(
    estimator: Any, dataset: Dataset, split: Split, metric: Metric | None = None
) -> tuple[dict[str, ErrorCount], dict[str, Figure]]:
    """Errors on the rows that were learned from and on those that were not, and figures of a metric if there is one."""
    errors, figures = {}, {}
    classes, counts = np.unique(dataset.labels[split.train], return_counts=True)
    usual = classes[counts.argmax()]
    for name, rows in (("training", split.train), ("test", split.test)):
        if len(rows):
            with console.working(f"predicting {len(rows)} {name} rows"):
                found = ask(estimator, take(dataset, rows))
            errors[name] = ErrorCount.of(dataset.labels[rows], found.classes[found.labels], usual)
            if metric is not None and (
                metric.kind.needs != PROBABILITIES or found.probabilities is not None
            ):
                known = counts[np.searchsorted(classes, found.classes).clip(max=len(classes) - 1)]
                figures[name] = as_text(
                    measured(metric, found, np.where(np.isin(found.classes, classes), known, 0))
                )
    return errors, figures


def ask(estimator: Any, rows: Dataset) -> Answers:
    """Everything that a fitted model says about rows, by one computation of its scores."""
    learner: Any = anatomy(estimator, fitted=True).learner
    scores = scores_of(estimator, rows)
    p = probabilities_of(estimator, rows, scores)
    return answers(estimator.classes_, rows.labels, learner.labels_of(scores), scores, p)


def save_model(
    estimator: Any, path: str, dataset: Dataset, split: Split, known: Any = None, **found: Any
) -> int:
    """Write the model with a card of what was found and hashes of the rows it knows, which are the training rows unless others
    are given; answers from how many it learned.
    """
    known = split.train if known is None else known
    learned = learned_rows(take(dataset, known), anatomy(estimator).outlier_threshold)
    card, hashes = make_card(dataset, split, known, learned, **found)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    save(estimator, path, card=to_json(card), rows=hashes)
    return learned


def stem(data: str) -> str:
    """A name for what comes from this data: that of the set, of the file without its endings, or of the files' folder."""
    if data == "-":
        return "stdin"
    if is_pattern(data):
        data = next(
            (part for part in reversed(Path(data).parts[:-1]) if not is_pattern(part)), "data"
        )
    return data if data in SETS else Path(data).name.split(".")[0] or "data"
