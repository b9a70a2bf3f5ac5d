"""Survival curves: as statsmodels estimates them, and solved for who had the event."""

from dataclasses import replace

import numpy as np
import pytest

import tellall as ta
from tellall.evidence.linearise import linearise
from tellall.testing import check_statistic


def patients(seed, n=60, months=8):
    rng = np.random.default_rng(seed)
    columns = np.column_stack([rng.integers(1, months, n).astype(float), rng.integers(0, 2, n)])
    return ta.Dataset.from_arrays(columns, rng.permutation(np.arange(n) % 2), names=["months", "arm"])


@pytest.mark.parametrize("seed", range(4))
def test_the_curve_is_that_of_statsmodels(seed):
    from statsmodels.duration.survfunc import SurvfuncRight

    people = patients(seed)
    months = people.public.numbers[0]
    grid = np.unique(months)
    for arm in (0, 1):
        chosen = people.take(np.flatnonzero(people.public.codes[1] == arm))
        known = SurvfuncRight(chosen.public.numbers[0], chosen.secret)
        steps = np.append(1.0, known.surv_prob)
        wanted = steps[np.searchsorted(known.surv_times, grid, side="right")]
        both = ta.publish(people, ta.SurvivalCurve("months", by="arm", grid=grid)).values
        np.testing.assert_allclose(np.split(both, 2)[arm], wanted, rtol=1e-12)


@pytest.mark.parametrize(
    "statistic",
    [
        ta.SurvivalCurve("months"),
        ta.SurvivalCurve("months", by="arm"),
        ta.SurvivalCurve("months", grid=[3, 7]),
    ],
    ids=lambda one: one.describe(),
)
@pytest.mark.parametrize("seed", range(3))
def test_laws(statistic, seed):
    people = patients(seed)
    if statistic.grid is None:
        check_statistic(statistic, people)
    evidence = ta.linearise(ta.publish(people, statistic), people.public)
    off = np.abs(evidence.operator @ people.secret - evidence.target)
    assert (off <= 2 * evidence.std + 1e-6).all()  # a uniform law ends at √3 standard deviations


@pytest.mark.parametrize("seed", range(5))
def test_an_exact_curve_proves_what_listing_every_secret_proves(seed):
    people = patients(seed, n=9, months=6)
    release = ta.publish(people, ta.SurvivalCurve("months"))
    fits = []
    for secret in ((np.arange(2**9)[:, None] >> np.arange(9)) & 1).astype(np.int8):
        other = ta.publish(replace(people, secret=secret), ta.SurvivalCurve("months"))
        if np.allclose(other.values, release.values, atol=1e-12):
            fits.append(secret)
    same = np.ptp(np.stack(fits), axis=0) == 0
    found = ta.reconstruct(release, people.public)
    proved = found.identified == "proved"
    assert not (proved & ~same).any()
    assert (proved == same).all() or (release.values == 0).any()
    assert (found.guess[proved] == people.secret[proved]).all()


def test_a_rounded_curve_proves_nothing_and_still_tells():
    rng = np.random.default_rng(0)
    people = ta.Dataset.from_arrays(
        rng.permutation(40)[:, None] + 1.0, rng.integers(0, 2, 40), names=["days"]
    )
    found = ta.reconstruct(ta.publish(people, ta.SurvivalCurve("days"), ta.Rounding(0.001)), people.public)
    assert not (found.identified == "proved").any()
    assert np.mean(found.guess == people.secret) > 0.9


def test_secrets_and_columns_that_it_takes():
    people = patients(0)
    numbers = replace(people, secret=np.linspace(0, 1, 60), meaning=())
    with pytest.raises(ta.InvalidInput, match="secret must be a bit"):
        ta.publish(numbers, ta.SurvivalCurve("months"))
    with pytest.raises(ta.InvalidInput, match="time must be"):
        ta.publish(people, ta.SurvivalCurve("weeks"))
    for wrong in ([], [2, 1], [1, 1], "ab", [float("nan")]):
        with pytest.raises(ta.InvalidInput, match="grid must be"):
            ta.SurvivalCurve("months", grid=wrong)


def test_it_is_planned_and_saved(tmp_path):
    people = patients(1)
    plan = {"steps": False, "releases": [{"statistic": {"kind": "SurvivalCurve", "time": "months"}}]}
    assert ta.audit(people, plan).findings
    release = ta.publish(people, ta.SurvivalCurve("months", by="arm", grid=[2.0, 5.0]))
    assert ta.Release.load(release.save(tmp_path / "curve.json")).statistic == release.statistic


@pytest.mark.parametrize("grid", [None, [1.0, 6.0], [1.0, 3.0, 5.0]])
@pytest.mark.parametrize("base", [0.01, 0.1, 0.25])
def test_a_rounded_curve_excludes_no_secret_that_gives_it(grid, base):
    rng = np.random.default_rng(3)
    statistic = ta.SurvivalCurve("months", grid=grid)
    for _ in range(4):
        months = rng.integers(0, 8, 9).astype(float)
        columns = np.column_stack([months, np.arange(9) % 2])
        every = np.array([bits for bits in np.ndindex(*[2] * 9) if 0 < sum(bits) < 9])
        for bits in rng.permutation(every)[:12]:
            people = ta.Dataset.from_arrays(columns, bits, names=["months", "arm"])
            part = linearise(ta.publish(people, statistic, ta.Rounding(base)), people.public).parts[0]
            image = part.source @ bits.astype(float)
            assert (part.bounds.low <= image).all()
            assert (image <= part.bounds.high).all()


def test_a_rounded_curve_proves_nobody_to_have_the_wrong_value():
    months = [4, 0, 2, 2, 3, 3, 1, 6, 6, 3, 0, 2, 6.0]
    died = [0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1, 0, 1]
    people = ta.Dataset.from_frame({"months": months, "arm": [0, 1] * 6 + [0], "died": died}, secret="died")
    statistic = ta.SurvivalCurve("months", grid=[1.0, 6.0])
    found = ta.reconstruct(ta.publish(people, statistic, ta.Rounding(0.1)), people.public)
    assert "proved" not in found.identified
    exact = ta.reconstruct(ta.publish(people, ta.SurvivalCurve("months")), people.public)
    proved = np.array(exact.identified) == "proved"
    assert proved.any()
    np.testing.assert_array_equal(np.asarray(exact.guess)[proved], np.array(died)[proved])
