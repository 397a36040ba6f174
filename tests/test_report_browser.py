"""The report in a real browser: headless Chromium, opened from disk. Skipped where Chromium or its driver is not installed."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from browsing import open_page, until
from pegasos.kernels import Gaussian
from pegasos.metrics import measure_of
from pegasos.program.pages import report
from pegasos.program.pages.page import make_page
from pegasos.program.records.pages import KeptCell, MapRecord, RowsRecord, ShownRow
from pegasos.search.settings import Opaque
from test_report import HOSTILE, fake, save_study, study_results

pytest.importorskip("vl_convert")
selenium = pytest.importorskip("selenium", reason="the browser tests need selenium: pip install selenium")

from selenium.webdriver import Keys  # noqa: E402

NAMES = [HOSTILE, "</script>", "<img src=x onerror=alert(3)>"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A sweep with two kernels and hostile labels, a single cell, and a study."""
    folder = tmp_path_factory.mktemp("pages")
    found = fake(8, 3, NAMES)
    half, cells = found.cells[:4], []
    for cell in half:
        value = cell.value + 0.4
        other = replace(cell.setting, kernel=Gaussian(2.0))
        cells.append(replace(cell, number=cell.number + 4, setting=other, value=value, train=value / 2))
    found = replace(
        found,
        cells=[*half, *cells],
        simplest=1,
        data=replace(found.data, name=HOSTILE),
        kept={**found.kept, "1": KeptCell([0, 0, 5, 0, 2, 7])},
        rows=RowsRecord(
            columns=[HOSTILE, "b"],
            shown={"1": ShownRow(2, values=[1.5, HOSTILE])},
            map=MapRecord("PCA", 3, [0, 1, 2], [0, 1, 2], [[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]], [False, True, False]),
        ),
    )
    written = {"sweep": make_page(found).save(folder / "sweep.html"), "one": make_page(fake(1, 2)).save(folder / "one.html")}
    (folder / "study").mkdir()
    save_study(folder / "study", study_results())
    written["study"] = report(folder / "study").save(folder / "study.html")
    opaque = [replace(cell, setting=replace(cell.setting, kernel=Opaque("mine"))) for cell in fake(4).cells]
    written["own"] = make_page(replace(fake(4), cells=opaque)).save(folder / "own.html")
    return written


def look(browser, path, width=1280, dark=False):
    open_page(browser, path, width, 900, dark)
    until(browser, "return document.querySelectorAll('#heat-test path[tabindex]').length > 0")


def numbers(browser):
    return browser.execute_script(
        "return [...document.querySelectorAll('#heat-test .mark-text.role-mark text')].map(t => t.textContent)"
    )


def confusion(browser):
    return browser.execute_script("return document.getElementById('confusion-table').textContent")


@pytest.mark.parametrize("name", ["sweep", "one", "study"])
def test_opens_from_disk_without_errors_or_requests(browser, pages, name):
    look(browser, pages[name])
    time.sleep(0.3)
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    # Chromium's own first tab asks for its icons; what counts is what our page asks for.
    asked = [each["request"]["url"] for each in sent if each["documentURL"] == pages[name].as_uri()]
    assert asked
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    charts = browser.execute_script(
        "return [...document.querySelectorAll('.chart')].filter(c => c.offsetParent).map(c => !!c.querySelector('svg'))"
    )
    assert all(charts)


def test_picker_changes_the_heatmap(browser, pages):
    look(browser, pages["sweep"])
    before = numbers(browser)
    select = browser.find_element("id", "pick-kernel")
    assert browser.execute_script("return document.getElementById('train-figure').hidden")
    select.send_keys("gaussian")
    until(browser, "return document.querySelector('#heat-train svg') !== null")
    after = numbers(browser)
    assert len(after) == len(before) == 4
    assert after != before
    browser.find_element("id", "pick-across").send_keys("kernel")
    until(browser, "return [...document.querySelectorAll('#heat-test text')].some(t => t.textContent === 'gaussian, variance 2')")


def test_colours_by_column(browser, pages):
    look(browser, pages["sweep"])
    fills = "return [...document.querySelectorAll('#heat-test path[tabindex]')].map(p => p.getAttribute('fill')).join()"
    before = browser.execute_script(fills)
    browser.find_element("id", "pick-colour").send_keys("by column")
    until(browser, f"return (() => {{ {fills} }})() !== {json.dumps(before)}")


def test_click_and_enter_choose_a_cell(browser, pages):
    look(browser, pages["sweep"])
    first = confusion(browser)
    # The cells of the choice, of another kept cell, and of one that was not kept.
    path = "return [...document.querySelectorAll('#heat-test path[tabindex]')].find(p => p.__data__.datum.cell === {})"
    browser.execute_script(
        path.format(1).replace("return", "const p =") + "; p.scrollIntoView({block: 'center', behavior: 'instant'})"
    )
    item = browser.execute_script(path.format(1))
    selenium.webdriver.ActionChains(browser).move_to_element(item).click().perform()
    until(browser, f"return document.getElementById('confusion-table').textContent !== {json.dumps(first)}")
    assert "rows were kept for leading cells only" in browser.find_element("id", "mistakes-remark").text
    other = browser.execute_script(path.format(2))
    browser.execute_script("arguments[0].focus()", other)
    other.send_keys(Keys.ENTER)
    until(browser, "return document.getElementById('panel-kept').hidden")
    assert "were not kept" in browser.find_element("id", "panel-setting").text
    assert "pegasos train" in browser.find_element("id", "panel-command").text
    other.send_keys(Keys.ARROW_DOWN)
    moved = browser.switch_to.active_element
    assert moved.tag_name == "path" and moved != other
    moved.send_keys(Keys.ENTER)
    until(browser, "return !document.getElementById('panel-kept').hidden")
    assert browser.execute_script("return document.querySelectorAll('#heat-test path.picked').length") == 1


def test_what_no_command_line_can_express(browser, pages):
    hidden = "return ['panel-no-command', 'panel-command'].map(id => document.getElementById(id).offsetParent === null)"
    look(browser, pages["own"])
    assert browser.execute_script(hidden) == [False, True]
    look(browser, pages["sweep"])
    assert browser.execute_script(hidden) == [True, False]


def test_numbers_and_lines_of_a_heatmap(browser, pages):
    look(browser, pages["sweep"])
    assert sorted(numbers(browser)) == ["10.0", "16.2", "22.5", "28.7"]
    legend = "return [...document.querySelectorAll('#heat-test .role-legend-label text')].map(t => t.textContent)"
    assert browser.execute_script(legend) == ["10%", "17%", "28.7%"]
    titles = "return ['x', 'y'].map(n => document.getElementById(`lines-${n}-title`).textContent)"
    assert browser.execute_script(titles) == ["Error against steps (T)", "Error against λ"]


def test_rates_instead_of_counts(browser, pages):
    look(browser, pages["sweep"])
    texts = "return [...document.querySelectorAll('#confusion .mark-text.role-mark text')].map(t => t.textContent).join()"
    before = until(browser, texts)
    browser.find_element("id", "panel-numbers").send_keys("rates")
    until(browser, f"return (() => {{ {texts} }})() !== {json.dumps(before)}")


def test_hostile_labels_stay_text(browser, pages):
    look(browser, pages["sweep"])
    assert HOSTILE in browser.execute_script("return document.querySelector('h1').textContent")
    labels = browser.execute_script("return [...document.querySelectorAll('#confusion text')].map(t => t.textContent)")
    assert any(label.startswith("<script>") for label in labels)
    assert HOSTILE in browser.execute_script("return document.getElementById('mistakes').textContent")
    assert browser.execute_script("return document.querySelectorAll('script').length") == 4
    assert browser.execute_script("return document.querySelectorAll('img').length") == 0
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def test_in_a_notebook_the_page_has_a_frame_of_its_own(browser, pages, tmp_path):
    frame = make_page(fake(4, 3))._repr_html_()
    (tmp_path / "notebook.html").write_text(f"<!doctype html><title>notebook</title>{frame}", encoding="utf-8")
    browser.get((tmp_path / "notebook.html").as_uri())
    browser.switch_to.frame(0)
    until(browser, "return document.querySelectorAll('#heat-test path[tabindex]').length === 4")
    browser.switch_to.default_content()


def test_verdicts_pick_rows(browser, pages):
    look(browser, pages["study"])
    shown = "return [...document.querySelectorAll('#section-printed tbody tr[data-group]')].filter(r => !r.hidden).length"
    before = browser.execute_script(shown)
    browser.find_element("css selector", "#section-printed select.filter").send_keys("differs")
    until(browser, f"return (() => {{ {shown} }})() < {before}")


@pytest.mark.parametrize("name", ["sweep", "study"])
@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, True)])
def test_nothing_is_wider_than_the_screen(browser, pages, name, width, dark):
    look(browser, pages[name], width, dark)
    time.sleep(0.3)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    dark_paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert dark_paper == "rgb(18, 22, 28)"
    ink = browser.execute_script("return getComputedStyle(document.querySelector('#heat-test .role-axis-label text')).fill")
    assert ink == "rgb(230, 234, 240)"


def test_of_scores_the_greatest_is_best(browser, tmp_path):
    page = make_page(replace(fake(4), measure=measure_of("f1_macro"), best=3))
    look(browser, page.save(tmp_path / "score.html"))
    legend = "return [...document.querySelectorAll('#heat-test .role-legend-label text')].map(t => t.textContent)"
    assert browser.execute_script(legend) == ["0.475", "0.287", "0.1"]
    data = "[...document.querySelectorAll('#heat-test path[tabindex]')].map(path => path.__data__.datum)"
    shades = f"return {data}.map(datum => [datum.cell, datum.shade])"
    assert dict(browser.execute_script(shades)) == pytest.approx({0: 1.0, 1: 2 / 3, 2: 1 / 3, 3: 0.0})
