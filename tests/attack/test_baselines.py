import numpy as np
import pytest
from tests.conftest import first_fast, random_people

import tellall as ta
from tellall.attack import baselines as module
from tellall.attack.baselines import (
    Baseline,
    baselines,
    before_any_release,
    outside,
    population,
    prior_of,
    typical,
)
from tellall.attack.secret import Bit, Category, Real, Secret
from tellall.evidence.query import query_of

LINES = ta.Estimator("linear", block=2)


def planted(n: int, seed: int, strength: float = 2.0) -> ta.Dataset:
    """People whose secret follows from their public columns with a known chance."""
    rng = np.random.default_rng(seed)
    public = rng.integers(0, 2, (n, 6))
    score = strength * (public[:, 0] + public[:, 1] - 1) + strength * (2 * public[:, 2] - 1) * 0.5
    secret = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    return ta.Dataset.from_arrays(public, secret)


def planted_numbers(n: int, seed: int) -> ta.Dataset:
    rng = np.random.default_rng(seed)
    public = rng.normal(size=(n, 4))
    return ta.Dataset.from_arrays(public, 50 + 3 * public[:, 0] + rng.normal(size=n))


def public_of(people: ta.Dataset) -> Baseline:
    return before_any_release(people.public, people.secret, Secret.of(people.levels))[1]


def test_majority_says_what_most_have():
    baseline = typical(np.array([0, 0, 0, 1]), Bit())
    assert baseline.guess.tolist() == [0, 0, 0, 0]
    assert np.allclose(baseline.probability, 0.25)
    assert typical(np.array([1, 1, 0]), Bit()).guess.tolist() == [1, 1, 1]
    three = typical(np.array([0, 2, 2, 1]), Category(3))
    assert three.guess.tolist() == [2, 2, 2, 2]
    assert np.allclose(three.probability, [[0.25, 0.25, 0.5]] * 4)


def test_the_median_has_an_interval():
    secret = np.random.default_rng(0).normal(5, 2, 4000)
    baseline = typical(secret, Real())
    assert baseline.name == "median"
    assert np.allclose(baseline.guess, np.median(secret))
    assert np.allclose(baseline.width, 1.96 * 2, rtol=0.05)
    assert np.mean(np.abs(baseline.guess - secret) <= baseline.width) == pytest.approx(0.95, abs=0.001)


def test_public_columns_that_tell_the_secret_make_a_strong_baseline():
    people = planted(600, seed=0)
    assert public_of(people).accuracy(people.secret) > 0.7


def test_a_rule_that_no_line_draws_is_found_by_the_tree():
    rng = np.random.default_rng(1)
    public = rng.integers(0, 2, (800, 5))
    people = ta.Dataset.from_arrays(public, public[:, 0] ^ public[:, 1])
    assert public_of(people).accuracy(people.secret) > 0.95


def test_own_group_is_the_rate_of_the_others_with_equal_rows():
    public = np.repeat([[0, 0], [0, 1], [1, 0]], [1, 3, 4], axis=0)
    secret = np.array([1, 1, 1, 0, 0, 0, 0, 0])
    people = ta.Dataset.from_arrays(public, secret)
    rate = 3 / 8
    wanted = [rate, (1 + rate) / 3, (1 + rate) / 3, (2 + rate) / 3, *[rate / 4] * 4]
    found = before_any_release(people.public, secret, Bit())[2]
    assert found.name == "own group"
    np.testing.assert_allclose(found.probability, wanted)
    codes = before_any_release(people.public, np.where(secret == 1, 2, 0), Category(3))[2]
    np.testing.assert_allclose(codes.probability[:, 2], wanted)
    assert np.allclose(codes.probability.sum(axis=1), 1)
    numbers = before_any_release(people.public, 10.0 * secret, Real())[2]
    np.testing.assert_allclose(numbers.guess, 10 * np.array(wanted))


@pytest.mark.parametrize(
    ("people", "statistics"),
    [
        (random_people(60, 3, seed=0), [ta.Marginals(3)]),  # fewer groups than features
        (random_people(60, 5, seed=1), [ta.Marginals(2), ta.Predicates("xor", 3)]),
        (random_people(50, 9, seed=2), [ta.Marginals(3)]),
        (ta.Dataset.from_arrays(np.arange(120).reshape(40, 3) % 4, np.arange(40) % 3), [ta.Marginals(3)]),
        (planted_numbers(40, seed=3), [LINES]),
    ],
    ids=["bits", "bits, two statistics", "bits, fewer groups", "categories", "reals"],
)
def test_leaving_out_is_fitting_again_without_the_person(people, statistics, monkeypatch):
    """The ridge fitted to everybody else, by brute force, at every ridge."""
    secret = Secret.of(people.levels)
    features, groups = module._features(statistics, people.public, secret)
    own, n = secret.targets(people.secret), people.n
    columns = (features @ np.eye(len(groups)))[:, groups.index]
    for ridge in (0.3, 5.0, 200.0):
        monkeypatch.setattr(module, "_ridges", lambda *_, ridge=ridge: np.array([ridge]))
        found, _ = module._left_out(features, groups, own, [])
        for person in range(n):
            others = np.arange(n) != person
            centre, mean = columns[:, others].mean(axis=1), own[others].mean(axis=0)
            rest = columns[:, others] - centre[:, None]
            left = rest @ rest.T + ridge * np.eye(rest.shape[0])
            weights = np.linalg.solve(left, rest @ (own[others] - mean))
            again = mean + (columns[:, person] - centre) @ weights
            np.testing.assert_allclose(found[person], again, rtol=0, atol=1e-9 * max(1, np.abs(own).max()))


def test_equal_rows_count_as_often_as_they_occur():
    people = random_people(80, 5, seed=4)
    for statistic in (ta.Marginals(3), ta.Predicates("or", 3)):
        features, groups = module._features([statistic, statistic], people.public, Bit())
        whole = statistic.equations(
            people.public, np.zeros(statistic.size(people.public))
        ).operator.to_dense()
        assert features.shape[0] < 2 * whole.shape[0]
        kernel = 2 * whole.T @ whole
        np.testing.assert_allclose(features.gram(), kernel[np.ix_(groups.first, groups.first)], rtol=1e-6)


def test_the_population_model_learns_from_the_statistic_alone():
    """On structured people it predicts nearly as well as the records do."""
    people = planted(1500, seed=2)
    exact = population([ta.Marginals(3)], people.public, people.secret, Bit())
    assert exact.accuracy(people.secret) > public_of(people).accuracy(people.secret) - 0.02
    numbers = planted_numbers(800, seed=3)
    guess = population([LINES], numbers.public, numbers.secret, Real())
    assert np.abs(guess.guess - numbers.secret).mean() < 0.85  # what is left is noise of mean size 0.8
    assert np.mean(np.abs(guess.guess - numbers.secret) <= guess.width) == pytest.approx(0.95, abs=0.01)


def test_categories_have_a_population_model():
    rng = np.random.default_rng(5)
    public = rng.integers(0, 3, (900, 4))
    secret = np.where(rng.random(900) < 0.7, public[:, 0], rng.integers(0, 3, 900))
    people = ta.Dataset.from_arrays(public, secret)
    found = population([ta.Marginals(3)], people.public, people.secret, Category(3))
    assert found.accuracy(secret) > 0.72
    assert np.allclose(found.probability.sum(axis=1), 1)
    # the probabilities are about right: the sum of independent Bernoullis is within five of its deviations
    chance = found.chance_of(found.guess)
    assert abs(chance.sum() - (found.guess == secret).sum()) < 5 * np.sqrt((chance * (1 - chance)).sum())


@pytest.mark.parametrize("secret", [Bit(), Category(3)])
@pytest.mark.parametrize("limit", first_fast([4000, 0]), ids=["each left out", "folds"])
def test_the_population_model_cannot_hide_an_attack(secret, limit, monkeypatch):
    """Random people: the release gives every secret away, yet says nothing about people who are not in it.

    Without a person the mean of the others is lower if they have the secret; that must not be read back.
    """
    monkeypatch.setattr(module, "FACTORISED", limit)
    rng = np.random.default_rng(3)
    public = rng.integers(0, 2, (300, 36))
    people = ta.Dataset.from_arrays(public, rng.permutation(np.arange(300) % secret.levels))
    baseline = population([ta.Marginals(3)], people.public, people.secret, secret)
    # the binomial chance of 195 right out of 300 by coin flips is below 1e-6
    assert baseline.accuracy(people.secret) < 0.65 - (0.167 if secret.levels == 3 else 0)
    alike = ta.Dataset.from_arrays(np.arange(300)[:, None] % 2, people.secret)
    nothing = population([ta.Marginals(2)], alike.public, people.secret, secret)
    assert nothing.accuracy(people.secret) < 0.65 - (0.167 if secret.levels == 3 else 0)


def test_folds_say_nearly_what_leaving_out_says(monkeypatch):
    people = planted(1500, seed=8)
    exact = population([ta.Marginals(3)], people.public, people.secret, Bit())
    monkeypatch.setattr(module, "FACTORISED", 0)
    folds = population([ta.Marginals(3)], people.public, people.secret, Bit())
    assert abs(exact.accuracy(people.secret) - folds.accuracy(people.secret)) < 0.01
    assert np.abs(exact.probability - folds.probability).mean() < 0.02


def test_a_few_tables_of_structured_people_raise_no_false_alarm():
    """Fifteen 3-way tables: the attack beats the majority by far, but a population model does as well."""
    people = planted(2000, seed=4)
    release = ta.publish(people, ta.Marginals(3))
    attack = ta.reconstruct(release, people.public)
    risk = ta.score(attack, people.secret)
    assert risk.accuracy > risk.baselines["majority"] + 0.1
    assert abs(risk.advantage) < 0.04


def test_no_secret_is_in_anybodys_features():
    class Asked(ta.Marginals):
        def values(self, dataset):
            raise AssertionError("the statistic was computed")

    people = planted(100, seed=5)
    assert population([Asked(2)], people.public, people.secret, Bit()).guess.size == 100


def test_baselines_depend_on_people_and_statistics_only():
    for people, statistic in ((planted(120, seed=6), ta.Marginals(3)), (planted_numbers(80, seed=6), LINES)):
        twice = [
            baselines([statistic], people.public, people.secret, Secret.of(people.levels)) for _ in range(2)
        ]
        for first, second in zip(*twice, strict=True):
            assert np.array_equal(first.guess, second.guess)
        usual = "majority" if people.levels else "median"
        more = ["together"] if people.levels else []
        assert [one.name for one in twice[0]] == [usual, "public", "own group", "population", *more]


def test_statistics_of_given_people_have_no_population():
    people = planted(40, seed=9)
    masks = ta.SubsetCounts(np.eye(40))
    assert population([masks], people.public, people.secret, Bit()) is None
    assert population([ta.Marginals(2), masks], people.public, people.secret, Bit()) is None
    found = baselines([masks], people.public, people.secret, Bit())
    assert [one.name for one in found] == ["majority", "public", "own group", "together"]


def test_small_groups_have_fewer_folds_and_tiny_ones_are_refused():
    people = planted(9, seed=7)
    assert population([ta.Marginals(2)], people.public, people.secret, Bit()).guess.size == 9
    assert before_any_release(people.public, people.secret, Bit())[1].guess.size == 9
    three = ta.Dataset.from_arrays([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    with pytest.raises(ta.InvalidInput, match="people must be 4 or more"):
        population([ta.Marginals(2)], three.public, three.secret, Bit())


def test_probabilities_of_given_values():
    bits = Baseline("x", np.array([0, 1, 1]), np.array([0.2, 0.5, 1.0]))
    assert np.allclose(bits.chance_of(np.array([0, 1, 0])), [0.8, 0.5, 0.001])
    codes = Baseline("x", np.array([0, 2]), np.array([[0.7, 0.3, 0.0], [0.0, 0.0, 1.0]]))
    assert np.allclose(codes.chance_of(np.array([1, 2])), [0.3, 0.999])


def test_kinds_of_secret():
    assert [Secret.of(levels).unknowns for levels in (0, 2, 5)] == [1, 1, 5]
    assert Bit().right(np.array([0, 1]), np.array([0, 0])).tolist() == [True, False]
    assert Real().error(np.array([1.0, 3.0]), np.array([2.0, 2.5])).tolist() == [1.0, 0.5]
    with pytest.raises(TypeError, match="error"):
        Real().right(np.zeros(2), np.zeros(2))
    with pytest.raises(ta.InvalidInput, match="codes of categories, 0 to 2"):
        Category(3).check([0, 3], 2)


def test_a_ridge_looked_for_among_some_groups_is_the_best_of_all(monkeypatch):
    people = random_people(90, 9, seed=3)
    whole = population([ta.Marginals(3)], people.public, people.secret, Bit())
    asked = []
    at_ridge = module._at_ridge
    monkeypatch.setattr(module, "_at_ridge", lambda *given: asked.append(given[1]) or at_ridge(*given))
    monkeypatch.setattr(module, "_TRIED", 30)
    some = population([ta.Marginals(3)], people.public, people.secret, Bit())
    assert len(asked) == len(set(asked)) >= 2
    assert np.allclose(some.probability, whole.probability)


@pytest.mark.parametrize("levels", [2, 3])
def test_tables_of_many_values_are_left_out_block_by_block(levels, monkeypatch):
    rng = np.random.default_rng(levels)
    public = rng.integers(0, [7, 8, 9], (500, 3))
    secret = (public.sum(axis=1) + rng.integers(0, 3, 500)) % levels
    people = ta.Dataset.from_arrays(public, secret)
    features, groups = module._features([ta.Marginals(3)], people.public, Secret.of(levels))
    own = Secret.of(levels).targets(secret)
    whole, _ = module._left_out(features, groups, own, [])
    monkeypatch.setattr(module, "_best_of_features", None)
    monkeypatch.setattr(module, "_TRIED", 60)
    blocks, _ = module._left_out(features, groups, own, [])
    np.testing.assert_allclose(blocks, whole, rtol=0, atol=1e-9)


# Priors of attackers, which are baselines.


def mixed(n: int, seed: int) -> ta.Dataset:
    """People in 5 areas whose secret follows from three columns that no table by area uses."""
    rng = np.random.default_rng(seed)
    bits, area = rng.integers(0, 2, (n, 3)), rng.integers(0, 5, (n, 1))
    chance = 1 / (1 + np.exp(-2 * (bits.sum(axis=1) - 1.5)))
    return ta.Dataset.from_arrays(
        np.hstack([bits, area]), (rng.random(n) < chance).astype(int), names=["a", "b", "c", "area"]
    )


BY_AREA = ta.Marginals(2, attributes=[["area"]])


def test_columns_outside_are_those_that_no_statistic_uses():
    people = mixed(300, 0)
    public, truth = people.public, people.secret
    found = outside([BY_AREA], public, truth, Bit())
    assert found.name == "outside columns"
    for row in range(8):  # nearly the same for everybody with equal values outside, whatever their area
        same = ([row & 1, row >> 1 & 1, row >> 2] == np.asarray(public.codes)[:3].T).all(axis=1)
        assert np.ptp(found.probability[same]) < 0.25
    assert found.accuracy(truth) > 0.7
    assert outside([ta.Marginals(2)], public, truth, Bit()) is None  # every column is used
    where = query_of(ta.publish(people, BY_AREA, where="a = 1"))
    assert where.columns_used(public) == {"area", "a"}
    assert ta.Estimator("linear", blocks=[["a", "b"]]).columns_used(public) == {"a", "b"}
    assert ta.Predicates("xor", ways=2).columns_used(public) == set(public.names)


def test_everybody_with_equal_rows_has_one_chance_and_learns_nothing_from_folds():
    """With no release, the prior is no better than the rows: no person is in their own prediction.

    Secrets are independent of the columns, so the guesses of 2,000 people are right for half of them; more
    than 0.5 + 5.2/(2 √2000) = 0.558 has a chance below 1e-7.
    """
    rng = np.random.default_rng(3)
    people = ta.Dataset.from_arrays(rng.integers(0, 3, (2000, 3)), rng.integers(0, 2, 2000))
    found = public_of(people)
    for group in range(len(people.public.patterns)):
        assert np.ptp(found.probability[people.public.patterns.index == group]) == 0
    assert found.accuracy(people.secret) < 0.558


def test_chances_are_calibrated():
    people = planted(4000, seed=8, strength=3.0)
    found = public_of(people)
    chance = found.probability
    for low, high in ((0.0, 0.1), (0.1, 0.3), (0.3, 0.7), (0.7, 0.9), (0.9, 1.0)):
        inside = (chance >= low) & (chance < high)
        if inside.sum() > 50:
            spread = np.sqrt((chance * (1 - chance))[inside].sum())
            assert abs((people.secret - chance)[inside].sum()) < 5.5 * spread + 0.03 * inside.sum()


@pytest.mark.parametrize("levels", [2, 3])
def test_no_order_changes_a_baseline(levels):
    people = mixed(400, 4)
    secret = Secret.of(levels)
    truth = (
        people.secret if levels == 2 else (people.secret + np.asarray(people.public.codes[3]) // 3).clip(0, 2)
    )
    rng = np.random.default_rng(0)
    first = baselines([BY_AREA], people.public, truth, secret)
    for _ in range(3):
        order, columns = rng.permutation(400), rng.permutation(4)
        public = people.public.take(order).only(*[people.public.names[column] for column in columns])
        again = baselines([BY_AREA], public, truth[order], secret)
        assert [one.name for one in again] == [one.name for one in first]
        for one, other in zip(first, again, strict=True):
            np.testing.assert_allclose(other.probability, one.probability[order], atol=1e-6, err_msg=one.name)


def test_together_has_what_each_of_them_has():
    """A column says one half, the others in the group another: only both together know both."""
    rng = np.random.default_rng(5)
    public = np.column_stack([rng.integers(0, 2, 3000), rng.integers(0, 40, 3000)])
    lean = rng.normal(0, 2, 40)
    chance = 1 / (1 + np.exp(-(3 * public[:, 0] - 1.5 + lean[public[:, 1]])))
    people = ta.Dataset.from_arrays(public, (rng.random(3000) < chance).astype(int))
    found = {one.name: one for one in baselines([ta.Marginals(2)], people.public, people.secret, Bit())}

    def loss(name):
        return -np.log(found[name].chance_of(people.secret)).mean()

    assert loss("together") <= min(loss(name) for name in found if name != "together") + 1e-6
    assert set(found) == {"majority", "public", "own group", "population", "together"}


def test_a_prior_that_tells_nobody_apart_is_none():
    people = mixed(300, 6)
    assert prior_of(typical(people.secret, Bit())) is None
    assert prior_of(public_of(people)).shape == (300,)
