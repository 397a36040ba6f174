"""Our learners beside others: splits and values by hand, noise as textbooks have it, time that is up, the command, the page."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import reference
from command_line import call, fine, messy, numbers, written
from pegasos import compare, report
from pegasos.metrics import Metric
from pegasos.program.comparing import LEARNERS, contest
from pegasos.program.comparing.advice import advice
from pegasos.program.comparing.learners import Fitted
from pegasos.program.comparing.resampled import holm, mean_interval, paired_p
from pegasos.program.records.comparisons import Contender, LeftOut

CHEAP = ["guess", "logistic", "linear"]


def rows(count: int = 120, seed: int = 0):
    """Two columns decide, one is noise; labels are words."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, 3)) * [1.0, 10.0, 100.0]
    return X, np.where(X[:, 0] + X[:, 1] / 10 + 0.5 * random.normal(size=count) > 0, "yes", "no")


def test_the_splits_and_values_are_those_of_scikit_learn_by_hand():
    X, y = rows()
    found = {
        each.name: each
        for each in compare(
            X, y, models=["logistic", "svc"], cv=4, repeats=2, random_state=3
        ).contenders
    }
    folds = [
        split
        for seed in (3, 4)
        for split in StratifiedKFold(4, shuffle=True, random_state=seed).split(X, y)
    ]
    for name, learner in (("logistic", LogisticRegression(max_iter=1000)), ("svc", SVC())):
        by_hand = 1 - cross_val_score(make_pipeline(StandardScaler(), learner), X, y, cv=folds)
        np.testing.assert_allclose(found[name].values, by_hand, atol=1e-12)
        assert found[name].value == pytest.approx(by_hand.mean())
    fitted = make_pipeline(StandardScaler(), SVC()).fit(X[folds[0][0]], y[folds[0][0]])
    assert found["svc"].bytes == pytest.approx(len(pickle.dumps(fitted)), rel=0.2)


def test_a_class_that_falls_into_one_fold_is_told_before_anything_is_fitted():
    X, y = rows(30)
    y = np.where(np.arange(30) == 7, "rare", "usual")
    with pytest.raises(
        ValueError, match=r"the 1 row of class 'rare' can be in one fold only.*more rows"
    ):
        compare(X, y, models=CHEAP, cv=3)
    groups = np.where(np.arange(30) < 10, 0, np.arange(30))
    with pytest.raises(ValueError, match="in more than one group"):
        compare(X, np.where(np.arange(30) < 10, "rare", "usual"), groups=groups, models=CHEAP, cv=3)


def test_noise_is_what_a_textbook_computes():
    random = np.random.default_rng(0)
    values, other = random.normal(size=10), random.normal(0.5, 1.0, size=10)
    expected = reference.corrected_resampled_t(values.tolist(), test_share=0.2)
    np.testing.assert_allclose(mean_interval(values, ratio=0.25), expected[:3])
    assert paired_p(values - other, 0.25) == pytest.approx(
        reference.corrected_resampled_t((values - other).tolist(), 0.2)[3]
    )
    assert paired_p(np.zeros(5), 0.25) == 1.0
    assert paired_p(np.ones(5), 0.25) == 0.0
    assert paired_p(np.array([1.0, np.nan]), 0.25) == 1.0
    assert math.isnan(mean_interval(np.array([1.0, np.nan]), 0.25)[1])
    assert holm([]) == []


def test_ours_are_tuned_within_each_training_part():
    X, y = rows(90)
    found = compare(X, y, models=["guess", "kernel", "linear"], cv=2, repeats=1)
    by_name = {each.name: each for each in found.contenders}
    assert by_name["linear"].choice.startswith("linear, λ = ")
    assert by_name["kernel"].choice.split(",")[0] in ("gaussian", "polynomial")
    assert found.contenders[-1].name == "guess"
    assert not found.contenders[-1].near
    assert [each.value for each in found.contenders] == sorted(
        each.value for each in found.contenders
    )
    best = found.best
    assert (best.behind, best.p, best.near) == (None, None, True)
    assert found.contenders[-1].behind == pytest.approx(found.contenders[-1].value - best.value)


def test_groups_stay_whole_and_weights_reach_those_who_take_them(monkeypatch):
    X, y = rows(120)
    groups, seen = np.arange(120) // 4, []

    def watching(train, task):
        seen.append((set(train.groups), train.weights))
        return LEARNERS["guess"].fit(train, task)

    learners = {
        "guess": replace(LEARNERS["guess"], fit=watching),
        "neighbours": LEARNERS["neighbours"],
    }
    monkeypatch.setattr("pegasos.program.comparing.LEARNERS", learners)
    found = compare(
        X, y, cv=3, repeats=2, groups=groups, sample_weight=np.where(y == "yes", 100.0, 1e-3)
    )
    assert found.grouped
    assert all(len(known) == 20 for known, _ in seen)
    assert all(weights.max() == 100.0 for _, weights in seen)
    assert {each.name: each.value for each in found.contenders}["guess"] == pytest.approx(
        (y == "no").mean(), abs=0.01
    )


@pytest.mark.parametrize("metric", ["roc-auc", "log-loss", "f1"])
def test_every_metric_works_for_everybody_who_can(metric):
    X, y = rows(60)
    models = [
        *(CHEAP[:2] if metric == "roc-auc" else CHEAP),
        "svc",
        "neighbours",
    ]  # a race by ROC AUC takes seconds
    found = compare(X, y, models=models, metric=metric, cv=2, repeats=1)
    assert [each.name for each in found.left_out] == (["svc"] if metric == "log-loss" else [])
    guess = next(each for each in found.contenders if each.name == "guess")
    expected = {"roc-auc": 0.5, "log-loss": math.log(2), "f1": 2 / (1 + 1 / (y == "yes").mean())}
    assert guess.value == pytest.approx(expected[metric], abs=0.1)
    assert found.best.name != "guess"
    assert all(each.low <= each.value <= each.high for each in found.contenders)


def test_frames_with_words_and_gaps_and_sparse_rows():
    table = messy(90)
    found = compare(
        table.drop("species"), table["species"].to_numpy(), models=CHEAP, cv=3, repeats=1
    )
    assert found.best.value < 0.4
    assert (found.features, found.classes) == (3, 3)
    X, y = rows(60)
    found = compare(sparse.csr_matrix(X), y, models=["guess", "boosting"], cv=2, repeats=1)
    assert [each.name for each in found.contenders] == ["guess"]
    assert found.left_out[0].reason.startswith("it failed: ")


def test_when_time_is_up_the_cheap_ones_are_there(monkeypatch):
    X, y = rows(60)
    clock = [0.0]

    def slow(train, task):
        clock[0] += 100.0
        return Fitted(LEARNERS["guess"].fit(train, task).model)

    learners = {
        "guess": LEARNERS["guess"],
        "logistic": LEARNERS["logistic"],
        "forest": replace(LEARNERS["forest"], fit=slow),
    }
    monkeypatch.setattr("pegasos.program.comparing.LEARNERS", learners)
    monkeypatch.setattr(contest.time, "monotonic", lambda: clock[0])
    found = compare(X, y, cv=3, repeats=2, max_time=150)
    assert {each.name for each in found.contenders} == {"guess", "logistic"}
    assert [(each.name, each.reason) for each in found.left_out] == [("forest", "time was up")]
    assert (found.repeats, found.asked) == (1, 2)
    monkeypatch.undo()
    alone = compare(X, y, models=["guess", "kernel"], cv=2, repeats=1, max_time=1e-6)
    assert [each.name for each in alone.contenders] == ["guess"]


def contender(
    name: str, value: float, p: float | None, ours: bool = False, predict: float = 1.0
) -> Contender:
    return Contender(
        name,
        name,
        ours,
        [value],
        value,
        value,
        value,
        None if p is None else value - 0.1,
        p,
        1.0,
        predict,
        1,
    )


def test_advice_says_so_where_ours_lose_and_where_nothing_helps():
    measure = compare(*rows(40), models=["guess"], cv=2, repeats=1).measure
    late = LeftOut("kernel", "kernel, tuned", "time was up")
    lost = advice(
        [contender("forest", 0.1, None), contender("kernel", 0.13, 0.01, ours=True)], [], measure
    )
    assert (
        lost
        == "Take forest: error 10.00 %; all others are worse by more than noise; ours lose here, kernel by 3.00 %."
    )
    half = advice(
        [contender("forest", 0.1, None), contender("linear", 0.13, 0.01, ours=True)],
        [late],
        measure,
    )
    assert half.endswith("ours lose here, linear by 3.00 % (kernel was not compared).")
    near = [
        contender("kernel", 0.1, None, ours=True, predict=9.0),
        contender("svc", 0.11, 0.6),
        contender("guess", 0.5, 0.0),
    ]
    assert (
        advice(near, [], measure)
        == "Take our kernel model: error 10.00 %; within noise of it: svc; of these svc predicts 9 times as fast."
    )
    useless = [contender("svc", 0.1, None), contender("guess", 0.11, 0.3)]
    assert advice(useless, [], measure).startswith(
        "Nothing beats always guessing by more than noise (error 10.00"
    )


def test_wrong_calls_say_what_is_wrong():
    X, y = rows(40)
    for call_, words in (
        (lambda: compare(X, y, models=["magic"]), "there is no 'magic'"),
        (lambda: compare(X, y, repeats=0), "repeats at least 1"),
        (lambda: compare(X, y[:5]), "there must be as many"),
        (lambda: compare(X, np.zeros(40, int)), "two classes are needed"),
        (lambda: compare(X, y, groups=np.zeros(40)), "there are 1 group"),
        (lambda: compare(np.where(X > 0, X, np.nan), y), "give a pandas or polars frame"),
        (
            lambda: compare(X, y, models=["svc"], metric=Metric("brier"), cv=2),
            "it has no probabilities",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            call_()


def test_compare_on_the_command_line(place):
    written(messy(60), Path("t.csv"))
    picked = [part for name in CHEAP for part in ("-m", name)]
    told = fine("compare", "t.csv", *picked, "--cv", "3", "--repeats", "1", "-o", "t.html")
    assert told.out.startswith("t.csv: 60 rows, 3 folds, 1 repeat, ")
    assert "always guessing" in told.out
    assert "linear, tuned: chose most often linear, λ = " in told.out
    assert "\nadvice: Take " in told.out
    page = Path("t.html").read_text(encoding="utf-8")
    for part in (
        "learners compared",
        "Best of ours: error",
        "corrected resampled t test",
        "1,000 rows",
    ):
        assert part in page
    asked = (
        "compare",
        "t.csv",
        *picked[:4],
        "--cv",
        "3",
        "--repeats",
        "2",
        "--json",
        "--metric",
        "f1-macro",
        "--seed",
    )
    answer, again, other = (fine(*asked, seed).json for seed in (1, 1, 2))
    assert answer["metric"] == "f1-macro"
    assert len(answer["contenders"][0]["values"]) == 6
    assert (
        again["contenders"][0]["values"]
        == answer["contenders"][0]["values"]
        != other["contenders"][0]["values"]
    )


def test_the_command_refuses_and_is_interrupted(place, monkeypatch):
    written(numbers(60), Path("t.csv"))
    assert "compare knows guess" in call("compare", "t.csv", "-m", "gess").err
    assert "Did you mean" in call("compare", "t.csv", "-m", "gess").err
    assert "compare knows the metrics" in call("compare", "t.csv", "--metric", "jaccard_macro").err
    assert "--max-time must be" in call("compare", "t.csv", "--max-time", "0").err
    assert call("compare", "t.csv", "-o", ".").code == 2
    numbers(60).with_columns(y=pl.lit("one")).write_csv("one.csv")
    assert call("compare", "one.csv").code == 3

    def pressed(train, task):
        raise KeyboardInterrupt

    monkeypatch.setitem(LEARNERS, "guess", replace(LEARNERS["guess"], fit=pressed))
    stopped = call("compare", "t.csv", "-o", "t.html")
    assert (stopped.code, Path("t.html").exists()) == (130, False)


def test_the_page_in_python():
    page = report(compare(*rows(60), models=["guess", "logistic"], cv=2, repeats=1))
    assert [table.name for table in page.tables()] == ["comparison"]
    assert len(page.tables()[0].rows) == 2
    drawn = page.charts()["comparison"]["data"]["values"]
    assert [(each["who"], each["near"]) for each in drawn] == [("logistic regression", True)]
    assert "Always guessing is far behind and not drawn." in page.html
