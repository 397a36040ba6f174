"""Walk through a messy table of 20,000 rows on the command line and in a notebook."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from command_line import Answer, fine

DOCS = Path(__file__).parents[2] / "docs"
WALK = (DOCS / "walk.md").read_text(encoding="utf-8")
CODE = re.findall(r"```python\n([^`]*)```", WALK)
COMMANDS = re.findall(r"(?:^|\n)    pegasos ([^\n]*)", WALK)
#: Of all that is known of a customer, this tells who leaves.
TELLING = {"calls", "contract", "tenure", "monthly"}


def _in_another_process(*arguments: str) -> Answer:
    done = subprocess.run(
        [sys.executable, "-m", "pegasos", *arguments],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Answer(done.returncode, done.stdout, done.stderr)


def _taken(command: str) -> Answer:
    words = shlex.split(command)
    return _in_another_process(*words) if words[0] == "predict" else fine(*words)


@pytest.mark.slow
def test_the_walk_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(CODE) == 1
    exec(CODE[0], {})
    described, of_commas, tuned, explained, exported, predicted, judged = [
        _taken(command) for command in COMMANDS
    ]
    for said in (described.err, of_commas.err, tuned.err):
        assert "customer_id is excluded as a likely ID" in said
        assert "dates in since: read as days since 1970-01-01" in said
        assert "constant columns carry no information: country" in said
        assert "300 rows are exact repeats" in said
    assert of_commas.err.startswith("commas are read as decimal points in monthly\n")
    assert described.out.splitlines()[1:] == of_commas.out.splitlines()[1:]
    assert "always predicting 'stayed' has an error of 7.96 %" in described.out
    assert (
        "baseline: constant scores: 0.07963" in tuned.out
        and "is no better than the baseline" not in tuned.out
    )
    assert "probabilities: " in tuned.out and "for recall >= 0.6" in tuned.out
    table = explained.out.partition("permuted column")[2].splitlines()[1:8]
    assert {line.split()[0] for line in table[:4]} == TELLING
    assert "checked: 20000 rows, 0 labels differ" in exported.out
    assert predicted.err == "20000 rows: calls.csv\n"
    assert "All of these rows were used in training" in judged.out
    _check_calls(pl.read_csv("calls.csv"), pl.read_csv("churn.csv"))


def _check_calls(calls: pl.DataFrame, table: pl.DataFrame) -> None:
    """Check that identifiers are kept and that probabilities match observed rates."""
    assert calls.columns == ["customer_id", "label", "p_churned", "p_stayed"]
    assert calls["customer_id"].equals(table["customer_id"])
    left = (table["status"] == "churned").to_numpy()
    found = (calls["label"] == "churned").to_numpy()
    assert np.mean(found[left]) == pytest.approx(0.6, abs=0.05)
    assert calls["p_churned"].mean() == pytest.approx(left.mean(), abs=0.005)


@pytest.mark.slow
def test_the_walk_in_a_notebook(tmp_path: Path) -> None:
    nbformat = pytest.importorskip(
        "nbformat", reason="notebooks need: pip install nbclient nbformat ipykernel"
    )
    client = pytest.importorskip(
        "nbclient", reason="notebooks need: pip install nbclient nbformat ipykernel"
    )
    notebook = nbformat.read(DOCS / "walk.ipynb", as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert cells[0].source == CODE[0].rstrip()  # the same table
    assert not any(cell.outputs for cell in cells)  # what was measured once is no news
    client.NotebookClient(
        notebook,
        timeout=900,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
    told = "".join(output.get("text", "") for output in cells[1].outputs)
    assert (
        "customer_id is excluded as a likely ID" in told
        and "commas are read as decimal points" in told
    )
    _check_notebook(notebook)


def _check_notebook(notebook) -> None:
    """Check the last lines of the output of each cell."""
    shown = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.output_type == "execute_result":
                shown[cell.source.splitlines()[-1]] = output.data["text/plain"]
    assert "better=True" in shown["figure"]
    brier, baseline, recall = _numbers(shown["brier, baseline, recall"])
    assert brier < 0.95 * baseline
    assert recall == pytest.approx(0.6, abs=0.08)
    ours, boosting = _numbers(shown["ours, boosting"])
    assert ours > boosting
    names = re.findall(r"'(\w+)':", shown["importance"])
    assert set(names[:4]) == TELLING
    assert _numbers(shown["other_process"]) == [0.0]
    labels, probabilities = _numbers(shown["onnx_labels, onnx_probabilities"])
    assert labels == 0 and probabilities < 1e-5


def _numbers(text: str) -> list[float]:
    """Return the numbers of a line, with or without NumPy's type in their repr."""
    return [float(each) for each in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?", text)]
