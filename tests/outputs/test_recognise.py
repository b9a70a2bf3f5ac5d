"""Outputs are recognised by computing them again from the people, and what does not agree is not accepted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tellall as ta


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(4)
    n = 600
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 90, n),
            "region": rng.choice([1, 2, 3], n),
            "ill": rng.choice([0, 1], n, p=[0.7, 0.3]),
            "drug": rng.choice(["no", "yes"], n),
            "pay": rng.normal(30, 5, n).round(2),
        }
    )


@pytest.fixture(scope="module")
def people(frame):
    return ta.Dataset.from_frame(frame, secret="ill")


def _one(outputs, people, **given):
    (found,) = ta.recognise(outputs, people, **given).outputs
    return found


def test_counts_with_margins_are_the_release_that_a_reader_would_make(frame, people):
    table = pd.crosstab([frame.region, frame.sex], frame.ill, margins=True)
    folder = ta.recognise(table, people)
    (found,) = folder.outputs
    assert found.read
    assert found.sentence == "counts of ill by region and sex"
    assert found.agrees == (21, 21)
    assert found.columns == ("region", "sex", "ill")
    assert set(folder.known) == {"sex", "region"}
    assert "pay" in folder.assumed_unknown
    (release,) = folder.releases
    view = folder.people(people)
    assert np.array_equal(release.statistic.values(view), release.values)
    assert release.columns == view.public.names


def test_one_wrong_cell_is_said_and_not_accepted(frame, people):
    table = pd.crosstab([frame.region, frame.sex], frame.ill)
    table.iloc[0, 0] += 1
    found = _one(table, people)
    assert not found.read
    assert not found.releases
    assert found.agrees == (11, 12)
    assert "1 of 12 cells differ by at most 1" in found.reason
    assert found.marks[2] == "..x="


def test_hidden_and_rounded_cells_are_inferred(frame, people):
    table = pd.crosstab([frame.region, frame.sex], frame.ill)
    least = int(np.sort(table.to_numpy().ravel())[2])
    hidden = _one(table.astype(str).where(table >= least, f"<{least}"), people)
    assert hidden.read
    assert hidden.protection == (f"cells under {least} hidden",)
    rounded = _one((table / 5).round().astype(int) * 5, people)
    assert rounded.read
    assert rounded.protection[0] == "rounded to 5"
    (release,) = ta.recognise((table / 5).round().astype(int) * 5, people).releases
    assert release.protections == (ta.Rounding(5),)


def test_bands_are_matched_to_numbers(frame, people):
    band = pd.cut(frame.age, [17, 30, 50, 70, 100], labels=["<31", "31-50", "51-70", "71+"])
    found = _one(pd.crosstab(band.rename("age"), frame.ill), people)
    assert found.read
    assert found.sentence == "counts of ill by age"


def test_tables_without_the_secret_take_no_part(frame, people):
    folder = ta.recognise(pd.crosstab(frame.region, frame.drug), people)
    (found,) = folder.outputs
    assert found.about_secret is False
    assert not found.read
    assert not folder.releases
    assert not folder.unread


def test_another_half_of_the_people_is_not_accepted(frame, people):
    half = frame.iloc[: len(frame) // 2]
    assert not _one(pd.crosstab([half.region, half.sex], half.ill), people).read


def test_an_audit_takes_what_was_recognised(frame, people):
    folder = ta.recognise({"first": pd.crosstab([frame.age, frame.sex], frame.ill)}, people)
    audit = ta.audit(folder.people(people), folder)
    assert audit.verdict.word != "pass"
    assert len(audit.findings) > 0
