"""Test the wording of docstrings, messages and documents: plain English, one term per concept."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(
    path
    for folder in ("src", "studies", "benchmarks", "docs", "web")
    for path in (ROOT / folder).rglob("*.py")
    if "gallery" not in path.parts
)
DOCUMENTS = [*sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("*.md"))]

#: First words of docstrings that depend on a neighbor or name nothing.
FIRST_WORDS = re.compile(r"(The same|What|Who|Whoever|Those|Whatever|One that|It )\b")
#: Phrases that treat data as people, or that have a plainer form (see CONTRIBUTING.md).
PHRASES = re.compile(
    r"\b(nobody|somebody|whoever|whom|told|foretold|foretell|take heart|lose heart|worth while"
    r"|who (?:is|are|has|have|asks|needs|wants|shares)|is had|are had|rests on"
    r"|guessing|deviations? over folds|columns? of words|as it is written)\b",
    re.IGNORECASE,
)


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each string constant of a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def docstrings(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the docstring of every definition in a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "name", "module"), text


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_docstrings_and_messages_are_plain(path: Path) -> None:
    odd = [f"{name}: {text[:80]}" for name, text in docstrings(path) if FIRST_WORDS.match(text)]
    odd += [
        f"line {line}: {found[0]}"
        for line, text in strings(path)
        for found in [PHRASES.search(text)]
        if found
    ]
    assert odd == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_documents_are_plain(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [
        f"{number}: {line}" for number, line in enumerate(lines, 1) if PHRASES.search(line)
    ] == []


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("README.md", 600, 900),
        ("docs/architecture.md", 500, 2500),
        ("docs/benchmarks.md", 200, 1500),
        ("docs/studies.md", 500, 2500),
    ],
)
def test_documents_keep_their_length(name: str, least: int, most: int) -> None:
    assert least <= len((ROOT / name).read_text(encoding="utf-8").split()) <= most
