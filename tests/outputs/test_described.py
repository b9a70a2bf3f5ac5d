"""Folders of tables in CSV and Excel files: the same equations whatever they passed through."""

from __future__ import annotations

import re
import tomllib

import numpy as np
import pandas as pd
import pytest

import tellall as ta
from tellall.audits.plans.draft_folder import draft_folder
from tellall.outputs.described import read_described
from tellall.outputs.folders import read_folder
from tellall.schemas import load

smf = pytest.importorskip("statsmodels.formula.api")

N = 150
RNG = np.random.default_rng(2)
FRAME = pd.DataFrame(
    {
        "sex": RNG.choice(["f", "m"], N),
        "region": RNG.choice(["east", "north", "south"], N),
        "ward": RNG.integers(1, 4, N),
        "ill": RNG.choice(["no", "yes"], N),
    }
)
PEOPLE = ta.Dataset.from_frame(FRAME, secret="ill")
TABLE = pd.crosstab([FRAME.region, FRAME.ward], FRAME.ill)
EXPECTED = ta.publish(PEOPLE, ta.Marginals(3, [["region", "ward"]]))


def _folder(tmp_path, *entries: str, secret: str = "ill"):
    (tmp_path / "tables.toml").write_text(f'secret = "{secret}"\n' + "\n".join(entries))
    return tmp_path


WRITERS = {
    "t.csv": lambda table, path: table.to_csv(path),
    "t.csv.gz": lambda table, path: table.to_csv(path),
    "t.tsv": lambda table, path: table.to_csv(path, sep="\t"),
    "semicolons.csv": lambda table, path: table.to_csv(path, sep=";", decimal=","),
    "wide.csv": lambda table, path: table.to_csv(path, encoding="utf-16"),
    "t.xlsx": lambda table, path: table.reset_index().to_excel(path, index=False),
    "names.csv": lambda table, path: table.unstack("ward").to_csv(path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_file_gives_the_same_equations(tmp_path, name):
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
    WRITERS[name](TABLE, tmp_path / name)
    across = "" if name == "names.csv" else 'across = "ill"'
    folder = _folder(tmp_path, "[[tables]]", f'file = "{name}"', across)
    for people in (PEOPLE, PEOPLE.public):
        found = read_described(folder, people)
        assert not found.skipped
        assert found.releases[0].statistic == EXPECTED.statistic
        assert np.array_equal(found.releases[0].values, EXPECTED.values)
        assert found.meaning == ("no", "yes")


def test_people_that_passed_through_files_give_the_same_equations(tmp_path):
    FRAME.to_stata(tmp_path / "p.dta", write_index=False)
    FRAME.to_csv(tmp_path / "p.csv", index=False)
    for name in ("p.dta", "p.csv"):
        people = ta.read(tmp_path / name, secret="ill")
        release = ta.from_crosstab(TABLE, people)
        assert np.array_equal(
            ta.linearise(release, people.public).operator.to_dense(),
            ta.linearise(EXPECTED, PEOPLE.public).operator.to_dense(),
        )


def test_hidden_shares_parts_and_models(tmp_path):
    TABLE.where(TABLE >= 10).to_csv(tmp_path / "hidden.csv", na_rep="<10")
    pd.crosstab(FRAME.sex, FRAME.ill, normalize="index").to_csv(tmp_path / "shares.csv")
    women = FRAME[FRAME.sex == "f"]
    pd.crosstab(women.region, women.ill).to_csv(tmp_path / "women.csv")
    (tmp_path / "model.csv").write_text("term,estimate,std.error\n(Intercept),0.5012,.1\nsexm,-0.0312,.1\n")
    folder = _folder(
        tmp_path,
        '[[tables]]\nfile = "hidden.csv"\nacross = "ill"\nprotect = { kind = "Suppression", below = 10 }',
        '[[tables]]\nfile = "shares.csv"\nacross = "ill"\nname = "by sex"',
        '[[tables]]\nfile = "women.csv"\nacross = "ill"\nwhere = "sex = \'f\'"',
        '[[tables]]\nfile = "model.csv"\nkind = "coefficients"\nprotect = { kind = "Rounding", base = 1e-4 }',
        '[[tables]]\nfile = "gone.csv"',
        '[[tables]]\nfile = "../outside.csv"',
    )
    found = read_folder(folder, PEOPLE.public)
    assert [output.id for output in found.outputs] == ["hidden.csv", "by sex", "women.csv", "model.csv"]
    hidden, shares, some, model = found.releases
    assert np.nanmin(hidden.values) >= 10
    assert hidden.protections == (ta.Suppression(10),)
    assert np.array_equal(shares.values, ta.publish(PEOPLE, ta.Marginals(2, [["sex"]])).values)
    assert some.where == "sex = 'f'"
    assert model.statistic.blocks == (("sexm",),)
    assert [one.name for one in found.skipped] == ["gone.csv", "../outside.csv"]
    assert ta.reconstruct(found.releases, PEOPLE.public, "least-squares", proof_effort=0).n == N


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("secret = 3", "secret"),
        ('secret = "ill"\n', "tables"),
        ('[[tables]]\nfile = "a.csv"\ncolour = 1', "colour"),
        ("[[tables", "a TOML file"),
        ('[[tables]]\nfile = "a.csv"', "secret must be named in tables.toml"),
    ],
)
def test_a_wrong_description_is_refused(tmp_path, text, words):
    (tmp_path / "tables.toml").write_text(text)
    with pytest.raises(ta.InvalidInput, match=words):
        read_described(tmp_path, PEOPLE.public)


def test_a_folder_without_a_description_is_told_how_to_get_one(tmp_path):
    with pytest.raises(ta.InvalidInput, match=re.escape(f"tellall init {tmp_path}")):
        read_folder(tmp_path, PEOPLE.public)


def test_a_draft_is_read_back(tmp_path):
    pd.crosstab(FRAME.region, FRAME.ill).to_csv(tmp_path / "a.csv")
    (5 * (TABLE / 5).round()).unstack("ward").to_csv(tmp_path / "b.csv")
    (tmp_path / "model.csv").write_text("term,estimate\n(Intercept),0.50\nsexm,-0.031\n")
    (tmp_path / "broken.csv").write_text("only\n")
    (tmp_path / "note.md").write_text("not a table")
    text, found, left_out = draft_folder(tmp_path, "ill")
    assert found == ["a.csv", "b.csv", "model.csv"]
    assert [reason.split(":")[0] for reason in left_out] == ["broken.csv"]
    tables = tomllib.loads(text)["tables"]
    assert [table["kind"] for table in tables] == ["counts", "counts", "coefficients"]
    assert tables[0]["across"] == "ill"
    assert "across" not in tables[1]
    assert tables[2]["protect"] == {"kind": "Rounding", "base": 0.001}
    assert '# protect = { kind = "Rounding", base = 5 }' in text
    (tmp_path / "tables.toml").write_text(text)
    read = read_folder(tmp_path, PEOPLE)
    assert [output.id for output in read.outputs] == ["a.csv", "model.csv"]
    assert read.skipped[0].name == "b.csv"  # rounded, and the description does not say so yet
    assert load("folder")["title"] == "tellall folder"


def test_a_draft_takes_numbers_that_tell_lines_apart_for_labels(tmp_path):
    table = pd.crosstab([FRAME.region.factorize()[0], FRAME.ward], FRAME.ill, rownames=["area", "ward"])
    table.where(table >= 8).to_csv(tmp_path / "a.csv")
    text = draft_folder(tmp_path, "ill")[0]
    assert "# the column whose values are no, yes\n" in text
    least = table.to_numpy()[table >= 8].min()
    assert f'# protect = {{ kind = "Suppression", below = {least} }}' in text


INCOME = FRAME.drop(columns="ill").assign(income=np.round(RNG.lognormal(7, 1, N), 1))
EARNERS = ta.Dataset.from_frame(INCOME, secret="income")
MEANS = INCOME.groupby(["region", "ward"]).income.agg(["mean", "count"])
AMOUNTS = {  # what is in the file, what says so, what it is
    "long": (MEANS, 'kind = "means"\nvalue = "mean"\ncount = "count"', ta.CellMeans, True),
    "one column": (MEANS[["mean"]], 'kind = "means"', ta.CellMeans, False),
    "wide": (MEANS["mean"].unstack("ward"), 'kind = "means"\nacross = "ward"', ta.CellMeans, False),
    "named": (
        MEANS[["mean"]].unstack("ward")["mean"].T,
        'kind = "means"\nacross = "region"',
        ta.CellMeans,
        False,
    ),
    "sums": (
        INCOME.pivot_table("income", "region", "ward", "sum", margins=True),
        'kind = "sums"\nacross = "ward"',
        ta.Sums,
        False,
    ),
}


@pytest.mark.parametrize("people", [EARNERS, EARNERS.public], ids=["curator", "outsider"])
@pytest.mark.parametrize("name", AMOUNTS)
@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_means_and_sums_give_the_same_equations(tmp_path, name, people, ending):
    table, words, kind, counts = AMOUNTS[name]
    if ending == "csv":
        table.sample(frac=1, random_state=1).to_csv(tmp_path / "t.csv")
    else:
        table.sample(frac=1, random_state=1).reset_index().to_excel(tmp_path / "t.xlsx", index=False)
    found = read_described(
        _folder(tmp_path, "[[tables]]", f'file = "t.{ending}"', words, secret="income"), people
    )
    assert not found.skipped
    expected = ta.publish(EARNERS, kind(3, [["region", "ward"]], counts=counts))
    assert found.releases[0].statistic == expected.statistic
    assert np.allclose(found.releases[0].values, expected.values, rtol=1e-12)
    assert found.meaning == ()


def test_minima_and_maxima_limit_everybody_and_quantiles_are_not_checked(tmp_path):
    INCOME.groupby(["region", "ward"]).income.agg(["min", "median", "max"]).to_csv(tmp_path / "t.csv")
    entries = [
        f'[[tables]]\nfile = "t.csv"\nname = "{value}"\nkind = "{kind}"\nvalue = "{value}"'
        for kind, value in (("minima", "min"), ("maxima", "max"), ("quantiles", "median"))
    ]
    more = '[[tables]]\nfile = "t.csv"\nname = "both"\nkind = "maxima"\nvalue = "max"\ncount = "min"'
    found = read_described(_folder(tmp_path, *entries, more, secret="income"), EARNERS.public)
    assert [(one.name, one.code) for one in found.skipped] == [("median", None), ("both", None)]
    assert "no attack uses quantiles" in found.skipped[0].reason
    assert "count must be left out" in found.skipped[1].reason
    exact = ta.publish(EARNERS, ta.Extremes(3, [["region", "ward"]]))
    least, most = (release.values for release in found.releases)
    half = exact.values.size // 2
    assert found.releases[0].statistic == exact.statistic
    np.testing.assert_allclose(least, np.append(exact.values[:half], np.full(half, np.nan)))
    np.testing.assert_allclose(most, np.append(np.full(half, np.nan), exact.values[half:]))
    limits = ta.reconstruct(found.releases, EARNERS.public).limits
    assert (limits.low <= INCOME.income + 1e-6).all()
    assert (INCOME.income <= limits.high + 1e-6).all()
    whole = ta.reconstruct(exact, EARNERS.public).limits
    np.testing.assert_allclose(limits.low, whole.low)
    np.testing.assert_allclose(limits.high, whole.high)


MODEL = '[[tables]]\nfile = "{}"\nkind = "coefficients"\nloss = "{}"'


def test_standard_errors_are_not_checked_where_they_say_more(tmp_path):
    (tmp_path / "m.csv").write_text("term,coef,std err\nsexm,-0.03,.1\n")
    (tmp_path / "n.csv").write_text("term,coef\nsexm,-0.03\n")
    (tmp_path / "i.csv").write_text("term,coef,std err\nconst,0.5,.1\nsexm,-0.03,.1\n")
    models = (("m.csv", "linear"), ("m.csv", "logistic"), ("n.csv", "linear"), ("i.csv", "linear"))
    found = read_described(_folder(tmp_path, *(MODEL.format(*each) for each in models)), PEOPLE)
    assert [one.name for one in found.skipped] == ["m.csv, standard errors"]  # the others say nothing more
    assert len(found.outputs) == 4
    audit = ta.audit(PEOPLE, found)
    assert any("standard errors: not checked" in line for line in audit.document["not_tested"])
    assert audit.verdict.word != "pass"


def test_the_usual_standard_errors_of_a_model_of_numbers_are_attacked(tmp_path):
    fit = smf.ols("income ~ C(region)", INCOME).fit()
    table = pd.DataFrame({"term": fit.params.index, "estimate": fit.params.values.round(2)})
    table.assign(**{"std.error": fit.bse.values.round(2)}).to_csv(tmp_path / "m.csv", index=False)
    robust = fit.get_robustcov_results("HC3").bse
    table.assign(**{"std.error": robust.round(2)}).to_csv(tmp_path / "r.csv", index=False)
    rounded = 'protect = { kind = "Rounding", base = 0.01 }'
    amounts = '[[tables]]\nfile = "t.csv"\nkind = "means"\nvalue = "mean"'
    MEANS.to_csv(tmp_path / "t.csv")
    for name, errors, ids in (
        ("m.csv", "", ["m.csv, standard errors"]),
        ("m.csv", "standard_errors = true", []),
        ("r.csv", "standard_errors = true", ["r.csv"]),
    ):
        entry = "\n".join([MODEL.format(name, "linear"), errors, rounded])
        found = read_described(_folder(tmp_path, amounts, entry, secret="income"), EARNERS)
        assert [one.name for one in found.skipped] == ids
        if not ids:
            told = found.releases[-1]
            assert told.levels == 0
            assert abs(told.values[-1] - np.sqrt(fit.scale)) <= told.statistic.spread_within
            limits = ta.reconstruct(told, EARNERS.public).limits
            assert np.isfinite(limits.high).all()
            assert (limits.low <= INCOME.income).all()
            assert (INCOME.income <= limits.high).all()


def test_wrong_headers_of_amounts_are_named(tmp_path):
    MEANS.to_csv(tmp_path / "t.csv")
    for words in ('value = "median"', 'value = "mean"\ncount = "people"', ""):
        folder = _folder(tmp_path, '[[tables]]\nfile = "t.csv"\nkind = "means"', words, secret="income")
        (skipped,) = read_described(folder, EARNERS).skipped
        assert "must be one of the headers mean, count" in skipped.reason


def test_a_survival_curve_is_read_as_lifelines_and_r_export_it(tmp_path):
    months = RNG.integers(1, 25, N).astype(float)
    seen = ta.Dataset.from_frame(FRAME.assign(months=months), secret="ill")
    exact = ta.publish(seen, ta.SurvivalCurve("months"))
    times = np.unique(months)
    pd.DataFrame({"timeline": [0.0, *times], "KM_estimate": [1.0, *exact.values]}).to_csv(
        tmp_path / "lifelines.csv", index=False
    )
    pd.DataFrame({"time": times, "n.risk": 9, "n.event": 9, "surv": exact.values}).to_csv(
        tmp_path / "r.csv", index=False
    )
    entries = [
        f'[[tables]]\nfile = "{name}"\nkind = "survival"\ntime = "months"'
        for name in ("lifelines.csv", "r.csv")
    ]
    found = read_described(
        _folder(tmp_path, *entries, '[[tables]]\nfile = "r.csv"\nkind = "survival"'), seen.public
    )
    assert [one.reason for one in found.skipped] == [
        "time must be the public column of follow-up times; got nothing."
    ]
    for release in found.releases:
        assert release.statistic.grid[-1] == times[-1]
        told = ta.reconstruct(release, seen.public, "least-squares", proof_effort=0)
        assert (told.guess == ta.reconstruct(exact, seen.public, "least-squares", proof_effort=0).guess).all()


class Fitter:
    """What tellall reads of a KaplanMeierFitter: as lifelines fills it in."""

    def __init__(self, months: np.ndarray, events: np.ndarray, weights: float = 1.0) -> None:
        times = np.unique(months)
        at_risk = np.array([(months >= t).sum() for t in times])
        died = np.array([((months == t) & events).sum() for t in times])
        curve = np.concatenate([[1.0], np.cumprod(1 - died / at_risk)])
        index = pd.Index([0.0, *times], name="timeline")
        self.survival_function_ = pd.DataFrame({"KM_estimate": curve}, index=index)
        self.event_table = pd.DataFrame({"entrance": [months.size, *np.zeros(times.size)]}, index=index)
        self.weights = np.full(months.size, weights)


def test_a_fitter_of_lifelines_is_read_as_it_is():
    months = RNG.integers(1, 25, N).astype(float)
    seen = ta.Dataset.from_frame(FRAME.assign(months=months), secret="ill")
    exact = ta.publish(seen, ta.SurvivalCurve("months"))
    fitter = Fitter(months, seen.secret == 1)
    released = [
        ta.from_curve(fitter, seen, "months"),
        ta.from_curve(fitter.survival_function_.sample(frac=1, random_state=0), seen, "months"),
        ta.from_curve(fitter.survival_function_.reset_index()[["KM_estimate", "timeline"]], seen, "months"),
    ]
    guess = ta.reconstruct(exact, seen.public, "least-squares", proof_effort=0).guess
    for release in released:
        assert release.values.tolist() == pytest.approx([1.0, *exact.values])
        attack = ta.reconstruct(release, seen.public, "least-squares", proof_effort=0)
        assert (attack.guess == guess).all()
    young = np.asarray(months < 13)
    part = ta.from_curve(Fitter(months[young], seen.secret[young] == 1), seen, "months", where="months < 13")
    assert part.shape.people == young.sum()
    late = Fitter(months, seen.secret == 1)
    late.event_table.iloc[2] = 1
    for wrong, says in (
        (Fitter(months, seen.secret == 1, weights=2.0), "a fit without weights"),
        (late, "one with late entry"),
        (Fitter(months[young], seen.secret[young] == 1), "Say with where= which"),
        (object(), "a fitted KaplanMeierFitter, or a frame"),
        (fitter.survival_function_ * 100, "from 0 to 1; got other values. Divide percentages by 100"),
        (fitter.survival_function_.rename(columns={"KM_estimate": "hazard"}), "one of a survival curve"),
    ):
        with pytest.raises(ta.InvalidInput, match=says):
            ta.from_curve(wrong, seen, "months")


def test_a_draft_knows_means_sums_and_curves(tmp_path):
    MEANS.round(2).to_csv(tmp_path / "a.csv")
    INCOME.groupby("region").income.agg(["sum", "size"]).to_csv(tmp_path / "b.csv")
    INCOME.groupby("region").income.mean().round(1).to_csv(tmp_path / "c.csv")
    AMOUNTS["wide"][0].round(1).to_csv(tmp_path / "d.csv")
    (tmp_path / "e.csv").write_text("timeline,KM_estimate\n0,1.0\n3,0.25\n")
    pd.crosstab(FRAME.region, FRAME.ill, margins=True, margins_name="Sum").to_csv(tmp_path / "f.csv")
    pd.crosstab(FRAME.region, FRAME.ill, normalize="index").round(3).mul(100).to_csv(tmp_path / "g.csv")
    text, _, left_out = draft_folder(tmp_path, "income")
    assert not left_out
    tables = tomllib.loads(text)["tables"]
    kinds = ["means", "sums", "means", "means", "survival", "counts", "counts"]
    assert [table["kind"] for table in tables] == kinds
    assert (tables[0]["value"], tables[0]["count"]) == ("mean", "count")
    assert tables[0]["protect"] == {"kind": "Rounding", "base": 0.01}
    assert (tables[1]["value"], tables[1]["count"]) == ("sum", "size")
    assert tables[2]["value"] == "income"
    assert tables[3]["across"] == ""
    (tmp_path / "tables.toml").write_text(text.replace('across = ""', 'across = "ward"', 1))
    read = read_folder(tmp_path, EARNERS)
    assert [output.id for output in read.outputs] == ["a.csv", "b.csv", "c.csv", "d.csv"]
