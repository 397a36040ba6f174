"""The grid of a report: which axes it has, and what is drawn at which place."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_report import fake, grid_of

from pegasos.kernels import Gaussian, Polynomial
from pegasos.metrics import measure_of
from pegasos.program.pages.grid_views import Grid, points_of
from pegasos.program.records.runs import CellRecord
from pegasos.search.narrowing import Ended
from pegasos.search.settings import Setting

pytest.importorskip("vl_convert")


def test_the_cost_is_an_axis_where_kernels_have_lam_of_their_own():
    kernels = {
        Gaussian("0.5 scale"): 1.0,
        Gaussian("2 scale"): 1.0,
        Polynomial(3, 28.0): 1.04e6,
        None: 11.0,
    }
    cells, typical = [], []
    for kernel, own in kernels.items():
        for cost in (1.0, 10.0, 100.0):
            lam = float(f"{own / (cost * 500):.1e}")
            cells.append(
                CellRecord(
                    len(cells), Setting("sdca", kernel, lam), 0.1, None, cost=1 / (lam * 500)
                )
            )
            typical.append(own)
    grid = Grid(points_of(cells, [""] * 12, typical), measure_of(None), 0, 0)
    cost, width, kernel = grid.axes
    assert (cost.name, cost.values, cost.labels) == ("cost", [1.0, 10.0, 100.0], ["1", "10", "100"])
    assert (width.title, width.values, width.part) == (
        "gaussian variance / usual",
        [0.5, 2.0, None],
        True,
    )
    assert grid.described["first"][grid._key(grid.points[0])] == ("cost", "kernel")
    figures = grid.figures()
    assert figures["heat test"]["title"] == "Error in % on test rows of the folds"
    assert len(figures["heat test"]["data"]["values"]) == 12
    wide = figures["heat test gaussian variance / usual"]
    assert {row["x"] for row in wide["data"]["values"]} == {"0.5", "2"} and len(
        wide["data"]["values"]
    ) == 6
    assert (
        Grid(points_of(cells, [""] * 12), measure_of(None), 0, 0).axes[0].name == "lam"
    )  # K(x, x) is not known


def test_widths_alone_are_an_axis_of_numbers():
    settings = [Setting("sdca", Gaussian(width), lam) for width in (1.0, 3.0) for lam in (0.1, 0.2)]
    axes = {axis.name: axis.values for axis in grid_of(settings).axes}
    assert axes == {"lam": [0.1, 0.2], "gaussian variance": [1.0, 3.0]}


def test_what_ended_early_is_shown_with_what_it_had():
    cells = [
        replace(cell, value=None, ended=Ended(32, 40, 0.25, 0.05)) if cell.number else cell
        for cell in fake(3).cells
    ]
    grid = Grid(points_of(cells, [""] * 3), measure_of(None), 0, 0)
    ended = grid.described["cells"][1]["test"]
    assert ended["value"] is None and ended["label"] == "25.0" and "ended early" in ended["shown"]
    (heat,) = (spec for name, spec in grid.figures().items() if name.startswith("heat test"))
    assert [param["value"] for param in heat["params"] if param["name"] == "values"] == [
        [cells[0].value]
    ]
    assert "grey: ended early" in heat["title"]["subtitle"]


def test_linear_cells_have_no_number_of_support_vectors():
    settings = [Setting("sdca", None, 0.1), Setting("sdca", Gaussian(1.0), 0.1)]
    cells = [
        CellRecord(number, each, 0.1, None, support_vectors=7.0 * number)
        for number, each in enumerate(settings)
    ]
    assert [point.support_vectors for point in points_of(cells, [""] * 2)] == [None, 7.0]
