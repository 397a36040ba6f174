"""The report's pages: what they hold, how large they are, and that nothing from data becomes markup."""

from __future__ import annotations

import dataclasses
import html
import json
import re
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import pegasos.program.pages
from pegasos import SDCA, Pegasos, Perceptron, SweepCV, save
from pegasos.kernels import Gaussian, Polynomial
from pegasos.program.pages import (
    gather_model,
    gather_study,
    gather_sweep,
    grid_views,
    join_studies,
    report,
    save_gathered,
    write_report,
)
from pegasos.program.pages.blocks import Table
from pegasos.program.pages.page import make_page
from pegasos.program.pages.rendering import embedded
from pegasos.program.records import codec
from pegasos.program.records.studies import (
    Better,
    Claim,
    ExtraRecord,
    JudgedNumber,
    ReadingFit,
    StudyCell,
    StudyData,
    StudyRecord,
)
from pegasos.program.tables.dataset import BadData, Column, Dataset
from pegasos.search.settings import Setting, Stop

pytest.importorskip("altair")
pytest.importorskip("vl_convert")

HOSTILE = "<script>alert(1)</script>"
LIMIT = 5_000_000


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return Dataset("digits", X[:300], [Column(f"pixel{j}") for j in range(64)], y[:300], image=(8, 8))


@pytest.fixture(scope="module")
def sweep(digits):
    grid = {"kernel": [None, Gaussian("scale"), Polynomial(3)], "lam": [1e-5, 1e-3, 1e-1], "n_iter": [100, 1000]}
    search = SweepCV(Pegasos(random_state=0), grid, cv=3, return_train_score=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return search.fit(digits.X, digits.y)


@pytest.fixture(scope="module")
def gathered(sweep, digits):
    return gather_sweep(sweep, digits, source="digits", command="pegasos tune digits", tsne=False)


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="report-data">(.*?)</script>', page.html, re.DOTALL)[1])


def fake(cells=4, classes=3, names=None):
    """What a sweep of any size would have gathered."""
    names = names or [f"class {k}" for k in range(classes)]
    lams, steps = 10.0 ** -np.arange(1, 1 + max(1, round(cells**0.5))), None
    steps = [int(each) for each in 100 * (1 + np.arange(-(-cells // len(lams))))]
    listed = []
    for number in range(cells):
        params = {
            "model": "pegasos",
            "kernel": "linear",
            "lam": float(lams[number % len(lams)]),
            "n_iter": steps[number // len(lams)],
        }
        value = 0.1 + number / (2 * cells)
        listed.append(
            {"cell": number, "params": params, "value": value, "std": 0.01, "folds": [value], "command": "pegasos train DATA"}
        )
    flat = [part for k in range(classes) for part in (k, k, 9, k, (k + 1) % classes, 1)]
    return {
        "kind": "sweep",
        "data": {"name": "made", "rows": 10 * classes, "features": 2, "classes": list(names), "counts": [10] * classes},
        "measure": "error",
        "folds": 3,
        "cells": listed,
        "best": 0,
        "simplest": cells - 1,
        "kept": {"0": {"confusion": flat, "mistakes": [{"row": 1, "true": 0, "guess": 1, "scores": [[1, 0.5], [0, -0.5]]}]}},
        "rows": {"1": [1.5, "a word"]},
        "columns": ["width", "height"],
        "made": {"pegasos": "0"},
    }


# -- a sweep ---------------------------------------------------------------------------------------------------------


def test_sweep_page_tells_the_choice_and_how_to_repeat_it(gathered):
    page = make_page(gathered)
    text = html.unescape(page.html)
    for words in (
        "Cross-validated error",
        "Honest error of the choice",
        "optimistic",
        "pegasos tune digits",
        "scikit-learn",
        "seed",
    ):
        assert words in text
    assert "pegasos train digits -m pegasos" in text
    assert "from pegasos import Pegasos" in text
    assert len(page.html) < LIMIT
    names = {"classes", "map-classes", "map-errors", "boundary"}
    assert names <= set(page.charts())
    assert any(name.startswith("heat training") for name in page.charts())


def test_page_needs_no_network(gathered):
    page = make_page(gathered)
    outside = re.sub(r"<script>.*?</script>", "", page.html, flags=re.DOTALL)  # namespaces in Vega's own code are no requests
    assert not re.search(r"""(?:src|href|url)\s*[=(]\s*["']?(?:https?:)?//""", outside)
    assert "default-src 'none'" in page.html


def test_commands_rebuild_their_cells(gathered):
    commands = [cell["command"] for cell in gathered["cells"]]
    assert len(set(commands)) == len(commands)
    assert any("--kernel polynomial:3" in each and "--lam 0.001" in each and "--n-iter 1000" in each for each in commands)
    assert all(each.startswith("pegasos train digits -m pegasos") for each in commands)


def test_python_lines_are_the_choice(gathered, sweep):
    scope = {"X": sweep.best_estimator_.n_features_in_}
    lines = gathered["python"].replace("model.fit(X, y)", "")
    exec(lines, scope)  # our own text
    ours, theirs = scope["model"].get_params(), sweep.best_estimator_.get_params()
    assert {name: repr(value) for name, value in ours.items()} == {name: repr(value) for name, value in theirs.items()}


def test_confusions_are_those_of_the_out_of_fold_labels(gathered, sweep, digits):
    for number, kept in gathered["kept"].items():
        flat = np.array(kept["confusion"]).reshape(-1, 3)
        matrix = np.zeros((10, 10), int)
        matrix[flat[:, 0], flat[:, 1]] = flat[:, 2]
        truth = np.zeros((10, 10), int)
        np.add.at(truth, (digits.y, sweep.labels_[int(number)]), 1)
        np.testing.assert_array_equal(matrix, truth)
    best = gathered["kept"][str(sweep.best_index_)]
    assert all(each["true"] != each["guess"] for each in best["mistakes"])
    margins = [each["scores"][0][1] - each["scores"][1][1] for each in best["mistakes"]]
    assert margins == sorted(margins, reverse=True)


def test_sweep_without_rows_or_store(sweep, digits):
    bare = report(sweep)
    assert "has no confusion matrix" in html.unescape(bare.html)
    assert "heat" in data_of(bare)["templates"]
    whole = pegasos.report(sweep, digits.X, digits.y, name="mine", image=(8, 8), tsne=False)
    assert "mine: a sweep" in whole.html
    assert "<iframe srcdoc=" in whole._repr_html_()


def test_other_scores_are_told_as_they_are(digits):
    search = SweepCV(Perceptron(random_state=0), {"epochs": [1, 3]}, cv=3, scoring="f1_macro").fit(digits.X, digits.y)
    found = gather_sweep(search, digits, tsne=False)
    assert found["measure"] == "f1_macro"
    assert found["cells"][0]["value"] == pytest.approx(search.cv_results_["mean_test_score"][0], abs=1e-6)
    assert "Cross-validated f1_macro" in make_page(found).html


@pytest.mark.parametrize(("cells", "classes"), [(1, 2), (1000, 3), (12, 100)])
def test_sizes(cells, classes):
    page = make_page(fake(cells, classes))
    assert len(page.html) < LIMIT
    found = data_of(page)
    assert len(found["grid"]["cells"]) == cells
    assert len(found["classes"]) == classes


def test_thousands_of_cells_keep_the_page_small():
    page = make_page(fake(4000, 3))
    assert len(page.html) < LIMIT
    assert "The best 2000 of 4000 cells" in page.html


def test_without_a_refit(digits):
    search = SweepCV(Perceptron(random_state=0), {"epochs": [1, 3]}, cv=3, refit=False).fit(digits.X, digits.y)
    assert "boundary" not in gather_sweep(search, digits, tsne=False)


def test_few_and_many_rows():
    X, y = make_blobs(10, centers=2, random_state=0)
    small = SweepCV(SDCA(random_state=0), {"lam": [0.01, 0.1]}, cv=2).fit(X, y)
    assert "boundary" in make_page(gather_sweep(small, Dataset("ten", X, [], y))).charts()
    X, y = make_blobs(60_000, n_features=3, random_state=0)
    learner = Pegasos(n_iter=1000, random_state=0).fit(X, y)
    found = gather_model(learner, Dataset("many", X, [], y), tsne=False)
    assert len(found["map"]["rows"]) == 1000
    assert "sample of 50,000 of 60,000 rows" in found["statistics"]["notes"][-1]
    assert "only up to 50,000 rows" in found["boundary"]


def test_frames_with_words_and_gaps():
    polars = pytest.importorskip("polars")
    from pegasos.program.pipelines import make_recipe

    frame = polars.DataFrame({"size": [1.0, None, 3.0, 4.0] * 10, "colour": ["red", "blue", None, "red"] * 10})
    y = np.array(["a", "b"] * 20)
    dataset = Dataset("frame", frame, [Column("size"), Column("colour", "text")], y)
    recipe = make_recipe(dataset, Pegasos(random_state=0))
    search = SweepCV(recipe.estimator, {"learner__lam": [0.01, 0.1]}, cv=2).fit(frame, y)
    found = gather_sweep(search, dataset, tsne=False)
    assert "words or gaps" in found["boundary"]
    assert len(make_page(found).html) < LIMIT


# -- nothing from data is markup -------------------------------------------------------------------------------------


def test_hostile_names_stay_text():
    names = [HOSTILE, "</script><script>alert(2)</script>", "<!--", "a & b"]
    found = fake(4, 4, names)
    found["data"]["name"] = HOSTILE
    found["columns"] = [HOSTILE, "</script>"]
    found["command"] = HOSTILE
    found["advice"] = [HOSTILE]
    found["map"] = {"method": "PCA", "of": 4, "rows": [0, 1], "classes": [0, 1], "places": [[0, 0], [1, 1]], "wrong": [0, 1]}
    page = make_page(found)
    assert HOSTILE not in page.html
    assert "alert(2)</script>" not in page.html
    assert data_of(page)["classes"] == names
    assert page.html.count("<script") == 3


def test_json_in_a_script_element_cannot_end_it():
    value = {"</script>": ["<!--", "&amp;", "\u2028", float("nan"), np.float32(1.5)]}
    text = embedded(value)
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"</script>": ["<!--", "&amp;", "\u2028", None, 1.5]}


def test_tables_escape_what_their_format_needs():
    table = Table("t", "T", [("a", "a_1", "text"), ("b", "b", "percent")], [{"a": "x|<y>&_%", "b": 0.125}])
    assert table.as_csv() == "a_1,b\nx|<y>&_%,0.125\n"
    assert "x\\|&lt;y>&_%" in table.as_markdown()
    assert r"x|<y>\&\_\% & 12.50 \%" in table.as_latex()


# -- models and runs -------------------------------------------------------------------------------------------------


def test_model_page(tmp_path):
    X, y = make_blobs(200, centers=2, n_features=4, random_state=1, cluster_std=6.0)
    model = Pipeline([("scale", StandardScaler()), ("learner", SDCA(random_state=0))]).fit(X, y)
    page = report(model, X, y, columns=["a", "b", "c", "d"], tsne=False)
    assert {"weights", "curve-1", "features", "correlations", "confusion", "boundary"} <= set(page.charts())
    save(model, tmp_path / "my.model", card={"classes": {"0": 100, "1": 100}, "errors": "no dictionary", "data": 3})
    assert "my.model" in report(tmp_path / "my.model").html
    on_rows = report(tmp_path / "my.model", X, y, tsne=False)
    wrong = int((model.predict(X) != y).sum())
    assert f"{wrong} of 200 rows" in on_rows.html


def test_labels_that_a_model_knows_and_rows_do_not():
    X, y = make_blobs(90, centers=3, random_state=0)
    model = SDCA(random_state=0).fit(X, y)
    found = gather_model(model, Dataset("two", X[y < 2], [], y[y < 2].astype(float)), tsne=False)
    assert found["data"]["classes"] == ["0", "1", "2"]
    assert found["data"]["counts"] == [30, 30, 0]


def test_run_folder(tmp_path, gathered):
    path = save_gathered(tmp_path, gathered)
    assert path.stat().st_size < 1_000_000
    assert make_page(gathered).html == report(tmp_path).html
    assert write_report(tmp_path).name == "report.html"


def test_run_folder_of_tune_without_a_gathered_part(tmp_path):
    cell = {"cell": 0, "model": "sdca", "kernel": "linear", "lam": 0.01, "score": 0.9, "deviation": 0.01}
    summary = {"data": "my", "source": "my.csv", "rows": {"training": 80}, "scoring": "accuracy", "folds": 5, "choice": cell}
    summary |= {"simplest": cell, "honest": {"error": 0.11, "low": 0.1, "high": 0.2, "method": "m"}, "advice": ["a border"]}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    (tmp_path / "results.csv").write_text(
        "cell,model,kernel,lam,score,deviation\n0,sdca,linear,0.01,0.9,0.01\n1,sdca,linear,0.1,0.8,\n"
    )
    page = report(tmp_path)
    assert "a border" in page.html
    assert [cell["v"] for cell in data_of(page)["grid"]["cells"]] == pytest.approx([0.1, 0.2])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "does not exist"),
        ({}, "holds no results"),
        ({"summary.json": "{"}, "damaged"),
        ({"results.json": "[]"}, "another version"),
    ],
)
def test_what_is_no_run_is_refused(tmp_path, content, why):
    folder = tmp_path / "run"
    if content is not None:
        folder.mkdir()
        for name, text in content.items():
            (folder / name).write_text(text)
    with pytest.raises(BadData, match=why):
        report(folder)


def test_damaged_results_are_told(tmp_path, gathered):
    save_gathered(tmp_path, {**gathered, "cells": [{"cell": 0}]})
    with pytest.raises(BadData, match="damaged or of another version"):
        report(tmp_path)


def study_cell(setting, error, experiment="as written", split="test"):
    return StudyCell(experiment, setting, ["kernel", "lam", "n_iter"], "argmax", split, 300, error, None, 1)


def study_record(cells=None, **changes):
    settings = [
        (Setting("pegasos", kernel, lam, Stop("n_iter", steps)), 0.1 * lam + 0.01 * (split == "test") + 10 / steps, split)
        for kernel in (Gaussian(2.0), Polynomial(3))
        for lam in (1e-3, 1e-1)
        for steps in (100, 1000)
        for split in ("test", "train")
    ]
    extras = [
        ExtraRecord("gallery", "Gallery", "t", {"images": {"0": [[0, 255, 128, 300]]}, "shape": [2, 2]}),
        ExtraRecord("tsne", "Map", "placed", {"rows": [3, 5], "places": [[0, 1], [2, 3]], "classes": [0, 1]}),
        ExtraRecord("times", "Times", "one fold\n\n| a |", {"rows": [{"kernel": "a", "T": 10, "seconds": 0.1}]}),
        ExtraRecord("classes", "Counts", "", {"rows": [{"class": 0, "rows": 5}]}),
        ExtraRecord("other", "Other", "", {"rows": [{"x": 1, "y": "b"}]}),
        ExtraRecord("words", "Words", "only words"),
    ]
    fields = {"kernel": "gaussian"}
    declared = {
        "study": "mine",
        "title": "A study",
        "protocol": "as printed",
        "data": StudyData("digits", 300, False, "f"),
        "seeds": [0],
        "quick": False,
        "numbers": [
            JudgedNumber(fields, 0.02, 0.021, 0.001, 0.002, "r", "reproduced"),
            JudgedNumber(fields, 0.02, 0.021, 0.001, 0.002, "r", "differs", "w"),
        ],
        "readings": [ReadingFit("g", "r", 2, 1, 0.5, 0.5, True)],
        "claims": [Claim("c", "holds", "e")],
        "extras": extras,
        "better": [Better("best", 0.01, against="0.02")],
        "findings": "what was found",
        "cells": cells or [study_cell(setting, error, split=split) for setting, error, split in settings],
        "seconds": {"as written": 1.0},
        "made": {"pegasos": "0"},
        "total_seconds": 2.0,
        "folder": "runs/mine",
    }
    return StudyRecord(**{**declared, **changes})


def test_study_page(tmp_path):
    codec.save(tmp_path / "results.json", study_record())
    page = report(tmp_path)
    for words in ("not the report&#39;s data", "what was found", "only words", "reproduced", "pegasos study mine --seeds 1"):
        assert words in page.html
    assert {"extra-tsne", "extra-times", "extra-classes"} <= set(page.charts())
    grid = data_of(page)["grid"]
    assert len(grid["cells"]) == 8  # test and training rows of a setting are one cell
    assert all("t" in cell for cell in grid["cells"])
    assert "<option>differs</option>" in page.html


def test_study_page_with_what_its_sweep_kept(tmp_path, sweep, digits):
    scores = sweep.cv_results_["mean_test_score"]
    cells = [
        study_cell(setting, 1 - float(score), name)
        for name in "ef"
        for setting, score in zip(sweep.settings_, scores, strict=True)
    ]
    codec.save(tmp_path / "results.json", study_record(cells))
    save_gathered(tmp_path, gather_study(sweep, digits, "e"))
    data = data_of(report(tmp_path))
    assert set(data["kept"]) == {str(number) for number in range(18)}
    assert data["grid"]["cells"][0]["command"].startswith("pegasos train digits -m pegasos")
    save_gathered(tmp_path, join_studies([gather_study(sweep, digits, "e"), gather_study(sweep, digits, "f")]))
    assert set(data_of(report(tmp_path))["kept"]) == {str(number) for number in range(36)}


# -- figures ---------------------------------------------------------------------------------------------------------


def test_charts_follow_their_schema(gathered):
    import altair

    X, y = make_blobs(60, centers=3, n_features=4, random_state=1)
    model_page = report(Pegasos(n_iter=200, random_state=0).fit(X, y), X, y, tsne=False)
    for charts in (make_page(gathered).charts(), model_page.charts()):
        for spec in charts.values():
            altair.Chart.from_dict(json.loads(json.dumps(spec)), validate=True)


def test_figures_and_tables_as_files(tmp_path, gathered):
    small = {
        **gathered,
        "cells": gathered["cells"][:4],
        "best": 0,
        "simplest": 1,
        "kept": {},
        "map": None,
        "boundary": "",
        "means": None,
    }
    page = make_page(small)
    page.write(tmp_path, figures=True)
    written = {path.name for path in (tmp_path / "figures").iterdir()}
    for chart in ("classes", "heat-test"):
        assert {f"{chart}.png", f"{chart}.svg", f"{chart}.pdf"} <= written
    assert {"cells.csv", "cells.md", "cells.tex"} <= written
    assert (tmp_path / "figures" / "classes.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "figures" / "classes.pdf").read_bytes()[:4] == b"%PDF"


# -- views -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e-5, "1e-5"), (1e-4, "1e-4"), (0.001, "0.001"), (2.5e-7, "2.5e-7"), (10.0, "10"), (0.0, "0"), (1e6, "1e6")],
)
def test_numbers_on_axes(value, text):
    assert grid_views.number_text(value) == text


def test_kernels_in_short():
    assert grid_views.short_kernel(repr(Gaussian(2.0))) == "gaussian 2"
    assert grid_views.short_kernel(repr(Gaussian("0.5 scale"))) == "gaussian 0.5 scale"
    assert grid_views.short_kernel(repr(Polynomial(3))) == "polynomial 3"
    assert grid_views.short_kernel("linear") == "linear"


def test_lam_stands_down_and_steps_across():
    cells = fake(9)["cells"]
    axes = grid_views.axes_of(cells)
    assert grid_views.first_axes(cells, axes, cells[0]) == ("n_iter", "lam")
    assert len(grid_views.picked(cells, axes, cells[0], "n_iter", "lam")) == 9
    one = fake(1)["cells"]
    assert grid_views.first_axes(one, grid_views.axes_of(one), one[0]) == ("", "")


def test_dataset_may_be_given_as_it_is(sweep, digits):
    assert "digits: a sweep" in report(sweep, dataclasses.replace(digits, name="digits"), tsne=False).html


@pytest.mark.parametrize(
    "kernel",
    [
        None,
        Gaussian(2.0),
        Gaussian("0.5 scale"),
        Gaussian("scale"),
        Gaussian("1 scale"),
        Gaussian("11 scale"),
        Polynomial(3),
        Polynomial(2, 0.5),
    ],
)
def test_kernels_are_said_as_the_command_line_reads_them(kernel):
    pytest.importorskip("typer")
    from pegasos.program.pages.cell_words import kernel_option
    from pegasos.program.terminal.grammar import parse_kernels

    X = np.random.default_rng(0).normal(size=(20, 3))
    (read,) = parse_kernels([kernel_option(kernel)])
    assert (kernel is None and read is None) or read.resolve(X) == kernel.resolve(X)


# -- the command -----------------------------------------------------------------------------------------------------


def test_report_command(tmp_path, gathered):
    pytest.importorskip("typer")
    from command_line import call

    save_gathered(tmp_path / "run", gathered)
    answer = call("report", tmp_path / "run", "--json")
    assert answer.code == 0
    assert answer.json["report"] == str(tmp_path / "run" / "report.html")
    assert answer.json["bytes"] == (tmp_path / "run" / "report.html").stat().st_size
    assert call("report", tmp_path / "nothing").code == 3
    assert "--data is for a model file" in call("report", tmp_path / "run", "--data", "digits").err


def test_report_command_on_a_model_and_rows(tmp_path):
    pytest.importorskip("typer")
    from command_line import call

    model, page = tmp_path / "moons.model", tmp_path / "page.html"
    assert call("train", "moons", "-m", "pegasos", "--n-iter", "300", "-o", model, "-q").code == 0
    assert call("report", model, "--data", "moons", "-o", page).code == 0
    assert "Decision boundary" in page.read_text(encoding="utf-8")
    assert "moons.model" in page.read_text(encoding="utf-8")
    assert "Error on the new ones of these rows" in page.read_text(encoding="utf-8")
    assert "(C " in page.read_text(encoding="utf-8")
