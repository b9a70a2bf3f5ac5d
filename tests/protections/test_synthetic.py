"""Synthetic data against the mechanism written out: every data set, in every order of its rows."""

import math
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest

import tellall as ta
from tellall.core.errors import InvalidInput
from tellall.protections.protection import Context
from tellall.protections.synthetic import SyntheticData

KINDS = list(product((0, 1), repeat=3))  # two public bits and the secret


def dataset(rows):
    rows = np.array(rows)
    return ta.Dataset.from_arrays(rows[:, :2], rows[:, 2], kind="bits")


def tables(rows, ways, n):
    """Every table of `ways` columns with the secret among them, in people of n."""
    out = []
    for some in combinations(range(2), ways - 1):
        for cell in product((0, 1), repeat=ways):
            out.append(sum(tuple(row[c] for c in (*some, 2)) == cell for row in rows) * n / len(rows))
    return np.array(out)


def by_hand(rows, ways, epsilon, size):
    """The law of the published tables, from all 8^size data sets in order."""
    n, exact = len(rows), tables(rows, ways, len(rows))
    law = Counter()
    for made in product(KINDS, repeat=size):
        published = tables(made, ways, n)
        law[tuple(published.round(9))] += math.exp(-epsilon * np.abs(published - exact).max() / 2)
    total = sum(law.values())
    return {made: weight / total for made, weight in law.items()}


def chances(rows, ways, epsilon, size, scale="counts"):
    people = dataset(rows)
    statistic = ta.Marginals(ways, scale=scale)
    context = Context(statistic, people.public, 2)
    values = ta.publish(people, statistic).values
    made, logs = map(np.concatenate, zip(*SyntheticData(epsilon, size).weighed(values, context), strict=True))
    chance = np.exp(logs - logs.max())
    unit = len(rows) if scale == "fractions" else 1
    law = Counter()
    for one, weight in zip(made * unit, chance / chance.sum(), strict=True):
        law[tuple(one.round(9))] += weight
    return law


PEOPLE = [(0, 0, 1), (0, 1, 0), (1, 1, 1), (1, 0, 0), (1, 1, 1)]


@pytest.mark.parametrize("scale", ["counts", "fractions"])
@pytest.mark.parametrize(("ways", "epsilon", "size"), [(2, 1.0, 3), (3, 0.5, 2), (3, 3.0, 3)])
def test_its_law_is_that_of_all_data_sets_in_order(ways, epsilon, size, scale):
    found, wanted = chances(PEOPLE, ways, epsilon, size, scale), by_hand(PEOPLE, ways, epsilon, size)
    assert set(found) == set(wanted)
    assert max(abs(found[made] - wanted[made]) for made in wanted) < 1e-12


def test_a_row_replaced_changes_no_chance_by_more_than_epsilon():
    epsilon, largest = 0.8, 0.0
    law = chances(PEOPLE, 3, epsilon, 3)
    for place, kind in product(range(5), KINDS):
        other = [*PEOPLE[:place], kind, *PEOPLE[place + 1 :]]
        if len({row[2] for row in other}) == 2:
            neighbour = chances(other, 3, epsilon, 3)
            largest = max(largest, max(abs(math.log(law[made] / neighbour[made])) for made in law))
    assert 0.3 < largest <= epsilon + 1e-9


def test_it_draws_by_that_law():
    """20,000 draws: a share is five standard errors off with probability below 1e-6, over 60 tables."""
    draws, law = 20_000, chances(PEOPLE, 2, 2.0, 2)
    people, rng, seen = dataset(PEOPLE), np.random.default_rng(0), Counter()
    statistic = ta.Marginals(2)
    context, values = Context(statistic, people.public, 2), ta.publish(people, statistic).values
    for _ in range(draws):
        seen[tuple(SyntheticData(2.0, 2).perturb(values, rng, context).round(9))] += 1
    assert set(seen) <= set(law)
    for made, chance in law.items():
        assert abs(seen[made] - draws * chance) < 6.5 * math.sqrt(draws * chance * (1 - chance)) + 6


def test_it_promises_its_epsilon_and_proves_nothing():
    people = dataset(PEOPLE * 4)
    protect = SyntheticData(1.5, 3)
    promised = ta.guarantee_of(protect, ta.Marginals(3), people.public)
    assert (promised.epsilon, promised.delta, promised.relation) == (1.5, 0.0, "one row replaced")
    release = ta.publish(people, ta.Marginals(3), protect, rng=0)
    assert not (ta.reconstruct(release, people.public).identified == "proved").any()
    assert ta.guarantee_of(protect, ta.Means(), people.public) is None


def test_what_it_does_not_fit_is_named():
    people = dataset(PEOPLE)
    for statistic, protect, words in (
        (ta.Marginals(3), SyntheticData(1.0, 40), "rows must be so few that 1,000,000 data sets are enough"),
        (ta.SubsetCounts([[1, 0, 1, 0, 1]]), SyntheticData(1.0, 2), "SyntheticData fits tables"),
        (ta.Marginals(3), [ta.Suppression(2), SyntheticData(1.0, 2)], "before whatever hides values"),
    ):
        with pytest.raises(InvalidInput, match=words):
            ta.publish(people, statistic, protect, rng=0)
    for wrong in ({"epsilon": 0.0, "rows": 2}, {"epsilon": 1.0, "rows": 0}):
        with pytest.raises(InvalidInput):
            SyntheticData(**wrong)
