import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall import InvalidInput
from tellall.experiment.tally import Tally, total


def tally_of(n, draws, seed, *, share=0.7, baseline=0.5, names=("majority", "public")):
    rng = np.random.default_rng(seed)
    right = [rng.random(n) < share for _ in range(draws)]
    fixed = {name: rng.random(n) < baseline for name in names}
    return Tally.of(right, [fixed] * draws), right, fixed


def rng():
    return np.random.default_rng(0)


@given(n=st.integers(1, 60), draws=st.integers(1, 4), seed=st.integers(0, 99))
def test_a_tally_counts_and_survives_json(n, draws, seed):
    tally, right, fixed = tally_of(n, draws, seed)
    assert tally.right == tuple(int(one.sum()) for one in right)
    for name, mask in fixed.items():
        assert sum(count for _, count in tally.gains[name]) == n
        net = sum(gain * count for gain, count in tally.gains[name])
        assert net == sum(tally.right) - draws * int(mask.sum())
    assert Tally.from_json(json.loads(json.dumps(tally.as_json()))) == tally


@given(parts=st.lists(st.integers(1, 30), min_size=1, max_size=5), draws=st.integers(1, 3))
def test_totals_are_those_of_all_people_at_once(parts, draws):
    """Blocks added up are the people laid side by side."""
    blocks = [tally_of(n, draws, seed) for seed, n in enumerate(parts)]
    whole = Tally.of(
        [np.concatenate([right[draw] for _, right, _ in blocks]) for draw in range(draws)],
        [{name: np.concatenate([fixed[name] for *_, fixed in blocks]) for name in ("majority", "public")}]
        * draws,
    )
    one, many = total([whole], rng=rng()), total([tally for tally, *_ in blocks], rng=rng())
    assert many.people == sum(parts)
    assert many.accuracy == pytest.approx(one.accuracy)
    assert many.baselines == pytest.approx(one.baselines)
    assert many.advantage == pytest.approx(one.advantage)
    assert many.advantage == pytest.approx(many.accuracy - max(many.baselines.values()))
    assert many.interval[0] <= many.advantage + 1e-9
    assert many.advantage <= many.interval[1] + 1e-9
    if draws == 1:
        assert many.interval == pytest.approx(one.interval)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    """40 blocks of 25 people, 3 draws, true advantage 0.2: of 200 intervals at least 175 hold it.

    At 95 % coverage fewer than 175 of 200 has probability below 1e-4 per run; the seeds are fixed.
    """
    held = 0
    for run in range(200):
        tallies = [tally_of(25, 3, 1000 * run + block, names=("majority",))[0] for block in range(40)]
        low, high = total(tallies, rng=rng()).interval
        held += low <= 0.2 <= high
    assert held >= 175


def test_the_strongest_baseline_is_chosen_on_all_people_not_block_by_block():
    """Two equal baselines: chosen in each block, luck would eat several points of the advantage."""
    tallies = [tally_of(20, 1, seed)[0] for seed in range(300)]
    whole = total(tallies, rng=rng())
    lucky = np.mean([(t.right[0] - t.baselines[t.strongest][0]) / t.people for t in tallies])
    assert whole.advantage > lucky + 0.03
    assert abs(whole.advantage - 0.2) < 0.03


def test_a_block_without_a_baseline_counts_with_its_strongest():
    full, _, _ = tally_of(40, 1, 1, names=("majority", "population"))
    lacking, _, _ = tally_of(40, 1, 2, names=("majority",))
    whole = total([full, lacking], rng=rng())
    expected = (full.baselines["population"][0] + lacking.baselines["majority"][0]) / 80
    assert whole.baselines["population"] == pytest.approx(expected)


@pytest.mark.parametrize("chance", [0.05, 0.05 / 3000])
def test_a_sure_limit_is_wrong_as_seldom_as_it_says(chance):
    """No advantage at all: the limit exceeds zero in at most this share (checked to 3 in 400)."""
    wrong = sum(
        tally_of(30, 1, seed, share=0.5, names=("majority",))[0].surely(chance) > 0 for seed in range(400)
    )
    assert wrong <= 3  # two halves of the chance, each conservative: in truth far below 0.05


def test_a_sure_limit_finds_what_is_plain():
    everybody = Tally(20, (20,), {"majority": (0,)}, {"majority": ((1, 20),)})
    assert everybody.surely(0.05 / 3000) > 0.1
    nobody = Tally(20, (0,), {"majority": (20,)}, {"majority": ((-1, 20),)})
    assert nobody.surely(0.05) == -1


def test_no_tally_is_no_total():
    with pytest.raises(InvalidInput):
        total([], rng=rng())
