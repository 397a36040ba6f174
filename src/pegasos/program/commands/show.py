"""Show the card of a saved model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pegasos.program.terminal import console
from pegasos.program.terminal.options import ModelFile

if TYPE_CHECKING:
    from pegasos.program.records.models import ModelCard, ShownModel


def command(model: ModelFile) -> ShownModel:
    """Show how a model was made: pipeline, data, errors, command.

    Examples
    --------
      pegasos show my.model
      pegasos show my.model --json
    """
    from pegasos.program.records.models import ShownModel, learner_facts
    from pegasos.program.saved_models import SavedModel, steps_of

    saved = SavedModel.open(model)
    rows = (saved.card.learned_rows, saved.card.searched_rows)
    return ShownModel(
        model=model,
        learner=learner_facts(saved.model.estimator, *rows),
        steps=steps_of(saved.model.estimator),
        columns=[column.name for column in saved.columns],
        format=saved.model.format,
        versions=saved.model.versions,
        card=saved.model.card,
    )


def show(found: ShownModel) -> None:
    """Print the card of a model."""
    from pegasos.program.records.models import ModelCard
    from pegasos.program.views import show_errors, show_learner

    card = ModelCard.read(found.card)
    console.heading(f"{found.model}: {found.learner.learner}")
    show_learner(found.learner)
    console.show(*(f"  {name}: {value}" for name, value in _lines(found, card)))
    if card.errors:
        console.show()
        show_errors(card.errors)


def _lines(found: ShownModel, card: ModelCard) -> Iterator[tuple[str, str]]:
    yield "pipeline", " -> ".join(found.steps)
    yield "features", _some(found.columns, 8)
    if card.classes:
        yield "classes", _some([f"{label} ({rows})" for label, rows in card.classes.items()], 10)
    if (data := card.data) is not None:
        yield "data", f"{data.name}, {data.rows} rows, fingerprint {data.fingerprint[:12]}"
    if (split := card.split) is not None:
        excluded = (card.refitted_rows or split.train_rows) - split.learned_rows
        training = (
            f"{split.train_rows} training{f' ({excluded} outliers excluded)' * bool(excluded)}"
        )
        yield "rows", f"{training}, {split.test_rows} test ({split.kind}, seed {split.seed})"
    if card.refitted_rows is not None:
        yield "refitted", f"on all {card.refitted_rows} rows, after the errors below were measured"
    if (kind := card.calibration) is not None:
        yield (
            "probabilities",
            "of the model itself" if kind == "own" else f"{kind} calibration of out-of-fold scores",
        )
    if (threshold := card.threshold) is not None:
        yield "threshold", f"{threshold.value:.4g}, chosen for {threshold.aim}"
    yield "made", f"{card.created or 'unknown'} by {card.command or 'Python'}"
    yield "versions", ", ".join(f"{name} {version}" for name, version in found.versions.items())


def _some(names: list[str], most: int) -> str:
    return f"{len(names)}: {', '.join(names[:most])}{' ...' if len(names) > most else ''}"
