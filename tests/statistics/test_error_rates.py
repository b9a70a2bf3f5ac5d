import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from tests.conftest import random_people

import tellall as ta
from tellall.release import catalogue
from tellall.testing import check_statistic

TREE = {
    "if": "a0 == 1",
    "then": {"if": "a1 == 1", "then": 0, "else": 1},
    "else": {"if": "a2 == 1", "then": 1, "else": 0},
}


def first_column(x):
    return x[:, 0]


@pytest.fixture(scope="module")
def people():
    return random_people(40, 6, seed=1)


@given(st.integers(2, 15), st.integers(1, 6), st.integers(0, 10**6))
@settings(max_examples=15)
def test_rates_are_counted_and_the_equations_hold(n, m, seed):
    rng = np.random.default_rng(seed)
    people = ta.Dataset.from_arrays(np.arange(n)[:, None], np.arange(n) % 2)
    answers = rng.integers(0, 2, (m, n))
    subset = rng.integers(0, 2, n)
    subset[rng.integers(n)] = 1
    classifiers = [lambda x, row=row: row[x[:, 0].astype(int)] for row in answers]
    for scale in ("fractions", "counts"):
        whole = ta.ErrorRates(classifiers, scale=scale)
        wrong = answers != people.secret
        assert np.allclose(
            ta.publish(people, whole).values, wrong.mean(1) if scale == "fractions" else wrong.sum(1)
        )
        check_statistic(whole, people)
        part = ta.ErrorRates(classifiers, subset=subset, scale=scale)
        inside = wrong[:, subset == 1]
        assert np.allclose(
            ta.publish(people, part).values, inside.mean(1) if scale == "fractions" else inside.sum(1)
        )
        check_statistic(part, people)


def test_a_tree_is_its_nested_conditions(people):
    a0, a1, a2 = people.public.codes[:3]
    predicted = np.where(a0 == 1, a1 == 0, a2 == 1)
    rates = ta.publish(people, ta.ErrorRates([TREE, "a0 == 1 and not a1 == 1"]))
    assert rates.values.tolist() == [
        np.mean(predicted != people.secret),
        np.mean(((a0 == 1) & (a1 == 0)) != people.secret),
    ]
    check_statistic(rates.statistic, people)


def test_a_tree_over_every_choice_of_attributes_is_a_predicate(people):
    """tree(x_J) xor s over all ordered triples of attributes: the two statistics say the same."""
    trees, d = [], len(people.public.columns)
    for i, j, k in np.ndindex(d, d, d):
        if len({i, j, k}) == 3:
            trees.append(json.loads(json.dumps(TREE).replace("a0", f"b{i}").replace("a1", f"b{j}")
                                    .replace("a2", f"b{k}").replace("b", "a")))  # fmt: skip
    table = [[(1 - j if i else k) ^ s for s in (0, 1)] for i, j, k in np.ndindex(2, 2, 2)]
    errors = ta.publish(people, ta.ErrorRates(trees, scale="counts"))
    counts = ta.publish(people, ta.Predicates(np.ravel(table)))
    assert np.array_equal(errors.values, counts.values)
    one, other = (ta.linearise(release, people.public) for release in (errors, counts))
    assert np.array_equal(one.operator.to_dense(), other.operator.to_dense())
    assert np.array_equal(one.target, other.target)


def test_random_trees_give_every_bit_of_exact_rates():
    people = random_people(30, 12, seed=2)
    rng = np.random.default_rng(3)

    def tree(depth: int):
        if depth == 0:
            return int(rng.integers(2))
        return {"if": f"a{rng.integers(12)} == 1", "then": tree(depth - 1), "else": tree(depth - 1)}

    attack = ta.reconstruct(ta.publish(people, ta.ErrorRates([tree(4) for _ in range(120)])), people.public)
    assert attack.evidence.rank == people.n
    assert np.array_equal(attack.guess, people.secret)


def test_fitted_models_functions_and_frames():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {"age": rng.integers(20, 80, 60), "sex": rng.choice(["f", "m"], 60), "s": np.arange(60) % 2}
    )
    frame.loc[3, "sex"] = None
    people = ta.Dataset.from_frame(frame, secret="s", bins=5)
    public = people.public
    named = DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame[["age"]], frame["s"])
    text = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()).fit(
        frame[["sex", "age"]], frame["s"]
    )
    words = DecisionTreeClassifier(max_depth=2, random_state=0).fit(
        frame[["age"]], np.where(frame["s"] == 1, "yes", "no")
    )
    codes = np.column_stack([frame["age"], public.codes[1]])
    bare = DecisionTreeClassifier(max_depth=3, random_state=0).fit(codes, frame["s"])
    statistic = ta.ErrorRates([named, text, words, bare, lambda x: x["sex"] == "f", first_even])
    wanted = [
        named.predict(frame[["age"]]),
        text.predict(frame[["sex", "age"]]),
        words.predict(frame[["age"]]) == "yes",
        bare.predict(codes),
        frame["sex"] == "f",
        frame["age"] % 2 == 0,
    ]
    release = ta.publish(people, statistic)
    assert np.allclose(release.values, [np.mean(p != frame["s"]) for p in wanted])
    check_statistic(statistic, people)
    assert ta.publish(people, ta.ErrorRates(named)).values.tolist() == [release.values[0]]


def first_even(x):
    return x[:, 0] % 2 == 0


def test_saved_as_predictions_and_as_nested_conditions(tmp_path):
    people = random_people(50, 7, seed=5)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(people.public.codes.T, people.secret)
    for subset in (None, "a0 == 1", np.arange(50) % 2):
        statistic = ta.ErrorRates([model, first_column, TREE, "a3 == 0"], subset=subset)
        release = ta.publish(people, statistic, ta.Rounding(0.01))
        path = release.save(tmp_path / "release.json")
        again = ta.Release.load(path)
        assert np.array_equal(again.values, release.values)
        one, other = (ta.linearise(r, people.public) for r in (release, again))
        assert np.array_equal(one.operator.to_dense(), other.operator.to_dense())
        assert np.array_equal(one.target, other.target)
        if subset is None or isinstance(subset, str):  # people may come in another order
            order = np.random.default_rng(0).permutation(50)
            turned = ta.linearise(again, people.public.take(order))
            assert np.array_equal(turned.operator.to_dense(), one.operator.to_dense()[:, order])
        plain = json.loads(path.read_text())["statistic"]["classifiers"]
        assert plain[0]["description"].startswith("DecisionTreeClassifier")
        assert plain[1]["description"] == "function first_column"
        assert plain[2:] == [{**TREE, "else": "a2 == 1"}, "a3 == 0"]  # a condition is its own short tree
        second = ta.Release.load(again.save(tmp_path / "again.json"))
        assert second.statistic == again.statistic


def test_what_cannot_be_saved_is_refused_in_one_sentence(tmp_path):
    people = ta.Dataset.from_arrays([[0, 1], [0, 1], [1, 1], [1, 0]], [0, 1, 1, 0])
    by_place = ta.publish(people, ta.ErrorRates([lambda x: np.arange(len(x)) % 2]))  # not of the columns
    unpublished = ta.Release(np.array([0.5]), ta.ErrorRates([first_column]))
    for release in (by_place, unpublished):
        with pytest.raises(ta.InvalidInput, match="classifiers must be published before") as caught:
            release.save(tmp_path / "release.json")
        assert "\n" not in str(caught.value)


def test_a_risk_can_be_scored():
    people = random_people(60, 12, seed=6)
    trees = [
        {"if": f"a{i} == 1", "then": f"a{j} == 1", "else": {"if": f"a{j} == 1", "then": 0, "else": 1}}
        for i in range(12)
        for j in range(i)
    ]
    attack = ta.reconstruct(ta.publish(people, ta.ErrorRates(trees)), people.public)
    risk = ta.score(attack, people.secret)
    assert risk.accuracy == 1.0
    assert "population" in risk.baselines


def test_the_rate_of_nobody_is_missing():
    people = random_people(30, 10, seed=7)
    alone = "a0 == 1 and a1 == 1 and a2 == 1 and a3 == 1 and a4 == 1 and a5 == 1 and a6 == 1"
    nobody = f"{alone} and a0 == 0"
    release = ta.publish(people, ta.ErrorRates(["a7 == 1"], subset=nobody))
    assert np.isnan(release.values).all()
    assert ta.linearise(release, people.public).target.size == 0
    assert ta.publish(people, ta.ErrorRates(["a7 == 1"], subset=nobody, scale="counts")).values.tolist() == [
        0
    ]
    codes = people.public.codes.copy()
    codes[:7, 0] = 1
    codes[6, 1:] = 0  # one person satisfies the condition, so folds without them have nobody
    people = ta.Dataset.from_arrays(codes.T, people.secret)
    release = ta.publish(people, ta.ErrorRates(["a7 == 1"], subset=alone), ta.Gaussian(0.1), rng=0)
    attack = ta.reconstruct([release, ta.publish(people, ta.Predicates("xor", 3))], people.public)
    assert "population" in ta.score(attack, people.secret).baselines


def fails(x):
    raise RuntimeError("no\nway")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda p: ta.ErrorRates([]), "classifiers must be one or more"),
        (lambda p: ta.ErrorRates([5]), "classifiers must be fitted classifiers"),
        (lambda p: ta.ErrorRates(None), "classifiers must be fitted classifiers"),
        (lambda p: ta.ErrorRates([DecisionTreeClassifier]), "classifiers must be fitted classifiers"),
        (lambda p: ta.ErrorRates(["a0 =="]), "where it has its end"),
        (lambda p: ta.ErrorRates([{"if": "a0 == 1", "then": 1}]), "trees with 'if', 'then' and 'else'"),
        (lambda p: ta.ErrorRates([{"if": "a0 == 1", "then": 2, "else": 0}]), "leaves are 0 or 1; got 2"),
        (lambda p: ta.ErrorRates([{"if": "a0 == 1", "then": None, "else": 0}]), "leaves are 0 or 1"),
        (lambda p: ta.ErrorRates([{"if": 3, "then": 1, "else": 0}]), "condition must be text"),
        (lambda p: ta.ErrorRates(["a0 == 1"], subset=[0, 2]), "subset must be masks of bits"),
        (lambda p: ta.ErrorRates(["a0 == 1"], scale="percent"), "scale must be"),
        (lambda p: ta.publish(p, ta.ErrorRates(["b == 1"])), "a column of the table"),
        (
            lambda p: ta.publish(p, ta.ErrorRates(["a0 == 1"], subset=np.zeros(40, dtype=int))),
            "one person or more",
        ),
        (lambda p: ta.publish(p, ta.ErrorRates(["a0 == 1"], subset=[0, 1])), "one bit per person"),
        (lambda p: ta.publish(p, ta.ErrorRates([fails])), "got RuntimeError\\."),
        (lambda p: ta.publish(p, ta.ErrorRates([DecisionTreeClassifier()])), "NotFittedError"),
        (lambda p: ta.publish(p, ta.ErrorRates([lambda x: x])), "one prediction per person \\(40\\)"),
        (lambda p: ta.publish(p, ta.ErrorRates([lambda x: x[:, 0] + 1])), "predict 0 or 1"),
        (lambda p: ta.publish(p, ta.ErrorRates([lambda x: x[:, 0] * np.nan])), "predict 0 or 1"),
        (lambda p: ta.publish(p, ta.ErrorRates([lambda x: x["b"] == 1])), "a column of the table"),
        (
            lambda p: ta.publish(
                p, ta.ErrorRates([DecisionTreeClassifier().fit(p.public.codes[:2].T, p.secret)])
            ),
            "fitted to the 6 public columns; got one fitted to 2",
        ),
        (lambda p: ta.publish(ta.Dataset(p.public), ta.ErrorRates(["a0 == 1"])), "no secret"),
        (
            lambda p: catalogue.build("statistic", {"kind": "ErrorRates", "models": []}),
            "models is not a parameter of ErrorRates",
        ),
        (lambda p: ta.ErrorRates([{"bits": "ff", "people": 8}]), "predictions with a description"),
    ],
)
def test_bad_classifiers_get_one_clear_sentence(people, make, says):
    with pytest.raises(ta.InvalidInput, match=says) as caught:
        make(people)
    assert "\n" not in str(caught.value)


def test_trees_are_not_endless():
    deep: object = 1
    for _ in range(60):
        deep = {"if": "a0 == 1", "then": deep, "else": 0}
    with pytest.raises(ta.InvalidInput, match="at most 50 deep"):
        ta.ErrorRates([deep])


def test_shares_of_the_people_of_a_condition_have_no_sensitivity(people):
    """Replacing the only person who satisfies it makes the rates go missing."""
    rows = people.public.codes.T.copy()
    rows[:, 0] = 0
    rows[0, 0] = 1
    alone = ta.Dataset.from_arrays(rows, people.secret)
    rows[0, 0] = 0
    gone = ta.Dataset.from_arrays(np.vstack([rows, 1 - rows[:1]]), [*people.secret, 0]).take(np.arange(40))
    rates = ta.ErrorRates(["a1 == 1"], "a0 == 1")
    assert not np.isnan(rates.values(alone)).any()
    assert np.isnan(rates.values(gone)).all()
    assert ta.guarantee_of(ta.Laplace(1.0), rates, alone.public) is None
    for kept in (
        ta.ErrorRates(["a1 == 1"]),
        ta.ErrorRates(["a1 == 1"], np.arange(40) < 3),
        ta.ErrorRates(["a1 == 1"], "a0 == 1", scale="counts"),
    ):
        assert kept.sensitivity(alone.public) == (1.0, 1.0)
