"""Section about the data: rows of each class, statistics, correlations and pairs of features."""

from __future__ import annotations

import base64
import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pegasos.program.pages import vega
from pegasos.program.pages.blocks import Block, Chart, Gallery, Section, Table, Text, columns
from pegasos.program.pages.labeled_rows import (
    STATISTICS_ROWS,
    LabeledRows,
    Separation,
    brief,
    dense,
    sample,
)
from pegasos.program.pages.page import Page
from pegasos.program.pages.values import count
from pegasos.program.pages.vega import Rows, Spec, chart, either, mark, number, tooltip, word
from pegasos.program.tables.dataset import DATES, Dataset, take
from pegasos.program.tables.statistics import describe

Array = np.ndarray[Any, Any]

#: Features of statistics, of correlations and of scatter plots, and rows of these.
FEATURES, CORRELATED, PAIRED, PAIR_ROWS = 40, 16, 3, 500
#: Mean images of at most so many classes, from so many rows; images above 32 x 32 are made smaller.
MEANS, MEAN_ROWS, PIXELS = 20, 20_000, 1024
#: Distance from the mean, in std, at which boxes are cut.
_CUT = 6.0
_COLUMNS = columns("text", name="feature", kind="kind")
_COLUMNS += columns("number", mean="mean", std="std", min="min", quartile1="25 %", median="median")
_COLUMNS += columns("number", quartile3="75 %", max="max", missing="missing")
_COLUMNS += columns("number", outliers="|z| >= 3", distinct="categories")
_COLUMNS += columns("percent", between="variance between classes")


def data_blocks(rows: LabeledRows) -> list[Block]:
    """Return the classes, and statistics of the features."""
    ranked = rows.separation
    blocks: list[Block] = [class_chart(rows.names, rows.counts)]
    images = Images(rows) if rows.dataset.image is not None else None
    if images is not None:
        named = zip(images.class_means(), rows.names, strict=False)
        pictures = [(each, f"class {name}") for each, name in named]
        blocks.append(Gallery("Mean image of each class", images.shape, pictures))
    shown = sample(len(rows), STATISTICS_ROWS)
    found = describe(rows.dataset if len(shown) == len(rows) else take(rows.dataset, shown))
    listed = []
    for j in sorted(ranked.order[:FEATURES]):
        share = round(max(0.0, ranked.shares.get(j, 0.0)), 4)
        known = {name: brief(value, 5) for name, value in vars(found.columns[j]).items()}
        listed.append({**known, "between": share})
    title = f"Statistics of {'pixels' if images else 'features'}"
    table = Table("features", title, _COLUMNS, listed, folded=images is not None)
    boxes = [_box(each, order) for order, each in enumerate(listed) if each["std"]]
    if images is not None or not boxes:
        blocks.append(table)
    else:
        caption = f"Boxes: quartiles; lines: minimum and maximum (cut at ±{_CUT:g} std). "
        caption += "Color: share of the variance between classes."
        blocks.append(Chart("features", "Features", _boxes(boxes), caption, table))
    if images is None:
        blocks += [*_correlations(ranked), *_pairs(ranked, rows.names)]
    notes = list(found.notes)
    if len(shown) < len(rows):
        notes.append(f"Statistics come from a sample of {len(shown):,} of {len(rows):,} rows.")
    if len(ranked.order) > FEATURES:
        what = "those whose means differ most between classes"
        notes.append(f"{FEATURES} of {len(ranked.order):,} features are shown: {what}.")
    return [*blocks, *(Text(note, small=True) for note in notes)]


def data_page(dataset: Dataset) -> Page:
    """Return the page of a table with labels, before anything is trained."""
    size = f"{count(len(dataset), 'row')}, {count(dataset.X.shape[1], 'feature')}"
    blocks = data_blocks(LabeledRows.of(dataset))
    return Page(dataset.name, f"{size}.", [Section("rows", "The data", blocks)])


def class_chart(names: list[str], counts: list[int]) -> Chart:
    """Return the number of rows of each class."""
    total, title = sum(counts) or 1, "Rows of each class"
    rows: Rows = [
        {"class": name, "rows": many, "share": many / total, "order": place}
        for place, (name, many) in enumerate(zip(names, counts, strict=True))
    ]
    hints = tooltip(**{"class": "class"}, rows=("rows", ","), share=("share", ".1%"))
    height = (20 if len(rows) <= 30 else 11) * len(rows)
    spec = vega.bars(rows, "class", "rows", hints, ",", height)
    return Chart.with_rows("classes", title, spec)


def _box(each: dict[str, Any], order: int) -> dict[str, Any]:
    """Return the quartiles of a feature as distances from its mean, in std."""
    values = {"low": "min", "first": "quartile1", "middle": "median"}
    values |= {"third": "quartile3", "high": "max"}
    mean, std = each["mean"] or 0.0, each["std"]
    scores = {name: ((each[own] or 0.0) - mean) / std for name, own in values.items()}
    places = {name: round(max(-_CUT, min(_CUT, z)), 3) for name, z in scores.items()}
    return {**each, "order": order, **places}


def _boxes(rows: Rows) -> Spec:
    y, title = {"y": _names("name", "order", 150)}, "distance from the mean, in std"
    legend: Spec = {"title": "between classes", "format": ".0%", "orient": "top"}
    legend |= {"gradientLength": 140, "gradientThickness": 8}
    # From gray to orange: features that separate classes stand out, on light and on dark.
    color = number(
        "between", scale={"range": ["#8a94a0", "#e08600"], "interpolate": "lab"}, legend=legend
    )
    names = ("mean", "std", "min", "quartile1", "median", "quartile3", "max")
    hints = tooltip(name="feature", **{name: (name, ".4~g") for name in names})
    low = number("low", title=title, axis={"tickCount": 7, "format": "~g"})
    first, middle = (number(name, title=title) for name in ("first", "middle"))
    box = {"x": first, "x2": {"field": "third"}, **y, "color": color, "tooltip": hints}
    layers = [
        mark("rule", {"x": low, "x2": {"field": "high"}, **y}),
        mark("bar", box, size=9),
        mark("tick", {"x": middle, **y}, thickness=2, size=11, color="#fff"),
    ]
    return chart(rows, *layers, height=17 * len(rows))


def _correlations(ranked: Separation) -> list[Block]:
    features = ranked.leading(CORRELATED)
    if len(features) < 2:
        return []
    with np.errstate(invalid="ignore", divide="ignore"):
        matrix = np.nan_to_num(np.corrcoef(ranked.values(features), rowvar=False)).round(2)
    names = [ranked.names[j] for j in features]
    rows: Rows = [
        {"one": one, "two": two, "a": a, "b": b, "r": float(matrix[a, b])}
        for a, one in enumerate(names)
        for b, two in enumerate(names)
        if a != b
    ]
    total = len(ranked.names)
    caption = "" if len(names) == total else f"{len(names)} of {total} features."
    places: Spec = {"x": _names("one", "a", 110, labelAngle=-60), "y": _names("two", "b", 110)}
    looks = vega.signed("r", 1.0)
    places["tooltip"] = tooltip(one="feature", two="and", r=("r", ".2f"))
    ink, label = either("abs(datum.r) > 0.7", "#fff", "currentColor"), number("r", format=".1f")
    step = [44 if len(names) <= 12 else 28]
    more: Spec = {"width": step, "height": step, "transform": looks["transform"]}
    spec = vega.heatmap(rows, places, looks["encoding"], ink, label, **more)
    return [Chart.with_rows("correlations", "Correlations of features", spec, caption)]


def _pairs(ranked: Separation, names: list[str]) -> list[Block]:
    """Return scatter plots of pairs of the features that separate classes best."""
    features, shown = ranked.leading(PAIRED), sample(len(ranked.X), PAIR_ROWS)
    X, codes, classes = ranked.values(features)[shown], ranked.codes[shown].tolist(), len(names)
    axis, scale = {"labelExpr": vega.TICK, "tickCount": 5}, {"zero": False, "nice": True}
    color = vega.class_color(classes)
    if color["legend"] is not None:
        color["legend"] |= {"orient": "top", "columns": 5}
    shape = {"shape": word("class", "order", legend=None)} if classes <= len(vega.CLASSES) else {}
    charts: list[Block] = []
    for a, b in itertools.combinations(range(len(features)), 2):
        points: Rows = [
            {"x": x, "y": y, "class": names[code], "order": code}
            for (x, y), code in zip(brief(X[:, [a, b]].tolist()), codes, strict=True)
        ]
        x, y = (ranked.names[features[k]] for k in (a, b))
        looks: Spec = {"color": color, **shape}
        looks["x"] = number("x", title=x, axis=axis, scale=scale)
        looks["y"] = number("y", title=y, axis=axis, scale=scale)
        looks["tooltip"] = tooltip(**{"class": "class"}, x=(x, ".4~g"), y=(y, ".4~g"))
        dots = mark("point", looks, filled=True, size=26, opacity=0.7)
        spec = chart(points, dots, width=260, height=240)
        charts.append(Chart(f"pair {len(charts) + 1}", f"{y} against {x}", spec, layout="fit"))
    return charts


def _names(field: str, order: str, limit: int, **axis: Any) -> Spec:
    """Return an axis of texts without a title, cut at a number of pixels."""
    return word(field, order, title=None, axis={"labelLimit": limit, **axis})


# -- images and values of rows ---------------------------------------------------------------------


@dataclass
class Images:
    """Rows that are images, as base64 of gray bytes with a height and width."""

    rows: LabeledRows

    def __post_init__(self) -> None:
        dataset = self.rows.dataset
        assert dataset.image is not None
        height, width = dataset.image
        steps = range(1, height + width)
        self._step = next(k for k in steps if (height // k) * (width // k) <= PIXELS)
        self.shape = -(-int(height) // self._step), -(-int(width) // self._step)

    @cached_property
    def _range(self) -> tuple[float, float]:
        some = dense(self.rows.dataset.X[:: max(1, len(self.rows) // 2000)])
        return float(some.min(initial=0.0)), float(some.max(initial=1.0))

    def picture(self, values: Any) -> str:
        """Return the image of one row."""
        low, high = self._range
        gray = np.asarray(values, dtype=np.float64).reshape(self.rows.dataset.image)
        scaled = 255 * (gray[:: self._step, :: self._step] - low) / ((high - low) or 1.0)
        bytes_ = np.clip(np.nan_to_num(scaled), 0, 255).round().astype(np.uint8).tobytes()
        return base64.b64encode(bytes_).decode()

    def class_means(self) -> list[str]:
        """Return the mean image of each of the first classes, from a sample."""
        shown = sample(len(self.rows), MEAN_ROWS)
        X, _ = self.rows.numbers(shown)
        codes, found = self.rows.codes[shown], []
        for code in range(min(len(self.rows.names), MEANS)):
            mine = X[codes == code]
            found.append(self.picture(mine.mean(axis=0) if len(mine) else np.zeros(X.shape[1])))
        return found


def row_values(dataset: Dataset, row: int, features: list[int]) -> list[Any]:
    """Return the values of a row in some columns, as a table shows them."""
    from pegasos.program.tables.cells import day

    found: list[Any] = []
    for j in features:
        value = dataset.X[row, j]
        value = value.item() if isinstance(value, np.generic) else value
        if value is not None and dataset.columns and dataset.columns[j].kind in DATES:
            found.append(day(value))
        else:
            is_plain = value is None or isinstance(value, int | float)
            found.append(brief(value) if is_plain else str(value)[:60])
    return found
