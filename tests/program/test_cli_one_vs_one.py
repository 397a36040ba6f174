"""--multiclass one-vs-one: train, tune, evaluate, predict, explain and export."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_wine

from command_line import call, fine
from pegasos.program.modelfile import load

OPTIONS = ("--kernel", "linear", "--lam", "0.01")


@pytest.fixture
def wine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = load_wine(return_X_y=True)
    names = np.array(["red", "rose", "white"])[y]
    pl.DataFrame(X, schema=[f"x{k}" for k in range(13)]).with_columns(label=names).write_csv(
        "w.csv"
    )
    return "w.csv"


def test_train_and_use(wine):
    options = ("-m", "sdca-logistic", "--multiclass", "one-vs-one", *OPTIONS)
    fine("train", wine, *options, "-o", "w.model")
    learner = load("w.model").steps[-1][1]
    assert (learner.multiclass, learner.coef_.shape) == ("one-vs-one", (3, 13))
    assert "--multiclass one-vs-one" in fine("show", "w.model").out
    fine("evaluate", "w.model", wine, "--metric", "log-loss")
    fine("predict", "w.model", wine, "--what", "probabilities", "-o", "p.csv")
    p = pl.read_csv("p.csv")
    assert p.columns == ["label", "p_red", "p_rose", "p_white"]
    assert np.allclose(p.select(p.columns[1:]).to_numpy().sum(axis=1), 1.0)
    fine("explain", "w.model", wine)
    told = fine("export", "w.model", "w.onnx", "--check", wine, "--json").json
    assert told["checked"]["labels"] == 0
    assert told["checked"]["probabilities"] < 1e-9
    fine("report", "w.model")


def test_tune_compares_both_ways(wine):
    both = ("--multiclass", "one-vs-rest,one-vs-one", "-m", "sdca", *OPTIONS)
    found = fine("tune", wine, *both, "--json").json
    ways = [dict(cell["setting"]["options"]).get("multiclass") for cell in found["cells"]]
    assert sorted(ways, key=str) == [None, "one-vs-one"]


def test_shrink_is_refused(wine):
    fine(
        "train",
        wine,
        "-m",
        "sdca",
        "--multiclass",
        "one-vs-one",
        "--kernel",
        "gaussian",
        "-o",
        "k.model",
    )
    fine("explain", "k.model", wine)
    answer = call("shrink", "k.model", wine, "-o", "small.model")
    assert answer.code != 0
    assert "one-vs-one model cannot be shrunk" in answer.err


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("-m", "sdca", "--multiclass", "ovo"), "--multiclass must be one-vs-rest or one-vs-one"),
        (("-m", "pegasos", "--multiclass", "one-vs-one"), "--multiclass does not apply to pegasos"),
        (
            ("-m", "sdca", "--multiclass", "one-vs-one", "--workers", "2"),
            "--multiclass one-vs-one needs all rows at once",
        ),
    ],
)
def test_refused(wine, options, why):
    answer = call("train", wine, *options)
    assert answer.code == 2
    assert why in answer.err
