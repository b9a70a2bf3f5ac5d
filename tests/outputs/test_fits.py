"""Fits of statsmodels and scikit-learn, and printed tables, as releases."""

import numpy as np
import pytest

import tellall as ta

pd = pytest.importorskip("pandas")
sm = pytest.importorskip("statsmodels.api")
smf = pytest.importorskip("statsmodels.formula.api")
linear_model = pytest.importorskip("sklearn.linear_model")

N, D, K = 60, 72, 4
RNG = np.random.default_rng([1, 77])
NAMES = [f"c{j}" for j in range(D)]
FRAME = pd.DataFrame(RNG.normal(size=(N, D)), columns=NAMES)
SECRET = RNG.permutation(np.arange(N) % 2)
PEOPLE = ta.Dataset.from_frame(FRAME.assign(ill=SECRET), secret="ill")
GROUPS = [NAMES[j : j + K] for j in range(0, D, K)]


def formula(names):
    return smf.logit(f"ill ~ {' + '.join(names)}", FRAME.assign(ill=SECRET)).fit(disp=0)


FITS = {
    "OLS": lambda x: sm.OLS(SECRET, sm.add_constant(x)).fit(),
    "Logit": lambda x: sm.Logit(SECRET, x).fit(disp=0),
    "Logit by BFGS": lambda x: sm.Logit(SECRET, sm.add_constant(x)).fit(disp=0, method="bfgs"),
    "Logit by formula": lambda x: formula(list(x.columns)),
    "Poisson": lambda x: sm.Poisson(SECRET, x).fit(disp=0),
    "GLM binomial": lambda x: sm.GLM(SECRET, sm.add_constant(x), family=sm.families.Binomial()).fit(),
    "GLM Poisson": lambda x: sm.GLM(SECRET, x, family=sm.families.Poisson()).fit(),
    "GLM Gaussian": lambda x: sm.GLM(SECRET, x).fit(),
    "LinearRegression": lambda x: linear_model.LinearRegression().fit(x, SECRET),
    "Ridge": lambda x: linear_model.Ridge(2.0).fit(x, SECRET),
    "Ridge by LSQR": lambda x: linear_model.Ridge(2.0, solver="lsqr").fit(x, SECRET),
    "LogisticRegression": lambda x: linear_model.LogisticRegression(C=0.5).fit(x, SECRET),
    "without penalty": lambda x: linear_model.LogisticRegression(C=np.inf).fit(x, SECRET),
    "without intercept": lambda x: linear_model.LogisticRegression(fit_intercept=False).fit(x, SECRET),
    "liblinear": lambda x: linear_model.LogisticRegression(solver="liblinear").fit(x, SECRET),
    "newton-cholesky": lambda x: linear_model.LogisticRegression(solver="newton-cholesky").fit(x, SECRET),
    "PoissonRegressor": lambda x: linear_model.PoissonRegressor(alpha=0.1).fit(x, SECRET),
}


@pytest.mark.parametrize("kind", FITS)
def test_fits_made_elsewhere_are_equations_and_give_every_bit(kind):
    fits = [FITS[kind](FRAME[names]) for names in GROUPS]
    for public in (PEOPLE.public, PEOPLE):  # the outsider's estimate of the tolerance, the curator's measure
        release = ta.release_from_fits(fits, public)
        attack = ta.reconstruct(release, PEOPLE.public)
        evidence = attack.evidence
        error = np.abs(evidence.operator @ SECRET - evidence.target)
        assert (error <= 2 * evidence.std + 1e-9).all()
        assert np.array_equal(attack.guess, SECRET)
    assert release.statistic.tolerance <= 1.5e-4


def test_penalties_and_intercepts_are_read_from_the_object():
    x = FRAME[GROUPS[0]]
    made = ta.release_from_fits(
        linear_model.LogisticRegression(C=0.25, tol=1e-12, solver="newton-cholesky").fit(x, SECRET), PEOPLE
    )
    assert (made.statistic.penalty, made.statistic.penalise_intercept) == (4.0, False)
    ours = ta.publish(PEOPLE, ta.Estimator("logistic", intercept=True, penalty=4.0, blocks=GROUPS[:1]))
    np.testing.assert_allclose(made.values, ours.values, rtol=1e-6)
    ridge = ta.release_from_fits(linear_model.Ridge(3.0).fit(x, SECRET), PEOPLE.public)
    again = ta.publish(PEOPLE, ta.Estimator("linear", intercept=True, penalty=3.0, blocks=GROUPS[:1]))
    np.testing.assert_allclose(ridge.values, again.values, rtol=1e-10)
    loose = linear_model.LogisticRegression(solver="liblinear").fit(x, SECRET)
    assert ta.release_from_fits(loose, PEOPLE).statistic.penalise_intercept


def test_fits_to_bare_arrays_need_the_names_of_their_columns():
    x = FRAME[GROUPS[1]].to_numpy()
    for fit in (sm.OLS(SECRET, sm.add_constant(x)).fit(), linear_model.LinearRegression().fit(x, SECRET)):
        with pytest.raises(ta.InvalidInput, match="Name them with columns="):
            ta.release_from_fits(fit, PEOPLE)
        release = ta.release_from_fits(fit, PEOPLE, columns=GROUPS[1])
        assert release.statistic.blocks == (tuple(GROUPS[1]),)
        assert release.statistic.tolerance == 0


def test_decimals_are_rounding():
    fits = [linear_model.LinearRegression().fit(FRAME[names], SECRET) for names in GROUPS]
    release = ta.release_from_fits(fits, PEOPLE.public, noise=ta.Rounding(1e-4))
    printed = ta.Release.from_values(
        release.statistic, release.values.round(4), public=PEOPLE, noise=ta.Rounding(1e-4)
    )
    assert np.array_equal(ta.reconstruct(printed, PEOPLE.public).guess, SECRET)


def table(fits) -> list[str]:
    lines = ["block,term,value"]
    for number, fit in enumerate(fits):
        lines += [
            f"m{number},{name},{value:.6f}"
            for name, value in zip(fit.feature_names_in_, fit.coef_, strict=True)
        ]
        lines.append(f"m{number},(Intercept),{fit.intercept_:.6f}")
    return lines


def test_a_printed_table_is_a_release(tmp_path):
    fits = [linear_model.LinearRegression().fit(FRAME[names], SECRET) for names in GROUPS]
    lines = table(fits)
    path = tmp_path / "coefficients.csv"
    path.write_text("\n".join(lines) + "\n")
    release = ta.read_coefficients(path, PEOPLE.public, noise=ta.Rounding(1e-6))
    assert release.values.size == (K + 1) * len(GROUPS)
    attack = ta.reconstruct(release, PEOPLE.public)
    assert np.array_equal(attack.guess, SECRET)
    # intercepts that were fitted and not printed cost only themselves
    path.write_text("\n".join(line for line in lines if "Intercept" not in line) + "\n")
    fewer = ta.read_coefficients(path, PEOPLE.public, intercept=True, noise=ta.Rounding(1e-6))
    evidence = ta.linearise(fewer, PEOPLE.public)
    assert evidence.target.size == K * len(GROUPS)
    assert np.abs(evidence.operator @ SECRET - evidence.target).max() <= 5.1e-7
    frame = pd.DataFrame({"block": [1, 1], "term": ["c0", "c1"], "value": [0.5, None]})
    assert np.isnan(ta.read_coefficients(frame, PEOPLE).values).tolist() == [False, True]


class Stranger:
    coef_ = np.zeros(3)


X = FRAME[GROUPS[0]]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ta.release_from_fits(7, PEOPLE), "a fitted linear model of statsmodels or scikit-learn"),
        (lambda: ta.release_from_fits([], PEOPLE), "one fitted model or more"),
        (lambda: ta.release_from_fits(Stranger(), PEOPLE), "one of LinearRegression"),
        (
            lambda: ta.release_from_fits(linear_model.Lasso(0.1).fit(X, SECRET), PEOPLE),
            "one of LinearRegression",
        ),
        (
            lambda: ta.release_from_fits(linear_model.LinearRegression(positive=True).fit(X, SECRET), PEOPLE),
            "minimum is inside",
        ),
        (
            lambda: ta.release_from_fits(
                linear_model.LogisticRegression(l1_ratio=1.0, solver="liblinear").fit(X, SECRET), PEOPLE
            ),
            "an L1 penalty",
        ),
        (
            lambda: ta.release_from_fits(
                linear_model.LogisticRegression(class_weight="balanced").fit(X, SECRET), PEOPLE
            ),
            "class_weight",
        ),
        (
            lambda: ta.release_from_fits(sm.WLS(SECRET, X, weights=np.arange(1, N + 1)).fit(), PEOPLE),
            "OLS, Logit, Probit, Poisson or GLM",
        ),
        (
            lambda: ta.release_from_fits(
                sm.GLM(SECRET, X, family=sm.families.Poisson(), offset=np.ones(N)).fit(), PEOPLE
            ),
            "without offset",
        ),
        (
            lambda: ta.release_from_fits(
                [linear_model.Ridge(1.0).fit(X, SECRET), linear_model.Ridge(2.0).fit(X, SECRET)], PEOPLE
            ),
            "of one loss, penalty and intercept",
        ),
        (
            lambda: ta.release_from_fits(linear_model.LinearRegression().fit(X, 1 - SECRET), PEOPLE),
            "fits of these people's secret",
        ),
        (
            lambda: ta.release_from_fits(
                linear_model.LinearRegression().fit(X.rename(columns={"c0": "zz"}), SECRET), PEOPLE
            ),
            "attribute must be a column",
        ),
        (lambda: ta.read_coefficients({"block": [1], "term": ["c0"]}, PEOPLE), "block, term and value"),
        (lambda: ta.read_coefficients(3, PEOPLE), "table must be"),
        (
            lambda: ta.read_coefficients({"block": [1, 1], "term": ["c0", "c0"], "value": [1, 2]}, PEOPLE),
            "each term once",
        ),
        (lambda: ta.read_coefficients({"block": [1], "term": ["c0"], "value": ["n.s."]}, PEOPLE), "a number"),
        (lambda: ta.read_coefficients({"block": [1], "term": ["c0"], "value": [np.inf]}, PEOPLE), "finite"),
        (lambda: ta.read_coefficients({"block": [1], "term": ["cc"], "value": [1.0]}, PEOPLE), "a column of"),
        (lambda: ta.read_coefficients({"block": [], "term": [], "value": []}, PEOPLE), "no rows"),
        (
            lambda: ta.read_coefficients(
                {"block": [1, 1, 2], "term": ["c0", "const", "c1"], "value": [1.0, 2.0, 3.0]}, PEOPLE
            ),
            "in every block or in none",
        ),
    ],
)
def test_what_solves_no_such_equation_is_refused_in_one_sentence(make, says):
    with pytest.raises(ta.InvalidInput, match=says) as caught:
        make()
    assert "\n" not in str(caught.value)


COLUMNS = np.random.default_rng(11).normal(size=(50, 3))


def _earners():
    off = np.random.default_rng(12).normal(size=50)
    return ta.Dataset.from_arrays(COLUMNS, secret=COLUMNS @ [2.0, -1.0, 0.5] + off + 7)


def test_standard_errors_of_statsmodels_are_those_of_the_statistic():
    people = _earners()
    x = sm.add_constant(COLUMNS)
    fit = sm.OLS(people.secret, x).fit()
    told = ta.release_from_fits(fit, people, standard_errors=True)
    exact = ta.publish(people, told.statistic)
    np.testing.assert_allclose(told.values, exact.values, rtol=1e-9)
    assert told.statistic.standard_errors
    assert not ta.release_from_fits(fit, people).statistic.standard_errors
    robust = sm.OLS(people.secret, x).fit(cov_type="HC1")
    other = linear_model.LinearRegression().fit(x[:, 1:], people.secret)
    for unusual in (robust, other):
        with pytest.raises(ta.InvalidInput, match="usual standard errors"):
            ta.release_from_fits(unusual, people, standard_errors=True)


@pytest.mark.parametrize("digits", [2, 3, 6, None])
def test_printed_standard_errors_limit_everybody_and_are_true(digits, tmp_path):
    people = _earners()
    fit = sm.OLS(people.secret, sm.add_constant(COLUMNS)).fit()
    show = (lambda value: repr(float(value))) if digits is None else (lambda value: f"{value:.{digits}f}")
    table = {
        "block": [1] * 4,
        "term": ["const", *people.public.names],
        "value": [show(one) for one in fit.params],
        "std_error": [show(one) for one in fit.bse],
    }
    noise = None if digits is None else ta.Rounding(10.0**-digits)
    told = ta.read_coefficients(table, people, noise=noise)
    spread, within = told.values[-1], told.statistic.spread_within
    assert abs(spread - np.sqrt(fit.scale)) <= within + 1e-9
    assert within <= (1e-12 if digits is None else 5 * 10.0**-digits)
    told = ta.Release.load(told.save(tmp_path / "release.json"))
    assert told.statistic.spread_within == within
    limits = ta.reconstruct(told, people.public).limits
    assert (limits.low <= people.secret).all()
    assert (people.secret <= limits.high).all()
    assert (limits.high - limits.low).max() < 2 * np.sqrt(fit.ssr) + 1


def test_spreads_that_are_worked_out_contradict_no_rounding():
    people = _earners()
    fit = sm.OLS(people.secret, sm.add_constant(COLUMNS)).fit()
    table = {
        "block": [1] * 4,
        "term": ["const", *people.public.names],
        "value": [f"{one:.4f}" for one in fit.params],
        "std_error": [f"{one:.3g}" for one in fit.bse],
    }
    told = ta.read_coefficients(table, people, noise=ta.Rounding(1e-4))
    assert abs(told.values[-1] - np.sqrt(fit.scale)) <= told.statistic.spread_within
    assert ta.reconstruct(told, people.public).status.word != "contradictory"


def test_standard_errors_that_contradict_the_fit_are_refused():
    people = _earners()
    fit = sm.OLS(people.secret, sm.add_constant(COLUMNS)).fit()
    table = {
        "block": [1] * 4,
        "term": ["const", *people.public.names],
        "value": fit.params,
        "std_error": fit.get_robustcov_results("HC3").bse,
    }
    with pytest.raises(ta.InvalidInput, match="robust"):
        ta.read_coefficients(table, people)
    for wrong in ([0.1, 0.1, 0.1, ""], [0.1, "x", 0.1, 0.1]):
        with pytest.raises(ta.InvalidInput, match="number"):
            ta.read_coefficients({**table, "std_error": wrong}, people)
    with pytest.raises(ta.InvalidInput, match="linear fits"):
        ta.read_coefficients({**table, "std_error": fit.bse}, people, "logistic")
    with pytest.raises(ta.InvalidInput, match="exact or only rounded"):
        ta.read_coefficients({**table, "std_error": fit.bse}, people, noise=ta.Gaussian(0.1))
    coarse = {**table, "std_error": [round(one / 0.05) * 0.05 for one in fit.bse]}
    told = ta.read_coefficients(coarse, people, noise=ta.Rounding(0.05))  # more digits than are true
    assert abs(told.values[-1] - np.sqrt(fit.scale)) <= told.statistic.spread_within


@pytest.mark.parametrize("kind", ["mapping", "file", "semicolons", "numbers"])
def test_a_standard_error_is_as_exact_as_it_was_printed(kind, tmp_path):
    """4.44e+04 is exact to 100; as the number 44400.0 it must not count as exact to 0.1."""
    rng = np.random.default_rng(199)
    frame = pd.DataFrame({"a": rng.normal(size=4), "b": rng.normal(size=4) * 1e-4})
    frame["y"] = rng.normal(size=4) * 3 + 10
    fit = sm.OLS(frame.y, sm.add_constant(frame[["a", "b"]])).fit()
    table = {
        "block": ["1"] * 3,
        "term": ["intercept", "a", "b"],
        "value": [repr(float(one)) for one in fit.params],
        "std_error": [f"{one:.3g}" for one in fit.bse],
    }
    assert "e+04" in table["std_error"][2]
    source = table
    if kind in ("file", "semicolons"):
        source, mark = tmp_path / "c.csv", "," if kind == "file" else ";"
        text = pd.DataFrame(table).to_csv(index=False, sep=mark)
        source.write_text(text if kind == "file" else text.replace(".", ","))
    elif kind == "numbers":
        source = pd.DataFrame(table).astype({"value": float, "std_error": float})
    people = ta.Dataset.from_frame(frame, secret="y", kind="reals")
    told = ta.read_coefficients(source, people)
    assert told.statistic.spread_within == ta.read_coefficients(table, people).statistic.spread_within
    limits = ta.reconstruct(told, people.public).limits
    assert (limits.low <= people.secret).all()
    assert (people.secret <= limits.high).all()
