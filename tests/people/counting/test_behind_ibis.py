"""People behind Ibis: the same numbers as DuckDB's own and as memory's."""

import gc
from types import SimpleNamespace

import numpy as np
import pytest
from tests.conftest import rows_of
from tests.people.counting.test_stored import frame

import tellall as ta
from tellall.people.counting import spark as behind_ibis

ibis = pytest.importorskip("ibis", reason="the spark extra is not installed")
# what Ibis calls of DuckDB and pandas is out of date
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    frame().to_parquet(path)
    return path


def agree(people: ta.Stored, file) -> None:
    """The columns, tables, releases and loaded blocks of a store are those of the Parquet file itself."""
    here = ta.scan(file, secret="ill")
    assert people.public.columns == here.public.columns
    assert people.public.left_out == here.public.left_out
    assert ta.count_cells(people, 3).counts.tolist() == ta.count_cells(here, 3).counts.tolist()
    assert ta.count_cells(people, 0, secret=False).counts.tolist() == [here.n]
    one = ta.publish(people, ta.Marginals(2), ta.Gaussian(2.0), rng=0)
    assert one.values.tolist() == ta.publish(here, ta.Marginals(2), ta.Gaussian(2.0), rng=0).values.tolist()
    for where in ("county = 'Kent' and age < 40", "not income < 30000"):
        some = [ta.publish(each, ta.Marginals(2), where=where) for each in (people, here)]
        assert some[0].values.tolist() == some[1].values.tolist()
        assert some[0].shape == some[1].shape
    for (label, block), (same, other) in zip(people.areas("income"), here.areas("income"), strict=True):
        assert label == same
        assert rows_of(block.public) == rows_of(other.public)
    kent = people.load(county="Kent")
    assert rows_of(kent.public) == rows_of(here.load(county="Kent").public)
    assert kent.secret.sum() == here.load(county="Kent").secret.sum()


def test_duckdb_behind_ibis_agrees(file):
    agree(ta.scan(ibis.duckdb.connect().read_parquet(file), secret="ill"), file)


def test_tables_come_from_several_queries_where_one_is_too_large(file, monkeypatch):
    monkeypatch.setattr(behind_ibis, "_MOST_GROUPS", 300)
    seen = []
    table = ibis.duckdb.connect().read_parquet(file)
    people = ta.scan(table, secret="ill", progress=lambda done, total: seen.append((done, total)))
    agree(people, file)
    assert (600, 600) in seen


def test_cut_points_need_no_list_of_values(file):
    chosen = {"secret": "ill", "public": ["age", "income"], "bins": {"income": [2e4, 3e4]}}
    people = ta.scan(ibis.duckdb.connect().read_parquet(file), **chosen)
    expected = ta.count_cells(ta.scan(file, **chosen), 3).counts
    assert ta.count_cells(people, 3).counts.tolist() == expected.tolist()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE people SET sex = 'x' WHERE id = 3",
        "UPDATE people SET sex = NULL WHERE id = 3",
        "UPDATE people SET age = NULL WHERE id = 3",
        "UPDATE people SET age = 99 WHERE id = 3",
        "UPDATE people SET weight = 2.0 WHERE id = 3",
        "UPDATE people SET weight = NULL WHERE id = 3",
        "UPDATE people SET weight = 'nan' WHERE id = 3",
        "INSERT INTO people SELECT id + 4, sex, age, weight, ill FROM people",
    ],
)
def test_a_table_that_changed_is_noticed(change):
    connection = ibis.duckdb.connect()
    rows = "(1, 'f', 30, 1.5, 0), (2, 'm', 40, 2.5, 1), (3, 'f', 40, 1.5, 1), (4, 'm', 30, 2.5, 1)"
    connection.raw_sql("CREATE TABLE people (id INT, sex VARCHAR, age INT, weight DOUBLE, ill INT)")
    connection.raw_sql(f"INSERT INTO people VALUES {rows}")
    public = ["sex", "age", "weight"]
    people = ta.scan(connection.table("people"), secret="ill", public=public)
    assert ta.count_cells(people, 2).table("sex", "ill").tolist() == [[1, 1], [0, 2]]
    connection.raw_sql(change)
    with pytest.raises(ta.InvalidInput, match="Scan it again"):
        ta.count_cells(people, 2)
    if change.startswith("UPDATE"):
        with pytest.raises(ta.InvalidInput, match="Scan it again"):
            people.load()


def test_a_view_of_a_spark_frame_is_dropped_with_the_people(monkeypatch, file):
    """A session that lives for months would fill up with them."""
    views, table = [], ibis.duckdb.connect().read_parquet(file)
    dropped = SimpleNamespace(dropTempView=views.remove)
    session = SimpleNamespace(catalog=dropped)
    spark_frame = SimpleNamespace(sparkSession=session, createOrReplaceTempView=views.append)
    connection = SimpleNamespace(table=lambda name: table)
    monkeypatch.setitem(vars(ibis), "pyspark", SimpleNamespace(connect=lambda session: connection))
    engine = behind_ibis.from_spark(spark_frame)
    assert len(views) == 1
    assert engine.people > 0
    del engine
    gc.collect()
    assert views == []


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")  # Spark's own, about pandas and about sockets
def test_spark_agrees(file):
    pyspark = pytest.importorskip("pyspark")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = pyspark.sql.SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        spark_frame = session.read.parquet(str(file))
        agree(ta.scan(spark_frame, secret="ill"), file)
        table = ibis.pyspark.connect(session).read_parquet(str(file))
        counts = ta.count_cells(ta.scan(table, secret="ill", public=["county", "sex"]), 3).counts
        here = ta.count_cells(ta.scan(file, secret="ill", public=["county", "sex"]), 3).counts
        np.testing.assert_array_equal(counts, here)
        gc.collect()
        assert not [view.name for view in session.catalog.listTables() if view.name.startswith("tellall_")]
    finally:
        session.stop()
