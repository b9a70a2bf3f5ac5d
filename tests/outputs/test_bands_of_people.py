"""Crosstabs of people with ages or bands, under other bands, and of people who may be left out."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

import tellall as ta

LABELS = (["under 30", "30 to 59", "60 and over"], ["<20", "20–39", "40-79", "80+"], ["0-49", "50 or more"])
EDGES = ([0, 30, 60, 200], [0, 20, 40, 80, 200], [0, 50, 200])


def some_people(seed, n=12):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(10, 100, n), "ill": rng.integers(0, 2, n)})
    frame.loc[:2, "ill"] = [0, 1, 1]
    return frame


def crosstab(frame, which):
    age = pd.cut(frame.age, EDGES[which], right=False, labels=LABELS[which]).astype(str)
    return pd.crosstab(age.rename("age"), frame.ill).iloc[::-1]


def proved_by_hand(frame, tables):
    """Who has the same secret in every list of secrets with these tables."""
    every = np.array(list(product((0, 1), repeat=len(frame))))
    for which in tables:
        age = np.digitize(frame.age, EDGES[which])
        for band in set(age):
            inside = age == band
            every = every[every[:, inside].sum(axis=1) == frame.ill[inside].sum()]
    return (every == every[0]).all(axis=0)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("banded", [False, True], ids=["ages", "bands of five"])
def test_tables_of_different_bands_are_read_together(seed, banded):
    frame = some_people(seed)
    known = frame
    if banded:
        labels = [f"{low} to {low + 4}" for low in range(0, 100, 5)]
        known = frame.assign(age=pd.cut(frame.age, range(0, 101, 5), right=False, labels=labels).astype(str))
    people = ta.Dataset.from_frame(known, secret="ill")
    releases = [ta.from_crosstab(crosstab(frame, which), people) for which in range(3)]
    found = ta.reconstruct(releases, people.public)
    assert found.evidence.consistent
    assert np.array_equal(found.proved, proved_by_hand(frame, range(3)))
    assert (found.guess == people.secret)[found.proved].all()


def test_exact_counts_by_finer_bands_than_the_peoples_are_added_up():
    people = ta.Dataset.from_frame(
        {"age": ["20-29", "30-39", "30-39", "40+"], "ill": [0, 1, 0, 1]}, secret="ill"
    )
    table = pd.DataFrame({0: [1, 1, 0], 1: [1, 0, 1]}, index=pd.Index(["20-34", "35-39", "40+"], name="age"))
    table.columns.name = "ill"
    release = ta.from_crosstab(table, people)
    assert release.exact(people).tolist() == release.values.tolist()
    assert sorted(release.values) == [0, 1, 1, 2]
    for cut, protect in ((table, ta.Rounding(3)), (table.drop(index="20-34"), None)):
        absent = "zero" if protect else "unknown"
        with pytest.raises(ta.InvalidInput, match="or made of its bands; got '"):
            ta.from_crosstab(cut, people, protect, absent)
    merged = pd.DataFrame({0: [2, 0], 1: [1, 1]}, index=pd.Index(["20 to 39", "40 and over"], name="age"))
    merged.columns.name = "ill"
    release = ta.from_crosstab(merged, people)
    assert release.exact(people).tolist() == release.values.tolist()


@pytest.mark.parametrize("seed", range(6))
def test_tables_by_year_prove_nothing_wrong_of_people_in_bands(seed):
    frame = some_people(seed)
    labels = [f"{low} to {low + 4}" for low in range(0, 100, 5)]
    banded = frame.assign(age=pd.cut(frame.age, range(0, 101, 5), right=False, labels=labels).astype(str))
    people = ta.Dataset.from_frame(banded, secret="ill")
    years = ta.from_crosstab(pd.crosstab(frame.age, frame.ill), people)
    found = ta.reconstruct([years, ta.from_crosstab(crosstab(frame, 1), people)], people.public)
    every = np.array(list(product((0, 1), repeat=len(frame))))
    for groups in (banded.age.to_numpy(), np.digitize(frame.age, EDGES[1])):
        for each in set(groups):
            inside = groups == each
            every = every[every[:, inside].sum(axis=1) == frame.ill[inside].sum()]
    assert np.array_equal(found.proved, (every == every[0]).all(axis=0))
    assert (found.guess == people.secret)[found.proved].all()


def test_codes_of_a_hierarchy_are_read_at_every_level():
    rng = np.random.default_rng(4)
    codes = ["DE111", "DE112", "DE121", "FR101", "FRA01"]
    frame = pd.DataFrame({"region": rng.choice(codes, 40), "ill": rng.integers(0, 2, 40)})
    people = ta.Dataset.from_frame(frame, secret="ill")
    for level in (2, 3, 4):
        table = pd.crosstab(frame.region.str[:level].rename("region"), frame.ill)
        release = ta.from_crosstab(table, people)
        assert release.exact(people).tolist() == release.values.tolist()
    whole = pd.concat([pd.crosstab(frame.region.str[:level].rename("region"), frame.ill) for level in (2, 5)])
    both = ta.from_crosstab(whole, people, ta.Suppression(4))  # subtotals beside their parts
    assert both.exact(people).tolist() == both.values.tolist()
    with pytest.raises(ta.InvalidInput, match="got 'AT'"):
        ta.from_crosstab(whole.rename({"FR": "AT"}), people)
    numbered = frame.replace({"region": dict(zip(codes, ["R1", "R2", "R10", "R11", "R12"], strict=True))})
    other = ta.Dataset.from_frame(numbered[numbered.region != "R1"], secret="ill")
    with pytest.raises(ta.InvalidInput, match="got 'R1'"):  # a number, not what R10 to R12 belong to
        ta.from_crosstab(pd.crosstab(numbered.region, numbered.ill), other)


def test_bands_say_what_labels_mean():
    frame = some_people(3)
    people = ta.Dataset.from_frame(frame, secret="ill")
    words = crosstab(frame, 0).rename(dict(zip(LABELS[0], ["young", "middle", "old"], strict=True)))
    bands = ta.Bands("age", {"young": "<30", "middle": ["30-49", "50 to 59"], "old": "60+"})
    release = ta.from_crosstab(words, people, bands=bands)
    assert release.exact(people).tolist() == release.values.tolist()
    alone = ta.rows_from_tables(release)  # the release says the same to those who have no people
    assert "30-49, 50 to 59" in alone.labels[0]
    with pytest.raises(ta.InvalidInput, match="a value that somebody has in the column 'age'"):
        ta.from_crosstab(words, people)
    with pytest.raises(ta.InvalidInput, match="about columns of the table; got 'town'"):
        ta.from_crosstab(words, people, bands=ta.Bands("town"))


def determined(register, tables, protect):
    """Whose secret is the same in every list of secrets and of people in the table, and these lists."""
    n, found = len(register), []
    kept = np.array(list(product((0, 1), repeat=n)), dtype=bool)
    for secret in np.array(list(product((0, 1), repeat=n))):
        fits = np.ones(len(kept), dtype=bool)
        for table in tables:
            for label, ill in product(table.index, table.columns):
                counts = kept @ ((register.sex == label) & (secret == ill)).to_numpy().astype(int)
                shown = table.loc[label, ill]
                fits &= counts < protect.limit if np.isnan(shown) else counts == shown
        if fits.any():
            found.append(secret)
    return (np.array(found) == found[0]).all(axis=0), np.array(found)


@pytest.mark.parametrize("seed", range(12))
def test_a_table_that_leaves_out_people_of_a_register_proves_nothing_wrong(seed):
    rng = np.random.default_rng(seed)
    register = pd.DataFrame({"sex": list("ffffmmm"), "ill": rng.integers(0, 2, 7)})
    register.loc[[0, 4], "ill"] = [1, int(rng.integers(0, 2))]
    inside = register.drop(index=rng.choice(7, int(rng.integers(1, 3)), replace=False))
    protect = ta.Suppression(2) if seed % 2 else None
    table = pd.crosstab(inside.sex, inside.ill).reindex(index=["f", "m"], columns=[0, 1], fill_value=0)
    table = table.astype(float)
    if protect is not None:
        table = table.where(table >= 2)
    public = ta.Dataset.from_frame(register, secret="ill").public
    if protect is None:
        with pytest.raises(ta.InvalidInput, match="may_include=True"):
            ta.from_crosstab(table, public, secret="ill", meaning=[0, 1])
    release = ta.from_crosstab(table, public, protect, secret="ill", meaning=[0, 1], may_include=True)
    assert release.shape.people <= len(inside)
    found = ta.reconstruct(release, public, may_include=True)
    sure, every = determined(register, [table], protect or ta.Suppression(2))
    assert not (found.proved & ~sure).any()
    assert (found.guess == every[0])[found.proved].all()
    assert found.evidence.consistent


def test_shares_of_nobody_knows_whom_are_refused():
    people = ta.Dataset.from_frame(some_people(1), secret="ill")
    shares = pd.crosstab(some_people(1).age >= 50, some_people(1).ill, normalize="index")
    shares.index = pd.Index(["<50", "50+"], name="age")
    with pytest.raises(ta.InvalidInput, match="may_include must be left out for shares"):
        ta.from_crosstab(shares, people, may_include=True)


def test_bands_of_whole_numbers_fit_broken_ages_as_long_as_nobody_is_between_them():
    ages, ill = [17.5, 22.0, 27.0, 32.5, 37.0, 41.0], [0, 1, 1, 0, 1, 0]
    people = ta.Dataset.from_frame({"age": ages, "ill": ill}, secret="ill")
    table = pd.DataFrame({0: [2, 1], 1: [2, 1]}, index=pd.Index(["17–34", "35–49"], name="age"))
    table.columns.name = "ill"
    release = ta.from_crosstab(table, people)
    assert release.exact(people).tolist() == release.values.tolist()
    table.index = pd.Index(["18–34", "35–49"], name="age")
    with pytest.raises(ta.InvalidInput, match="got '18–34'"):
        ta.from_crosstab(table, people)


OVERLAPPING = {"under 30": (0, 29), "20–39": (20, 39), "30 and over": (30, 200), "50-69": (50, 69)}


def overlapping_table(frame):
    inside = {label: frame.ill[frame.age.between(*ends)] for label, ends in OVERLAPPING.items()}
    table = pd.DataFrame(
        {ill: {label: (some == ill).sum() for label, some in inside.items()} for ill in (0, 1)}
    )
    return table.rename_axis("age").rename_axis("ill", axis=1)


@pytest.mark.parametrize("seed", range(6))
def test_bands_of_one_table_may_overlap(seed):
    frame = some_people(seed)
    people = ta.Dataset.from_frame(frame, secret="ill")
    release = ta.from_crosstab(overlapping_table(frame), people)
    assert release.exact(people).tolist() == release.values.tolist()
    found = ta.reconstruct(release, people.public)
    every = np.array(list(product((0, 1), repeat=len(frame))))
    for ends in OVERLAPPING.values():
        inside = frame.age.between(*ends).to_numpy()
        every = every[every[:, inside].sum(axis=1) == frame.ill[inside].sum()]
    assert found.evidence.consistent
    assert np.array_equal(found.proved, (every == every[0]).all(axis=0))
    assert (found.guess == people.secret)[found.proved].all()


def test_totals_beside_overlapping_bands_are_equations():
    frame = pd.DataFrame({"age": [15, 25, 35, 35], "ill": [1, 0, 1, 0]})
    people = ta.Dataset.from_frame(frame, secret="ill")
    table = overlapping_table(frame)
    table.loc["All"] = [2, 2]
    release = ta.from_crosstab(table, people)
    assert release.exact(people).tolist() == release.values.tolist()
    assert release.values.size == 2 * len(table)
    some = ta.from_crosstab(table, people, may_include=True)
    assert some.shape.people <= 4  # nobody is counted twice
    shares = table / table.sum(axis=1).to_numpy()[:, None]
    with pytest.raises(ta.InvalidInput, match="a table of counts, where categories overlap"):
        ta.from_crosstab(shares, people, normalize="index")
