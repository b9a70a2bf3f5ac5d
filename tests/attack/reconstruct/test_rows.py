import numpy as np
import pytest
from tests.conftest import random_people

import tellall as ta
from tellall.attack.reconstruct.candidate_rows import _Presence
from tellall.testing import check_statistic


def rows_and_presence(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, (n, d)), rng.permutation(np.arange(n) % 2)


@pytest.mark.parametrize("ways", [1, 2, 3])
@pytest.mark.parametrize("absent", ["left out", "zeros"])
def test_exact_tables_tell_every_row_once_the_rank_is_full(ways, absent):
    rows, present = rows_and_presence(30, {1: 60, 2: 14, 3: 12}[ways], seed=ways)
    data = rows[present == 1] if absent == "left out" else rows * present[:, None]
    release = ta.publish(ta.Dataset.from_arrays(data), ta.Marginals(ways))
    attack = ta.reconstruct_rows(release, rows, absent=absent)
    assert attack.evidence.rank == 30
    assert np.array_equal(attack.guess, present)
    assert attack.status.settled


@pytest.mark.parametrize("scale", ["counts", "fractions"])
@pytest.mark.parametrize(("law", "size"), [(ta.Gaussian, 1.0), (ta.Rounding, 3), (ta.Suppression, 3)])
def test_protected_tables_tell_rows_too(law, size, scale):
    rows, present = rows_and_presence(80, 24, seed=4)
    protect = law(size if scale == "counts" else size / present.sum())
    data = ta.Dataset.from_arrays(rows[present == 1])
    attack = ta.reconstruct_rows(ta.publish(data, ta.Tables(2, scale=scale), protect, rng=0), rows, rng=0)
    assert np.mean(attack.guess == present) > 0.97


def test_candidates_may_be_a_dataset_with_the_secret():
    people = random_people(40, 14, seed=5)
    present = np.flatnonzero(np.random.default_rng(6).integers(0, 2, 40))
    release = ta.publish(people.take(present), ta.Marginals(3))
    attack = ta.reconstruct_rows(release, people)
    assert np.flatnonzero(attack.guess).tolist() == present.tolist()
    with pytest.raises(ta.InvalidInput, match="a Dataset whose secret is the release's"):
        ta.reconstruct_rows(release, people.public)


def test_candidates_may_have_a_secret_of_several_values():
    rng = np.random.default_rng(12)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (40, 14)), np.arange(40) % 3)
    present = np.flatnonzero(rng.integers(0, 2, 40))
    attack = ta.reconstruct_rows(ta.publish(people.take(present), ta.Marginals(3)), people)
    assert np.flatnonzero(attack.guess).tolist() == present.tolist()


def test_categories_and_chosen_columns(fair):
    people = fair.take(np.random.default_rng(7).permutation(fair.n)[:60])
    present = np.arange(60) % 2 == 0
    bare = ta.Dataset(people.public)
    release = ta.publish(bare.take(np.flatnonzero(present)), ta.Tables(3))
    attack = ta.reconstruct_rows(release, bare)
    groups = attack.evidence.groups
    counts = np.bincount(groups.index, present)
    settled = (counts == 0) | (counts == groups.counts)  # equal rows cannot be told apart
    assert settled.mean() > 0.8
    assert np.array_equal(attack.guess[settled[groups.index]], present[settled[groups.index]])


def test_golden_row_reduction(golden):
    for case in golden["dat_dst_reductions"]:
        rows, present = np.array(case["M_d_by_n"]).T, np.array(case["s"])
        data = ta.Dataset.from_arrays(case["Dst_rows"])
        release = ta.publish(data, ta.Marginals(2))
        assert release.values.reshape(-1, 4)[:, 3].tolist() == list(case["row_k2 (conj a,b of Dst)"].values())
        attack = ta.reconstruct_rows(release, rows, absent="zeros")
        ones = attack.evidence.operator.to_dense()[2::3]  # without the cell of zeros, the last is all ones
        assert np.array_equal(ones @ present, attack.evidence.target[2::3])
        assert np.array_equal(attack.guess, present)


def test_presence_is_a_statistic_like_any_other():
    rows, present = rows_and_presence(25, 6, seed=8)
    statistic = _Presence(ta.Tables(2), int(present.sum()), False, scale="fractions")
    check_statistic(statistic, ta.Dataset.from_arrays(rows, present))


def test_a_risk_can_be_scored():
    rows, present = rows_and_presence(40, 14, seed=9)
    release = ta.publish(ta.Dataset.from_arrays(rows[present == 1]), ta.Tables(2))
    risk = ta.score(ta.reconstruct_rows(release, rows), present)
    assert risk.accuracy == 1.0
    assert risk.advantage > 0.2


def test_candidates_who_do_not_fit_are_said_to_contradict():
    rows, present = rows_and_presence(20, 12, seed=10)
    release = ta.publish(ta.Dataset.from_arrays(rows[present == 1]), ta.Tables(2))
    attack = ta.reconstruct_rows(release, 1 - rows)
    assert attack.status.word == "contradictory"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda r, c: ta.reconstruct_rows("r", c), "release must be a Release"),
        (lambda r, c: ta.reconstruct_rows(r, c, absent="gone"), "absent must be one of"),
        (lambda r, c: ta.reconstruct_rows(r, c[:, :3]), "candidates must be a column of the table"),
        (lambda r, c: ta.reconstruct_rows(r, 2 * c + np.arange(20)[:, None] % 2), "whose columns have"),
        (lambda r, c: ta.reconstruct_rows(r, c[0]), "public must be an array of people"),
        (lambda r, c: ta.reconstruct_rows(r, c, decoder="magic"), "decoder must be one of"),
        (lambda r, c: ta.reconstruct_rows(r, c, prior=2), "prior must be"),
        (
            lambda r, c: ta.reconstruct_rows(ta.publish(ta.Dataset.from_arrays(c), ta.Means()), c),
            "one of tables",
        ),
    ],
)
def test_bad_calls_get_one_clear_sentence(call, says):
    rows, present = rows_and_presence(20, 5, seed=11)
    release = ta.publish(ta.Dataset.from_arrays(rows[present == 1]), ta.Tables(2))
    with pytest.raises(ta.InvalidInput, match=says) as caught:
        call(release, rows)
    assert "\n" not in str(caught.value)
