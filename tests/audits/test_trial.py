"""One engine: the same release and decoder have the same numbers, whoever asks."""

import numpy as np
import pytest

import tellall as ta
from tellall.audits.outcome import Outcome
from tellall.audits.trial import Planned, Setting, Trial, affordable, strongest
from tests.conftest import first_fast, random_people

PEOPLE = random_people(40, 6, seed=2)
TABLES = ta.Marginals(3)
PLAN = {"repeats": 3, "steps": False, "releases": [{"statistic": {"kind": "Marginals", "ways": 3}}]}


@pytest.mark.parametrize(
    ("protect", "plain"),
    [
        ((), []),
        ((ta.Rounding(5),), [{"kind": "Rounding", "base": 5}]),
        ((ta.Gaussian(2.0),), [{"kind": "Gaussian", "std": 2.0}]),
    ],
    ids=["exact", "rounded", "noisy"],
)
@pytest.mark.parametrize("seed", first_fast([0, 7]))
def test_score_audit_sweep_and_calibrate_agree(protect, plain, seed):
    stream = Planned("tables", TABLES, protect).stream_of(0)
    release = ta.publish(PEOPLE, TABLES, protect, rng=np.random.default_rng([seed, stream, 0]))
    decoders = affordable(PEOPLE.n, 1, 2)
    plan = {
        "seed": seed,
        "steps": False,
        "releases": [{"statistic": {"kind": "Marginals", "ways": 3}, "protect": plain}],
    }
    audited = {one.asked: one for one in ta.audit(PEOPLE, plan).findings[0].outcomes}
    swept = ta.sweep(PEOPLE, TABLES, [list(protect) or None], repeats=1, rng=seed, stream=stream)
    assert tuple(audited) == decoders == tuple(row.decoder for row in swept.rows)
    for row, decoder in zip(swept.rows, decoders, strict=True):
        attack = ta.reconstruct(release, PEOPLE.public, decoder)
        risk = ta.score(attack, PEOPLE.secret, tried=len(decoders))
        found = audited[decoder]
        assert found.interval == risk.interval
        low, _ = ta.score(attack, PEOPLE.secret).interval
        assert low >= risk.interval[0]  # an attack that is tried alone is not the luckiest of several
        assert found.accuracy == row.accuracy == risk.accuracy
        assert found.advantage == row.advantage == pytest.approx(risk.advantage)
        assert found.baselines == pytest.approx(dict(risk.baselines))
        assert found.exposed_people == row.exposed == risk.exposed
        assert found.proved == row.proved == risk.proved_alone + risk.proved_group
        assert found.interval == (row.low, row.high)
    if protect and isinstance(protect[0], ta.Gaussian):
        least = ta.calibrate(
            PEOPLE,
            TABLES,
            lambda scale: ta.Gaussian(2.0),
            0.9,
            exposed_limit=None,
            draws=1,
            start=1.0,
            rng=seed,
            stream=stream,
        )
        worst = max(audited.values(), key=lambda one: one.interval[1])
        measured = next(one for one in least.history if one.scale == 1.0)
        assert (measured.advantage, measured.interval) == (worst.advantage, worst.interval)
        assert measured.decoder == worst.asked


def test_the_seed_of_the_caller_changes_nothing_about_an_exact_release():
    found = [ta.audit(PEOPLE, {**PLAN, "seed": seed}).findings[0].outcomes for seed in (0, 5)]
    assert found[0] == found[1]


def test_an_outcome_survives_json():
    for decoder in ("auto", "least-squares"):
        noisy = Planned("noisy", TABLES, (ta.Gaussian(2.0), ta.Rounding(5)))
        outcome = Trial(Setting(PEOPLE), (noisy,), draws=2).run(decoder)
        assert Outcome.from_plain(outcome.to_plain()) == outcome
        assert "hits" not in outcome.as_json()


def test_the_strongest_has_the_largest_advantage():
    setting = Setting(PEOPLE)
    outcomes = [
        Trial(setting, (Planned("x", TABLES, (ta.Gaussian(std),)),)).run("least-squares")
        for std in (30.0, 0.5)
    ]
    assert strongest(outcomes) is outcomes[1]


def test_real_secrets_are_audited():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(40, 30))
    people = ta.Dataset.from_arrays(columns, secret=3 + columns[:, 0] + rng.normal(size=40))
    plan = {"steps": False, "releases": [{"statistic": {"kind": "Estimator", "loss": "linear", "block": 2}}]}
    audit = ta.audit(people, plan)
    outcome = audit.findings[0].outcome
    assert outcome.real
    release = ta.publish(people, ta.Estimator("linear", block=2))
    risk = ta.score(ta.reconstruct(release, people.public), people.secret)
    assert outcome.accuracy == risk.error
    assert outcome.advantage == pytest.approx(risk.advantage)
    assert set(outcome.baselines) == {"median", "public", "own group", "population"}
    assert audit.verdict.word in ("review", "fail")
    assert "nearer" in audit.verdict.sentence or "settled" in audit.verdict.sentence


@pytest.mark.slow
def test_appending_a_release_lowers_nothing():
    releases = [
        {"name": "a", "statistic": {"kind": "Marginals", "ways": 2}},
        {
            "name": "b",
            "statistic": {"kind": "Marginals", "ways": 3},
            "protect": {"kind": "Rounding", "base": 5},
        },
        {"name": "c", "statistic": {"kind": "Predicates", "function": "xor", "ways": 2}},
        {
            "name": "d",
            "statistic": {"kind": "Marginals", "ways": 3},
            "protect": {"kind": "Gaussian", "std": 5},
        },
    ]
    last = (-1.0, 0, 0)
    for count in range(1, 5):
        audit = ta.audit(PEOPLE, {"steps": False, "releases": releases[:count]})
        outcomes = [one for finding in audit.findings for one in finding.outcomes]
        found = (
            max(one.advantage for one in outcomes),
            max(one.exposed_people for one in outcomes),
            max(one.proved for one in outcomes),
        )
        assert all(now >= before - 1e-12 for now, before in zip(found, last, strict=True))
        last = found
    names = [finding.name for finding in audit.findings]
    assert names == ["a", "b", "c", "d", "a + b", "a + c", "b + c", "a + b + c", "all releases together"]


def test_baselines_of_equal_statistics_are_computed_once(monkeypatch):
    calls = []
    setting = Setting(ta.Dataset(PEOPLE.public, PEOPLE.secret))  # whom no other test has asked about
    monkeypatch.setattr("tellall.audits.trial.of_releases", lambda *given: calls.append(given) or ())
    setting.baselines([ta.Marginals(3)])
    setting.baselines([ta.Marginals(3)])
    assert len(calls) == 1
    assert setting.exact(ta.Marginals(3)) is setting.exact(ta.Marginals(3))
    setting.baselines([ta.Marginals(2)])
    assert len(calls) == 2


def test_draws_are_attacked_when_they_are_asked_for(monkeypatch):
    made = []
    alone = Trial._alone
    monkeypatch.setattr(Trial, "_alone", lambda *given: made.append(given) or alone(*given))
    planned = Planned("x", TABLES, (ta.Gaussian(2.0), ta.Rounding(5)))
    attacks = Trial(Setting(PEOPLE), (planned,), 3).attacks("lp")
    next(attacks)
    assert len(made) == 1
    assert len(list(attacks)) == 2


def test_who_is_proved_needs_no_row_space(monkeypatch):
    monkeypatch.setattr("tellall.attack.reconstruct.attack.linear_groups", None)
    attack = ta.reconstruct(ta.publish(PEOPLE, ta.Marginals(5)), PEOPLE.public)
    assert attack.proved.any()
    assert (ta.score(attack, PEOPLE.secret)._proved != "").sum() == attack.proved.sum()


def test_the_share_of_wrong_equations_that_lp_survives_is_kept():
    people = random_people(12, 14, seed=2)
    trial = Trial(Setting(people), (Planned("x", ta.Predicates("xor", 3), (ta.Gaussian(0.1),)),))
    found, other = trial.run("lp"), trial.run("least-squares")
    assert found.survives == trial.attack("lp")[0].survival.share > 0
    assert other.survives is None
    assert Outcome.from_plain(found.to_plain()).survives == found.survives
