"""Test that documents name existing modules, folders, files and recipes."""

from __future__ import annotations

import doctest
import importlib
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PASSED = re.findall(
    r"(?:^    |-> )((?:program|search|learners|engine)(?:\.\w+)+)", ARCHITECTURE, flags=re.MULTILINE
)


@pytest.mark.parametrize("name", dict.fromkeys(PASSED))
def test_the_journeys_pass_functions_that_exist(name: str) -> None:
    parts, thing = name.split("."), None
    for length in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(["pegasos", *parts[:length]]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            thing = getattr(thing, attribute)
        break
    assert callable(thing)


def test_there_are_four_journeys() -> None:
    assert len(PASSED) >= 40


@pytest.mark.parametrize(
    "path",
    dict.fromkeys(
        re.findall(r"`((?:src/|tests/|docs/|benchmarks/)[\w./]+)`", ARCHITECTURE + CONTRIBUTING)
    ),
)
def test_files_that_the_documents_name_exist(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize(
    "path",
    dict.fromkeys(re.findall(r"`((?:engine|learners|search|program)/[\w./]*)`", ARCHITECTURE)),
)
def test_parts_of_the_package_that_the_architecture_names_exist(path: str) -> None:
    assert (ROOT / "src" / "pegasos" / path).exists()


@pytest.mark.slow
def test_the_tutorial_runs(tmp_path, monkeypatch) -> None:
    """Run its Python blocks and commands in order."""
    from command_line import fine

    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    parts = re.findall(r"```python\n([^`]*)```|(?:^|\n)    pegasos ([^\n]*)", text)
    assert len(parts) == 10
    for code, command in parts:
        if code:
            exec(code, names)
        else:
            fine(*shlex.split(command))
    assert (tmp_path / "calls.csv").read_text().startswith("customer_id,label,p_churned,p_stayed\n")
    assert names["sweep"].out_of_fold_metric().better  # type: ignore[attr-defined]


def read_examples(page: Path) -> doctest.DocTest:
    """Return the examples of all `pycon` blocks of a page as one doctest."""
    lines, in_block = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            in_block = line == "```pycon"
            line = ""
        lines.append(line if in_block else "")
    return doctest.DocTestParser().get_doctest("\n".join(lines), {}, page.name, str(page), 0)


@pytest.mark.parametrize("name", ["course.md", "model_files.md", "theory.md", "why.md"])
def test_examples_of_a_page_run(name: str) -> None:
    examples = read_examples(ROOT / "docs" / name)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    results = doctest.DocTestRunner(optionflags=flags).run(examples)
    assert results.attempted > 0 and results.failed == 0
