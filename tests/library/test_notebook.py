"""Test the display in notebooks: a fitted sweep as a table, and progress as one output."""

from __future__ import annotations

import io
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pegasos import SDCA, Pegasos, SweepCV, load_set
from pegasos.kernels import Gaussian
from pegasos.search.display import SHOWN_SETTINGS, Progress

X, Y = load_set("moons", rows=90, return_X_y=True)
LAMS = [1e-3, 1e-2, 1e-1]


class Shown(HTMLParser):
    """Cells of tables, and all text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html.partition("<details>")[0])

    def handle_starttag(self, tag, attributes):
        if tag == "td":
            self.cells.append("")
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if self.open and self.open[-1] == "td":
            self.cells[-1] = data


def test_a_fitted_sweep_shows_its_choice_and_the_best_settings():
    grid = {"kernel": [Gaussian(0.3), Gaussian(3.0)], "lam": LAMS, "n_iter": [50, 200]}
    sweep = SweepCV(Pegasos(random_state=0), grid, cv=3).fit(X, Y)
    shown = Shown(sweep._repr_html_())
    rows = [shown.cells[start : start + 5] for start in range(0, 12 * 5, 5)]
    assert len(shown.cells) == 12 * 5 and shown.open == ["div"]
    (choice,) = [row[3] for row in rows if row[4] == "choice"]
    values = [float(row[3]) for row in rows]
    np.testing.assert_allclose(
        values, 100 * (1 - np.sort(sweep.cv_results_["mean_test_score"])[::-1]), atol=0.06
    )
    assert rows[0][0] == repr(sweep.best_params_["kernel"])
    assert float(choice) == pytest.approx(100 * (1 - sweep.best_score_), abs=0.06)
    for words in (
        "12 settings on 3 folds",
        f"lam={sweep.best_params_['lam']:g}",
        "baseline 50.00",
    ):
        assert words in shown.text
    assert Shown(sweep._repr_mimebundle_()["text/html"]).cells == shown.cells
    assert "sk-top-container" in sweep._repr_html_().partition("<details>")[2]


def test_without_a_fit_it_is_scikit_learn_s_diagram():
    sweep = SweepCV(SDCA(), {"lam": LAMS})
    assert (
        "<details><summary>the estimator" not in sweep._repr_html_()
        and "sk-top-container" in sweep._repr_html_()
    )
    with sklearn.config_context(display="text"):
        assert not hasattr(sweep.fit(X, Y), "_repr_html_") and set(sweep._repr_mimebundle_()) == {
            "text/plain"
        }
    assert "choice" in sweep._repr_html_()


def test_a_useless_model_is_called_that():
    noise = np.random.default_rng(0).integers(0, 2, len(X))
    assert (
        "no better than the baseline"
        in SweepCV(SDCA(), {"lam": [1.0]}, cv=3).fit(X, noise)._repr_html_()
    )


@pytest.mark.parametrize("scoring", ["roc_auc", "balanced-error", ["accuracy", "f1"]])
def test_scores_of_other_kinds(scoring):
    sweep = SweepCV(
        SDCA(),
        {"lam": LAMS},
        cv=3,
        scoring=scoring,
        refit="f1" if isinstance(scoring, list) else True,
    ).fit(X, Y)
    name = "f1" if isinstance(scoring, list) else scoring
    assert name in Shown(sweep._repr_html_()).text
    without = SweepCV(SDCA(), {"lam": LAMS}, cv=3, scoring=["accuracy", "f1"], refit=False).fit(
        X, Y
    )
    assert "choice" not in without._repr_html_()


def test_only_the_best_are_shown_and_names_are_escaped():
    steps = make_pipeline(StandardScaler(), SDCA())
    sweep = SweepCV(steps, {"sdca__lam": np.logspace(-4, 0, 2 * SHOWN_SETTINGS)}, cv=2).fit(
        X, np.where(Y == 1, "<b>", "&")
    )
    shown = Shown(sweep._repr_html_())
    assert len(shown.cells) == 3 * SHOWN_SETTINGS and "choice" in shown.cells
    assert "lam=" in shown.text and "sdca__lam" not in shown.text


class FakeStream(io.StringIO):
    """Stream that imitates the standard error of a notebook."""

    __module__ = "ipykernel.iostream"

    def isatty(self) -> bool:
        return False


def test_progress_in_a_notebook_is_a_bar_that_changes(monkeypatch):
    monkeypatch.setattr(sys, "stderr", FakeStream())
    progress = Progress(True)
    progress.expect(100, "100 fits, about 3 s")
    for _ in range(100):
        progress.advance(1, "a unit", 0.5)
    texts = sys.stderr.getvalue().split("\r")
    assert texts[0] == "100 fits, about 3 s\n" and len(texts) < 20
    assert re.search(r"100/100 fits, best score 0.5000", texts[-1])
    progress.close()
    assert sys.stderr.getvalue().endswith(" \r")


@pytest.mark.slow
def test_a_notebook_keeps_one_line_of_progress_and_the_table():
    nbformat = pytest.importorskip(
        "nbformat", reason="notebooks need: pip install nbclient nbformat ipykernel"
    )
    client = pytest.importorskip(
        "nbclient", reason="notebooks need: pip install nbclient nbformat ipykernel"
    )
    code = (
        "from pegasos import SDCA, SweepCV, load_set\n"
        "X, y = load_set('moons', rows=200, return_X_y=True)\n"
        "SweepCV(SDCA(kernel='gaussian'), {'lam': [10.0**-k for k in range(1, 7)]}, verbose=1).fit(X, y)"
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    client.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    outputs = notebook.cells[0].outputs
    assert "30/30 fits, best score 0." in outputs[0].text
    (shown,) = [each for each in outputs if each.output_type == "execute_result"]
    assert "6 settings on 5 folds" in shown.data["text/html"]
