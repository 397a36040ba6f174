"""Damaged and hostile model files: each must end as a model that predicts or as a BadModel, in little memory, running nothing.

By hand, from the project's folder: python -m tests.fuzz_models --count 10000 --seed 0
"""

from __future__ import annotations

import argparse
import collections
import copy
import io
import json
import multiprocessing
import pickle
import struct
import tempfile
import time
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from pegasos import SDCA, Pegasos, Perceptron
from pegasos.preprocessing import DropOutliers
from pegasos.program.modelfile import BadModel, read_model, save

LIMIT = 64 * 10**6
NASTY = [
    None, True, False, 0, 1, 2, 3, -1, 7, 255, 2**31, 2**32 + 1, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 10**9, -(2**63), 0.0, 0.5,
    -1.5, 1e308, 5e-324, "", "x", "nan", "drop", "passthrough", "object", "str", "float16", "F32", "I64", "BOOL", "U64",
    "Pipeline", "Pegasos", "SDCA", "Perceptron", "OneHotEncoder", "DropOutliers", "gaussian",
    "precomputed", "os.system", "builtins.eval",
    "__class__", "a\x00b\x1b[31m", "\u202e", [], {}, [0], [1, 2], [[]], {"float": "nan"}, {"float": "inf"}, {"tuple": []},
    {"pairs": [[1, 2]]}, {"dtype": "int64"}, {"kernel": "linear", "params": {}},
    {"kernel": "polynomial", "params": {"degree": 10**9}},
]  # fmt: skip


def seeds() -> list[bytes]:
    """Small files of all kinds of models."""
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 4))
    y = (X[:, 0] > 0) + (X[:, 1] > 0).astype(int)
    mixed = np.empty((30, 4), dtype=object)
    mixed[:, :2] = X[:, :2]
    mixed[::5, 0] = np.nan
    mixed[:, 2] = np.where(X[:, 2] > 0, "red", "blue")
    mixed[:, 3] = np.where(X[:, 3] > 0, "yes", "no")
    fill = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    unknown = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    table = ColumnTransformer([("numbers", fill, [0, 1]), ("words", words, [2]), ("order", unknown, [3])])
    text = np.array(["low", "middle", "high"])[y]
    some = {"random_state": 0, "checkpoints": [2, 5]}
    models = [
        Pegasos(kernel="gaussian", loss="logistic", n_iter=50, **some).fit(X, y),
        Pegasos(n_iter=20, class_weight={0: 1.0, 1: 2.0, 2: 1.5}, **some).fit(X.astype(np.float32), y),
        Perceptron(kernel="laplacian", epochs=5, **some).fit(sparse.csr_matrix(X), y > 0),
        SDCA(kernel="precomputed", **some).fit(X @ X.T, y),
        make_pipeline(table, SDCA(loss="logistic", random_state=0)).fit(mixed, text),
        make_pipeline(RobustScaler(), PolynomialFeatures(2), MinMaxScaler(), DropOutliers(Perceptron(epochs=3))).fit(X, text),
        DropOutliers(make_pipeline(Normalizer(), Pegasos(kernel="poly", n_iter=20))).fit(X, y),
    ]
    files = []
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            path = Path(folder) / "model"
            save(model, path, card={"error": 0.25, "note": "é"}, rows=np.arange(5, dtype=np.uint64))
            files.append(path.read_bytes())
    return files


# -- taking files apart --------------------------------------------------------------------------------------------------


def apart(content: bytes) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """The header (without our part), our part, and the bytes of the arrays."""
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    return header, json.loads(header.pop("__metadata__")["pegasos"]), content[8 + length :]


def together(header: Any, head: Any, data: bytes) -> bytes:
    """The file again, with lengths that are right."""
    inner = head if isinstance(head, str) else json.dumps(head)
    text = json.dumps({"__metadata__": {"pegasos": inner}, **header}).encode()
    return struct.pack("<Q", len(text)) + text + data


def spots(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all values within a JSON value."""
    if path:
        yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from spots(value[key], (*path, key))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def changed_json(value: Any, random: np.random.Generator) -> Any:
    """One change at one spot: another value, a near one, one from elsewhere, none, a twin or another name."""
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


# -- cases ---------------------------------------------------------------------------------------------------------------


def mutated(files: list[bytes], random: np.random.Generator) -> tuple[str, bytes]:
    """A file with some damage, and the kind of damage."""
    content = files[random.integers(len(files))]
    kinds = ["flip", "cut", "splice", "zeros", "head flip", "model", "model", "model", "model", "arrays", "numbers"]
    kind = kinds[random.integers(len(kinds))]
    if kind in ("flip", "head flip"):
        damaged = bytearray(content)
        for _ in range(random.integers(1, 9)):
            damaged[random.integers(len(damaged) if kind == "flip" else 2000)] ^= 1 << random.integers(8)
        return kind, bytes(damaged)
    if kind == "cut":
        return kind, content[: random.integers(len(content))]
    if kind == "splice":
        other = files[random.integers(len(files))]
        place = random.integers(len(content))
        return kind, content[:place] + other[random.integers(len(other)) :]
    if kind == "zeros":
        place, length = random.integers(len(content)), random.integers(1, 64)
        return kind, content[:place] + bytes(length) + content[place + length * int(random.integers(2)) :]
    header, head, data = apart(content)
    if kind == "model":
        for _ in range(random.integers(1, 4)):
            head = changed_json(head, random)
    elif kind == "arrays":
        header = changed_json(header, random)
    else:
        values = np.frombuffer(data[: len(data) // 8 * 8], dtype=np.float64).copy()
        for _ in range(random.integers(1, 20)):
            values[random.integers(len(values))] = [np.nan, np.inf, -1.0, 0.0, 1e300, 5e-324][random.integers(6)]
        data = values.tobytes() + data[len(data) // 8 * 8 :]
    return kind, together(header, head, data)


class Payload:
    """A pickle of this makes a file when it is opened."""

    def __init__(self, marker: str) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return Path.touch, (Path(self.marker),)


def hostile(files: list[bytes], marker: str) -> Iterator[tuple[str, bytes]]:
    """Files that were made to harm."""
    header, head, data = apart(files[4])
    size = len(data)
    pickled = pickle.dumps(Payload(marker))
    for protocol in range(6):
        yield f"pickle {protocol}", pickle.dumps(Payload(marker), protocol=protocol)
    buffer = io.BytesIO()
    joblib.dump(Payload(marker), buffer, compress=3)
    yield "joblib", buffer.getvalue()
    for name in ("data.pkl", "x.npy"):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr(name, pickled)
        yield f"zip of {name}", buffer.getvalue()
    buffer = io.BytesIO()
    np.save(buffer, np.array([Payload(marker)], dtype=object), allow_pickle=True)
    yield "npy", buffer.getvalue()
    yield "pickle behind a length", struct.pack("<Q", len(pickled) + 1) + b"{" + pickled
    told = {"x": {"dtype": "U8", "shape": [len(pickled)], "data_offsets": [0, len(pickled)]}}
    yield "pickle as an array", together(told, head, pickled)
    yield "pickle at the end", files[0] + pickled
    yield "pickle as the description", together(header, pickled.decode("latin-1"), data)
    for text in (b"", b"{", b"{}", b"\0" * 9, b"\xff" * 4096, b"<!DOCTYPE html>", b"a,b\n1,2\n", b"\x89HDF\r\n\x1a\n", b"PAR1"):
        yield f"bytes {text[:8]!r}", text
    for length in (0, 1, 2, 100, 2**24, 2**24 + 1, 2**31, 2**40, 2**63, 2**64 - 1):
        yield f"header length {length}", struct.pack("<Q", length) + b'{"a":1}'
    for depth in (10, 100, 5_000, 1_000_000):
        yield f"nesting {depth}", _framed(b'{"a":' + b"[" * depth + b"]" * depth + b"}")
        yield f"nested description {depth}", together(header, "[" * depth + "]" * depth, data)
        yield f"nested objects {depth}", together(header, '{"a":' * depth + "1" + "}" * depth, data)
    node: Any = {"type": "Normalizer", "params": {}, "state": {"n_features": 2, "names": None}}
    for _ in range(200):
        node = {"type": "Pipeline", "params": {}, "state": {"steps": [["a", node]]}}
    yield "pipelines in pipelines", together(header, {**head, "model": node}, data)
    yield "keys", _framed(("{" + ",".join(f'"k{i}":0' for i in range(1_300_000)) + "}").encode())
    yield "lists", _framed(b'{"a":[' + b"[]," * 5_000_000 + b"[]]}")
    yield "lists within", together({}, "[" + "{}," * 5_000_000 + "{}]", b"")
    yield "as many as may be", together({}, "[" + "{}," * 240_000 + "{}]", b"")
    yield "as many dicts as may be", together({}, "[" + '{"a":0},' * 160_000 + "{}]", b"")
    yield "as many words as may be", together({}, "[" + ",".join(f'"{i:09}"' for i in range(490_000)) + "]", b"")
    yield "huge integer", _framed(b'{"a":' + b"9" * 1_000_000 + b"}")
    yield "huge float", together(header, '{"format":1e999}', data)
    yield "long float", together(header, '{"format":0.' + "1" * 1_000_000 + "}", data)
    yield "NaN", together(header, '{"format":NaN}', data)
    yield "twice", together(header, '{"format":1,"format":1}', data)
    yield "twice above", _framed(b'{"__metadata__":{"pegasos":"{}"},"__metadata__":{}}')
    yield "surrogate", together(header, '{"format":1,"card":"\\ud800"}', data)
    yield "bad UTF-8", _framed(b'{"\xff\xfe":1}')
    for number in (0, 2, 10**9, -1, "1", None, [1], 1.0, True):
        yield f"format {number!r}", together(header, {**head, "format": number}, data)
    for shape in ([-1], [-1, -1], [2**62, 2**62], [2**40, 2**40, 0], [0, 2**63], [1.0], [True], ["1"], [2**64 - 1], [1] * 70):
        yield f"shape {shape}"[:40], together({"x": {"dtype": "F64", "shape": shape, "data_offsets": [0, size]}}, head, data)
    for offsets in ([0, 2**63], [-8, 0], [8, 0], [0], [0, 8, 16], [size, size + 8], ["0", "8"], [0.0, 8.0], None):
        yield f"offsets {offsets}", together({"x": {"dtype": "F64", "shape": [1], "data_offsets": offsets}}, head, data)
    both = {"dtype": "F64", "shape": [size // 8], "data_offsets": [0, size // 8 * 8]}
    yield "overlap", together({"x": both, "y": both}, head, data)
    yield (
        "many arrays",
        together({f"x{i}": {"dtype": "F64", "shape": [0], "data_offsets": [0, 0]} for i in range(50_000)}, head, b""),
    )
    yield from hostile_trees(files)


def hostile_trees(files: list[bytes]) -> Iterator[tuple[str, bytes]]:
    """Whole files whose trees ask for too much."""
    header, head, data = apart(files[5])  # scaler, polynomial, scaler, outliers
    steps = head["model"]["state"]["steps"]
    for degree in (0, 3, 33, 1000, 10**9, 2**63 - 1, [0, 10**9], [10**9, 1], {"tuple": [2, 2]}, -1, 2.0):
        for only in (False, True):
            changed = copy.deepcopy(head)
            changed["model"]["state"]["steps"][1][1]["params"].update(degree=degree, interaction_only=only)
            yield f"degree {degree} {only}", together(header, changed, data)
    for width in (0, 1, 5, 10**6, 2**31, 2**40, 2**63 - 1):
        for step in (0, 1, 2, 3):
            changed = copy.deepcopy(head)
            changed["model"]["state"]["steps"][step][1]["state"]["n_features"] = width
            yield f"width {width} of step {step}", together(header, changed, data)
    header, head, data = apart(files[4])  # a ColumnTransformer: its width is tied to nothing but its lists of columns
    for width in (5, 10**6, 2**21, 2**21 + 1, 2**31):
        changed = copy.deepcopy(head)
        changed["model"]["state"]["steps"][0][1]["state"]["n_features"] = width
        yield f"columns of {width}", together(header, changed, data)
    header, head, data = apart(files[0])  # a kernel: its width may be a text, which a regular expression reads
    for text in (" " * 200_000, "9" * 200_000 + " scale", "." * 200_000, "1e" + "9" * 200_000 + "scale"):
        for place in ("params", "state"):
            changed = copy.deepcopy(head)
            changed["model"][place]["kernel"] = {"kernel": "gaussian", "params": {"variance": text}}
            yield f"width {text[:5]!r} in {place}", together(header, changed, data)
    changed = copy.deepcopy(head)
    changed["model"]["params"]["loss"] = "x" * 10**6
    yield "a loss without end", together(header, changed, data)
    header, head, data = apart(files[5])
    for name in ("os.system", "FunctionTransformer", "sklearn.preprocessing._data.StandardScaler", "__main__", "Part", ""):
        changed = copy.deepcopy(head)
        changed["model"]["state"]["steps"][0][1]["type"] = name
        yield f"type {name}", together(header, changed, data)
    for name in ("a\x00b", "\x1b[2J", "x" * 1_000_000, "a__b", "../../etc/passwd", steps[1][0]):
        changed = copy.deepcopy(head)
        changed["model"]["state"]["steps"][0][0] = name
        yield f"step named {name[:10]!r}", together(header, changed, data)
    header, head, data = apart(files[3])  # precomputed: the width is tied to nothing but the number of training rows
    for width in (5, 10**6, 2**31 - 1, 2**31):
        changed = copy.deepcopy(head)
        changed["model"]["state"].update(n_features=width, _m=width)
        yield f"precomputed {width}", together(header, changed, data)
    header, head, data = apart(files[1])
    for values in (["x" * 10**6, *(f"y{i}" for i in range(100_000))], [0, 1, 2**63], [0.5, 1, 2], ["a\0", "b", "c"], [2, 1, 0]):
        changed = copy.deepcopy(head)
        changed["model"]["state"]["classes"] = {"dtype": "str" if isinstance(values[0], str) else "int64", "values": values}
        yield f"classes {str(values)[:20]}", together(header, changed, data)


def _framed(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text


# -- running them --------------------------------------------------------------------------------------------------------


def rows_for(estimator: Any, width: int) -> Any:
    """Three rows that the model should know what to do with: ones, and known categories where it asks for such."""
    found: dict[int, Any] = {}

    def look(part: Any, columns: list[int]) -> None:
        if hasattr(part, "steps"):
            for _, step in part.steps:
                look(step, columns)
        elif hasattr(part, "transformers_"):
            for name, inner, _ in part.transformers_:
                look(inner, [columns[i] for i in part._transformer_to_input_indices[name] if i < len(columns)])
        elif hasattr(part, "categories_") and len(part.categories_) == len(columns):
            found.update({column: one[-1] for column, one in zip(columns, part.categories_, strict=True)})

    look(estimator, list(range(width)))
    if not found:
        return np.ones((3, width))
    rows = np.ones((3, width), dtype=object)
    for column, value in found.items():
        rows[:, column] = value
    return rows


def outcome(path: Path) -> str:
    """What became of one file."""
    try:
        model = read_model(path, limit=LIMIT)
    except BadModel as error:
        return "refused" if len(str(error)) < 3000 else "FAILED: a message without end"
    estimator = model.estimator
    width = model.n_features
    if width > 10**6:
        return "a model too wide to try"
    try:
        labels = estimator.predict(rows_for(estimator, width))
    except ValueError as error:
        return f"a model that says at predict: {str(error).splitlines()[0][:60]}"
    assert set(labels.tolist()) <= set(model.classes.tolist())
    return "a model that predicts"


def run(files: list[bytes], made: list[tuple[str, Path]], count: int, seed: int, folder: Path, marker: Path) -> dict[str, Any]:
    """The whole files, those that were `made` to harm, then mutated ones until there are `count`."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    path = folder / "case"
    random = np.random.default_rng(seed)
    outcomes: collections.Counter[str] = collections.Counter()
    failures, slowest, done = [], (0.0, ""), 0
    for content in files:  # what every model needs is loaded before memory is measured
        path.write_bytes(content)
        outcome(path)
    greediest = (0.0, "")

    def cases() -> Iterator[tuple[str, Path]]:
        for number, content in enumerate(files):
            path.write_bytes(content)
            yield f"whole {number}", path
        yield from made
        while True:
            name, content = mutated(files, random)
            path.write_bytes(content)
            yield name, path

    for name, case in cases():
        if done >= count:
            break
        done += 1
        before = peak_memory(reset=True)
        begin = time.perf_counter()
        try:
            found = outcome(case)
        except BaseException as error:
            found = f"FAILED: {type(error).__name__}"
            failures.append((done, name, repr(error)[:300]))
            if len(failures) <= 20:
                (folder / f"failure-{done}").write_bytes(case.read_bytes())
        if found.startswith("FAILED") and not failures:
            failures.append((done, name, found))
        slowest = max(slowest, (time.perf_counter() - begin, f"{name} (case {done})"))
        greediest = max(greediest, (peak_memory() - before, f"{name} (case {done})"))
        outcomes[found] += 1
        if marker.exists():
            failures.append((done, name, "the marker was made: something ran"))
            break
    return {"count": done, "outcomes": dict(outcomes), "failures": failures, "slowest": slowest, "greediest": greediest}


def peak_memory(reset: bool = False) -> float:
    """The most MB that this process has used (since the last reset, where the system can forget)."""
    if reset and Path("/proc/self/clear_refs").exists():
        Path("/proc/self/clear_refs").write_text("5")
    for line in Path("/proc/self/status").read_text().splitlines() if Path("/proc/self/status").exists() else []:
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1000
    return 0.0  # no other system tells it so simply


def written(files: list[bytes], folder: Path, marker: Path) -> list[tuple[str, Path]]:
    """The hostile files, by name: they are written before, so that reading is all that is measured."""
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
    parser.add_argument("--keep", type=Path, help="a folder for files that fail")
    options = parser.parse_args()
    files = seeds()
    context = multiprocessing.get_context("spawn")  # a process of its own: its memory is that of reading alone
    queue = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        marker = Path(folder) / "marker"
        made = written(files, Path(folder), marker)
        begin = time.perf_counter()
        arguments = (queue, files, made, options.count, options.seed, options.keep or Path(folder), marker)
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
    print(f"memory: at most {found['greediest'][0]:.0f} MB for one file, {found['greediest'][1]}; limit {LIMIT / 1e6:.0f} MB")
    for failure in found["failures"]:
        print("FAILURE", *failure)
    raise SystemExit(bool(found["failures"]))


if __name__ == "__main__":
    main()
