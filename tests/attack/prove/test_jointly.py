"""Columns that the attacker does not know, solved for together with the secret: against brute force."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from tests.attack.prove.forwards import can_be

import tellall as ta
from tellall.attack.prove import jointly
from tellall.audits.plans.attacker import Attacker
from tellall.audits.trial import Planned, Setting, Trial
from tellall.report.reliability_chart import _fitting

PROTECTIONS = [None, ta.Suppression(2), ta.Rounding(3), ta.Suppression(3), ta.Rounding(3, "random")]


def some_people(seed: int, largest: int, values: int, columns: int) -> ta.Dataset:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, largest + 1))
    public, secret = rng.integers(0, 2, (columns, n)), rng.integers(0, values, n)
    if any(len(set(row)) < 2 for row in public) or len(set(secret)) < values:
        return some_people(seed + 10**6, largest, values, columns)
    frame = {f"c{j}": row.astype(str) for j, row in enumerate(public)}
    return ta.Dataset.from_frame({**frame, "s": secret}, secret="s")


def fitting(people: ta.Dataset, releases: list[ta.Release], known: int) -> np.ndarray:
    """The secrets that fit for some values of the columns after the first ``known``."""
    n, public = people.n, people.public
    unknown = len(public.columns) - known
    values, found = max(2, people.levels), set()
    every = np.array(list(product(range(values), repeat=n)))
    tables = []
    for release in releases:
        start = 0
        for columns in release.statistic.sets(public):
            cells = 2 ** len(columns) * values
            published = release.values[start : start + cells]
            protect = list(release.protections)
            allowed = [[can_be(value, count, protect) for count in range(n + 1)] for value in published]
            tables.append((columns, np.array(allowed)))
            start += cells
    for others in product(range(2), repeat=unknown * n):
        codes = [*np.asarray(public.codes)[:known].astype(int), *np.reshape(others, (unknown, n))]
        fits = np.ones(len(every), dtype=bool)
        for columns, allowed in tables:
            cell = np.zeros(n, dtype=int)
            for column in columns:
                cell = 2 * cell + codes[column]
            inside = (cell[:, None] == np.arange(2 ** len(columns))).astype(int)
            counts = np.stack([(every == value).astype(int) @ inside for value in range(values)], axis=2)
            counts = counts.reshape(len(every), -1)
            fits &= allowed[np.arange(len(allowed)), counts].all(axis=1)
        found |= set(map(tuple, every[fits]))
    return np.array(sorted(found))


def check(seed: int, largest: int, values: int = 2, columns: int = 2) -> tuple[int, int]:
    """How many people are determined, and how many of them sums over unknown columns prove."""
    people = some_people(seed, largest, values, columns)
    protect = PROTECTIONS[seed % len(PROTECTIONS)]
    margin = ta.Marginals(2, [[name] for name in people.public.names[1:]])
    releases = [ta.publish(people, ta.Marginals(3), protect, rng=seed), ta.publish(people, margin)]
    view = people.public.only("c0")
    attack = ta.reconstruct(releases, view, "least-squares")
    sure = np.ptp(fitting(people, releases, 1), axis=0) == 0
    assert np.array_equal(attack.proved, sure), (seed, releases)
    assert (attack.guess == people.secret)[sure].all()
    assert attack.undecided == 0
    everything = ta.reconstruct(releases, people.public, "least-squares")
    assert (attack.proved <= everything.proved).all(), "knowing fewer columns never helps"
    nothing = ta.reconstruct(releases, people.public.only(), "least-squares")
    assert (nothing.proved <= attack.proved).all()
    summed = ta.reconstruct(releases, view, "least-squares", proof_effort=0)
    assert (summed.proved <= attack.proved).all()
    return int(sure.sum()), int(summed.proved.sum())


def test_everybody_who_is_determined_whatever_the_unknown_column_is_proved():
    found = np.array([check(seed, 5) for seed in range(6)])
    assert found[:, 0].sum() > found[:, 1].sum()  # more than sums prove


def test_the_same_of_categories_and_of_two_unknown_columns():
    assert check(3, 4, values=3)[0] >= 0
    assert check(1, 3, columns=3)[0] >= 0


@pytest.mark.slow
@pytest.mark.parametrize("values", [2, 3])
def test_the_same_of_many(values):
    found = [check(seed, {2: 7, 3: 5}[values], values)[0] for seed in range(60)]
    assert sum(found) > 10  # there is somebody to prove, by brute force alone


def test_a_column_known_up_to_coarser_categories_is_solved_for():
    rng = np.random.default_rng(1)
    age = np.array([20, 30, 40, 50, 60, 70, 30, 50])
    people = ta.Dataset.from_frame(
        {"age": age, "sex": list("fmfmfmfm"), "ill": rng.integers(0, 2, 8)},
        secret="ill",
        bins={"age": [25, 45, 55]},
    )
    release = ta.publish(people, ta.Marginals(3), ta.Suppression(2))
    coarse = people.public.only("sex")
    fine = ta.reconstruct(release, people.public, "least-squares")
    less = ta.reconstruct(release, coarse, "least-squares")
    assert less.proof.jointly == ("age",)
    assert fine.proof.jointly == ()
    assert less.proved.sum() <= fine.proved.sum()
    assert (less.guess == people.secret)[less.proved].all()


def open_people() -> ta.Dataset:
    """People whose rounded tables leave much open."""
    frame = {
        "c0": list("000000111111"),
        "c1": list("010101010101"),
        "s": [0, 1, 1, 1, 0, 1, 1, 0, 0, 0, 1, 0],
    }
    return ta.Dataset.from_frame(frame, secret="s")


def test_many_unknowns_are_summed_over(monkeypatch):
    people = open_people()
    release, view = ta.publish(people, ta.Marginals(2), ta.Rounding(5)), people.public.only("c0")
    attack = ta.reconstruct(release, view)
    assert attack.proof.jointly == ("c1",)
    assert attack.possible is None
    assert "does not know c1. It was solved for together with the secret" in attack.notes[-1]
    monkeypatch.setattr(jointly, "_MOST_UNKNOWNS", 3)
    summed = ta.reconstruct(release, view)
    assert summed.proof.jointly == ()
    assert "not solved for, but summed over" in summed.notes[-1]
    assert "8 unknown counts" in summed.notes[-1]
    monkeypatch.setattr(jointly, "_MOST_CHECKED", 1)
    assert "8 unknown counts" in ta.reconstruct(release, view).notes[-1]


@pytest.mark.parametrize(("protect", "says"), [(ta.Rounding(5), "solved for"), (ta.Gaussian(1.0), "summed")])
def test_the_page_says_whether_columns_were_solved_for(protect, says):
    attacker = Attacker("neighbour", known=("c0",))
    planned = Planned("x", ta.Marginals(2), (protect,))
    found = Trial(Setting(open_people(), attacker=attacker), (planned,)).run("least-squares")
    assert found.jointly == (("c1",) if says == "solved for" else ())
    said = " ".join(_fitting("x", found))
    assert "does not know c1" in said
    assert says in said


def test_a_column_that_two_releases_cut_differently_is_two_unknowns():
    people = [
        ta.Dataset.from_frame(
            {"age": [20, 30, 40, 50, 60, 70], "sex": list("ffmmfm"), "ill": [0, 1, 1, 0, 1, 0]},
            secret="ill",
            bins={"age": cuts},
        )
        for cuts in ([35], [25, 55])
    ]
    releases = [ta.publish(each, ta.Marginals(3), ta.Suppression(2)) for each in people]
    attack = ta.reconstruct(releases, people[0].public.only("sex"), "least-squares")
    assert attack.proof.jointly == ("age",)
    assert (attack.guess == people[0].secret)[attack.proved].all()
    assert attack.status.word != "contradictory"


def test_values_that_contradict_each_other_prove_nothing():
    people = open_people()
    right = ta.publish(people, ta.Marginals(3))
    values = right.values.copy()
    values[:2] += [9, -values[1]]  # more than there are
    found = ta.reconstruct(replace(right, values=values), people.public.only("c0"), "least-squares")
    assert found.status.word == "contradictory"
    assert not found.proved.any()
