"""People in a store give the same columns, numbers and releases as the same people in memory."""

import subprocess
import sys
import weakref
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import pandas as pd
import pytest
from tests.conftest import rows_of

import tellall as ta
from tellall.people.counting import parquet
from tellall.people.counting.parquet_files import portions
from tellall.people.counting.spark import from_spark
from tellall.statistics import stored_part
from tellall.statistics.stored_part import people_of_store
from tellall.statistics.where import as_where


def frame(n: int = 600, seed: int = 0) -> pd.DataFrame:
    """People with every kind of column, gaps in some."""
    rng = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "county": rng.choice(["Kent", "O'Brien", "Śląsk"], n),
            "age": rng.integers(0, 90, n),
            "income": np.where(rng.random(n) < 0.1, np.nan, rng.normal(3e4, 1e4, n).round(2)),
            "flag": rng.random(n) < 0.3,
            "schooling": pd.array(rng.integers(0, 5, n), dtype="Int64"),
            "born": pd.Timestamp("1965-03-01") + pd.to_timedelta(rng.integers(0, 9000, n), "D"),
            "sex": rng.choice(["f", "m", None], n),
            'odd "name"': rng.integers(-3, 3, n) / 2,
            "planet": "Earth",
            "ill": rng.integers(0, 2, n),
        }
    )
    people.loc[rng.random(n) < 0.05, "schooling"] = pd.NA
    return people


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    frame().to_parquet(path)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("hive")
    frame().to_parquet(path, partition_cols=["county"])
    (path / "_SUCCESS").write_text("")
    return path


def same(stored: ta.Stored, people: ta.Dataset) -> None:
    """The columns, every table and the shape are the same."""
    assert stored.public.columns == people.public.columns
    assert stored.public.left_out == people.public.left_out
    assert stored.meaning == people.meaning
    tables = ta.Marginals(min(3, len(people.public.names) + 1))
    one, other = ta.publish(stored, tables), ta.publish(people, tables)
    assert one.values.tolist() == other.values.tolist()
    assert one.shape == other.shape
    assert one.columns == other.columns
    assert one.levels == other.levels


def test_a_file_gives_what_reading_it_gives(file):
    same(ta.scan(file, secret="ill"), ta.read(file, secret="ill"))


@pytest.mark.parametrize("bins", [3, {"age": 4, "income": [2e4, 3e4]}, [10.0, 20.0], {"born": 2}])
def test_bins_are_those_of_memory(file, bins):
    same(ta.scan(file, secret="ill", bins=bins), ta.read(file, secret="ill", bins=bins))


def test_a_secret_of_several_values_or_of_text(file):
    for secret in ("schooling", "county", "flag"):
        chosen = ["age", "ill"]
        if secret == "schooling":
            with pytest.raises(ta.InvalidInput, match="known for everybody"):
                ta.scan(file, secret=secret, public=chosen)
            continue
        same(ta.scan(file, secret=secret, public=chosen), ta.read(file, secret=secret, public=chosen))


CONDITIONS = [
    "county = 'Kent' and age < 40",
    "age >= 30 and age <= 60.5 or schooling in [1, 3]",
    "not income < 30000",  # missing ones too
    "income != 30000 and sex = 'f'",
    "flag = 1",
    'born > 0 and `odd "name"` == -0.5',
    "age > -1e300 and income < 1e999",
]


@pytest.fixture(scope="module")
def both(file):
    return [make(file, secret="ill", bins={"income": 3}) for make in (ta.scan, ta.read)]


@pytest.mark.parametrize("where", CONDITIONS)
def test_some_of_the_people_are_those_of_memory(both, where):
    for statistic in (ta.Marginals(1), ta.Marginals(2, scale="fractions")):
        one, other = (ta.publish(each, statistic, ta.Rounding(3), where=where) for each in both)
        assert one.values.tolist() == other.values.tolist()
        assert one.shape == other.shape
        assert one.where == other.where == where


def test_tables_of_some_people_without_a_secret(file):
    kept = frame()["age"] < 40
    assert ta.count_cells(ta.scan(file), 0).counts.tolist() == [len(kept)]
    young = ta.publish(ta.scan(file), ta.Tables(2), where="age < 40")
    assert young.shape.people == int(kept.sum())


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("age < 0", "true of one person or more; got true of nobody"),
        (np.ones(600, dtype=bool), "a condition such as .* People in a store have no order"),
        ("agee < 3", "Did you mean|'age'|agee"),
        ("planet = 'Earth'", "about columns that differ between people"),
        ("age = 'old'", "the column 'age' with a number"),
        ("county < 'Kent'", "==, != or in after the text column"),
        ("county = 'Essex'", "one of the 3 values of the column 'county'"),
    ],
)
def test_a_condition_that_a_store_cannot_use_is_refused(both, where, says):
    with pytest.raises(ta.InvalidInput, match=says):
        ta.publish(both[0], ta.Marginals(2), where=where)


def test_a_part_of_a_store_is_seen_through_tables_alone(both, monkeypatch):
    some = people_of_store(as_where("age < 40"), both[0])
    with pytest.raises(ta.InvalidInput, match="Load everybody, then take some"):
        some.load()
    monkeypatch.setattr(stored_part, "_MOST_COMBINATIONS", 5)
    with pytest.raises(ta.InvalidInput, match="at most 5 combinations of values; got 9"):
        people_of_store(as_where("county = 'Kent' and age < 40"), both[0])


def test_small_blocks_change_nothing(file, monkeypatch):
    whole = ta.publish(ta.scan(file, secret="ill"), ta.Marginals(3))
    monkeypatch.setattr(parquet, "portions", lambda files, sizes, most: portions(files, sizes, 37))
    seen = []
    people = ta.scan(file, secret="ill", threads=1, progress=lambda done, total: seen.append((done, total)))
    assert ta.publish(people, ta.Marginals(3)).values.tolist() == whole.values.tolist()
    assert (600, 600) in seen
    assert len(seen) > 10


def test_portions_hold_every_row_once():
    sizes = [5, 0, 3, 100, 2, 4, 4]
    cut = list(portions([str(i) for i in range(7)], sizes, 10))
    assert sum(rows for _, _, rows in cut) == sum(sizes)
    assert [begin for files, begin, _ in cut if files == ["3"]] == list(range(0, 100, 10))
    assert max(rows for *_, rows in cut) <= 10


def test_folders_name_a_column(folder):
    people = ta.scan(folder, secret="ill")
    everybody = ta.Dataset.from_frame(frame(), secret="ill", public=[*people.public.names, "planet"])
    same(people, everybody)
    assert len(people.engine.files) == 3


def test_folders_of_digits_keep_the_type_that_all_of_them_have(tmp_path):
    for county, rows in {"1": [0, 1], "2": [1, 1], "x": [0, 0]}.items():
        place = tmp_path / f"county={county}"
        place.mkdir()
        pd.DataFrame({"age": [30, 40], "ill": rows}).to_parquet(place / "part.parquet")
    people = ta.scan(tmp_path, secret="ill")
    assert people.public.columns[1].labels == ("1", "2", "x")
    assert ta.count_cells(people, 2).table("county", "ill").tolist() == [[1, 1], [0, 2], [2, 0]]


def test_a_pattern_names_files_and_other_marks_are_letters(tmp_path):
    frame(50, 1).to_parquet(tmp_path / "a.parquet")
    frame(70, 2).to_parquet(tmp_path / "b.parquet")
    frame(10, 3).to_parquet(tmp_path / "a[1].parquet")
    assert ta.scan(tmp_path / "[ab].parquet").n == 120
    assert ta.scan(tmp_path / "a[1].parquet").n == 10
    assert ta.scan(tmp_path).n == 130


def test_a_block_can_be_loaded_and_attacked(file):
    people = ta.scan(file, secret="ill")
    everybody, kent = people.load(), people.load(county="Kent")
    in_memory = ta.read(file, secret="ill")
    assert rows_of(everybody.public) == rows_of(in_memory.public)
    assert everybody.secret.tolist() == in_memory.secret.tolist()
    assert kent.n == int((frame()["county"] == "Kent").sum())
    assert kent.public.columns == people.public.columns
    release = ta.publish(kent, ta.Marginals(3))
    assert ta.reconstruct(release, kent.public).guess.size == kent.n
    with pytest.raises(ta.InvalidInput, match="Did you mean 'county'"):
        people.load(conty="Kent")
    with pytest.raises(ta.InvalidInput, match="one of the 3 categories of the column"):
        people.load(county="Atlantis")
    narrow = ta.scan(file, secret="ill", public=["age", "sex"])
    assert narrow.load(county="Kent").n == kent.n  # any column of the store, not only the public ones
    with pytest.raises(ta.InvalidInput, match="two people or more"):
        narrow.load(county="Atlantis")


def test_blocks_are_everybody_by_category(file):
    people = ta.scan(file, secret="ill")
    everybody = people.load()
    for name in people.public.names:
        place = people.public.names.index(name)
        found = dict(people.areas(name))
        assert list(found) == list(people.public.columns[place].labels)
        for code, (label, block) in enumerate(found.items()):
            chosen = np.flatnonzero(everybody.public.codes[place] == code)
            assert rows_of(block.public) == rows_of(everybody.public.take(chosen))
            assert block.secret.tolist() == everybody.secret[chosen].tolist()
            if code < 2 or code == len(found) - 1:  # a file is read for each
                assert people.load(**{name: label}).n == block.n
    assert people.load(flag=True).n == dict(people.areas("flag"))["1"].n


def test_a_release_from_a_store_is_attacked_by_who_has_the_people(file, tmp_path):
    stored = ta.publish(ta.scan(file, secret="ill"), ta.Marginals(3), ta.Gaussian(1.0), rng=1)
    people = ta.read(file, secret="ill")
    assert (
        stored.values.tolist() == ta.publish(people, ta.Marginals(3), ta.Gaussian(1.0), rng=1).values.tolist()
    )
    loaded = ta.Release.load(stored.save(tmp_path / "release.json"))
    assert ta.linearise(loaded, people.public).target.size == loaded.values.size


@pytest.mark.parametrize(
    "protect",
    [
        ta.Rounding(5),
        ta.Rounding(5, mode="controlled"),
        ta.Suppression(10),
        ta.Suppression(10, complementary=True),
        ta.SuLQ(1.0, 1e-6),
    ],
)
def test_protections_of_values_work_from_a_store(file, protect):
    public = ["county", "flag"]
    one = ta.publish(ta.scan(file, secret="ill", public=public), ta.Marginals(2), protect, rng=3)
    other = ta.publish(ta.read(file, secret="ill", public=public), ta.Marginals(2), protect, rng=3)
    np.testing.assert_array_equal(one.values, other.values)


def test_what_needs_the_people_themselves_is_refused(file):
    people = ta.scan(file, secret="ill", public=["county", "flag"])
    for protect in (ta.Swapping(0.1), ta.Subsample(0.5)):
        with pytest.raises(ta.InvalidInput, match="Load them first"):
            ta.publish(people, ta.Marginals(2), protect)
    with pytest.raises(ta.InvalidInput, match="Load them first"):
        ta.publish(people, ta.Predicates("and", 2))


def test_people_without_a_secret_publish_tables(file):
    people = ta.scan(file, public=["county", "flag"])
    release = ta.publish(people, ta.Marginals(2))
    in_memory = ta.publish(ta.read(file, public=["county", "flag"]), ta.Marginals(2))
    assert release.values.tolist() == in_memory.values.tolist()
    assert ta.count_cells(file, attributes=[["county"]]).counts.sum() == 600


def test_fractions_are_of_everybody(file):
    people = ta.scan(file, secret="ill", public=["flag"])
    assert ta.publish(people, ta.Marginals(2, scale="fractions")).values.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"secret": "il"}, "Did you mean 'ill'"),
        ({"public": ["agee"]}, "Did you mean 'age'"),
        ({"public": ["ill"]}, "other than the secret"),
        ({"public": ["age", "age"]}, "each column once"),
        ({"public": ["planet"]}, "differ between people"),
        ({"bins": {"agee": 3}}, "column of the table"),
        ({"bins": {"county": [1.0]}}, "holds text"),
        ({"bins": {"age": [3.0, 1.0]}}, "increasing"),
        ({"secret": "income"}, "known for everybody"),
        ({"secret": "age", "kind": "bits"}, "two values"),
        ({"memory": "much"}, "DuckDB failed"),
        ({"threads": 0}, "whole number"),
    ],
)
def test_bad_requests_get_one_clear_line(file, arguments, says):
    with pytest.raises(ta.InvalidInput, match=says) as caught:
        ta.scan(file, **({"secret": "ill"} | arguments))
    assert "\n" not in str(caught.value)


def test_sources_that_are_none_are_named(tmp_path):
    (tmp_path / "people.csv").write_text("a,b\n1,2\n")
    (tmp_path / "broken.parquet").write_text("no")
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "one.parquet")
    pd.DataFrame({"a": [1, 2], "b": [[1], [2]]}).to_parquet(tmp_path / "lists.parquet")
    for name, says in [
        ("people.csv", "Read others with ta.read"),
        ("nothing/*.parquet", "that exist"),
        ("broken.parquet", "DuckDB failed"),
        ("one.parquet", "two people or more"),
        ("lists.parquet", "numbers, dates or text"),
    ]:
        with pytest.raises(ta.InvalidInput, match=says):
            ta.scan(tmp_path / name)


def test_columns_of_names_and_of_measurements_say_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr("tellall.people.counting.stored.MOST_VALUES", 100)
    n = 1000
    people = pd.DataFrame(
        {"id": [f"p{i}" for i in range(n)], "x": np.arange(n) / 7.0, "ill": np.arange(n) % 2}
    )
    people.to_parquet(tmp_path / "p.parquet")
    with pytest.raises(ta.InvalidInput, match="Leave it out"):
        ta.scan(tmp_path / "p.parquet", secret="ill")
    with pytest.raises(ta.InvalidInput, match="cut points in bins"):
        ta.scan(tmp_path / "p.parquet", secret="ill", public=["x"])
    chosen = {"secret": "ill", "public": ["x"], "bins": {"x": [50.0, 100.0]}}
    same(ta.scan(tmp_path / "p.parquet", **chosen), ta.read(tmp_path / "p.parquet", **chosen))


def test_infinite_values_are_refused(tmp_path):
    pd.DataFrame({"x": [1.0, np.inf, 2.0], "ill": [0, 1, 1]}).to_parquet(tmp_path / "p.parquet")
    for bins in (None, {"x": [1.5]}):
        with pytest.raises(ta.InvalidInput, match="infinite"):
            ta.scan(tmp_path / "p.parquet", secret="ill", bins=bins)


def test_a_store_that_changed_is_noticed(tmp_path):
    path = tmp_path / "p.parquet"
    pd.DataFrame({"x": ["a", "b", "a"], "ill": [0, 1, 1]}).to_parquet(path)
    people = ta.scan(path, secret="ill")
    pd.DataFrame({"x": ["a", "c", "a"], "ill": [0, 1, 1]}).to_parquet(path)
    with pytest.raises(ta.InvalidInput, match="Scan it again"):
        ta.count_cells(people, 2)
    pd.DataFrame({"x": ["a", "b"], "ill": [0, 1]}).to_parquet(path)
    with pytest.raises(ta.InvalidInput, match="Scan it again"):
        ta.count_cells(people, 2)


def test_a_number_that_was_not_there_is_noticed(tmp_path):
    """As many people as before: only that the file was written again tells."""
    path = tmp_path / "p.parquet"
    pd.DataFrame({"x": [1, 2, 1], "ill": [0, 1, 1]}).to_parquet(path)
    people = ta.scan(path, secret="ill")
    ta.count_cells(people, 2)
    pd.DataFrame({"x": [1, 7, 1], "ill": [0, 1, 1]}).to_parquet(path)
    for use in (lambda: ta.count_cells(people, 2), people.load):
        with pytest.raises(ta.InvalidInput, match="Scan it again"):
            use()


def test_people_appended_to_a_large_file_or_a_folder_are_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "portions", lambda files, sizes, _: portions(files, sizes, 2))
    pd.DataFrame({"x": [1, 2, 1], "ill": [0, 1, 1]}).to_parquet(tmp_path / "a.parquet")
    people = ta.scan(tmp_path, secret="ill")
    assert ta.count_cells(people, 2).counts.sum() == 3
    pd.DataFrame({"x": [1, 2], "ill": [0, 1]}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ta.InvalidInput, match="Scan it again"):
        ta.count_cells(people, 2)
    (tmp_path / "b.parquet").unlink()
    assert ta.count_cells(people, 2).counts.sum() == 3
    pd.DataFrame({"x": [1, 2, 1, 1], "ill": [0, 1, 1, 0]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ta.InvalidInput, match="Scan it again"):
        ta.count_cells(people, 2)


@pytest.mark.parametrize("bins", [None, {"x": [1.7]}])
@pytest.mark.parametrize("gap", ["NULL", "'nan'"])
def test_a_gap_that_was_not_there_is_noticed(tmp_path, gap, bins):
    path = tmp_path / "p.parquet"
    rows = "(1.5, 0), (2.5, 1), (2.5, 1)"
    make = "COPY (SELECT x::DOUBLE AS x, ill FROM (VALUES {}) AS p(x, ill)) TO '{}'"
    duckdb.execute(make.format(rows, path))
    people = ta.scan(path, secret="ill", bins=bins)
    assert ta.count_cells(people, 2).counts.tolist() == [1, 0, 0, 2]
    duckdb.execute(make.format(rows.replace("1.5", f"{gap}::DOUBLE"), path))
    with pytest.raises(ta.InvalidInput, match="Scan it again"):
        ta.count_cells(people, 2)


@pytest.mark.parametrize("most", [100, 2**20])
def test_files_of_different_columns_and_types_are_counted_as_one(tmp_path, monkeypatch, most):
    """Read alone, together with their like or with all: a column that a file lacks is missing there."""
    monkeypatch.setattr(parquet, "portions", lambda files, sizes, _: portions(files, sizes, most))
    whole = frame(540)[["county", "age", "flag", "ill"]]
    whole["y"] = np.where(whole.index < 300, np.nan, whole.index % 3)
    whole["z"] = np.where(whole.index < 500, None, whole["county"])
    whole["flag"] = whole["flag"].astype(float)
    for place, (begin, end) in enumerate([(0, 250), (250, 270), (270, 300), (300, 500), (500, 540)]):
        part = whole[begin:end].dropna(axis=1, how="all").copy()
        if place < 3:
            part["flag"] = part["flag"].astype(bool)  # a number in the other files
        part.to_parquet(tmp_path / f"{place}.parquet")
    people = ta.Dataset.from_frame(whole[["county", "age", "flag", "ill", "y", "z"]], secret="ill")
    same(ta.scan(tmp_path, secret="ill"), people)


def test_the_shown_text_holds_no_person(file):
    said = repr(ta.scan(file, secret="ill"))
    assert "600 people" in said
    assert "left out planet: the same for everybody" in said


def test_spark_without_ibis_is_one_line(monkeypatch):
    class Frame:
        __module__ = "pyspark.sql.dataframe"

    monkeypatch.setattr("tellall.people.counting.stored.find_spec", lambda name: None)
    with pytest.raises(ta.InvalidInput, match=r"pip install 'tellall\[spark\]'") as caught:
        ta.scan(Frame())
    assert "\n" not in str(caught.value)


_MAKE = """
import sys, duckdb
columns = ", ".join(f"(hash(i) >> {3 * j} & 1)::UTINYINT AS x{j}" for j in range(20))
with duckdb.connect(config={"memory_limit": "512MiB", "preserve_insertion_order": False}) as c:
    c.execute(f"COPY (SELECT {columns} FROM range(20_000_000) AS p(i)) TO '{sys.argv[1]}' (FORMAT parquet)")
"""
_COUNT = """
import sys
from pathlib import Path
import tellall as ta
cells = ta.count_cells(ta.scan(sys.argv[1], memory="128MiB", threads=1), 3)
assert cells.table("x0", "x7", "x19").sum() == 20_000_000
print(next(line.split()[1] for line in Path("/proc/self/status").open() if line.startswith("VmHWM")))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak of its memory from /proc")
def test_people_larger_than_the_memory_allowed_are_counted_in_it(tmp_path):
    """The codes of 20 million people of 20 columns take 381 MiB; with Python, numba and DuckDB beside them
    (about 200 MiB) they would not fit in what is allowed here.

    VmHWM is the peak of the process itself. ``ru_maxrss`` would not do: Linux keeps it across exec, so that a
    child of a large process starts with the peak of its parent.
    """
    path = tmp_path / "large.parquet"
    subprocess.run([sys.executable, "-c", _MAKE, path], check=True, timeout=280)
    done = subprocess.run(
        [sys.executable, "-c", _COUNT, path], capture_output=True, text=True, check=True, timeout=280
    )
    assert int(done.stdout) < 400 * 1024  # KiB


def test_every_spark_frame_has_a_view_of_its_own(monkeypatch):
    views = {}

    class Frame:
        sparkSession = None

        def createOrReplaceTempView(self, name):
            views[name] = weakref.ref(self)

    spark = SimpleNamespace(connect=lambda session: SimpleNamespace(table=lambda name: name))
    monkeypatch.setitem(sys.modules, "ibis", SimpleNamespace(pyspark=spark))
    again = Frame()
    engines = [from_spark(Frame()), from_spark(Frame()), from_spark(again), from_spark(again)]
    assert len({engine.table for engine in engines}) == len(views) == 4
    assert all(views[engine.table]() is engine.kept is not None for engine in engines)


def test_long_identifiers_and_negative_zeros_are_those_of_memory(tmp_path):
    table = pd.DataFrame(
        {
            "id": [2**53, 2**53 + 1, 2**53 + 2, 5] * 3,
            "two": [2**62, 2**62 + 1] * 6,
            "zero": [-0.0, 1.0, 0.0, 1.0] * 3,
            "large": [1234567.0, 7654321.0] * 6,
            "ill": [0, 1, 1, 0] * 3,
        }
    )
    for order in (slice(None), slice(None, None, -1)):
        table[order].to_parquet(tmp_path / "p.parquet")
        memory, store = (how(tmp_path / "p.parquet", secret="ill") for how in (ta.read, ta.scan))
        assert store.public.columns == memory.public.columns
        assert [column.levels for column in memory.public.columns] == [4, 2, 2, 2]
        assert memory.public.columns[2].labels == ("0", "1")
        assert np.array_equal(store.load().public.codes, memory.public.codes)
