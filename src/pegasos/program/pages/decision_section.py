"""Section about calibrated probabilities, and about precision and recall at every threshold."""

from __future__ import annotations

from typing import Any

from pegasos.program.pages.blocks import Block, Chart, Table, Text, Thresholds, columns
from pegasos.program.pages.vega import Rows, Spec, chart, mark, number, tooltip
from pegasos.program.pages.wording import decision_lines
from pegasos.program.records.decisions import CalibrationRecord, RatesRecord
from pegasos.program.records.pages import PageRecord
from pegasos.search.decisions import OWN

_BLUE, _ORANGE = "#0072b2", "#d55e00"


def decision_blocks(record: PageRecord) -> list[Block]:
    """Return probabilities, then thresholds; nothing where out-of-fold scores were not kept."""
    blocks: list[Block] = [
        Text(line[0].upper() + line[1:] + ".")
        for line in decision_lines(record.calibration, record.threshold)
    ]
    blocks += [] if record.calibration is None else [_reliability(record.calibration)]
    if record.rates is None:
        return blocks
    model = record.kind == "model"
    remark = (
        f"Counted on {list(record.errors)[-1]}."
        if model
        else "Out-of-fold scores: each row by a model that was not trained on it."
    )
    return [*blocks, _thresholds(record.rates, remark)]


def _reliability(found: CalibrationRecord) -> Chart:
    """Return observed frequencies against probabilities; calibrated ones lie on the diagonal."""
    rows = [{"p": p, "share": share, "rows": count} for p, share, count in found.bins]
    most = max(max(row["p"], row["share"]) for row in rows)
    limit = next(edge for edge in (0.1, 0.2, 0.3, 0.5, 1.0) if most <= edge or edge == 1.0)
    scale = {"domain": [0, limit], "nice": False}
    places = {
        "x": number("p", title="probability", scale=scale, axis={"format": ".0%", "tickCount": 5}),
        "y": number(
            "share",
            title="observed frequency",
            scale=scale,
            axis={"format": ".0%", "tickCount": 5},
        ),
    }
    ends: Rows = [{"p": 0, "share": 0}, {"p": limit, "share": limit}]
    diagonal = {
        **mark("line", places, strokeDash=[4, 4], color="#888", aria=False),
        "data": {"values": ends},
    }
    hints = tooltip(
        p=("probability", ".1%"), share=("observed frequency", ".1%"), rows=("rows", ",")
    )
    dots = mark(
        "line",
        {**places, "tooltip": hints},
        strokeWidth=2,
        color=_BLUE,
        point={"filled": True, "size": 60, "color": _BLUE},
    )
    of = "the likeliest class" if found.of is None else found.of
    names = {OWN: "of the model itself"}
    briers = "; ".join(
        f"{names.get(kind, kind)} {value:.4f}" for kind, value in found.briers.items()
    )
    caption = f"Probabilities of {of} in {len(rows)} groups of equally many rows, out of fold. "
    caption += f"Calibrated probabilities lie on the dashed line. Brier scores: {briers}."
    listed = columns("percent", p="probability", share="observed frequency") + columns(
        "number", rows="rows"
    )
    table = Table("reliability", "Probabilities and frequencies", listed, rows)
    return Chart(
        "reliability",
        "Reliability diagram",
        chart(rows, diagonal, dots, height=300),
        caption,
        table,
        narrow=True,
    )


def rate_rows(found: RatesRecord) -> Rows:
    """Counts and rates at each threshold."""
    rows = []
    for place, (at, hits, alarms) in enumerate(
        zip(found.thresholds, found.hits, found.alarms, strict=True)
    ):
        above = hits + alarms
        rows.append(
            {
                "place": place,
                "threshold": at,
                "hits": hits,
                "alarms": alarms,
                "recall": hits / max(1, found.positives),
                "fallout": alarms / max(1, found.negatives),
                "precision": hits / above if above else None,
            }
        )
    return rows


def rate_charts(found: RatesRecord, rows: Rows) -> dict[str, Spec]:
    """Return the ROC curve and precision against recall, by name."""
    base = found.positives / max(1, found.positives + found.negatives)
    blind: Rows = [{"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 1.0}]
    flat: Rows = [{"x": 0.0, "y": base}, {"x": 1.0, "y": base}]
    kept = [row for row in rows if row["precision"] is not None]
    return {
        "roc": _curve(
            rows,
            "fallout",
            "recall",
            "false positive rate",
            "recall",
            blind,
            found.chosen,
        ),
        "precision-recall": _curve(
            kept,
            "recall",
            "precision",
            "recall",
            "precision",
            flat,
            found.chosen,
        ),
    }


def _thresholds(found: RatesRecord, remark: str) -> Thresholds:
    rows = rate_rows(found)
    listed = columns(
        "number", threshold="threshold", hits="true positives", alarms="false positives"
    )
    listed += columns("percent", recall="recall", precision="precision")
    table = Table("thresholds", "Precision and recall by threshold", listed, rows)
    data: dict[str, Any] = {
        name: getattr(found, name)
        for name in ("positive", "others", "positives", "negatives", "chosen", "aim")
    }
    return Thresholds(rate_charts(found, rows), table, {**data, "rows": rows}, remark)


def _curve(rows: Rows, x: str, y: str, across: str, down: str, guess: Rows, chosen: int) -> Spec:
    """Return a curve over all thresholds, that of random scores (dashed), and the point of the slider, `at`."""
    scale = {"domain": [0, 1], "nice": False}
    axis = {"format": ".0%", "tickCount": 5}
    places = {
        "x": number(x, title=across, scale=scale, axis=axis),
        "y": number(y, title=down, scale=scale, axis=axis),
    }
    at = {"x": number("x", title=across, scale=scale), "y": number("y", title=down, scale=scale)}
    dashed = {
        **mark("line", at, strokeDash=[4, 4], color="#888", aria=False),
        "data": {"values": guess},
    }
    hints = tooltip(
        threshold=("threshold", ".4~g"), recall=("recall", ".1%"), precision=("precision", ".1%")
    )
    line = mark(
        "line", {**places, "order": number("place")}, strokeWidth=2, color=_BLUE, aria=False
    )
    dots = mark(
        "point", {**places, "tooltip": hints}, filled=True, size=12, color=_BLUE, aria=False
    )
    here = {
        **mark("point", places, filled=True, size=140, color=_ORANGE),
        "transform": [{"filter": "datum.place === at"}],
    }
    return chart(
        rows, dashed, line, dots, here, height=280, params=[{"name": "at", "value": chosen}]
    )
