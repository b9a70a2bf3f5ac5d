"""What reviewers found: each once wrong, now a law."""

import numpy as np
import pytest

import tellall as ta
from tellall.protections.protection import Sum
from tellall.release import catalogue


def people(n, d, seed, rate=0.5):
    rng = np.random.default_rng(seed)
    return ta.Dataset.from_arrays(rng.integers(0, 2, (n, d)), (rng.random(n) < rate).astype(int))


def test_auto_does_not_list_secrets_where_some_errors_are_likelier_than_others():
    crowd = people(10, 4, seed=3)
    release = ta.publish(crowd, ta.Marginals(2), ta.TruncatedNormal(0.1, 4.0), rng=3)
    attack = ta.reconstruct(release, crowd.public)
    assert attack.decoder != "exhaustive"
    listed = ta.reconstruct(release, crowd.public, "exhaustive")
    assert (attack.guess == crowd.secret).mean() >= (listed.guess == crowd.secret).mean()
    assert listed.status.word != "contradictory"


def test_a_rate_that_is_hardly_known_makes_nobody_sure():
    crowd = people(100, 2, seed=8, rate=0.2)
    total = ta.publish(crowd, ta.SubsetCounts([np.ones(100)]), ta.Gaussian(30.0), rng=8)
    assert (ta.reconstruct(total, crowd.public).confidence < 0.95).all()


def test_noisy_logistic_fits_say_that_they_are_linearised():
    rng = np.random.default_rng(3)
    crowd = ta.Dataset.from_arrays(rng.normal(size=(200, 60)), (rng.random(200) < 0.4).astype(int))
    for std, settled in ((1e-4, True), (0.5, False)):
        release = ta.publish(crowd, ta.Estimator("logistic", block=6), ta.Gaussian(std), rng=4)
        assert ta.reconstruct(release, crowd.public).status.settled is settled
    linear = ta.publish(crowd, ta.Estimator("linear", block=6), ta.Gaussian(0.5), rng=4)
    assert ta.reconstruct(linear, crowd.public).status.settled


def test_categories_of_which_nothing_is_published_keep_their_prior():
    rows = [[0, 0], [0, 1], [1, 0], [1, 1]]
    nothing = ta.Release.from_values(ta.Marginals(2), [np.nan] * 12, public=rows, levels=3)
    # to least squares the sum of one is an equation like others, which moves its Gaussian a little
    for decoder, room in (("auto", 1e-6), ("exhaustive", 1e-6), ("least-squares", 0.12)):
        attack = ta.reconstruct(nothing, rows, decoder, prior=[0.6, 0.3, 0.1])
        assert attack.confidence == pytest.approx(0.6, abs=room), decoder
    assert not ta.reconstruct(nothing, rows, "posterior", prior=[0.6, 0.3, 0.1]).status.settled


def test_bits_and_real_numbers_do_not_mix():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.random(60)
    real = ta.Dataset.from_arrays(X, y)
    printed = ta.read_coefficients({"block": [1], "term": ["a0"], "value": [0.3]}, real)
    assert printed.levels == 0
    bits = ta.Dataset.from_arrays(X, (y > 0.5).astype(int))
    releases = [ta.publish(real, ta.Estimator("linear", block=4)), ta.publish(bits, ta.Marginals(2))]
    with pytest.raises(ta.InvalidInput, match="about the same secret"):
        ta.reconstruct(releases, X)
    with pytest.raises(ta.InvalidInput, match="levels must be 2"):
        ta.Release.from_values(ta.SubsetCounts([np.ones(60)]), [3.0], public=X, levels=5)


def test_other_numbers_in_the_same_bins_are_the_same_to_tables():
    age = np.arange(30.0)
    secret = np.random.default_rng(2).integers(0, 2, 30)
    crowd = ta.Dataset.from_frame({"age": age, "s": secret}, secret="s")
    swapped = ta.Dataset.from_frame({"age": age + 0.001 * (age == 3)}).public
    release = ta.publish(crowd, ta.Marginals(2))
    one, other = (ta.reconstruct(release, view) for view in (crowd.public, swapped))
    assert one.guess.tolist() == other.guess.tolist()


def test_the_word_missing_is_a_value_like_any_other():
    table = {"state": ["known", "missing"] * 10, "b": [0, 0, 1, 1] * 5, "s": [0, 1, 1, 0] * 5}
    crowd = ta.Dataset.from_frame(table, secret="s")
    assert ta.SubsetCounts(["state == 'missing'"]).values(crowd) == 5
    assert ta.SubsetCounts(["state != 'known'"]).values(crowd) == 5


def test_candidates_are_cut_where_the_release_was():
    X = np.random.default_rng(11).normal(size=(60, 3))
    release = ta.publish(ta.Dataset.from_arrays(X[:30]), ta.Tables(2))
    presence = ta.reconstruct_rows(release, X)
    assert (presence.guess == (np.arange(60) < 30)).mean() > 0.75
    with pytest.raises(ta.InvalidInput, match="cut where the release cuts them"):
        ta.reconstruct_rows(release, ta.Dataset.from_arrays(X).public)


def test_impossible_coefficients_of_a_real_secret_are_a_contradiction():
    crowd = ta.Dataset.from_arrays(np.random.default_rng(0).normal(size=(20, 2)))
    twice = ta.Estimator("linear", blocks=[[0, 1], [0, 1]])
    release = ta.Release.from_values(twice, [0, 1, 5, -7], public=crowd.public, levels=0)
    assert ta.reconstruct(release, crowd.public).status.word == "contradictory"
    nothing = ta.Release.from_values(twice, [np.nan] * 4, public=crowd.public, levels=0)
    assert not ta.reconstruct(nothing, crowd.public).status.settled


def test_four_people_can_be_scored():
    crowd = ta.Dataset.from_arrays([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    assert ta.score(ta.reconstruct(ta.publish(crowd, ta.Marginals(3)), crowd.public), crowd.secret).n == 4


def test_complement_leaves_what_was_done_before():
    crowd = people(200, 4, seed=0)
    hidden = ta.publish(crowd, ta.Marginals(2), [ta.Suppression(1000), ta.Complement(1.0)], rng=0)
    assert np.isnan(hidden.values).all()
    noise = ta.publish(crowd, ta.Marginals(2), [ta.Gaussian(50.0), ta.Complement(1.0)], rng=0).values
    exact = ta.publish(crowd, ta.Marginals(2)).values
    assert np.abs(noise - exact.reshape(-1, 2)[:, ::-1].ravel()).max() > 20


def test_a_sum_is_its_parts():
    crowd = people(60, 4, seed=1)
    keyed = Sum((ta.CellKey({-1: 0.5, 1: 0.5}, key=3),))
    one, other = (ta.publish(crowd, ta.Marginals(2), keyed, rng=seed).values for seed in (0, 1))
    assert np.array_equal(one, other)


def test_nested_kinds_are_refused_before_they_are_built():
    nested = {"kind": "Gaussian", "std": 1.0}
    for _ in range(40):
        nested = {"kind": "Sum", "parts": [nested]}
    assert "nested" in catalogue.problems("protection", nested)[0][1]


def test_extreme_parameters_give_answers():
    assert (ta.DiscreteGaussian(1e-200).sample(5, 0) == 0).all()
    assert ta.TruncatedNormal(1e-300, 1e300).std == 1e-300
    with pytest.raises(ta.InvalidInput, match="key must be"):
        ta.CellKey({-1: 0.5, 1: 0.5}, key=2**64)
    crowd = people(20, 3, seed=2)
    release = ta.Release.from_values(ta.Marginals(2), [1e200] * 12, public=crowd, noise=ta.Gaussian(1.0))
    with pytest.raises(ta.InvalidInput, match="of a size that people can have"):
        ta.reconstruct(release, crowd.public)


def test_who_says_that_a_secret_is_real_is_believed():
    X = np.random.default_rng(0).normal(size=(40, 3))
    counts = np.arange(40) % 11
    assert ta.Dataset.from_arrays(X, counts).levels == 11
    assert ta.Dataset.from_arrays(X, counts, kind="reals").levels == 0
    with pytest.raises(ta.InvalidInput, match="of two values"):
        ta.Dataset.from_arrays(X, counts, kind="bits")


@pytest.mark.parametrize(
    "call",
    [
        lambda attack, secret: ta.score(attack, [[1], [1, 2]]),
        lambda attack, secret: ta.score(attack, secret, baselines=5),
        lambda attack, secret: ta.reconstruct(attack.releases, attack.public, ["lp"]),
    ],
)
def test_odd_arguments_get_one_sentence(call):
    crowd = people(12, 3, seed=5)
    attack = ta.reconstruct(ta.publish(crowd, ta.Marginals(2)), crowd.public)
    with pytest.raises(ta.InvalidInput):
        call(attack, crowd.secret)


@pytest.mark.parametrize("gross", [ta.Complement(0.2), ta.Corruption(0.2, 10.0)])
def test_what_a_gross_error_may_have_hidden_proves_nothing(gross):
    for seed in range(6):
        crowd = people(6 + 2 * seed, 3, seed, rate=0.3)
        release = ta.publish(crowd, ta.Marginals(3), [gross, ta.Suppression(3)], rng=seed)
        evidence = ta.linearise(release, crowd.public)
        assert np.isinf(evidence.parts[0].hidden.rows.bound).all()
        assert (evidence.enclosure.lower == 0).all()
        assert (evidence.enclosure.upper == evidence.system.size).all()


@pytest.mark.parametrize("fraction", [0.9, 1.0])
@pytest.mark.parametrize("scale", ["counts", "fractions"])
def test_counts_of_the_others_are_as_good_where_nearly_all_are(fraction, scale):
    statistic = ta.SubsetCounts(np.random.default_rng(1).random((150, 60)) < 0.5, scale=scale)
    crowd = people(60, 6, seed=4, rate=0.3)
    release = ta.publish(crowd, statistic, ta.Complement(fraction), rng=4)
    attack = ta.reconstruct(release, crowd.public)
    same = ta.reconstruct(ta.publish(crowd, statistic, ta.Complement(1 - fraction), rng=5), crowd.public)
    right, other = ((each.guess == crowd.secret).mean() for each in (attack, same))
    assert other > 0.85
    assert right > other - 0.1


@pytest.mark.parametrize("gross", [ta.Complement(0.5), ta.Complement(0.46), ta.Corruption(0.6, 10.0)])
def test_gross_errors_that_are_no_minority_are_not_trusted(gross):
    crowd = people(60, 5, seed=4, rate=0.3)
    attack = ta.reconstruct(ta.publish(crowd, ta.Marginals(3), gross, rng=4), crowd.public)
    assert not attack.status.settled


def test_cells_that_share_noise_are_not_trusted():
    crowd = people(60, 4, seed=4)
    for std, settled in ((0.0, True), (3.0, False)):
        release = ta.publish(crowd, ta.Marginals(2), ta.WalshNoise(std), rng=4)
        assert ta.reconstruct(release, crowd.public).status.settled is settled


@pytest.mark.parametrize("decoder", ["auto", "posterior", "least-squares", "lp"])
def test_who_is_told_nothing_says_so_and_prints_nothing(decoder, capfd):
    crowd = people(12, 3, seed=4)
    hidden = ta.Release.from_values(ta.Marginals(2), [np.nan] * 12, public=crowd.public)
    attack = ta.reconstruct(hidden, crowd.public, decoder, prior=0.3)
    assert attack.status.word == "uncalibrated"
    assert attack.status.advice == "nothing is published about the secret"
    assert capfd.readouterr() == ("", "")


def test_a_rate_read_off_the_few_values_shown_is_not_trusted():
    crowd = people(60, 5, seed=4, rate=0.3)
    release = ta.publish(crowd, ta.Marginals(3), ta.Suppression(9, complementary=True), rng=4)
    assert np.isnan(release.values).mean() > 0.5
    assert not ta.reconstruct(release, crowd.public).status.settled
    alright = ta.publish(crowd, ta.Marginals(3), ta.Suppression(2, complementary=True), rng=4)
    assert np.isnan(alright.values).mean() < 0.5
    assert ta.reconstruct(alright, crowd.public).status.settled


def test_of_two_thresholds_in_a_row_the_higher_counts():
    crowd = people(40, 4, seed=4, rate=0.3)
    for noise in ([], [ta.Gaussian(1.0)]):
        hide = [[*noise, ta.Suppression(3), ta.Suppression(6)], [*noise, ta.Suppression(6)]]
        both, one = (ta.publish(crowd, ta.Marginals(3), protect, rng=4) for protect in hide)
        assert np.array_equal(both.values, one.values, equal_nan=True)
        told, wanted = (ta.linearise(each, crowd.public).parts[0].hidden for each in (both, one))
        for name in ("target", "slack", "rest", "bound"):
            assert np.array_equal(getattr(told.rows, name), getattr(wanted.rows, name))
    apart = [ta.Suppression(3), ta.Gaussian(1.0), ta.Suppression(6)]
    release = ta.publish(crowd, ta.Marginals(3), apart, rng=4)
    assert ta.linearise(release, crowd.public).parts[0].hidden is None
