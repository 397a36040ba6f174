"""Test report pages: contents, size, and escaping of data."""

from __future__ import annotations

import dataclasses
import html
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import pegasos.program.pages
from pegasos import SDCA, Pegasos, Perceptron, SweepCV, save
from pegasos.estimates import Estimate
from pegasos.kernels import Gaussian, Kernel, Polynomial
from pegasos.metrics import Measure
from pegasos.program.pages import read_page, report, write_report
from pegasos.program.pages.blocks import Panel, Section, Table, Thresholds
from pegasos.program.pages.grid import Grid, axes_of, named_values, points_of
from pegasos.program.pages.page import Page, embedded
from pegasos.program.pages.plane_section import MAP_ROWS
from pegasos.program.pages.sweep_page import search_page
from pegasos.program.pages.wording import kernel_text, number_text
from pegasos.program.records import codec
from pegasos.program.records.fitted import search_record
from pegasos.program.records.runs import (
    CellRecord,
    Decision,
    ErrorCount,
    SearchRecord,
    TuneRecord,
)
from pegasos.program.tables.dataset import BadData, Column, Dataset
from pegasos.search.grid import Advice
from pegasos.search.settings import Setting, Stop
from pegasos.studies import Claim, Figure, StudyResult, judge

pytest.importorskip("vl_convert")
pytestmark = pytest.mark.xdist_group("charts")  # what draws takes a while to start

HOSTILE = "<script>alert(1)</script>"
LIMIT = 5_000_000


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return Dataset(
        "digits", X[:300], [Column(f"pixel{j}") for j in range(64)], y[:300], image=(8, 8)
    )


@pytest.fixture(scope="module")
def sweep(digits):
    grid = {
        "kernel": [None, Gaussian("scale"), Polynomial(3)],
        "lam": [1e-5, 1e-3, 1e-1],
        "n_iter": [100, 1000],
    }
    search = SweepCV(Pegasos(random_state=0), grid, cv=3, return_train_score=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return search.fit(digits.X, digits.y)


@pytest.fixture(scope="module")
def page(sweep, digits):
    facts = {"source": "digits", "command": "pegasos tune digits"}
    return report(sweep, digits, tsne=False, **facts)


def data_of(page):
    pattern = r'<script type="application/json" id="report-data">(.*?)</script>'
    return json.loads(re.search(pattern, page.html, re.DOTALL)[1])


def panel_of(page):
    (panel,) = [each for each in page.section("cell").blocks if isinstance(each, Panel)]
    return panel.data


def fake(cells=4, **facts):
    """Return the record of a search of any size."""
    lams = 10.0 ** -np.arange(1, 1 + max(1, round(cells**0.5)))
    steps = [int(each) for each in 100 * (1 + np.arange(-(-cells // len(lams))))]
    listed = []
    for number in range(cells):
        stop = Stop("n_iter", steps[number // len(lams)])
        setting = Setting("pegasos", None, float(lams[number % len(lams)]), stop)
        value = 0.1 + number / (2 * cells)
        listed.append(CellRecord(number, setting, value, 0.01, [value]))
    known = {"data": "made", "training_rows": 30, "folds": 3, "metric": "error", "complete": True}
    known |= {"seed": 0, "cells": listed, "best": 0, "simplest": cells - 1}
    return SearchRecord(**{**known, **facts})


class FakeSearch:
    """Search whose first cells predict nine of ten rows of each class correctly."""

    def __init__(self, record, y, evaluated):
        self.settings_ = [cell.setting for cell in record.cells]
        self.cv_results_ = {"params": [{}] * len(record.cells)}
        self.estimator = Pegasos()
        self.labels_ = np.full((len(record.cells), len(y)), -1)
        self.labels_[:evaluated] = y
        for k in range(min(evaluated, len(record.cells))):
            self.labels_[k, : (k + 1) * (y.max() + 1)] += 1
            self.labels_[k] %= y.max() + 1

    def out_of_fold_scores(self, cell):
        raise ValueError("scores were not kept")


def fake_page(record, classes=3, names=None, columns=("width", "height"), evaluated=1):
    """Return the page of a record, with ten rows of each class."""
    names = names or [f"class {k}" for k in range(classes)]
    y = np.tile(np.arange(len(names)), 10)
    X = np.random.default_rng(0).normal(size=(len(y), 2)) + y[:, None]
    labels = np.array(names)[y]
    codes = np.searchsorted(np.unique(labels), labels)
    dataset = Dataset(record.data, X, [Column(each) for each in columns], labels)
    return search_page(record, FakeSearch(record, codes, evaluated), dataset, tsne=False)


# a sweep


def test_sweep_page_shows_the_choice_and_its_command(page):
    text = html.unescape(page.html)
    for words in (
        "Cross-validated error",
        "Expected error on new rows",
        "Next steps",
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


def test_no_section_is_empty(page, sweep):
    for each in (page, report(sweep), report(sweep.best_estimator_)):
        names = re.findall(r'<section id="section-(\w+)"', each.html)
        assert names == [section.name for section in each.sections]
        assert all(section.blocks for section in each.sections)
    bare = Page(
        "t", "s", [Section("one", "One", []), Section("two", "Two", page.sections[0].blocks)]
    )
    assert "section-one" not in bare.html and "section-two" in bare.html


def test_page_needs_no_network(page):
    # Namespaces in Vega's own code are no requests.
    outside = re.sub(r"<script>.*?</script>", "", page.html, flags=re.DOTALL)
    assert not re.search(r"""(?:src|href|url)\s*[=(]\s*["']?(?:https?:)?//""", outside)
    assert "default-src 'none'" in page.html


def test_commands_rebuild_their_cells(page):
    commands = [cell["command"] for cell in panel_of(page)["cells"].values()]
    assert len(set(commands)) == len(commands)
    wanted = ("--kernel polynomial:3", "--lam 0.001", "--n-iter 1000")
    assert any(all(option in each for option in wanted) for each in commands)
    assert all(each.startswith("pegasos train digits -m pegasos") for each in commands)


def test_python_lines_are_the_choice(page, sweep):
    scope = {"X": sweep.best_estimator_.n_features_in_}
    text = html.unescape(page.html)
    lines = text[text.index("from pegasos import Pegasos") :].partition("model.fit(X, y)")[0]
    exec(lines, scope)  # our own text
    ours, theirs = (each.get_params() for each in (scope["model"], sweep.best_estimator_))
    assert {name: repr(value) for name, value in ours.items()} == {
        name: repr(value) for name, value in theirs.items()
    }


def test_confusions_are_those_of_the_out_of_fold_labels(page, sweep, digits):
    kept = panel_of(page)["kept"]
    for number, each in kept.items():
        flat = np.array(each["confusion"]).reshape(-1, 3)
        matrix = np.zeros((10, 10), int)
        matrix[flat[:, 0], flat[:, 1]] = flat[:, 2]
        truth = np.zeros((10, 10), int)
        np.add.at(truth, (digits.y, sweep.labels_[int(number)]), 1)
        np.testing.assert_array_equal(matrix, truth)
    mistakes = kept[str(sweep.best_index_)]["mistakes"]
    assert all(each["true"] != each["given"] for each in mistakes)
    margins = [each["scores"][0] - each["scores"][1] for each in mistakes]
    assert margins == sorted(margins, reverse=True)


def test_sweep_without_rows_or_store(sweep, digits):
    bare = report(sweep)
    assert "No confusion matrix: no rows were given." in html.unescape(bare.html)
    assert {"heat linear", "heat gaussian", "heat polynomial"} <= set(data_of(bare)["charts"])
    whole = pegasos.report(sweep, digits.X, digits.y, name="mine", image=(8, 8), tsne=False)
    assert "mine: tuning run" in whole.html
    assert "<iframe srcdoc=" in whole._repr_html_()


def test_other_scores_are_shown_as_they_are(digits):
    learner, grid = Perceptron(random_state=0), {"epochs": [1, 3]}
    search = SweepCV(learner, grid, cv=3, scoring="f1_macro").fit(digits.X, digits.y)
    found = report(search, digits, tsne=False)
    (rows,) = (table.rows for table in found.tables() if table.name == "cells")
    values = {row["cell"]: row["value"] for row in rows}
    assert values[0] == pytest.approx(search.cv_results_["mean_test_score"][0], abs=1e-6)
    assert "Cross-validated f1_macro" in found.html
    bare = search_record(search)
    assert bare.measure == Measure("f1_macro", least=False, percent=False)


def test_the_cross_validated_error_of_a_setting_is_one_number(page, sweep):
    """The mean over folds stands in the tile, the heatmap, the table and the panel."""
    best = sweep.best_index_
    mean = 1 - sweep.cv_results_["mean_test_score"][best]
    text = f"{100 * mean:.2f}\u00a0%"
    (tile,) = (each for each in page.sections[0].blocks[0].tiles if "Cross" in each[0])
    assert tile[1] == text and "mean over folds" in tile[2]
    heats = [s for name, s in page.charts().items() if name.startswith("heat ")]
    rows = [row for spec in heats for row in spec["data"]["values"] if row["cell"] == best]
    assert rows[0]["value"] == pytest.approx(mean, abs=1e-6)
    (table,) = (each for each in page.tables() if each.name == "cells")
    (row,) = (each for each in table.rows if each["cell"] == best)
    assert row["value"] == pytest.approx(mean)
    assert text in panel_of(page)["cells"][str(best)]["value"]


def test_c_and_the_dimensionless_cost_stand_beside_lam(page):
    (table,) = (each for each in page.tables() if each.name == "cells")
    assert {"λ", "C", "C·K(x, x)"} <= {title for _, title, _ in table.columns}
    for row in table.rows:
        assert row["cost"] == pytest.approx(1 / (row["p lam"] * 300))


@pytest.mark.parametrize(("cells", "classes"), [(1, 2), (1000, 3), (12, 100)])
def test_sizes(cells, classes):
    page = fake_page(fake(cells), classes)
    assert len(page.html) < LIMIT
    found = data_of(page)
    assert len(found["panel"]["cells"]) == cells
    assert len(found["panel"]["classes"]) == classes


def test_thousands_of_cells_keep_the_page_small():
    page = fake_page(fake(4000))
    assert len(page.html) < LIMIT
    assert "The best 2000 of 4000 settings" in page.html


def test_without_a_refit(digits):
    learner, grid = Perceptron(random_state=0), {"epochs": [1, 3]}
    search = SweepCV(learner, grid, cv=3, refit=False).fit(digits.X, digits.y)
    assert "Decision boundary" not in report(search, digits, tsne=False).html


def test_few_and_many_rows():
    X, y = make_blobs(10, centers=2, random_state=0)
    small = SweepCV(SDCA(random_state=0), {"lam": [0.01, 0.1]}, cv=2).fit(X, y)
    assert "boundary" in report(small, Dataset("ten", X, [], y)).charts()
    X, y = make_blobs(60_000, n_features=3, random_state=0)
    learner = Pegasos(n_iter=1000, random_state=0).fit(X, y)
    page = report(learner, Dataset("many", X, [], y), tsne=False)
    charts = page.charts()
    assert len(charts["map-classes"]["data"]["values"]) == MAP_ROWS
    assert "sample of 50,000 of 60,000 rows" in page.html
    assert "boundary" not in charts  # only up to 50,000 rows


def test_frames_with_categories_and_gaps():
    polars = pytest.importorskip("polars")
    from pegasos.program.pipelines import make_recipe

    sizes, colors = [1.0, None, 3.0, 4.0] * 10, ["red", "blue", None, "red"] * 10
    frame = polars.DataFrame({"size": sizes, "color": colors})
    y = np.array(["a", "b"] * 20)
    dataset = Dataset("frame", frame, [Column("size"), Column("color", "text")], y)
    recipe = make_recipe(dataset, Pegasos(random_state=0))
    search = SweepCV(recipe.estimator, {"learner__lam": [0.01, 0.1]}, cv=2).fit(frame, y)
    page = report(search, dataset, tsne=False)
    assert len(page.html) < LIMIT and "Decision boundary" not in page.html


def test_pairs_of_features_by_class():
    """Scatter plots show the features that separate classes best."""
    X, y = make_blobs(90, centers=3, n_features=5, random_state=1)
    X[:, 3:] = np.random.default_rng(0).normal(size=(90, 2))
    page = report(SDCA(random_state=0).fit(X, y), X, y, columns=list("abcde"), tsne=False)
    pairs = {name: spec for name, spec in page.charts().items() if name.startswith("pair ")}
    assert [spec["title"] for spec in pairs.values()] == [
        "b against a",
        "c against a",
        "c against b",
    ]
    rows = pairs["pair 1"]["data"]["values"]
    found = {(row["x"], row["y"], row["class"]) for row in rows}
    wanted = {
        (float(f"{a:.4g}"), float(f"{b:.4g}"), str(k))
        for (a, b), k in zip(X[:, :2], y, strict=True)
    }
    assert found == wanted


def test_the_page_shows_feature_importance():
    """Bars whose interval is above zero are blue, and gray ones are within noise."""
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    y = np.where(X[:, 0] > 0, "yes", "no")
    model = SDCA(lam=0.01, random_state=0).fit(X, y)
    page = report(model, X, y, columns=["signal", "noise", "other"], tsne=False)
    rows = page.charts()["importance"]["data"]["values"]
    assert rows[0]["column"] == "signal" and rows[0]["sure"]
    assert not all(row["sure"] for row in rows)
    assert {"importance", "effects", "weights"} <= {table.name for table in page.tables()}
    # The page speaks of one class, the rarer one, in curves and thresholds.
    rare = min("yes", "no", key=y.tolist().count)
    (curve,) = (spec for name, spec in page.charts().items() if name.startswith("dependence-1"))
    assert {row["class"] for row in curve["data"]["values"]} == {rare}
    (block,) = (b for b in page.section("decisions").blocks if isinstance(b, Thresholds))
    assert block.data["positive"] == rare


# nothing from data is markup


def test_hostile_names_stay_text():
    names = [HOSTILE, "</script><script>alert(2)</script>", "<!--", "a & b"]
    record = fake(4, data=HOSTILE, command=HOSTILE, advice=[HOSTILE])
    page = fake_page(record, names=names, columns=(HOSTILE, "</script>"))
    assert HOSTILE not in page.html
    assert "alert(2)</script>" not in page.html
    assert sorted(data_of(page)["panel"]["classes"]) == sorted(names)
    assert page.html.count("<script") == 4


def test_json_in_a_script_element_cannot_end_it():
    value = {"</script>": ["<!--", "&amp;", "\u2028", float("nan"), np.float32(1.5)]}
    text = embedded(value)
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"</script>": ["<!--", "&amp;", "\u2028", None, 1.5]}


def test_tables_escape_what_their_format_needs():
    columns = [("a", "a_1", "text"), ("b", "b", "percent")]
    table = Table("t", "T", columns, [{"a": "x|<y>&_%", "b": 0.125}])
    files = table.as_files()
    assert files["csv"] == "a_1,b\nx|<y>&_%,0.125\n"
    assert "x\\|&lt;y>&_%" in files["md"]
    assert r"x|<y>\&\_\% & 12.50 \%" in files["tex"]


# models and runs


def test_model_page(tmp_path):
    X, y = make_blobs(200, centers=2, n_features=4, random_state=1, cluster_std=6.0)
    model = Pipeline(
        [("scale", StandardScaler()), ("learner", SDCA(finish=False, random_state=0))]
    ).fit(X, y)
    page = report(model, X, y, columns=["a", "b", "c", "d"], tsne=False)
    assert {"weights", "curve-1", "features", "correlations", "confusion", "boundary"} <= set(
        page.charts()
    )
    save(
        model,
        tmp_path / "my.model",
        card={"classes": {"0": 100, "1": 100}, "errors": "no dictionary", "data": 3},
    )
    assert "my.model" in report(tmp_path / "my.model").html
    on_rows = report(tmp_path / "my.model", X, y, tsne=False)
    wrong = int((model.predict(X) != y).sum())
    assert f"{wrong} of 200 rows" in on_rows.html


def test_classes_of_the_model_missing_from_the_rows():
    X, y = make_blobs(90, centers=3, random_state=0)
    model = SDCA(random_state=0).fit(X, y)
    page = report(model, X[y < 2], y[y < 2].astype(float), tsne=False)
    rows = page.charts()["classes"]["data"]["values"]
    assert [(row["class"], row["rows"]) for row in rows] == [("0", 30), ("1", 30), ("2", 0)]


def test_run_folder(tmp_path, page):
    path = page.save_json(tmp_path)
    assert path.stat().st_size < 1_000_000
    assert page.html == report(tmp_path).html
    assert write_report(tmp_path).name == "report.html"


def test_pages_come_back_as_they_were(tmp_path, page, sweep, digits):
    model = report(sweep.best_estimator_, digits, tsne=False)
    for each in (page, model, fake_page(fake())):
        each.save_json(tmp_path)
        assert read_page(tmp_path).html == each.html


def test_run_folder_of_tune_without_a_page_record(tmp_path):
    cells = [
        CellRecord(k, Setting("sdca", None, lam), value, 0.01)
        for k, (lam, value) in enumerate([(0.01, 0.1), (0.1, 0.2)])
    ]
    count = ErrorCount(20, 2, 0.1, 0.01, 0.3)
    made = {
        "data": "my",
        "source": "my.csv",
        "training_rows": 80,
        "test_rows": 20,
        "split": "random",
        "scale": "none",
        "folds": 5,
    }
    made |= {
        "metric": "error",
        "figures": {},
        "complete": True,
        "seed": 0,
        "cells": cells,
        "best": 0,
        "simplest": 0,
        "errors": {"test": count},
    }
    made |= {
        "honest": Estimate(0.11, 0.1, 0.2, "m"),
        "advice": [Advice("lam", 0.01, "smaller")],
        "folder": "f",
        "model": "m",
    }
    names = {field.name for field in dataclasses.fields(TuneRecord)}
    extra = {name: None for name in names if name not in made} | {
        "command": "pegasos tune my.csv",
        "seconds": 1.0,
    }
    extra |= {"decision": Decision("folds", 5, None, 80, 100, all_wanted=True)}
    codec.save(tmp_path / "summary.json", TuneRecord(**made, **extra))
    page = report(tmp_path)
    assert "lies on the border of the grid" in page.html
    assert "2 of 20 test rows" in page.html
    assert "The saved model was refitted after that, on all 100 rows." in page.html
    rows = data_of(page)["charts"]["heat All settings"]["data"]["values"]
    assert [row["value"] for row in rows] == pytest.approx([0.1, 0.2])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "does not exist"),
        ({}, "holds no results"),
        ({"summary.json": "{"}, "damaged"),
        ({"report.json": "{"}, "damaged"),
        ({"results.json": "[]"}, "another version of pegasos"),
        (
            {"report.json": '{"form": 1, "kind": "sweep"}'},
            "report.json was written by another version of pegasos",
        ),
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


def test_pages_of_another_version_are_refused(tmp_path, page):
    path = page.save_json(tmp_path)
    found = json.loads(path.read_text())
    blocks = [{"kind": "chart", "name": "x"}]
    sections = [{"name": "a", "title": "A", "blocks": blocks}]
    bare = {"sections": [{}]}
    for change in ({"version": 1}, {"sections": sections}, {"title": 3}, {"sections": None}, bare):
        path.write_text(json.dumps({**found, **change}))
        why = r"report\.json was written by another version of pegasos"
        with pytest.raises(codec.OtherVersion, match=why):
            report(tmp_path)
    blocks[0] = {"kind": "panel", "data": {}, "alone": True, "figures": {}}
    path.write_text(json.dumps({**found, "sections": sections}))
    with pytest.raises(BadData, match="do not fit together"):
        report(tmp_path)


def study_results():
    """Return the result of a study with every kind of figure."""
    rows = [{"λ": lam, "T": T, "error": lam + 10 / T} for lam in (0.1, 0.2) for T in (100, 1000)]
    figures = [
        Figure("heatmap", "Errors", rows, x="T", y="λ", color="error"),
        Figure("heatmap", "Errors again", rows, x="T", y="λ", color="error"),
        Figure("lines", "Curves", rows, x="T", y="error", color="λ", caption="a caption"),
        Figure("bars", "Bars", rows, x="T", y="error"),
        Figure("points", "Map", [{"x": 0.0, "y": 1.0, "digit": "3"}], x="x", y="y", color="digit"),
        Figure("images", "Digits", [{"label": "0", "pixels": [0, 255, 128, 3]}], shape=[2, 2]),
        Figure("table", "Rows", [{"a": 1, "b": HOSTILE}]),
    ]
    numbers = [
        judge("first", "0.02", 0.021),
        judge("second", "0.5", [0.1, 0.11, 0.12], reason="a reason of many words " * 8),
        *(judge(f"other {n}", f"0.1{n}", [0.1, 0.11, 0.12]) for n in range(4)),
    ]
    result = StudyResult("mine", "A study", "as printed", "digits", 300, 5, numbers)
    return dataclasses.replace(
        result,
        claims=[Claim("c", "holds", "at λ = 1e-05")],
        figures=figures,
        notes=["what was found"],
    )


def test_study_page(tmp_path):
    codec.save(tmp_path / "results.json", study_results())
    page = report(tmp_path)
    for words in ("as printed", "what was found", "a caption", "a reason of many words"):
        assert words in page.html
    assert {"printed-ours", *(f"figure-{number}" for number in range(1, 6))} <= set(page.charts())
    assert HOSTILE not in page.html


# figures


def test_charts_follow_their_schema(page):
    """Validate with the Vega-Lite schema that Altair ships, which is faster than Altair."""
    altair, jsonschema = pytest.importorskip("altair"), pytest.importorskip("jsonschema")
    (file,) = Path(altair.__file__).parent.glob("vegalite/*/schema/vega-lite-schema.json")
    schema = json.loads(file.read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)(schema)
    X, y = make_blobs(60, centers=3, n_features=4, random_state=1)
    model_page = report(Pegasos(n_iter=200, random_state=0).fit(X, y), X, y, tsne=False)
    for charts in (page.charts(), model_page.charts()):
        for spec in charts.values():
            validator.validate(json.loads(json.dumps(spec)))


def test_figures_and_tables_as_files(tmp_path, page):
    names, small = {"classes", "heat linear"}, []
    for section in page.sections:
        blocks = [each for each in section.blocks if getattr(each, "name", None) in names]
        blocks += [each for each in section.blocks if isinstance(each, Table)]
        small.append(Section(section.name, section.title, blocks))
    Page("small", "", small).write(tmp_path, figures=True)
    written = {path.name for path in (tmp_path / "figures").iterdir()}
    for chart in ("classes", "heat-linear"):
        assert {f"{chart}.png", f"{chart}.svg", f"{chart}.pdf"} <= written
    assert {"cells.csv", "cells.md", "cells.tex"} <= written
    drawn = (tmp_path / "figures" / "classes.svg").read_text(encoding="utf-8")
    assert "Rows of each class" in drawn  # a figure has its title inside
    assert (tmp_path / "figures" / "classes.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "figures" / "classes.pdf").read_bytes()[:4] == b"%PDF"


# views


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-5, "1e-5"),
        (1e-4, "1e-4"),
        (0.001, "0.001"),
        (2.5e-7, "2.5e-7"),
        (10.0, "10"),
        (0.0, "0"),
        (1e6, "1e6"),
    ],
)
def test_numbers_on_axes(value, text):
    assert number_text(value) == text


def test_kernels_in_short():
    assert kernel_text(Gaussian(2.0)) == "gaussian, variance 2"
    assert kernel_text(Gaussian("0.5 scale")) == "gaussian, 0.5 × data's scale"
    assert kernel_text(Gaussian("scale")) == "gaussian, 1 × data's scale"
    assert kernel_text(Polynomial(3)) == "polynomial, degree 3"
    assert kernel_text(Polynomial(3, 1300.0)) == "polynomial, degree 3, coef0 1300"
    assert kernel_text(None) == "linear"


def grid_of(settings, values=None):
    values = values or [0.1 + k / 100 for k in range(len(settings))]
    cells = [
        CellRecord(k, setting, value, 0.01)
        for k, (setting, value) in enumerate(zip(settings, values, strict=True))
    ]
    return Grid(points_of(cells), Measure("error"), 0, 0)


def test_widths_in_two_units_are_no_numbers_of_one_axis():
    kernels = [Gaussian("0.5 scale"), Gaussian(2.0), Gaussian(10.0)]
    (axis,) = axes_of(grid_of([Setting("pegasos", kernel, 0.1) for kernel in kernels]).points)
    assert axis.name == "kernel"
    assert axis.labels == [
        "gaussian, 0.5 × data's scale",
        "gaussian, variance 2",
        "gaussian, variance 10",
    ]


def test_values_with_equal_text_keep_distinct_labels():
    (axis,) = axes_of(grid_of([Setting("pegasos", None, lam) for lam in (0.12341, 0.12342)]).points)
    assert axis.labels == ["0.12341", "0.12342"]


def test_limits_of_epochs_are_named_where_they_differ():
    same = [Setting("sdca", None, lam, Stop("max_epochs", 50)) for lam in (0.1, 0.2)]
    assert [set(values) for values in named_values(same)] == [{"model", "kernel", "lam"}] * 2
    other = [*same, Setting("sdca", None, 0.1, Stop("max_epochs", 9))]
    assert [values["epochs"] for values in named_values(other)] == [50, 50, 9]


def test_steps_of_preparation_are_axes(digits):
    pipe = Pipeline([("scale", StandardScaler()), ("learner", Pegasos(n_iter=50, random_state=0))])
    grid = {
        "scale": [StandardScaler(), MinMaxScaler(), "passthrough"],
        "learner__class_weight": [None, {0: 2.0}],
    }
    search = SweepCV(pipe, grid, cv=2).fit(digits.X, digits.y)
    found = search_record(search)
    axes = {axis.name: axis.labels for axis in axes_of(points_of(found.cells))}
    assert axes == {"scale": ["StandardScaler", "MinMaxScaler", "–"], "class_weight": ["–", "0: 2"]}
    settings = [
        Setting("pegasos", None, 0.1, options=options)
        for options in ((), (("sampling", "uniform"),))
    ]
    settings.append(Setting("sdca", None, 0.1, options=(("tol", 0.1),)))
    named = named_values(settings)
    assert [values["sampling"] for values in named[:2]] == [
        "permutation",
        "uniform",
    ]  # a default has a name, too
    assert "tol" not in named[2]  # the same for all cells of its model
    assert "class_weight\xa0=\xa00: 2" in report(search).html


def test_dataset_may_be_given_as_it_is(sweep, digits):
    assert (
        "digits: tuning run"
        in report(sweep, dataclasses.replace(digits, name="digits"), tsne=False).html
    )


class Mine(Kernel):
    """User-defined kernel with a parameter that the command line does not have."""

    def __init__(self, weight=1.0):
        self.weight = weight

    measure = "inner"
    name = "mine"

    def get_params(self, deep=True):
        return {"weight": self.weight}

    def transform(self, values):
        values *= self.weight

    def resolve(self, X):
        return Mine(self.weight)


def doubled(X, Z):
    return 2 * X @ Z.T


@pytest.mark.parametrize("kernels", [[Mine(2.0), Mine(3.0)], [doubled]])
def test_kernels_that_no_command_line_can_express(digits, kernels, tmp_path):
    grid = {"kernel": [Gaussian(2.0), *kernels], "lam": [0.01, 0.1]}
    search = SweepCV(Pegasos(n_iter=100, random_state=0), grid, cv=2).fit(digits.X, digits.y)
    page = report(search, digits, source="digits", tsne=False)
    page.save_json(tmp_path)
    for each in (page, report(tmp_path)):
        cells = data_of(each)["panel"]["cells"].values()
        without = [one["command"] is None for one in cells]
        assert without == [False, False] + [True, True] * len(kernels)
        assert len({one["setting"] for one in cells}) == 2 * (1 + len(kernels))
        assert "No command line can express this setting" in each.html


# the command


def test_report_command(tmp_path, page):
    pytest.importorskip("typer")
    from command_line import call

    page.save_json(tmp_path / "run")
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
    assert "(C\u00a0" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_pages_of_frames_with_text_columns(kind):
    """A pipeline that selects columns by name, and a sweep of it."""
    pd = pytest.importorskip(kind)
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    random = np.random.default_rng(0)
    size = random.normal(size=90)
    frame = pd.DataFrame({"size": size, "colour": random.choice(["red", "blue"], 90)})
    y = np.where(size + random.normal(size=90) > 0, "big", "small")
    encode = make_column_transformer(
        (StandardScaler(), ["size"]), (OneHotEncoder(sparse_output=False), ["colour"])
    )
    model = make_pipeline(encode, SDCA(random_state=0))
    page = report(model.fit(frame, y), frame, y)
    assert "colour" in page.html and "Confusion matrix" in page.html
    sweep = SweepCV(model, {"sdca__lam": [0.01, 0.1]}, cv=3).fit(frame, y)
    assert "colour" in report(sweep, frame, y).html


def test_what_is_not_fitted_or_not_ours_has_no_page():
    from sklearn.exceptions import NotFittedError
    from sklearn.linear_model import LogisticRegression

    for thing in (SDCA(), SweepCV(SDCA(), {"lam": [1.0]})):
        with pytest.raises(NotFittedError, match="nothing to show: call fit first"):
            report(thing)
    with pytest.raises(ValueError, match="report shows a SweepCV, a learner of pegasos"):
        report(LogisticRegression())


def test_maps_have_the_rows_of_the_source(sweep, digits):
    record = search_record(sweep)
    positions = np.arange(len(digits)) + 1000
    page = search_page(record, sweep, digits, positions=positions, tsne=False)
    rows = page.charts()["map-classes"]["data"]["values"]
    assert min(row["row"] for row in rows) >= 1001


def test_links_inside_a_notebook_stay_in_the_frame(page):
    assert 'location.protocol !== "about:"' in page.html
