"""Small Parquet files that hold far more than they look: refused in a sentence, before memory is taken."""

import hashlib
import json
import re
import subprocess
import sys

import numpy as np
import pytest

import tellall as ta
from tellall.core import files
from tellall.people.readers import ParquetColumns, read_table

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

MOST = 600 * 2**20  # bytes of memory that a refusal may take, besides what Python and the libraries take
# every address beyond 6 GiB is an error, so that a reader that is not bounded ends instead of the machine
PROBE = """
import hashlib, json, resource, sys
from pathlib import Path
import numpy, duckdb, pandas
import tellall as ta
from tellall.core import files
from tellall.people.readers import read_table
how, path = sys.argv[1:]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
said = ""
try:
    if how == "read":
        read_table(path)
    elif how == "scan":
        ta.scan(path, secret="ill")
    else:
        raw = Path(path).read_bytes()
        files.read_values(Path(path), count=10**9, sha256=hashlib.sha256(raw).hexdigest())
except ta.InvalidInput as error:
    said = str(error)
print(json.dumps([said, 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)]))
"""


def write(path, most_rows=None, **columns) -> None:
    with_bits = {"ill": np.arange(len(next(iter(columns.values())))) % 2, **columns}
    pq.write_table(pa.table(with_bits), path, compression="zstd", row_group_size=most_rows)


def repeated(value, times: int):
    """One value, stored once, and read as often as this."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(times, np.int32)), pa.array([value]))


def text_in_a_dictionary(path) -> None:
    write(path, a=repeated("x" * 1_000_000, 100_000))


def bytes_in_a_dictionary(path) -> None:
    write(path, a=repeated(b"x" * 1_000_000, 100_000))


def short_text_in_a_dictionary(path) -> None:
    write(path, a=repeated("x" * 10_000, 1_000_000))


def one_long_text(path) -> None:
    write(path, a=pa.array(["x" * 100_000_000, "y"]))


def texts_that_continue_each_other(path) -> None:
    table = pa.table({"ill": np.arange(2000) % 2, "a": pa.array(["x" * 1_000_000] * 2000)})
    options = {"use_dictionary": ["ill"], "column_encoding": {"a": "DELTA_BYTE_ARRAY"}}
    pq.write_table(table, path, compression="zstd", data_page_version="2.0", **options)


def runs_of_numbers(path) -> None:
    table = pa.table({name: np.zeros(10_000_000, np.int8) for name in ("ill", "value")})
    with pq.ParquetWriter(path, table.schema, compression="zstd") as file:
        for _ in range(100):
            file.write_table(table, row_group_size=10_000_000)


def nothing_at_all(path) -> None:
    write(path, a=pa.nulls(60_000_000, pa.string()))


BOMBS = [
    (
        text_in_a_dictionary,
        "read",
        "got 100,000 rows of 2 columns in .* need 38.,... MB; the limit is 512 MB",
    ),
    (text_in_a_dictionary, "scan", "column 'a' must be texts of at most 16,384 bytes; got 1,000,000 bytes"),
    (bytes_in_a_dictionary, "read", "got 100,000 rows of 2 columns in .* the limit is 512 MB"),
    (short_text_in_a_dictionary, "read", "got 1,000,000 rows of 2 columns in .* the limit is 512 MB"),
    (one_long_text, "read", "texts have at most 1,048,576 bytes; got 100,000,000 in column 'a'"),
    (one_long_text, "scan", "column 'a' must be texts of at most 16,384 bytes; got 100,000,000 bytes"),
    (texts_that_continue_each_other, "read", "a file that fits into memory"),
    (texts_that_continue_each_other, "scan", "files that fit into memory"),
    (runs_of_numbers, "read", "got 1,000,000,000 rows of 2 columns in .* need 15,258 MB; the limit is"),
    (runs_of_numbers, "values", "got 1,000,000,000 rows of 1 column in .* need 7,629 MB; the limit is"),
    (nothing_at_all, "read", "got 60,000,000 rows of 2 columns in .* the limit is"),
]


@pytest.fixture(scope="module")
def bombs(tmp_path_factory):
    """The path of each bomb, made when it is asked for."""
    folder, made = tmp_path_factory.mktemp("bombs"), {}

    def path_of(make):
        if make not in made:
            made[make] = folder / f"{make.__name__}.parquet"
            make(made[make])
        return made[make]

    return path_of


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited and measured as on Linux")
@pytest.mark.parametrize(("make", "how", "says"), BOMBS)
def test_a_bomb_is_refused_in_little_memory(bombs, make, how, says):
    path = bombs(make)
    assert path.stat().st_size < 10 * 2**20
    probe = [sys.executable, "-c", PROBE, how, str(path)]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    said, taken = json.loads(done.stdout)
    assert re.search(says, said), said
    assert taken < MOST


def test_honest_files_are_read_however_well_they_are_packed(tmp_path):
    rng = np.random.default_rng(0)
    states = pa.array(np.sort(rng.choice(["north", "south", "é" * 40], 300_000)))
    write(tmp_path / "p.parquet", state=states, score=rng.integers(0, 3, 300_000))
    table = read_table(tmp_path / "p.parquet")
    assert table["state"].tolist() == states.to_pylist()
    assert ta.scan(tmp_path / "p.parquet", secret="ill").n == 300_000
    write(tmp_path / "notes.parquet", note=pa.array(["x" * 1_000_000, None]), who=pa.array([b"1", None]))
    assert len(read_table(tmp_path / "notes.parquet")["note"][0]) == 1_000_000


def test_columns_of_lists_are_left_out_with_a_sentence(tmp_path):
    lists = pa.array([[1]] * 10)
    deep = pa.ListArray.from_arrays(pa.array(np.arange(11, dtype=np.int32)), lists)
    parts = pa.array([{"a": 1}] * 10)
    pairs = pa.array([[("a", 1)]] * 10, pa.map_(pa.string(), pa.int64()))
    write(tmp_path / "p.parquet", age=np.arange(10) % 3, list=lists, deep=deep, parts=parts, pairs=pairs)
    table = read_table(tmp_path / "p.parquet")
    assert list(table) == ["ill", "age"]
    assert table.assumed == "'list', 'deep', 'parts' and 1 more left out: not of single values."
    assert ParquetColumns(tmp_path / "p.parquet").names == ("ill", "age")
    assert ta.read(tmp_path / "p.parquet", secret="ill").n == 10


def test_one_long_text_does_not_widen_all_the_others(tmp_path):
    """An array of texts is as wide as its longest: 20,000 people and a note of 1 MB would take 80 GB."""
    notes = np.array(["x" * 1_000_000, *(f"{i}" for i in range(19_999))], dtype=object)
    people = ta.Dataset.from_frame({"note": notes, "ill": np.arange(20_000) % 2}, secret="ill")
    assert people.public.columns[0].levels == 20_000


def test_people_that_do_not_fit_are_not_loaded(tmp_path, monkeypatch):
    write(tmp_path / "p.parquet", age=np.arange(10_000) % 3)
    stored = ta.scan(tmp_path / "p.parquet", secret="ill")
    monkeypatch.setattr("tellall.people.counting.parquet.HOST", type("Host", (), {"free_memory": 500_000}))
    with pytest.raises(ta.InvalidInput, match="people who fit into memory; got 10,000 people"):
        stored.load()
    assert stored.load(age=1).n == 3333


@pytest.mark.parametrize("values", [["1", "2", "3"], [[1.0], [2.0], [3.0]], [None, "x", "y"]])
def test_values_of_a_release_are_numbers(tmp_path, values):
    pq.write_table(pa.table({"value": values}), tmp_path / "v.parquet")
    digest = hashlib.sha256((tmp_path / "v.parquet").read_bytes()).hexdigest()
    with pytest.raises(ta.InvalidInput, match="values must be numbers"):
        files.read_values(tmp_path / "v.parquet", count=3, sha256=digest)
    with pytest.raises(ta.InvalidInput, match="values must be 4 numbers; got 3"):
        files.read_values(tmp_path / "v.parquet", count=4, sha256=digest)


def test_values_of_a_release_may_be_missing_or_whole(tmp_path):
    for number, values in enumerate(([1.5, None, 3.0], [1, 2, 3], [None, None, None])):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"value": pa.array(values, None if values[1] else pa.float64())}), path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        found = files.read_values(path, count=3, sha256=digest)
        expected = [np.nan if value is None else float(value) for value in values]
        np.testing.assert_array_equal(found, expected)
