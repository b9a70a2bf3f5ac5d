"""Correlations and covariances: as numpy computes them; a bit's scale is solved for."""

import numpy as np
import pytest

import tellall as ta
from tellall.testing import check_statistic

RNG = np.random.default_rng(5)
COLUMNS = np.column_stack([RNG.normal(size=(40, 3)), RNG.integers(0, 2, 40)])
REALS = ta.Dataset.from_arrays(COLUMNS, COLUMNS[:, 0] + RNG.normal(50, 3, 40))
BITS = ta.Dataset.from_arrays(COLUMNS, RNG.permutation(np.arange(40) % 2))


@pytest.mark.parametrize("people", [REALS, BITS], ids=["reals", "bits"])
def test_values_are_those_of_numpy(people):
    both = np.corrcoef(np.column_stack([COLUMNS, people.secret]), rowvar=False)[-1, :-1]
    np.testing.assert_allclose(ta.publish(people, ta.Correlations()).values, both)
    cover = np.cov(np.column_stack([COLUMNS, people.secret]), rowvar=False)
    wanted = [*cover[-1, :-1], people.secret.mean(), cover[-1, -1]]
    found = ta.publish(people, ta.Correlations("covariances", mean=True, variance=True)).values
    np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize(
    "statistic",
    [
        ta.Correlations(),
        ta.Correlations(mean=True),
        ta.Correlations(mean=True, variance=True),
        ta.Correlations("covariances"),
        ta.Correlations("covariances", mean=True, columns=["a3", "a0"]),
    ],
    ids=lambda one: one.describe(),
)
def test_laws(statistic):
    check_statistic(statistic, BITS)
    if statistic.measure == "covariances" or statistic.variance:
        check_statistic(statistic, REALS)


def test_correlations_alone_say_nothing_of_a_real_secrets_size():
    with pytest.raises(ta.InvalidInput, match="variance must be published"):
        ta.reconstruct(ta.publish(REALS, ta.Correlations()), REALS.public)
    plan = {"steps": False, "releases": [{"statistic": {"kind": "Correlations"}}]}
    assert ta.audit(REALS, plan).verdict.decided == "not attacked"


def test_many_correlations_give_bits_away_without_their_scale():
    rng = np.random.default_rng(1)
    people = ta.Dataset.from_arrays(rng.normal(size=(30, 45)), rng.integers(0, 2, 30))
    release = ta.publish(people, ta.Correlations())
    found = ta.reconstruct(release, people.public)
    assert (found.guess == people.secret).all()


def test_columns_that_do_not_vary_and_answers_that_do_not():
    people = ta.Dataset.from_arrays(COLUMNS[:, :2], BITS.secret)
    noisy = ta.publish(people, ta.Correlations(mean=True), ta.Gaussian(0.1), rng=0)
    assert ta.reconstruct(noisy, people.public).status.word == "uncalibrated"
    for wrong in ("spearman", 3):
        with pytest.raises(ta.InvalidInput, match="measure must be one of"):
            ta.Correlations(wrong)


@pytest.mark.parametrize("protect", [ta.Rounding(3), ta.Rounding(0.5), ta.TruncatedNormal(0.4, 0.7)])
@pytest.mark.parametrize("told", [{"mean": True}, {"variance": True}])
def test_a_coarse_mean_or_variance_makes_no_exact_equation(protect, told):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        columns = {"b": np.arange(12) % 2, "num": rng.normal(size=12), "c": np.arange(12) % 3}
        secret = rng.permutation(np.arange(12) % 4 == 0).astype(int)
        people = ta.Dataset.from_frame(columns | {"s": secret}, secret="s")
        statistic = ta.Correlations(columns=["b", "num"], **told)
        releases = [ta.publish(people, statistic, protect, rng=seed)]
        releases += [ta.publish(people, ta.Marginals(2, [["b"], ["c"]]))]
        assert ta.reconstruct(releases, people.public, proof_effort=0).status.word != "contradictory"
