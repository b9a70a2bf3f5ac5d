"""Wide tables of bits and genotypes are read a piece at a time, a byte for each value."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall.core.errors import InvalidInput
from tellall.people.attributes import wide_csv
from tellall.people.attributes.tables import PeopleFile
from tellall.people.attributes.wide_csv import MISSING, NotPlain, read_header, read_wide
from tellall.tracing.read_inputs import read_tracing_files

SPELT = {0: ["0", "0.0", '"0"', " 0"], 1: ["1", "1.0", "+1", '"1"'], -1: ["-1", "-1.0"], 2: ["2", "2e0"]}
SPELT |= {MISSING: ["", '""', "nan", " "], 42: ["42"]}


@st.composite
def tables(draw):
    width, people = draw(st.integers(1, 5)), draw(st.integers(0, 6))
    values = draw(
        st.lists(
            st.lists(st.sampled_from(list(SPELT)), min_size=width, max_size=width),
            min_size=people,
            max_size=people,
        )
    )
    mark, end = draw(st.sampled_from([",", ";", "\t", "|"])), draw(st.sampled_from(["\n", "\r\n"]))
    ids = [draw(st.sampled_from(["p", '"a, b"', '"Łódź"', '"two\nlines"', "007"])) for _ in values]
    rows = [
        mark.join([name, *(draw(st.sampled_from(SPELT[value])) for value in row)])
        for name, row in zip(ids, values, strict=True)
    ]
    header = mark.join(["id", *(f"c{column}" for column in range(width))])
    blank = draw(st.booleans())
    text = end.join([header, *(line for row in rows for line in ([row, ""] if blank else [row]))])
    return values, ids, text + draw(st.sampled_from(["", end])), width, draw(st.sampled_from([7, 16, 1000]))


@given(tables())
def test_every_spelling_and_every_cut_gives_the_same_values(tmp_path_factory, made):
    values, ids, text, width, piece = made
    path = tmp_path_factory.mktemp("wide") / "t.csv"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wide_csv, "_PIECE", piece)
        chosen = [f"c{column}" for column in range(width)][::-1]
        found = read_wide("--targets", path, chosen, "id")
    assert found.values.tolist() == [row[::-1] for row in values]
    assert found.who == tuple(name.strip('"') for name in ids)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n0,1\n0\n", "--targets must be a table with 2 values in every row; got 1 in row 2"),
        (
            'a,b\n0,1\n"open',
            "--targets must be a table whose quotes are closed; got one left open after row 1",
        ),
        ('a,b\n0,"1\n1,0\n', "quotes are closed; got one left open after row 0"),
        ("a,b\n0,1\n\n0,1,1\n", "got 3 in row 2"),
        ("a,b\n0,1\n0,yes\n", "numbers in column 'b'; got text"),
        ("a,a\n0,1\n", "each column once; got 'a' twice"),
        ("a,b\n\xff,1\n", "numbers in column 'a'"),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path, text, says):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInput) as told:
        read_wide("--targets", path, list(dict.fromkeys(read_header(path)[0])), None)
    assert says in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("value", ["0.5", "1000", "inf"])
def test_other_numbers_are_for_another_reader(tmp_path, value):
    path = tmp_path / "t.csv"
    path.write_text(f"a,b\n0,1\n0,{value}\n")
    with pytest.raises(NotPlain):
        read_wide("--targets", path, ["a", "b"], None)


def test_tables_of_reals_are_read_whole_as_before(tmp_path):
    (tmp_path / "m.csv").write_text("name,mean\na,0.25\nb,0.5\n")
    (tmp_path / "t.csv").write_text("id,b,a\n007,0.5,1\nx,2.5,0\n")
    (tmp_path / "r.csv").write_text("a,b\n1,0\n0,\n")
    found = read_tracing_files(tmp_path / "m.csv", tmp_path / "t.csv", tmp_path / "r.csv", coding="bits")
    assert found.targets.chunk(0, 2).tolist() == [[1, 0.5], [0, 2.5]]
    assert np.array_equal(found.reference.chunk(0, 2), [[1, 0], [0, np.nan]], equal_nan=True)


def test_names_stay_as_they_are_written(tmp_path):
    (tmp_path / "m.csv").write_text("name,mean\na,0.25\nb,0.5\n")
    (tmp_path / "t.csv").write_text("id,b,a\n007,0,1\n008,1,0\n")
    found = read_tracing_files(tmp_path / "m.csv", tmp_path / "t.csv", tmp_path / "t.csv", coding="bits")
    assert found.names == ("007", "008")


def test_memory_is_a_byte_for_each_value_and_a_piece(tmp_path):
    """Twenty million values, 40 MB of text: far less than the 160 MB of eight bytes each."""
    path, rng = tmp_path / "t.csv", np.random.default_rng(0)
    line = np.full((20_000, 2), ord(","), dtype=np.uint8)
    with path.open("wb") as file:
        file.write((",".join(f"c{column}" for column in range(20_000)) + "\n").encode())
        for _ in range(1000):
            line[:, 0] = ord("0") + rng.integers(0, 2, 20_000)
            line[-1, 1] = ord("\n")
            file.write(line.tobytes())
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from tellall.people.attributes.wide_csv import read_header, read_wide\n"
        "used = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "path = Path(sys.argv[1]); before = used()\n"
        "found = read_wide('x', path, read_header(path)[0], None)\n"
        "print(found.values.size, used() - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    size, more = map(int, done.stdout.split())
    unit = 1 if sys.platform == "darwin" else 1024
    assert size == 20_000_000
    assert more * unit < 120 * 2**20


TABLE = "id, a, b\np,{},1\nJos\xe9,1,0\n"


@pytest.mark.parametrize("value", ["0", "0.5"])
@pytest.mark.parametrize(
    "content",
    [TABLE.encode(), TABLE.replace("\n", "\r").encode(), TABLE.encode("cp1252"), TABLE.encode("utf-16")],
)
def test_every_line_end_encoding_and_space_gives_the_same_people(tmp_path, content, value):
    mark = "{}".encode("utf-16-le" if b"\0" in content else "utf-8")
    spelt = value.encode("utf-16-le" if b"\0" in content else "utf-8")
    (tmp_path / "t.csv").write_bytes(content.replace(mark, spelt))
    file = PeopleFile.open("--targets", tmp_path / "t.csv")
    assert file.names == ("id", "a", "b")
    people, names = file.choose(("a", "b"))
    assert people.chunk(0, 2).tolist() == [[float(value), 1], [1, 0]]
    assert names == ("p", "Jos\xe9")
    assert "t.csv was read as text" in file.assumed
