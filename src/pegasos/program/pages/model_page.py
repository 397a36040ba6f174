"""Page of a model: its parameters, errors and predictions; sections that searches share."""

from __future__ import annotations

import datetime
import platform
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from pegasos.estimates import Estimate
from pegasos.explaining import Explanation
from pegasos.program.modelfile import read_model
from pegasos.program.pages.blocks import (
    Block,
    Code,
    Facts,
    Section,
    Table,
    Text,
    Tile,
    Tiles,
    columns,
)
from pegasos.program.pages.data_section import class_chart, data_blocks
from pegasos.program.pages.decision_section import decision_blocks, model_rates
from pegasos.program.pages.explanation_section import explain_rows, explanation_blocks
from pegasos.program.pages.fit_section import learning_blocks, weight_blocks
from pegasos.program.pages.labeled_rows import LabeledRows, as_dataset
from pegasos.program.pages.page import Page
from pegasos.program.pages.panel_section import model_panel
from pegasos.program.pages.plane_section import boundary_blocks, map_blocks
from pegasos.program.pages.wording import cost_text, count, duration, kernel_text, number_text
from pegasos.program.records.fitted import ModelCard, learner_facts
from pegasos.program.records.runs import ErrorCount
from pegasos.program.scoring import scores_of
from pegasos.program.tables.dataset import Dataset, take
from pegasos.program.tables.row_hashes import hash_rows, split_known
from pegasos.program.terminal.console import percent
from pegasos.program.terminal.reproduction import next_commands, python_lines
from pegasos.search.anatomy import anatomy
from pegasos.search.settings import Setting


def report_file(path: Path, X: Any, y: Any, facts: dict[str, Any]) -> Page:
    """Return the page of a model file, from its card, and on rows if there are any."""
    file = read_model(path)
    card = ModelCard.read(file.card)
    names = file.feature_names if card.columns is None else [each.name for each in card.columns]
    name = path.name if card.data is None else card.data.name
    known: dict[str, Any] = {"name": name, "columns": names, "image": card.image}
    known |= {"command": card.command, "seconds": card.seconds, "positive": card.positive}
    given = {**known, **facts}
    dataset, positions, kind = as_dataset(X, y, given), None, "these rows"
    if dataset is not None and dataset.y is not None and file.rows is not None:
        seen = split_known(hash_rows(dataset.X, dataset.y), file.rows)
        new = np.flatnonzero(~seen)
        if not len(new):
            kind = "these training rows"
        else:  # mistakes on training rows say little
            dataset, positions = take(dataset, new), new
            kind = "the new ones of these rows" if seen.any() else "these new rows"
    created = {} if card.created is None else {"date": card.created[:10]}
    given |= {"card": card, "file": path.name, "versions": {**created, **file.versions}}
    return report_model(file.estimator, dataset, positions=positions, kind=kind, **given)


def report_model(
    estimator: Any,
    dataset: Dataset | None,
    *,
    rows: Any = None,
    positions: Any = None,
    kind: str = "these rows",
    card: ModelCard | None = None,
    file: str | None = None,
    explanation: Explanation | None = None,
    tsne: bool = True,
    source: str | None = None,
    command: str | None = None,
    seconds: float | None = None,
    positive: str | None = None,
    versions: dict[str, str] | None = None,
) -> Page:
    """Return the page of a fitted learner or pipeline, evaluated on labeled rows if there are any.

    `rows` are those of the data set in the form that the model takes, `positions` their places in
    the source, and `kind` their name in sentences. `positive` is the text of the positive class.
    """
    card = ModelCard() if card is None else card
    learner: Any = anatomy(estimator, fitted=True).learner
    found = learner_facts(estimator, card.learned_rows, card.searched_rows)
    kernel = kernel_text(None if learner.kernel is None else learner.kernel_)
    refit = "" if card.refitted_rows is None else " rows, before the refit on all rows"
    errors = {f"{name}{refit}": each for name, each in card.errors.items()}
    if dataset is not None and dataset.y is not None:
        labeled = LabeledRows(dataset, positions, estimator.classes_)
        explanation = explanation or explain_rows(estimator, dataset, rows)
        errors[kind], wrong, middle = _evaluated(estimator, labeled, rows, kind, positive)
        columns = Section("explanation", "Which columns matter", explanation_blocks(explanation))
        middle += [columns, *model_sections(estimator, labeled, wrong, tsne)]
    else:
        middle = model_sections(estimator, None, None, tsne)
        text = "No confusion matrix: no rows were given. Use pegasos.report(model, X, y)."
        about: list[Block] = [Text(text, small=True)]
        if card.classes:
            about = [class_chart(list(card.classes), list(card.classes.values()))]
        middle.append(Section("rows", "The data", about))
    facts = {
        "model": found.model,
        "class": found.learner,
        "kernel": kernel,
        "λ": None if found.lam is None else number_text(found.lam) + cost_text(found.cost),
        found.unit: found.count,
        "support vectors": found.support_vectors,
        "relative duality gap": None if found.gap is None else number_text(found.gap),
    }
    summary = _tiles(errors, card)
    if file is not None:
        summary.append(Code("Next steps", "\n".join(next_commands(file, source))))
    summary += [Facts(facts), *error_table(errors, "Errors", folded=True)]
    seed = learner.random_state if card.split is None else card.split.seed
    seed = seed if isinstance(seed, int) else None
    again = reproduction_blocks(Setting.of(estimator), command, seed, seconds, versions)
    sections = [
        Section("summary", "Summary", summary),
        *middle,
        Section("again", "Reproduce this model", again),
    ]
    name = "a model"
    if dataset is not None:
        name = f"evaluated on {dataset.name}, {count(len(dataset), 'row')}"
    elif card.data is not None:
        name = f"trained on {card.data.name}, {count(card.data.rows, 'row')}"
    took = f", fitted in {duration(seconds)}" if seconds else ""
    subtitle = f"{found.learner}, {kernel}{took}; {name}."
    return Page(file or "A model of pegasos", subtitle, sections)


def _evaluated(
    estimator: Any, labeled: LabeledRows, rows: Any, kind: str, positive: str | None
) -> tuple[ErrorCount, Any, list[Section]]:
    """Return the error on labeled rows, which of them are wrong, and sections on both."""
    learner: Any = anatomy(estimator, fitted=True).learner
    dataset, codes, classes = labeled.dataset, labeled.codes, estimator.classes_
    found = scores_of(estimator, dataset if rows is None else replace(dataset, X=rows))
    predicted = labeled.encode(learner.labels_of(found))
    same = labeled.encode(classes).tolist() == list(range(len(labeled.names)))
    scores = found.astype(np.float64).reshape(len(codes), -1) if same else None
    rates, wrong = None, predicted != codes
    if found.ndim == 1 and len(np.unique(codes)) == 2 and same:
        named = None if positive is None else classes.tolist()[labeled.names.index(positive)]
        rates = model_rates(found, codes, classes, learner.threshold_, named)
    baseline = float(np.mean(codes != np.bincount(codes).argmax()))
    decisions = decision_blocks(None, None, rates, f"Counted on {kind}.")
    sections = [
        Section("cell", "Confusion matrix and mistakes", model_panel(labeled, predicted, scores)),
        Section("decisions", "Thresholds", decisions),
    ]
    return ErrorCount.counted(len(codes), int(wrong.sum()), baseline), wrong, sections


def _tiles(errors: dict[str, ErrorCount], card: ModelCard) -> list[Block]:
    """Return tiles with the errors on test and training rows, training rows last."""
    known = {name: each for name, each in errors.items() if each.error is not None}
    baseline = next((each.baseline for each in known.values() if each.baseline is not None), None)
    tiles = []
    if card.honest is not None:
        tiles.append(error_tile("Expected error on new rows", card.honest, baseline))
    for name in sorted(known, key=lambda name: "training" in name):
        heading = f"Error on {name}" if "rows" in name else f"Error on {name} rows"
        tiles.append(error_tile(heading, known[name]))
    return [Tiles(tiles)] if tiles else []


# -- sections that pages of searches share --------------------------------------------------------


def model_sections(model: Any, rows: LabeledRows | None, wrong: Any, tsne: bool) -> list[Section]:
    """Return sections about a model, if there is one, and about rows, if there are some.

    `wrong` marks misclassified rows; `tsne` draws the map by t-SNE, which takes seconds.
    """
    sections = []
    if model is not None:
        sections.append(Section("weights", "Weights", weight_blocks(model)))
        sections.append(Section("learning", "Convergence", learning_blocks(model)))
    if model is not None and rows is not None:
        sections.append(Section("boundary", "Decision boundary", boundary_blocks(model, rows)))
    if rows is not None:
        sections.append(Section("map", "Map of the rows", map_blocks(rows, wrong, tsne)))
        sections.append(Section("rows", "The data", data_blocks(rows)))
    return sections


def error_tile(
    name: str, each: ErrorCount | Estimate, baseline: float | None = None, rows: str = "rows"
) -> Tile:
    """Return a tile with an error; its bar is the share of the baseline's error."""
    words = [f"95 %: {percent(each.low)} to {percent(each.high)}"]
    if isinstance(each, Estimate):
        words.append(each.method)
    else:
        words, baseline = [f"{each.mistakes} of {each.rows:,} {rows}", *words], each.baseline
        words += [] if baseline is None else [f"baseline: {percent(baseline)}"]
    share = min(1.0, (each.error or 0.0) / baseline) if baseline else None
    return name, percent(each.error), "; ".join(words), share


def error_table(errors: dict[str, ErrorCount], title: str, folded: bool = False) -> list[Block]:
    """Return a table of errors with their intervals."""
    rows = [{"of": name, **vars(each)} for name, each in errors.items() if each.error is not None]
    listed = columns("text", of="") + columns("number", rows="rows", mistakes="mistakes")
    listed += columns("percent", error="error", low="95 % from", high="to", baseline="baseline")
    return [Table("errors", title, listed, rows, folded=folded)] if rows else []


def reproduction_blocks(
    setting: Setting,
    command: str | None,
    seed: int | None,
    seconds: float | None,
    versions: dict[str, str] | None = None,
) -> list[Block]:
    """Return the command, the model in Python, and the versions, by default the installed ones."""
    import threadpoolctl

    from pegasos import __version__

    if versions is None:
        threads = max((each["num_threads"] for each in threadpoolctl.threadpool_info()), default=1)
        libraries = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")}
        versions = {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "pegasos": __version__,
            "python": platform.python_version(),
            **libraries,
            "machine": f"{platform.system()} {platform.machine()}, {threads} threads",
        }
    blocks: list[Block] = [] if command is None else [Code("The command of this run", command)]
    blocks.append(Code("The model in Python", python_lines(setting, seed)))
    return [*blocks, Facts({"seed": seed, "duration": duration(seconds), **versions})]
