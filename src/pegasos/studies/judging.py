"""Judge a printed number against a value, or a distribution of values, of our own."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from scipy.stats import t

from pegasos.studies.results import DIFFERS, EXACT, UNDECIDED, WITHIN_NOISE, JudgedNumber

Array = np.ndarray[Any, Any]

#: With 200 runs the ranks alone resolve 1 % at both ends; fewer runs need Student's t distribution.
RANKED_RUNS = 200


def judge(
    name: str,
    printed: str | float,
    ours: float | Sequence[float] | Array,
    *,
    rows: int | None = None,
    reason: str = "",
    note: str = "",
) -> JudgedNumber:
    """Compare a printed number with ours.

    A single value of ours comes from a deterministic protocol: it is exact if all printed digits
    agree (rounded or truncated), and differs otherwise. A sequence holds runs with different seeds:
    the verdict is "within noise" inside the central 95 % of their distribution, "undecided" between
    95 % and 99 % or with a single run, and "differs" beyond. The distribution is Student's t for
    the next run, or that of the ranks from 200 runs on.

    Parameters
    ----------
    name : str
        Identifier of the number.
    printed : str or float
        The number as printed; a string keeps trailing zeros, and with them the printed precision.
    ours : float or sequence of float
        Our value, or one value per seed.
    rows : int, optional
        Number of rows on which errors were counted: a printed error that is no multiple of 1/rows
        is flagged.
    reason : str, optional
        Why the number differs, if it does; dropped if the verdict is exact or within noise.
    note : str, optional
        Remark that is kept for any verdict.

    Returns
    -------
    JudgedNumber
        Both numbers with the verdict.

    See Also
    --------
    run_study : Run a whole protocol.

    Examples
    --------
    >>> judge("a", "0.043", 0.0432).verdict
    'exact'
    >>> judge("b", "0.2807", [0.279, 0.281, 0.2835], rows=2000).reason
    'impossible: 0.2807 is no multiple of 1/2000'
    """
    value, unit = float(printed), _last_digit(printed)
    values = np.atleast_1d(np.asarray(ours, dtype=np.float64))
    mean, is_single_run = float(values.mean()), np.ndim(ours) > 0 and len(values) == 1
    noise, low, high = None, None, None
    if np.ptp(values) == 0 and _same_digits(value, mean, unit) and not is_single_run:
        verdict = EXACT
    elif len(values) == 1:
        verdict = UNDECIDED if is_single_run else DIFFERS
    else:
        chance = tail_probability(value, values, unit / 2)
        verdict = WITHIN_NOISE if chance >= 0.05 else UNDECIDED if chance >= 0.01 else DIFFERS
        noise, (low, high) = float(values.std(ddof=1)), central_interval(values)
    is_possible = rows is None or _is_possible(value, unit, rows)
    impossible = "" if is_possible else f"impossible: {printed} is no multiple of 1/{rows}"
    kept = "" if verdict in (EXACT, WITHIN_NOISE) else reason
    words = "; ".join(part for part in (impossible, note, kept) if part)
    return JudgedNumber(name, value, mean, noise, verdict, words, low, high, len(values))


def tail_probability(printed: float, values: Array, half_unit: float = 0.0) -> float:
    """Return how often a further run would lie at least as far out as a printed number."""
    if len(values) >= RANKED_RUNS:
        below = np.sum(values <= printed + half_unit)
        above = np.sum(values >= printed - half_unit)
        return float(min(1.0, 2 * (min(below, above) + 1) / (len(values) + 1)))
    distance = max(0.0, abs(printed - float(values.mean())) - half_unit)
    if distance <= 1e-12:
        return 1.0
    scale = _next_run_scale(values)
    return float(2 * t.sf(distance / scale, len(values) - 1)) if scale > 0 else 0.0


def central_interval(values: Array) -> tuple[float, float]:
    """Return the central 95 % of the distribution of a further run."""
    if len(values) >= RANKED_RUNS:
        low, high = np.quantile(values, [0.025, 0.975])
        return float(low), float(high)
    reach = float(t.ppf(0.975, len(values) - 1)) * _next_run_scale(values)
    return float(values.mean()) - reach, float(values.mean()) + reach


def _next_run_scale(values: Array) -> float:
    """Return the scale of Student's t distribution of a further run."""
    return float(values.std(ddof=1)) * float(np.sqrt(1 + 1 / len(values)))


def _last_digit(printed: str | float) -> float:
    """Return the value of one unit of the last printed digit."""
    return 10.0 ** int(Decimal(str(printed)).as_tuple().exponent)


def _same_digits(printed: float, ours: float, unit: float) -> bool:
    """Return whether our value, rounded or truncated, is the printed number."""
    beyond = (ours - printed) * (1 if printed >= 0 else -1)
    slack = 1e-9 * unit
    return abs(beyond) <= unit / 2 + slack or -slack <= beyond < unit - slack


def _is_possible(printed: float, unit: float, rows: int) -> bool:
    """Return whether a count of errors in this many rows gives the printed number."""
    around = int(printed * rows)
    return any(_same_digits(printed, count / rows, unit) for count in (around, around + 1))
