"""Every proof can be checked: the values that it names suffice, and none of them is superfluous."""

from itertools import product

import numpy as np
import pytest
from tests.attack.prove.test_brute_force import instance
from tests.conftest import random_people

import tellall as ta
from tellall.linalg.solvers.constraints import Constraints


def fitting(reasons, n: int, values: int) -> np.ndarray:
    """Every secret that these constraints allow, one by one: the independent checker."""
    every = np.array(list(product(range(values), repeat=n)))
    fits = np.ones(len(every), dtype=bool)
    for reason in reasons:
        if values == 2:
            sums = every @ reason.coefficients
        else:
            sums = sum((every == value) @ reason.coefficients[value] for value in range(values))
        fits &= (sums >= reason.low - 1e-6) & (sums <= reason.high + 1e-6)
        fits &= ~np.isin(np.rint(sums), reason.gaps)
    return every[fits]


@pytest.mark.parametrize("values", [2, 3])
def test_the_values_that_are_named_suffice_and_none_is_superfluous(values):
    checked = 0
    for seed in range(12):
        people, release, _ = instance(seed, 7, values)
        attack = ta.reconstruct(release, people.public, "least-squares")
        proved = np.flatnonzero(attack.identified == "proved")
        for person in proved[:3]:
            reasons = attack.reasons(int(person))
            assert reasons
            assert np.ptp(fitting(reasons, people.n, values)[:, person]) == 0
            for left_out, reason in enumerate(reasons):
                if reason.release < 0:
                    continue  # that everybody has one value, which the list of secrets knows already
                rest = reasons[:left_out] + reasons[left_out + 1 :]
                assert np.ptp(fitting(rest, people.n, values)[:, person]) > 0
            checked += 1
    assert checked > 10


def test_who_is_not_proved_has_no_reasons():
    people = random_people(12, 2, seed=1)
    attack = ta.reconstruct(ta.publish(people, ta.Marginals(2), ta.Gaussian(3), rng=1), people.public)
    assert attack.reasons(0) == ()
    assert attack.undecided == 0
    with pytest.raises(ta.InvalidInput, match="person must be a row from 0 to 11; got 12"):
        attack.reasons(12)


def test_values_that_contradict_each_other_are_named_and_prove_nothing():
    people = random_people(10, 3, seed=2)
    release = ta.publish(people, ta.Marginals(3))
    values = release.values.copy()
    values[[0, 1]] += [1, -1]  # the cell has its people still
    wrong = ta.Release.from_values(release.statistic, values, public=people.public)
    attack = ta.reconstruct(wrong, people.public)
    assert attack.status.word == "contradictory"
    assert not (attack.identified == "proved").any()
    found = attack.contradiction
    assert 2 <= len(found) <= 6
    assert not len(fitting(found, 10, 2))
    assert all(len(fitting(found[:i] + found[i + 1 :], 10, 2)) for i in range(len(found)))
    assert {reason.release for reason in found} == {0}
    assert not ta.reconstruct(release, people.public).contradiction


def test_a_search_says_how_many_it_left_open_and_steps_decide():
    people = random_people(40, 6, seed=3)
    release = ta.publish(people, ta.Marginals(2), ta.Rounding(3))
    bounds = ta.reconstruct(release, people.public, "least-squares", proof_effort=0)
    few = ta.reconstruct(release, people.public, "least-squares", proof_effort=1)
    whole = ta.reconstruct(release, people.public, "least-squares")
    again = ta.reconstruct(release, people.public, "least-squares")
    assert bounds.proof.steps == 0
    assert bounds.undecided >= few.undecided
    assert few.undecided > 0
    assert whole.undecided == 0
    assert whole.proof.steps == again.proof.steps > 0
    assert (whole.identified == again.identified).all()
    proved = [(one.identified == "proved").sum() for one in (bounds, few, whole)]
    assert proved == sorted(proved)
    with pytest.raises(ta.InvalidInput, match="proof_effort must be a whole number of 0 or more"):
        ta.reconstruct(release, people.public, proof_effort=-1)


def test_who_is_left_open_is_told_apart():
    """In a loose part many secrets are to be expected; in the other one everybody could be settled."""
    loose = random_people(40, 6, seed=3)
    attack = ta.reconstruct(
        ta.publish(loose, ta.Marginals(2), ta.Rounding(3)), loose.public, "least-squares", proof_effort=1
    )
    assert attack.undecided == attack.loose > 0
    rng = np.random.default_rng(1)
    public, secret = rng.integers(0, 2, (80, 12)), rng.integers(0, 2, 80)
    tight = ta.Dataset.from_arrays(public, secret)
    release = ta.publish(tight, ta.Marginals(3), ta.Rounding(5))
    attack = ta.reconstruct(release, tight.public, "least-squares", proof_effort=1)
    assert attack.undecided == 80
    assert attack.loose == 0
    assert ta.reconstruct(release, tight.public, "least-squares").undecided == 0


def two_areas() -> tuple[ta.Dataset, ta.Release]:
    """People of two areas, and tables by area: two parts that have nothing in common."""
    people = [random_people(30, 12, seed=seed) for seed in (3, 3)]
    public = np.vstack(
        [np.column_stack([np.full(30, i), one.public.codes.T]) for i, one in enumerate(people)]
    )
    both = ta.Dataset.from_arrays(public, np.concatenate([one.secret for one in people]))
    return both, ta.publish(both, ta.Marginals(3, [[0, column] for column in range(1, 13)]))


def test_ctrl_c_keeps_what_is_proved(monkeypatch):
    find, questions = Constraints.find, []

    def stop(*given):
        questions.append(given[0].part)
        if given[0].part is not questions[0]:
            raise KeyboardInterrupt
        return find(*given)

    people, release = two_areas()
    whole = ta.reconstruct(release, people.public, "least-squares")
    monkeypatch.setattr(Constraints, "find", stop)
    attack = ta.reconstruct(release, people.public, "least-squares")
    assert attack.proof.interrupted
    assert attack.undecided == 30
    assert repr(attack.proof).endswith("steps, interrupted")
    assert f" {attack.undecided} people undecided" in repr(attack.proof)
    assert (attack.identified == "proved").sum() == 30
    assert (whole.identified == "proved").sum() == 60


def test_ctrl_c_ends_an_experiment(monkeypatch):
    from tellall.audits.trial import Planned, Setting, Trial

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Constraints, "find", stop)
    setting = Setting(random_people(30, 12, seed=3))
    with pytest.raises(KeyboardInterrupt):
        Trial(setting, (Planned("tables", ta.Marginals(2), ()),)).attack()


@pytest.mark.parametrize("people", [60, 90])
def test_exact_tables_that_determine_everybody_prove_everybody(people):
    rng = np.random.default_rng(people)
    public, secret = rng.integers(0, 2, (people, 16)), rng.integers(0, 2, people)
    dataset = ta.Dataset.from_arrays(public, secret=secret)
    attack = ta.reconstruct(ta.publish(dataset, ta.Marginals(3)), dataset.public)
    assert (attack.identified == "proved").all()
    assert np.array_equal(attack.guess, secret)
    assert attack.undecided == 0


def test_a_matrix_is_invertible_where_its_determinant_is_not_zero():
    from tellall.linalg.solvers.solution import _is_invertible

    rng = np.random.default_rng(0)
    for _ in range(50):
        matrix = rng.integers(-2, 3, (5, 5))
        assert _is_invertible(matrix.astype(float)) == (round(np.linalg.det(matrix)) != 0)
    assert not _is_invertible(np.ones((3, 3)))
    assert _is_invertible(np.array([[0.0, 1.0], [1.0, 0.0]]))


def test_a_secret_that_does_not_fit_its_exact_tables_is_not_proved():
    rng = np.random.default_rng(1)
    dataset = ta.Dataset.from_arrays(rng.integers(0, 2, (60, 16)), secret=rng.integers(0, 2, 60))
    values = ta.publish(dataset, ta.Marginals(3)).values
    values[[3, 40]] += 1
    release = ta.Release.from_values(ta.Marginals(3), values, public=dataset.public)
    assert not (ta.reconstruct(release, dataset.public).identified == "proved").any()
