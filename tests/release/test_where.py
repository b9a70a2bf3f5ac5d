"""Releases about some of the people: published, saved, and solved together with others."""

import numpy as np
import pytest

import tellall as ta
from tellall.evidence.query import Query
from tellall.linalg.operators.diagonal import BlockDiagonal
from tellall.linalg.operators.linear_operator import Dense
from tellall.testing import check_operator


def some_people(n=60, seed=0, kind=None):
    rng = np.random.default_rng(seed)
    frame = {
        "sex": np.array(["f", "m"])[rng.permutation(np.arange(n) % 2)],
        "age": rng.integers(20, 80, n),
        "area": np.array(list("abcd"))[rng.integers(0, 4, n)],
        "ill": rng.normal(size=n) if kind == "reals" else rng.integers(0, 3 if kind else 2, n),
    }
    return ta.Dataset.from_frame(frame, secret="ill", bins={"age": 4}, kind=kind)


def unknowns(people):
    if people.levels <= 2:
        return people.secret.astype(float)
    return (np.arange(people.levels)[:, None] == people.secret).astype(float).ravel()


WOMEN = "sex = 'f'"


def women_of(people):
    return people.public.codes[0] == people.public.columns[0].labels.index("f")


def test_a_release_of_some_is_the_release_of_those_alone():
    people = some_people()
    women = women_of(people)
    alone = people.take(np.flatnonzero(women))
    for protect in (None, ta.Rounding(5), ta.Gaussian(2.0), [ta.Rounding(5), ta.Suppression(10)]):
        wanted = ta.publish(alone, ta.Marginals(3), protect, rng=1)
        for where in (WOMEN, women, women.astype(int)):
            got = ta.publish(people, ta.Marginals(3), protect, rng=1, where=where)
            assert np.array_equal(got.values, wanted.values, equal_nan=True)
            assert got.shape.people == women.sum()


@pytest.mark.parametrize("kind", [None, "categories", "reals"])
def test_equations_of_some_hold_about_everybody(kind):
    people = some_people(kind=kind)
    statistic = ta.Estimator("linear", blocks=[["age"]]) if kind == "reals" else ta.Marginals(3)
    for where in (WOMEN, "age < 50 or area = 'a'", np.arange(people.n) != 7):
        release = ta.publish(people, statistic, where=where)
        evidence = ta.linearise(release, people.public)
        assert evidence.n == people.n
        assert evidence.operator.shape[1] == unknowns(people).size
        assert np.allclose(evidence.operator @ unknowns(people), evidence.target)


def test_all_people_and_all_but_one_prove_the_one():
    for kind in (None, "categories"):
        people = some_people(kind=kind)
        others = np.arange(people.n) != 7
        both = [ta.publish(people, ta.Marginals(2), where=where) for where in (None, others)]
        attack = ta.reconstruct(both, people.public)
        assert attack.identified[7] == "proved"
        assert attack.guess[7] == people.secret[7]
        assert attack.reasons(7)
        assert ta.reconstruct(both[0], people.public).identified[7] != "proved"


def test_rounding_and_hiding_leave_what_is_possible():
    people = some_people(200, seed=3)
    protect = [ta.Rounding(5), ta.Suppression(10)]
    others = np.arange(people.n) != 7
    both = [ta.publish(people, ta.Marginals(2), protect, where=where) for where in (None, others)]
    attack = ta.reconstruct(both, people.public)
    evidence = attack.evidence
    truth = np.bincount(evidence.groups.index, people.secret)
    assert (evidence.enclosure.lower <= truth).all()
    assert (truth <= evidence.enclosure.upper).all()
    proved = attack.proved
    assert (attack.guess[proved] == people.secret[proved]).all()


def test_a_regression_of_women_beside_tables_of_everybody():
    rng = np.random.default_rng(5)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (40, 5)), rng.integers(0, 2, 40))
    tables = ta.publish(people, ta.Marginals(2))
    fits = ta.publish(people, ta.Estimator("linear", blocks=[["a1", "a2", "a3"]]), where="a0 = 1")
    attack = ta.reconstruct([tables, fits], people.public)
    image = attack.evidence.operator @ people.secret
    assert np.allclose(image, attack.evidence.target)
    assert attack.evidence.rank > ta.linearise(tables, people.public).rank
    assert attack.status.word != "contradictory"


def test_fits_made_elsewhere_are_about_those_they_were_fitted_to():
    from sklearn.linear_model import LinearRegression

    rng = np.random.default_rng(5)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (40, 4)), rng.integers(0, 2, 40))
    some = people.public.codes[0] == 1
    design = people.public.codes[1:].T
    fit = LinearRegression().fit(design[some], people.secret[some])
    for known in (people, people.public):
        for where in ("a0 = 1", some):
            release = ta.release_from_fits(fit, known, columns=["a1", "a2", "a3"], where=where)
            evidence = ta.linearise(release, people.public)
            assert np.allclose(evidence.operator @ people.secret, evidence.target)
    table = {"block": [1] * 4, "term": ["a1", "a2", "a3", "intercept"]}
    table["value"] = [*fit.coef_, fit.intercept_]
    release = ta.read_coefficients(table, people.public, where=some)
    evidence = ta.linearise(release, people.public)
    assert np.allclose(evidence.operator @ people.secret, evidence.target)


def test_a_condition_is_saved_and_a_mask_never(tmp_path):
    people = some_people()
    path = tmp_path / "release.json"
    by_words = ta.publish(people, ta.Marginals(2), where=WOMEN)
    again = ta.Release.load(by_words.save(path))
    assert again.where == WOMEN
    assert np.array_equal(ta.linearise(again, people.public).target, ta.linearise(by_words, people).target)
    mask = np.arange(people.n) != 7
    by_mask = ta.publish(people, ta.Marginals(2), where=mask)
    assert np.array_equal(by_mask.where, mask)
    blind = ta.Release.load(by_mask.save(path))
    assert blind.where is None
    assert '"where": null' in path.read_text()
    with pytest.raises(ta.InvalidInput, match="60 people, not 59"):
        ta.linearise(blind, people.public)
    told = ta.Release.load(path, where=mask)
    assert np.array_equal(ta.linearise(told, people).target, ta.linearise(by_mask, people).target)
    assert ta.linearise(blind, people.public.take(np.flatnonzero(mask))).n == 59
    with pytest.raises(ta.InvalidInput, match="where must be left out, since the release says"):
        ta.Release.load(by_words.save(path), where=mask)


def test_whose_a_release_is_reads_as_it_was_written():
    people = some_people()
    women = ta.publish(people, ta.Marginals(2), where=WOMEN)
    assert women.where == WOMEN
    assert str(women.where) == WOMEN
    assert women.where == ta.publish(people, ta.Marginals(1), where=WOMEN).where
    assert women.where != "sex = 'm'"
    assert {women.where: 1}[WOMEN] == 1
    assert women.statistic == ta.Marginals(2)
    assert ta.publish(people, ta.Marginals(2)).where is None


def test_what_is_about_everybody_refuses_a_part():
    people = some_people()
    women = ta.publish(people, ta.Tables(2), where=WOMEN)
    with pytest.raises(ta.InvalidInput, match=r"tables of everybody .* where sex = 'f'"):
        ta.reconstruct_rows(women, people.public)
    with pytest.raises(ta.InvalidInput, match="of everybody"):
        ta.rows_from_tables([women])


def test_subsets_of_a_part_are_those_of_its_people():
    people = some_people()
    mask = np.arange(people.n) % 3 == 0
    women = women_of(people)
    for where in (WOMEN, women):
        release = ta.publish(people, ta.SubsetCounts([mask, "age < 40"]), where=where)
        assert release.values[0] == people.secret[mask & women].sum()
        evidence = ta.linearise(release, people.public)
        assert np.allclose(evidence.operator @ people.secret, evidence.target)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("nothing = 1", "condition must be a column of the table"),
        ("sex = 'x'", "condition must be one of the 2 values of the column 'sex'"),
        ("age > 1000", "where must be true of one person or more; got true of nobody"),
        ([True, False], r"where must be a mask of one bit per person \(60\); got 2 bits"),
        (np.zeros(60), "where must be true of one person or more"),
        (np.full(60, 2), "where must be masks of bits"),
        (3.0, "where must be a condition such as"),
        ("age <", "condition must be one that has"),
    ],
)
def test_wrong_people_are_refused_in_a_sentence(where, message):
    with pytest.raises(ta.InvalidInput, match=message):
        ta.publish(some_people(), ta.Marginals(2), where=where)


def test_scores_judge_the_people_of_the_release():
    people = some_people(100)
    women = np.flatnonzero(women_of(people))
    release = ta.publish(people, ta.Marginals(3), where=WOMEN)
    risk = ta.score(ta.reconstruct(release, people.public), people.secret)
    alone = people.take(women)
    same = ta.score(ta.reconstruct(ta.publish(alone, ta.Marginals(3)), alone.public), alone.secret)
    assert risk.n == women.size
    assert risk.accuracy == pytest.approx(same.accuracy)
    assert risk.baselines == pytest.approx(same.baselines)


def test_a_statistic_of_some_has_equations_about_everybody():
    people = some_people()
    release = ta.publish(people, ta.Marginals(2), where=WOMEN)
    women = Query(release.statistic, release.where)
    found = women.equations(people.public, release.values)
    assert np.allclose(found.operator @ people.secret, found.target)
    assert women.size(people.public) == release.values.size
    assert "where sex = 'f'" in women.describe()
    few = np.arange(20)
    fewer = women.take(few, people.public)
    values = fewer.statistic.values(people.take(few[women_of(people)[few]]))
    found = fewer.equations(people.public.take(few), values)
    assert np.allclose(found.operator @ people.secret[few], found.target)


@pytest.mark.parametrize("width", [4, 6, 9])
def test_columns_of_no_part_are_zero(width):
    rng = np.random.default_rng(width)
    parts = [Dense(rng.normal(size=(3, 2))), Dense(rng.normal(size=(2, 2)))]
    columns = np.split(rng.permutation(width)[:4], 2)
    check_operator(BlockDiagonal(parts, columns, width))
    check_operator(BlockDiagonal(parts[:1], columns[:1], width))
