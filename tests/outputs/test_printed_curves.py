"""Printed survival curves: recognised by computing them again, near misses refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.duration.survfunc import SurvfuncRight

import tellall as ta
from tellall.outputs.printed_curves import recognise_curve
from tellall.outputs.read import read_outputs


@pytest.fixture
def frame():
    rng = np.random.default_rng(8)
    n = 300
    return pd.DataFrame(
        {
            "months": rng.integers(1, 25, n),
            "age": rng.integers(20, 80, n),
            "sex": rng.choice(["f", "m"], n),
            "died": (rng.random(n) < 0.4).astype(int),
        }
    )


def _lifelines(frame, digits=6):
    fit = SurvfuncRight(frame.months, frame.died)
    curve = pd.DataFrame({"timeline": fit.surv_times, "KM_estimate": np.round(fit.surv_prob, digits)})
    return curve.to_csv(index=False)


def _survfit(frame):
    fit = SurvfuncRight(frame.months, frame.died)
    rows = zip(fit.surv_times, fit.n_risk, fit.n_events, fit.surv_prob, fit.surv_prob_se, strict=True)
    lines = ["Call: survfit(formula = Surv(months, died) ~ 1, data = df)", ""]
    lines.append(" time n.risk n.event survival std.err lower 95% CI upper 95% CI")
    lines += [
        f" {t:4.0f} {n:6.0f} {d:7.0f} {s:8.3f} {e:7.5f}        {s:.3f}        {s:.3f}"
        for t, n, d, s, e in rows
    ]
    return "\n".join([*lines, ""])


PRINTED = [("curve.csv", _lifelines), ("curve.txt", _survfit)]


@pytest.mark.parametrize(
    ("name", "show"), [("curve.csv", lambda f: _lifelines(f, 6)), ("curve.txt", _survfit)]
)
def test_curves_are_recognised(name, show, frame, tmp_path):
    (tmp_path / name).write_text(show(frame))
    (table,) = read_outputs(tmp_path).tables
    people = ta.Dataset.from_frame(frame, secret="died")
    found = recognise_curve(table, people)
    assert (found.time, found.event, found.reason, found.about_secret) == ("months", "died", "", True)
    assert found.sentence == "survival curve of died over months, 300 people"
    assert found.agrees == (24, 24)
    release = found.release(people)
    exact = release.exact(people)
    assert np.abs(release.values - exact).max() <= release.protections[0].base / 2 + 1e-9
    other = recognise_curve(table, ta.Dataset.from_frame(frame, secret="sex"))
    assert (other.about_secret, other.reason) == (False, "it says nothing about the secret")


@pytest.mark.parametrize(
    ("name", "show"), [("curve.csv", lambda f: _lifelines(f, 6)), ("curve.txt", _survfit)]
)
def test_other_people_and_other_digits_are_refused(name, show, frame, tmp_path):
    people = ta.Dataset.from_frame(frame, secret="died")
    (tmp_path / name).write_text(show(frame.sample(frac=0.5, random_state=1)))
    found = recognise_curve(read_outputs(tmp_path).tables[0], people)
    assert found.reason.startswith("no follow-up time")
    assert found.about_secret is None
    moved = frame.assign(died=np.where(frame.index == 5, 1 - frame.died, frame.died))
    (tmp_path / name).write_text(show(moved))
    assert recognise_curve(read_outputs(tmp_path).tables[0], people).reason


def test_curves_take_part_in_a_folder_of_outputs(frame, tmp_path):
    (tmp_path / "curve.csv").write_text(_lifelines(frame, 6))
    (tmp_path / "curve.txt").write_text(_survfit(frame))
    people = ta.Dataset.from_frame(frame, secret="died")
    folder = ta.recognise(tmp_path, people)
    assert [one.kind for one in folder.outputs] == ["survival curve"] * 2
    assert folder.known == ("months",)
    view = folder.people(people)
    for release in folder.releases:
        exact = release.statistic.values(view)
        assert np.abs(release.values - exact).max() <= release.protections[0].base / 2 + 1e-9
    (other, _) = ta.recognise(tmp_path, ta.Dataset.from_frame(frame, secret="sex")).outputs
    assert (other.read, other.about_secret) == (False, False)


def test_another_table_is_no_curve(frame, tmp_path):
    pd.crosstab(frame.sex, frame.died).to_csv(tmp_path / "t.csv")
    people = ta.Dataset.from_frame(frame, secret="died")
    assert recognise_curve(read_outputs(tmp_path).tables[0], people) is None
