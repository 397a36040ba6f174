"""Records of fitted models: facts on the learner, and the card in a model file."""

from __future__ import annotations

import contextlib
import typing
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from pegasos.estimates import Estimate, Figure
from pegasos.learners.catalogue import model_of
from pegasos.program.records.codec import OtherVersion, from_json
from pegasos.program.records.runs import ErrorCount
from pegasos.program.tables.dataset import Column
from pegasos.search.anatomy import anatomy
from pegasos.search.decisions import Threshold


@dataclass(frozen=True)
class LearnerFacts:
    """Facts on a fitted learner; `cost` is SVC's C, None if the number of rows is unknown."""

    learner: str
    model: str
    loss: str | None
    kernel: str
    lam: float | None
    cost: float | None
    rows: int | None
    #: Number of steps or epochs, as given by `unit`.
    count: int
    unit: str
    support_vectors: int | None
    gap: float | None


def learner_facts(
    estimator: Any, rows: int | None = None, cost_rows: int | None = None
) -> LearnerFacts:
    """Return the facts on a fitted learner, alone or in a pipeline, trained on `rows` rows.

    C is that of `cost_rows` rows, by default the same.
    """
    cost_rows = rows if cost_rows is None else cost_rows
    from pegasos.nystroem import Nystroem

    parts = anatomy(estimator, fitted=True)
    learner: Any = parts.learner
    maps = [stage.part for stage in parts.stages if isinstance(stage.part, Nystroem)]
    mapped = f"{maps[0].kernel_!r}, {len(maps[0].weights_)} landmarks" if maps else None
    declaration, model = learner.declaration, model_of(learner)
    linear = learner.kernel is None
    lam = float(learner.lam_) if hasattr(learner, "lam_") else None
    gap = learner.gap_ if "gap_" in declaration.fitted_numbers else np.nan
    return LearnerFacts(
        learner=declaration.learner,
        model=model.name,
        loss=model.fixed.get("loss"),
        kernel=mapped or ("linear" if linear else repr(learner.kernel_)),
        lam=lam,
        cost=None if lam is None or cost_rows is None else 1 / (lam * cost_rows),
        rows=rows,
        count=int(learner.n_iter_),
        unit=declaration.unit,
        support_vectors=None if linear else len(learner.support_),
        gap=float(gap) if np.isfinite(gap) else None,
    )


@dataclass(frozen=True)
class CardData:
    """Training data of a model; the fingerprint does not depend on the order of rows."""

    name: str
    rows: int
    fingerprint: str


@dataclass(frozen=True)
class CardSplit:
    """Train-test split; `learned_rows` are the training rows left by the outlier filter."""

    kind: str
    seed: int
    test_size: float | None
    train_rows: int
    test_rows: int
    learned_rows: int


@dataclass(frozen=True)
class ModelCard:
    """Provenance of a model, stored in its file by train and tune."""

    columns: list[Column] | None = None
    #: Whether rows are a table with column names, as encoders and imputers require.
    frame: bool = False
    label: str | None = None
    image: tuple[int, int] | None = None
    data: CardData | None = None
    classes: dict[str, int] = field(default_factory=dict)
    split: CardSplit | None = None
    errors: dict[str, ErrorCount] = field(default_factory=dict)
    #: Number of rows of a refit after the evaluation, test rows included.
    refitted_rows: int | None = None
    #: Of a search: cross-validated value of the best setting, metric, positive class, costs,
    #: figures with baselines, and the error estimate corrected for selection bias.
    value: float | None = None
    metric: str | None = None
    positive: str | None = None
    costs: list[tuple[str, str, float]] = field(default_factory=list)
    figures: dict[str, Figure] = field(default_factory=dict)
    honest: Estimate | None = None
    #: Calibration method, and the threshold with its criterion.
    calibration: str | None = None
    threshold: Threshold | None = None
    command: str | None = None
    created: str | None = None
    seconds: float | None = None

    @classmethod
    def read(cls, card: dict[str, Any]) -> ModelCard:
        """Read the card of a model file.

        Entries that do not have the declared types are skipped: other programs may have written
        them.
        """
        hints, found = typing.get_type_hints(cls), {}
        for each in fields(cls):
            with contextlib.suppress(OtherVersion):
                if card.get(each.name) is not None:
                    found[each.name] = from_json(hints[each.name], card[each.name], "the card")
        return cls(**found)

    @property
    def learned_rows(self) -> int | None:
        """Number of rows the learner was fitted to, or None if it is unknown."""
        return None if self.split is None else max(0, self.split.learned_rows) or None

    @property
    def searched_rows(self) -> int | None:
        """Number of rows on which a search chose λ, before the refit on all rows.

        They relate λ to C, so that C is the same wherever a run shows it.
        """
        learned = self.learned_rows
        if learned is None or self.refitted_rows is None or self.split is None:
            return learned
        return round(learned * self.split.train_rows / self.refitted_rows)
