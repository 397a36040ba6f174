"""Counted errors and other metrics with their intervals, as tiles and as tables."""

from __future__ import annotations

from pegasos.metrics import Measure
from pegasos.program.pages.blocks import Block, Table, Tile, columns
from pegasos.program.pages.values import interval, percent
from pegasos.program.records.runs import ErrorCount
from pegasos.search.estimates import Estimate, Figure


def honest_tile(honest: Estimate | None, baseline: float | None) -> list[Tile]:
    """Return the bias-corrected error of the choice; the bar is its share of the baseline's."""
    if honest is None:
        return []
    words = f"{interval(honest.low, honest.high)}; {honest.method}"
    share = _share(honest.error, baseline)
    return [("Expected error on new rows", percent(honest.error), words, share)]


def error_tile(name: str, each: ErrorCount, rows: str = "rows") -> Tile:
    """Return a counted error."""
    words = [f"{each.mistakes} of {each.rows:,} {rows}", interval(each.low, each.high)]
    words += [] if each.baseline is None else [f"baseline: {percent(each.baseline)}"]
    remark = "; ".join(filter(None, words))
    return name, percent(each.error), remark, _share(each.error or 0.0, each.baseline)


def _share(error: float, baseline: float | None) -> float | None:
    return None if not baseline else min(1.0, error / baseline)


def error_table(errors: dict[str, ErrorCount], title: str, folded: bool = False) -> list[Block]:
    """Return counted errors with their intervals."""
    rows = [{"of": name, **vars(each)} for name, each in errors.items() if each.error is not None]
    listed = columns("text", of="") + columns("number", rows="rows", mistakes="mistakes")
    listed += columns("percent", error="error", low="95 % from", high="to", baseline="baseline")
    return [Table("errors", title, listed, rows, folded=folded)] if rows else []


def figure_table(figures: dict[str, Figure], measure: Measure, positive: str | None) -> list[Block]:
    """Return the metric on each kind of rows; the error has a table of its own."""
    if measure.name == "error" or not figures:
        return []
    rows = [
        {"of": name, **vars(each), "verdict": "" if each.better else "within noise"}
        for name, each in figures.items()
    ]
    form, named = "percent" if measure.percent else "number", {"value": measure.name}
    listed = columns("text", of="") + columns("number", rows="rows")
    listed += columns(form, **named, low="95 % from", high="to", baseline="baseline")
    listed += columns("text", verdict="difference from the baseline")
    of = "" if positive is None else f" of {positive}"
    return [Table("figures", f"{measure.name}{of}", listed, rows)]
