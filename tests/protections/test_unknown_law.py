"""What a protection does not declare proves nothing, and a protection without a law cannot be made."""

from dataclasses import replace

import numpy as np
import pytest
from tests.conftest import random_people

import tellall as ta
from tellall.audits.trial import Planned
from tellall.evidence.hidden import threshold_of
from tellall.linalg.operators.linear_operator import Dense
from tellall.protections.protection import Exact, Protection, Sum, Unknown, as_protections, noise_of
from tellall.release import catalogue
from tellall.statistics.statistic import Equations, Statistic
from tellall.testing import check_protection


class FlipSome(Protection):
    """Some people get another secret before anything is computed, and nobody is told."""

    def __init__(self, law, count=5):
        self._law, self.count = law, count

    @property
    def law(self):
        return self._law

    def records(self, dataset, rng=None):
        secret = dataset.secret.copy()
        levels = max(dataset.levels, 2)
        secret[: self.count] = (secret[: self.count] + 1) % levels if dataset.levels else 3.0
        return replace(dataset, secret=secret)


class Columns(Statistic):
    """A plain matrix of public columns times the secret."""

    scale, counts_people = "counts", False

    def values(self, dataset):
        return self._matrix(dataset.public) @ np.asarray(dataset.secret, dtype=float)

    def equations(self, public, values):
        return Equations(Dense(self._matrix(public)), values, np.arange(public.n), floor=1e-6)

    def size(self, public):
        return 40

    def describe(self):
        return "a matrix of the public columns"

    def _matrix(self, public):
        rng = np.random.default_rng(0)
        return rng.normal(size=(40, public.n))


EIGHT = ta.Dataset.from_arrays(np.random.default_rng(2).integers(0, 2, (8, 6)), [0, 1, 1, 0, 1, 0, 0, 1])
REALS = ta.Dataset.from_arrays(np.random.default_rng(3).integers(0, 2, (8, 6)), np.linspace(-1, 1, 8))
CATEGORIES = ta.Dataset.from_arrays(np.random.default_rng(4).integers(0, 2, (8, 6)), [0, 1, 2, 0, 1, 2, 2, 1])


def test_a_class_that_is_no_protection_is_refused():
    class Flip:
        def perturb(self, values, rng=None):
            return values

        def records(self, dataset, rng=None):
            return dataset

    with pytest.raises(ta.InvalidInput, match="extends Protection"):
        ta.publish(EIGHT, ta.Marginals(3), Flip())

    class NoLaw(Protection):
        def records(self, dataset, rng=None):
            return dataset

    with pytest.raises(TypeError, match="law"):
        NoLaw()


@pytest.mark.parametrize("decoder", ["auto", "least-squares", "lp", "posterior"])
@pytest.mark.parametrize("people", [EIGHT, CATEGORIES], ids=["bits", "categories"])
def test_flipped_secrets_of_an_unknown_law_prove_nothing(people, decoder):
    release = ta.publish(people, ta.Marginals(4), FlipSome(Unknown()), rng=0)
    found = ta.reconstruct(release, people.public, decoder)
    assert not found.status.settled
    assert (found.identified != "proved").all()
    assert not found.evidence.bounded
    assert np.isinf(found.evidence.rows.bound).all()
    with pytest.raises(ta.InvalidInput, match="exhaustive"):
        ta.reconstruct(release, people.public, "exhaustive")


def test_the_status_says_that_the_law_is_unknown_and_what_to_do():
    found = ta.reconstruct(ta.publish(EIGHT, ta.Marginals(4), FlipSome(Unknown()), rng=0), EIGHT.public)
    assert "unknown" in str(found.status)
    assert "declare" in str(found.status)


def test_reals_under_an_unknown_law_are_not_solved():
    release = ta.publish(REALS, Columns(), FlipSome(Unknown()), rng=0)
    found = ta.reconstruct(release, REALS.public)
    assert not found.status.settled
    assert "unknown" in str(found.status)


def test_an_outsider_who_does_not_know_says_so():
    values = ta.publish(EIGHT, ta.Marginals(3)).values
    release = ta.Release.from_values(ta.Marginals(3), values, public=EIGHT, noise=Unknown())
    found = ta.reconstruct(release, EIGHT.public)
    assert not found.status.settled
    assert (found.identified != "proved").all()


def test_one_unknown_law_makes_the_list_unknown():
    steps = as_protections([FlipSome(Unknown()), ta.Rounding(3), ta.Gaussian(1.0)])
    law = noise_of(steps)
    assert not law.known
    assert law.assumed.std == Sum((ta.Rounding(3), ta.Gaussian(1.0))).std
    assert not Sum((ta.Gaussian(1.0), Unknown())).known
    assert Sum((ta.Gaussian(1.0), Exact())).known


def test_thresholds_beside_an_unknown_law_say_nothing_for_sure():
    flip = FlipSome(Unknown())
    assert threshold_of([flip, ta.Suppression(3)], 1.0) is None
    assert threshold_of([ta.Suppression(3), Unknown()], 1.0) is None
    release = ta.publish(EIGHT, ta.Marginals(3), [flip, ta.Suppression(3)], rng=0)
    evidence = ta.linearise(release, EIGHT.public)
    assert evidence.parts[0].hidden is None
    assert not evidence.bounded


def test_an_exact_release_beside_it_still_proves_what_it_proves():
    exact = ta.publish(EIGHT, ta.Marginals(6))
    unknown = ta.publish(EIGHT, ta.Marginals(2), Trifle(Unknown()), rng=0)
    alone = ta.reconstruct(exact, EIGHT.public)
    both = ta.reconstruct([exact, unknown], EIGHT.public)
    assert (alone.identified == "proved").sum() == (both.identified == "proved").sum() > 0
    assert not both.status.settled


class Trifle(Protection):
    """Nothing is done, and that is not declared."""

    def __init__(self, law):
        self._law = law

    @property
    def law(self):
        return self._law


def test_a_saved_release_keeps_an_unknown_law(tmp_path):
    release = ta.publish(EIGHT, ta.Marginals(3), [FlipSome(Unknown()), ta.Rounding(3)], rng=0)
    loaded = ta.Release.load(release.save(tmp_path / "release.json"))
    assert not loaded.noise.known
    assert not ta.reconstruct(loaded, EIGHT.public).status.settled
    declared = ta.publish(EIGHT, ta.Marginals(3), Trifle(ta.Gaussian(2.0)), rng=0)
    assert ta.Release.load(declared.save(tmp_path / "declared.json")).noise == ta.Gaussian(2.0)
    changed = ta.publish(EIGHT, ta.Marginals(3), FlipSome(ta.Gaussian(2.0)), rng=0)
    kept = ta.Release.load(changed.save(tmp_path / "changed.json")).noise
    assert not kept.known  # errors of changed people depend on each other, which no law says
    assert kept.assumed.std == 2.0
    assert "Unknown" not in catalogue.kinds("protection")  # nobody plans it


def test_rows_under_an_unknown_law_are_not_solved():
    candidates = np.random.default_rng(0).integers(0, 2, (40, 14))
    members = ta.Dataset.from_arrays(candidates[:20])
    assert ta.reconstruct_rows(ta.publish(members, ta.Tables(3)), candidates).status.settled
    found = ta.reconstruct_rows(ta.publish(members, ta.Tables(3), Trifle(Unknown())), candidates)
    assert not found.status.settled


def test_nothing_is_published_with_an_unknown_law_alone():
    with pytest.raises(ta.InvalidInput, match="from_values"):
        ta.publish(EIGHT, ta.Marginals(3), Unknown())


def test_audits_and_sweeps_of_an_unknown_law_are_not_settled(tmp_path):
    people = random_people(30, 5, seed=1)
    plan = ta.Plan((Planned("tables", ta.Marginals(3), (FlipSome(Unknown()),)),), steps=False)
    audit = ta.audit(people, plan)
    (finding,) = audit.findings
    assert not finding.outcome.settled
    assert "unknown" in str(finding.outcome.status)
    audit.save(tmp_path)
    found = ta.sweep(people, ta.Marginals(3), [FlipSome(Unknown())], repeats=2)
    assert found.rows[0].std is None


def test_check_protection_finds_a_law_that_is_too_narrow():
    check_protection(FlipSome(Unknown()))
    for law in (Exact(), ta.Gaussian(0.01), ta.Rounding(1)):
        with pytest.raises(AssertionError):
            check_protection(FlipSome(law))
