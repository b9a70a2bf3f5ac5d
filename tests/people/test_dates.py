"""Dates are cut at round dates and shown as dates, whatever file they come from."""

import datetime
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.audits.plans.draft import draft
from tellall.audits.plans.plan import Plan
from tellall.people.columns import encode
from tellall.people.dates import cut_before, date_cut_labels, date_text, day_number
from tellall.people.readers import read_table
from tellall.statistics.conditions import parse_condition

DAY = datetime.timedelta(days=1)


def births(n: int = 200, seed: int = 0) -> list[datetime.datetime]:
    days = np.random.default_rng(seed).integers(0, 20_000, n)
    return [datetime.datetime(1940, 1, 1) + int(day) * DAY for day in days]


def frame(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame({"born": births(n), "sex": rng.choice(["f", "m"], n), "ill": rng.integers(0, 2, n)})


@pytest.mark.parametrize("name", ["p.xlsx", "p.csv", "p.parquet", "p.dta"])
def test_a_birth_date_is_cut_at_dates_and_shown_as_dates_from_every_file(tmp_path, name):
    people, path = frame(400), tmp_path / name  # enough of them for the usual parts
    if name.endswith("parquet"):
        people.to_parquet(path)
    elif name.endswith("dta"):
        people.to_stata(path, write_index=False)
    elif name.endswith("xlsx"):
        people.to_excel(path, index=False)
    else:
        people.to_csv(path, index=False)
    found = ta.read(path, secret="ill")
    (born, _), codes = found.public.columns, found.public.codes[0]
    assert born.dates
    assert all(text.endswith("-01") for text in born.cut_texts)  # over 55 years, first days of months
    assert born.labels == date_cut_labels(born.cuts)
    edges = [datetime.datetime.fromisoformat(text) for text in born.cut_texts]
    assert codes.tolist() == [sum(edge <= day for edge in edges) for day in people.born]
    assert born.labels[0] == f"before {born.cut_texts[0]}"
    made = draft(read_table(path), path.name, secret="ill")
    assert f'"born" = [{", ".join(born.cut_texts)}]' in made.text
    (tmp_path / "plan.toml").write_text(made.text, encoding="utf-8")
    plan = ta.read_plan(tmp_path / "plan.toml")
    again = ta.read_people(plan)
    assert again.public.columns[0] == born
    audit = ta.audit(again, plan)
    document = json.loads(json.dumps(audit.document))
    assert document["data"]["columns"][0]["cuts"] == list(born.cut_texts)
    assert f"Where born is cut: {', '.join(born.cut_texts)}, given in the plan." in document["published_too"]
    assert ta.read_people(Plan.from_mapping(document["plan"]), path).public.columns[0] == born
    assert "-8500.5" not in json.dumps(document)


def test_few_dates_keep_each_and_are_called_by_their_date(tmp_path):
    days = ["2020-02-29", "2020-03-01 12:30", "1850-01-01"]
    people = ta.Dataset.from_frame(
        {"day": pd.to_datetime(days * 4, format="mixed"), "ill": [0, 1] * 6}, secret="ill"
    )
    assert people.public.columns[0].labels == ("1850-01-01", "2020-02-29", "2020-03-01 12:30:00")


def test_a_saved_release_has_its_cuts_as_dates_and_is_attacked_as_before(tmp_path):
    people = ta.Dataset.from_frame(frame(), secret="ill")
    release = ta.publish(people, ta.Marginals(2))
    path = release.save(tmp_path / "r.json")
    cuts = json.loads(Path(path).read_text())["columns"][0]["cuts"]
    assert cuts == list(people.public.columns[0].cut_texts)
    loaded = ta.Release.load(path)
    assert loaded.shape == release.shape
    assert loaded.shape.dates == (True, False)
    one, other = (ta.reconstruct(each, people.public, "least-squares") for each in (release, loaded))
    assert np.array_equal(one.guess, other.guess)


def test_conditions_compare_dates_with_dates() -> None:
    people = ta.Dataset.from_frame(frame(), secret="ill")
    mask = parse_condition("born >= '1970-01-01'").mask(people.public)
    assert mask.tolist() == [day >= datetime.datetime(1970, 1, 1) for day in births()]
    with pytest.raises(ta.InvalidInput, match="with a date, as '1950-01-31'"):
        parse_condition("born >= 'north'").mask(people.public)


@pytest.mark.parametrize(
    ("bins", "labels"),
    [
        ([datetime.date(1950, 1, 1)], ("before 1950-01-01", "from 1950-01-01")),
        (
            ["1950-01-01", "1960-06-30"],
            ("before 1950-01-01", "1950-01-01 to before 1960-06-30", "from 1960-06-30"),
        ),
        ([-7305.0], ("before 1950-01-01", "from 1950-01-01")),
    ],
)
def test_cut_points_may_be_dates(bins, labels):
    column, _, _ = encode("born", np.array(births(), dtype="datetime64[s]"), bins)
    assert column.labels == labels
    with pytest.raises(ta.InvalidInput, match="holds no dates"):
        encode("age", np.arange(30.0), ["1950-01-01"])


moments = st.datetimes(datetime.datetime(1000, 1, 1), datetime.datetime(9999, 12, 1))


moments = moments.map(lambda moment: moment.replace(microsecond=0))


@given(st.lists(moments, min_size=21, max_size=60, unique=True))
def test_whatever_the_dates_they_are_cut_and_told_truly(days):
    column, codes, numbers = encode("day", np.array(days, dtype="datetime64[s]"))
    assert column.cuts
    assert not set(column.cuts) & set(numbers)
    assert set(codes.tolist()) >= {0, len(column.cuts)}  # people on both sides
    edges = [datetime.datetime.fromisoformat(text) for text in column.cut_texts]
    assert codes.tolist() == [sum(edge <= day for edge in edges) for day in days]
    assert [cut_before(day_number(text)) for text in column.cut_texts] == list(column.cuts)
    assert all(day_number(date_text(number)) == number for number in numbers)
