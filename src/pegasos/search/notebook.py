"""HTML of a fitted search for notebooks: the choice, its baseline, and the best settings."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from pegasos.metrics import measure_of, shown_value
from pegasos.search.settings import freeze

#: Settings in the table.
SHOWN_SETTINGS = 12
_CELL = "padding:3px 9px;text-align:right"
_MARKS = {"choice": "#d50032", "simplest as good": "#ff9f1c"}


def as_html(search: Any, diagram: str) -> str:
    """Return the choice, a table of the best settings, and scikit-learn's diagram, folded.

    Everything is inline, without scripts, and text has the colors of the notebook.
    """
    name, scoring, results = "score", search.scoring, search.cv_results_
    if search.multimetric_:
        name = search.refit
        scoring = scoring.get(name) if isinstance(scoring, dict) else name
    means, stds = results[f"mean_test_{name}"], results[f"std_test_{name}"]
    lines = [
        _heading(search, means),
        *_choice(search, scoring, means, stds),
        *(escape(str(advice)) for advice in search.advice_),
    ]
    text = "".join(f'<div style="margin:.2em 0;max-width:75ch">{line}</div>' for line in lines)
    folded = f"<details><summary>the estimator</summary>{diagram}</details>"
    table = f'<div style="overflow-x:auto">{_table(search, scoring, means)}</div>'
    return f'<div style="color:inherit">{text}{table}{folded}</div>'


def _heading(search: Any, means: Any) -> str:
    known, count = int(np.isfinite(means).sum()), len(means)
    done = "" if known == count else f" ({known} of them on all folds)"
    numbers = f"{count} settings on {search.n_splits_} folds{done}, {search.time_:.1f} s"
    return f"<b>{type(search).__name__}</b>: {numbers}"


def _choice(search: Any, scoring: Any, means: Any, stds: Any) -> list[str]:
    measure, best = measure_of(scoring), search.best_index_
    given = (f"{_plain(name)}={_text(each)}" for name, each in search.best_params_.items())
    value = measure.text(shown_value(scoring, float(means[best])))
    found = f"{measure.name} {value} ± {measure.text(float(stds[best]))} over folds"
    try:
        has_metric = search.metric_ is not None or search.scoring in (None, "accuracy")
        figure = search.out_of_fold_metric() if has_metric and not search.multimetric_ else None
    except ValueError:  # scores were not kept in every fold
        figure = None
    baseline = "" if figure is None else f"; baseline {measure.text(figure.baseline)}"
    useless = figure is not None and not figure.better
    warning = ["<b>This model is no better than the baseline.</b>"] if useless else []
    return [f"<b>choice</b>: {escape(', '.join(given))}", escape(found + baseline), *warning]


def _table(search: Any, scoring: Any, means: Any) -> str:
    """Return the best settings, with the parameters in which settings differ."""
    params, measure = search.cv_results_["params"], measure_of(scoring)
    names = dict.fromkeys(name for each in params for name in each)
    varied = [name for name in names if len({freeze(each.get(name)) for each in params}) > 1]
    heads = "".join(_cell("th", escape(_plain(name))) for name in [*varied, measure.name])
    known = [int(each) for each in np.argsort(-means, kind="stable") if np.isfinite(means[each])]
    marks = {getattr(search, "simplest_index_", None): "simplest as good"}
    marks[search.best_index_] = "choice"
    rows = ""
    for number in list(dict.fromkeys([search.best_index_, *known]))[:SHOWN_SETTINGS]:
        mark, own = marks.get(number, ""), params[number]
        texts = [escape(_text(own[name])) if name in own else "" for name in varied]
        value = measure.label(shown_value(scoring, float(means[number])))
        style = f";outline:2px solid {_MARKS[mark]}" if mark else ""
        cells = "".join(_cell("td", text) for text in texts)
        rows += f"<tr>{cells}{_cell('td', value, mark or measure.name, style)}</tr>"
    style = "border-collapse:collapse;font-size:12px;font-variant-numeric:tabular-nums"
    return f'<table style="{style}"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'


def _cell(tag: str, text: str, title: str = "", style: str = "") -> str:
    named = f' title="{escape(title)}"' if title else ""
    return f'<{tag} style="{_CELL}{style}"{named}>{text}</{tag}>'


def _plain(name: str) -> str:
    """Return the name of a parameter without the steps of its pipeline."""
    return name.rpartition("__")[2]


def _text(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
