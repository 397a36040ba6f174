"""Show the card of a saved model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegasos.program.terminal import console
from pegasos.program.terminal.options import ModelFile

if TYPE_CHECKING:
    from pegasos.program.records.fitted import ModelCard


def command(model: ModelFile) -> dict[str, Any]:
    """Show how a model was made: pipeline, data, errors, command.

    Examples
    --------
      pegasos show my.model
      pegasos show my.model --json
    """
    from pegasos.program.records.fitted import learner_facts
    from pegasos.program.saved_models import SavedModel, steps_of

    saved = SavedModel.open(model)
    rows = (saved.card.learned_rows, saved.card.searched_rows)
    return {
        "model": model,
        "learner": learner_facts(saved.model.estimator, *rows),
        "steps": steps_of(saved.model.estimator),
        "columns": [column.name for column in saved.columns],
        "format": saved.model.format,
        "versions": saved.model.versions,
        "card": saved.model.card,
    }


def show(found: dict[str, Any]) -> None:
    """Print the card of a model."""
    from pegasos.program.records.fitted import ModelCard
    from pegasos.program.views import show_errors, show_learner

    card = ModelCard.read(found["card"])
    console.heading(f"{found['model']}: {found['learner'].learner}")
    show_learner(found["learner"])
    classes = [f"{label} ({rows})" for label, rows in card.classes.items()]
    versions = [f"{name} {version}" for name, version in found["versions"].items()]
    lines = {
        "pipeline": " -> ".join(found["steps"]),
        "features": _some(found["columns"], 8),
        "classes": _some(classes, 10) if classes else None,
        **_training_lines(card),
        "made": f"{card.created or 'unknown'} by {card.command or 'Python'}",
        "versions": ", ".join(versions),
    }
    console.show(*(f"  {name}: {text}" for name, text in lines.items() if text is not None))
    if card.errors:
        console.show()
        show_errors(card.errors)


def _training_lines(card: ModelCard) -> dict[str, str]:
    """Return what the card says of data, split and decisions."""
    data, split, calibration, threshold = card.data, card.split, card.calibration, card.threshold
    lines = {}
    if data is not None:
        lines["data"] = f"{data.name}, {data.rows} rows, fingerprint {data.fingerprint[:12]}"
    if split is not None:
        excluded = (card.refitted_rows or split.train_rows) - split.learned_rows
        outliers = f" ({excluded} outliers excluded)" if excluded else ""
        kind = f"{split.kind}, seed {split.seed}"
        lines["rows"] = f"{split.train_rows} training{outliers}, {split.test_rows} test ({kind})"
    if card.refitted_rows is not None:
        lines["refitted"] = (
            f"on all {card.refitted_rows} rows, after the errors below were measured"
        )
    if calibration is not None:
        own = calibration == "own"
        text = "of the model itself" if own else f"{calibration} calibration of out-of-fold scores"
        lines["probabilities"] = text
    if threshold is not None:
        lines["threshold"] = f"{threshold.value:.4g}, chosen for {threshold.aim}"
    return lines


def _some(names: list[str], most: int) -> str:
    return f"{len(names)}: {', '.join(names[:most])}{' ...' if len(names) > most else ''}"
