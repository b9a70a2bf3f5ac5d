"""Real secrets: the posterior by its own formula, intervals that hold, limits that are certain."""

import numpy as np
import pytest

import tellall as ta
from tellall.attack.baselines import before_any_release
from tellall.attack.reconstruct.reals import Beforehand, _share_out, certain_limits, effects_of
from tellall.audits.measures.chance_intervals import gain_interval
from tellall.audits.measures.risk import risks_of, strongest_way
from tellall.audits.trial import Planned, Setting, Trial
from tellall.audits.verdict import Limits, judge_outcome
from tellall.evidence.bounds import Bounds
from tellall.evidence.evidence import Evidence, ReleaseEquations, Rows
from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.posterior.hierarchy import Hierarchy
from tellall.protections.protection import Exact


def hierarchy(seed, *, groups=9, effects=2, rows=6, **known):
    """Random equations about groups of people alike, with covariates that differ within them."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 4, groups)
    index = np.repeat(np.arange(groups), size)
    covariates = np.hstack([np.ones((index.size, 1)), rng.normal(size=(index.size, effects))])
    matrix = rng.normal(size=(rows, groups))  # about sums of people
    _, singular, right = np.linalg.svd(matrix * np.sqrt(size), full_matrices=False)
    turn = np.linalg.svd(matrix * np.sqrt(size), full_matrices=False)[0]
    model = Hierarchy(singular, right, size.astype(float), index, covariates, **known)
    return model, matrix[:, index], turn, rng


@pytest.mark.parametrize("share", [0.0, 0.3, 0.95])
@pytest.mark.parametrize("seed", range(8))
def test_the_posterior_is_the_dense_formula(seed, share):
    model, matrix, turn, rng = hierarchy(seed, mean=3.0, mean_spread=2.0)
    spread, n = 1.7, model.index.size
    values = rng.normal(size=6) * 4
    prior_mean = np.full(n, 3.0)
    effects = model.covariates[:, 1:]
    prior = (
        4.0 * np.ones((n, n)) + spread**2 * share * effects @ effects.T + spread**2 * (1 - share) * np.eye(n)
    )
    whole = matrix @ prior @ matrix.T + np.eye(6)
    gain = prior @ matrix.T @ np.linalg.inv(whole)
    off = turn @ values - matrix @ prior_mean
    given = model.at(spread, share)
    solved = given.solve(values[:, None])
    np.testing.assert_allclose(given.mean(solved)[:, 0], prior_mean + gain @ off, atol=1e-8)
    np.testing.assert_allclose(given.deviations, (prior - gain @ matrix @ prior).diagonal(), atol=1e-8)
    other = model.at(1.1, 0.5).solve(values[:, None])
    other_prior = 4.0 * np.ones((n, n)) + 1.1**2 * 0.5 * (effects @ effects.T + np.eye(n))
    other_whole = matrix @ other_prior @ matrix.T + np.eye(6)

    def log_density(cover):
        return -0.5 * (off @ np.linalg.solve(cover, off) + np.linalg.slogdet(cover)[1])

    # the prior of the spread is flat
    wanted = log_density(whole) - log_density(other_whole)
    assert solved.likely[0] - other.likely[0] == pytest.approx(wanted, abs=1e-8)


def test_a_large_mean_loses_no_digits():
    model, matrix, turn, rng = hierarchy(3)
    people = rng.normal(1e7, 2.0, model.index.size)
    found = model.posterior(turn.T @ (matrix @ people + rng.normal(size=6)))
    assert found.mean == pytest.approx(1e7, abs=30)
    assert found.spread < 100


def test_nothing_published_is_uncalibrated():
    people = ta.Dataset.from_arrays(np.random.default_rng(0).normal(size=(12, 2)), np.arange(12.0) + 0.5)
    release = ta.publish(people, ta.Estimator("linear"), ta.Suppression(1e9))
    found = ta.reconstruct(release, people.public)
    assert found.status.word == "uncalibrated"
    assert np.isfinite(found.estimate).all()


def regression(rng):
    columns = rng.normal(size=(100, 4))
    return ta.Dataset.from_arrays(columns, 50 + columns[:, 0] + rng.normal(0, 3.5, 100)), ta.Estimator(
        "linear", 4, True
    )


def many_regressions(rng):
    columns = rng.integers(0, 2, (60, 64)).astype(float)
    return ta.Dataset.from_arrays(columns, rng.normal(50, 3.5, 60)), ta.Estimator("linear")


def sums_by_cell(rng):
    columns = rng.integers(0, 3, (90, 4)).astype(float)
    return ta.Dataset.from_arrays(columns, 50 + columns[:, 0] + rng.normal(0, 3.5, 90)), ta.Sums(3)


NOISE = (0.0, 0.1, 1.0, 10.0, 100.0, 1e4)


def covered(design, std, seeds):
    """The coverage where the status is settled, and how much nearer the best baseline is, run by run.

    In shares of the baseline's error.
    """
    inside, farther = [], []
    for seed in seeds:
        people, statistic = design(np.random.default_rng(seed))
        release = ta.publish(people, statistic, ta.Gaussian(std) if std else None, rng=seed)
        found = ta.reconstruct(release, people.public)
        risk = ta.score(found, people.secret)
        farther.append(risk.error / risk.baselines[risk.baseline] - 1)
        if found.status.settled:
            low, high = found.interval.T
            inside.append(np.mean((low <= people.secret) & (people.secret <= high)))
        else:
            assert found.status.word == "uncalibrated", found.status
    return inside, farther


def not_above(farther):
    """Whether the attack is no farther off than the best baseline but for chance: five standard errors."""
    return np.mean(farther) <= 5 * np.std(farther, ddof=1) / np.sqrt(len(farther)) + 1e-9


@pytest.mark.parametrize("std", [0.1, 10.0])
@pytest.mark.parametrize("design", [regression, many_regressions, sums_by_cell])
def test_intervals_hold_or_say_that_they_may_not(design, std):
    """Three runs: coverage below 0.8, five standard errors of 180 independent people, is no luck."""
    inside, farther = covered(design, std, range(3))
    assert not inside or np.mean(inside) > 0.8
    assert np.mean(farther) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("std", NOISE)
@pytest.mark.parametrize("design", [regression, many_regressions, sums_by_cell])
def test_coverage_over_designs_and_noise(design, std):
    inside, farther = covered(design, std, range(60))
    assert not_above(farther)
    if len(inside) >= 10:
        assert np.mean(inside) >= 0.93
        assert std == 0 or np.mean(inside) <= 0.99
    if design is regression:
        assert not inside  # coefficients do not show how far people are from the line
    if design is many_regressions and std <= 0.1:
        assert len(inside) == 60


def test_the_truth_has_no_part_in_what_the_attack_guesses():
    """The guess about a person does not change with that person's own number, all else equal.

    Baselines of the others do, so these are given. Which of two ways of guessing is stronger is asked of
    everybody at once, and does not hang on one person's small change.
    """
    people, statistic = sums_by_cell(np.random.default_rng(5))
    found = ta.reconstruct(ta.publish(people, statistic, ta.Gaussian(10.0), rng=5), people.public)
    known = before_any_release(people.public, people.secret, found.secret)
    first = ta.score(found, people.secret, known)
    for person in range(0, 90, 9):
        other = people.secret.copy()
        other[person] += 1e-3  # the strongest baseline stays the strongest
        again = ta.score(found, other, known)
        np.testing.assert_array_equal(again._guess, first._guess)
        np.testing.assert_array_equal(again._confidence, first._confidence)


def test_an_attack_that_knows_nothing_keeps_to_the_baseline():
    people, statistic = sums_by_cell(np.random.default_rng(2))
    noisy = ta.reconstruct(ta.publish(people, statistic, ta.Gaussian(1e4), rng=2), people.public)
    risk = ta.score(noisy, people.secret)
    assert risk.advantage == 0
    assert risk.interval == (0, 0)  # whatever people there are, it adds nothing
    assert risk.exposed == 0
    exact = ta.score(ta.reconstruct(ta.publish(people, ta.Sums(5)), people.public), people.secret)
    assert exact.advantage > 0.3 * exact.baselines[exact.baseline]


def test_what_is_known_beforehand_settles_a_regression():
    people, statistic = regression(np.random.default_rng(1))
    release = ta.publish(people, statistic, ta.Gaussian(0.1), rng=1)
    found = ta.reconstruct(release, people.public, prior=(50, 3.7))
    low, high = found.interval.T
    assert found.status.settled
    assert 0.85 < np.mean((low <= people.secret) & (people.secret <= high)) < 1
    for wrong in (0.5, (1.0,), (1.0, 0.0), "ab", (1.0, float("inf"))):
        with pytest.raises(ta.InvalidInput, match="prior must be the mean and the standard deviation"):
            ta.reconstruct(release, people.public, prior=wrong)


def test_one_ordinary_regression_gives_away_nobody():
    """What it is nearer than the baselines is in-sample fit, and the verdict says so."""
    for seed in range(4):
        people, statistic = regression(np.random.default_rng(seed))
        risk = ta.score(ta.reconstruct(ta.publish(people, statistic), people.public), people.secret)
        assert risk.exposed == 0
        assert risk.advantage - risk.in_sample < 0.02 * risk.baselines[risk.baseline]


@pytest.mark.parametrize(("n", "columns"), [(40, 5), (100, 10)])
def test_in_sample_fit_is_no_cliff(n, columns):
    """Fewer than ten people for each coefficient: what an ordinary fit would tell is still not counted."""
    rng = np.random.default_rng([n, columns])
    table = rng.normal(size=(n, columns))
    people = ta.Dataset.from_arrays(table, 2 * table[:, 0] + rng.normal(0, 3, n))
    planned = Planned("fit", ta.Estimator("linear", columns, intercept=True))
    found = Trial(Setting(people), (planned,)).run("least-squares")
    assert found.in_sample > 0.03 * found.baselines[found.baseline]
    assert judge_outcome("fit", found, Limits(0.05)).word != "fail"


def test_a_reconstruction_is_no_in_sample_fit():
    people, statistic = many_regressions(np.random.default_rng(0))
    risk = ta.score(ta.reconstruct(ta.publish(people, statistic), people.public), people.secret)
    assert risk.error < 1e-3
    assert risk.in_sample < 1e-3 * risk.advantage


def test_nonnegative_numbers_are_limited_by_their_sum():
    people = ta.Dataset.from_arrays([[0], [0], [0], [1], [1]], [5.0, 1.0, 0.25, 3.0, 0.0])
    release = ta.publish(people, ta.Sums(2))
    found = ta.reconstruct(release, people.public, bounds=(0, None))
    assert found.estimate.min() >= 0
    low, high = certain_limits(found.evidence, Beforehand.of((0, None)))
    np.testing.assert_allclose(high, [6.25, 6.25, 6.25, 3, 3], rtol=1e-6)
    np.testing.assert_allclose(low, 0)
    assert (found.interval[:, 1] <= high).all()


@pytest.mark.parametrize("seed", range(10))
def test_certain_limits_hold_the_truth_and_agree_with_linear_programs_of_one_row(seed):
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 2, (8, 2))
    people = ta.Dataset.from_arrays(columns, np.minimum(rng.gamma(1, 2, 8), 12))
    evidence = ta.linearise(ta.publish(people, ta.Sums(3), ta.Rounding(1.0)), people.public)
    known = Beforehand.of((0, 12))
    low, high = certain_limits(evidence, known)
    assert (low <= people.secret + 1e-6).all()
    assert (people.secret <= high + 1e-6).all()
    matrix, bound = evidence.operator.to_dense(), evidence.rows.bound
    for person in range(8):
        for sign, end in ((1, low), (-1, high)):
            best = linprog(
                sign * np.eye(8)[person],
                A_ub=np.vstack([matrix, -matrix]),
                b_ub=np.concatenate([evidence.target + bound, bound - evidence.target]),
                bounds=(0, 12),
            )
            # each person is in one cell of the table, so that propagation is the linear program
            assert sign * best.fun == pytest.approx(end[person], abs=1e-5)


@pytest.mark.parametrize("seed", range(24))
def test_limits_hold_the_truth_of_incomes_and_nothing_contradicts(seed):
    """Means are multiples of a third and a seventh: entries must have all digits of double precision."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 40))
    incomes = np.round(np.where(rng.random(n) < 0.2, 0, rng.lognormal(10, 1, n)), 2)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (n, int(rng.integers(3, 6)))), incomes)
    statistic = (ta.CellMeans(3), ta.Sums(3), ta.CellMeans(2))[seed % 3]
    found = ta.reconstruct(ta.publish(people, statistic), people.public, bounds=(0, None))
    assert found.status.word != "contradictory"
    low, high = certain_limits(found.evidence, Beforehand.of((0, None)))
    assert (low <= incomes).all()
    assert (incomes <= high).all()


@pytest.mark.parametrize("seed", range(8))
def test_rounding_in_differences_of_large_numbers_excludes_nobody(seed):
    """A difference of 1 between numbers of 1e9 is computed to 1e-7 at best."""
    rng = np.random.default_rng(seed)
    numbers, some = 1e9 + np.array([0.7, 0, 0, 0, 2, 2, 2, 2]), rng.random((6, 4))
    matrix = np.hstack([some, -some[:, ::-1]])  # all but the first person are as far up or down as can be
    rows = Rows.exact(matrix @ numbers)
    bounds = Bounds(rows.target, rows.target)
    part = ReleaseEquations(Dense(matrix), np.arange(6), rows, Exact(), np.arange(8), bounds)
    low, high = certain_limits(Evidence((part,)), Beforehand.of((1e9, 1e9 + 2)))
    assert (low <= numbers).all()
    assert (numbers <= high).all()


@pytest.mark.parametrize("seed", [6, 17])
def test_numbers_next_to_their_limit_do_not_contradict_their_sums(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    columns, numbers = rng.integers(0, 2, (n, 3)), 1000 + rng.lognormal(0, 1, n)
    numbers[0] = 1000
    people = ta.Dataset.from_arrays(columns, numbers)
    found = ta.reconstruct(ta.publish(people, ta.Sums(3)), people.public, bounds=(1000, None))
    assert found.status.word == "uncalibrated"
    assert found.stats["misfit"] < 0.01


@pytest.mark.parametrize("bounds", [(1e9, None), (None, -1e9)])
def test_limits_that_the_values_rule_out_are_said_to_contradict_them(bounds):
    rng = np.random.default_rng(0)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (12, 2)), rng.normal(size=12))
    release = ta.publish(people, ta.Sums(2), ta.Gaussian(1.0), rng=0)
    found = ta.reconstruct(release, people.public, bounds=bounds)
    assert found.status.word == "contradictory"


def test_few_means_that_say_nothing_about_the_spread_are_attacked():
    """The likeliest spread is so wide that rounding hides it beside values that are exact."""
    rng = np.random.default_rng(389)
    n = int(rng.integers(10, 80))
    columns = rng.integers(0, 2, (n, int(rng.integers(3, 6))))
    incomes = np.round(np.where(rng.random(n) < 0.2, 0, rng.lognormal(10, 1, n)), 2)
    people = ta.Dataset.from_arrays(columns, incomes)
    found = ta.reconstruct(ta.publish(people, ta.CellMeans(2)), people.public, bounds=(0, None))
    assert found.status.word == "uncalibrated"
    assert found.stats["misfit"] < 0.01


@pytest.mark.parametrize("seed", [2, 5, 9])
def test_people_of_one_group_who_differ_keep_their_sum_within_the_limits(seed):
    """Another column tells people of an area apart; cut at the limits alone, they would no longer add up."""
    rng = np.random.default_rng(seed)
    area, rich = rng.integers(0, 2, 60), rng.random(60) < 0.5
    numbers = np.where(rich, 90.0, 10.0) * rng.lognormal(0, 0.6, 60)
    people = ta.Dataset.from_arrays(np.column_stack([area, rich]), numbers)
    release = ta.publish(people, ta.Sums(2, attributes=[("a0",)]))
    told = {row: float(numbers[row]) for row in range(0, 60, 3)}
    found = ta.reconstruct(release, people.public, bounds=(0, None), known_secrets=told)
    assert found.status.word == "trusted"
    assert found.estimate.min() == 0
    np.testing.assert_allclose(np.bincount(area, found.estimate), np.bincount(area, numbers), rtol=1e-9)


@pytest.mark.parametrize("bounds", [(0.0, 3.0), (0.0, None), (None, 3.0)])
def test_totals_are_shared_out_within_the_limits_as_near_as_can_be(bounds):
    from scipy.optimize import minimize

    known, index = Beforehand.of(bounds), np.array([0, 0, 0, 1, 1, 2])
    usual, total = np.array([-2.0, 1.0, 5.0, 1.0, 2.0, 4.0]), np.array([4.0, 2.5, 1.0])
    found = _share_out(total, usual, index, known)
    np.testing.assert_allclose(np.bincount(index, found), total, atol=1e-12)
    nearest = minimize(
        lambda x: ((x - usual) ** 2).sum(),
        np.full(6, 1.0),
        bounds=[bounds] * 6,
        constraints={"type": "eq", "fun": lambda x: np.bincount(index, x) - total},
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(found, nearest.x, atol=1e-5)


def test_effects_are_public_columns_and_as_many_as_people_bear():
    rng = np.random.default_rng(0)
    people = ta.Dataset.from_arrays(rng.normal(size=(30, 40)), rng.normal(size=30))
    table = effects_of(people.public)
    assert table.shape == (30, 11)
    np.testing.assert_allclose(table[:, 0], 1)
    assert np.mean((table[:, 1:] ** 2).sum(axis=1)) == pytest.approx(1)


def test_a_gain_that_the_attack_does_not_dare_to_claim_counts():
    """Six regressions of five columns on 130 people: intervals are uncalibrated, estimates are nearer."""
    rng = np.random.default_rng(1)
    columns = rng.normal(size=(130, 30))
    people = ta.Dataset.from_arrays(columns, columns[:, :3] @ [4, 2, 1] + rng.normal(0, 6, 130))
    found = ta.reconstruct(ta.publish(people, ta.Estimator("linear", 5, True)), people.public)
    risk = ta.score(found, people.secret)
    assert found.status.word == "uncalibrated"
    assert risk.error == pytest.approx(np.abs(found.estimate - people.secret).mean())
    assert risk.advantage > 0.1 * risk.baselines[risk.baseline]
    assert risk.interval[0] > 0
    assert risk.exposed == 0


@pytest.mark.parametrize(("std", "bold"), [(0.0, True), (1e4, False)])
def test_the_stronger_of_two_ways_of_guessing_counts_and_its_interval_says_so(std, bold):
    people, statistic = sums_by_cell(np.random.default_rng(2))
    release = ta.publish(people, statistic, ta.Gaussian(std) if std else None, rng=2)
    found = ta.reconstruct(release, people.public)
    known, everybody = before_any_release(people.public, people.secret, found.secret), np.arange(people.n)
    ways = risks_of(found, people.secret, known, everybody)
    (risk,) = strongest_way([ways])
    assert [way.ways for way in ways] == [2, 2]
    assert risk.advantage == max(way.advantage for way in ways) == ways[bold].advantage
    once = gain_interval(ways[bold].gain, largest=ways[bold].largest)
    assert risk.interval[0] <= once[0] <= once[1] <= risk.interval[1]
    assert not bold or risk.interval[0] < once[0]


def test_one_way_of_guessing_is_chosen_for_all_draws():
    """The luckier way in each draw would have a larger advantage than either."""
    people, statistic = sums_by_cell(np.random.default_rng(2))
    setting = Setting(people)
    trial = Trial(setting, (Planned("sums", statistic, (ta.Gaussian(20.0),)),), 4)
    attacks, risks = trial.scored("least-squares")
    known = setting.baselines([statistic])
    each = [risks_of(one, people.secret, known, np.arange(people.n)) for one in attacks]
    gained = np.array([[risk.advantage for risk in ways] for ways in each])
    assert np.mean([risk.advantage for risk in risks]) == pytest.approx(gained.mean(axis=0).max())
    assert gained.max(axis=1).mean() > gained.mean(axis=0).max()
