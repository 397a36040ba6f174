"""Fuzzer of model files.

Damaged files (flipped bits, cuts, splices) must be refused. Hostile files, which have a valid
checksum, must be refused or give a model that predicts finite numbers, in little memory and time,
and without executing anything. Commands must not fail with an internal error on files that load.

Run it from the project's folder: python tests/fuzz_models.py --count 10000 --seed 0
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import copy
import csv
import faulthandler
import io
import math
import multiprocessing
import tempfile
import time
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from command_line import messy, numbers
from command_line import written as written_table
from hostile_models import apart, hostile, together
from pegasos import SDCA, Nystroem, Pegasos, Perceptron
from pegasos.kernels import Polynomial
from pegasos.learners.calibration import ISOTONIC, SIGMOID, fit_calibration
from pegasos.preprocessing import DropOutliers
from pegasos.program import app
from pegasos.program.modelfile import BadModel, read_model, save
from pegasos.program.scoring import scores_of
from pegasos.program.tables.dataset import BadData, Column, Dataset

LIMIT = 64 * 10**6
NASTY = [
    None, True, False, 0, 1, 2, 3, -1, 7, 255, 2**31, 2**32 + 1, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 10**9, -(2**63), 0.0, 0.5,
    -1.5, 1e308, 5e-324, "", "x", "nan", "drop", "passthrough", "object", "str", "float16", "F32", "I64", "BOOL", "U64",
    "Pipeline", "Pegasos", "SDCA", "Perceptron", "OneHotEncoder", "DropOutliers", "gaussian",
    "precomputed", "os.system", "builtins.eval",
    "__class__", "a\x00b\x1b[31m", "\u202e", [], {}, [0], [1, 2], [[]], {"float": "nan"}, {"float": "inf"}, {"tuple": []},
    {"pairs": [[1, 2]]}, {"dtype": "int64"}, {"Linear": {}},
    {"Polynomial": {"degree": 10**9}}, {"array": "rows"}, {"text": ["a"]}, {"objects": [1, "a"]}, {"csr_matrix": {}},
]  # fmt: skip
#: Replacements of floats and of integers.
ODD_NUMBERS = [
    math.nan,
    math.inf,
    -math.inf,
    1e308,
    -1e308,
    1e300,
    1e150,
    1e30,
    1e-30,
    1e-300,
    1e-320,
    0.0,
    -1.0,
]
ODD_COUNTS = [0, 1, 2, 3, 7, 50, 1000, 2**31, 2**53, 2**63 - 1]
#: Options of a small search.
CHOICE = "-m sdca --lam 0.01 --cv 3 --no-page --jobs 1"
#: Shares of files on which commands run, and for which a page is made, which is slow.
COMMANDS, PAGES = 0.15, 0.05
#: Seconds after which a single file counts as a hang.
SECONDS = 30


def seeds() -> list[bytes]:
    """Return small files of all kinds of models; `hostile_models` refers to their positions."""
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 4))
    y = (X[:, 0] > 0) + (X[:, 1] > 0).astype(int)
    mixed = np.empty((30, 4), dtype=object)
    mixed[:, :2] = X[:, :2]
    mixed[::5, 0] = np.nan
    mixed[:, 2] = np.where(X[:, 2] > 0, "red", "blue")
    mixed[:, 3] = np.where(X[:, 3] > 0, "yes", "no")
    fill = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    )
    unknown = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    table = ColumnTransformer(
        [("numbers", fill, [0, 1]), ("words", words, [2]), ("order", unknown, [3])]
    )
    text = np.array(["low", "middle", "high"])[y]
    some = {"random_state": 0, "checkpoints": [2, 5]}
    models = [
        Pegasos(kernel="gaussian", loss="logistic", n_iter=50, **some).fit(X, y),
        Pegasos(n_iter=20, class_weight={0: 1.0, 1: 2.0, 2: 1.5}, **some).fit(
            X.astype(np.float32), y
        ),
        Perceptron(kernel="laplacian", epochs=5, **some).fit(sparse.csr_matrix(X), y > 0),
        SDCA(kernel="precomputed", **some).fit(X @ X.T, y),
        make_pipeline(table, SDCA(loss="logistic", random_state=0)).fit(mixed, text),
        make_pipeline(
            RobustScaler(),
            PolynomialFeatures(2),
            MinMaxScaler(),
            DropOutliers(Perceptron(epochs=3)),
        ).fit(X, text),
        DropOutliers(make_pipeline(Normalizer(), Pegasos(kernel="poly", n_iter=20))).fit(X, y),
        make_pipeline(
            StandardScaler(),
            Nystroem("gaussian", 8, random_state=0),
            SDCA("logistic", random_state=0),
        ).fit(X, y),
        make_pipeline(MaxAbsScaler(), SDCA(kernel=Polynomial(3), random_state=0)).fit(
            X.astype(np.float32), y > 0
        ),
        calibrated(SDCA(random_state=0).fit(X, y), X, y, ISOTONIC),
        calibrated(SDCA(random_state=0).fit(X, y), X, y, SIGMOID),
        calibrated(
            SDCA(kernel="gaussian", random_state=0).fit(X, y > 0), X, y > 0, ISOTONIC, threshold=0.1
        ),
    ]
    files = []
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            path = Path(folder) / "model"
            save(model, path, card={"error": 0.25, "note": "é"}, rows=np.arange(5, dtype=np.uint64))
            files.append(path.read_bytes())
        for table, options in (
            (numbers(60), "-m sdca --kernel gaussian:2"),
            (messy(60), "-m pegasos-logistic --epochs 2"),
            (numbers(60), "-m pegasos --n-iter 50 --expand 2 --scale normalize"),
        ):
            data = written_table(table, Path(folder) / "table.csv")
            command("train", data, *options.split(), "-o", path)
            files.append(path.read_bytes())
        for number, (table, options) in enumerate(
            (
                (numbers(90), "--threshold recall=0.7 --positive yes"),
                (numbers(90), "--error-cost yes>no:5,no>yes:1"),
            )
        ):
            data = written_table(table, Path(folder) / "table.csv")
            command(
                "tune",
                data,
                *CHOICE.split(),
                *options.split(),
                "-o",
                run := Path(folder) / f"run-{number}",
            )
            files.append((run / "best.model").read_bytes())
    return files


def calibrated(model: Any, X: Any, y: Any, kind: str, threshold: float = 0.0) -> Any:
    """Return the model with a calibration and a threshold, as a search does."""
    model.calibration_ = fit_calibration(kind, model.decision_function(X), y.astype(int))
    model.threshold_ = threshold
    return model


def tables(files: list[bytes], folder: Path) -> list[Path]:
    """Write a labelled table for each file that its model can predict."""
    found, wide = [], 3
    for number, content in enumerate(files):
        path = folder / f"table-{number}.csv"
        _, head, _ = apart(content)
        named = head["card"].get("columns")
        if named is not None:
            table = messy(9) if any(column["kind"] == "text" for column in named) else numbers(9)
            found.append(written_table(table, path))
            continue
        width, words = (
            (30 if number == 3 else 4),
            {2: "red", 3: "yes"} if number == wide + 1 else {},
        )
        lines = [
            [words.get(place, round(math.sin(row + place), 3)) for place in range(width)]
            for row in range(9)
        ]
        text = [[f"x{place + 1}" for place in range(width)], *lines]
        path.write_text("\n".join(",".join(map(str, line)) for line in text) + "\n")
        found.append(path)
    return found


def spots(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths to all values within a JSON value."""
    if path:
        yield path
    for key in (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    ):
        yield from spots(value[key], (*path, key))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def changed_json(value: Any, random: np.random.Generator) -> Any:
    """Return a copy with one value replaced, removed, repeated or renamed."""
    value = copy.deepcopy(value)
    paths = list(spots(value))
    path = paths[random.integers(len(paths))]
    holder, key, old = at(value, path[:-1]), path[-1], at(value, path)
    kind = random.integers(6)
    if kind == 0:
        holder[key] = NASTY[random.integers(len(NASTY))]
    elif kind == 1 and isinstance(old, int | float):
        holder[key] = [not old, old + 1, old - 1, old * 2, -old, float(old)][random.integers(6)]
    elif kind == 1 and isinstance(old, list) and old:
        old.pop(random.integers(len(old)))
    elif kind == 2:
        holder[key] = copy.deepcopy(at(value, paths[random.integers(len(paths))]))
    elif kind == 3:
        del holder[key]
    elif kind == 4 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(old))
    elif kind == 4:
        holder[str(NASTY[random.integers(len(NASTY))])] = holder.pop(key)
    else:
        holder[key] = [old] if random.random() < 0.5 else {str(key): old}
    return value


# cases


def mutated(files: list[bytes], random: np.random.Generator) -> tuple[str, int, bytes]:
    """Return the kind of a mutation, the position of the mutated file, and its new content."""
    place = int(random.integers(len(files)))
    content = files[place]
    kind = str(
        random.choice(list(_KINDS), p=np.array(list(_KINDS.values())) / sum(_KINDS.values()))
    )
    if kind in ("flip", "head flip"):
        damaged = bytearray(content)
        for _ in range(random.integers(1, 9)):
            damaged[
                random.integers(len(damaged) if kind == "flip" else min(2000, len(damaged)))
            ] ^= 1 << random.integers(8)
        return kind, place, bytes(damaged)
    if kind == "cut":
        return kind, place, content[: random.integers(len(content))]
    if kind == "splice":
        other, here = files[random.integers(len(files))], random.integers(len(content))
        return kind, place, content[:here] + other[random.integers(len(other)) :]
    if kind == "zeros":
        here, length = random.integers(len(content)), random.integers(1, 64)
        return (
            kind,
            place,
            content[:here] + bytes(length) + content[here + length * int(random.integers(2)) :],
        )
    header, head, data = apart(content)
    if kind == "model":
        for _ in range(random.integers(1, 4)):
            head = changed_json(head, random)
    elif kind == "header":
        header = changed_json(header, random)
    elif kind == "arrays":
        header, data = changed_arrays(header, data, random)
    elif kind == "settings":
        head = changed_numbers(head, random)
    else:
        data = changed_values(header, data, random)
    return kind, place, together(header, head, data)


#: Kinds of change that do not update the checksum.
_DAMAGE = ("flip", "cut", "splice", "zeros", "head flip")
#: Kinds of change, and their relative frequencies.
_KINDS = {
    "flip": 1, "cut": 0.5, "splice": 1, "zeros": 1, "head flip": 1, "model": 4, "header": 1, "arrays": 2, "settings": 4,
    "values": 5,
}  # fmt: skip


def changed_values(header: dict[str, Any], data: bytes, random: np.random.Generator) -> bytes:
    """Return the arrays with some numbers replaced, in their dtype."""
    found, names = (
        bytearray(data),
        [name for name, entry in header.items() if math.prod(entry["shape"])],
    )
    for _ in range(random.choice((1, 1, 2, 5)) if names else 0):
        entry = header[names[random.integers(len(names))]]
        dtype = np.dtype(
            {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U64": "<u8", "BOOL": "u1"}[
                entry["dtype"]
            ]
        )
        begin = (
            entry["data_offsets"][0]
            + int(random.integers(math.prod(entry["shape"]))) * dtype.itemsize
        )
        if dtype.kind == "f":
            old = float(np.frombuffer(found, dtype, 1, begin)[0])
            value = [*ODD_NUMBERS, -old, 2 * old, old * 1e10][random.integers(len(ODD_NUMBERS) + 3)]
        else:
            value = ODD_COUNTS[random.integers(len(ODD_COUNTS))]
        with np.errstate(all="ignore"):
            found[begin : begin + dtype.itemsize] = np.array(value).astype(dtype).tobytes()
    return bytes(found)


def changed_arrays(
    header: dict[str, Any], data: bytes, random: np.random.Generator
) -> tuple[dict[str, Any], bytes]:
    """Return a valid header and arrays, of which one is removed, repeated, replaced or reshaped."""
    entries = [(name, entry, data[slice(*entry["data_offsets"])]) for name, entry in header.items()]
    here, there = (int(random.integers(len(entries))) for _ in range(2))
    (name, entry, content), kind = entries[here], random.integers(6)
    entry = copy.deepcopy(entry)
    if kind == 0:
        entries.pop(here)
    elif kind == 1:
        entries.append((f"{name}x" if random.random() < 0.5 else "rows", entry, content))
    elif kind == 2:  # the numbers of another one
        entries[here] = (name, *entries[there][1:])
    elif kind == 3:
        shape = entry["shape"]
        entry["shape"] = [shape[::-1], [*shape, 1], [math.prod(shape)], [1, *shape]][
            random.integers(4)
        ]
        entries[here] = (name, entry, content)
    elif kind == 4:
        same = {
            "F64": ["I64", "U64"],
            "I64": ["F64", "U64"],
            "U64": ["F64", "I64"],
            "F32": ["I32"],
            "I32": ["F32"],
        }
        others = same.get(entry["dtype"], ["BOOL"])
        entry["dtype"] = others[random.integers(len(others))]
        entries[here] = (name, entry, content)
    else:  # a row more, or one less
        rows, row = entry["shape"][:1] or [1], len(content) // max(1, (entry["shape"] or [1])[0])
        more = bool(random.integers(2)) or not rows[0]
        entry["shape"] = [rows[0] + (1 if more else -1), *entry["shape"][1:]]
        entries[here] = (
            name,
            entry,
            content + content[:row].ljust(row, b"\0") if more else content[: len(content) - row],
        )
    described, joined = {}, b""
    for name, entry, content in entries:
        described[name] = {**entry, "data_offsets": [len(joined), len(joined) + len(content)]}
        joined += content
    return described, joined


def changed_numbers(head: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    """Return the description with other numbers of the same kind in its settings and state."""
    head = copy.deepcopy(head)
    found = [
        path for path in spots(head["model"]) if type(at(head["model"], path)) in (int, float, bool)
    ]
    for path in {found[random.integers(len(found))] for _ in range(random.choice((1, 1, 2)))}:
        old = at(head["model"], path)
        if isinstance(old, bool):
            new: Any = not old
        elif isinstance(old, int) and random.random() < 0.7:
            new = [*ODD_COUNTS, old + 1, old - 1, -old][random.integers(len(ODD_COUNTS) + 3)]
        else:
            new = [*ODD_NUMBERS, 2.0 * old, -old, old / 1e6][random.integers(len(ODD_NUMBERS) + 3)]
            new = new if math.isfinite(new) else {"float": str(new)}
        at(head["model"], path[:-1])[path[-1]] = new
    return head


# running them


def rows_for(estimator: Any, width: int) -> Dataset:
    """Return three rows of small numbers and known categories."""
    found: dict[int, Any] = {}

    def look(part: Any, columns: list[int]) -> None:
        if hasattr(part, "steps"):
            for _, step in part.steps:
                look(step, columns)
        elif hasattr(part, "transformers_"):
            for name, inner, _ in part.transformers_:
                look(
                    inner,
                    [
                        columns[i]
                        for i in part._transformer_to_input_indices[name]
                        if i < len(columns)
                    ],
                )
        elif hasattr(part, "categories_") and len(part.categories_) == len(columns):
            found.update(
                {column: one[-1] for column, one in zip(columns, part.categories_, strict=True)}
            )

    look(estimator, list(range(width)))
    rows: Any = np.array([np.ones(width), np.zeros(width), np.linspace(-0.5, 0.5, width)])
    if found:
        rows = rows.astype(object)
        for column, value in found.items():
            rows[:, column] = value
    return Dataset("rows", rows, [Column(f"x{place + 1}") for place in range(width)])


def outcome(path: Path, table: Path | None = None, page: bool = False) -> str:
    """Load a file, predict with it, run commands on a table, and describe the result."""
    try:
        model = read_model(path, limit=LIMIT)
    except BadModel as error:
        found = "refused" if len(str(error)) < 3000 else "FAILED: a very long message"
    else:
        found = _scored(model)
    if table is not None and not found.startswith("FAILED"):
        allowed = (4,) if found == "refused" else (0, 2, 3, 4)
        for arguments in _commands(path, table, page):
            code, out, err = command(*arguments, check=False)
            if code not in allowed or "pegasos: unexpected" in err or "Traceback" in err:
                return f"FAILED: {arguments[0]} ends with {code}: {err[-300:]}"
            if code == 0 and "scores" in arguments and not _finite(out):
                return f"FAILED: {arguments[0]} gives scores that are not finite"
            if code == 0 and "probabilities" in arguments and not _are_probabilities(_numbers(out)):
                return f"FAILED: {arguments[0]} gives invalid probabilities"
    return found


def _scored(model: Any) -> str:
    if model.n_features > 10**6:
        return "a model too wide to try"
    rows = rows_for(model.estimator, model.n_features)
    try:
        scores = scores_of(model.estimator, rows)
    except BadModel:
        return "refused when it should predict"
    except BadData as error:
        return f"a model that refuses a row: {str(error)[8:50]}"
    if not np.isfinite(scores).all():
        return "FAILED: scores that are not finite"
    labels = model.estimator.predict(rows.X)
    assert set(labels.tolist()) <= set(model.classes.tolist())
    if not hasattr(model.estimator, "predict_proba"):
        return "a model that predicts"
    if not _are_probabilities(model.estimator.predict_proba(rows.X)):
        return "FAILED: invalid probabilities"
    return "a model that predicts probabilities"


def _commands(path: Path, table: Path, page: bool) -> Iterator[tuple[Any, ...]]:
    yield "predict", path, table, "--what", "scores"
    yield "predict", path, table, "--what", "probabilities"
    yield "run", path, table
    yield "show", path
    if find_spec("onnx") is not None:
        yield "export", path, path.with_suffix(".onnx")
    if page:
        yield "report", path, "-o", path.with_suffix(".html")


def _finite(text: str) -> bool:
    return bool(np.isfinite(_numbers(text)).all())


def _numbers(text: str) -> Any:
    """Return the columns of a CSV text whose names begin with score or p_."""
    (head, *lines) = csv.reader(io.StringIO(text))
    places = [place for place, name in enumerate(head) if name.startswith(("score", "p_"))]
    return np.array([[float(line[place]) for place in places] for line in lines])


def _are_probabilities(p: Any) -> bool:
    """Return whether all rows lie between 0 and 1 and sum to 1."""
    return bool((p >= 0).all() and (p <= 1).all() and (np.abs(p.sum(axis=1) - 1) < 1e-6).all())


def command(*arguments: Any, check: bool = True) -> tuple[int, str, str]:
    """Run a command in this process; return its exit code, output and messages."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = app.run([str(each) for each in arguments])
    assert not check or code == 0, err.getvalue()
    return code, out.getvalue(), err.getvalue()


def run(
    files: list[bytes],
    made: list[tuple[str, Path]],
    count: int,
    seed: int,
    folder: Path,
    marker: Path,
    seconds: float = math.inf,
) -> dict[str, Any]:
    """Try intact files, the hostile ones (`made`), then mutated ones up to a count or a time."""
    until = time.monotonic() + seconds
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    path, random, data = folder / "case.model", np.random.default_rng(seed), tables(files, folder)
    outcomes: collections.Counter[str] = collections.Counter()
    failures, slowest, greediest, done = [], (0.0, ""), (0.0, ""), 0
    for content, table in zip(
        files, data, strict=True
    ):  # what every model needs is loaded before memory is measured
        path.write_bytes(content)
        outcome(path, table)

    def cases() -> Iterator[tuple[str, Path, Path | None, bool]]:
        for number, content in enumerate(files):
            path.write_bytes(content)
            yield f"whole {number}", path, data[number], number % 3 == 0
        yield from ((name, case, None, False) for name, case in made)
        while True:
            name, place, content = mutated(files, random)
            path.write_bytes(content)
            yield (
                name,
                path,
                data[place] if random.random() < COMMANDS else None,
                random.random() < PAGES,
            )

    whole = set(files)
    for name, case, table, page in cases():
        if done >= count or time.monotonic() > until:
            break
        done += 1
        before, begin = peak_memory(reset=True), time.perf_counter()
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            found = outcome(case, table, page)
        except BaseException as error:
            found = f"FAILED: {error!r:.300}"
        faulthandler.cancel_dump_traceback_later()
        if name in _DAMAGE and found != "refused" and case.read_bytes() not in whole:
            found = f"FAILED: damage was not noticed: {found}"
        if found.startswith("FAILED"):
            failures.append((done, name, found))
            if len(failures) <= 50:
                (folder / f"failure-{done}.model").write_bytes(case.read_bytes())
            found = "FAILED"
        slowest = max(slowest, (time.perf_counter() - begin, f"{name} (case {done})"))
        if table is None:  # commands may do more than read
            greediest = max(greediest, (peak_memory() - before, f"{name} (case {done})"))
        outcomes[found] += 1
        if marker.exists():
            failures.append((done, name, "the marker was made: something ran"))
            break
    return {
        "count": done,
        "outcomes": dict(outcomes),
        "failures": failures,
        "slowest": slowest,
        "greediest": greediest,
    }


def peak_memory(reset: bool = False) -> float:
    """Return the peak memory of this process in MB, since the last reset if that is supported."""
    if reset and Path("/proc/self/clear_refs").exists():
        Path("/proc/self/clear_refs").write_text("5")
    for line in (
        Path("/proc/self/status").read_text().splitlines()
        if Path("/proc/self/status").exists()
        else []
    ):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1000
    return 0.0  # no other system tells it so simply


def written(files: list[bytes], folder: Path, marker: Path) -> list[tuple[str, Path]]:
    """Write the hostile files beforehand, so that only reading is measured."""
    made = []
    for number, (name, content) in enumerate(hostile(files, str(marker))):
        made.append((name, folder / f"hostile-{number}"))
        made[-1][1].write_bytes(content)
    return made


def _worker(queue: Any, *arguments: Any) -> None:
    queue.put(run(*arguments))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a folder (which exists) for files that fail")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="end after so many, with however many files"
    )
    parser.add_argument(
        "--mutated", action="store_true", help="without the files that were made to harm"
    )
    options = parser.parse_args()
    files = seeds()
    context = multiprocessing.get_context(
        "spawn"
    )  # a process of its own: its memory is that of reading alone
    queue = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        marker = Path(folder) / "marker"
        made = [] if options.mutated else written(files, Path(folder), marker)
        begin = time.perf_counter()
        arguments = (
            queue,
            files,
            made,
            options.count,
            options.seed,
            options.keep or Path(folder),
            marker,
            options.seconds,
        )
        worker = context.Process(target=_worker, args=arguments)
        worker.start()
        while worker.is_alive() and queue.empty():
            worker.join(0.2)
        if queue.empty() and worker.exitcode:
            raise SystemExit(f"the process that reads died with exit code {worker.exitcode}")
        found = queue.get()
        worker.join()
    print(f"{found['count']} files in {time.perf_counter() - begin:.0f} s")
    for name, count in sorted(found["outcomes"].items(), key=lambda item: -item[1]):
        print(f"{count:7} {name}")
    print(f"slowest: {found['slowest'][0]:.2f} s, {found['slowest'][1]}")
    print(
        f"memory: at most {found['greediest'][0]:.0f} MB for one file, {found['greediest'][1]}; limit {LIMIT / 1e6:.0f} MB"
    )
    for failure in found["failures"]:
        print("FAILURE", *failure)
    raise SystemExit(bool(found["failures"]))


if __name__ == "__main__":
    main()
