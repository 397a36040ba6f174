"""Cells as a grid over two axes: which axes there are, which two come first, and the rows of the charts.

The page does the same in its own script (assets/explorer.js) whenever a reader picks other axes.
"""

from __future__ import annotations

import re
from typing import Any

Cell = dict[str, Any]

_TITLES = {"lam": "λ", "n_iter": "T (steps)", "epochs": "epochs", "C": "C", "expand": "degree of expansion"}
#: What stands across, and what down, where both vary.
_ACROSS = ("n_iter", "epochs", "T")
_NONE = "–"


def title_of(name: str) -> str:
    """What an axis is called."""
    return _TITLES.get(name, name)


def axes_of(cells: list[Cell]) -> list[dict[str, Any]]:
    """The parameters that vary, λ and numbers of steps first; each with its values in order, as text and as numbers."""
    names = dict.fromkeys(name for cell in cells for name in cell["params"])
    costs = {("lam", cell["params"].get("lam")): cost_text(cell) for cell in cells}
    found = []
    for name in names:
        values = list(dict.fromkeys(cell["params"].get(name) for cell in cells))
        if len(values) < 2:
            continue
        numeric = all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values)
        if numeric:
            values.sort(key=lambda value: (value is None, value or 0))
        elif name == "kernel":
            values.sort(key=_kernel_order)
        found.append(
            {
                "name": name,
                "title": _TITLES.get(name, name),
                "numeric": numeric,
                "labels": [value_text(name, value) + costs.get((name, value), "") for value in values],
                "numbers": values if numeric else None,
                "values": values,
            }
        )
    rank = {"lam": 0, "n_iter": 1, "epochs": 2}
    return sorted(found, key=lambda axis: rank.get(axis["name"], 3 if axis["numeric"] else 4))


def cost_text(cell: Cell) -> str:
    """The C that stands beside a λ, where it is known."""
    return f" (C {cell['C']:.3g})" if cell.get("C") else ""


def value_text(name: str, value: Any) -> str:
    """A value as it stands on an axis."""
    if value is None:
        return _NONE
    if isinstance(value, float):
        return number_text(value)
    return short_kernel(str(value)) if name == "kernel" else str(value)


def number_text(value: float) -> str:
    """1e-5 instead of 1e-05, and 1e-4 instead of 0.0001: exponents are read faster than zeros."""
    if 0 < abs(value) < 0.001:
        digits, _, power = f"{value:.2e}".partition("e")
        return f"{float(digits):g}e{int(power)}"
    return re.sub(r"e([+-])0*(\d)", lambda found: "e" + found[1].replace("+", "") + found[2], f"{value:.3g}")


def short_kernel(text: str) -> str:
    """Gaussian(variance=2.0) is gaussian 2; a constant of 1 is not told."""
    found = re.fullmatch(r"(\w+)\((.*)\)", text)
    if found is None:
        return text
    values = [part.partition("=")[2].strip("'\"") for part in found[2].split(", ") if part and part != "coef0=1.0"]
    return " ".join([found[1].lower(), *(re.sub(r"\.0$", "", value) for value in values)])


def _kernel_order(value: Any) -> tuple[bool, str, list[float]]:
    """linear first, then by name, then by numbers; a width of "scale" counts as 1."""
    text = str(value)
    numbers = [float(number) for number in re.findall(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?", text)]
    return text != "linear", text.split("(")[0], numbers or [1.0]


def first_axes(cells: list[Cell], axes: list[dict[str, Any]], anchor: Cell) -> tuple[str, str]:
    """T across and λ down where both vary around the anchor; else what varies, numbers first; "" where nothing does."""
    numeric = [axis["name"] for axis in axes if axis["numeric"]]
    words = [axis["name"] for axis in axes if not axis["numeric"]]
    near = [cell for cell in cells if all(cell["params"].get(name) == anchor["params"].get(name) for name in words)]
    varying = [name for name in numeric if len({cell["params"].get(name) for cell in near}) > 1]
    if len(varying) >= 2:
        across = next((name for name in varying if name in _ACROSS), varying[1])
        down = next(name for name in varying if name != across)
        return across, down
    same = [cell for cell in cells if cell["params"].get("model") == anchor["params"].get("model")]
    rest = [name for name in ("kernel", *words) if name in words and len({cell["params"].get(name) for cell in same}) > 1]
    order = list(dict.fromkeys([*varying, *rest, *words]))
    return (order[0] if order else ""), (order[1] if len(order) > 1 else "")


def picked(cells: list[Cell], axes: list[dict[str, Any]], anchor: Cell, across: str, down: str) -> list[Cell]:
    """The cells that equal the anchor in all but these two axes."""
    rest = [axis["name"] for axis in axes if axis["name"] not in (across, down)]
    return [cell for cell in cells if all(cell["params"].get(name) == anchor["params"].get(name) for name in rest)]


def families(cells: list[Cell], axes: list[dict[str, Any]], better: float, most: int = 12) -> list[Cell]:
    """The best cell of each combination of words (model, kernel, ...), the best first."""
    words = [axis["name"] for axis in axes if not axis["numeric"]]
    firsts: dict[Any, Cell] = {}
    for cell in sorted((cell for cell in cells if cell["value"] is not None), key=lambda cell: better * cell["value"]):
        firsts.setdefault(tuple(cell["params"].get(name) for name in words), cell)
    return list(firsts.values())[:most]


def told(value: float | None, measure: str) -> str:
    """A value in words."""
    if value is None:
        return "not known"
    return f"{100 * value:.2f}\u00a0%" if measure == "error" else f"{value:.4g}"


def setting(cell: Cell) -> str:
    """A cell in one line."""
    parts = []
    words = [name for name, value in cell["params"].items() if isinstance(value, str)]
    for name in dict.fromkeys([*words, *cell["params"]]):
        value = cell["params"][name]
        if value is None:
            continue
        text = value_text(name, value) + (cost_text(cell) if name == "lam" else "")
        parts.append(text if name in ("model", "kernel") else f"{_TITLES.get(name, name).split(' ')[0]} = {text}")
    return ", ".join(parts)


def heat_rows(
    shown: list[Cell], axes: list[dict[str, Any]], across: str, down: str, found: dict[str, Any], field: str = "value"
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Rows and settings of charts.heat, coloured over all of the cells shown."""
    measure = found["measure"]
    known = [cell[field] for cell in shown if cell.get(field) is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    logarithmic = low > 0 and high / low > 5
    places = {axis["name"]: axis["values"] for axis in axes}
    rows = []
    for cell in shown:
        value = cell.get(field)
        if value is None:
            continue
        shade = _share(value, low, high, logarithmic)
        x, y = cell["params"].get(across), cell["params"].get(down)
        mark = (
            found.get("best_mark", "choice")
            if cell["cell"] == found["best"]
            else "one standard error"
            if cell["cell"] == found["simplest"]
            else ""
        )
        rows.append(
            {
                "cell": cell["cell"],
                "x": value_text(across, x) if across else _NONE,
                "y": value_text(down, y) if down else _NONE,
                "xr": places[across].index(x) if across else 0,
                "yr": places[down].index(y) if down else 0,
                "shade": round(shade if measure == "error" else 1 - shade, 4),
                "label": label(value, measure),
                "told": told(value, measure),
                "spread": "" if cell.get("std") is None else "± " + told(cell["std"], measure),
                "mark": mark,
                "setting": setting(cell),
                "spoken": f"{setting(cell)}: {told(value, measure)}",
            }
        )
    columns = len({row["x"] for row in rows})
    view = {"low": low, "high": high, "logarithmic": logarithmic, "columns": False, "percent": measure == "error"}
    return rows, {**view, **sizes(columns, len({row["y"] for row in rows}), rows), "measure": measure}


def sizes(columns: int, lines: int, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Steps of the grid in pixels; beyond 24 columns numbers would not be read, and are left out."""
    if columns > 24:
        for row in rows:
            row["label"] = ""
    long = max((len(row["x"]) for row in rows), default=0) > 7
    return {
        "across": 52 if columns <= 12 else 40 if columns <= 24 else 16,
        "down": 32 if lines <= 12 else 26 if lines <= 30 else 16,
        "angle": -40 if long or columns > 12 else 0,
    }


def label(value: float, measure: str) -> str:
    """The number in a cell: an error in percent without its sign, which the title tells."""
    if measure == "error":
        return f"{100 * value:.2f}" if value < 0.0995 else f"{100 * value:.1f}"
    return f"{value:.3f}".replace("0.", ".", 1) if 0 <= value < 1 else f"{value:.3g}"


def _share(value: float, low: float, high: float, logarithmic: bool) -> float:
    from math import log

    if high <= low:
        return 0.0
    return log(value / low) / log(high / low) if logarithmic else (value - low) / (high - low)


def line_rows(
    shown: list[Cell], axes: list[dict[str, Any]], along: str, other: str, found: dict[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, Any]] | None:
    """Rows and settings of charts.lines; None where the axis has no numbers or only one."""
    axis = next((each for each in axes if each["name"] == along and each["numeric"]), None)
    known = [cell for cell in shown if cell["value"] is not None and cell["params"].get(along) is not None]
    if axis is None or len({cell["params"][along] for cell in known}) < 2:
        return None
    places = {each["name"]: each["values"] for each in axes}
    at = [cell["params"][along] for cell in known]
    values = [cell["value"] for cell in known]
    logarithmic = min(values) > 0 and max(values) / min(values) > 5
    rows = []
    for cell in known:
        value, std, line = cell["value"], cell.get("std") or 0.0, cell["params"].get(other)
        rows.append(
            {
                "at": cell["params"][along],
                "line": value_text(other, line) if other else "all",
                "order": places[other].index(line) if other else 0,
                "value": value,
                "low": max(value - std, value / 10) if logarithmic else value - std,
                "high": value + std,
                "told": told(value, found["measure"]),
                "spread": "" if cell.get("std") is None else "± " + told(cell["std"], found["measure"]),
                "setting": setting(cell),
            }
        )
    view = {"logarithmic_x": min(at) > 0 and max(at) / min(at) > 20, "logarithmic": logarithmic, "at": _ticks(at)}
    return rows, {**view, "percent": found["measure"] == "error", "measure": found["measure"]}


def _ticks(at: list[float]) -> list[float] | None:
    """The values themselves where they are few."""
    values = sorted(set(at))
    return values if len(values) <= 12 else None
