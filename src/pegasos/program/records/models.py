"""A fitted model in numbers and words: its learner, and the card in its file."""

from __future__ import annotations

import contextlib
import typing
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from pegasos.learners.catalogue import model_of
from pegasos.program.records.codec import OtherVersion, from_json
from pegasos.program.records.runs import ErrorCount
from pegasos.program.tables.dataset import Column
from pegasos.search.anatomy import anatomy
from pegasos.search.decisions import Threshold
from pegasos.search.estimates import Estimate
from pegasos.search.figures import Figure


@dataclass(frozen=True)
class LearnerFacts:
    """What a person wants to know of a fitted learner; `cost` is SVC's C, None where the number of rows is unknown."""

    learner: str
    model: str
    loss: str | None
    kernel: str
    lam: float | None
    cost: float | None
    rows: int | None
    #: How long it learned: so many steps, or epochs.
    count: int
    unit: str
    support_vectors: int | None
    gap: float | None


def learner_facts(estimator: Any, rows: int | None = None) -> LearnerFacts:
    """The facts of a fitted learner, alone or in a pipeline; `rows` are those that it learned from."""
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
        cost=None if lam is None or rows is None else 1 / (lam * rows),
        rows=rows,
        count=int(learner.n_iter_),
        unit=declaration.unit,
        support_vectors=None if linear else len(learner.support_),
        gap=float(gap) if np.isfinite(gap) else None,
    )


@dataclass(frozen=True)
class TrainRecord:
    """What `train` found; `model` is the file, `data` the name of the data, `figures` the errors beside guessing."""

    model: str
    data: str
    learner: LearnerFacts
    errors: dict[str, ErrorCount]
    seconds: float
    figures: dict[str, Figure] = field(default_factory=dict)


@dataclass(frozen=True)
class CardData:
    """The data that a model came from; the fingerprint is one text for its rows in any order."""

    name: str
    rows: int
    fingerprint: str


@dataclass(frozen=True)
class CardSplit:
    """How rows were divided; `learned_rows` are the training rows that no outlier filter dropped."""

    kind: str
    seed: int
    test_size: float | None
    train_rows: int
    test_rows: int
    learned_rows: int


@dataclass(frozen=True)
class ModelCard:
    """What a model file says about where its model came from, written by train and tune, read by run, show and pages."""

    columns: list[Column] | None = None
    #: Whether rows are a table with names, because words or gaps are encoded.
    frame: bool = False
    label: str | None = None
    image: tuple[int, int] | None = None
    data: CardData | None = None
    classes: dict[str, int] = field(default_factory=dict)
    split: CardSplit | None = None
    errors: dict[str, ErrorCount] = field(default_factory=dict)
    #: The model was refitted on so many rows after its errors had been counted, test rows among them.
    refitted_rows: int | None = None
    #: Of a choice among settings: its cross-validated value of the metric, which metric, the class that it looks at, costs,
    #: figures beside what guessing gives, and the estimate of the error that corrects for the choice.
    value: float | None = None
    metric: str | None = None
    positive: str | None = None
    costs: list[tuple[str, str, float]] = field(default_factory=list)
    figures: dict[str, Figure] = field(default_factory=dict)
    honest: Estimate | None = None
    #: How its scores became probabilities, and what its threshold was chosen for.
    calibration: str | None = None
    threshold: Threshold | None = None
    command: str | None = None
    created: str | None = None
    seconds: float | None = None

    @classmethod
    def read(cls, card: dict[str, Any]) -> ModelCard:
        """The card of a model file. Python may have written it, and anything into it: what does not fit is left out."""
        hints, found = typing.get_type_hints(cls), {}
        for each in fields(cls):
            with contextlib.suppress(OtherVersion):
                if card.get(each.name) is not None:
                    found[each.name] = from_json(hints[each.name], card[each.name], "the card")
        return cls(**found)

    @property
    def learned_rows(self) -> int | None:
        """From how many rows the learner learned, if that is known."""
        return (
            self.split.learned_rows
            if self.split is not None and self.split.learned_rows > 0
            else None
        )


@dataclass(frozen=True)
class ShownModel:
    """What `show` answers; the card is as the file has it."""

    model: str
    learner: LearnerFacts
    steps: list[str]
    columns: list[str]
    format: int
    versions: dict[str, str]
    card: dict[str, Any]
