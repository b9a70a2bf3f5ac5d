"""Public columns that tell the secret by themselves: named before anything is attacked."""

import numpy as np
import pytest

import tellall as ta
from tellall.people.predictors import _by_luck, predictors

N = 400


def people(rng, columns, secret, names=None):
    return ta.Dataset.from_arrays(np.stack(columns, axis=1), secret, names=names)


def noise(rng, count=3):
    return [rng.integers(0, 3, N) for _ in range(count)]


def test_a_column_that_tells_is_named_with_what_to_do():
    rng = np.random.default_rng(1)
    secret = (rng.random(N) < 0.3).astype(int)
    (found,) = predictors(people(rng, [secret * 2 + rng.integers(0, 2, N), *noise(rng)], secret))
    assert (found.columns, found.right, found.beyond) == (("a0",), 1.0, 1.0)
    assert found.sentence.startswith("`a0` tells `secret` by itself, right about 100.0")
    assert found.sentence.endswith("take it out of `public`, or accept it (accepted_predictors).")


@pytest.mark.parametrize(("wrong", "named"), [(0.0, True), (0.03, True), (0.10, False)])
def test_a_column_is_named_if_it_is_right_for_nineteen_in_twenty(wrong, named):
    rng = np.random.default_rng(2)
    secret = (rng.random(N) < 0.3).astype(int)
    off = np.zeros(N, dtype=int)
    off[: round(wrong * N)] = 1
    found = predictors(people(rng, [secret ^ off, *noise(rng)], secret))
    assert bool(found) == named


def test_a_pair_is_named_where_neither_column_tells_alone():
    rng = np.random.default_rng(3)
    one, other = rng.integers(0, 2, N), rng.integers(0, 2, N)
    (found,) = predictors(people(rng, [one, other, *noise(rng)], one ^ other))
    assert found.columns == ("a0", "a1")
    assert found.sentence.startswith("`a0` and `a1` tell `secret` together")
    assert predictors(people(rng, [one, other, *noise(rng)], one ^ other), ["a0"])
    assert predictors(people(rng, [one, other, *noise(rng)], one ^ other), ["a1", "a0"]) == ()


def test_an_accepted_column_is_not_named_nor_are_its_pairs():
    rng = np.random.default_rng(4)
    secret = (rng.random(N) < 0.3).astype(int)
    assert predictors(people(rng, [secret, *noise(rng)], secret), ["a0"]) == ()


def test_nobody_tells_of_themselves():
    """A column with a value of its own for everybody is a key, and predicts nothing."""
    rng = np.random.default_rng(5)
    secret = (rng.random(N) < 0.3).astype(int)
    assert predictors(people(rng, [np.arange(N), *noise(rng)], secret)) == ()


def test_a_common_value_tells_nothing():
    """Guessing the most common value is right for 97 % of the people; no column adds to that."""
    rng = np.random.default_rng(6)
    secret = (np.arange(N) < 12).astype(int)
    assert predictors(people(rng, noise(rng, 8), secret)) == ()


def test_luck_among_many_columns_names_none():
    """Two people of 40 who share a cell of their own in one of 780 pairs; alarms are held below 1 %."""
    named = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        secret = (np.arange(40) < 2).astype(int)
        columns = rng.integers(0, 5, (40, 40))
        named += bool(predictors(ta.Dataset.from_arrays(columns, secret)))
    assert named <= 6  # Bin(40, .01) exceeds 6 with chance 1.2e-7


def test_categories_are_told_too_and_numbers_are_not_looked_at():
    rng = np.random.default_rng(7)
    secret = rng.integers(0, 4, N)
    (found,) = predictors(people(rng, [(secret + 1) % 4, *noise(rng)], secret))
    assert found.columns == ("a0",)
    assert predictors(people(rng, [secret, *noise(rng)], secret * 1.25 + 0.1)) == ()


def test_the_order_of_people_and_columns_changes_nothing():
    rng = np.random.default_rng(8)
    secret = (rng.random(N) < 0.3).astype(int)
    columns = [secret ^ (np.arange(N) < 9), *noise(rng)]
    order, names = rng.permutation(N), ["a", "b", "c", "d"]
    one = predictors(people(rng, columns, secret, names))
    other = predictors(people(rng, [each[order] for each in columns[::-1]], secret[order], names[::-1]))
    assert one == other


def test_of_very_many_columns_those_that_guess_most_are_paired(monkeypatch):
    monkeypatch.setattr("tellall.people.predictors._WORK", 3 * N)
    rng = np.random.default_rng(9)
    one, other = rng.integers(0, 2, N), (rng.random(N) < 0.9).astype(int)
    found = predictors(people(rng, [*noise(rng, 10), one, other], one & other))
    assert ("a10",) in [each.columns for each in found] or ("a10", "a11") in [each.columns for each in found]


def plan(**more):
    return {"releases": [{"statistic": {"kind": "Marginals", "ways": 2}}], "steps": False, **more}


def told(rng):
    secret = (rng.random(N) < 0.3).astype(int)
    return people(rng, [secret ^ (np.arange(N) < 4), *noise(rng)], secret, ["ward", "b", "c", "d"])


def test_an_audit_says_it_first_and_is_no_pass_unless_it_is_accepted():
    dataset = told(np.random.default_rng(10))
    found = ta.audit(dataset, plan())
    assert found.verdict.sentence.startswith("`ward` tells `secret` by itself")
    assert found.verdict.reasons[0].code == "public-tells-secret"
    assert found.document["verdict"]["reasons"][0]["code"] == "public-tells-secret"
    accepted = ta.audit(dataset, plan(accepted_predictors=["ward"]))
    assert "public-tells-secret" not in accepted.verdict.codes
    assert accepted.document["plan"]["accepted_predictors"] == ["ward"]


def test_a_plan_accepts_public_columns_only():
    dataset = told(np.random.default_rng(10))
    with pytest.raises(ta.InvalidInput, match=r"accepted_predictors\.0.*must be a public column"):
        ta.audit(dataset, plan(accepted_predictors=["wart"]))


def test_areas_say_it_too():
    dataset = told(np.random.default_rng(11))
    found = ta.audit(dataset, plan(by="b"))
    assert found.verdict.reasons[0].code == "public-tells-secret"


def test_luck_is_the_tail_of_the_hypergeometric_law():
    from itertools import combinations

    unusual = {0, 1, 2}
    drawn = [len(unusual & set(some)) for some in combinations(range(9), 4)]
    for right in range(4):
        assert _by_luck(9, 3, 4, right) == pytest.approx(np.mean(np.array(drawn) >= right))


def test_one_cut_of_a_number_tells_the_secret():
    """Bands near the deciles hold both values; 30 columns of noise hold no such cut."""
    rng = np.random.default_rng(8)
    months = np.r_[rng.integers(1, 70, 90), rng.integers(70, 82, 160)].astype(float)
    again = (months < 70).astype(int)
    again[[3, 100, 101, 102, 103]] ^= 1
    told = ta.Dataset.from_arrays(np.column_stack([months, rng.normal(size=(250, 30))]), again)
    (found,) = predictors(told)
    assert found.columns == ("a0",)
    assert found.cut == 70
    assert "`a0` (below 70 or not) tells `secret` by itself" in found.sentence
    assert predictors(told, ["a0"]) == ()
