"""pegasos show."""

from __future__ import annotations

from typing import Any

from pegasos.program.terminal import console
from pegasos.program.terminal.options import ModelFile, OutputOptions

PLACE = 60
SHORT = "A model's card."


def command(model: ModelFile, talking: OutputOptions) -> None:
    """A model's card: what it is, what it was trained on, its errors, and the command that made it.

    \b
    Examples:
      pegasos show my.model
      pegasos show my.model --json
    """
    from pegasos.program.jobs import model_cards
    from pegasos.program.jobs.training import learner_facts

    found = model_cards.open_model(model)
    facts = {
        "learner": learner_facts(found.estimator, model_cards.learned_rows(found)),
        "steps": steps_of(found.estimator),
        "columns": [column.name for column in model_cards.columns_of(found, model)],
        "format": found.format,
        "versions": found.versions,
    }
    if talking.as_json:
        rest = {name: value for name, value in found.card.items() if name not in facts}
        console.show_json({"model": model, **facts, **rest})
    else:
        _show(model, {**facts, **model_cards.told(found)}, model_cards.errors_told(model_cards.told(found)))


def steps_of(estimator: Any) -> list[str]:
    """The steps of a pipeline from rows to learner, by their names."""
    if hasattr(estimator, "estimator_"):
        return [f"{type(estimator).__name__}({estimator.threshold:g})", *steps_of(estimator.estimator_)]
    if hasattr(estimator, "steps"):
        return [name for _, step in estimator.steps if step != "passthrough" for name in steps_of(step)]
    return [type(estimator).__name__]


def _show(model: str, facts: dict[str, Any], errors: dict[str, Any]) -> None:
    from pegasos.program.jobs.scoring import show_errors
    from pegasos.program.jobs.training import told_facts

    learner = facts["learner"]
    console.heading(f"{model}: {learner['class']}")
    lines = {**told_facts(learner), "pipeline": " -> ".join(facts["steps"])}
    columns = facts["columns"]
    lines["features"] = f"{len(columns)}: {', '.join(columns[:8])}{' ...' if len(columns) > 8 else ''}"
    if "classes" in facts:
        counts = [f"{label} ({count})" for label, count in facts["classes"].items()]
        lines["classes"] = f"{len(counts)}: {', '.join(counts[:10])}{' ...' if len(counts) > 10 else ''}"
    if "data" in facts:
        lines["data"] = f"{facts['data']['name']}, {facts['data']['rows']} rows, fingerprint {facts['data']['fingerprint'][:12]}"
    if "split" in facts:
        split = facts["split"]
        dropped = split["train_rows"] - split["learned_rows"]
        without = f" without {dropped} outliers" if dropped else ""
        lines["rows"] = (
            f"{split['train_rows']} training{without}, {split['test_rows']} test ({split['kind']}, seed {split['seed']})"
        )
    lines["made"] = f"{facts.get('created', 'unknown')} by {facts.get('command', 'Python')}"
    lines["versions"] = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    for name, value in lines.items():
        console.show(f"  {name}: {value}")
    if errors:
        console.show()
        show_errors(errors)
