"""`train` where the rows do not fit into memory: a pass that looks, a pass that writes prepared rows, and passes that learn."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from pegasos.engine.kernels.landmarks import SAMPLE
from pegasos.learners.catalogue import ONE_VS_ONE, SDCA, make_learner
from pegasos.nystroem import Nystroem
from pegasos.program.jobs.clusters import cluster_of
from pegasos.program.jobs.large_tables import LargeTable
from pegasos.program.jobs.prepared_tables import count_errors, prepared, save_large
from pegasos.program.large.optimum import fit_to_files
from pegasos.program.large.preparation import fitted_pipeline
from pegasos.program.pipelines import scale_words
from pegasos.program.records.models import TrainRecord, learner_facts
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.survey import Survey
from pegasos.program.terminal import console, option_values
from pegasos.program.terminal.options import HERE, ClusterOptions, LearningOptions


@dataclass(frozen=True)
class LargeJob:
    """What `train` was asked for, on a table that is too large."""

    table: LargeTable
    model: str
    path: str
    learning: LearningOptions
    where: ClusterOptions = HERE

    def check(self) -> None:
        """Refuse what needs all rows at once, with the way out."""
        names = [model.name for model in SDCA.models]
        if self.model not in names or (self.learning.kernel and not self.learning.landmarks):
            ways = f"use -m {names[0]}, for a kernel with --landmarks"
            what = f"such a table is learned by {' and '.join(names)} without a kernel"
            raise BadData(
                f"{self.table.about}: {what}. Give it more --memory, or some of its files by a pattern, or {ways}."
            )
        if self.learning.multiclass == ONE_VS_ONE:
            raise BadData(
                f"{self.table.about}: --multiclass {ONE_VS_ONE} needs all rows in memory. Give it more --memory, "
                "or leave the option out."
            )
        self.table.check(self.learning)


def train_large(job: LargeJob) -> TrainRecord:
    """Train one model in bounded memory, save it, and answer what was found."""
    begin, table = time.perf_counter(), job.table
    job.check()
    console.say(f"{table.about}: it is learned in passes over a file of prepared rows")
    (landmarks,) = option_values.parse_landmarks(job.learning.landmarks)
    sample = None if landmarks is None else table.sample(SAMPLE)
    found = table.look(sample)
    learner, estimator, width = _made(
        job, found, landmarks, None if sample is None else table.sampled(found, sample)[0].X
    )
    console.say(scale_words(chosen_scale(found, job.learning.scale), job.learning.scale))
    with prepared(table, found, estimator, width) as rows:
        about = f"training {job.model} on {found.training} rows"
        with (
            cluster_of(job.where, table.running.memory) as cluster,
            console.working(about, "passes"),
        ):
            fit_to_files(learner, *rows.learned(0), cluster=cluster)
        with console.working("counting errors"):
            errors = count_errors(rows, learner, training=[rows.train], test=[rows.test])
        known = rows.known()
    seconds = round(time.perf_counter() - begin, 2)
    save_large(job.path, table, found, estimator, known, errors=errors, seconds=seconds)
    return TrainRecord(
        job.path, table.data, learner_facts(estimator, found.training), errors, seconds
    )


def _made(job: LargeJob, found: Survey, landmarks: int | None, sample: Any) -> tuple[Any, Any, int]:
    """The learner, its pipeline with all other steps fitted, and the number of features it gets."""
    running = job.table.running
    (expand,) = option_values.parse_expand(job.learning.expand)
    settings = option_values.single(
        option_values.grids(job.learning, found.training, found.classes)
    )
    kernel, nystroem = settings.pop("kernel", "gaussian"), None
    if landmarks is not None:
        nystroem = Nystroem(kernel, landmarks, memory=running.memory, random_state=running.seed)
    learner = make_learner(job.model, {**settings, "seed": running.seed, "memory": running.memory})
    scale = chosen_scale(found, job.learning.scale)
    return learner, *fitted_pipeline(found, learner, scale, expand, nystroem, sample)


def chosen_scale(found: Survey, scale: str) -> str:
    """Resolve "auto" for rows beyond memory, as `pipelines.chosen_scale` does in memory."""
    if scale != "auto":
        return scale
    return "normalize" if found.holds_pixels else "none" if found.sparse else "standardize"
