"""Printed tables as they lie in files: what is in them is read or refused, never quoted."""

from __future__ import annotations

import contextlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tellall as ta
from tellall.outputs.commands import NotUnderstood, condition_of, parse_command
from tellall.outputs.grids import as_number, grid_of_rows
from tellall.people.sheets import decoded, read_cells


def _rows(frame: pd.DataFrame, **options) -> list[list[str]]:
    return [line.split(",") for line in frame.to_csv(**options).splitlines()]


FRAME = pd.DataFrame({"sex": list("ffmmfm"), "job": list("abaabb"), "ill": [0, 1, 0, 1, 1, 0]})


@pytest.mark.parametrize(
    ("rows", "columns"),
    [(["sex"], ["ill"]), (["sex", "job"], ["ill"]), (["ill"], ["sex", "job"]), (["sex"], ["job", "ill"])],
)
def test_tables_as_pandas_writes_them(rows, columns):
    table = pd.crosstab([FRAME[name] for name in rows], [FRAME[name] for name in columns])
    grid = grid_of_rows(_rows(table), ["sex", "job", "ill"], "t.csv")
    assert grid.names[: len(rows)] == tuple(rows)
    assert grid.names[len(rows) :] == (tuple(columns) if len(columns) > 1 else (None,))
    assert grid.values.tolist() == table.to_numpy().tolist()
    assert grid.down == len(rows)


def test_a_table_with_a_line_for_each_cell():
    sizes = FRAME.groupby(["sex", "ill"]).size().rename("n").reset_index()
    grid = grid_of_rows(_rows(sizes, index=False), ["sex", "job", "ill"], "t.csv")
    assert grid.names == ("sex", "ill", None)
    assert grid.values.ravel().tolist() == sizes.n.tolist()


NUMBERS = {
    "12": 12.0, " 1,234 ": 1234.0, "1,234.5": 1234.5, "1e3": 1000.0, "12 %": 12.0, "-3": -3.0, ".5": 0.5,
    "": np.nan, "x": np.nan, "*": np.nan, "[c]": np.nan, "<10": np.nan, "≤ 5": np.nan, "–": np.nan,
    "Ann": None, "1.2.3": None, "12a": None, "1e999": None, "0x10": None,
}  # fmt: skip


@pytest.mark.parametrize(("text", "number"), NUMBERS.items())
def test_numbers_and_marks_of_hidden_cells(text, number):
    assert (
        as_number(text) is None if number is None else np.array_equal(as_number(text), number, equal_nan=True)
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(["", "f", "m", "1", "x", "SECRET", "All", "sex"]), max_size=5), max_size=6
    )
)
def test_any_lines_are_a_grid_or_refused_without_their_content(lines):
    grid, told = None, ""
    try:
        grid = grid_of_rows(lines, ["sex"], "t.csv")
    except ta.InvalidInput as error:
        told = str(error)
    assert "SECRET" not in told
    if grid is not None:
        assert grid.values.shape == (len(grid.rows), len(grid.columns))
        assert len(grid.names) == grid.down + len(grid.columns[0])


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(["t.csv", "t.tsv", "t.csv.gz", "t.xlsx"]))
def test_any_bytes_are_cells_or_refused_without_their_content(tmp_path_factory, noise, name):
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(b"sex,SECRET\n" + noise)
    cells, told = [], ""
    try:
        cells = read_cells(path)
    except ta.InvalidInput as error:
        told = str(error)
    assert cells or told
    assert "SECRET" not in told
    assert told.isprintable()


def test_encodings_of_tables():
    text = "région;0\né;1\n"
    assert [decoded(text.encode(name))[0] for name in ("utf-8", "utf-8-sig", "utf-16", "cp1252")] == [
        text
    ] * 4


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=80))
def test_any_text_of_a_command_is_harmless(text):
    for command in (text, f"acro.crosstab({text})", f"acro.crosstab(df[{text}].sex)"):
        call = parse_command(command)
        if call is not None:
            with contextlib.suppress(NotUnderstood):
                condition_of(call)


@pytest.mark.parametrize(
    ("argument", "condition"),
    [
        ("df.sex", None),
        ("df[df.age < 40].sex", "age < 40"),
        ("df.loc[df['age'] >= 18, 'sex']", "age >= 18"),
        ("df[df.sex.isin(['f', 'm'])].sex", "sex in ['f', 'm']"),
        ("df[~(df.age > -3)].sex", "not (age > -3)"),
        ("df.query('age < 40').sex", "age < 40"),
        ("df[['sex', 'age']]", None),
        ("df['sex']", None),
    ],
)
def test_conditions_in_commands(argument, condition):
    assert condition_of(parse_command(f"acro.crosstab({argument}, df.ill)")) == condition


@pytest.mark.parametrize(
    "argument",
    [
        "df[mask()].sex",
        "df[:100].sex",
        "df.head(9).sex",
        "df[df.a < df.b].sex",
        "df.query('a @ b').sex",
        "x[a + b]",
    ],
)
def test_conditions_that_are_not_understood_are_said(argument):
    with pytest.raises(NotUnderstood, match="some people only"):
        condition_of(parse_command(f"acro.crosstab({argument}, df.ill)"))


def test_a_packed_bomb_is_refused(tmp_path):
    import gzip

    with gzip.open(tmp_path / "bomb.csv.gz", "wb", compresslevel=1) as file:
        for _ in range(70):
            file.write(b"0" * 2**20)
    with pytest.raises(ta.InvalidInput, match="64 MB, unpacked"):
        read_cells(tmp_path / "bomb.csv.gz")
