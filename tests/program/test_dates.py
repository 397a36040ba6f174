"""Test dates in many notations: equal days in training and prediction."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from command_line import call, fine
from pegasos.program.tables.cells import as_days, date_kind

WAYS = {
    "%Y-%m-%d": "date",
    "%Y/%m/%d": "date",
    "%d.%m.%Y": "date",
    "%d.%m.%Y %H:%M": "date",
    "%Y-%m-%dT%H:%M:%SZ": "date",
    "%d/%m/%Y": "day-first date",
    "%m/%d/%Y": "month-first date",
    "%d-%m-%Y %H:%M": "day-first date",
}


def _days(rows: int = 200) -> Any:
    return pl.Series(
        np.datetime64("1969-03-01") + np.random.default_rng(0).integers(0, 20_000, rows)
    )


@pytest.mark.parametrize("way", WAYS)
def test_the_date_format_is_found_per_column(way: str) -> None:
    words = _days().cast(pl.Datetime).dt.strftime(way)
    assert date_kind(words) == WAYS[way]
    assert as_days(words, WAYS[way]).to_list() == _days().cast(pl.Int32).to_list()


def test_times_are_shares_of_days_and_zones_are_taken_off() -> None:
    words = pl.Series(
        [
            "1970-01-02T06:00",
            "1970-01-02 06:00:00.00+0600",
            "02.01.1970 0:00",
            "1970-01-01T18:00:00-06:00",
        ]
    )
    assert as_days(words, "date").to_list() == [1.25, 1.0, 1.0, 1.0]


def test_ambiguous_or_invalid_dates_stay_text() -> None:
    assert date_kind(pl.Series(["01/02/2020", "03/04/2021"])) is None
    assert date_kind(pl.Series(["31/12/2020", "12/31/2020"])) is None
    assert date_kind(pl.Series(["2020-02-30"])) is None
    assert date_kind(pl.Series(["1.2.3", "4.5.6"])) is None
    assert date_kind(pl.Series([], dtype=pl.String)) is None


def test_eight_digits_are_a_date_if_all_of_them_are() -> None:
    numbers = _days(50).dt.strftime("%Y%m%d").cast(pl.Float64)
    assert date_kind(numbers) == "compact date"
    assert as_days(numbers, "compact date").to_list() == _days(50).cast(pl.Int32).to_list()
    assert date_kind(numbers.clone().scatter(7, 20_241_301.0)) is None
    assert date_kind(numbers[:5]) is None


@pytest.mark.parametrize("memory", [(), ("--memory", "15kB")])
@pytest.mark.parametrize("way", ["%d.%m.%Y", "%m/%d/%Y", "%Y%m%d"])
def test_a_model_reads_dates_as_in_training(way: str, memory: tuple[str, ...], place: Path) -> None:
    """Prediction uses the order of day and month found in training, and refuses others."""
    rows = 900
    days = np.datetime64("2001-01-01") + np.random.default_rng(1).integers(0, 9000, rows)
    late = days > np.datetime64("2013-01-01")
    words = pl.Series(days).dt.strftime(way)
    frame = pl.DataFrame(
        {"since": words, "noise": np.arange(rows) % 7 + 0.5, "y": np.where(late, "late", "early")}
    )
    frame.write_csv("dates.csv")
    told = fine("train", "dates.csv", "-m", "sdca", *memory, "-o", "m.model")
    assert "since" in told.err.partition("dates in ")[2].splitlines()[0]
    some = pl.Series(np.array(["2004-03-02", "2023-02-03"], dtype="datetime64[D]")).dt.strftime(way)
    pl.DataFrame({"since": some, "noise": [0.5, 1.5]}).write_csv("new.csv")
    assert fine("predict", "m.model", "new.csv").out.split() == ["label", "early", "late"]
    (place / "bad.csv").write_text("since,noise\n20-Mar-2004,1\n")
    answer = call("predict", "m.model", "bad.csv")
    assert answer.code == 3 and "column 'since': '20-Mar-2004' is not" in answer.err


@pytest.mark.parametrize("memory", [(), ("--memory", "15kB")])
def test_describe_shows_dates_and_constant_text(memory: tuple[str, ...], place: Path) -> None:
    days = pl.Series(np.datetime64("2020-03-01") + np.arange(900) % 301).dt.strftime("%d.%m.%Y")
    pl.DataFrame(
        {"since": days, "country": ["PL"] * 900, "a": np.arange(900) / 7, "y": np.arange(900) % 2}
    ).write_csv("d.csv")
    told = fine("describe", "d.csv", *memory).out
    line = next(line for line in told.splitlines() if line.startswith("since"))
    assert (
        line.split()[:5] == ["since", "2020-07-28", "86.61", "days", "2020-03-01"]
        and "2020-12-26" in line
    )
    assert "Constant: 1 feature never changes (country)" in told


def test_an_explanation_and_its_page_show_dates(place: Path) -> None:
    days = np.datetime64("2020-03-01") + np.random.default_rng(0).integers(0, 700, 300)
    late = days > np.datetime64("2021-03-01")
    late[::10] = ~late[::10]  # some mistakes, so that the page has rows to show
    pl.DataFrame(
        {"since": days, "a": np.arange(300) / 7, "y": np.where(late, "late", "early")}
    ).write_csv("d.csv")
    fine("train", "d.csv", "--kernel", "linear", "-o", "m.model")
    told = fine("explain", "m.model", "d.csv", "-o", "page.html")
    assert re.search(r"^since +2020-03-\d\d ", told.out, re.MULTILINE)
    assert re.search(r"^since +per day ", told.out, re.MULTILINE)
    page = Path("page.html").read_text()
    assert '"moment"' in page and '"temporal"' in page
    shown = [
        row["values"][0] for row in json.loads(re.search(r'"rows":({"\d.*?}})', page)[1]).values()
    ]  # type: ignore[index]
    assert shown and all(re.fullmatch(r"202[012]-\d\d-\d\d", each) for each in shown)
