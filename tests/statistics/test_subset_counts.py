import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import likenesses
from tests.conftest import SHARED, random_people

import tellall as ta
from tellall.attack.reconstruct.decoders import DECODERS
from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.operators.sparse import Sparse
from tellall.release import catalogue
from tellall.statistics import subset_counts
from tellall.testing import check_statistic


@given(st.integers(2, 20), st.integers(1, 8), st.integers(0, 10**6))
def test_masks_are_counted_and_the_equations_hold(n, m, seed):
    rng = np.random.default_rng(seed)
    people = ta.Dataset.from_arrays(np.arange(n)[:, None], np.arange(n) % 2)
    masks = rng.integers(0, 2, (m, n))
    for given_as in (masks, masks.astype(bool), masks.tolist(), list(masks.astype(float))):
        statistic = ta.SubsetCounts(given_as)
        assert ta.publish(people, statistic).values.tolist() == (masks @ people.secret).tolist()
    check_statistic(statistic, people)
    shares = ta.SubsetCounts(masks, scale="fractions")
    assert np.allclose(ta.publish(people, shares).values * n, masks @ people.secret)
    check_statistic(shares, people)


def test_conditions_are_masks(fair):
    texts = ["age >= 30", "children == 0 and religious in [1, 2]", "not educ < 16"]
    by_text = ta.publish(fair, ta.SubsetCounts(texts))
    frame = {
        column.name: numbers for column, numbers in zip(fair.public.columns, fair.public.numbers, strict=True)
    }
    masks = [
        frame["age"] >= 30,
        (frame["children"] == 0) & np.isin(frame["religious"], (1, 2)),
        frame["educ"] >= 16,
    ]
    assert np.array_equal(by_text.values, ta.publish(fair, ta.SubsetCounts(masks)).values)
    assert by_text.values.tolist() == [float(fair.secret[mask].sum()) for mask in masks]
    evidence = ta.linearise(by_text, fair.public)
    assert np.array_equal(evidence.operator @ fair.secret, evidence.target)
    assert len(evidence.groups) <= 8  # three conditions tell at most eight kinds of people apart


def test_random_exact_subsets_give_every_bit_once_the_rank_is_full():
    people = random_people(60, 8, seed=1)
    masks = np.random.default_rng(2).integers(0, 2, (75, 60))
    attack = ta.reconstruct(ta.publish(people, ta.SubsetCounts(masks)), people.public)
    assert attack.evidence.rank == 60
    assert np.array_equal(attack.guess, people.secret)


def test_large_sparse_masks_keep_only_their_ones(monkeypatch):
    people = random_people(50, 6, seed=3)
    masks = np.random.default_rng(4).random((30, 50)) < 0.05
    statistic = ta.SubsetCounts(masks)
    release = ta.publish(people, statistic)
    assert isinstance(ta.linearise(release, people.public).operator, Dense)
    monkeypatch.setattr(subset_counts, "_MANY", 100)
    assert isinstance(ta.linearise(release, people.public).operator, Sparse)
    check_statistic(statistic, people)
    assert ta.reconstruct(release, people.public).status.settled


def test_a_release_of_masks_and_conditions_comes_back_as_it_was(tmp_path):
    people = random_people(21, 4, seed=5)
    masks = np.random.default_rng(6).integers(0, 2, (40, 21))
    statistic = ta.SubsetCounts([*masks, "a0 == 1", "a1 == 0 and not a2 == 1"], scale="fractions")
    release = ta.publish(people, statistic, ta.Gaussian(0.01), rng=1)
    path = release.save(tmp_path / "release.json")
    again = ta.Release.load(path)
    assert again.statistic == statistic
    assert np.array_equal(again.values, release.values)
    one, other = (ta.reconstruct(r, people.public, rng=0) for r in (release, again))
    assert np.array_equal(one.guess, other.guess)
    subsets = json.loads(path.read_text())["statistic"]["subsets"]
    assert subsets[-2] == "a0 == 1"
    assert len(subsets[0]["bits"]) == 6  # 21 bits in three bytes


@pytest.mark.parametrize("decoder", ["auto", *(one for one in DECODERS if one != "exhaustive")])
@pytest.mark.parametrize("source", ["real", "generated"])
def test_a_counting_query_transcript_gives_all_73_people(decoder, source, tmp_path):
    """3994 counts that a commercial engine gave about 73 bank clients, noise of sd 3.3; and others."""
    path = SHARED / "data" / "diffix_answers.npz"
    if source == "generated":
        path = likenesses.transcript(tmp_path / "answers.npz")
    elif not path.is_file():
        pytest.skip("the real transcript is not beside this checkout; a generated one stands in")
    with np.load(path) as transcript:
        people = int(transcript["people"])
        masks = np.unpackbits(transcript["selected"], axis=1, count=people)
        answers, truth = transcript["answers"].astype(float), transcript["truth"]
    public = ta.Dataset.from_arrays(np.arange(people)[:, None]).public
    release = ta.Release.from_values(ta.SubsetCounts(masks), answers, public=public, noise=ta.Gaussian(3.3))
    attack = ta.reconstruct(release, public, decoder=decoder, rng=0)
    assert np.array_equal(attack.guess, truth)


def test_masks_name_people_by_index_and_no_file_tells_the_order(tmp_path):
    """Who attacks must bring the people in the order of the masks: a hash of it would tell who they are."""
    people = random_people(20, 8, seed=11)
    masks = np.random.default_rng(12).integers(0, 2, (30, 20))
    turned = replace(people, public=people.public.take(np.arange(20)[::-1]))
    one, other = (
        ta.publish(each, ta.SubsetCounts(masks)).save(tmp_path / "r.json").read_text()
        for each in (people, turned)
    )
    assert one == other
    found = ta.reconstruct(ta.publish(people, ta.SubsetCounts(masks)), turned.public)
    assert found.guess.tolist() == people.secret.tolist()


def test_a_risk_of_masks_is_scored_without_a_population_model():
    people = random_people(40, 8, seed=13)
    masks = np.random.default_rng(14).integers(0, 2, (80, 40))
    risk = ta.score(ta.reconstruct(ta.publish(people, ta.SubsetCounts(masks)), people.public), people.secret)
    assert risk.accuracy == 1.0
    assert set(risk.baselines) == {"majority", "public", "own group", "together"}


def test_an_answer_given_many_times_counts_once():
    people = random_people(30, 5, seed=9)
    masks = np.random.default_rng(10).integers(0, 2, (60, 30))
    once = ta.publish(people, ta.SubsetCounts(masks), ta.Gaussian(1.5), rng=1)
    again = ta.Release.from_values(
        ta.SubsetCounts([*masks, *[masks[0]] * 99]),
        [*once.values, *[once.values[0]] * 99],
        public=people.public,
        noise=ta.Gaussian(1.5),
    )
    one, many = (ta.reconstruct(release, people.public, prior=0.5, rng=0) for release in (once, again))
    assert np.allclose(one.estimate, many.estimate, atol=1e-6)
    differing = ta.linearise(
        ta.Release.from_values(
            ta.SubsetCounts([masks[0]] * 3), [5, 5, 6], public=people.public, noise=ta.Gaussian(1)
        ),
        people.public,
    )
    assert differing.std.tolist() == pytest.approx([2**0.5, 2**0.5, 1])  # a new value is a new answer


def test_sensitivity_is_attained_by_replacing_a_person():
    people = random_people(10, 3, seed=7)
    statistic = ta.SubsetCounts(np.ones((4, 10)))
    secret = people.secret.copy()
    secret[0] = 1 - secret[0]
    other = ta.Dataset.from_arrays(people.public.codes.T, secret)
    change = ta.publish(people, statistic).values - ta.publish(other, statistic).values
    l1, l2 = statistic.sensitivity(people.public)
    assert np.abs(change).sum() == l1
    assert np.linalg.norm(change) == pytest.approx(l2)


def built(**arguments):
    return catalogue.build("statistic", {"kind": "SubsetCounts", **arguments})


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda p: ta.SubsetCounts([]), "one mask or condition or more"),
        (lambda p: ta.SubsetCounts("a0 == 1"), "a list of masks or of conditions"),
        (lambda p: ta.SubsetCounts(5), "a list of masks or of conditions"),
        (lambda p: ta.SubsetCounts([1, 0, 1]), "Put a single mask in a list"),
        (lambda p: ta.SubsetCounts([[0, 2, 1]]), "masks of bits"),
        (lambda p: ta.SubsetCounts([[0, np.nan]]), "masks of bits"),
        (lambda p: ta.SubsetCounts([["a", "b"]]), "masks of bits"),
        (lambda p: ta.SubsetCounts([[]]), "masks of one bit per person"),
        (lambda p: ta.SubsetCounts([[[1]]]), "masks of one bit per person"),
        (lambda p: ta.SubsetCounts(["a0 =="]), "where it has its end"),
        (lambda p: ta.SubsetCounts([[0, 1]], scale="rates"), "scale must be"),
        (lambda p: ta.publish(p, ta.SubsetCounts([[0, 1]])), "one bit per person \\(20\\); got 2 bits"),
        (lambda p: ta.publish(p, ta.SubsetCounts(["b0 == 1"])), "a column of the table"),
        (lambda p: ta.publish(ta.Dataset(p.public), ta.SubsetCounts(["a0 == 1"])), "no secret"),
        (lambda p: built(subset=[]), "subset is not a parameter of SubsetCounts"),
        (lambda p: built(subsets=[{"people": 9, "bits": "ff"}]), "masks of 9 bits"),
        (lambda p: built(subsets=[{"people": 9, "bits": "ffff"}]), "of 9 bits"),
        (lambda p: built(subsets=[{"people": 8, "bits": "xx"}]), "hexadecimal"),
        (lambda p: built(subsets=[{"bits": "ff"}]), "people = ..., bits"),
    ],
)
def test_bad_subsets_get_one_clear_sentence(make, says):
    with pytest.raises(ta.InvalidInput, match=says) as caught:
        make(random_people(20, 3, seed=8))
    assert "\n" not in str(caught.value)
