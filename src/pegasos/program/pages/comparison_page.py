"""The page about a comparison: advice, a picture of errors with their noise, and the table."""

from __future__ import annotations

from typing import Any

from pegasos.metrics import METRICS, Measure
from pegasos.program.pages.blocks import (
    Block,
    Chart,
    Facts,
    Section,
    Table,
    Text,
    Tile,
    Tiles,
    columns,
)
from pegasos.program.pages.vega import Spec, chart, either, mark, number, tooltip, word
from pegasos.program.pages.wording import count, duration, interval, score_text, value_text
from pegasos.program.records.comparisons import Comparison, Contender

_OURS, _THEIRS = "#d55e00", "#0072b2"


def build(found: Comparison) -> tuple[str, str, list[Section], dict[str, Any]]:
    """Title, subtitle, sections and the data of the scripts."""
    sections = [
        Section("summary", "Summary", [Text(found.advice), *_tiles(found), *_left_out(found)]),
        Section(
            "picture",
            "Who errs how much" if found.metric == "error" else f"Who has which {found.metric}",
            [_picture(found)],
        ),
        Section(
            "table", "All figures", [_table(found), Text(_REMARK, small=True), *_choices(found)]
        ),
    ]
    sizes = ", ".join(
        [count(found.rows, "row"), count(found.features, "feature"), count(found.classes, "class")]
    )
    subtitle = f"{found.data}, {sizes}; {splits_text(found)}, in {duration(found.seconds)}."
    return (
        f"{found.data}: learners compared",
        subtitle,
        sections,
        {"measure": found.measure.name, "least": found.measure.least},
    )


_REMARK = (
    "Ours are tuned within each training part; scikit-learn's have their default settings, and tuning might help them, too. All "
    "get the same numbers. Intervals and p are those of the corrected resampled t test (Nadeau and Bengio 2003): training parts "
    "overlap. p is of the paired test against the best, corrected for the number of tests (Holm). Times are medians by the clock "
    "with one thread, of a fit with all its tuning and of predicting 1,000 rows; sizes are those of the pickled pipelines."
)


def _tiles(found: Comparison) -> list[Block]:
    measure, tiles = found.measure, list[Tile]()
    ours = next((each for each in found.contenders if each.ours), None)
    theirs = next(
        (each for each in found.contenders if not each.ours and each.name != "guess"), None
    )
    guess = next((each for each in found.contenders if each.name == "guess"), None)
    for what, each in (
        ("Best of ours", ours),
        ("Best of scikit-learn's", theirs),
        ("Guessing", guess),
    ):
        if each is not None:
            told = (
                f"{each.words}; {_range(each, measure)}"
                if each is not guess
                else "always the same answer"
            )
            tiles.append((f"{what}: {measure.name}", score_text(each.value, measure), told, None))
    return [Tiles(tiles)] if tiles else []


def _left_out(found: Comparison) -> list[Block]:
    told = [f"{each.words} ({each.reason})" for each in found.left_out]
    return [Text(f"Not compared: {', '.join(told)}.", warning=True)] if told else []


def _picture(found: Comparison) -> Chart:
    """Means with their intervals; guessing only where it is near, for else all others would stand in a corner."""
    measure = found.measure
    form = ".2%" if measure.percent else ".4~g"
    drawn = [each for each in found.contenders if each.near or each.name != "guess"]
    rows = [
        {
            "who": each.words,
            "order": order,
            "ours": each.ours,
            "near": each.near,
            "value": each.value,
            "low": each.low,
            "high": each.high,
            "p": p_text(each),
        }
        for order, each in enumerate(drawn)
    ]
    title = f"{measure.name}, {'less' if measure.least else 'more'} is better"
    across = {
        "title": title,
        "scale": {"zero": False},
        "axis": {"format": ".0%" if measure.percent else "~g", "tickCount": 5},
    }
    hints = tooltip(
        who="learner",
        value=(measure.name, form),
        low=("95 % from", form),
        high=("to", form),
        p="p against the best",
    )
    place = word("who", "order", title=None, axis={"labelLimit": 150})
    look: Spec = {"y": place, "color": either("datum.ours", _OURS, _THEIRS), "tooltip": hints}
    bars = mark(
        "rule",
        {**look, "x": number("low", **across), "x2": {"field": "high"}},
        strokeWidth=2.5,
        opacity=1,
        aria=False,
    )
    inside = [
        {"test": "!datum.near", "value": "transparent"},
        {"test": "datum.ours", "value": _OURS},
    ]
    fill = {"condition": inside, "value": _THEIRS}
    points = mark(
        "point",
        {**look, "x": number("value", **across), "fill": fill},
        size=90,
        strokeWidth=2,
        opacity=1,
    )
    hidden = (
        ""
        if len(drawn) == len(found.contenders)
        else " Always guessing is far behind and not drawn."
    )
    caption = (
        "Points are means over splits, bars corrected 95 % intervals; orange are ours, blue scikit-learn's. Filled: the best, "
        f"and who is not behind it by more than noise. Bars may overlap where the paired test tells learners apart.{hidden}"
    )
    return Chart(
        "comparison",
        _upper(METRICS[found.metric].words),
        chart(rows, bars, points, height=28 * len(rows)),
        caption,
    )


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _table(found: Comparison) -> Table:
    rows = [
        {
            "who": each.words,
            "whose": "ours" if each.ours else "scikit-learn",
            **{name: getattr(each, name) for name in ("value", "low", "high", "behind", "note")},
            "p": None if each.p is None else _rounded(each.p),
            "fit": _rounded(each.fit_seconds),
            "predict": _rounded(1000 * each.predict_seconds),
            "size": _rounded(each.bytes / 1000),
        }
        for each in found.contenders
    ]
    figures = {"value": found.metric, "low": "95 % from", "high": "to", "behind": "behind the best"}
    costs = {"p": "p", "fit": "fit, s", "predict": "1,000 rows, ms", "size": "size, kB"}
    listed = columns("percent" if found.measure.percent else "number", **figures) + columns(
        "number", **costs
    )
    names, notes = columns("text", who="learner", whose="whose"), columns("text", note="note")
    return Table("comparison", "All figures", [*names, *listed, *notes], rows)


def _rounded(value: float) -> float | int:
    """Three digits, or all before the point."""
    return float(f"{value:.3g}") if value < 100 else round(value)


def _choices(found: Comparison) -> list[Block]:
    chosen = {
        f"{each.words}: chosen most often": each.choice for each in found.contenders if each.choice
    }
    return [Facts(chosen)] if chosen else []


def _range(each: Contender, measure: Measure) -> str:
    return (
        interval(each.low, each.high)
        if measure.percent
        else f"{value_text(each.low)} to {value_text(each.high)}"
    )


def splits_text(found: Comparison) -> str:
    """How rows were split.

    Where time was up, fewer repeats are there than were asked for.
    """
    of = "" if found.repeats == found.asked else f" of {found.asked}"
    whole = ", groups kept whole" if found.grouped else ""
    return f"{found.folds} folds, {count(found.repeats, 'repeat')}{of}{whole}"


def behind_text(each: Contender, measure: Measure) -> str:
    return "" if each.behind is None else score_text(each.behind, measure)


def p_text(each: Contender) -> str:
    return "best" if each.p is None else "<0.001" if each.p < 0.001 else f"{each.p:.3f}"


def seconds_text(seconds: float) -> str:
    """
    >>> seconds_text(0.00042), seconds_text(0.5), seconds_text(12.34)
    ('0.42 ms', '500 ms', '12.3 s')
    """
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def size_text(size: int) -> str:
    """
    >>> size_text(900), size_text(52_000), size_text(3_400_000)
    ('900 B', '52 kB', '3.4 MB')
    """
    return (
        f"{size} B"
        if size < 1000
        else f"{size / 1e3:.3g} kB"
        if size < 999_500
        else f"{size / 1e6:.3g} MB"
    )
