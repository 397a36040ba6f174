"""The charts of docs/benchmarks.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt


def draw_speedups(groups: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Draw the speedup of each case as a point, a line of points per benchmark."""
    values = [
        {"benchmark": name, "case": row["case"], "speedup": row["figure"]}
        for name, rows in groups.items()
        for row in rows
    ]
    scale = alt.Scale(type="log")
    points = (
        alt.Chart()
        .mark_circle(size=45, opacity=0.6)
        .encode(
            x=alt.X("speedup:Q", scale=scale, title="speedup (peer's time / ours)"),
            y=alt.Y("benchmark:N", title=None),
        )
    )
    even = alt.Chart().mark_rule(strokeDash=[4, 3]).encode(x=alt.datum(1))
    _save(alt.layer(points, even, data=alt.Data(values=values)), path)


def draw_differences(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw the difference of the test errors of `tune` and the SVC grid on each table."""
    values = [
        {"table": row["case"], "group": row["group"], "difference": row["figure"]}
        for row in rows
        if row.get("group")
    ]
    points = (
        alt.Chart()
        .mark_point(size=60, filled=True)
        .encode(
            x=alt.X("difference:Q", title="test error of tune - SVC grid (percentage points)"),
            y=alt.Y("table:N", title=None, sort="x"),
            color=alt.Color("group:N", title=None, legend=alt.Legend(orient="top")),
            shape=alt.Shape("group:N", title=None),
        )
    )
    even = alt.Chart().mark_rule(strokeDash=[4, 3]).encode(x=alt.datum(0))
    _save(alt.layer(points, even, data=alt.Data(values=values)), path)


def _save(chart: alt.LayerChart, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    chart.properties(width=420, background="white").configure_axis(labelLimit=280).save(path)
