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
    lines = decision_lines(record.calibration, record.threshold)
    blocks: list[Block] = [Text(line[0].upper() + line[1:] + ".") for line in lines]
    if record.calibration is not None:
        blocks.append(_reliability(record.calibration))
    if record.rates is not None:
        remark = "Out-of-fold scores: each row by a model that was not trained on it."
        if record.kind == "model":
            remark = f"Counted on {list(record.errors)[-1]}."
        blocks.append(_thresholds(record.rates, remark))
    return blocks


def _share(field: str, title: str, most: float = 1.0) -> Spec:
    """Return an axis of shares from 0."""
    scale = {"domain": [0, most], "nice": False}
    return number(field, title=title, scale=scale, axis={"format": ".0%", "tickCount": 5})


def _dashed(places: Spec, ends: Rows) -> Spec:
    line = mark("line", places, strokeDash=[4, 4], color="#888", aria=False)
    return {**line, "data": {"values": ends}}


def _reliability(found: CalibrationRecord) -> Chart:
    """Return observed frequencies against probabilities; calibrated ones lie on the diagonal."""
    rows: Rows = [{"p": p, "share": share, "rows": count} for p, share, count in found.bins]
    most = max(max(row["p"], row["share"]) for row in rows)
    limit = next(edge for edge in (0.1, 0.2, 0.3, 0.5, 1.0) if most <= edge or edge == 1.0)
    places = {
        "x": _share("p", "probability", limit),
        "y": _share("share", "observed frequency", limit),
    }
    hints = tooltip(
        p=("probability", ".1%"), share=("observed frequency", ".1%"), rows=("rows", ",")
    )
    point = {"filled": True, "size": 60, "color": _BLUE}
    line = mark("line", {**places, "tooltip": hints}, strokeWidth=2, color=_BLUE, point=point)
    diagonal = _dashed(places, [{"p": 0, "share": 0}, {"p": limit, "share": limit}])
    names = {OWN: "of the model itself"}
    briers = (f"{names.get(kind, kind)} {value:.4f}" for kind, value in found.briers.items())
    of = "the likeliest class" if found.of is None else found.of
    caption = f"Probabilities of {of} in {len(rows)} groups of equally many rows, out of fold. "
    caption += (
        f"Calibrated probabilities lie on the dashed line. Brier scores: {'; '.join(briers)}."
    )
    listed = columns("percent", p="probability", share="observed frequency")
    listed += columns("number", rows="rows")
    table = Table("reliability", "Probabilities and frequencies", listed, rows)
    spec = chart(rows, diagonal, line, height=300)
    return Chart("reliability", "Reliability diagram", spec, caption, table, narrow=True)


def rate_rows(found: RatesRecord) -> Rows:
    """Return counts and rates at each threshold."""
    rows = []
    counted = zip(found.thresholds, found.hits, found.alarms, strict=True)
    for place, (at, hits, alarms) in enumerate(counted):
        rates = {
            "recall": hits / max(1, found.positives),
            "fallout": alarms / max(1, found.negatives),
            "precision": hits / (hits + alarms) if hits + alarms else None,
        }
        rows.append({"place": place, "threshold": at, "hits": hits, "alarms": alarms, **rates})
    return rows


def rate_charts(found: RatesRecord, rows: Rows) -> dict[str, Spec]:
    """Return the ROC curve and precision against recall, by name."""
    base = found.positives / max(1, found.positives + found.negatives)
    roc = {"x": _share("fallout", "false positive rate"), "y": _share("recall", "recall")}
    both = {"x": _share("recall", "recall"), "y": _share("precision", "precision")}
    random = [{"fallout": 0.0, "recall": 0.0}, {"fallout": 1.0, "recall": 1.0}]
    flat = [{"recall": 0.0, "precision": base}, {"recall": 1.0, "precision": base}]
    known = [row for row in rows if row["precision"] is not None]
    return {
        "roc": _curve(rows, roc, random, found.chosen),
        "precision-recall": _curve(known, both, flat, found.chosen),
    }


def _curve(rows: Rows, places: Spec, random: Rows, chosen: int) -> Spec:
    """Return a curve over all thresholds, that of random scores (dashed), and the point of the slider, `at`."""
    hints = tooltip(
        threshold=("threshold", ".4~g"), recall=("recall", ".1%"), precision=("precision", ".1%")
    )
    look: Spec = {"color": _BLUE, "aria": False}
    here = mark("point", places, filled=True, size=140, color=_ORANGE)
    layers = [
        _dashed(places, random),
        mark("line", {**places, "order": number("place")}, strokeWidth=2, **look),
        mark("point", {**places, "tooltip": hints}, filled=True, size=12, **look),
        {**here, "transform": [{"filter": "datum.place === at"}]},
    ]
    return chart(rows, *layers, height=280, params=[{"name": "at", "value": chosen}])


def _thresholds(found: RatesRecord, remark: str) -> Thresholds:
    rows = rate_rows(found)
    listed = columns("number", threshold="threshold")
    listed += columns("number", hits="true positives", alarms="false positives")
    listed += columns("percent", recall="recall", precision="precision")
    table = Table("thresholds", "Precision and recall by threshold", listed, rows)
    names = ("positive", "others", "positives", "negatives", "chosen", "aim")
    data: dict[str, Any] = {name: getattr(found, name) for name in names}
    return Thresholds(rate_charts(found, rows), table, {**data, "rows": rows}, remark)
