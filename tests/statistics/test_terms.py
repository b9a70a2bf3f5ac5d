"""Terms of models by the names that other tools give them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tellall as ta
from tellall.statistics.terms import find_term

N = 120
RNG = np.random.default_rng(5)
FRAME = pd.DataFrame(
    {
        "sex": RNG.choice(["f", "m"], N),
        "region": RNG.choice(["east", "north", "south"], N),
        "ward": RNG.integers(1, 4, N),
        "age": RNG.integers(20, 80, N),
        "ill": RNG.permutation(np.arange(N) % 3 == 0).astype(int),
    }
)
PEOPLE = ta.Dataset.from_frame(FRAME, secret="ill")
MALE, NORTH, WARD = FRAME.sex == "m", FRAME.region == "north", FRAME.ward == 2

NAMES = {
    "sex[T.m]": MALE,
    "C(sex)[T.m]": MALE,
    "C(sex, Treatment(reference='f'))[T.m]": MALE,
    "C(region)[north]": NORTH,
    "region_north": NORTH,
    "regionnorth": NORTH,
    "onehot__region_north": NORTH,
    "2.ward": WARD,
    "C(ward)[T.2]": WARD,
    "ward_2.0": WARD,
    "c.age": FRAME.age,
    "num__age": FRAME.age,
    "C(sex)[T.m]:age": MALE * FRAME.age,
    "sex_m:region_north": MALE & NORTH,
}


@pytest.mark.parametrize(("name", "expected"), NAMES.items(), ids=NAMES.keys())
def test_names(name, expected):
    assert find_term(PEOPLE.public, name).numbers(PEOPLE.public).tolist() == expected.astype(float).tolist()


@pytest.mark.parametrize(
    "name", ["C(sex)[T.x]", "sex_x", "np.log(age)", "I(age ** 2)", "colour", "age_31", "ward_9", ""]
)
def test_what_means_nothing_is_refused(name):
    with pytest.raises(ta.InvalidInput, match="must be"):
        find_term(PEOPLE.public, name)


def _is_solved(release):
    evidence = ta.linearise(release, PEOPLE.public)
    assert evidence.target.size == release.values.size
    off = np.abs(evidence.operator @ PEOPLE.secret - evidence.target)
    assert off.max() < 1e-5 * np.abs(evidence.operator.to_dense()).sum(axis=1).max()


@pytest.mark.parametrize("formula", ["ill ~ age + C(sex)", "ill ~ region + age:sex", "ill ~ C(ward) * sex"])
@pytest.mark.parametrize("kind", ["logit", "ols"])
def test_formulas_of_statsmodels(formula, kind):
    from statsmodels.formula import api

    model = getattr(api, kind)(formula, FRAME)
    fit = model.fit(disp=0) if kind == "logit" else model.fit()
    release = ta.release_from_fits(fit, PEOPLE)
    assert set(release.statistic.blocks[0]) == set(fit.params.index) - {"Intercept"}
    _is_solved(release)


def test_pipelines_of_scikit_learn():
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LinearRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    coded = make_column_transformer(
        (OneHotEncoder(drop="first"), ["sex", "region"]), ("passthrough", ["age"])
    )
    fit = make_pipeline(coded, LinearRegression()).fit(FRAME, FRAME.ill)
    _is_solved(ta.release_from_fits(fit, PEOPLE))
    scaled = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["sex"]))
    with pytest.raises(ta.InvalidInput, match="StandardScaler"):
        ta.release_from_fits(make_pipeline(scaled, Ridge()).fit(FRAME, FRAME.ill), PEOPLE)
    alone = make_pipeline(LinearRegression()).fit(FRAME[["age", "ward"]], FRAME.ill)
    assert ta.release_from_fits(alone, PEOPLE).statistic.blocks == (("age", "ward"),)


def test_printed_coefficients_of_other_tools():
    table = {
        "block": [1, 1, 1],
        "term": ["(Intercept)", "sexm", "regionnorth"],
        "value": [0.3, 0.1, -0.2],
    }
    release = ta.read_coefficients(table, PEOPLE, noise=ta.Rounding(1e-4))
    assert release.statistic.blocks == (("sexm", "regionnorth"),)
    assert ta.Estimator("linear", blocks=[["age", "C(sex)[T.m]"]]).values(PEOPLE).size == 2


def test_a_term_of_an_unknown_column_leaves_its_model_out():
    statistic = ta.Estimator("linear", blocks=[["age"], ["C(sex)[T.m]"]])
    kept, values = statistic.without(["sex"], PEOPLE.public)
    assert kept.blocks == (("age",),)
    assert values.tolist() == [0]
