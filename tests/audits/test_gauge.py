"""What is known before an attack: the gauge's numbers and the protections' promises."""

import numpy as np
import pytest

import tellall as ta
from tellall.audits import trial as room
from tellall.audits.outcome import Outcome, Promised
from tellall.audits.trial import Planned, Setting, Trial

from .conftest import PLAN


def foreseen(people, *parts):
    planned = tuple(Planned("x", statistic, laws, index) for index, (statistic, laws) in enumerate(parts))
    return Trial(Setting(people), planned).foreseen


def promised(people, *parts):
    planned = tuple(Planned("x", statistic, laws, index) for index, (statistic, laws) in enumerate(parts))
    return Trial(Setting(people), planned).promised


def test_the_numbers_are_the_gauges_at_the_rate_of_the_secret(people):
    law = ta.Gaussian(3.0)
    gauge = ta.bounds.gauge(ta.Marginals(3), people.public, law, rate=0.5)
    found = foreseen(people, (ta.Marginals(3), (law,)))
    assert (found.equations, found.people, found.groups) == (gauge.equations, gauge.people, gauge.groups)
    assert (found.rank_cap, found.rank, found.rate) == (gauge.rank_cap, gauge.rank, 0.5)
    assert (found.accuracy, found.limit, found.ignored) == (gauge.with_prior, gauge.limit, ())


def test_a_protection_that_the_gauge_leaves_out_is_named(people):
    found = foreseen(people, (ta.Marginals(2), (ta.Suppression(5), ta.Rounding(5))))
    assert found.ignored == ("Suppression(below=5)",)
    assert found.limit is None


def test_there_is_no_gauge_where_it_refuses_or_costs_too_much(people, monkeypatch):
    tables = (ta.Marginals(2), ())
    assert foreseen(people, tables) is not None
    assert foreseen(people, (ta.Estimator("logistic"), ())) is None
    assert foreseen(ta.Dataset(people.public, np.ones(60, dtype=np.int8)), tables) is None
    monkeypatch.delattr(room, "gauge_together")  # the others do not even ask it
    monkeypatch.setattr(room, "GAUGED", len(people.patterns) - 1)
    assert foreseen(people, tables) is None


def test_several_releases_are_gauged_together(people):
    one, other = (ta.Marginals(3), (ta.Gaussian(3.0),)), (ta.Marginals(2), (ta.Suppression(5),))
    found = foreseen(people, one, other, one)
    gauge = ta.bounds.gauge_together([one, other, one], people.public, rate=0.5)
    assert (found.equations, found.rank_cap, found.rank) == (gauge.equations, gauge.rank_cap, gauge.rank)
    assert (found.accuracy, found.limit) == (gauge.with_prior, None)
    assert found.ignored == ("Suppression(below=5)",)
    assert found.accuracy > foreseen(people, one).accuracy
    assert foreseen(people, one, (ta.Estimator("logistic"), ())) is None


def test_promises_add_up_and_one_silence_silences_all(people):
    one = (ta.Marginals(2), (ta.Laplace(10.0),))
    other = (ta.Marginals(2), (ta.Gaussian(10.0), ta.Rounding(5)))
    guarantees = [ta.guarantee_of(law, statistic, people.public) for statistic, law in (one, other)]
    both = promised(people, one, other)
    assert promised(people, one).epsilon == guarantees[0].epsilon
    assert both.epsilon == pytest.approx(sum(each.epsilon for each in guarantees))
    assert both.delta == pytest.approx(1e-6)
    assert both.relation == "one row replaced"
    assert promised(people, one, (ta.Marginals(2), ())) == Promised()
    assert promised(people, (ta.Marginals(2), (ta.Rounding(5), ta.Laplace(1.0)))) == Promised()


def test_every_finding_of_an_audit_has_them(people, done):
    counts, noisy, together = (finding.outcome for finding in done.findings)
    assert counts.foreseen.rate == noisy.foreseen.rate == 0.5
    assert together.foreseen.equations == counts.foreseen.equations + noisy.foreseen.equations
    assert together.foreseen.accuracy >= max(counts.foreseen.accuracy, noisy.foreseen.accuracy) - 1e-9
    assert counts.promised == together.promised == Promised()
    assert noisy.promised.epsilon == ta.guarantee_of(ta.Gaussian(3.0), ta.Marginals(2), people.public).epsilon
    assert done.steps[0].outcome.promised == Promised()
    assert done.steps[1].outcome.promised == noisy.promised
    assert all(finding.outcome.decoder for finding in (*done.findings, *done.steps))


def test_the_gauge_is_read_once_for_all_draws(people, monkeypatch):
    asked = []

    def counted(*arguments, **options):
        asked.append(arguments[0])
        return ta.bounds.gauge_together(*arguments, **options)

    monkeypatch.setattr(room, "gauge_together", counted)
    release = PLAN["releases"][1]
    result = ta.audit(people, {"repeats": 3, "steps": False, "releases": [release]})
    assert result.findings[0].outcome.draws == 3
    assert len(asked) == 1  # for every decoder


def test_how_often_more_than_a_share_of_the_people_is_wrong(people):
    """Definition 1 of the linear-reconstruction paper, over draws of the noise."""
    release = {**PLAN["releases"][1]}
    summary = ta.audit(people, {"repeats": 4, "steps": False, "releases": [release]}).findings[0].outcome
    assert len(summary.wrong) == summary.draws == 4
    assert summary.accuracy == pytest.approx(1 - np.mean(summary.wrong) / people.n)
    for found in summary.recovery:
        assert found.beta == np.mean([count > found.alpha * people.n + 1e-9 for count in summary.wrong])
        assert found.low <= found.beta <= found.high
    betas = [found.beta for found in summary.recovery]
    assert betas == sorted(betas, reverse=True)
    assert Outcome.from_plain(summary.to_plain()) == summary
    assert [one["alpha"] for one in summary.as_json()["recovery"]] == [0.01, 0.05, 0.1, 0.25]


def test_values_that_give_no_equation_are_told():
    public = np.random.default_rng(8).normal(size=(40, 6))
    separable = ta.Dataset.from_arrays(public, public[:, 0] > 0.1)
    statistic = {"kind": "Estimator", "loss": "logistic", "block": 2, "intercept": True}
    summary = ta.audit(separable, {"releases": [{"statistic": statistic}]}).findings[0].outcome
    assert summary.foreseen is None
    assert len(summary.skipped) == 1
    assert "1 of 3 models (a0, a1)" in str(summary.skipped[0])


def test_many_people_are_gauged_without_the_rank(people, monkeypatch):
    exact = foreseen(people, (ta.Marginals(3), (ta.Gaussian(3.0),)))
    monkeypatch.setattr(room, "_RANKED", 1)
    found = foreseen(people, (ta.Marginals(3), (ta.Gaussian(3.0),)))
    assert found.rank is None
    assert found.accuracy == pytest.approx(exact.accuracy, abs=1e-9)
