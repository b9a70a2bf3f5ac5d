import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall import InvalidInput
from tellall.audits.measures.chance_intervals import exact_interval
from tellall.audits.measures.hits import Hits, Total


def tally_of(n, draws, seed, *, share=0.7, baseline=0.5, names=("majority", "public")):
    rng = np.random.default_rng(seed)
    right = [rng.random(n) < share for _ in range(draws)]
    fixed = {name: rng.random(n) < baseline for name in names}
    return Hits.of(right, fixed), right, fixed


@given(n=st.integers(1, 60), draws=st.integers(1, 4), seed=st.integers(0, 99))
def test_a_tally_counts_and_survives_json(n, draws, seed):
    tally, right, fixed = tally_of(n, draws, seed)
    assert tally.right == tuple(int(one.sum()) for one in right)
    for name, mask in fixed.items():
        assert sum(count for _, count in tally.gains[name]) == n
        net = sum(gain * count for gain, count in tally.gains[name])
        assert net == sum(tally.right) - draws * int(mask.sum())
    assert Hits.from_json(json.loads(json.dumps(asdict(tally)))) == tally


@given(parts=st.lists(st.integers(1, 30), min_size=1, max_size=5), draws=st.integers(1, 3))
def test_totals_are_those_of_all_people_at_once(parts, draws):
    """Areas added up are the people laid side by side."""
    areas = [tally_of(n, draws, seed) for seed, n in enumerate(parts)]
    whole = Hits.of(
        [np.concatenate([right[draw] for _, right, _ in areas]) for draw in range(draws)],
        {name: np.concatenate([fixed[name] for *_, fixed in areas]) for name in ("majority", "public")},
    )
    one, many = Total.of([whole]), Total.of([tally for tally, *_ in areas])
    assert many.people == sum(parts)
    assert many.accuracy == pytest.approx(one.accuracy)
    assert many.baselines == pytest.approx(one.baselines)
    assert many.advantage == pytest.approx(one.advantage)
    assert many.advantage == pytest.approx(many.accuracy - max(many.baselines.values()))
    assert many.interval[0] <= many.advantage + 1e-9
    assert many.advantage <= many.interval[1] + 1e-9
    if draws == 1:
        assert many.interval == pytest.approx(one.interval)


@pytest.mark.parametrize(("areas", "people"), [(40, 25), (1, 1000)])
def test_the_interval_covers_the_truth_about_as_often_as_it_says(areas, people):
    """1,000 people, 3 draws, true advantage 0.2: of 200 intervals at least 175 hold it.

    At 95 % coverage fewer than 175 of 200 has probability below 1e-4 per run; the seeds are fixed.
    """
    held = 0
    for run in range(200):
        tallies = [tally_of(people, 3, 1000 * run + area, names=("majority",))[0] for area in range(areas)]
        low, high = Total.of(tallies).interval
        held += low <= 0.2 <= high
    assert held >= 175


def test_more_draws_narrow_the_interval():
    one, many = (Total.of([tally_of(400, draws, 3)[0]]).interval for draws in (1, 40))
    assert many[1] - many[0] < one[1] - one[0]


def test_a_correction_for_several_decoders_lowers_the_lower_end_alone():
    tally = tally_of(400, 2, 5)[0]
    narrow, wide = Total.of([tally]).interval, Total.of([tally], chance=0.05 / 3).interval
    assert wide[0] < narrow[0] < narrow[1] == wide[1]


def test_the_strongest_baseline_is_chosen_on_all_people_not_area_by_area():
    """Two equal baselines: chosen in each area, luck would eat several points of the advantage."""
    tallies = [tally_of(20, 1, seed)[0] for seed in range(300)]
    whole = Total.of(tallies)
    lucky = np.mean([(t.right[0] - t.baselines[t.strongest]) / t.people for t in tallies])
    assert whole.advantage > lucky + 0.03
    assert abs(whole.advantage - 0.2) < 0.03


def test_an_area_without_a_baseline_counts_with_its_strongest():
    full, _, _ = tally_of(40, 1, 1, names=("majority", "population"))
    lacking, _, _ = tally_of(40, 1, 2, names=("majority",))
    whole = Total.of([full, lacking])
    expected = (full.baselines["population"] + lacking.baselines["majority"]) / 80
    assert whole.baselines["population"] == pytest.approx(expected)


@pytest.mark.parametrize("chance", [0.05, 0.05 / 3000])
def test_a_sure_limit_is_wrong_as_seldom_as_it_says(chance):
    """No advantage at all: the limit exceeds zero in at most this share (checked to 3 in 400)."""
    wrong = sum(
        tally_of(30, 1, seed, share=0.5, names=("majority",))[0].surely(chance) > 0 for seed in range(400)
    )
    assert wrong <= 3  # two halves of the chance, each conservative: in truth far below 0.05


def test_a_sure_limit_finds_what_is_plain():
    everybody = Hits(20, (20,), {"majority": 0}, {"majority": ((1, 20),)})
    assert everybody.surely(0.05 / 3000) > 0.1
    nobody = Hits(20, (0,), {"majority": 20}, {"majority": ((-1, 20),)})
    assert nobody.surely(0.05) == -1


def test_areas_in_which_all_is_alike_have_an_interval_together():
    alike = Hits(20, (12,), {"majority": 12}, {"majority": ((0, 20),)})
    assert Total.of([alike, alike]).interval == pytest.approx(exact_interval(0, 0, 40))


def test_no_tally_has_no_total():
    with pytest.raises(InvalidInput):
        Total.of([])


def test_what_is_gained_beyond_a_fit_is_counted_over_draws():
    order = np.arange(100)
    draws, usual, fitted = [order < 70, order < 80], order < 60, order < 75
    found = Hits.of(draws, {"majority": usual}, fitted)
    assert found.beyond_fit is not None
    assert found.beyond_fit[0] == 0.0
    assert 0 < found.beyond_fit[1] < 0.2
    assert Hits.of(draws, {"majority": usual}).beyond_fit is None
    assert Hits.from_json(json.loads(json.dumps(asdict(found)))) == found


def test_the_best_of_majority_and_public_is_what_an_attack_must_reach():
    order = np.arange(1000)
    found = Hits.of(
        [order < 700], {"majority": order < 600, "public": order < 800, "population": order < 900}
    )
    assert -0.1 < found.most_beyond(("majority", "public")) < -0.07
    assert found.most_beyond(("median",)) == float("inf")
