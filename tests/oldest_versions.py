"""Print constraints for the oldest declared versions of all dependencies, for `pip install -c`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

DECLARED = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,]+\])?>=(?P<version>[\w.]+)")


def oldest(project: dict[str, object], extras: tuple[str, ...]) -> list[str]:
    """A line `name==version` for each dependency of the package and of these extras.

    >>> oldest(
    ...     {
    ...         "dependencies": ["numpy>=2.0"],
    ...         "optional-dependencies": {"app": ["pegasos[x]", "polars>=1.0"]},
    ...     },
    ...     ("app",),
    ... )
    ['numpy==2.0', 'polars==1.0']
    """
    optional = project["optional-dependencies"]
    assert isinstance(optional, dict)
    needed = [*project["dependencies"], *(each for extra in extras for each in optional[extra])]  # type: ignore[misc]
    found = [DECLARED.match(each) for each in needed if not each.startswith("pegasos[")]
    return [f"{each['name']}=={each['version']}" for each in found if each is not None]


if __name__ == "__main__":
    with (Path(__file__).parents[1] / "pyproject.toml").open("rb") as file:
        print(
            "\n".join(
                oldest(tomllib.load(file)["project"], ("app", "hdf5", "dask", "onnx", "plot"))
            )
        )
