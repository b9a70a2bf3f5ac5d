"""ACRO folders: counts in other words, outputs that say nothing about the secret, totals that tell."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import tellall as ta
from tellall.outputs.acro_others import recodings, tells_more
from tellall.outputs.grids import grid_of_rows
from tellall.outputs.output_folder import NO_PART


@pytest.fixture
def frame():
    rng = np.random.default_rng(4)
    n = 240
    people = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "area": rng.choice(["a", "b", "c"], n)})
    people["age"] = rng.integers(20, 70, n)
    people["job"] = rng.choice(["none", "part", "full"], n)
    people["ill"] = (rng.random(n) < 0.4).astype(int)
    return people


def _folder(path, tables):
    """A folder as ACRO writes it: for each id a table and what the record says of it."""
    path.mkdir()
    results = {}
    for name, (table, about) in tables.items():
        table.to_csv(path / f"{name}_0.csv")
        plain = {
            "uid": name,
            "status": "pass",
            "type": "table",
            "properties": {"method": "crosstab", "mitigation": "none"},
            "files": [{"name": f"{name}_0.csv"}],
            "outcome": {},
            "command": "",
            "summary": "",
            "fair": {},
        }
        results[name] = {**plain, **about}
    (path / "config.json").write_text(json.dumps({"safe_threshold": 10}))
    (path / "results.json").write_text(json.dumps({"version": "1.0.2", "results": results}))
    return path


def _amounts(word, dependent):
    fair = {"independent": ["area", "sex"], "dependent": dependent}
    return {"summary": f"{word} : ", "fair": fair}


def test_sums_and_means_of_a_bit_are_counts(frame, tmp_path):
    cells = [frame.area, frame.sex]
    made = {
        "output_0": (pd.crosstab(*cells, values=frame.ill, aggfunc="sum"), _amounts("Sum", "ill")),
        "output_1": (
            pd.crosstab(*cells, values=frame.ill, aggfunc="mean", margins=True),
            _amounts("Mean", "ill"),
        ),
        "output_2": (
            frame.pivot_table(index=["area", "job"], columns=["sex"], values=["ill"], aggfunc=["sum"]),
            {"summary": "Sum : ", "fair": {"independent": ["area", "job", "sex"], "dependent": "ill"}},
        ),
    }
    people = ta.Dataset.from_frame(frame, secret="ill")
    found = ta.read_acro(_folder(tmp_path / "f", made), people)
    kinds = [type(output.release.statistic).__name__ for output in found.outputs]
    assert [output.id for output in found.outputs] == list(made)
    assert kinds == ["Sums", "CellMeans", "Sums"]
    for output in found.outputs:
        shown = ~np.isnan(output.release.values)
        exact = output.release.exact(people)
        assert np.allclose(output.release.values[shown], exact[shown])
        assert output.release.levels == 2


def test_what_says_nothing_takes_no_part(frame, tmp_path):
    cells = [frame.area, frame.sex]
    count = pd.crosstab(*cells, values=frame.ill, aggfunc="count")
    made = {
        "counts": (count, _amounts("Count", "ill")),
        "means": (pd.crosstab(*cells, values=frame.age, aggfunc="mean"), _amounts("Mean", "age")),
        "medians": (pd.crosstab(*cells, values=frame.age, aggfunc="median"), _amounts("Median", "age")),
        "others": (count + 1, _amounts("Count", "ill")),
        "spreads": (
            pd.crosstab(*cells, values=frame.ill, aggfunc="std"),
            _amounts("StandardDeviation", "ill"),
        ),
        "read": (pd.crosstab(frame.area, frame.ill), {"fair": {"independent": ["area", "ill"]}}),
    }
    people = ta.Dataset.from_frame(frame, secret="ill")
    found = ta.read_acro(_folder(tmp_path / "f", made), people)
    planned = {one.name: one.code != NO_PART for one in found.skipped}
    # wrong counts and spreads of the secret are for a person to look at
    assert planned == {"counts": False, "means": False, "medians": False, "others": True, "spreads": True}
    assert [output.id for output in found.outputs] == ["read"]


def test_the_secret_under_another_name_is_no_other_column(frame, tmp_path):
    frame = frame.assign(diagnosis=np.where(frame.ill == 1, "positive", "negative"), sick=frame.ill)
    people = ta.Dataset.from_frame(frame, secret="ill")
    assert recodings(people) == {"diagnosis", "sick"}
    assert recodings(people.public) == frozenset()
    cells = [frame.area, frame.sex]
    made = {
        "sums": (pd.crosstab(*cells, values=frame.sick, aggfunc="sum"), _amounts("Sum", "sick")),
        "read": (pd.crosstab(frame.area, frame.ill), {"fair": {"independent": ["area", "ill"]}}),
    }
    found = ta.read_acro(_folder(tmp_path / "f", made), people)
    assert [(one.name, one.code) for one in found.skipped] == [("sums", None)]
    assert "in other words" in found.skipped[0].reason


def test_a_file_of_the_analysts_is_read_if_it_counts_the_secret(frame, tmp_path):
    made = {
        "good": (pd.crosstab(frame.area, frame.ill), {"type": "custom"}),
        "bad": (pd.crosstab(frame.area, frame.ill) * 2, {"type": "custom"}),
    }
    people = ta.Dataset.from_frame(frame, secret="ill")
    found = ta.read_acro(_folder(tmp_path / "f", made), people)
    assert [output.id for output in found.outputs] == ["good"]
    assert [(one.name, one.code) for one in found.skipped] == [("bad", None)]


def test_totals_that_tell_what_is_hidden_are_kept(frame, tmp_path):
    table = pd.crosstab([frame.area, frame.sex], frame.ill, margins=True).astype(float)
    inner = table.iloc[:-1, :-1]
    hidden = table.copy()
    hidden.iloc[:-1, :-1] = inner.where(inner >= 15)
    assert np.isnan(hidden.to_numpy()).any()
    again = hidden.copy()  # as ACRO works totals out again
    again.iloc[-1, :-1] = again.iloc[:-1, :-1].sum()
    again["All"] = again.iloc[:, :-1].sum(axis=1)
    about = {
        "properties": {"method": "crosstab", "mitigation": "suppress"},
        "fair": {"independent": ["area", "sex", "ill"]},
    }
    people = ta.Dataset.from_frame(frame, secret="ill")
    found = ta.read_acro(_folder(tmp_path / "f", {"true": (hidden, about), "again": (again, about)}), people)
    sizes = {output.id: output.release.values.size for output in found.outputs}
    assert sizes == {"true": 14, "again": 12}  # with the totals of both values, and without


def test_a_table_with_two_names_beside_and_one_above_is_read():
    lines = [["", "", "sum", "sum"], ["", "", "ill", "ill"], ["sex", "", "f", "m"], ["area", "job", "", ""]]
    lines += [["a", "x", "1", "2"], ["a", "y", "3", "4"]]
    grid = grid_of_rows(lines, ["sex", "area", "job"], "t.csv")
    assert grid.names == ("area", "job", None, None, "sex")
    assert not tells_more(grid)
