import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import random_people

import tellall as ta
from tellall.attack.reconstruct.decoders import _contradict
from tellall.attack.secret import Secret, leave_undecided
from tellall.evidence.linearise import linearise


def with_one_wrong(
    people: ta.Dataset, statistic: object, error: float, place: int, **more: object
) -> ta.Release:
    values = ta.publish(people, statistic, **more).values.copy()
    values[place] += error
    return ta.Release.from_values(statistic, values, public=people.public, noise=more.get("protect"))


@pytest.mark.parametrize("decoder", ["auto", "least-squares", "lp", "posterior"])
@pytest.mark.parametrize("error", [1, -1, 7])
def test_one_wrong_value_of_hundreds_of_exact_ones_is_noticed(decoder, error):
    people = random_people(300, 12, seed=3)
    found = ta.reconstruct(
        with_one_wrong(people, ta.Marginals(3), error, 100), people.public, decoder=decoder
    )
    assert found.status.word == "contradictory"
    assert found.stats["misfits"] >= 1
    if abs(error) == 1:
        assert "1 of 528 values does not fit the others" in found.status.advice


def test_a_wrong_value_proves_nothing_about_anybody():
    """Sixty people and 84 counts, one of them 0 instead of 1: that proved somebody to be who they are not."""
    rng = np.random.default_rng(0)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (60, 9)), (rng.random(60) < 0.4).astype(int))
    statistic = ta.Predicates("and", ways=4)
    ones = np.flatnonzero(ta.publish(people, statistic).values == 1)
    found = ta.reconstruct(with_one_wrong(people, statistic, -1, rng.choice(ones)), people.public)
    assert found.status.word == "contradictory"
    assert not (found.identified == "proved").any()
    assert found.confidence[found.guess != people.secret].max() < 0.999


@pytest.mark.parametrize("protect", [None, ta.Rounding(3), ta.Suppression(4), ta.Gaussian(1.0)], ids=repr)
@pytest.mark.parametrize("statistic", [ta.Marginals(3), ta.Predicates("and", ways=3)], ids=repr)
def test_values_that_are_right_fit(statistic, protect):
    people = random_people(60, 8, seed=5)
    found = ta.reconstruct(ta.publish(people, statistic, protect, rng=1), people.public)
    assert found.stats["misfits"] == 0
    assert found.status.word != "contradictory"


@pytest.mark.parametrize("error", [5, 20])
@pytest.mark.parametrize("decoder", ["auto", "least-squares", "lp", "posterior"])
def test_values_of_unknown_law_take_no_proof_from_the_others(decoder, error):
    """Such a total may be off by any amount, and no misfit follows from it."""
    rng = np.random.default_rng(0)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (60, 5)), rng.integers(0, 2, 60))
    exact, total = ta.publish(people, ta.Marginals(4)), ta.publish(people, ta.Marginals(1)).values
    alone = ta.reconstruct(exact, people.public, decoder)
    unknown = ta.Release.from_values(
        ta.Marginals(1), total + np.array([error, -error]), public=people.public, noise=ta.Unknown()
    )
    found = ta.reconstruct([exact, unknown], people.public, decoder)
    assert found.status.word == "uncalibrated"
    assert found.stats["misfits"] == 0
    assert alone.proved.sum() == 25
    assert np.array_equal(found.proved, alone.proved)


def test_values_that_contradict_each_other_do_so_beside_values_of_unknown_law():
    people = random_people(300, 12, seed=3)
    wrong = with_one_wrong(people, ta.Marginals(3), 1, 100)
    total = ta.publish(people, ta.Marginals(1)).values + np.array([40, -40])
    unknown = ta.Release.from_values(ta.Marginals(1), total, public=people.public, noise=ta.Unknown())
    found = ta.reconstruct([wrong, unknown], people.public)
    assert found.status.word == "contradictory"
    assert not found.proved.any()


def test_numbers_of_unknown_law_do_not_make_exact_ones_contradictory():
    rng = np.random.default_rng(0)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (60, 4)), rng.lognormal(3, 1.2, 60))
    exact = ta.publish(people, ta.Sums(2))
    capped = ta.publish(people, ta.Sums(1), ta.TopCoding(60.0))
    for bounds in (None, (0, None)):
        assert ta.reconstruct([exact, capped], people.public, bounds=bounds).status.word == "uncalibrated"
    values = exact.values.copy()
    values[0] *= 1.01
    wrong = ta.Release.from_values(ta.Sums(2), values, public=people.public, levels=0)
    assert ta.reconstruct([wrong, capped], people.public).status.word == "contradictory"


def test_what_exact_values_prove_stays_proved():
    people = random_people(30, 8, seed=1)
    found = ta.reconstruct(ta.publish(people, ta.Marginals(3)), people.public)
    assert (found.identified == "proved").sum() > 20
    proved = found.identified == "proved"
    assert np.array_equal(found.guess[proved], people.secret[proved])


def test_one_gross_error_under_noise_is_noticed_but_not_where_such_errors_are_declared():
    people = random_people(300, 12, seed=3)
    release = with_one_wrong(people, ta.Marginals(3), 60, 100, protect=ta.Gaussian(2.0), rng=0)
    found = ta.reconstruct(release, people.public, decoder="least-squares")
    assert found.status.word == "contradictory"
    assert "1 of 528 values does not fit" in found.status.advice
    declared = ta.publish(people, ta.Marginals(3), ta.Corruption(0.05, 60.0), rng=0)
    assert ta.reconstruct(declared, people.public).stats["misfits"] == 0


@pytest.mark.parametrize("protect", [None, ta.Rounding(5), ta.Gaussian(3.0), ta.Suppression(5)])
def test_a_rare_secret_that_is_common_in_one_group_is_no_misfit(protect):
    """There the prior alone pulls the answer far from values that are right."""
    rng = np.random.default_rng(1)
    g, h, j = rng.integers(0, 20, 3000), rng.integers(0, 4, 3000), rng.integers(0, 4, 3000)
    ill = (rng.random(3000) < np.where(g == 0, 0.7, 0.02)).astype(int)
    columns = {name: codes.astype(str) for name, codes in (("g", g), ("h", h), ("j", j))}
    people = ta.Dataset.from_frame({**columns, "ill": ill}, secret="ill")
    attack = ta.reconstruct(ta.publish(people, ta.Marginals(2), protect, rng=0), people.public)
    assert attack.status.word != "contradictory"
    assert attack.stats["misfits"] == 0


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_a_solve_that_has_not_finished_contradicts_nothing(seed):
    rng = np.random.default_rng(seed)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (12, 5)), secret=rng.integers(0, 2, 12))
    evidence = linearise(ta.publish(people, ta.Marginals(3), ta.Suppression(below=2), rng=0), people.public)
    undecided = leave_undecided(evidence, Secret.of(2), None)
    if undecided.index.size:
        anywhere = rng.uniform(undecided.lower, undecided.upper)
        assert not _contradict(undecided, anywhere)
