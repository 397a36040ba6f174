"""Which column of a new table is which feature of a model."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence

from pegasos.program.errors import BadModel

_NAMED_AT_MOST = 20


def match_columns(wanted: Sequence[str], given: Sequence[str]) -> list[int]:
    """Where in `given` each of the `wanted` names stands; the order and further columns do not matter.

    >>> match_columns(["age", "height"], ["height", "name", "age"])
    [2, 0]
    """
    places = {name: place for place, name in enumerate(given)}
    counts = Counter(given)
    missing = [name for name in wanted if name not in places]
    if missing:
        told = ", ".join(_with_near(name, given) for name in missing[:_NAMED_AT_MOST])
        rest = f" and {len(missing) - _NAMED_AT_MOST} more" if len(missing) > _NAMED_AT_MOST else ""
        raise BadModel(f"the table lacks {len(missing)} of the model's {len(wanted)} columns: {told}{rest}. Add or rename them.")
    twice = [name for name in wanted if counts[name] > 1]
    if twice:
        raise BadModel(
            f"the table has more than one column named {', '.join(map(repr, twice[:_NAMED_AT_MOST]))}; keep one of each."
        )
    return [places[name] for name in wanted]


def _with_near(name: str, given: Sequence[str]) -> str:
    near = difflib.get_close_matches(name.casefold(), {other.casefold(): other for other in given}, n=1)
    found = [other for other in given if near and other.casefold() == near[0]]
    return f"{name!r} (the table has {found[0]!r})" if found else repr(name)
