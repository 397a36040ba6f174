"""The charts of data and of one model: classes, features, correlations, maps, boundaries, curves, times."""

from __future__ import annotations

from typing import Any

import altair as alt

from pegasos.program.pages.grid_charts import CLASSES, TICK, Spec, base, by_order, spec_of

Rows = list[dict[str, Any]]


def class_color(count: int, legend: bool = True) -> Any:
    """Colours of classes: a palette for the colour-blind as far as it reaches, else an ordered scale."""
    scale = alt.Scale(range=CLASSES[:count]) if count <= len(CLASSES) else alt.Scale(scheme="viridis")
    shown = alt.Legend(title="class", labelLimit=160, columns=1, symbolOpacity=1) if legend and count <= 30 else None
    return alt.Color("class:N", sort=by_order("class", "order"), scale=scale, legend=shown)


def counts(rows: Rows) -> Spec:
    """Rows of each class as bars."""
    down = alt.Y("class:N", sort=by_order("class", "order"), title=None, axis=alt.Axis(labelLimit=160))
    across = alt.X("rows:Q", title="rows", axis=alt.Axis(labelExpr=TICK, tickCount=5))
    tooltip = [alt.Tooltip("class:N"), alt.Tooltip("rows:Q", format=","), alt.Tooltip("share:Q", format=".1%")]
    bars = base().mark_bar(color="#4c78a8").encode(x=across, y=down, tooltip=tooltip)
    text = base().mark_text(align="left", dx=4, aria=False).encode(x=across, y=down, text=alt.Text("rows:Q", format=","))
    step = 20 if len(rows) <= 30 else 11
    return spec_of(alt.layer(bars, text).properties(width="container", height=step * len(rows)), rows)


def features(rows: Rows) -> Spec:
    """Quartiles, least and greatest value of each feature, in deviations from its mean (cut at ±6)."""
    down = alt.Y("name:N", sort=by_order("name", "order"), title=None, axis=alt.Axis(labelLimit=150))
    names = ("mean", "std", "min", "quartile1", "median", "quartile3", "max")
    tooltip = [alt.Tooltip("name:N", title="feature"), *(alt.Tooltip(f"{name}:Q", format=".4~g") for name in names)]
    title = "deviations from the mean"
    whisker = base().mark_rule().encode(x=alt.X("low:Q", title=title), x2="high:Q", y=down)
    box = (
        base()
        .mark_bar(size=9)
        .encode(
            x=alt.X("first:Q", title=title),
            x2="third:Q",
            y=down,
            color=alt.Color(
                "between:Q",
                scale=alt.Scale(scheme="viridis", reverse=True),
                legend=alt.Legend(title="between classes", format=".0%", orient="top", gradientLength=140, gradientThickness=8),
            ),
            tooltip=tooltip,
        )
    )
    middle = base().mark_tick(thickness=2, size=11, color="#fff").encode(x=alt.X("middle:Q", title=title), y=down)
    return spec_of(alt.layer(whisker, box, middle).properties(width="container", height=17 * len(rows)), rows)


def correlations(rows: Rows, count: int) -> Spec:
    """r of pairs of features, blue below zero and orange above."""
    across = alt.X("one:N", sort=by_order("one", "a"), title=None, axis=alt.Axis(labelAngle=-60, labelLimit=110))
    down = alt.Y("two:N", sort=by_order("two", "b"), title=None, axis=alt.Axis(labelLimit=110))
    color = alt.Color(
        "r:Q",
        scale=alt.Scale(scheme="blueorange", domain=[-1, 1]),
        legend=alt.Legend(title="r", gradientLength=120, gradientThickness=10),
    )
    tooltip = [alt.Tooltip("one:N", title="feature"), alt.Tooltip("two:N", title="and"), alt.Tooltip("r:Q", format=".2f")]
    step = 30 if count <= 12 else 24
    rect = base().mark_rect().encode(x=across, y=down, color=color, tooltip=tooltip)
    ink = alt.condition("abs(datum.r) > 0.6", alt.value("#fff"), alt.value("#111"))
    text = base().mark_text(fontSize=9, aria=False).encode(x=across, y=down, text=alt.Text("r:Q", format=".1f"), color=ink)
    return spec_of(alt.layer(rect, text).properties(width=alt.Step(step), height=alt.Step(step)), rows)


def _places(titles: tuple[str, str] | None) -> tuple[Any, Any]:
    scale = alt.Scale(zero=False, nice=False, padding=8)
    bare = alt.Axis(labels=False, ticks=False, grid=False, domain=False)
    if titles is None:
        return alt.X("x:Q", title=None, scale=scale, axis=bare), alt.Y("y:Q", title=None, scale=scale, axis=bare)
    return alt.X("x:Q", title=titles[0], scale=scale), alt.Y("y:Q", title=titles[1], scale=scale)


def map_of_classes(rows: Rows, classes: int, letters: bool, titles: tuple[str, str] | None = None) -> Spec:
    """Places of rows in the colour of their class; short labels are drawn themselves, which needs no legend."""
    x, y = _places(titles)
    tooltip = [alt.Tooltip("class:N"), alt.Tooltip("row:Q"), alt.Tooltip("verdict:N", title="predicted")]
    if letters:
        mark = (
            base()
            .mark_text(fontSize=11, fontWeight=600)
            .encode(x=x, y=y, text="class:N", color=class_color(classes, False), tooltip=tooltip)
        )
    else:
        mark = base().mark_point(filled=True, size=28, opacity=0.8).encode(x=x, y=y, color=class_color(classes), tooltip=tooltip)
    return spec_of(mark.properties(width="container", height=380), rows)


def map_of_errors(rows: Rows, titles: tuple[str, str] | None = None) -> Spec:
    """The same places: right rows pale, wrong ones large and drawn last."""
    x, y = _places(titles)
    tooltip = [alt.Tooltip("class:N"), alt.Tooltip("row:Q"), alt.Tooltip("verdict:N", title="predicted")]
    scale = alt.Scale(domain=["right", "wrong"], range=["#9aa5b1", "#d55e00"])
    mark = (
        base()
        .mark_point(filled=True)
        .encode(
            x=x,
            y=y,
            color=alt.Color("verdict:N", scale=scale, legend=alt.Legend(title=None, orient="top", symbolOpacity=1)),
            shape=alt.Shape("verdict:N", scale=alt.Scale(domain=["right", "wrong"], range=["circle", "cross"])),
            size=alt.condition("datum.verdict === 'wrong'", alt.value(90), alt.value(16)),
            opacity=alt.condition("datum.verdict === 'wrong'", alt.value(1), alt.value(0.55)),
            order=alt.Order("wrong:Q"),
            tooltip=tooltip,
        )
    )
    return spec_of(mark.properties(width="container", height=380), rows)


def boundary(cells: Rows, points: Rows, titles: list[str], classes: list[str]) -> Spec:
    """The class that the model gives at each place, and some rows in the colour of their own class."""
    scale = (
        alt.Scale(domain=classes, range=CLASSES[: len(classes)])
        if len(classes) <= len(CLASSES)
        else alt.Scale(domain=classes, scheme="viridis")
    )
    legend = alt.Legend(title="class", labelLimit=160, symbolOpacity=1) if len(classes) <= 30 else None
    color = alt.Color("class:N", scale=scale, legend=legend)
    axis, scale_of = alt.Axis(grid=False, tickCount=6), alt.Scale(nice=False, zero=False)
    x, y = alt.X("x:Q", title=titles[0], scale=scale_of, axis=axis), alt.Y("y:Q", title=titles[1], scale=scale_of, axis=axis)
    area = base().mark_rect(opacity=0.35, aria=False).encode(x=x, x2="x2:Q", y=y, y2="y2:Q", color=color)
    dots = (
        alt.Chart(alt.InlineData(values=[]))
        .mark_point(filled=True, size=30, opacity=1, stroke="#fff", strokeWidth=0.6)
        .encode(x=x, y=y, color=color, tooltip=[alt.Tooltip("class:N")])
    )
    found = spec_of(alt.layer(area, dots).properties(width="container", height=400), [])
    found["layer"][0]["data"], found["layer"][1]["data"] = {"values": cells}, {"values": points}
    return found


def curve(rows: Rows, x: str, y: str) -> Spec:
    """A recorded number against steps or epochs, on a logarithmic scale where it is positive."""
    limits = alt.Scale(type="log") if all(row["y"] > 0 for row in rows) else alt.Scale(type="linear")
    mark = (
        base()
        .mark_line(strokeWidth=2, point={"size": 14, "filled": True})
        .encode(
            x=alt.X("x:Q", title=x, axis=alt.Axis(labelExpr=TICK, tickCount=6)),
            y=alt.Y("y:Q", title=y, scale=limits, axis=alt.Axis(format="~g", tickCount=5)),
            tooltip=[alt.Tooltip("x:Q", title=x, format=","), alt.Tooltip("y:Q", title=y, format=".4~g")],
        )
    )
    return spec_of(mark.properties(width="container", height=220), rows)


def times(rows: Rows, x: str, y: str, line: str) -> Spec:
    """Seconds against T (or rows), a line a kernel, both axes logarithmic."""
    at = sorted({row["x"] for row in rows})
    ticks = alt.Axis(labelExpr=TICK, labelOverlap="greedy", values=at)
    mark = (
        base()
        .mark_line(strokeWidth=2, point={"size": 40, "filled": True})
        .encode(
            x=alt.X("x:Q", title=x, scale=alt.Scale(type="log", nice=False), axis=ticks),
            y=alt.Y("y:Q", title=y, scale=alt.Scale(type="log"), axis=alt.Axis(format="~g", tickCount=5)),
            color=alt.Color(
                "line:N", title=line, scale=alt.Scale(range=CLASSES), legend=alt.Legend(labelLimit=220, orient="top", columns=2)
            ),
            tooltip=[alt.Tooltip("line:N", title=line), alt.Tooltip("x:Q", title=x, format=","), alt.Tooltip("y:Q", title=y)],
        )
    )
    return spec_of(mark.properties(width="container", height=260), rows)


def weights(rows: Rows, features: int, classes: int) -> Spec:
    """Weights of a linear predictor: bars for two classes, else classes across."""
    down = alt.Y("feature:N", sort=by_order("feature", "order"), title=None, axis=alt.Axis(labelLimit=150))
    tooltip = [alt.Tooltip("feature:N"), alt.Tooltip("class:N", title="for class"), alt.Tooltip("weight:Q", format=".4~g")]
    if classes == 1:
        ink = alt.condition("datum.weight < 0", alt.value("#0072b2"), alt.value("#e69f00"))
        bar = base().mark_bar().encode(x=alt.X("weight:Q", axis=alt.Axis(format="~g")), y=down, color=ink, tooltip=tooltip)
        return spec_of(bar.properties(width="container", height=18 * len(rows)), rows)
    most = max(abs(row["weight"]) for row in rows) or 1.0
    color = alt.Color("weight:Q", scale=alt.Scale(scheme="blueorange", domain=[-most, most]), legend=alt.Legend(format="~g"))
    across = alt.X(
        "class:N", sort=by_order("class", "place"), axis=alt.Axis(labelAngle=0 if classes <= 12 else -60, labelLimit=90)
    )
    rect = base().mark_rect().encode(x=across, y=down, color=color, tooltip=tooltip)
    return spec_of(rect.properties(width=alt.Step(30 if classes <= 20 else 12), height=alt.Step(18)), rows)
