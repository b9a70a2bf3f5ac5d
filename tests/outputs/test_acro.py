"""Folders that ACRO wrote: read by label, what cannot be read named with its reason."""

from __future__ import annotations

import csv
import importlib.util
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tellall as ta
from tellall.outputs.folders import columns_used

HERE = Path(__file__).parent / "acro"
PUBLIC = ["sex", "region", "job", "age", "bmi"]


@pytest.fixture(scope="module")
def people():
    return ta.read(HERE / "people.csv", secret="ill", public=PUBLIC)


def _read(people, folder=HERE / "outputs", **options):
    found = ta.read_acro(folder, people, **options)
    return {output.id: output.release for output in found.outputs}, {
        one.name: one.reason for one in found.skipped
    }


def test_tables_are_read_as_they_are(people):
    for known in (people, people.public):
        releases, skipped = _read(known)
        assert list(releases) == [
            "output_0", "output_1", "output_2", "output_3 (count)", "output_4", "output_5", "output_11"
        ]  # fmt: skip
        assert skipped["output_3 (mean)"] == "a table of means, not of counts"
        assert skipped["output_7"] == "a model of sick, not of ill"
        assert "summary" in skipped["2ndary_risk_summary_json-DONT_RELEASE"]
        assert releases["output_1"].protections == (ta.Suppression(10),)
        assert releases["output_11"].protections == (ta.Rounding(5),)
        assert releases["output_5"].where == "age < 40"


def test_shown_values_are_those_of_the_people(people):
    releases, _ = _read(people.public)
    for name, release in releases.items():
        exact = release.exact(people)
        shown = ~np.isnan(release.values)
        off = np.abs(release.values - exact)[shown]
        assert off.max() <= (2.5 if name == "output_11" else 0), name
        assert (exact[~shown] < 10).all(), name


def test_regressions_of_the_secret(people):
    sick = ta.read(HERE / "people.csv", secret="sick", public=PUBLIC)
    releases, skipped = _read(sick)
    assert releases["output_7"].statistic.blocks == (("age", "bmi"),)
    exact = releases["output_7"].statistic.values(sick)
    assert np.abs(releases["output_7"].values - exact).max() <= 0.5e-4 + 1e-8
    assert releases["output_8"].statistic.blocks == (("C(sex)[T.m]", "age"),)
    assert releases["output_10"].statistic.loss == "probit"
    words = "a linear model of bmi on intercept, age agrees with the people and says nothing about sick"
    assert skipped["output_9"] == words
    # a table of ill, which is sick in other words: the people say so
    assert np.array_equal(releases["output_0"].values, releases["output_0"].statistic.values(sick))
    assert not [name for name in skipped if "standard errors" in name]


def test_means_and_models_of_a_real_secret():
    columns = ["sex", "region", "job", "age"]
    people = ta.read(HERE / "people.csv", secret="bmi", public=columns, kind="reals")
    for known, options in ((people, {}), (people.public, {"secret": "bmi"})):
        releases, skipped = _read(known, **options)
        assert list(releases) == ["output_6", "output_9"]
        means = releases["output_6"]
        assert means.statistic == ta.CellMeans(3, [["sex", "region"]])
        assert np.allclose(means.values, means.exact(people))
        assert releases["output_9"].levels == 0
        assert "ill" in skipped["output_3 (mean)"]
        assert "output_9, standard errors" not in skipped
        fit = releases["output_9"]
        *_, exact = fit.exact(people)
        assert fit.statistic.standard_errors
        assert abs(fit.values[-1] - exact) <= fit.statistic.spread_within < 0.05 * exact
    evidence = ta.linearise(releases["output_6"], people.public)
    assert np.allclose(evidence.operator @ people.secret, evidence.target)
    with pytest.raises(ta.InvalidInput, match="real numbers"):
        ta.from_crosstab(pd.crosstab([1, 2], [1, 2]), people)


@pytest.mark.parametrize(
    ("secret", "used"),
    [
        ("ill", ["sex", "region", "job", "age"]),
        ("sick", ["sex", "age", "bmi"]),
        ("bmi", ["sex", "region", "age", "ill"]),
    ],
)
def test_the_columns_that_outputs_are_made_of(secret, used):
    everything = ta.read(HERE / "people.csv", secret=secret)
    assert columns_used(ta.read_acro(HERE / "outputs", everything), everything.public) == used


def test_an_attack_on_the_folder(people):
    found = ta.read_acro(HERE / "outputs", people.public)
    attack = ta.reconstruct(found.releases, people.public, "least-squares", proof_effort=0)
    assert attack.status.settled
    assert (attack.guess == people.secret).mean() > 0.6
    assert (found.secret, found.meaning) == ("ill", ("no", "yes"))


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(HERE / "outputs", tmp_path / "outputs")
    return tmp_path / "outputs"


def _rewrite(path: Path, change) -> None:
    rows = list(csv.reader(path.read_text().splitlines()))
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(change(rows))


def test_shuffled_rows_and_columns_are_the_same_releases(people, copy):
    before, _ = _read(people.public)
    _rewrite(copy / "output_0_0.csv", lambda rows: [[r[0], r[2], r[1]] for r in (rows[0], *rows[:0:-1])])
    _rewrite(copy / "output_1_0.csv", lambda rows: [[*r[:2], *r[:1:-1]] for r in (rows[0], *rows[:0:-1])])
    _rewrite(
        copy / "output_2_0.csv",
        lambda rows: [[r[0], *r[:0:-1]] for r in (*rows[:3], *rows[:2:-1])],
    )
    after, _ = _read(people.public, copy)
    for name in ("output_0", "output_1", "output_2"):
        assert np.array_equal(after[name].values, before[name].values, equal_nan=True)
        assert after[name].protections == before[name].protections


def test_an_unknown_label_is_named(people, copy):
    _rewrite(copy / "output_0_0.csv", lambda rows: [rows[0], ["west", *rows[1][1:]], *rows[2:]])
    _, skipped = _read(people.public, copy)
    assert "'region'; got 'west'" in skipped["output_0"]


def test_the_secret_is_chosen(people):
    assert ta.read_acro(HERE / "outputs", people.public, secret="sick").secret == "sick"
    with pytest.raises(ta.InvalidInput, match="not among the public ones"):
        ta.read_acro(HERE / "outputs", people.public, secret="sex")


def test_whom_an_output_is_about_can_be_said(people, copy):
    results = json.loads((copy / "results.json").read_text())
    results["results"]["output_5"]["command"] = "acro.crosstab(young.sex, young.ill)"
    (copy / "results.json").write_text(json.dumps(results))
    _, skipped = _read(people.public, copy)
    assert "about only some of them" in skipped["output_5"]
    releases, _ = _read(people.public, copy, where={"output_5": "age < 40"})
    assert releases["output_5"].where == "age < 40"


HOSTILE = {
    "no record": (lambda p: p.unlink(), "a file that exists"),
    "not JSON": (lambda p: p.write_text("{"), "whole JSON"),
    "a list": (lambda p: p.write_text("[]"), "a JSON object"),
    "no results": (lambda p: p.write_text('{"version": 1}'), "results by id"),
    "results of text": (lambda p: p.write_text('{"results": {"a": "b"}}'), "results by id"),
}


@pytest.mark.parametrize(("harm", "words"), HOSTILE.values(), ids=HOSTILE.keys())
def test_broken_records_are_refused(people, copy, harm, words):
    harm(copy / "results.json")
    with pytest.raises(ta.InvalidInput, match=words):
        ta.read_acro(copy, people)


def _with_output(copy: Path, **fields) -> None:
    results = json.loads((copy / "results.json").read_text())
    results["results"]["output_0"] |= fields
    (copy / "results.json").write_text(json.dumps(results))


ODD = {
    "files outside": {"files": [{"name": "../people.csv"}]},
    "absolute files": {"files": [{"name": "/etc/passwd"}]},
    "no files": {"files": []},
    "files of numbers": {"files": [3]},
    "a number of files": {"files": 3},
    "a file with names": {"files": [{"name": ["a.csv"]}]},
    "files that are gone": {"files": [{"name": "gone.csv"}]},
    "another type": {"type": "survival plot"},
    "a type with marks": {"type": "\x1b[31mtable\u202e"},
    "a command that would do something": {"command": "__import__('os').system('echo hi')", "fair": {}},
    "a nested command": {"command": "a" + "(" * 5000, "outcome": {"no": 1}, "fair": []},
}


@pytest.mark.parametrize("fields", ODD.values(), ids=ODD.keys())
def test_odd_outputs_are_skipped_or_read_and_the_others_stay(people, copy, fields):
    _with_output(copy, **fields)
    releases, skipped = _read(people, copy)
    assert "output_1" in releases
    assert ("output_0" in releases) != ("output_0" in skipped)
    assert all(reason.isprintable() and len(reason) <= 300 for reason in skipped.values())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0\0",
        b"region,no,yes\n",
        b"region,no,yes\neast,SECRET,2\n",
        b'region,no\n"east',
        b"\xff\xfe",
        b"a",
    ],
)
def test_broken_tables_are_named_and_never_quoted(people, copy, content):
    (copy / "output_0_0.csv").write_bytes(content)
    _, skipped = _read(people, copy)
    assert "output_0_0.csv" in skipped["output_0"]
    assert "SECRET" not in skipped["output_0"]


@pytest.mark.skipif(importlib.util.find_spec("acro") is None, reason="needs tellall[acro]: pandas below 3")
def test_the_real_package_makes_the_same(people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(HERE)
    import make

    make.make(tmp_path / "outputs")
    now, _ = _read(people, tmp_path / "outputs")
    kept, _ = _read(people)
    assert list(now) == list(kept)
    for name, release in now.items():
        assert np.array_equal(release.values, kept[name].values, equal_nan=True)
    sys.modules.pop("make")


def _curve_folder(folder, command: str, times, curve) -> Path:
    """A folder with the table of a survival curve, as ACRO writes it."""
    folder.mkdir()
    shown = {"Time": times, "Surv prob": curve, "Surv prob SE": 0.1, "num at risk": 9, "num events": 1}
    pd.DataFrame(shown).to_csv(folder / "output_0_0.csv", index=False)
    record = {
        "status": "fail",
        "type": "table",
        "properties": {"method": "surv func"},
        "files": [{"name": "output_0_0.csv", "sdc": {}}],
        "command": command,
        "summary": "KaplanMeier : \n",
        "fair": {"dependent": "unknown", "independent": ["num at risk"]},
    }
    (folder / "results.json").write_text(json.dumps({"version": "1.0.2", "results": {"output_0": record}}))
    return folder


@pytest.fixture(scope="module")
def patients():
    rng = np.random.default_rng(3)
    table = {
        "months": rng.integers(1, 9, 80) * 1.0,
        "old": rng.integers(0, 2, 80),
        "died": rng.integers(0, 2, 80),
    }
    return ta.Dataset.from_frame(table, secret="died")


@pytest.mark.parametrize("where", [None, "old == 1"])
def test_survival_curves_are_read_where_the_event_is_the_secret(patients, tmp_path, where):
    exact = ta.publish(patients, ta.SurvivalCurve("months"), where=where)
    some = "df" if where is None else "df[df.old == 1]"
    command = f"acro.surv_func({some}.months, {some}['died'], output='table')"
    times = np.arange(1.0, 1 + exact.values.size)  # somebody was last seen in every month
    folder = _curve_folder(tmp_path / "outs", command, times, exact.values)
    for known in (patients, patients.public):  # an outsider is told by the command what the event is
        (release,) = ta.read_acro(folder, known).releases
        assert release.where == where
        assert np.array_equal(release.values, exact.values)
        told = ta.reconstruct(release, patients.public, "least-squares", proof_effort=0)
        best = ta.reconstruct(exact, patients.public, "least-squares", proof_effort=0)
        assert np.array_equal(told.guess, best.guess)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("acro.surv_func(df.months, df.old, output='table')", "a survival curve of old, not of died"),
        ("acro.surv_func(df.months, df.died, 'table', df.late)", "does not name its columns"),
        ("acro.surv_func(df.months, df.died, freq_weights=df.w)", "does not name its columns"),
        ("acro.surv_func(m, d)", "does not name its columns"),
        ("", "does not name its columns"),
        ("acro.surv_func(df.weeks, df.died)", "weeks"),
    ],
)
def test_other_survival_curves_are_named_with_the_reason(patients, tmp_path, command, words):
    folder = _curve_folder(tmp_path / "outs", command, [1.0, 2.0], [0.9, 0.8])
    (skipped,) = ta.read_acro(folder, patients).skipped
    assert words in skipped.reason


@pytest.mark.parametrize(
    "lines", ["Time,Surv prob\n1,a\n", "Time,Surv prob\n,0.5\n", "Time\n1\n", "Time,Surv prob\n1,.5\n1,.4\n"]
)
def test_bent_curves_are_refused(patients, tmp_path, lines):
    folder = _curve_folder(tmp_path / "outs", "acro.surv_func(df.months, df.died)", [1.0], [0.9])
    (folder / "output_0_0.csv").write_text(lines)
    found = ta.read_acro(folder, patients)
    assert not found.outputs
    assert "must be" in found.skipped[0].reason


def test_an_outsider_is_told_by_the_record_what_means_are_of(tmp_path):
    folder = _curve_folder(tmp_path / "outs", "acro.crosstab(df.old, df.sex)", [1.0], [0.9])
    table = pd.DataFrame({"old": [0, 0, 1, 1], "sex": list("fmfm"), "pay": [1.5, 2.5, 4.0, 8.25]})
    table.pivot_table("pay", "old", "sex", "mean").to_csv(folder / "output_0_0.csv")
    record = json.loads((folder / "results.json").read_text())
    record["results"]["output_0"] |= {
        "properties": {"method": "crosstab"},
        "summary": "mean : \n",
        "fair": {"dependent": "pay", "independent": ["old", "sex"]},
    }
    (folder / "results.json").write_text(json.dumps(record))
    found = ta.read_acro(folder, ta.Dataset.from_frame(table, secret="pay").public)
    assert (found.secret, found.meaning) == ("pay", ())
    assert found.releases[0].statistic == ta.CellMeans(3, [["old", "sex"]])
