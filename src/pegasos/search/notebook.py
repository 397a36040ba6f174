"""HTML of a fitted search for notebooks: the choice, its baseline, and the best settings.

Everything is inside, without scripts and style sheets; colors of text and paper are the notebook's.
"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from pegasos.metrics import measure_of, shown_value
from pegasos.search.settings import freeze

#: Settings in the table.
MOST = 12
_CELL = "padding:3px 9px;text-align:right"
_MARKS = {"choice": "#d50032", "simplest as good": "#ff9f1c"}


def as_html(search: Any, diagram: str) -> str:
    """Return the choice, the table, and scikit-learn's diagram, folded."""
    lines = [_heading(search), _choice(search), *map(escape, map(str, search.advice_))]
    told = "".join(f'<div style="margin:.2em 0;max-width:75ch">{line}</div>' for line in lines)
    folded = f"<details><summary>the estimator</summary>{diagram}</details>"
    table = f'<div style="overflow-x:auto">{_table(search)}</div>'
    return f'<div style="color:inherit">{told}{table}{folded}</div>'


def _scores(search: Any) -> tuple[Any, Any, Any]:
    """Return the scoring by which the choice was made, and means and deviations over folds."""
    name, scoring, results = "score", search.scoring, search.cv_results_
    if search.multimetric_:
        name = search.refit
        scoring = scoring.get(name) if isinstance(scoring, dict) else name
    return scoring, results[f"mean_test_{name}"], results[f"std_test_{name}"]


def _heading(search: Any) -> str:
    known, count = int(np.isfinite(_scores(search)[1]).sum()), len(search.settings_)
    done = "" if known == count else f" ({known} of them on all folds)"
    numbers = f"{count} settings on {search.n_splits_} folds{done}, {search.time_:.1f} s"
    return f"<b>{type(search).__name__}</b>: {numbers}"


def _choice(search: Any) -> str:
    (scoring, means, deviations), best = _scores(search), search.best_index_
    measure = measure_of(scoring)
    value = measure.text(shown_value(scoring, float(means[best])))
    given = (f"{_plain(name)}={_text(each)}" for name, each in search.best_params_.items())
    found = f"{measure.name} {value} ± {measure.text(float(deviations[best]))} over folds"
    text = f"<b>choice</b>: {escape(', '.join(given))}<br>{escape(found)}"
    try:
        has_metric = search.metric_ is not None or search.scoring in (None, "accuracy")
        figure = search.out_of_fold_metric() if has_metric and not search.multimetric_ else None
    except ValueError:  # scores were not kept in every fold
        figure = None
    if figure is None:
        return text
    useless = "" if figure.better else " <b>This model is no better than guessing.</b>"
    return f"{text}; guessing: {measure.text(figure.guess)}{useless}"


def _table(search: Any) -> str:
    """Return the best settings, with the parameters in which settings differ."""
    (scoring, means, _), params = _scores(search), search.cv_results_["params"]
    measure = measure_of(scoring)
    names = dict.fromkeys(name for each in params for name in each)
    varied = [name for name in names if len({freeze(each.get(name)) for each in params}) > 1]
    heads = "".join(_cell("th", escape(_plain(name))) for name in [*varied, measure.name])
    known = [number for number in np.argsort(-means, kind="stable") if np.isfinite(means[number])]
    shown = dict.fromkeys([search.best_index_, *map(int, known)])
    rows = []
    for number in list(shown)[:MOST]:
        mark = "choice" if number == search.best_index_ else ""
        if not mark and number == getattr(search, "simplest_index_", None):
            mark = "simplest as good"
        values = "".join(
            _cell("td", escape(_text(params[number][name])) if name in params[number] else "")
            for name in varied
        )
        value = measure.label(shown_value(scoring, float(means[number])))
        look = f";outline:2px solid {_MARKS[mark]}" if mark else ""
        rows.append(f"<tr>{values}{_cell('td', value, mark or measure.name, look)}</tr>")
    body = "".join(rows)
    look = "border-collapse:collapse;font-size:12px;font-variant-numeric:tabular-nums"
    return f'<table style="{look}"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>'


def _cell(tag: str, text: str, title: str = "", look: str = "") -> str:
    named = f' title="{escape(title)}"' if title else ""
    return f'<{tag} style="{_CELL}{look}"{named}>{text}</{tag}>'


def _plain(name: str) -> str:
    """Return the name of a parameter without the steps of its pipeline."""
    return name.rpartition("__")[2]


def _text(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
