"""Formulas and fits from elsewhere: categories, products, probit and Poisson, as statsmodels has them."""

import numpy as np
import pytest

import tellall as ta
from tellall.testing import check_statistic

pd = pytest.importorskip("pandas")
pytest.importorskip("formulaic")
smf = pytest.importorskip("statsmodels.formula.api")
RNG = np.random.default_rng(7)
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(20, 60, 80).astype(float),
        "sex": RNG.choice(["f", "m"], 80),
        "town": RNG.choice(["a", "b", "c"], 80),
        "edu": RNG.integers(1, 4, 80),
        "y": RNG.normal(3, 1, 80),
        "ill": RNG.permutation(np.arange(80) % 2),
    }
)
REALS = ta.Dataset.from_frame(FRAME.drop(columns="ill"), secret="y")
BITS = ta.Dataset.from_frame(FRAME.drop(columns="y"), secret="ill")


@pytest.mark.parametrize(
    "right", ["age + C(sex)", "age * C(town)", "sex + C(edu):age + age", "0 + C(town) + age", "C(edu)"]
)
def test_coefficients_are_those_of_statsmodels(right):
    formula = f"y ~ {right}"
    known = smf.ols(formula, FRAME).fit()
    release = ta.publish(REALS, ta.Estimator("linear", formula=formula))
    np.testing.assert_allclose(np.sort(release.values), np.sort(known.params.to_numpy()), atol=1e-8)
    check_statistic(ta.Estimator("linear", formula=formula), REALS)
    read = ta.release_from_fits(known, REALS.public)
    assert read.values.size == release.values.size


def test_results_of_a_formula_are_read_as_they_are():
    known = smf.ols("y ~ age + C(sex) + town", FRAME).fit()
    read = ta.release_from_fits(known, REALS)
    own = ta.publish(REALS, ta.Estimator("linear", formula="y ~ age + C(sex) + town"))
    np.testing.assert_allclose(np.sort(read.values), np.sort(own.values), atol=1e-8)
    evidence = ta.linearise(read, REALS.public)
    np.testing.assert_allclose(evidence.operator @ REALS.secret, evidence.target, atol=1e-6)


@pytest.mark.parametrize("kind", ["probit", "poisson", "logit"])
def test_fits_of_bits_from_elsewhere(kind):
    known = getattr(smf, kind)("ill ~ age + C(sex)", FRAME).fit(disp=0, tol=1e-12)
    release = ta.release_from_fits(known, BITS)
    evidence = ta.linearise(release, BITS.public)
    off = np.abs(evidence.operator @ BITS.secret - evidence.target)
    assert off.max() < 1e-4 * np.abs(evidence.operator.to_dense()).sum(axis=1).max()
    loss = {"logit": "logistic"}.get(kind, kind)
    own = ta.publish(BITS, ta.Estimator(loss, formula="ill ~ age + C(sex)"))
    np.testing.assert_allclose(np.sort(own.values), np.sort(known.params.to_numpy()), atol=1e-4)


def test_probit_is_a_loss_like_the_others():
    check_statistic(ta.Estimator("probit", block=2, intercept=True))
    from tellall.statistics.losses import Probit

    score, loss, step = np.linspace(-30, 30, 61), Probit(), 1e-5
    for y in (np.zeros(61), np.ones(61)):
        slope = (loss.losses(score + step, y) - loss.losses(score - step, y)) / (2 * step)
        np.testing.assert_allclose(loss.slope(score, y), slope, atol=1e-5)
        bend = (loss.slope(score + step, y) - loss.slope(score - step, y)) / (2 * step)
        np.testing.assert_allclose(loss.bend(score, y), bend, atol=1e-5)


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ __import__('os').system('true')",
        "y ~ np.log(age)",
        "y ~ age.values",
        "y ~ I(age)",
        "age + sex",
        "y ~ age; 1",
        "y ~ {age}",
        "y ~ `age`",
        3,
        "y ~ age" + " + age" * 1000,
    ],
)
def test_formulas_run_no_code(formula):
    with pytest.raises(ta.InvalidInput, match="formula must be"):
        ta.Estimator("linear", formula=formula)


def test_formulas_that_say_nothing_of_these_people():
    with pytest.raises(ta.InvalidInput, match="formula must be"):
        ta.publish(REALS, ta.Estimator("linear", formula="y ~ height"))
    with pytest.raises(ta.InvalidInput, match="formula must be one with a public column"):
        ta.publish(REALS, ta.Estimator("linear", formula="y ~ 1"))
    with pytest.raises(ta.InvalidInput, match="formula must be"):
        ta.publish(REALS, ta.Estimator("linear", formula="y ~ age +"))
    with pytest.raises(ta.InvalidInput, match="formula must be given without"):
        ta.Estimator("linear", 2, formula="y ~ age")


def test_it_is_planned_and_saved(tmp_path):
    plan = {
        "steps": False,
        "releases": [{"statistic": {"kind": "Estimator", "loss": "linear", "formula": "y ~ age + C(sex)"}}],
    }
    audit = ta.audit(REALS, plan)
    assert audit.verdict.word in ("pass", "review")
    assert sum(audit.findings[0].outcome.learnt.values()) == 0
    release = ta.publish(REALS, ta.Estimator("linear", formula="y ~ age + C(sex)"))
    assert ta.Release.load(release.save(tmp_path / "fit.json")).statistic == release.statistic
    assert release.statistic.formula is None  # whoever reads it needs no formulaic


@pytest.mark.parametrize("term", ["C(age)", "age[18]", "C(age)[T.18]"])
def test_categories_of_a_number_that_is_cut_are_refused_with_what_to_do(term):
    rng = np.random.default_rng(0)
    people = ta.Dataset.from_frame(
        {
            "age": rng.integers(18, 90, 300),
            "sex": rng.choice(["f", "m"], 300),
            "pay": rng.exponential(9, 300),
        },
        "pay",
    )
    with pytest.raises(
        ta.InvalidInput, match=r"'age' has many values and is cut for tables: use it as a numb"
    ):
        ta.publish(people, ta.Estimator("linear", blocks=[[term]]))
    with pytest.raises(
        ta.InvalidInput, match=r"'age' has many values and is cut for tables: use it as a numb"
    ):
        ta.publish(people, ta.Estimator("linear", formula="pay ~ C(age) + sex"))
