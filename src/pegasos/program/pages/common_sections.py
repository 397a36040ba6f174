"""Sections that pages of searches and of models share: errors, the model, how to make it again."""

from __future__ import annotations

import datetime
import platform
from importlib.metadata import version
from typing import Any

from pegasos.program.pages.blocks import Block, Code, Facts, Section, Table, Tile, columns
from pegasos.program.pages.data_section import data_blocks
from pegasos.program.pages.fit_section import learning_blocks, weight_blocks
from pegasos.program.pages.labeled_rows import LabeledRows
from pegasos.program.pages.plane_section import boundary_blocks, map_blocks
from pegasos.program.pages.values import duration, interval, percent
from pegasos.program.records.runs import ErrorCount
from pegasos.program.terminal.reproduction import python_lines
from pegasos.search.estimates import Estimate
from pegasos.search.settings import Setting


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
    """Return an error; the bar is its share of the error of the baseline."""
    words = [interval(each.low, each.high)]
    if isinstance(each, Estimate):
        words.append(each.method)
    else:
        words, baseline = [f"{each.mistakes} of {each.rows:,} {rows}", *words], each.baseline
        words += [] if baseline is None else [f"baseline: {percent(baseline)}"]
    share = min(1.0, (each.error or 0.0) / baseline) if baseline else None
    return name, percent(each.error), "; ".join(filter(None, words)), share


def honest_tile(honest: Estimate | None, baseline: float | None) -> list[Tile]:
    """Return the bias-corrected error of the choice, if it is known."""
    return [] if honest is None else [error_tile("Expected error on new rows", honest, baseline)]


def error_table(errors: dict[str, ErrorCount], title: str, folded: bool = False) -> list[Block]:
    """Return counted errors with their intervals."""
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
    """Return the command, the model in Python, and the versions, by default those at work."""
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
