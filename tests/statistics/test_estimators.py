"""Estimators: exact equations, honest rows, golden numbers, bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import first_fast

import tellall as ta
from tellall.attack.baselines import population
from tellall.attack.secret import Bit
from tellall.people.dataset import Dataset
from tellall.statistics.fitting import fit
from tellall.statistics.losses import LOSSES, loss_of
from tellall.testing import check_statistic


class SmoothAbsolute:
    """√(1 + (y − t)²): a loss of no name, with neither value nor Hessian."""

    def gradient(self, theta, x, y):
        miss = x @ theta - y
        return (miss / np.sqrt(1 + miss**2))[:, None] * x


class Absolute:
    """|y − t|: its gradient jumps."""

    def gradient(self, theta, x, y):
        return np.sign(x @ theta - y)[:, None] * x


SMOOTH_ABSOLUTE = SmoothAbsolute()
ALL = [*LOSSES, SMOOTH_ABSOLUTE]


def crowd(n: int, d: int, seed: int, *, shared: float = 0.0) -> Dataset:
    """Normal columns, correlated where `shared` is above zero, and a balanced secret."""
    rng = np.random.default_rng([seed, 77])  # never the stream of a noise drawn with the same seed
    public = rng.normal(size=(n, d)) + shared * rng.normal(size=(n, 1))
    return Dataset.from_arrays(public, rng.permutation(np.arange(n) % 2))


def miss(people: Dataset, statistic: ta.Estimator) -> float:
    """The largest error of an equation on an exact release, relative to the largest target."""
    evidence = ta.linearise(ta.publish(people, statistic), people.public)
    assert evidence.target.size == statistic.size(people.public)
    return float(
        np.abs(evidence.operator @ people.secret - evidence.target).max() / np.abs(evidence.target).max()
    )


@pytest.mark.parametrize("weighting", first_fast(["noise", "paper"]))
@pytest.mark.parametrize("penalty", [0.0, 0.7])
@pytest.mark.parametrize(("block", "intercept"), [(1, False), (1, True), (3, True)])
@pytest.mark.parametrize("loss", ALL, ids=lambda loss: loss if isinstance(loss, str) else type(loss).__name__)
def test_equations_are_exact_and_full_rank_gives_every_bit(loss, block, intercept, penalty, weighting):
    people = crowd(16, 21, seed=1)
    statistic = ta.Estimator(loss, block, intercept, penalty, weighting)
    check_statistic(statistic, people)
    assert miss(people, statistic) < 1e-9
    attack = ta.reconstruct(ta.publish(people, statistic), people.public)
    assert attack.evidence.rank == people.n
    assert attack.status.settled
    assert np.array_equal(attack.guess, people.secret)
    assert attack.evidence.skipped == ()


@given(st.integers(8, 30), st.integers(1, 6), st.integers(1, 3), st.booleans(), st.integers(0, 10**6))
def test_linear_equations_hold_whatever_the_columns(n, d, block, intercept, seed):
    """Equal people, dependent columns, more coefficients than people: any least-squares solution will do."""
    rng = np.random.default_rng(seed)
    public = np.column_stack([np.arange(n) % 2, rng.integers(-2, 3, (n, d))]).astype(float)
    people = Dataset.from_arrays(public, rng.permutation(np.arange(n) % 2))
    for weighting in ("noise", "paper"):
        check_statistic(ta.Estimator("linear", min(block, 2), intercept, weighting=weighting), people)


def test_golden_linear_and_logistic(golden):
    for loss, group, right in (
        ("linear", "linear_regression_linearisation", "rhs_UtU_theta"),
        ("logistic", "logistic_regression_linearisation", "Ut_zeta"),
    ):
        for case in golden[group]:
            people = Dataset.from_arrays(np.array(case["U"], dtype=float), case["s"])
            columns = [j - 1 for j in case["columns"]]
            release = ta.publish(people, ta.Estimator(loss, blocks=[columns], weighting="paper"))
            np.testing.assert_allclose(release.values, np.array(case["theta_hat"], float), rtol=1e-12)
            evidence = ta.linearise(release, people.public)
            np.testing.assert_allclose(evidence.target, np.array(case[right], float), rtol=1e-12)
            np.testing.assert_allclose(
                evidence.operator.to_dense(), np.array(case["U"], float)[:, columns].T, rtol=1e-14
            )
            if "lipschitz_quarter_norm2" in case:
                found = release.statistic.conditions(people.public, release.values)
                total = float(np.sum(np.array(case["U"], float)[:, columns] ** 2)) / 4
                assert total == pytest.approx(float(case["lipschitz_quarter_norm2"]), rel=1e-12)
                assert found.lipschitz_total <= total * (1 + 1e-12)  # E-LR-3


def test_golden_general_losses(golden):
    for case in golden["m_estimator_linearisation"]:
        people = Dataset.from_arrays(np.array(case["U"], dtype=float), case["s"])
        loss = "log-cosh" if case["loss"].startswith("logcosh") else "poisson"
        statistic = ta.Estimator(loss, blocks=[[case["column"] - 1]], weighting="paper")
        release = ta.publish(people, statistic)
        np.testing.assert_allclose(release.values, [float(case["theta_hat"])], rtol=1e-12)
        evidence = ta.linearise(release, people.public)  # our rows are minus the paper's
        np.testing.assert_allclose(
            -evidence.operator.to_dense()[0], np.array(case["B_row_l2"], float), rtol=1e-12
        )
        np.testing.assert_allclose(evidence.target, [float(case["sum_l0"])], rtol=1e-12)


def test_rows_weighted_by_noise_are_the_coefficients_of_a_linear_fit():
    people = crowd(30, 4, seed=2)
    release = ta.publish(people, ta.Estimator("linear", 4), ta.Gaussian(0.1), rng=0)
    evidence = ta.linearise(release, people.public)
    x = np.stack(people.public.numbers, axis=1)
    np.testing.assert_allclose(evidence.operator.to_dense(), np.linalg.pinv(x), rtol=1e-10, atol=1e-13)
    np.testing.assert_array_equal(evidence.target, release.values)
    np.testing.assert_array_equal(evidence.std, np.full(4, 0.1))


@pytest.mark.parametrize("loss", ["linear", "logistic", "log-cosh", "poisson"])
def test_errors_have_the_declared_spread_and_whitening_finds_more(loss):
    """Fixed seeds. Errors over their declared spread: mean square near 1 over 300 rows, below it for the
    papers' rows, which are few independent ones counted several times."""
    right = {}
    for weighting in ("noise", "paper"):
        people = crowd(120, 240, seed=3, shared=1.5)
        statistic = ta.Estimator(loss, 4, True, weighting=weighting)
        release = ta.publish(people, statistic, ta.Gaussian(0.04 if loss != "logistic" else 0.1), rng=3)
        attack = ta.reconstruct(release, people.public)
        right[weighting] = float((attack.guess == people.secret).mean())
        evidence = attack.evidence
        error = (evidence.operator @ people.secret - evidence.target) / evidence.std
        assert 0.6 < float(np.mean(error**2)) < 1.25
    assert right["noise"] > right["paper"] + 0.05


def test_published_order_is_model_by_model_with_the_intercept_last():
    people = crowd(30, 5, seed=4)
    x, s = np.stack(people.public.numbers, axis=1), people.secret
    values = ta.publish(people, ta.Estimator("linear", 2, True)).values
    ones = np.ones((30, 1))
    parts = [np.linalg.lstsq(np.hstack([x[:, j], ones]), s, rcond=None)[0] for j in ([0, 1], [2, 3], [4])]
    np.testing.assert_allclose(values, np.concatenate(parts), rtol=1e-10)
    chosen = ta.Estimator("linear", intercept=True, blocks=[["a4", "a0"], [0, 1, 2], [3]])
    assert chosen.size(people.public) == 3 + 4 + 2
    again = np.linalg.lstsq(np.hstack([x[:, [4, 0]], ones]), s, rcond=None)[0]
    np.testing.assert_allclose(ta.publish(people, chosen).values[:3], again, rtol=1e-10)


def test_the_ridge_leaves_the_intercept_alone_unless_told():
    people = crowd(30, 2, seed=5)
    plain = ta.publish(people, ta.Estimator("linear", 2, True, penalty=1e9)).values
    np.testing.assert_allclose(plain, [0, 0, people.secret.mean()], atol=1e-6)
    told = ta.publish(people, ta.Estimator("linear", 2, True, penalty=1e9, penalise_intercept=True)).values
    np.testing.assert_allclose(told, 0, atol=1e-6)
    assert miss(people, ta.Estimator("logistic", 2, True, penalty=3.0, penalise_intercept=True)) < 1e-9


def test_twenty_four_regressions_of_four_decimals_give_all_two_hundred_bits():
    people = crowd(200, 24 * 8, seed=6)
    release = ta.publish(people, ta.Estimator("linear", 8, True), ta.Rounding(1e-4))
    attack = ta.reconstruct(release, people.public)
    assert attack.evidence.rank == 193
    assert np.array_equal(attack.guess, people.secret)


def test_a_missing_linear_coefficient_costs_its_own_row_only():
    people = crowd(30, 6, seed=7)
    for loss, left in (("linear", 5), ("logistic", 3)):
        statistic = ta.Estimator(loss, 3)
        values = ta.publish(people, statistic).values
        values[1] = np.nan
        evidence = ta.linearise(ta.Release.from_values(statistic, values, public=people), people.public)
        assert evidence.target.size == left
        np.testing.assert_allclose(evidence.operator @ people.secret, evidence.target, rtol=1e-9)
        assert "1 of 2 models (a0, a1, a2)" in str(evidence.skipped[0])


def test_separable_fits_are_left_out_and_said():
    rng = np.random.default_rng(8)
    public = rng.normal(size=(40, 6))
    people = Dataset.from_arrays(public, public[:, 0] > 0.1)
    statistic = ta.Estimator("logistic", 2, True)
    assert [bool(f.trouble) for f in statistic.fits(people)] == [True, False, False]
    release = ta.publish(people, statistic)
    assert np.isnan(release.values[:3]).all()
    evidence = ta.linearise(release, people.public)
    assert evidence.target.size == 6
    assert "a0, a1" in str(evidence.skipped[0])
    # another program publishes where its solver gave up
    values = release.values.copy()
    values[:3] = [400.0, 3.0, -41.0]
    foreign = ta.linearise(ta.Release.from_values(statistic, values, public=people), people.public)
    assert foreign.target.size == 6
    assert "separable" in str(foreign.skipped[0])
    penalised = ta.Estimator("logistic", 2, True, penalty=1.0)
    assert miss(people, penalised) < 1e-9
    assert ta.linearise(ta.publish(people, penalised), people.public).skipped == ()


def test_poisson_fits_that_run_away_are_left_out():
    public = np.column_stack([np.arange(20) % 2, np.arange(20)]).astype(float)
    people = Dataset.from_arrays(public, (np.arange(20) % 4 == 1).astype(int))  # no yes among the zeros
    fits = ta.Estimator("poisson", 1, True).fits(people)
    assert [bool(f.trouble) for f in fits] == [True, False]


def test_dependent_columns_are_worth_their_rank_in_linear_and_nothing_in_others():
    rng = np.random.default_rng(9)
    x = rng.normal(size=(30, 2))
    people = Dataset.from_arrays(np.column_stack([x, x[:, 0] - x[:, 1]]), np.arange(30) % 2)
    evidence = ta.linearise(ta.publish(people, ta.Estimator("linear", 3)), people.public)
    assert (evidence.target.size, evidence.rank) == (2, 2)
    np.testing.assert_allclose(evidence.operator @ people.secret, evidence.target, rtol=1e-9)
    assert "3 coefficients are worth 2 equations" in str(evidence.skipped[0])
    other = ta.publish(people, ta.Estimator("logistic", 3))
    assert np.isnan(other.values).all()
    assert ta.linearise(other, people.public).target.size == 0
    shown = ta.Release.from_values(ta.Estimator("logistic", 3), [0.1, 0.2, 0.0], public=people)
    assert "dependent columns" in str(ta.linearise(shown, people.public).skipped[0])


def test_a_kink_is_no_equation():
    people = crowd(31, 3, seed=10)
    statistic = ta.Estimator(Absolute())
    assert all("does not vanish" in f.trouble or "kink" in f.trouble for f in statistic.fits(people))
    # the median regression itself: somebody's miss is zero there
    x = people.public.numbers[0]
    theta = float(people.secret[3] / x[3]) if people.secret[3] else float(1 / x[3])
    shown = ta.Release.from_values(statistic, [theta, 0.3, 0.2], public=people)
    evidence = ta.linearise(shown, people.public)
    assert evidence.target.size == 0
    assert any("kink" in str(reason) for reason in evidence.skipped)


def test_a_fit_elsewhere_counts_what_its_solver_left():
    people = crowd(50, 4, seed=11)
    values = ta.publish(people, ta.Estimator("logistic", 2)).values
    for weighting in ("noise", "paper"):
        statistic = ta.Estimator("logistic", 2, weighting=weighting, tolerance=1e-3)
        evidence = ta.linearise(ta.Release.from_values(statistic, values, public=people), people.public)
        assert (evidence.std > 0).all()
        assert np.isinf(evidence.rows.bound).all()
    np.testing.assert_allclose(evidence.std, 50 * 1e-3, rtol=1e-3)  # the papers' rows: n × tolerance


def test_real_answers_need_a_gradient_affine_in_them():
    rng = np.random.default_rng(12)
    people = Dataset(crowd(30, 32, seed=12).public, rng.normal(size=30), "income", ())
    check_statistic(ta.Estimator("linear", 2, True), people)
    with pytest.raises(ta.InvalidInput, match="affine in the answer"):
        ta.publish(people, ta.Estimator("log-cosh"))
    three = Dataset(people.public, np.arange(30) % 3, "town", ("a", "b", "c"))
    with pytest.raises(ta.InvalidInput, match="bits or real numbers"):
        ta.publish(three, ta.Estimator("linear"))


def test_badly_scaled_columns_change_nothing():
    rng = np.random.default_rng(13)
    x = rng.normal(size=(60, 66)) + 3.0
    scales = 10.0 ** rng.integers(-6, 7, 66)
    secret = rng.permutation(np.arange(60) % 2)
    for loss in ("linear", "logistic"):
        people = Dataset.from_arrays(x * scales, secret)
        assert miss(people, ta.Estimator(loss, 3, True)) < 1e-9
        attack = ta.reconstruct(ta.publish(people, ta.Estimator(loss, 3, True)), people.public)
        assert np.array_equal(attack.guess, secret)


def test_columns_far_from_zero_do_not_mislead_about_the_rate(fair):
    """Slopes and intercepts of uncentred columns are mixtures; the rate they show is still everybody's."""
    people = fair.take(np.arange(0, fair.n, 10))
    attack = ta.reconstruct(ta.publish(people, ta.Estimator("logistic", 4, True)), people.public)
    assert attack.prior == pytest.approx(people.secret.mean(), abs=5e-3)
    assert attack.status.settled
    assert (attack.confidence >= 0.99).sum() == 0  # ten numbers about six hundred people name nobody


def test_conditions_say_what_the_theorem_asks():
    people = crowd(50, 4, seed=14)
    x = np.stack(people.public.numbers, axis=1)
    release = ta.publish(people, ta.Estimator("logistic", 4))
    found = release.statistic.conditions(people.public, release.values)
    largest = float((x**2).sum(axis=1).max())
    assert found.lipschitz == pytest.approx(largest / 4)
    assert found.lipschitz_total <= np.linalg.norm(x.T @ x, 2) / 4
    assert found.variance == pytest.approx(x.var(axis=0).min())
    assert found.holds
    assert found.noise == pytest.approx(4 / (largest * np.sqrt(50)))
    assert "variance condition holds" in str(found)
    for loss in ("poisson", SMOOTH_ABSOLUTE):
        local = ta.publish(people, ta.Estimator(loss, 2, True))
        said = local.statistic.conditions(people.public, local.values)
        assert not said.everywhere
        assert said.holds
        assert said.lipschitz > 0


def test_the_comparable_statistic_leaves_a_column_to_its_person():
    people = crowd(40, 6, seed=15)
    release = ta.publish(people, ta.Estimator("logistic", 2, True))
    same = release.statistic.comparable()
    whole = same.equations(people.public, release.values).operator.to_dense()
    some = same.equations(people.public.take(np.arange(7)), release.values).operator.to_dense()
    np.testing.assert_allclose(some, whole[:, :7], rtol=1e-12)
    guess = population([release.statistic], people.public, people.secret, Bit())
    assert ((guess.probability >= 0) & (guess.probability <= 1)).all()


def test_a_value_without_an_equation_does_not_upset_the_population_baseline():
    rng = np.random.default_rng(20)
    public = np.column_stack([np.arange(24) == 5, rng.integers(0, 2, (24, 3))])  # one person has the first
    people = Dataset.from_arrays(public, np.arange(24) % 2)
    release = ta.publish(people, ta.Estimator("linear"))
    guess = population([release.statistic], people.public, people.secret, Bit())
    assert np.isfinite(guess.probability).all()
    without = people.take(np.arange(24) != 5)
    evidence = ta.linearise(ta.publish(without, ta.Estimator("linear")), without.public)
    assert evidence.target.size == 3
    assert "1 of 4 models (a0): dependent columns" in str(evidence.skipped[0])


def test_the_papers_rows_of_a_regression_with_intercept():
    """regression-noise, Eq. 1 without its stray factor: for each column the rows x and 1 of a real secret."""
    rng = np.random.default_rng(21)
    people = Dataset(crowd(12, 3, seed=21).public, rng.normal(size=12), "income", ())
    evidence = ta.linearise(
        ta.publish(people, ta.Estimator("linear", 1, True, weighting="paper")), people.public
    )
    x = np.stack(people.public.numbers)
    rows = np.stack([row for column in x for row in (column, np.ones(12))])
    np.testing.assert_array_equal(evidence.operator.to_dense(), rows)
    np.testing.assert_allclose(evidence.target, rows @ people.secret, rtol=1e-9)


@pytest.mark.parametrize("loss", list(LOSSES))
def test_gradients_and_hessians_are_derivatives(loss):
    rng = np.random.default_rng(16)
    x, y, theta = rng.normal(size=(20, 3)), rng.integers(0, 2, 20).astype(float), rng.normal(size=3)
    one, step = LOSSES[loss], 1e-6
    for j in range(3):
        move = step * np.eye(3)[j]
        rise = (one.value(theta + move, x, y) - one.value(theta - move, x, y)) / (2 * step)
        np.testing.assert_allclose(rise, one.gradient(theta, x, y)[:, j], rtol=1e-6, atol=1e-8)
        bend = (one.gradient(theta + move, x, y) - one.gradient(theta - move, x, y)).sum(axis=0) / (2 * step)
        np.testing.assert_allclose(bend, one.hessian(theta, x, y)[j], rtol=1e-6, atol=1e-8)


def test_fits_agree_with_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(17)
    x, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80).astype(float)
    nothing = np.zeros(3)
    np.testing.assert_allclose(
        fit(LOSSES["logistic"], x, y, nothing).theta, sm.Logit(y, x).fit(disp=0).params, rtol=1e-8
    )
    poisson = sm.GLM(y, x, family=sm.families.Poisson()).fit(tol=1e-14)
    np.testing.assert_allclose(fit(LOSSES["poisson"], x, y, nothing).theta, poisson.params, rtol=1e-8)


def test_a_release_comes_back_and_runs_no_code(tmp_path):
    people = crowd(30, 4, seed=18)
    kept = ta.Estimator("logistic", intercept=True, penalty=0.5, blocks=[["a0", "a1"], ["a1", "a3"]])
    for statistic in (kept, ta.Estimator("poisson", 2, weighting="paper", tolerance=1e-4)):
        release = ta.publish(people, statistic, ta.Rounding(0.01))
        again = ta.Release.load(release.save(tmp_path / "r.json"))
        assert again.statistic == statistic
        one, other = (ta.linearise(r, people.public) for r in (release, again))
        np.testing.assert_array_equal(one.target, other.target)
    own = ta.publish(people, ta.Estimator(SMOOTH_ABSOLUTE))
    path = own.save(tmp_path / "own.json")
    assert f"{__name__}:SMOOTH_ABSOLUTE" in path.read_text()
    assert loss_of(ta.Release.load(path).statistic.loss) is SMOOTH_ABSOLUTE
    path.write_text(path.read_text().replace(f"{__name__}:SMOOTH_ABSOLUTE", "antigravity:fly"))
    with pytest.raises(ta.InvalidInput, match="imports nothing"):
        ta.Release.load(path)
    with pytest.raises(ta.InvalidInput, match="holds by a name, to be saved"):
        ta.publish(people, ta.Estimator(SmoothAbsolute())).save(tmp_path / "no.json")


class Lopsided:
    def gradient(self, theta, x, y):
        return x @ theta - y


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda p: ta.Estimator("logistics"), "Did you mean 'logistic'"),
        (lambda p: ta.Estimator(3), "loss must be"),
        (lambda p: ta.Estimator(SmoothAbsolute), "loss must be"),
        (lambda p: ta.Estimator("os:path"), "loss must be the name of an object with gradient"),
        (lambda p: ta.Estimator("linear", 0), "block must be a whole number"),
        (lambda p: ta.Estimator("linear", 1.5), "block must be"),
        (lambda p: ta.Estimator("linear", True), "block must be"),
        (lambda p: ta.Estimator("linear", 2, blocks=[[0]]), "block must be left out"),
        (lambda p: ta.Estimator("linear", intercept=1), "intercept must be True or False"),
        (lambda p: ta.Estimator("linear", penalty=-1), "penalty must be"),
        (lambda p: ta.Estimator("linear", penalty=float("nan")), "penalty must be"),
        (lambda p: ta.Estimator("linear", penalty="1"), "penalty must be"),
        (lambda p: ta.Estimator("linear", tolerance=-1), "tolerance must be"),
        (lambda p: ta.Estimator("linear", weighting="none"), "weighting must be 'noise' or 'paper'"),
        (lambda p: ta.Estimator("linear", blocks="a0"), "blocks must be a list"),
        (lambda p: ta.Estimator("linear", blocks=[]), "one set of columns or more"),
        (lambda p: ta.Estimator("linear", blocks=[[]]), "one column or more"),
        (lambda p: ta.Estimator("linear", blocks=[[1.5]]), "by name or index"),
        (lambda p: ta.publish(p, ta.Estimator("linear", blocks=[["a0", 0]])), "sets of different columns"),
        (lambda p: ta.publish(p, ta.Estimator("linear", blocks=[["b"]])), "attribute must be a column"),
        (lambda p: ta.publish(p, ta.Estimator("linear", blocks=[[9]])), "from 0 to 3"),
        (lambda p: ta.publish(p, ta.Estimator("linear", 5)), "block must be at most 4"),
        (lambda p: ta.publish(Dataset(p.public), ta.Estimator("linear")), "no secret"),
        (lambda p: ta.publish(p, ta.Estimator(Lopsided())), "loss.gradient must be one row per person"),
        (
            lambda p: ta.Release.from_values(ta.Estimator("linear"), [1.0, np.inf, 0, 0], public=p),
            "values must be finite",
        ),
        (
            lambda p: ta.Release.from_values(ta.Estimator("linear"), [1.0], public=p),
            "values must be 4 numbers",
        ),
        (
            lambda p: ta.publish(
                Dataset.from_frame({"town": list("abab"), "s": [0, 1, 1, 0]}, secret="s"),
                ta.Estimator("linear"),
            ),
            "column 'town' must be a column of numbers",
        ),
        (
            lambda p: ta.publish(
                Dataset.from_frame({"x": [1.0, None, 2.0, 0.5], "s": [0, 1, 1, 0]}, secret="s"),
                ta.Estimator("linear"),
            ),
            "column 'x' must be without missing numbers",
        ),
    ],
)
def test_bad_input_gets_one_clear_sentence(make, says):
    with pytest.raises(ta.InvalidInput, match=says) as caught:
        make(crowd(20, 4, seed=19))
    assert "\n" not in str(caught.value)
