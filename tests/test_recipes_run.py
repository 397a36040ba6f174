"""Run the code blocks of docs/ecosystem.md and docs/coming_from_scikit_learn.md by section.

Sections that need a package that is not installed are skipped.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import sklearn

DOCS = Path(__file__).parents[1] / "docs"


def sections(page: str) -> dict[str, str]:
    """Return the code of each section of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return dict(re.findall(r"\n## ([^\n]+)\n(?:(?!\n## )[\s\S])*?```python\n([^`]*)```", text))


SECTIONS = sections("ecosystem.md")
COMING = sections("coming_from_scikit_learn.md")
#: The package that a section is about, and how to get it.
NEEDS = {"Charts": "altair", "Optuna": "optuna", "MLflow": "mlflow"}


@pytest.fixture
def names(request, tmp_path, monkeypatch):
    """Return the names that a section's code defines, run in a folder of its own."""
    title = request.param
    if title in NEEDS:
        pytest.importorskip(NEEDS[title], reason=f"this recipe needs: pip install {NEEDS[title]}")
    monkeypatch.chdir(tmp_path)
    found: dict[str, object] = {}
    with sklearn.config_context():
        exec(SECTIONS[title], found)
    return found


def about(title):
    return pytest.mark.parametrize("names", [title], indirect=True, ids=[title])


def test_every_section_with_code_is_tried():
    tried = {
        "Frames",
        "Weights and other metadata",
        "Searches, ensembles, curves",
        "Charts",
        "Named sets",
        "Optuna",
        "MLflow",
    }
    assert set(SECTIONS) == tried


@about("Frames")
def test_frames(names):
    sweep = names["sweep"]
    assert sweep.best_score_ > 0.85 and sweep.feature_names_in_.tolist() == [
        "age",
        "income",
        "city",
    ]
    assert (
        "onehotencoder__city_Oslo" in sweep.best_estimator_[:-1].transform(names["table"]).columns
    )


@about("Weights and other metadata")
def test_weights(names):
    assert names["scores"].shape == (5,) and names["scores"].min() > 0.85


@about("Searches, ensembles, curves")
def test_searches(names):
    assert (
        names["halving"].best_score_ > 0.85 and names["stack"].score(names["X"], names["y"]) > 0.9
    )
    assert names["importance"].min() > 0.05 and names["test"].shape == (2, 5)


@about("Charts")
@pytest.mark.xdist_group("charts")
def test_charts(names):
    assert (Path("moons.html")).stat().st_size > 10_000
    assert type(names["alarms"]).__name__ == "HConcatChart"


@about("Named sets")
def test_named_sets(names):
    assert names["digits"].data.shape == (1797, 64) and names["X"].shape == (500, 10)


@about("Optuna")
def test_optuna(names):
    study, best = names["study"], names["best"]
    assert (
        best.kernel.variance == study.best_params["kernel__variance"]
        and best.lam == study.best_params["lam"]
    )
    assert study.best_value < 0.1


@about("MLflow")
def test_mlflow(names):
    mlflow, run = names["mlflow"], names["run"]
    logged = mlflow.get_run(run.info.run_id)
    assert logged.data.metrics["best_cv_score"] > 0.9 > 1 - logged.data.metrics["baseline"]
    assert logged.data.tags["better_than_baseline"] == "True"
    children = mlflow.search_runs(filter_string=f"tags.mlflow.parentRunId = '{run.info.run_id}'")
    assert len(children) == 4
    files = {each.path for each in mlflow.MlflowClient().list_artifacts(run.info.run_id)}
    assert files == {"report.html", "best.model"}
    assert np.mean(names["again"].predict(names["X"]) == names["y"]) > 0.9


@pytest.mark.parametrize("title", COMING)
def test_coming_from_scikit_learn(title: str) -> None:
    """The blocks assert the values that they show."""
    assert "assert " in COMING[title]
    exec(COMING[title], {})


def test_coming_from_scikit_learn_maps_six_classes() -> None:
    classes = {"SVC", "LinearSVC", "LogisticRegression", "SGDClassifier", "Perceptron"}
    assert set(COMING) == {*classes, "GridSearchCV"}
