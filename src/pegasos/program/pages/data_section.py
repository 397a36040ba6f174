"""Section about the data: rows of each class, statistics, correlations and pairs of features."""

from __future__ import annotations

import base64
import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.program.pages import vega
from pegasos.program.pages.blocks import Block, Chart, Gallery, Section, Table, Text, columns
from pegasos.program.pages.labeled_rows import STATISTICS_ROWS, LabeledRows, brief, dense, sample
from pegasos.program.pages.page import Page
from pegasos.program.pages.vega import Rows, Spec, chart, either, mark, number, tooltip, word
from pegasos.program.pages.wording import count
from pegasos.program.tables.dataset import DATES, Dataset, take
from pegasos.program.tables.statistics import describe

#: Features of statistics, of correlations and of scatter plots, and rows of these.
FEATURES, CORRELATED, PAIRED, PAIR_ROWS = 40, 16, 3, 500
#: Mean images of at most this many classes, from this many rows; images above 32 x 32 are reduced.
MEANS, MEAN_ROWS, PIXELS = 20, 20_000, 1024
#: Distance from the mean, in std, at which boxes are cut.
_CUT = 6.0


def data_page(dataset: Dataset) -> Page:
    """Return the page of a table with labels, before anything is trained."""
    size = f"{count(len(dataset), 'row')}, {count(dataset.X.shape[1], 'feature')}"
    blocks = data_blocks(LabeledRows(dataset))
    return Page(dataset.name, f"{size}.", [Section("rows", "The data", blocks)])


def data_blocks(rows: LabeledRows) -> list[Block]:
    """Return blocks with the classes and the statistics of the features."""
    ranked, is_image = rows.separation, rows.dataset.image is not None
    blocks: list[Block] = [class_chart(rows.names, rows.counts)]
    if is_image:
        blocks.append(_class_means(rows))
    shown = sample(len(rows), STATISTICS_ROWS)
    some = rows.dataset if len(shown) == len(rows) else take(rows.dataset, shown)
    found = describe(replace(some, y=None))  # with labels it would search for leaks
    listed = []
    for j in sorted(ranked.order[:FEATURES]):
        known = {name: brief(value, 5) for name, value in vars(found.columns[j]).items()}
        listed.append({**known, "between": round(max(0.0, ranked.shares.get(j, 0.0)), 4)})
    head = columns("text", name="feature", kind="kind")
    head += columns("number", mean="mean", std="std", min="min", quartile1="25 %", median="median")
    head += columns("number", quartile3="75 %", max="max", missing="missing")
    head += columns("number", outliers="|z| >= 3", distinct="categories")
    head += columns("percent", between="variance between classes")
    title = f"Statistics of {'pixels' if is_image else 'features'}"
    table = Table("features", title, head, listed, folded=is_image)
    boxes = [each for each in listed if each["std"]]
    if is_image or not boxes:
        blocks.append(table)
    else:
        caption = f"Boxes: quartiles; lines: minimum and maximum (cut at ±{_CUT:g} std). "
        caption += "Color: share of the variance between classes."
        blocks.append(Chart("features", "Features", _boxes(boxes), caption, table))
    if not is_image:
        blocks += [*_correlations(rows), *_pairs(rows)]
    notes = list(found.notes)
    if len(shown) < len(rows):
        notes.append(f"Statistics come from a sample of {len(shown):,} of {len(rows):,} rows.")
    if len(ranked.order) > FEATURES:
        what = "those whose means differ most between classes"
        notes.append(f"{FEATURES} of {len(ranked.order):,} features are shown: {what}.")
    return [*blocks, *(Text(note, small=True) for note in notes)]


def class_chart(names: list[str], counts: list[int]) -> Chart:
    """Return a chart of the number of rows of each class."""
    total, title = sum(counts) or 1, "Rows of each class"
    rows: Rows = [
        {"class": name, "rows": many, "share": many / total, "order": place}
        for place, (name, many) in enumerate(zip(names, counts, strict=True))
    ]
    hints = tooltip(**{"class": "class"}, rows=("rows", ","), share=("share", ".1%"))
    height = (20 if len(rows) <= 30 else 11) * len(rows)
    spec = vega.bars(rows, "class", "rows", hints, ",", height)
    return Chart.with_rows("classes", title, spec)


def _boxes(listed: Rows) -> Spec:
    """Return box plots of features: quartiles as distances from the means, in std."""
    names = ("mean", "std", "min", "quartile1", "median", "quartile3", "max")
    places = zip(("low", "first", "middle", "third", "high"), names[2:], strict=True)
    rows, ends = [], list(places)
    for order, each in enumerate(listed):
        row = {**each, "order": order}
        for name, own in ends:
            z = ((each[own] or 0.0) - (each["mean"] or 0.0)) / each["std"]
            row[name] = round(max(-_CUT, min(_CUT, z)), 3)
        rows.append(row)
    y = vega.names("name", "order", 150)
    title = "distance from the mean, in std"
    low = number("low", title=title, axis={"tickCount": 7, "format": "~g"})
    first, middle = (number(name, title=title) for name in ("first", "middle"))
    legend: Spec = {"title": "between classes", "format": ".0%", "orient": "top"}
    legend |= {"gradientLength": 140, "gradientThickness": 8}
    # From gray to orange: features that separate classes stand out, on light and on dark.
    scale = {"range": ["#8a94a0", "#e08600"], "interpolate": "lab"}
    color = number("between", scale=scale, legend=legend)
    hints = tooltip(name="feature", **{name: (name, ".4~g") for name in names})
    layers = [
        mark("rule", x=low, x2={"field": "high"}, y=y),
        mark("bar", x=first, x2={"field": "third"}, y=y, color=color, tooltip=hints, size=9),
        mark("tick", x=middle, y=y, thickness=2, size=11, color="#fff"),
    ]
    return chart(rows, *layers, height=17 * len(rows))


def _correlations(found: LabeledRows) -> list[Block]:
    names, values = found.separation.leading(CORRELATED)
    if len(names) < 2:
        return []
    with np.errstate(invalid="ignore", divide="ignore"):
        matrix = np.nan_to_num(np.corrcoef(values, rowvar=False)).round(2)
    rows: Rows = [
        {"one": one, "two": two, "a": a, "b": b, "r": float(matrix[a, b])}
        for a, one in enumerate(names)
        for b, two in enumerate(names)
        if a != b
    ]
    total = len(found.separation.names)
    caption = "" if len(names) == total else f"{len(names)} of {total} features."
    places: Spec = {"x": vega.names("one", "a", 110, labelAngle=-60)}
    places["y"] = vega.names("two", "b", 110)
    looks = vega.signed("r", 1.0)
    places["tooltip"] = tooltip(one="feature", two="and", r=("r", ".2f"))
    ink, label = either("abs(datum.r) > 0.7", "#fff", "currentColor"), number("r", format=".1f")
    step = [44 if len(names) <= 12 else 28]
    more: Spec = {"width": step, "height": step, "transform": looks["transform"]}
    spec = vega.heatmap(rows, places, looks["encoding"], ink, label, **more)
    return [Chart.with_rows("correlations", "Correlations of features", spec, caption)]


def _pairs(rows: LabeledRows) -> list[Block]:
    """Return scatter plots of pairs of the features that separate classes best."""
    (features, X), classes = rows.separation.leading(PAIRED), len(rows.names)
    shown = sample(len(X), PAIR_ROWS)
    X, codes = X[shown], rows.separation.codes[shown].tolist()
    axis, scale = {"labelExpr": vega.TICK, "tickCount": 5}, {"zero": False, "nice": True}
    looks: Spec = {"color": vega.class_color(classes)}
    if looks["color"]["legend"] is not None:
        looks["color"]["legend"] |= {"orient": "top", "columns": 5}
    if classes <= len(vega.CLASSES):
        looks["shape"] = word("class", "order", legend=None)
    charts: list[Block] = []
    for a, b in itertools.combinations(range(len(features)), 2):
        points: Rows = [
            {"x": x, "y": y, "class": rows.names[code], "order": code}
            for (x, y), code in zip(brief(X[:, [a, b]].tolist()), codes, strict=True)
        ]
        x, y = features[a], features[b]
        places = {"x": number("x", title=x, axis=axis, scale=scale)}
        places["y"] = number("y", title=y, axis=axis, scale=scale)
        hints = tooltip(**{"class": "class"}, x=(x, ".4~g"), y=(y, ".4~g"))
        dots = mark("point", looks, places, tooltip=hints, filled=True, size=26, opacity=0.7)
        spec = chart(points, dots, width=260, height=240)
        charts.append(Chart(f"pair {len(charts) + 1}", f"{y} against {x}", spec, layout="fit"))
    return charts


# -- images and values of rows ---------------------------------------------------------------------


class Images:
    """Rows that are images, as base64 of gray bytes with a height and width."""

    def __init__(self, dataset: Dataset) -> None:
        assert dataset.image is not None
        self._whole = height, width = dataset.image
        steps = range(1, height + width)
        self._step = next(k for k in steps if (height // k) * (width // k) <= PIXELS)
        self.shape = -(-int(height) // self._step), -(-int(width) // self._step)
        some = dense(dataset.X[:: max(1, len(dataset) // 2000)])
        self._low, high = float(some.min(initial=0.0)), float(some.max(initial=1.0))
        self._unit = 255 / ((high - self._low) or 1.0)

    def picture(self, values: Any) -> str:
        """Return the image of one row."""
        gray = np.asarray(values, dtype=np.float64).reshape(self._whole)
        scaled = self._unit * (gray[:: self._step, :: self._step] - self._low)
        bytes_ = np.clip(np.nan_to_num(scaled), 0, 255).round().astype(np.uint8).tobytes()
        return base64.b64encode(bytes_).decode()


def _class_means(rows: LabeledRows) -> Gallery:
    """Return the mean image of each of the first classes, from a sample."""
    shown, images = sample(len(rows), MEAN_ROWS), Images(rows.dataset)
    X, _ = rows.numbers(shown)
    pictures = []
    for code, name in enumerate(rows.names[:MEANS]):
        mine = X[rows.codes[shown] == code]
        mean = mine.mean(axis=0) if len(mine) else np.zeros(X.shape[1])
        pictures.append((images.picture(mean), f"class {name}"))
    return Gallery("Mean image of each class", images.shape, pictures)


def row_values(dataset: Dataset, row: int, features: list[int]) -> list[Any]:
    """Return the values of a row in some columns, as a table shows them."""
    from pegasos.program.tables.cells import day

    found: list[Any] = []
    for j in features:
        value = dataset.X[row, j]
        value = value.item() if isinstance(value, np.generic) else value
        if value is not None and dataset.columns and dataset.columns[j].kind in DATES:
            value = day(value)
        found.append(value[:60] if isinstance(value, str) else brief(value))
    return found
