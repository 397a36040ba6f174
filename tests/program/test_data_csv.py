"""Test text tables: detection of columns, notes, and refusals."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegasos.program.tables import csv_files
from pegasos.program.tables import table as tables
from pegasos.program.tables.dataset import BadData, Column, Dataset, ReadOptions
from pegasos.program.tables.reading import read, stream


@pytest.fixture
def table(tmp_path: Path) -> Any:
    def write(content: str | bytes, /, **options: Any) -> Dataset:
        path = tmp_path / "table.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read(path, ReadOptions(**options))

    return write


PLAIN = "a,b,y\n1,2,0\n3,4,1\n5,6.5,0\n"


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", "\t"),
        PLAIN.replace(",", "|"),
        PLAIN.replace(",", "   "),
        PLAIN.replace(",", " \t"),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        PLAIN.replace("\n", "\n\n"),
        "\n  \n" + PLAIN,
        PLAIN.rstrip(),
        PLAIN.replace(",", " , "),
        '"a","b","y"\n"1","2","0"\n"3","4","1"\n"5","6.5","0"\n',
        PLAIN.encode("utf-8-sig"),
        PLAIN.encode("utf-16"),
        b"\xfe\xff" + PLAIN.encode("utf-16-be"),
        gzip.compress(PLAIN.encode(), mtime=0),
        bz2.compress(PLAIN.encode()),
        lzma.compress(PLAIN.encode()),
    ],
)
def test_one_table_in_many_dresses(table: Any, text: str | bytes) -> None:
    found = table(text)
    np.testing.assert_array_equal(found.X, [[1, 2], [3, 4], [5, 6.5]])
    assert found.X.dtype == np.float64
    assert found.y.tolist() == [0, 1, 0] and found.y.dtype == np.int64
    assert found.columns == [Column("a"), Column("b")] and found.label_name == "y"
    assert found.notes[0] == "label: column 'y' (3 of 3), by its name"


def test_without_names(table: Any) -> None:
    found = table("1,2,0\n3,4,1\n5,6.5,0\n")
    assert [column.name for column in found.columns] == ["x1", "x2"]
    assert found.notes[0] == "label: column 'x3' (3 of 3), as the last column"


def test_header_names_that_are_numbers(table: Any) -> None:
    assert [column.name for column in table("0,1,2,3\n5.5,6,7,1\n8,9,1,0\n").columns] == [
        "0",
        "1",
        "2",
    ]
    found = table("color,size,kind\nred,big,a\nblue,big,b\nred,small,a\n")
    assert [column.name for column in found.columns] == ["color", "size"]
    assert any(
        "first row is taken as their names: color, size, kind" in note for note in found.notes
    )
    assert [column.name for column in table("red,big,a\nblue,big,b\nred,small,a\n").columns] == [
        "x1",
        "x2",
    ]


def test_plain_text_takes_the_fast_way(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        csv_files, "_parse_exactly", lambda *_: pytest.fail("the slow reader was asked")
    )
    for text in (
        PLAIN,
        PLAIN.replace("\n", "\r\n\r\n"),
        "a,b,y\n1,NA,0\n,4,1\n",
        'a,b,y\n"x, y",1,0\n"z",2,1\n',
    ):
        assert len(table(text)) >= 2


@pytest.mark.parametrize(
    ("options", "label", "features"),
    [
        ({"label": "a"}, "a", ["b", "y"]),
        ({"label": "1"}, "a", ["b", "y"]),
        ({"label": "-2"}, "b", ["a", "y"]),
        ({"drop": ("a",)}, "y", ["b"]),
        ({"drop": ("y",)}, "b", ["a"]),
    ],
)
def test_which_column_is_the_label(
    table: Any, options: dict[str, Any], label: str, features: list[str]
) -> None:
    found = table("a,b,y\n1,2,0\n3,4,1\n1,2,0\n3,4,0\n", **options)
    assert found.label_name == label and [column.name for column in found.columns] == features


def test_a_name_wins_over_a_position(table: Any) -> None:
    assert (
        table("a,1,z\n1,2,0\n3,4,1\n", label="1").notes[0]
        == "label: column '1' (2 of 3), by --label"
    )


def test_label_that_is_optional(table: Any) -> None:
    assert table("a,b\n1,2\n3,4\n", labelled=False).y is None
    assert table(PLAIN, labelled=False).label_name == "y"


def test_kinds_of_labels(table: Any) -> None:
    assert table("a,y\n1,cat\n2,dog\n").y.tolist() == ["cat", "dog"]
    assert table("a,y\n1,0.5\n2,1.5\n").y.dtype == np.float64
    assert table("a,y\n1,1\n2,b\n").y.tolist() == ["1", "b"]


def test_long_numbers_are_different_classes(table: Any, tmp_path: Path) -> None:
    text = f"a,y\n1,{2**53}\n2,{2**53 + 1}\n3,{2**53}\n"
    assert table(text).y.tolist() == [str(2**53), str(2**53 + 1), str(2**53)]
    (part,) = stream(tmp_path / "table.csv", [Column("a")], label_name="y")
    assert part.y is not None and part.y.tolist() == [str(2**53), str(2**53 + 1), str(2**53)]


def test_groups_and_weights(table: Any) -> None:
    found = table("a,who,w,y\n1,u,0.5,0\n2,v,0,1\n3,u,2,0\n", group="who", weight="w")
    assert found.groups.tolist() == ["u", "v", "u"] and found.weights.tolist() == [0.5, 0, 2]
    assert [column.name for column in found.columns] == ["a"]


def test_column_notes(table: Any) -> None:
    found = table("a,city,y\n1,Rome,0\nNA,?,1\n n/a ,Oslo,0\n4,None,1\n")
    assert found.X["a"].to_list() == [1, None, None, 4] and found.X["city"].to_list() == [
        "Rome",
        None,
        "Oslo",
        None,
    ]
    assert found.columns == [Column("a"), Column("city", "text")]
    assert (
        "missing numbers in a (2): filled with the median, plus a missing-value indicator"
        in found.notes
    )
    assert (
        "text column city: one-hot encoded; categories without training rows become zeros"
        in found.notes
    )


def test_numbers_read_as_text(table: Any) -> None:
    found = table("zip,b,y\n007,1,0\n10,2,1\n", text=("zip",))
    assert found.X["zip"].to_list() == ["007", "10"]


def test_decimal_commas(table: Any) -> None:
    found = table("a;b;y\n1,5;2;0\n-2,25;3,5;1\n")
    np.testing.assert_array_equal(found.X, [[1.5, 2], [-2.25, 3.5]])
    assert "commas are read as decimal points in a, b" in found.notes


def test_oddities_are_noted(table: Any) -> None:
    rows = "".join(f"{i},7,,u{i},{i % 3},{i % 2}\n" for i in range(1, 31))
    notes = "\n".join(table("n,c,e,u,v,y\n" + rows).notes)
    for part in (
        "empty columns are excluded: e",
        "constant columns carry no information: c",
        "n, u are excluded as likely IDs; use --number n and --text u to keep them",
    ):
        assert part in notes
    notes = "\n".join(table("a,b,y\n1,2,0\n1,2,0\n1,2,1\n3,4,0\n").notes)
    assert (
        "1 rows are exact repeats" in notes
        and "3 rows are equal to others in all features but not in the label" in notes
    )


def _members(rows: int, repeats: int) -> str:
    """Return member numbers in random order, with the first rows repeated at the end."""
    numbers = np.random.default_rng(0).permutation(rows) + 5000
    lines = [f"{number},{row % 7},{row % 2}\n" for row, number in enumerate(numbers)]
    return "member,calls,y\n" + "".join([*lines, *lines[:repeats]])


@pytest.mark.parametrize("repeats", [0, 10])
def test_identifiers_are_left_out_though_rows_repeat(table: Any, repeats: int) -> None:
    text = _members(400, repeats)
    found = table(text)
    assert [column.name for column in found.columns] == ["calls"]
    assert any(note.startswith("member is excluded as a likely ID") for note in found.notes)
    used = table(text, number=("member",))
    assert [column.name for column in used.columns] == ["member", "calls"]
    assert table(text, text=("member",)).X["member"][0] == str(used.X[0, 0].astype(int))


def test_text_keys_and_spaced_numbers_are_identifiers_despite_repeats(table: Any) -> None:
    """Numbers in steps of three and text keys are identifiers although rows repeat."""
    lines = [
        f"{1000 + 3 * row},k-{row:x},{row % 7},{'ab'[row % 2]},{row % 2}\n" for row in range(2000)
    ]
    text = "account,key,calls,plan,y\n" + "".join([*lines, *lines[:60]])
    found = table(text)
    assert [column.name for column in found.columns] == ["calls", "plan"]
    assert [column.name for column in table(text, text=("key",)).columns] == [
        "key",
        "calls",
        "plan",
    ]


def test_ten_digits_are_an_identifier_under_such_a_name_only(table: Any) -> None:
    values = np.random.default_rng(0).integers(10**9, 10**10, size=50)
    for name, left_out in (
        ("customerID", True),
        ("Konto-Nr", True),
        ("cents", False),
        ("paid", False),
    ):
        found = table(
            f"{name},c,y\n"
            + "".join(f"{value},{row % 3},{row % 2}\n" for row, value in enumerate(values))
        )
        assert ([column.name for column in found.columns] == ["c"]) is left_out


def test_columns_of_many_categories_are_noted_and_used(table: Any) -> None:
    found = table("street,y\n" + "".join(f"s{row % 1100},{row % 2}\n" for row in range(4400)))
    assert [column.name for column in found.columns] == ["street"]
    assert any(
        "street has 1100 different values in 4400 rows: --drop it if an ID" in note
        for note in found.notes
    )


def test_repeated_integers_are_no_identifiers(table: Any) -> None:
    """A measurement that determines all other columns is not an identifier."""
    values = np.random.default_rng(0).integers(300, size=400)
    found = table("kilograms,c,y\n" + "".join(f"{value},7,{value % 2}\n" for value in values))
    assert [column.name for column in found.columns] == ["kilograms", "c"]


def test_a_single_column_is_no_identifier(table: Any) -> None:
    """With a single varying column each distinct value is a distinct row."""
    ages = np.random.default_rng(0).integers(18, 81, size=2000)
    assert [
        each.name
        for each in table("age,y\n" + "".join(f"{age},{age % 2}\n" for age in ages)).columns
    ] == ["age"]
    constant = table("a,b,y\n" + "".join(f"1,k,{row % 2}\n" for row in range(60)))
    assert [each.name for each in constant.columns] == ["a", "b"]


def test_requested_columns_must_exist(table: Any) -> None:
    with pytest.raises(BadData, match=r"no column 'members' \(--number\).*Did you mean 'member'"):
        table(_members(20, 0), number=("members",))


MOSTLY = "a,y\n" + "".join(f"{i}.5,{i % 2}\n" for i in range(40))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b,y\n1,2,0\n\n3,4\n", {}, "line 4: 2 fields where other lines have 3"),
        ("a,b,y\n1,2,0\n3,4,1,5\n", {}, "line 3: 4 fields where other lines have 3"),
        ("a,b,y\n1,2,0\n1,2\n1,2,3,4\n1,2,0\n", {}, "line 3: 2 fields"),
        ('a,b,y\n1,2,0\n3,"4,1\n5,6,0\n', {}, "line 3: 2 fields .* never closed"),
        ('a,b,y\n1,2,0\n3,4,"1\n5,6,0\n', {}, "line 3: a quote is opened and never closed"),
        (
            "a;b;y\n" + '"x\n1";2,5;0\n' * 9 + '"x;2,5;1\n' + '"x\n1";2,5;0\n' * 9,
            {},
            "line 20: . fields? where other lines have 3",
        ),
        ("a,a,y\n1,2,0\n3,4,1\n", {}, "two columns are called 'a'"),
        (
            "a,y\né,0\nb,1\n".encode("cp1252"),
            {},
            "line 2: the text is not UTF-8; try --encoding cp1252",
        ),
        ("a,y\n1,0\n2,1\n", {"encoding": "zlib"}, "no encoding called 'zlib'"),
        (b"a,y\n1,0\n2,\x001\n", {}, "line 3: a zero byte"),
        ("a,y\n1,0\n2,\n", {"strict": True}, r"1 of 2 rows have no label \(column 'y'\)"),
        ("a,y\n1,0\n2,0\n", {}, "column 'y' holds only '0'; two classes are needed"),
        (
            "a,y\n" + "".join(f"{i},{i / 7}\n" for i in range(60)),
            {},
            "'y' looks continuous .60 different .* --label",
        ),
        ("a,y\n" + "".join(f"{i},u{i}\n" for i in range(150)), {}, "'y' has 150 different values"),
        ("a,y\n1,0\ninf,1\n", {}, "line 3, column 'a': the number is infinite"),
        ("a,y\n1e999,0\n1,1\n", {}, "line 2, column 'a': the number is infinite"),
        (
            MOSTLY + "4x,1\n",
            {},
            "line 42, column 'a': '4x' is not a number, but 40 of 41 .* --text a",
        ),
        (PLAIN, {"label": "why"}, r"no column 'why' \(--label\); its columns are a, b, y"),
        (PLAIN, {"label": "7"}, "no column number 7"),
        (PLAIN, {"drop": ("A",)}, "no column 'A' .* Did you mean 'a'"),
        (PLAIN, {"drop": ("a", "b")}, "no columns left as features"),
        (PLAIN, {"group": "a", "label": "a"}, "is named by --label and by --group"),
        ("a,w,y\n1,1,0\n2,-1,1\n", {"weight": "w"}, "line 3: the weight .* is -1.0"),
        ("a,w,y\n1,0,0\n2,0,1\n", {"weight": "w"}, "all weights .* are 0"),
        ("a,y\nNA,0\n2,1\n", {"strict": True}, r"missing numbers in a \(1\); --strict"),
        ("a,y\nu,0\nv,1\n", {"strict": True}, "text in column a; --strict"),
        (",".join(["1"] * 100_001), {}, "100001 columns; .* svmlight"),
        ("a,b,y\n", {}, "names of columns, but no rows"),
        ("\n \n\n", {}, "blank lines"),
        ("\ufeff\n", {"encoding": "utf-8"}, "blank lines"),
        ("\u00a0\n", {}, "the lines are blank"),
        ("a,b\n1,2,0\n3,4,1\n", {}, "line 1: 2 names of columns, and 3 fields in other lines"),
        ("", {}, "is empty"),
        (PLAIN * 1000, {"limit": 100}, "takes more than 100 bytes"),
        (gzip.compress(b"\n" * 10_000_000, mtime=0), {"limit": 10**6}, "unpacks to more than"),
        (gzip.compress(PLAIN.encode(), mtime=0)[:-9], {}, "damaged gzip data"),
        ("x\x1b[2J,y\n1\x07,0\n2,0\n", {}, "two classes"),
    ],
)
def test_what_is_refused(
    table: Any, text: str | bytes, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadData, match=message):
        table(text, **options)


def test_messages_are_harmless_on_a_terminal(table: Any) -> None:
    with pytest.raises(BadData, match=r"'4\\x1b\[2J'"):
        table(MOSTLY + "4\x1b[2J,1\n")


def test_encoding(table: Any) -> None:
    assert table("a,y\né,0\nb,1\n".encode("cp1252"), encoding="cp1252").X["a"].to_list() == [
        "é",
        "b",
    ]


def test_late_text_values(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables.Table.blocks, "__defaults__", (100,))
    codes = [f"{i % 20:03d}" for i in range(50)] + [f"k{i % 20}" for i in range(50)]
    found = table(
        "code,city,n,y\n"
        + "".join(f"{code},{'uv'[i % 2]},{i}.5,{i % 2}\n" for i, code in enumerate(codes))
    )
    assert (
        found.X["code"].to_list() == codes
    )  # as they were written, though the first chunks held numbers
    assert found.X["city"].to_list() == ["u", "v"] * 50
    assert found.X["n"].to_list() == [i + 0.5 for i in range(100)]


def test_a_table_is_parsed_once(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    real = csv_files.parse
    monkeypatch.setattr(
        csv_files,
        "parse",
        lambda file, chunk, *rest: parsed.append(chunk) or real(file, chunk, *rest),
    )
    table("a,city,y\n" + "".join(f"{i}.5,{'uv'[i % 2]},{i % 2}\n" for i in range(100)))
    assert len(parsed) == 1


def test_inch_marks_are_not_quotes(table: Any) -> None:
    assert table('size,y\n5" pipe,0\n3" pipe,1\n').X["size"].to_list() == ['5" pipe', '3" pipe']


# ---- against Python's own reader

_CELL = st.one_of(
    st.sampled_from(["", "NA", "?", "a,b", 'say "x"', "two\nlines", ";", "x;y", "ü", " pad "]),
    st.text(alphabet='ab1,;"\n é', max_size=6),
    st.floats(allow_nan=False, allow_infinity=False).map(str),
)
_MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(_CELL, _CELL), min_size=1, max_size=12),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC]),
    ends=st.sampled_from(["\n", "\r\n"]),
    separator=st.sampled_from([",", ";", "\t", "|"]),
    chunk=st.integers(1, 200),
)
def test_cells_are_what_the_csv_module_says(
    tmp_path_factory: Any,
    rows: list[tuple[str, str]],
    quoting: Any,
    ends: str,
    separator: str,
    chunk: int,
) -> None:
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=quoting, lineterminator=ends, delimiter=separator)
    writer.writerow(["first", "second", "number"])
    writer.writerows([*row, place] for place, row in enumerate(rows))
    path = tmp_path_factory.getbasetemp() / "cells.csv"
    path.write_bytes(buffer.getvalue().encode())
    expected = list(csv.reader(io.StringIO(buffer.getvalue(), newline=""), delimiter=separator))[1:]
    columns = [Column("number"), Column("second", "text"), Column("first", "text")]
    frames = [part.X for part in stream(path, columns, frame=True, chunk=chunk)]
    found = pl.concat(frames)
    assert found["number"].to_list() == list(range(len(rows)))
    for place, name in enumerate(("first", "second")):
        wanted = [
            None if row[place].strip().lower() in _MISSING else row[place].strip()
            for row in expected
        ]
        assert found[name].to_list() == wanted
