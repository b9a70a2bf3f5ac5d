"""Connections to DuckDB: shut off from the network, apart from each other, and usable after a fork."""

from __future__ import annotations

import multiprocessing
import threading
from typing import Any

import duckdb
import pytest

from tellall.core import duck


def _one(connection: Any, query: str) -> Any:
    return connection.execute(query).fetchone()[0]


def test_nothing_is_drawn_on_the_terminal_and_no_query_can_open_what_is_shut() -> None:
    with duck.connect() as connection:
        assert _one(connection, "SELECT current_setting('temp_directory')") == ""
        assert not _one(connection, "SELECT current_setting('enable_progress_bar')")
        for setting in ("autoinstall_known_extensions = true", "temp_directory = '/tmp'"):
            with pytest.raises(duckdb.Error, match="locked"):
                connection.execute(f"SET {setting}")


def test_settings_are_those_asked_for() -> None:
    with duck.connect(memory_limit="64MiB") as little, duck.connect() as usual:
        assert _one(little, "SELECT current_setting('memory_limit')") == "64.0 MiB"
        assert _one(usual, "SELECT current_setting('memory_limit')") != "64.0 MiB"


def test_connections_do_not_see_each_others_people() -> None:
    with duck.connect() as one, duck.connect() as other:
        one.execute("CREATE TEMP VIEW people AS SELECT 1 AS ill")
        with pytest.raises(duckdb.Error, match="people"):
            other.execute("SELECT * FROM people")


def test_a_database_is_used_again_after_an_error_too() -> None:
    with duck.connect(memory_limit="65MiB") as connection:
        connection.execute("CREATE TABLE lasting AS SELECT 1 AS ill")
    with duck.connect(memory_limit="65MiB") as connection:
        connection.execute("BEGIN")
        with pytest.raises(duckdb.Error, match="nonsense"):
            connection.execute("SELECT nonsense")
    with duck.connect(memory_limit="65MiB") as connection:
        assert _one(connection, "SELECT count(*) FROM lasting") == 1


def test_threads_have_a_memory_limit_each() -> None:
    found: list[int] = []
    together = threading.Barrier(4, timeout=60)

    def count() -> None:
        with duck.connect(memory_limit="64MiB") as connection:
            connection.execute(
                "CREATE TEMP TABLE large AS SELECT range AS a, range * 7 AS b FROM range(1500000)"
            )
            together.wait()
            found.append(_one(connection, "SELECT count(*) FROM large"))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1_500_000] * 4


def _tables(answers: Any) -> None:
    with duck.connect() as connection:
        answers.put(_one(connection, "SELECT count(*) FROM duckdb_tables()"))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_a_database_of_its_own() -> None:
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    with duck.connect() as connection:
        connection.execute("CREATE TABLE lasting AS SELECT 1 AS ill")
    try:
        child = context.Process(target=_tables, args=(answers,), daemon=True)
        child.start()
        child.join(60)
    finally:
        with duck.connect() as connection:
            connection.execute("DROP TABLE lasting")
    assert child.exitcode == 0
    assert answers.get() == 0
