"""Fuzz model files briefly: each file gives a valid model or a `BadModel`."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz_models import LIMIT, run, seeds, written


@pytest.mark.filterwarnings("ignore")
def test_every_file_is_a_model_or_refused(tmp_path: Path) -> None:
    files = seeds()
    marker = tmp_path / "marker"
    found = run(files, written(files, tmp_path, marker), 160, 0, tmp_path, marker)
    assert not found["failures"]
    predicting = [
        found["outcomes"][f"a model that predicts{words}"] for words in ("", " probabilities")
    ]
    assert sum(predicting) >= len(files) and min(predicting) > 5  # the whole ones at least
    assert found["outcomes"]["refused"] > 90
    assert found["greediest"][0] < 2 * LIMIT / 1e6
    assert not marker.exists()
