"""Studies by name: those of this folder, and files of one's own."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from pathlib import Path
from typing import Any

from pegasos.program import published
from pegasos.program.studies.study import Study
from pegasos.program.tables.messages import near, shown


def study_names() -> list[str]:
    """The names of all studies of the package."""
    return sorted(each.name for each in pkgutil.iter_modules(published.__path__) if not each.name.startswith("_"))


def known_studies() -> list[Study]:
    """All studies of the package."""
    return [_study_of(importlib.import_module(f"{published.__name__}.{name}"), name) for name in study_names()]


def find_study(name: str) -> Study:
    """The study of this name, or the one in this file, whose Python is run: it is the user's own program."""
    if name in study_names():
        return _study_of(importlib.import_module(f"{published.__name__}.{name}"), name)
    path = Path(name)
    if path.suffix != ".py":
        raise ValueError(f"there is no study {shown(name)}.{near(name, study_names())} `pegasos study list` shows all of them.")
    if not path.is_file():
        raise ValueError(f"the file {shown(name)} does not exist. `pegasos study new {name} --data DATA` writes one.")
    spec = importlib.util.spec_from_file_location(f"study_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return _study_of(module, name)


def _study_of(module: Any, name: str) -> Study:
    found = getattr(module, "STUDY", None)
    if not isinstance(found, Study):
        raise ValueError(f"{shown(name)} has no STUDY: a file of a study ends with STUDY = Study(...).")
    return found
