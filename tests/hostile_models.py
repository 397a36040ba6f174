"""Hostile model files: executable code, false sizes, deep nesting, and demanding trees."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import pickle
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np


def apart(content: bytes) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """Return the header without the description, the description, and the bytes of the arrays."""
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    return header, json.loads(header.pop("__metadata__")["pegasos"][64:]), content[8 + length :]


def together(header: Any, head: Any, data: bytes) -> bytes:
    """Return a file with valid lengths and a valid checksum."""
    inner = "0" * 64 + " " + (head if isinstance(head, str) else json.dumps(head))
    described = {"__metadata__": {"pegasos": inner}, **header}
    text = json.dumps(described, separators=(",", ":")).encode()
    return signed(struct.pack("<Q", len(text)) + text + data)


def fields(model: dict[str, Any], *steps: int) -> dict[str, Any]:
    """Return the values of an estimator in a description, or of a step within pipelines."""
    (found,) = model.values()
    for step in steps:
        (found,) = found["steps"]["pairs"][step][1].values()
    assert isinstance(found, dict)
    return found


def signed(content: bytes) -> bytes:
    """Return the file with the checksum of its content."""
    begin = content.index(b'"pegasos":"') + len(b'"pegasos":"')
    digest = hashlib.sha256(content[:begin] + content[begin + 64 :]).hexdigest().encode()
    return content[:begin] + digest + content[begin + 64 :]


class Payload:
    """Object whose pickle creates a file when it is loaded."""

    def __init__(self, marker: str) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return Path.touch, (Path(self.marker),)


def hostile(files: list[bytes], marker: str) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of hostile files."""
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
    entry = {"x": {"dtype": "U8", "shape": [len(pickled)], "data_offsets": [0, len(pickled)]}}
    yield "pickle as an array", together(entry, head, pickled)
    yield "pickle at the end", files[0] + pickled
    yield "pickle as the description", together(header, pickled.decode("latin-1"), data)
    for text in (
        b"",
        b"{",
        b"{}",
        b"\0" * 9,
        b"\xff" * 4096,
        b"<!DOCTYPE html>",
        b"a,b\n1,2\n",
        b"\x89HDF\r\n\x1a\n",
        b"PAR1",
    ):
        yield f"bytes {text[:8]!r}", text
    for length in (0, 1, 2, 100, 2**24, 2**24 + 1, 2**31, 2**40, 2**63, 2**64 - 1):
        yield f"header length {length}", struct.pack("<Q", length) + b'{"a":1}'
    for depth in (10, 100, 5_000, 1_000_000):
        yield f"nesting {depth}", _framed(b'{"a":' + b"[" * depth + b"]" * depth + b"}")
        yield f"nested description {depth}", together(header, "[" * depth + "]" * depth, data)
        yield f"nested objects {depth}", together(header, '{"a":' * depth + "1" + "}" * depth, data)
    node = '{"Normalizer":{"n_features_in_":2,"feature_names_in_":null}}'
    for depth in (3, 15, 50, 150):
        begin, end = '{"Pipeline":{"steps":{"pairs":[["a",', "]]}}}"
        text = json.dumps({**head, "model": "HERE"})
        inner = begin * depth + node + end * depth
        yield (
            f"{depth} pipelines in each other",
            together(header, text.replace('"HERE"', inner), data),
        )
    yield "keys", _framed(("{" + ",".join(f'"k{i}":0' for i in range(1_300_000)) + "}").encode())
    yield "lists", _framed(b'{"a":[' + b"[]," * 5_000_000 + b"[]]}")
    yield "lists within", together({}, "[" + "{}," * 5_000_000 + "{}]", b"")
    yield "as many as may be", together({}, "[" + "{}," * 240_000 + "{}]", b"")
    yield "as many dicts as may be", together({}, "[" + '{"a":0},' * 160_000 + "{}]", b"")
    yield (
        "as many words as may be",
        together({}, "[" + ",".join(f'"{i:09}"' for i in range(490_000)) + "]", b""),
    )
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
    for shape in (
        [-1],
        [-1, -1],
        [2**62, 2**62],
        [2**40, 2**40, 0],
        [0, 2**63],
        [1.0],
        [True],
        ["1"],
        [2**64 - 1],
        [1] * 70,
    ):
        yield (
            f"shape {shape}"[:40],
            together(
                {"x": {"dtype": "F64", "shape": shape, "data_offsets": [0, size]}}, head, data
            ),
        )
    for offsets in (
        [0, 2**63],
        [-8, 0],
        [8, 0],
        [0],
        [0, 8, 16],
        [size, size + 8],
        ["0", "8"],
        [0.0, 8.0],
        None,
    ):
        yield (
            f"offsets {offsets}",
            together({"x": {"dtype": "F64", "shape": [1], "data_offsets": offsets}}, head, data),
        )
    both = {"dtype": "F64", "shape": [size // 8], "data_offsets": [0, size // 8 * 8]}
    yield "overlap", together({"x": both, "y": both}, head, data)
    yield (
        "many arrays",
        together(
            {
                f"x{i}": {"dtype": "F64", "shape": [0], "data_offsets": [0, 0]}
                for i in range(50_000)
            },
            head,
            b"",
        ),
    )
    yield from hostile_trees(files)


def hostile_trees(files: list[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield valid files whose trees need too much memory or time."""
    header, head, data = apart(files[5])  # scaler, polynomial, scaler, outliers
    steps = fields(head["model"])["steps"]["pairs"]
    for degree in (
        0,
        3,
        33,
        1000,
        10**9,
        2**63 - 1,
        [0, 10**9],
        [10**9, 1],
        {"tuple": [2, 2]},
        -1,
        2.0,
    ):
        for only in (False, True):
            changed = copy.deepcopy(head)
            fields(changed["model"], 1).update(degree=degree, interaction_only=only)
            yield f"degree {degree} {only}", together(header, changed, data)
    for width in (0, 1, 5, 10**6, 2**31, 2**40, 2**63 - 1):
        for step in (0, 1, 2, 3):
            changed = copy.deepcopy(head)
            fields(changed["model"], step)["n_features_in_"] = width
            yield f"width {width} of step {step}", together(header, changed, data)
    header, head, data = apart(
        files[4]
    )  # a ColumnTransformer: its width is tied to nothing but its lists of columns
    for width in (5, 10**6, 2**21, 2**21 + 1, 2**31):
        changed = copy.deepcopy(head)
        fields(changed["model"], 0)["n_features_in_"] = width
        yield f"columns of {width}", together(header, changed, data)
    header, head, data = apart(
        files[0]
    )  # a kernel: its width may be a text, which a regular expression reads
    for text in (
        " " * 200_000,
        "9" * 200_000 + " scale",
        "." * 200_000,
        "1e" + "9" * 200_000 + "scale",
    ):
        for place in ("kernel", "kernel_"):
            changed = copy.deepcopy(head)
            fields(changed["model"])[place] = {"Gaussian": {"variance": text}}
            yield f"width {text[:5]!r} in {place}", together(header, changed, data)
    changed = copy.deepcopy(head)
    fields(changed["model"])["loss"] = "x" * 10**6
    yield "a loss without end", together(header, changed, data)
    header, head, data = apart(files[5])
    for name in (
        "os.system",
        "FunctionTransformer",
        "sklearn.preprocessing._data.StandardScaler",
        "__main__",
        "Part",
        "",
    ):
        changed = copy.deepcopy(head)
        fields(changed["model"])["steps"]["pairs"][0][1] = {name: fields(head["model"], 0)}
        yield f"type {name}", together(header, changed, data)
    for name in ("a\x00b", "\x1b[2J", "x" * 1_000_000, "a__b", "../../etc/passwd", steps[1][0]):
        changed = copy.deepcopy(head)
        fields(changed["model"])["steps"]["pairs"][0][0] = name
        yield f"step named {name[:10]!r}", together(header, changed, data)
    header, head, data = apart(
        files[3]
    )  # precomputed: the width is tied to nothing but the number of training rows
    for width in (5, 10**6, 2**31 - 1, 2**31):
        changed = copy.deepcopy(head)
        fields(changed["model"]).update(n_features_in_=width, _m=width)
        yield f"precomputed {width}", together(header, changed, data)
    header, head, data = apart(files[1])
    for values in (
        ["x" * 10**6, *(f"y{i}" for i in range(100_000))],
        [0, 1, 2**63],
        [0.5, 1, 2],
        ["a\0", "b", "c"],
        [2, 1, 0],
    ):
        changed = copy.deepcopy(head)
        for kind in ("text", "objects", "tuple"):
            fields(changed["model"])["classes_"] = {kind: values}
            yield f"classes {kind} {str(values)[:20]}", together(header, changed, data)
    header, head, data = apart(files[5])
    for count in (2, 100, 3000):
        changed = copy.deepcopy(head)
        words = {"text": ["x" * 1500, *map(str, range(1500))]}
        fields(changed["model"])["steps"]["pairs"][0][1] = {
            "OneHotEncoder": {"categories_": [words] * count, "n_features_in_": count}
        }
        yield f"{count} columns with many long categories", together(header, changed, data)
    header, head, data = apart(files[2])
    (array,) = (name for name in header if name.endswith("support_vectors_/data"))
    for count in (2, 10_000):
        changed = copy.deepcopy(head)
        fields(changed["model"])["checkpoints"] = [{"array": array}] * count
        yield f"an array that is used {count} times", together(header, changed, data)


def _framed(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text
