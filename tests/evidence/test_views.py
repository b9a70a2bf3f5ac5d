"""Attackers who do not know every column, everybody, or who is in."""

from itertools import pairwise

import numpy as np
import pytest
from tests.release.examples import BINS, EXAMPLES, crowd
from tests.release.test_where import WOMEN, some_people, unknowns, women_of

import tellall as ta
from tellall.evidence.linearise import linearise
from tellall.evidence.view import UNKNOWN_TO_ATTACKER, Knowledge
from tellall.testing import check_views

STATISTICS = [
    ta.Marginals(1),
    ta.Marginals(3),
    ta.Marginals(2, [["area"], ["sex"]], scale="fractions"),
    ta.SubsetCounts(["age < 40", "sex = 'f'", "area = 'a' or age > 60"]),
    ta.SubsetCounts([np.arange(60) % 2, np.arange(60) % 3 == 0], scale="fractions"),
    ta.Predicates("and", 2),
    ta.Predicates("xor", 2, attributes=[["sex = f"], ["area = a"]]),
    ta.Estimator("linear", blocks=[["age"]], intercept=True),
    ta.Estimator("logistic", blocks=[["age"]], intercept=True),
    ta.ErrorRates(["sex = 'f'", "age < 40"]),
    ta.Marginals(2, scale="rates"),
    ta.Sums(2),
    ta.CellMeans(2, counts=True),
    ta.Correlations("covariances", columns=["age"]),
    ta.Extremes(2),
    ta.SurvivalCurve("age"),
    ta.CellCounts(
        ("sex",), (("f", "m"),), tuple((code, value) for code in range(2) for value in range(2)), levels=2
    ),
]
KINDS = {
    ta.Marginals: (None, "categories"),
    ta.Estimator: (None, "reals"),
    ta.Sums: (None, "reals"),
    ta.CellMeans: (None, "reals"),
    ta.Correlations: (None, "reals"),
    ta.Extremes: (None, "reals"),
}  # others take bits alone


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in ("Tables", "Means")])
def test_equations_hold_for_an_example_of_every_statistic_about_a_secret(name):
    frame, rng = crowd(0), np.random.default_rng(0)
    secrets = (frame["ill"], rng.integers(0, 3, frame["ill"].size), rng.normal(size=frame["ill"].size))
    kinds = [ta.Dataset.from_frame({**frame, "ill": one}, secret="ill", bins=BINS) for one in secrets]
    taken = [people for people in kinds if accepts(EXAMPLES[name], people)]
    assert taken
    for people in taken:
        check_views(EXAMPLES[name], people)


def accepts(statistic, people):
    try:
        ta.linearise(ta.publish(people, statistic), people.public)
    except ta.InvalidInput:
        return False
    return True


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda each: each.describe())
@pytest.mark.parametrize("kind", [None, "categories", "reals"])
def test_equations_hold_for_every_statistic_part_and_view(statistic, kind):
    people = some_people(kind=kind)
    if kind in KINDS.get(type(statistic), (None,)):
        check_views(statistic, people)
    else:
        with pytest.raises(ta.InvalidInput, match="must be"):
            ta.publish(people, statistic)


def bounds_hold(attack, people):
    """Whether the true secret is possible, and every proof right."""
    evidence = attack.evidence
    truth = unknowns(people).reshape(evidence.values, -1)
    counts = np.concatenate([np.bincount(evidence.groups.index, each) for each in truth])
    box = evidence.enclosure
    inside = (box.lower <= counts + 1e-9).all() and (counts <= box.upper + 1e-9).all()
    return inside and (attack.guess[attack.proved] == people.secret[attack.proved]).all()


PROTECTIONS = [
    None,
    ta.Rounding(5),
    ta.Rounding(3, "random"),
    ta.Suppression(4),
    [ta.Rounding(5), ta.Suppression(10)],
]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("protect", PROTECTIONS, ids=str)
def test_nothing_false_is_proved_with_any_view(protect, seed):
    people = some_people(30, seed, kind=[None, "categories"][seed % 2])
    release = ta.publish(people, ta.Marginals(3), protect, rng=seed)
    few = np.sort(np.random.default_rng(seed).permutation(30)[:27])
    public = people.public
    coarse = public.coarser(age=public.columns[1].cuts[:1])
    quick = {"decoder": "least-squares", "proof_effort": 100}
    for view in (public.only("sex", "area"), public.only("age"), coarse):
        assert bounds_hold(ta.reconstruct(release, view, **quick), people)
    known = people.take(few)
    assert bounds_hold(ta.reconstruct(release, known.public, missing=3, **quick), known)
    sample = ta.publish(known, ta.Marginals(3), protect, rng=seed)
    assert bounds_hold(ta.reconstruct(sample, public, may_include=True, **quick), people)
    # some strangers are in the release and some people of the view are not
    other = ta.publish(people.take(np.arange(3, 30)), ta.Marginals(3), protect, rng=seed)
    front = people.take(np.arange(28))
    attack = ta.reconstruct(other, front.public, missing=2, may_include=True, **quick)
    assert bounds_hold(attack, front)


def test_tables_are_summed_over_what_is_not_known():
    people = some_people()
    whole = ta.linearise(ta.publish(people, ta.Marginals(2, [["sex"]])), people.public)
    view = people.public.only("sex")
    summed = ta.linearise(ta.publish(people, ta.Marginals(3, [["sex", "area"]])), view)
    assert np.array_equal(summed.operator.to_dense(), whole.operator.to_dense())
    assert np.array_equal(summed.target, whole.target)
    noisy = ta.linearise(ta.publish(people, ta.Marginals(3, [["sex", "area"]]), ta.Gaussian(2.0)), view)
    assert noisy.std == pytest.approx(4.0)  # four areas


def test_hidden_cells_leave_an_interval_of_the_sum():
    people = some_people()
    view = people.public.only("sex")
    release = ta.publish(people, ta.Marginals(3, [["sex", "area"]]), ta.Suppression(6))
    evidence = linearise(release, view)
    assert np.isnan(release.values).any()
    for part in evidence.parts:
        assert part.hidden is not None
        error = np.abs(part.operator @ people.secret - part.rows.target)
        assert (error <= part.rows.bound + 1e-9).all()


def test_many_people_of_whom_little_is_known():
    """More secrets fit than a number in floating point can count."""
    people = some_people(4000)
    attack = ta.reconstruct(ta.publish(people, ta.Marginals(2), ta.Rounding(5)), people.public.only("sex"))
    assert attack.n == 4000


def test_columns_are_named_one_by_one_or_in_a_list():
    public = some_people().public
    assert public.only("sex", "age").names == public.only(["sex", "age"]).names == ("sex", "age")
    assert public.only().names == ()


def test_more_columns_than_the_release_has_change_nothing():
    people = some_people()
    few = ta.Dataset(people.public.only("area", "sex"), people.secret)
    release = ta.publish(few, ta.Marginals(3))
    one, other = ta.linearise(release, few.public), ta.linearise(release, people.public)
    assert np.array_equal(one.operator.to_dense(), other.operator.to_dense())
    assert np.array_equal(one.target, other.target)


def test_numbers_cut_otherwise_are_cut_as_the_release_does_it():
    rng = np.random.default_rng(0)
    frame = {"age": rng.integers(20, 80, 60), "ill": rng.integers(0, 2, 60)}
    one = ta.Dataset.from_frame(frame, secret="ill", bins={"age": [40, 60]})
    other = ta.Dataset.from_frame(frame, secret="ill", bins={"age": [35, 50]})
    evidence = ta.linearise(ta.publish(one, ta.Marginals(2)), other.public)
    assert np.allclose(evidence.operator @ other.secret, evidence.target)


def test_coarser_columns_keep_the_numbers_of_the_others():
    people = some_people()
    view = people.public.coarser(area=dict.fromkeys("abcd", "all"))
    assert np.array_equal(view.numbers[1], people.public.numbers[1])
    assert view.numbers[0] is view.numbers[2] is None
    bare = type(people.public)(people.public.columns, people.public.codes).coarser(
        area=dict.fromkeys("abcd", "x")
    )
    assert bare.numbers[0] is bare.numbers[1] is None


def test_coarser_categories_are_sums_of_finer_ones():
    people = some_people()
    north = {"a": "north", "b": "north", "c": "south", "d": "south"}
    view = people.public.coarser(area=north)
    assert view.columns[2].labels == ("north", "south")
    evidence = ta.linearise(ta.publish(people, ta.Marginals(2, [["area"]])), view)
    assert evidence.operator.shape == (4, 60)
    assert np.allclose(evidence.operator @ people.secret, evidence.target)
    skipped = ta.linearise(ta.publish(people, ta.Marginals(2), where="area = 'a'"), view).skipped
    assert "it is not known who it is about" in skipped[0].reason
    assert skipped[0].code == UNKNOWN_TO_ATTACKER


def test_who_is_missing_is_read_off_exact_totals():
    people = some_people()
    view = people.public.take(np.arange(57))
    exact = ta.publish(people, ta.Marginals(2))
    told, read = ta.linearise(exact, view, known=Knowledge(missing=3)), ta.linearise(exact, view)
    assert np.array_equal(told.target, read.target)
    hidden = ta.publish(people, ta.Marginals(2), ta.Rounding(5))
    with pytest.raises(
        ta.InvalidInput, match=r"got 57 people, not 60\. If it counts 3 people .*missing=3, or --missing 3"
    ):
        ta.reconstruct(hidden, view)
    assert ta.reconstruct(hidden, view, missing=3).n == 57
    with pytest.raises(ta.InvalidInput, match="missing must be 3, since the release counts 60"):
        ta.reconstruct(hidden, view, missing=2)


def test_known_secrets_are_known():
    for kind in (None, "categories", "reals"):
        people = some_people(kind=kind)
        told = {row: people.secret[row].item() for row in range(0, 60, 3)}
        statistic = ta.Estimator("linear", blocks=[["age"]]) if kind == "reals" else ta.Marginals(3)
        quick = {"decoder": "least-squares", "proof_effort": 0}
        attack = ta.reconstruct(ta.publish(people, statistic), people.public, known_secrets=told, **quick)
        rows = list(told)
        if kind == "reals":
            assert np.allclose(attack.guess[rows], people.secret[rows], atol=0.1)
        else:
            assert attack.proved[rows].all()
            assert np.array_equal(attack.guess[rows], people.secret[rows])
        assert ta.score(attack, people.secret).n == 40


@pytest.mark.parametrize("protect", [None, ta.Gaussian(3000.0)], ids=repr)
@pytest.mark.parametrize("bounds", [None, (0, None), (0, 1e6)])
@pytest.mark.parametrize("statistic", [ta.Sums(2), ta.CellMeans(2), ta.Sums(1)], ids=repr)
def test_known_numbers_may_all_be_zero(statistic, bounds, protect):
    """They have no size of their own: the published values show the unit."""
    rng = np.random.default_rng(0)
    numbers = np.r_[0.0, 0.0, rng.lognormal(10, 1, 28)]
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (30, 3)), numbers)
    release = ta.publish(people, statistic, protect, rng=0)
    found = ta.reconstruct(release, people.public, known_secrets={0: 0.0, 1: 0.0}, bounds=bounds)
    assert found.status.word != "contradictory"
    assert np.array_equal(found.interval[:2], np.zeros((2, 2)))
    inside = (found.interval[:, 0] <= numbers) & (numbers <= found.interval[:, 1])
    assert inside.mean() > 0.8


def test_a_secret_that_contradicts_the_release_says_so():
    people = some_people()
    release = ta.publish(people, ta.Marginals(2))
    nobody = dict.fromkeys(range(60), 0)
    attack = ta.reconstruct(release, people.public, "least-squares", known_secrets=nobody, proof_effort=0)
    assert attack.status.word == "contradictory"


def test_what_is_not_usable_is_listed_with_the_reason():
    people = some_people()
    view = people.public.only("sex")
    fit = ta.publish(people, ta.Estimator("linear", blocks=[["age"]]))
    some = ta.publish(people, ta.Marginals(2), where="area = 'a'")
    attack = ta.reconstruct([fit, some, ta.publish(people, ta.Marginals(2))], view)
    assert str(attack.skipped[0]).endswith("needs age, which this attacker does not know")
    assert str(attack.skipped[1]).endswith("where area = 'a': needs area, which this attacker does not know")
    assert len(attack.skipped) == 2
    alone = ta.reconstruct(fit, view)
    assert alone.status.word == "uncalibrated"
    strangers = ta.reconstruct(
        [fit, ta.publish(people, ta.Marginals(2))], people.public.take(range(58)), missing=2
    )
    assert "it is not about exactly the people who are known" in strangers.skipped[0].reason


@pytest.mark.parametrize("protect", [None, ta.Rounding(5), ta.Gaussian(1.0)], ids=str)
def test_who_knows_nothing_but_the_release_has_no_advantage(protect):
    for seed in range(3):
        people = some_people(80, seed)
        release = ta.publish(people, ta.Marginals(3), protect, rng=seed)
        risk = ta.score(ta.reconstruct(release, people.public.only()), people.secret)
        assert risk.advantage <= 0
        assert risk.exposed == risk.proved_alone == risk.proved_group == 0
        if protect is None:
            assert risk.advantage == 0


def test_knowing_less_never_helps():
    """Means over 12 worlds; with fewer columns nothing is proved that more columns do not prove."""
    accuracy = np.zeros((12, 3))
    for seed in range(12):
        people = some_people(40, seed)
        release = ta.publish(people, ta.Marginals(3))
        attacks = [
            ta.reconstruct(release, people.public.only(*names), proof_effort=300)
            for names in (("sex", "age", "area"), ("sex", "area"), ("sex",))
        ]
        accuracy[seed] = [(attack.guess == people.secret).mean() for attack in attacks]
        for more, less in pairwise(attacks):
            assert not (less.proved & ~more.proved).any()
        few = ta.reconstruct(release, people.public.take(range(36)), proof_effort=500)
        assert not (few.proved & ~attacks[0].proved[:36]).any()
    mean = accuracy.mean(axis=0)
    assert mean[0] > mean[1] - 0.01 > mean[2] - 0.02


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (lambda p: p.only("agee"), "names must be a column of the table .*Did you mean 'age'"),
        (lambda p: p.take([99]), "rows must be rows from 0 to 59"),
        (lambda p: p.take(np.ones(3, dtype=bool)), "rows must be rows from 0 to 59"),
        (lambda p: p.coarser(age=[1.5]), "column 'age' must be cut at some of its cut points"),
        (lambda p: p.coarser(area={"a": "x"}), "column 'area' must be given a group for every value"),
        (lambda p: p.coarser(area=[3]), "column 'area' must be a column of numbers"),
        (lambda p: p.coarser(age=3), "column 'age' must be given cut points"),
    ],
)
def test_wrong_views_are_refused_in_a_sentence(view, message):
    with pytest.raises(ta.InvalidInput, match=message):
        view(some_people().public)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"missing": -1}, "missing must be a number of people"),
        ({"missing": 1.5}, "missing must be a number of people"),
        ({"missing": 4}, "missing must be 0, since"),
        ({"may_include": "yes"}, "may_include must be True or False"),
        ({"known_secrets": [1]}, "known_secrets must be a mapping"),
        ({"known_secrets": {60: 1}}, "known_secrets must be rows from 0 to 59; got 60"),
        ({"known_secrets": {1: 2}}, "known_secrets must be values from 0 to 1"),
    ],
)
def test_wrong_knowledge_is_refused_in_a_sentence(options, message):
    people = some_people()
    with pytest.raises(ta.InvalidInput, match=message):
        ta.reconstruct(ta.publish(people, ta.Marginals(2)), people.public, **options)


def test_people_of_another_file_are_refused_in_a_sentence():
    people = some_people()
    release = ta.publish(people, ta.Marginals(2))
    other = ta.Dataset.from_frame({"height": np.arange(60)})
    with pytest.raises(ta.InvalidInput, match=r"the columns of the release \(sex, age, area\); got height"):
        ta.reconstruct(release, other)
    more = ta.Dataset.from_frame({"sex": np.array(["f", "m", "x"])[np.arange(60) % 3]})
    with pytest.raises(ta.InvalidInput, match="3 categories of sex, not 2"):
        ta.reconstruct(release, more)


def test_parts_are_known_as_far_as_the_view_goes():
    people = some_people()
    women = women_of(people)
    rows = np.flatnonzero(np.arange(60) % 10 != 0)
    known = people.take(rows)
    both = [ta.publish(people, ta.Marginals(3), where=where) for where in (None, WOMEN)]
    attack = ta.reconstruct(both, known.public)
    assert bounds_hold(attack, known)
    assert ta.reconstruct(both, known.public, missing=6).n == rows.size
    assert int(women.sum()) > int(women[rows].sum())


def holds(evidence, secret):
    """Whether everything certain, and every bound of a row, is true of this secret."""
    (part,) = evidence.parts
    image = part.source @ secret.astype(float)
    bounds, rows = part.bounds, part.rows
    known = (bounds.low - 1e-6 <= image).all() and (image <= bounds.high + 1e-6).all()
    return known and (np.abs(image[part.index] - rows.target) <= rows.bound + 1e-6).all()


STRANGE = {
    "errors in a subset": (ta.ErrorRates(["a = 1", "b = 1"], subset="c = 1"), None),
    "errors": (ta.ErrorRates(["a = 1", "b = 1"]), None),
    "complemented": (ta.Marginals(2), ta.Complement(1.0)),
    "complemented pairs": (ta.Predicates("xor", 2), ta.Complement(1.0)),
    "complemented errors": (ta.ErrorRates(["a = 1"], scale="counts"), ta.Complement(1.0)),
    "hidden": (ta.Marginals(3), ta.Suppression(3)),
    "rounded, then hidden": (ta.Marginals(2), [ta.Rounding(3), ta.Suppression(4)]),
    "hidden, then rounded": (ta.Marginals(3), [ta.Suppression(2), ta.Rounding(4)]),
}


@pytest.mark.parametrize("known", [Knowledge(missing=2), Knowledge(may_include=True), None])
@pytest.mark.parametrize(("statistic", "protect"), STRANGE.values(), ids=STRANGE)
def test_strangers_make_nothing_false(statistic, protect, known):
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n, secret = 13, np.append([0, 1], rng.integers(0, 2, 11))
        bits = {name: np.append(rng.permutation([0, 1]), rng.integers(0, 2, n - 2)) for name in "abc"}
        people = ta.Dataset.from_frame(bits | {"s": secret}, secret="s")
        released, view = np.arange(n), np.arange(n)
        if known is None or known.missing:
            view = view[:-2]
        if known is None or known.may_include:
            released = np.append(np.flatnonzero(rng.random(n - 2) < 0.8), [n - 2, n - 1])
        told = Knowledge(missing=2, may_include=True) if known is None else known
        release = ta.publish(people.take(released), statistic, protect, rng=seed)
        assert holds(linearise(release, people.public.take(view), known=told), secret[view])


@pytest.mark.parametrize("options", [{"missing": 3}, {"missing": 3, "may_include": True}])
def test_a_release_about_nobody_in_the_view_says_nothing(options):
    columns = {"a": [0, 1, 0, 1, 1, 0], "b": [0, 0, 1, 1, 0, 1], "s": [0, 1, 1, 0, 1, 0]}
    people = ta.Dataset.from_frame(columns, secret="s")
    for statistic in (ta.Marginals(2), ta.Sums(2), ta.ErrorRates(["b = 1"]), ta.Predicates("xor", 2)):
        release = ta.publish(people, statistic, where="a = 1")
        found = ta.reconstruct(release, people.public.take(np.array([0, 2, 5])), **options)
        assert "nobody who is known" in found.evidence.skipped[0].reason
        assert "proved" not in found.identified
