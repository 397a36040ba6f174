"""Section about calibrated probabilities, and about precision and recall at every threshold."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.metrics import Metric
from pegasos.program.pages.blocks import Block, Chart, Table, Text, Thresholds, columns
from pegasos.program.pages.vega import BLUE, ORANGE, Rows, Spec, chart, mark, number, tooltip
from pegasos.program.pages.wording import decision_lines
from pegasos.program.records.runs import CalibrationRecord
from pegasos.program.tables.labels import label_text
from pegasos.search.decisions import OWN, Rates, Threshold

#: Thresholds kept for a page.
MOST_THRESHOLDS = 150


def rate_curve(
    scores: Any, codes: Any, classes: Any, positive: Any, cut: float, aim: str | None
) -> dict[str, Any]:
    """Return counts and rates at a selection of thresholds, of two classes.

    `cut` is the threshold in use, as a score of the positive class, and `aim` the criterion it was
    chosen by. Its place among the rows is `chosen`.
    """
    code = list(classes).index(positive)
    scores = scores if code == 1 else -scores
    rates = Rates.of(scores, codes == code)
    last = len(rates.hits) - 1
    steps = np.linspace(0, last, MOST_THRESHOLDS).astype(int)
    recalls = np.linspace(0, rates.positives, MOST_THRESHOLDS // 2)
    by_recall = np.searchsorted(rates.hits, recalls).clip(max=last)
    used = int((np.unique(scores) >= cut).sum())  # thresholds lie between scores
    kept = np.unique(np.concatenate([steps, by_recall, [used]]))
    rows: Rows = []
    for place, at in enumerate(kept.tolist()):
        hits, alarms = int(rates.hits[at]), int(rates.alarms[at])
        threshold = cut if at == used else rates.thresholds[at]
        row: dict[str, Any] = {"place": place, "threshold": float(f"{threshold:.5g}")}
        row |= {"hits": hits, "alarms": alarms, "recall": hits / max(1, rates.positives)}
        row["fallout"] = alarms / max(1, rates.negatives)
        row["precision"] = hits / (hits + alarms) if hits + alarms else None
        rows.append(row)
    names = {"positive": label_text(positive), "others": label_text(classes[1 - code])}
    totals = {"positives": int(rates.positives), "negatives": int(rates.negatives)}
    chosen = int(np.flatnonzero(kept == used)[0])
    return {"rows": rows, "chosen": chosen, "aim": aim, **names, **totals}


def search_rates(search: Any, threshold: Threshold | None) -> dict[str, Any] | None:
    """Return out-of-fold rates of a search's choice; None without two classes or scores."""
    if not hasattr(search, "best_index_"):
        return None
    found = search.out_of_fold_answers(probable=False)
    if found.scores is None or len(found.classes) > 2:
        return None
    scores, codes = found.scores[:, 1], found.truth
    classes = search.best_estimator_.classes_
    cut, aim = (0.0, None) if threshold is None else (threshold.value, threshold.aim)
    return rate_curve(scores, codes, classes, search.positive_class(), cut, aim)


def model_rates(
    scores: Any, codes: Any, classes: Any, threshold: float, positive: Any = None
) -> dict[str, Any]:
    """Return rates of a model on rows; the positive class is by default the rare one."""
    seen = Metric("f1", positive).settled(np.asarray(classes)[codes], classes).positive
    cut = threshold if seen == classes[1] else -threshold
    return rate_curve(scores, codes, classes, seen, cut, None)


def decision_blocks(
    calibration: CalibrationRecord | None,
    threshold: Threshold | None,
    rates: dict[str, Any] | None,
    where: str,
) -> list[Block]:
    """Return blocks on probabilities and thresholds; `where` names the rows that are counted."""
    lines = decision_lines(calibration, threshold)
    blocks: list[Block] = [Text(line[0].upper() + line[1:] + ".") for line in lines]
    if calibration is not None:
        blocks.append(_reliability(calibration))
    if rates is not None:
        listed = columns("number", threshold="threshold", hits="true positives")
        listed += columns("number", alarms="false positives")
        listed += columns("percent", recall="recall", precision="precision")
        table = Table("thresholds", "Precision and recall by threshold", listed, rates["rows"])
        blocks.append(Thresholds(rate_charts(rates), table, rates, where))
    return blocks


def _reliability(found: CalibrationRecord) -> Chart:
    """Return a chart of observed frequencies against predicted probabilities."""
    rows: Rows = [{"p": p, "share": share, "rows": count} for p, share, count in found.bins]
    most = max(max(row["p"], row["share"]) for row in rows)
    limit = next(edge for edge in (0.1, 0.2, 0.3, 0.5, 1.0) if most <= edge or edge == 1.0)
    titles = {"p": "probability", "share": "observed frequency"}
    places = _shares(titles, limit)
    hints = tooltip(**{key: (title, ".1%") for key, title in titles.items()}, rows=("rows", ","))
    point = {"filled": True, "size": 60, "color": BLUE}
    line = mark("line", places, tooltip=hints, strokeWidth=2, color=BLUE, point=point)
    diagonal = _dashed(places, [{"p": 0, "share": 0}, {"p": limit, "share": limit}])
    names = {OWN: "of the model itself"}
    briers = (f"{names.get(kind, kind)} {value:.4f}" for kind, value in found.briers.items())
    of = "the most probable class" if found.of is None else found.of
    caption = f"Out-of-fold probabilities of {of} in {len(rows)} groups of equally many rows. "
    caption += f"Dashed: perfect calibration. Brier scores: {'; '.join(briers)}."
    spec = chart(rows, diagonal, line, height=300)
    return Chart.with_rows("reliability", "Reliability diagram", spec, caption, "narrow")


def rate_charts(found: dict[str, Any]) -> dict[str, Spec]:
    """Return the ROC curve and precision against recall, by name.

    The curve of random scores is dashed, and a point marks the threshold of the slider.
    """
    positives = found["positives"]
    base = positives / max(1, positives + found["negatives"])
    rates = {name: (name, ".1%") for name in ("recall", "precision")}
    hints = tooltip(threshold=("threshold", ".4~g"), **rates)
    params, look = [{"name": "at", "value": found["chosen"]}], {"color": BLUE, "aria": False}

    def curve(titles: dict[str, str], first: float, last: float) -> Spec:
        across, down = titles
        places = _shares(titles)
        here = mark("point", places, filled=True, size=140, color=ORANGE)
        here["transform"] = [{"filter": "datum.place === at"}]
        random = [{across: 0.0, down: first}, {across: 1.0, down: last}]
        layers = [
            _dashed(places, random),
            mark("line", places, order=number("place"), strokeWidth=2, **look),
            mark("point", places, tooltip=hints, filled=True, size=12, **look),
            here,
        ]
        known = [row for row in found["rows"] if row[down] is not None]
        return chart(known, *layers, height=280, params=params)

    return {
        "roc": curve({"fallout": "false positive rate", "recall": "recall"}, 0.0, 1.0),
        "precision-recall": curve({"recall": "recall", "precision": "precision"}, base, base),
    }


def _shares(titles: dict[str, str], most: float = 1.0) -> Spec:
    """Return the axes of two shares from 0, across and down."""
    scale, axis = {"domain": [0, most], "nice": False}, {"format": ".0%", "tickCount": 5}
    both = (number(key, title=title, scale=scale, axis=axis) for key, title in titles.items())
    return dict(zip("xy", both, strict=True))


def _dashed(places: Spec, ends: Rows) -> Spec:
    line = mark("line", places, strokeDash=[4, 4], color="#888", aria=False)
    return {**line, "data": {"values": ends}}
