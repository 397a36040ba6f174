"""Progress of a search, and the display of a finished one in notebooks."""

from __future__ import annotations

import logging
import sys
import time
from html import escape
from typing import Any

import numpy as np

from pegasos.metrics import measure_of, shown_value
from pegasos.search.settings import freeze

_log = logging.getLogger("pegasos.search")
#: Seconds between two updates of the progress line.
PAUSE = 0.1
#: Settings in the table of a finished search.
SHOWN_SETTINGS = 12


class Progress:
    """Count of finished fits: a line on a terminal or in a notebook, and log records."""

    def __init__(self, shown: bool) -> None:
        self._total = self._done = self._width = 0
        self._start, self._last = time.monotonic(), 0.0
        is_notebook = type(sys.stderr).__module__.startswith("ipykernel")
        self._shown = shown and (is_notebook or sys.stderr.isatty())

    def expect(self, fits: int, text: str) -> None:
        """Announce further fits, described by a line of text."""
        self._total = self._done + fits
        _log.info(text)
        if self._shown:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Print a line of text even where progress is not shown."""
        self.close()
        print(text, file=sys.stderr, flush=True)

    def advance(self, fits: int, what: str, best: float | None) -> None:
        """Count finished fits; `best` is the best mean score of a complete cell so far."""
        self._done += fits
        elapsed = time.monotonic() - self._start
        left = elapsed / self._done * (self._total - self._done)
        score = "" if best is None else f", best score {best:.4f}"
        text = f"{self._done}/{self._total} fits{score}, {elapsed:.0f} s, about {left:.0f} s left"
        _log.info("%s: %s", what, text)
        is_due = time.monotonic() - self._last > PAUSE or self._done == self._total
        if self._shown and is_due:
            self._last = time.monotonic()
            print("\r" + text.ljust(self._width), end="", file=sys.stderr, flush=True)
            self._width = len(text)

    def close(self) -> None:
        """Erase the line."""
        if self._width:
            print("\r" + " " * self._width + "\r", end="", file=sys.stderr, flush=True)
            self._width = 0


def as_html(search: Any, diagram: str) -> str:
    """Return the choice, a table of the best settings, and scikit-learn's diagram, folded.

    Everything is inline, without scripts, and text has the colors of the notebook.
    """
    name, scoring, results = "score", search.scoring, search.cv_results_
    if search.multimetric_:
        name = search.refit
        scoring = scoring.get(name) if isinstance(scoring, dict) else name
    means, measure = results[f"mean_test_{name}"], measure_of(scoring)
    best, given = search.best_index_, search.best_params_.items()
    value = measure.text(shown_value(scoring, float(means[best])))
    noise = measure.text(float(results[f"std_test_{name}"][best]))
    choice = ", ".join(f"{name.rpartition('__')[2]}={_text(each)}" for name, each in given)
    lines = [
        f"{type(search).__name__}: {len(means)} settings on {search.n_splits_} folds "
        f"({np.isfinite(means).sum()} evaluated on all of them), {search.time_:.1f} s",
        f"choice: {choice}",
        f"{measure.name} {value} ± {noise} over folds{_baseline(search, measure)}",
        *map(str, search.advice_),
    ]
    text = "".join(f"<div>{escape(line)}</div>" for line in lines)
    table = f'<div style="overflow-x:auto">{_table(search, scoring, means)}</div>'
    return f"<div>{text}{table}<details><summary>the estimator</summary>{diagram}</details></div>"


def _baseline(search: Any, measure: Any) -> str:
    """Return the baseline of the choice, and a warning if the choice is no better."""
    if search.multimetric_ or (search.metric_ is None and measure.name != "error"):
        return ""
    try:
        figure = search.out_of_fold_metric()
    except ValueError:  # scores were not kept in every fold
        return ""
    warning = "" if figure.better else ". This model is no better than the baseline."
    return f"; baseline {measure.text(figure.baseline)}{warning}"


def _table(search: Any, scoring: Any, means: Any) -> str:
    """Return the best settings, with the parameters in which settings differ."""
    params, measure = search.cv_results_["params"], measure_of(scoring)
    names = dict.fromkeys(name for each in params for name in each)
    varied = [name for name in names if len({freeze(each.get(name)) for each in params}) > 1]
    known = [int(each) for each in np.argsort(-means, kind="stable") if np.isfinite(means[each])]
    marks = {getattr(search, "simplest_index_", None): "simplest as good"}
    marks[search.best_index_] = "choice"
    heads = [*(name.rpartition("__")[2] for name in varied), measure.name, ""]  # without steps
    rows = "".join(f"<th>{escape(each)}</th>" for each in heads)
    for number in list(dict.fromkeys([search.best_index_, *known]))[:SHOWN_SETTINGS]:
        texts = [_text(params[number][name]) if name in params[number] else "" for name in varied]
        texts += [measure.label(shown_value(scoring, float(means[number]))), marks.get(number, "")]
        rows += f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in texts)}</tr>"
    return f"<table>{rows}</table>"


def _text(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
