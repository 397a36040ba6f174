"""A fitted search as notebooks show it: the choice beside guessing, and the scores around it as a small table of colours.

Everything is inside, no script and no style sheet: ink and paper are the notebook's own, light or dark.
"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from pegasos.metrics import measure_of, shown_value
from pegasos.search.figures import Figure
from pegasos.search.settings import freeze

#: Values of an axis that a small table may show.
MOST = 12
_TABLE = "border-collapse:separate;border-spacing:2px;font-size:12px;font-variant-numeric:tabular-nums;margin:.4em 0;width:auto"
_CELL = "padding:3px 7px;text-align:right;border-radius:3px"
_FRAMES = {"choice": "#d50032", "simplest as good": "#ff9f1c"}


def as_html(search: Any, diagram: str) -> str:
    """The choice, the table, and scikit-learn's diagram folded below."""
    lines = [
        _heading(search),
        _choice(search),
        *map(escape, map(str, getattr(search, "advice_", ()))),
    ]
    told = "".join(f'<div style="margin:.2em 0;max-width:75ch">{line}</div>' for line in lines)
    folded = f"<details><summary>the estimator</summary>{diagram}</details>"
    return f'<div style="color:inherit">{told}<div style="overflow-x:auto">{_table(search)}</div>{folded}</div>'


def _heading(search: Any) -> str:
    count = len(search.cv_results_["params"])
    known = int(np.isfinite(search.cv_results_[_column(search)]).sum())
    done = "" if known == count else f" ({known} of them to the end)"
    return f"<b>{type(search).__name__}</b>: {count} settings on {search.n_splits_} folds{done}, {search.time_:.1f} s"


def _column(search: Any) -> str:
    return f"mean_test_{search.refit if search.multimetric_ else 'score'}"


def _scoring(search: Any) -> Any:
    """What the shown numbers are scores of."""
    if not search.multimetric_:
        return search.scoring
    return search.scoring.get(search.refit) if isinstance(search.scoring, dict) else search.refit


def _choice(search: Any) -> str:
    scoring, results, best = _scoring(search), search.cv_results_, search.best_index_
    measure = measure_of(scoring)
    value = measure.text(shown_value(scoring, float(results[_column(search)][best])))
    spread = measure.text(float(results[_column(search).replace("mean", "std", 1)][best]))
    named = ", ".join(f"{_plain(name)}={_text(each)}" for name, each in search.best_params_.items())
    figure = _figure(search)
    guess = "" if figure is None else f"; guessing: {measure.text(figure.guess)}"
    if figure is not None and not figure.better:
        guess += " <b>This model is no better than guessing.</b>"
    return f"<b>choice</b>: {escape(named)}<br>{escape(measure.name)} {value} ± {spread} over folds{guess}"


def _figure(search: Any) -> Figure | None:
    """The choice beside guessing, where that is known."""
    if search.multimetric_ or (search.metric_ is None and search.scoring not in (None, "accuracy")):
        return None
    try:
        found: Figure = search.out_of_fold_metric()
        return found
    except ValueError:  # scores were not kept in every fold
        return None


def axes(params: list[dict[str, Any]], best: int) -> tuple[list[str], dict[str, list[Any]]]:
    """The parameters in which settings differ from the choice that are like it in all others, most values first; and the values.

    >>> axes(
    ...     [
    ...         {"lam": 1, "kernel": "a"},
    ...         {"lam": 2, "kernel": "a"},
    ...         {"lam": 3, "kernel": "a"},
    ...         {"lam": 1, "kernel": "b"},
    ...     ],
    ...     0,
    ... )
    (['lam', 'kernel'], {'lam': [1, 2, 3], 'kernel': ['a', 'b']})
    """
    frozen = [{name: freeze(value) for name, value in each.items()} for each in params]
    chosen, found = frozen[best], dict[str, list[Any]]()
    for own, each in zip(frozen, params, strict=True):
        other = [name for name in chosen if own.get(name) != chosen[name]]
        if own.keys() == chosen.keys() and len(other) <= 1:
            for name in other or chosen:
                values = found.setdefault(name, [])
                values += [] if freeze(each[name]) in map(freeze, values) else [each[name]]
    ordered = {
        name: sorted(values) if _are_numbers(values) else values
        for name, values in found.items()
        if len(values) > 1
    }
    return sorted(ordered, key=lambda name: -len(ordered[name])), ordered


def _are_numbers(values: list[Any]) -> bool:
    return all(
        isinstance(value, int | float | np.number) and not isinstance(value, bool)
        for value in values
    )


def _table(search: Any) -> str:
    """The cells that are like the choice in all but two parameters."""
    params, best = search.cv_results_["params"], int(search.best_index_)
    names, values = axes(params, best)
    if not names:
        return ""
    across, down = names[0], names[1] if len(names) > 1 else None
    columns = _near(values[across], params[best][across])
    lines = [None] if down is None else _near(values[down], params[best][down])
    place = {_key(each): number for number, each in enumerate(params)}
    fixed = [params[best] if down is None else {**params[best], down: y} for y in lines]
    numbers = [[place.get(_key({**line, across: x})) for x in columns] for line in fixed]
    heads = "".join(
        f'<th scope="col" style="{_CELL};font-weight:normal">{escape(_text(each))}</th>'
        for each in columns
    )
    cells = _cells(search, [number for line in numbers for number in line if number is not None])
    body = "".join(
        f'<tr><th scope="row" style="{_CELL};font-weight:normal">{"" if down is None else escape(_text(y))}</th>'
        + "".join(cells.get(number, "<td></td>") for number in line)
        + "</tr>"
        for y, line in zip(lines, numbers, strict=True)
    )
    titles = [
        f"{_plain(name)} {arrow}"
        for name, arrow in ((down, "↓"), (across, "→"))
        if name is not None
    ]
    corner = f'<th style="{_CELL};font-weight:normal;opacity:.7">{escape(" ".join(titles))}</th>'
    return f'<table style="{_TABLE}"><thead><tr>{corner}{heads}</tr></thead><tbody>{body}</tbody></table>'


def _near(values: list[Any], chosen: Any) -> list[Any]:
    """All values, or of many those around the chosen one."""
    at = [freeze(value) for value in values].index(freeze(chosen))
    first = max(0, min(at - MOST // 2, len(values) - MOST))
    return values[first : first + MOST]


def _cells(search: Any, numbers: list[int]) -> dict[int | None, str]:
    """Cells by number: the better, the stronger the colour."""
    scoring, column = _scoring(search), search.cv_results_[_column(search)]
    measure, found = measure_of(scoring), dict[int | None, str]()
    known = [float(column[number]) for number in numbers if np.isfinite(column[number])]
    worst, reach = min(known), max(max(known) - min(known), 1e-300)
    marks = {
        getattr(search, "simplest_index_", None): "simplest as good",
        search.best_index_: "choice",
    }
    for number in numbers:
        if not np.isfinite(column[number]):
            found[number] = (
                f'<td style="{_CELL};opacity:.5" title="not known, or ended early">–</td>'
            )
            continue
        strength = 0.06 + 0.84 * (float(column[number]) - worst) / reach
        look = f"{_CELL};background:rgba(11,95,165,{strength:.2f})" + (
            ";color:#fff" if strength > 0.7 else ""
        )
        mark = marks.get(number, "")
        look += f";outline:2px solid {_FRAMES[mark]}" if mark else ""
        value = shown_value(scoring, float(column[number]))
        found[number] = (
            f'<td style="{look}" title="{mark or measure.name}">{measure.label(value)}</td>'
        )
    return found


def _key(params: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(sorted((name, freeze(value)) for name, value in params.items()))


def _plain(name: str) -> str:
    """A parameter without the steps of a pipeline before it."""
    return name.rpartition("__")[2]


def _text(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
