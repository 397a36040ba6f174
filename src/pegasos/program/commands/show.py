from __future__ import annotations

from typing import TYPE_CHECKING

from pegasos.program.terminal import console
from pegasos.program.terminal.options import ModelFile, OutputOptions

if TYPE_CHECKING:
    from pegasos.program.records.models import ModelCard, ShownModel

PLACE = 60
SHORT = "A model's card."


def command(model: ModelFile, talking: OutputOptions) -> None:
    """A model's card: what it is, what it was trained on, its errors, and the command that made it.

    \b
    Examples:
      pegasos show my.model
      pegasos show my.model --json
    """
    from pegasos.program.records.models import ShownModel, learner_facts
    from pegasos.program.saved_models import SavedModel, steps_of
    from pegasos.program.views import give

    saved = SavedModel.open(model)
    found = ShownModel(
        model=model,
        learner=learner_facts(saved.model.estimator, saved.card.learned_rows),
        steps=steps_of(saved.model.estimator),
        columns=[column.name for column in saved.columns],
        format=saved.model.format,
        versions=saved.model.versions,
        card=saved.model.card,
    )
    give(found, talking.as_json, lambda: _show(found, saved.card))


def _show(found: ShownModel, card: ModelCard) -> None:
    from pegasos.program.views import show_errors, show_learner

    console.heading(f"{found.model}: {found.learner.learner}")
    show_learner(found.learner)
    lines = {"pipeline": " -> ".join(found.steps), "features": _some(found.columns, 8)}
    if card.classes:
        lines["classes"] = _some(
            [f"{label} ({count})" for label, count in card.classes.items()], 10
        )
    if card.data is not None:
        lines["data"] = (
            f"{card.data.name}, {card.data.rows} rows, fingerprint {card.data.fingerprint[:12]}"
        )
    if card.split is not None:
        dropped = (card.refitted_rows or card.split.train_rows) - card.split.learned_rows
        training = (
            f"{card.split.train_rows} training{f' without {dropped} outliers' if dropped else ''}"
        )
        lines["rows"] = (
            f"{training}, {card.split.test_rows} test ({card.split.kind}, seed {card.split.seed})"
        )
    if card.refitted_rows is not None:
        lines["refitted"] = (
            f"on all {card.refitted_rows} rows, after the errors below were measured with the training rows alone"
        )
    if card.calibration is not None:
        own = card.calibration == "own"
        lines["probabilities"] = (
            "its own" if own else f"by {card.calibration} calibration on out-of-fold scores"
        )
    if card.threshold is not None:
        lines["threshold"] = f"{card.threshold.value:.4g}, chosen for {card.threshold.aim}"
    lines["made"] = f"{card.created or 'unknown'} by {card.command or 'Python'}"
    lines["versions"] = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    console.show(*(f"  {name}: {value}" for name, value in lines.items()))
    if card.errors:
        console.show()
        show_errors(card.errors)


def _some(names: list[str], most: int) -> str:
    return f"{len(names)}: {', '.join(names[:most])}{' ...' if len(names) > most else ''}"
