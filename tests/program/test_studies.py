"""Studies: verdicts against noise, decodings, the runner and its files, and the declarations of the package on a few digits."""

import csv
import json
import math
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import pegasos.studies
from command_line import fine
from pegasos import SDCA, Pegasos, Perceptron
from pegasos.kernels import Gaussian, Polynomial
from pegasos.preprocessing import DropOutliers
from pegasos.program import app
from pegasos.program.jobs.study_runs import find_study, known_studies, study_names
from pegasos.program.published import _images as images
from pegasos.program.published._shared import printed_rows
from pegasos.program.records import codec
from pegasos.program.records.studies import Better, ExtraRecord, StudyRecord
from pegasos.program.studies.decoding import decode
from pegasos.program.studies.judging import DIFFERS, REPRODUCED, compare, judge
from pegasos.program.studies.results import Result, Results
from pegasos.program.studies.runner import Options, run_study
from pegasos.program.studies.template import template
from pegasos.program.tables.dataset import BadData, Dataset
from pegasos.program.tables.named_sets import load_set
from pegasos.search.settings import Setting
from pegasos.studies import (
    Check,
    Emulation,
    Experiment,
    Extra,
    Number,
    Study,
    folds,
    run,
    train_test,
)

PRINTED = {"usps_gaussian": 1, "usps_kernels": 4, "usps_iterations": 64}


def results_of(*errors, **tags):
    return Results([Result("e", seed, error, tags=tags) for seed, error in enumerate(errors)])


def small(name: str) -> Dataset:
    """A few digits of four classes instead of any set: every class is a column that walks as long as the study says."""
    dataset = load_set("digits")
    few = np.flatnonzero(dataset.y < 4)[:100]
    return Dataset(name, dataset.X[few], dataset.columns, y=dataset.y[few], image=(8, 8))


def tiny_study(**changes) -> Study:
    declared = {
        "name": "tiny",
        "title": "A tiny study",
        "data": "moons",
        "stand_in": None,
        "protocol": "Two experiments.",
        "experiments": (
            Experiment("one", Pegasos(n_iter=50), {"lam": [1e-3, 1e-1]}, folds(3), training=True),
            Experiment(
                "other",
                Pegasos(n_iter=50),
                {"lam": [1e-3]},
                train_test(0.3),
                decodings=("argmax", "first"),
            ),
        ),
    }
    return Study(**{**declared, **changes})


# -- verdicts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("printed", "verdict"),
    [(0.10, REPRODUCED), (0.115, REPRODUCED), (0.16, DIFFERS), (0.05, DIFFERS)],
)
def test_a_number_is_judged_against_the_noise_of_both_sides(printed, verdict):
    number = Number({}, printed, rows=1000, readings={"only": {"a": 1}})
    judged = compare(number, "only", results_of(0.09, 0.10, 0.11, a=1), tolerance=2.0)
    binomial = math.sqrt(0.1 * 0.9 / 1000)
    assert judged.noise == pytest.approx(math.hypot(0.01, binomial))
    assert judged.verdict == verdict


def test_one_seed_has_the_binomial_error_for_its_own():
    judged = compare(Number({}, 0.1, 1000, {"only": {"a": 1}}), "only", results_of(0.1, a=1), 2.0)
    assert judged.noise == pytest.approx(math.sqrt(2 * 0.1 * 0.9 / 1000))
    assert judged.spread is None
    assert judged.row()["spread"] is None


def test_no_mistakes_at_all_are_not_certain_either():
    judged = compare(
        Number({}, 0.001, 1000, {"only": {"a": 1}}), "only", results_of(0.0, 0.0, a=1), 2.0
    )
    assert judged.verdict == REPRODUCED


def test_a_group_is_judged_by_the_reading_that_fits_it_best():
    errors = {"a": 0.2, "b": 0.1}
    results = Results(
        [
            Result("e", 0, errors[name], tags={"reading": name, "n": n})
            for name in "ab"
            for n in (1, 2)
        ]
    )
    numbers = [
        Number({"n": n}, 0.1, 2000, {name: {"reading": name, "n": n} for name in "ab"})
        for n in (1, 2)
    ]
    judged, fits = judge(numbers, results, 2.0)
    assert [each.reading for each in judged] == ["b", "b"]
    assert [(fit.reading, fit.fitting, fit.chosen) for fit in fits] == [
        ("a", 0, False),
        ("b", 2, True),
    ]


def test_a_number_without_a_result_is_an_error_of_the_study():
    with pytest.raises(ValueError, match="no experiment gives"):
        compare(Number({}, 0.1, 10, {"only": {"a": 2}}), "only", results_of(0.1, a=1), 2.0)


def test_a_key_must_pick_one_result_a_seed():
    results = Results([Result("e", 0, 0.1, tags={"lam": lam}) for lam in (1, 2)])
    with pytest.raises(
        ValueError,
        match=r"more than one result a seed, such as tags=\{'lam': 1\} and tags=\{'lam': 2\}",
    ):
        results.mean(seed=0)


def test_a_result_is_found_by_what_it_is():
    steps = [
        ("scale", StandardScaler()),
        ("expand", PolynomialFeatures(2)),
        ("learn", Pegasos(lam=0.1, n_iter=50)),
    ]
    settings = {
        "linear": Setting.of(Pegasos(lam=0.1, n_iter=50)),
        "cubic": Setting.of(Pegasos(kernel=Polynomial(3), lam=0.1, n_iter=50)),
        "by name": Setting.of(Pegasos(kernel="gaussian", lam=0.3, epochs=2)),
        "averaged": Setting.of(Perceptron(epochs=3)),
        "last": Setting.of(Perceptron(epochs=3, average=False)),
        "sdca": Setting.of(SDCA(lam=0.1, max_epochs=7)),
        "squares": Setting.of(Pipeline(steps)),
        "nothing": Setting.of(Pipeline(steps).set_params(expand="passthrough")),
    }
    results = Results([Result(name, 0, 0.1, setting=setting) for name, setting in settings.items()])

    def found(**key):
        return [row.experiment for row in results.find(**key)]

    assert found(kernel=Polynomial(degree=3)) == ["cubic"]
    assert found(kernel=Gaussian("scale")) == found(kernel="rbf") == ["by name"]
    assert found(kernel=None, lam=np.float64(0.1 + 1e-17), n_iter=50) == [
        "linear",
        "squares",
        "nothing",
    ]
    assert found(epochs=3, average=True) == ["averaged"]  # the learner's default counts
    assert found(max_epochs=7) == found(epochs=7) == ["sdca"]
    assert found(loss="hinge", epochs=2) == ["by name"]
    assert found(scale=StandardScaler(), expand=PolynomialFeatures(degree=2)) == ["squares"]
    assert (
        found(scale=StandardScaler(), expand=None)
        == found(scale=StandardScaler(), expand="passthrough")
        == ["nothing"]
    )
    assert found(scale=StandardScaler(with_mean=False)) == []
    with pytest.raises(ValueError, match="no experiment gives"):
        results.mean(kernel=Polynomial(4))


# -- decodings and images --------------------------------------------------------------------------------------------


def test_decodings_by_hand():
    scores = np.array([[-1.0, 2.0, 3.0], [-4.0, -1.0, -2.0], [1.0, 5.0, -9.0]])
    assert decode(scores, "argmax").tolist() == [2, 1, 1]
    assert decode(scores, "first").tolist() == [1, 0, 0]
    assert decode(scores, "absolute").tolist() == [2, 0, 2]
    assert decode(np.array([-1.0, 1.0]), "absolute").tolist() == [0, 1]
    with pytest.raises(ValueError, match="decoding must be"):
        decode(scores, "last")


@pytest.mark.parametrize("shift", images.SHIFTS)
def test_a_shift_moves_every_pixel(shift):
    image = np.arange(16.0).reshape(1, 4, 4)
    moved = images.shifted(image, *shift)
    rolled = np.roll(image, shift, axis=(1, 2))
    kept = moved != 0
    assert (moved[kept] == rolled[kept]).all()
    assert kept.sum() >= 11


def test_maps_of_images_have_rows_of_length_one():
    picture = np.random.default_rng(0).random((5, 8, 8)).astype(np.float32)
    for rows in (images.blurred(picture), images.edges(picture, 1.4)):
        assert rows.dtype == np.float32
        assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(5), abs=1e-5)
    assert images.edges(np.zeros((1, 8, 8)), 1.0).tolist() == [[0.0] * 128]


# -- the runner ------------------------------------------------------------------------------------------------------


def test_a_run_writes_its_files_and_goes_on_where_it_was(tmp_path):
    calls = []
    study = tiny_study(
        numbers=lambda: [
            Number(
                {"lam": "0.1"}, 0.2, 1000, {"r": {"experiment": "one", "split": "test", "lam": 0.1}}
            )
        ],
        emulations=(
            Emulation(
                "theirs",
                lambda dataset, seed: [{"split": "test", "error": 0.5, "rows": len(dataset)}],
            ),
        ),
        checks=(
            Check(
                "a claim",
                lambda context: ("holds", f"{context.results.mean(experiment='theirs'):g}"),
            ),
        ),
        extras=(Extra("x", "An extra", lambda context: calls.append(1) or {"text": "shown"}),),
        surpass=lambda context: calls.append(1) or [Better("ours", 0.1)],
        findings="What was found.",
    )
    first = run_study(study, tmp_path, Options(seeds=2))
    second = run_study(study, tmp_path, Options(seeds=2))
    assert len(calls) == 2, "extras and the last part are computed once"
    assert first.numbers == second.numbers
    kept = codec.load(StudyRecord, tmp_path / "results.json")
    assert kept == second
    assert [asdict(claim) for claim in kept.claims] == [
        {"claim": "a claim", "verdict": "holds", "evidence": "0.5"}
    ]
    assert len(kept.cells) == 2 * 2 + 2 + 1
    assert kept.extras == [ExtraRecord("x", "An extra", "shown")] and kept.better == [
        Better("ours", 0.1)
    ]
    page = (tmp_path / "findings.md").read_text()
    for part in (
        "A tiny study",
        "Printed and ours",
        "What was found.",
        "shown",
        "ours",
        "1000 rows of moons, 2 seeds",
    ):
        assert part in page
    with (tmp_path / "results.csv").open() as file:
        assert next(csv.DictReader(file))["verdict"] in (REPRODUCED, DIFFERS)
    (tmp_path / "parts" / "extra-x.json").write_text('{"version": 1, "asked": {}, "answer": {}}')
    run_study(study, tmp_path, Options(seeds=2))
    assert len(calls) == 3, "a part of another version is computed again"


def test_cells_are_written_by_what_the_grid_varies(tmp_path):
    steps = [("scale", StandardScaler()), ("expand", "passthrough"), ("learn", Pegasos(lam=0.1))]
    grid = [
        {
            "learn__kernel": [None, Polynomial(2)],
            "learn__n_iter": [20],
            "learn__class_weight": [None],
        },
        {
            "expand": ["passthrough", PolynomialFeatures(2)],
            "scale__with_mean": [False],
            "learn": [SDCA(max_epochs=3, random_state=0)],
        },
    ]
    filtered = {"threshold": [2.0], "estimator__lam": [0.1]}
    experiments = (
        Experiment("a", Pipeline(steps), grid, folds(3)),
        Experiment("b", DropOutliers(Pegasos(n_iter=20)), filtered, folds(3), tags={"note": "x"}),
    )
    run_study(tiny_study(experiments=experiments), tmp_path, Options(seeds=1))
    with (tmp_path / "cells.csv").open() as file:
        cells = list(csv.DictReader(file))
    names = ("kernel", "class_weight", "n_iter", "expand", "model", "scale", "drop", "lam", "note")
    scale = "StandardScaler(with_mean=False)"
    assert [tuple(cell[name] for name in names) for cell in cells] == [
        ("linear", "", "20", "", "", "", "", "", ""),
        ("Polynomial(degree=2, coef0=1.0)", "", "20", "", "", "", "", "", ""),
        ("", "", "", "passthrough", "sdca", scale, "", "", ""),
        ("", "", "", "PolynomialFeatures()", "sdca", scale, "", "", ""),
        ("", "", "", "", "", "", "DropOutliers(threshold=2.0)", "0.1", "x"),
    ]


def test_without_printed_numbers_the_verdicts_vanish(tmp_path):
    run_study(tiny_study(), tmp_path, Options(seeds=1))
    assert "verdict" not in (tmp_path / "findings.md").read_text()
    assert "verdict" not in (tmp_path / "results.csv").read_text()


def test_results_are_those_of_the_estimator_alone(tmp_path):
    found = run_study(tiny_study(), tmp_path, Options(seeds=1))
    dataset = load_set("moons")
    errors = []
    for train, test in folds(3)(dataset.y, 0):
        learner = Pegasos(n_iter=50, lam=0.1, random_state=0).fit(
            dataset.X[train], dataset.y[train]
        )
        errors.append(1 - learner.score(dataset.X[test], dataset.y[test]))
    ours = next(
        cell
        for cell in found.cells
        if cell.experiment == "one" and cell.setting.lam == 0.1 and cell.split == "test"
    )
    assert ours.error == pytest.approx(np.mean(errors))
    assert found.data.real


def test_stand_in_is_said_loudly_and_silences_the_findings(tmp_path):
    def load(name):
        if name == "lost":
            raise BadData("lost is not here.")
        return load_set(name)

    said = []
    study = tiny_study(
        data="lost",
        stand_in="moons",
        findings="About the real data.",
        numbers=lambda: [
            Number({}, 0.2, 1000, {"r": {"experiment": "one", "split": "test", "lam": 0.1}})
        ],
    )
    found = run_study(study, tmp_path, Options(seeds=1, say=said.append), load)
    assert not found.data.real
    assert any("STAND-IN 'moons'" in text for text in said)
    page = (tmp_path / "findings.md").read_text()
    assert "not the report's data" in page
    assert "About the real data." not in page


def test_labels_of_a_cell_are_out_of_fold(tmp_path):
    seen = {}

    def look(context):
        seen["labels"] = context.labels("one", 0, lam=0.1)
        seen["codes"] = context.codes
        seen["error"] = context.results.mean(experiment="one", split="test", lam=0.1)
        return "holds", ""

    run_study(tiny_study(checks=(Check("look", look),)), tmp_path, Options(seeds=1))
    assert (seen["labels"] != seen["codes"]).mean() == pytest.approx(seen["error"], abs=2e-3)


def test_numbers_do_not_depend_on_jobs(tmp_path):
    one, two = (
        run_study(tiny_study(), tmp_path / str(jobs), Options(seeds=1, jobs=jobs))
        for jobs in (1, 2)
    )
    assert (tmp_path / "1" / "cells.csv").read_text() == (tmp_path / "2" / "cells.csv").read_text()
    assert one.cells == two.cells


# -- the package's studies -------------------------------------------------------------------------------------------


def test_every_file_is_found():
    assert set(PRINTED) <= set(study_names())
    assert {study.name for study in known_studies()} == set(study_names())


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_every_printed_number_has_a_result(name, tmp_path):
    study = find_study(name)
    assert len(study.numbers()) == PRINTED[name] == len(printed_rows(name))
    found = run_study(study, tmp_path, Options(quick=True), small)
    assert len(found.numbers) == PRINTED[name]
    assert all(claim.verdict for claim in found.claims)
    assert all(math.isfinite(number.ours) for number in found.numbers)


@pytest.mark.slow
def test_the_last_part_and_the_extras_run_on_digits(tmp_path):
    found = run_study(
        find_study("usps_kernels"), tmp_path, Options(seeds=1), lambda name: load_set("digits")
    )
    theirs, ours, copies = found.better
    assert ours.error < theirs.error
    assert copies.rows == 1797
    assert {extra.name for extra in found.extras} == {
        "classes",
        "gallery",
        "tsne",
        "times",
        "rows",
        "naive",
    }


def test_nearest_neighbour_claim_is_computed_on_the_same_folds():
    dataset = small("digits")
    for train, test in folds(5)(dataset.y, 0):
        assert (
            KNeighborsClassifier(1)
            .fit(dataset.X[train], dataset.y[train])
            .score(dataset.X[test], dataset.y[test])
            > 0.8
        )
        assert not set(train) & set(test)


# -- one's own -------------------------------------------------------------------------------------------------------


def test_unknown_studies_are_refused_kindly(tmp_path):
    with pytest.raises(ValueError, match="Did you mean 'usps_kernels'"):
        find_study("usps_kernel")
    with pytest.raises(ValueError, match="does not exist"):
        find_study(str(tmp_path / "mine.py"))
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(ValueError, match="has no STUDY"):
        find_study(str(tmp_path / "empty.py"))


def test_a_name_cannot_break_out_of_the_template(tmp_path):
    hostile = 'x"""\nraise SystemExit(3)\n"""\'\\'
    path = tmp_path / "mine.py"
    path.write_text(template(hostile, hostile, hostile), encoding="utf-8")
    study = find_study(str(path))
    assert study.name == hostile
    assert study.data == hostile


def test_from_a_csv_to_a_page_of_eight_models_in_two_commands(tmp_path, monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(120, 3)), None
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * X[:, 2] > 0, "yes", "no")
    lines = [
        "a,b,c,answer",
        *(",".join([*map(str, row), label]) for row, label in zip(X, y, strict=True)),
    ]
    (tmp_path / "my.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    fine("study", "new", "mine.py", "--data", "my.csv")
    assert "Eight models on my.csv" in fine("study", "./mine.py", "--seeds", "1").out
    page = (tmp_path / "runs" / "mine" / "findings.md").read_text()
    for model in ("perceptron", "logistic, degree 2", "kernel perceptron", "kernel pegasos"):
        assert f"| {model} |" in page


def test_a_table_with_words_and_gaps_is_encoded_for_a_study(tmp_path, monkeypatch):
    """Words become columns with names of their own, which the page shows."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    lines = [f"{random.normal():.4f}" if row % 9 else "" for row in range(90)]
    rows = [
        f"{number},{'uvw'[row % 3]},{'yes' if row % 3 else 'no'}"
        for row, number in enumerate(lines)
    ]
    Path("my.csv").write_text("\n".join(["size,kind,answer", *rows]) + "\n")
    fine("study", "new", "mine.py", "--data", "my.csv")
    answer = fine("study", "./mine.py", "--seeds", "1")
    assert "medians and categories were taken from all rows" in answer.err
    page = Path("runs/mine/report.html").read_text()
    assert "kind_v" in page and "words__" not in page


def test_studies_run_from_python_and_the_module_is_light(tmp_path, monkeypatch):
    code = "import sys; from pegasos.studies import run; print({'numpy', 'sklearn', 'numba', 'polars'} & set(sys.modules))"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "set()\n"
    )
    monkeypatch.chdir(tmp_path)
    found = run(tiny_study(), seeds=2)
    assert (found.folder, found.source, found.seeds) == ("runs/tiny", "tiny", [0, 1])
    assert codec.load(StudyRecord, tmp_path / "runs" / "tiny" / "results.json") == found
    page = (tmp_path / "runs" / "tiny" / "report.html").read_text()
    assert "pegasos study tiny --seeds 2" in page
    assert (
        "from pegasos.studies import run\n\nrun(&#39;tiny&#39;, &#39;runs/tiny&#39;, seeds=2)"
        in page
    )
    Path("my own.py").write_text(template("mine", "my own.py", "moons"), encoding="utf-8")
    study = find_study("my own.py")
    monkeypatch.setattr(
        "pegasos.program.jobs.study_runs.find_study", lambda name: tiny_study(name=study.name)
    )
    found = run("my own.py", "elsewhere", quick=True)
    assert (found.folder, found.source, found.quick) == ("elsewhere", "my own.py", True)
    page = (tmp_path / "elsewhere" / "report.html").read_text()
    assert "pegasos study &#39;my own.py&#39; --quick" in page
    with pytest.raises(AttributeError, match="no attribute 'walk'"):
        _ = pegasos.studies.walk


def test_json_of_a_study_is_its_record(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("pegasos.program.jobs.study_runs.find_study", lambda name: tiny_study())
    assert app.run(["study", "tiny", "--seeds", "1", "-q", "--json", "-o", str(tmp_path)]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert codec.from_json(StudyRecord, shown, "stdout") == codec.load(
        StudyRecord, tmp_path / "results.json"
    )
