"""Wrong values where they hurt most: whoever puts them there, nobody is guessed wrong and called sure."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import tellall as ta

D = 30
PARITY = np.array([1, -1, -1, 1, -1, 1, 1, -1]) * -1.0  # of two columns and the secret, cell by cell


def attacked(n, seed, kind, decoder, *, declared=False):
    """The attack on every 3-way table, some of them wrong, and the truth."""
    rng = np.random.default_rng(seed)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (n, D)), secret=rng.integers(0, 2, n))
    release = ta.publish(people, ta.Marginals(3), rng=seed)
    tables = release.values.copy().reshape(-1, 8)
    about = np.array([0 in columns for columns in combinations(range(D), 2)])  # 6.7 % of the tables
    size = np.sqrt(n)
    if kind == "one attribute":
        tables[about] += rng.normal(0, size, (about.sum(), 8))
    elif kind == "one attribute, margins kept":
        tables[about] += rng.normal(0, size, (about.sum(), 1)) * PARITY
    elif kind == "one attribute, complemented":
        tables[about] = tables[about].reshape(-1, 4, 2)[:, :, ::-1].reshape(-1, 8)
    elif kind == "most influential":  # the largest cells: each is about the most people
        order = np.argsort(-tables.ravel())[: int(0.067 * tables.size)]
        tables.ravel()[order] += rng.normal(0, size, order.size)
    else:
        wrong = rng.random(tables.shape) < 0.1
        tables[wrong] += rng.normal(0, size, wrong.sum())
    wrong = replace(release, values=tables.ravel())
    if declared:
        share = 0.1 if kind == "scattered" else 0.067
        wrong = replace(wrong, protections=(ta.Corruption(share, float(size)),))
    return ta.reconstruct(wrong, people.public, decoder), people.secret


KINDS = [
    "one attribute",
    "one attribute, margins kept",
    "one attribute, complemented",
    "most influential",
    "scattered",
]


@pytest.mark.parametrize("decoder", ["lp", "auto"])
@pytest.mark.parametrize("kind", KINDS)
def test_undeclared_errors_cost_nobody_and_confidences_fall(kind, decoder):
    attack, truth = attacked(164, 0, kind, decoder)
    assert (attack.guess != truth).sum() == 0
    assert attack.status.word == "contradictory"
    assert 0.7 < np.median(attack.confidence) < 0.98


@pytest.mark.parametrize("kind", ["one attribute", "scattered"])
def test_declared_errors_cost_nobody(kind):
    attack, truth = attacked(164, 1, kind, "lp", declared=True)
    assert (attack.guess != truth).sum() == 0


@pytest.mark.slow
@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("decoder", ["lp", "auto"])
@pytest.mark.parametrize("n", [164, 225])
@pytest.mark.parametrize("seed", range(5))
def test_all_tables_over_one_attribute_wrong_cost_nobody(seed, n, decoder, declared):
    attack, truth = attacked(n, seed, "one attribute", decoder, declared=declared)
    assert (attack.guess != truth).sum() == 0


def test_a_release_about_other_people_makes_nobody_sure():
    rng = np.random.default_rng(3)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (80, 14)), secret=rng.integers(0, 2, 80))
    release = ta.publish(people, ta.Marginals(3), rng=0)
    shuffled = replace(release, values=rng.permutation(release.values))
    attack = ta.reconstruct(shuffled, people.public)
    assert attack.status.word == "contradictory"
    assert (attack.confidence >= 0.95).sum() == 0


def test_one_wrong_value_of_many_leaves_the_people_it_is_not_about_sure():
    rng = np.random.default_rng(4)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (80, 20)), secret=rng.integers(0, 2, 80))
    release = ta.publish(people, ta.Marginals(3), rng=0)
    values = release.values.copy()
    values[5] += 9
    attack = ta.reconstruct(replace(release, values=values), people.public)
    assert attack.status.word == "contradictory"
    assert np.array_equal(attack.guess, people.secret)
    assert attack.confidence.min() > 0.99


@pytest.mark.parametrize("decoder", ["least-squares", "lp", pytest.param("auto", marks=pytest.mark.slow)])
def test_rounding_repeated_under_other_names_is_no_evidence(decoder):
    """Four columns, each three times: a count rounded nine times over is known no better than once."""
    sure, right, said = 0, 0, 0.0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        columns = np.repeat(rng.integers(0, 4, (150, 4)), 3, axis=1).T
        frame = {f"a{j}": [f"v{code}" for code in column] for j, column in enumerate(columns)}
        secret = rng.integers(0, 2, 150)
        people = ta.Dataset.from_frame(frame | {"s": [f"s{code}" for code in secret]}, secret="s")
        attack = ta.reconstruct(ta.publish(people, ta.Marginals(3), ta.Rounding(10)), people.public, decoder)
        surely = attack.confidence >= 0.85
        sure += int(surely.sum())
        right += int((surely & (attack.guess == people.secret)).sum())
        said += float(attack.confidence[surely].sum())
    assert sure > 30
    assert right >= said - 5 * np.sqrt(sure * 0.1 * 0.9)  # five standard deviations below what was said


def test_an_attack_says_how_many_wrong_equations_it_survives():
    rng = np.random.default_rng(0)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (12, 14)), rng.integers(0, 2, 12))
    release = ta.publish(people, ta.Predicates("xor", ways=3))
    attack = ta.reconstruct(release, people.public, "lp")
    found = attack.survival
    assert found.equations == release.values.size
    assert 0 < found.certified <= found.limit < found.equations / 2
    values = release.values.copy()
    wrong = rng.permutation(values.size)[: found.certified]
    values[wrong] += rng.normal(0, 100, wrong.size)
    misled = ta.reconstruct(replace(release, values=values), people.public, "lp")
    assert np.array_equal(misled.guess, people.secret)
    rounded = ta.publish(people, ta.Marginals(3), ta.Rounding(5))
    assert ta.reconstruct(rounded, people.public).survival is None
