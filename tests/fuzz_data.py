"""Fuzz the readers: each damaged file gives a dataset or BadData within limits.

Some files also go through the commands, which must print finite numbers or an error, never an
internal one. Run more: python -m tests.fuzz_data --count 10000 --seed 0
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import csv
import faulthandler
import gzip
import io
import math
import random
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from pathlib import Path

import h5py
import numpy as np
import polars as pl
from tests.hostile_files import hdf5_bytes, hostile, npz_bytes, parquet_bytes

from pegasos.program import app
from pegasos.program.tables.dataset import BadData, Column, ReadOptions, check_sizes
from pegasos.program.tables.reading import read, stream

LIMIT = 64 * 10**6
#: Bounds of one case, and of the process: what it has after its imports, and this much more.
SECONDS, GROWTH = 20.0, 8 * LIMIT
#: Share of the files that the commands read, too.
COMMANDS = 0.03


def _grouped(file: h5py.File) -> None:
    for name, count in (("train", 12), ("test", 8)):
        group = file.create_group(name)
        group.create_dataset(
            "data",
            data=np.linspace(0, 1, count * 64, dtype=np.float32).reshape(count, 64),
            compression="gzip",
        )
        group["target"] = np.arange(count) % 3


def seeds(folder: Path) -> dict[str, bytes]:
    """Return valid files of all formats by name."""
    rng = np.random.default_rng(0)
    numbers, labels = rng.normal(size=(40, 5)).round(3), np.arange(40) % 3
    lines = [",".join(map(str, [*row, label])) for row, label in zip(numbers, labels, strict=True)]
    table = "a,b,c,d,e,y\n" + "\n".join(lines) + "\n"
    words = "city;price;class\n" + "".join(
        f'"St. ""{i % 4}""\n{i}";{i},5;{"ab"[i % 2]}\n' for i in range(40)
    )
    sparse = "".join(
        f"{i % 2} " + " ".join(f"{j}:{v}" for j, v in enumerate(row, 1) if j % 2 == i % 2) + "\n"
        for i, row in enumerate(numbers)
    )
    frame = pl.DataFrame(numbers, schema=list("abcde")).with_columns(
        y=pl.Series(labels), t=pl.Series(["u", "v", "w", None] * 10)
    )
    return {
        "plain.csv": table.encode(),
        "words.csv": words.encode(),
        "wide.csv": table.encode("utf-16"),
        "blank.txt": table.replace(",", "  ").encode(),
        "packed.csv.gz": gzip.compress(table.encode(), mtime=0),
        "packed.csv.bz2": bz2.compress(words.encode()),
        "rows.svm": sparse.encode(),
        "arrays.npz": npz_bytes(False, X=numbers, y=labels, X_test=numbers, y_test=labels),
        "small.npz": npz_bytes(
            True, data=numbers.astype(np.float32), target=labels, feature_names=list("abcde")
        ),
        "table.parquet": parquet_bytes(frame),
        "plain.parquet": parquet_bytes(frame, compression="uncompressed", row_group_size=7),
        "groups.h5": hdf5_bytes(_grouped, folder),
        "flat.h5": hdf5_bytes(lambda file: file.update({"X": numbers, "y": labels}), folder),
    }


def mutated(data: bytes, chance: random.Random, other: bytes) -> bytes:
    """Return a file with one to four mutations."""
    found = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        size = max(1, len(found))
        start, stop = sorted((chance.randrange(size), chance.randrange(size)))
        kind = chance.randrange(12) % 9
        if kind <= 1:
            for _ in range(chance.choice((1, 1, 8))):
                found[chance.randrange(size)] ^= 1 << chance.randrange(8)
        elif kind == 2:
            del found[chance.randrange(size) :]
        elif kind == 3:
            found[start:stop] = other[: chance.randrange(len(other) + 1)]
        elif kind == 4:
            found[start:start] = found[start:stop]
        elif kind == 5:
            del found[start : min(stop, start + chance.randint(1, 64))]
        elif kind == 6:
            found[start : start + 1] = chance.choice(
                [b'"', b"\0", b"\n", b"\r", b",", b";", b"inf", b"1e999", b"\xff\xfe", b":", b" "]
            )
        elif kind == 8:
            found[start : start + 1] = chance.choice(b"0123456789").to_bytes()
        else:
            found[start : start + 8] = chance.choice(
                [b"\xff" * 8, b"\0" * 8, b"\x7f" + b"\xff" * 7, chance.randbytes(8)]
            )
        if not found:
            found = bytearray(b"\n")
    return bytes(found)


def inside(name: str, data: bytes, chance: random.Random, other: bytes) -> bytes:
    """Return an archive whose members are mutated and packed again."""
    if name.endswith((".gz", ".bz2")):
        packer = gzip if name.endswith(".gz") else bz2
        return packer.compress(mutated(packer.decompress(data), chance, other))
    if name.endswith(".npz"):
        buffer = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
            unlucky = chance.choice(old.namelist())
            for entry in old.namelist():
                content = old.read(entry)
                new.writestr(
                    entry, mutated(content, chance, other) if entry == unlucky else content
                )
        return buffer.getvalue()
    lines = data.split(b"\n")
    for _ in range(chance.choice((1, 2, 5))):
        here, there = chance.randrange(len(lines)), chance.randrange(len(lines))
        kind = chance.randrange(4)
        if kind == 0:
            lines[here], lines[there] = lines[there], lines[here]
        elif kind == 1:
            lines.insert(here, lines[there])
        elif kind == 2 and len(lines) > 3:
            del lines[here]
        else:
            word = chance.choice(
                [
                    b"",
                    b"NA",
                    b"inf",
                    b"1e999",
                    b"x",
                    b"-0",
                    b'"',
                    b'"a,b"',
                    b"1,5",
                    b"nan",
                    b"9" * 400,
                    b"\xc3\xa9",
                    b"1e308",
                    b"-1e308",
                    b"1e-320",
                    b"9" * 140_000,
                    b'"' + b"u" * 140_000 + b'"',
                ]
            )
            cells = lines[here].split(b",")
            cells[chance.randrange(len(cells))] = word
            lines[here] = b",".join(cells)
    return b"\n".join(lines)


def through_commands(path: Path, folder: Path) -> None:
    """Describe a file, train on it, and predict it and another one."""
    model, known = folder / "own.model", folder / "known.model"
    command("describe", path)
    learned, _ = command("train", path, "-m", "perceptron", "--epochs", 1, "-o", model)
    for each in (model, known) if learned == 0 else (known,):
        code, out = command("predict", each, path, "--what", "scores")
        if code == 0:
            scores = [cell for line in list(csv.reader(io.StringIO(out)))[1:] for cell in line[1:]]
            assert all(math.isfinite(float(each)) for each in scores), "scores that are not finite"
        command("run", each, path)


def command(*arguments: object) -> tuple[int, str]:
    """Run a command in this process; return its exit code and output."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = app.run([str(each) for each in arguments])
    told = err.getvalue()
    assert code in (0, 1, 2, 3), f"{arguments[0]} ends with {code}: {told[-500:]}"
    assert "unexpected" not in told and "Traceback" not in told, f"{arguments[0]}: {told[-500:]}"
    return code, out.getvalue()


class Report:
    """Counts of outcomes, and failures."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.failures: list[str] = []
        self.slowest = (0.0, "")
        self.start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    def case(self, name: str, path: Path, streamed: bool, commands: Path | None = None) -> None:
        """Read one file; with a folder for results also run the commands."""
        began = time.perf_counter()
        kind = name.partition(" ")[0]
        faulthandler.dump_traceback_later(
            5 * SECONDS, exit=True
        )  # a hang ends the process, and says where it was
        try:
            if commands is not None:
                through_commands(path, commands)
            if streamed:
                columns = [Column(letter) for letter in "abcde"]
                for _ in stream(path, columns, ReadOptions(limit=LIMIT), frame=True, chunk=1000):
                    pass
            else:
                check_sizes(read(path, ReadOptions(limit=LIMIT)))
            self.outcomes["read"] += 1
        except BadData as error:
            self.outcomes["BadData"] += 1
            if any(ord(char) < 32 for char in str(error)):
                self.failures.append(f"{name}: control characters in the message {error!r}")
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            self.outcomes["failed"] += 1
            self.failures.append(f"{name}: {error!r}\n{''.join(traceback.format_exc()[-1500:])}")
            Path(tempfile.gettempdir(), f"fuzz-failure-{len(self.failures)}-{kind}").write_bytes(
                path.read_bytes()
            )
        faulthandler.cancel_dump_traceback_later()
        took = time.perf_counter() - began
        self.slowest = max(self.slowest, (took, name))
        if took > SECONDS:
            self.failures.append(f"{name}: {took:.1f} seconds")

    def finish(self) -> int:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if peak - self.start > GROWTH:
            self.failures.append(f"memory grew by {(peak - self.start) / 1e6:.0f} MB")
        print(
            f"{self.outcomes.total()} cases: {dict(self.outcomes)}; slowest {self.slowest[0]:.2f} s ({self.slowest[1]})"
        )
        grown = f"{(peak - self.start) / 1e6:.0f} MB while reading"
        print(f"peak memory {peak / 1e6:.0f} MB, of which {grown}")
        for failure in self.failures[:20]:
            print("FAILED", failure)
        print(f"{len(self.failures)} failures")
        return bool(self.failures)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--seconds",
        type=float,
        default=float("inf"),
        help="end after so many, with however many files",
    )
    parser.add_argument(
        "--hostile",
        choices=("all", "none"),
        default="all",
        help="files made to hurt (about 40, some are large)",
    )
    parser.add_argument(
        "--make", type=Path, help="only write the files made to hurt to this folder"
    )
    parser.add_argument("--dangers", type=Path, help="take the files made to hurt from this folder")
    asked = parser.parse_args(arguments)
    if asked.make:
        for name, data in hostile(asked.make).items():
            (asked.make / name).write_bytes(data)
        return 0
    if (
        asked.hostile == "all" and asked.dangers is None
    ):  # made by another process, whose memory is not counted
        with tempfile.TemporaryDirectory() as made:
            me = [sys.executable, "-m", "tests.fuzz_data"]
            subprocess.run([*me, "--make", made], check=True)
            again = [*me, "--count", str(asked.count), "--seed", str(asked.seed), "--dangers", made]
            again += ["--seconds", str(asked.seconds)]
            return subprocess.run(again, check=False).returncode
    chance = random.Random(asked.seed)
    warnings.simplefilter(
        "error", RuntimeWarning
    )  # a reader that makes NumPy complain has not looked
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        files = seeds(folder)
        for name, data in files.items():  # also loads what is loaded only when needed
            (folder / name).write_bytes(data)
            read(folder / name, ReadOptions(limit=LIMIT))
        results = Path(made, "results")
        results.mkdir()
        known = (
            "-m",
            "pegasos",
            "--kernel",
            "gaussian",
            "--n-iter",
            50,
            "-o",
            results / "known.model",
        )
        command("train", folder / "plain.csv", *known)
        through_commands(folder / "plain.csv", results)
        report = Report()
        for path in sorted(asked.dangers.iterdir()) if asked.dangers else []:
            report.case(path.name, path, streamed=False)
        until = time.monotonic() + asked.seconds
        for number in range(asked.count):
            if time.monotonic() > until:
                break
            name, data = chance.choice(list(files.items()))
            other = chance.choice(list(files.values()))
            deep = not name.endswith((".parquet", ".h5")) and chance.random() < 0.5
            changed = inside(name, data, chance, other) if deep else mutated(data, chance, other)
            (folder / name).write_bytes(changed)
            commands = results if chance.random() < COMMANDS else None
            report.case(
                f"{name} ({number})",
                folder / name,
                streamed=chance.random() < 0.3,
                commands=commands,
            )
        return report.finish()


if __name__ == "__main__":
    sys.exit(main())
