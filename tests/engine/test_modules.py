"""Check that every module of the engine is imported by some test."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
ENGINE = TESTS.parent / "src" / "pegasos" / "engine"


def test_every_module_is_imported_by_a_test() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py"))
    imported = set(re.findall(r"from (pegasos\.engine[\w.]*) import", sources))
    for package, names in re.findall(r"from (pegasos\.engine[\w.]*) import ([\w, ]+)", sources):
        imported |= {f"{package}.{name.split(' as ')[0].strip()}" for name in names.split(",")}
    modules = {
        ".".join(["pegasos", "engine", *path.relative_to(ENGINE).with_suffix("").parts])
        for path in ENGINE.rglob("*.py")
        if path.name != "__init__.py"
    }
    assert modules - imported == set()
