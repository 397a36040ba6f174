"""Test amounts of memory in words, and the detected size of memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pegasos import SDCA
from pegasos.engine.runtime import memory
from pegasos.engine.runtime.memory import parse_bytes, total_bytes

GOOD = [
    (1, 1),
    (4096, 4096),
    (1.5e9, 1_500_000_000),
    (np.int64(7), 7),
    (np.float32(8.0), 8),
    ("1", 1),
    ("1b", 1),
    ("1000 B", 1000),
    ("2GB", 2 * 10**9),
    ("2gb", 2 * 10**9),
    ("2G", 2 * 10**9),
    (" 2 GB ", 2 * 10**9),
    ("1.5GB", 1_500_000_000),
    (".5 MB", 500_000),
    ("512MiB", 512 * 2**20),
    ("512 Mi", 512 * 2**20),
    ("1KiB", 1024),
    ("1kb", 1000),
    ("3TB", 3 * 10**12),
    ("1.5 TiB", 3 * 2**39),
]
BAD = [
    "",
    " ",
    "GB",
    "two GB",
    "2 XB",
    "2GBB",
    "-1",
    "-2GB",
    "1e9",
    "2,5GB",
    "2 G B",
    "nan",
    "inf",
    "2iB",
    "0x10",
    "1.2.3",
    "٣GB",
]
NOT_POSITIVE = [0, -1, 0.0, -1e9, float("nan"), True, False, "0", "0GB", "0.0 MiB"]


@pytest.mark.parametrize(("text", "expected"), GOOD)
def test_amounts(text: Any, expected: int) -> None:
    number = parse_bytes(text)
    assert number == expected
    assert type(number) is int


@pytest.mark.parametrize("text", BAD)
def test_what_is_not_understood_is_said_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"memory=.* is not understood; write .*'2GB'"):
        parse_bytes(text)


@pytest.mark.parametrize("amount", NOT_POSITIVE)
def test_an_amount_is_positive(amount: Any) -> None:
    with pytest.raises(
        ValueError, match=r"memory must be a positive number of bytes or a text such as '2GB'"
    ):
        parse_bytes(amount)


@pytest.mark.parametrize("amount", [float("inf"), 0.4, "0.4", [1], {}])
def test_what_is_no_number_of_bytes_is_a_value_error(amount: Any) -> None:
    with pytest.raises(ValueError, match="memory"):
        parse_bytes(amount)


def test_total_memory_is_at_most_that_of_the_machine() -> None:
    total = 0
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal:"):
            total = int(line.split()[1]) * 1024
    assert 0 < total_bytes() <= total


def test_both_versions_of_control_groups_are_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """memory.max may be "max" (no limit); then only the other interface counts."""
    (tmp_path / "memory").mkdir()
    files = {
        "memory.max": "max\n",
        "memory/memory.limit_in_bytes": "500\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    real = memory.Path
    monkeypatch.setattr(
        memory, "Path", lambda text: tmp_path if str(text) == "/sys/fs/cgroup" else real(text)
    )
    assert memory._group_limits()[1:] == [500]
    (tmp_path / "memory.max").write_text("400\n")
    assert memory._group_limits()[1:] == [400, 500]


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_rows_in_a_mapped_file_are_not_copied(loss: str, tmp_path: Path) -> None:
    """Only a sample and rows near the margin (up to 0.45 of all rows) are copied."""
    random = np.random.default_rng(0)
    X = np.memmap(tmp_path / "rows", np.float32, "w+", shape=(60_000, 150))
    X[:] = random.normal(size=X.shape)
    y = X[:, 0] + random.normal(size=len(X)) > 0
    X = np.memmap(tmp_path / "rows", np.float32, "r", shape=X.shape)
    SDCA(loss).fit(X[:500], y[:500])  # compiled before memory is counted
    tracemalloc.start()
    try:
        found = SDCA(loss, lam=1e-3).fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.gap_ <= found.tol and peak < (1.3 if loss == "hinge" else 0.7) * X.nbytes
