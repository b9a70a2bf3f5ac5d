import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest

import tellall as ta
from tellall.audits.attacks import jobs_alone, jobs_together, key_of, trial_of
from tellall.audits.audit import reveal
from tellall.audits.document import read_audit
from tellall.audits.plans.plan import Plan
from tellall.audits.trial import Planned, Setting
from tellall.core import files as store
from tellall.report.audit_page import render
from tellall.statistics.where import as_where
from tests.conftest import random_people

from .conftest import PLAN, small_people


def test_each_release_alone_then_all_together_then_the_steps(done):
    assert [finding.name for finding in done.findings] == ["counts", "noisy", "all releases together"]
    assert [step.name for step in done.steps] == [
        "every 2-way table, exact",
        "every 2-way table, Gaussian(std=3)",
    ]
    assert [finding.outcome.draws for finding in done.findings] == [1, 2, 2]
    assert [finding.job.role for finding in done.findings] == ["alone", "alone", "together"]
    assert done.worst.name in ("counts", "all releases together")
    assert done.verdict.word == "fail"
    assert "people proved by arithmetic" in done.verdict.sentence


def test_the_joint_attack_sees_the_releases_of_the_single_ones(people, done):
    setting, alone = Setting(people), jobs_alone(done.plan)
    (joint,) = jobs_together(done.plan, [0, 1])
    single = [trial_of(setting, done.plan, job).published[-1][0] for job in alone[:2]]
    together = trial_of(setting, done.plan, joint).published[1]
    for one, other in zip(single, together, strict=True):
        assert np.array_equal(one.values, other.values)


def test_the_document_keeps_to_its_schema_and_names_nobody(done):
    text = store.dump(done.document)
    assert read_audit(text)
    assert json.loads(text)["findings"][0]["summary"]["people"] == 60


def test_where_equations_were_solved_is_written_down(done):
    assert done.document["device"] == "cpu"
    elsewhere = replace(done, plan=replace(done.plan, device="cuda:1"))
    assert elsewhere.document["device"] == "cuda:1"
    assert read_audit(store.dump(elsewhere.document)).device == "cuda:1"
    page = render(elsewhere.content)
    assert "<dd>cuda:1</dd>" in page


def test_the_number_of_processes_changes_nothing(people, done):
    assert store.dump(ta.audit(people, PLAN, processes=2).document) == store.dump(done.document)


def test_progress_is_told(people):
    seen = []
    found = ta.audit(
        people,
        {"releases": [{"statistic": {"kind": "Marginals", "ways": 2}}]},
        lambda *done: seen.append(done),
    )
    decoders = len(with_one_rate(found.findings[0]))
    assert seen == [(0, decoders), (decoders, decoders)]


def with_one_rate(finding):
    """The attacks with one rate for everybody: what progress counts, since the others take little more."""
    return [one for one in finding.outcomes if ", " not in one.asked]


def test_what_cannot_be_attacked_is_skipped_with_its_reason(people, monkeypatch):
    def fail(*_args, **_options):
        raise ta.CannotLinearise("no equations in it")

    monkeypatch.setattr("tellall.audits.trial.reconstruct_releases", fail)
    noise = {"kind": "Gaussian", "std": 1.0}
    release = {"statistic": {"kind": "Marginals", "ways": 2}, "protect": noise}
    result = ta.audit(people, {"releases": [release]})
    assert isinstance(result.findings[0], ta.Skipped)
    assert result.findings[0].reason == "no equations in it"
    assert result.worst is None
    assert result.verdict.word == "review"
    assert "no equations in it" in result.document["not_tested"][0]
    assert not any("another could give away" in line for line in result.document["not_tested"])
    assert read_audit(store.dump(result.document))


@pytest.mark.parametrize(
    ("protect", "said"),
    [
        ([{"kind": "Suppression", "below": 2}, {"kind": "Rounding", "base": 5}], False),
        ([{"kind": "Gaussian", "std": 2.0}], True),
    ],
)
def test_only_what_is_drawn_could_be_drawn_otherwise(people, protect, said):
    release = {"statistic": {"kind": "Marginals", "ways": 2}, "protect": protect}
    result = ta.audit(people, {"steps": False, "releases": [release]})
    assert any("another could give away" in line for line in result.document["not_tested"]) == said


def test_advice_that_a_plan_cannot_follow_is_not_given(people):
    release = {
        "statistic": {"kind": "Marginals", "ways": 3},
        "protect": [{"kind": "Suppression", "below": 8, "complementary": True}],
    }
    result = ta.audit(people, {"steps": False, "releases": [release], "limit": 0.9, "exposed_limit": 60})
    assert result.findings[0].outcome.status.word == "uncalibrated"
    assert result.verdict.word == "review"
    assert "was attacked and stayed below the limits, but" in result.verdict.sentence
    assert "give the prior" not in store.dump(result.document)


def test_finished_findings_are_not_found_again(people, done, tmp_path, monkeypatch):
    ta.audit(people, PLAN, work=tmp_path)
    files = sorted(tmp_path.rglob("*.json"))
    assert len(files) == 5
    files[1].write_text("{ torn", encoding="utf-8")
    plain = json.loads(files[2].read_text(encoding="utf-8"))
    files[2].write_text(json.dumps({**plain, "masked": plain["masked"][::-1]}), encoding="utf-8")
    seen = []
    again = ta.audit(people, PLAN, lambda *done: seen.append(done), work=tmp_path)
    total = sum(len(with_one_rate(one)) for one in (*done.findings, *done.steps))
    assert 0 < seen[0][0] < total  # what was kept, before anything is attacked
    assert seen[-1] == (total, total)
    assert store.dump(again.document) == store.dump(done.document)


def test_another_plan_or_other_people_have_another_place(people, done):
    key = key_of(done.plan, people)
    assert key != key_of(ta.Plan.from_mapping({**PLAN, "seed": 1}), people)
    assert key != key_of(done.plan, small_people(seed=1))
    assert key != key_of(replace(done.plan, device="cuda"), people)
    flipped = ta.Dataset(people.public, 1 - people.secret)
    assert key != key_of(done.plan, flipped)


def test_a_link_is_no_workplace(people, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(ta.InvalidInput, match="not a link"):
        ta.audit(people, PLAN, work=tmp_path / "link")


def test_only_reveal_says_who(people, done):
    named = reveal(people, done.plan)
    assert named["warning"].startswith("SECRET")
    rows = named["people"]["counts"]
    assert rows
    assert all(1 <= row["row"] <= people.n and row["confidence"] >= 0.95 for row in rows)


SCRIPT = """
import sys
sys.path.insert(0, {root!r})
import tellall as ta
from tellall.core import files as store
from tests.audits.conftest import PLAN, small_people
result = ta.audit(small_people(), PLAN, work=sys.argv[1])
sys.stdout.write(store.dump(result.document))
"""


def started(work) -> subprocess.Popen[str]:
    """The audit in a process of its own."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    command = [sys.executable, "-c", SCRIPT.format(root=root), str(work)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run_and_kill(work, seconds: float) -> str | None:
    """The audit's document; None where it was killed after so many seconds."""
    process = started(work)
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    assert process.returncode == 0, err
    return out


def kill_and_resume(work, wanted: str, delays) -> int:
    """How often the audit was killed before it ended with the wanted document."""
    kills = 0
    for seconds in delays:
        out = run_and_kill(work, seconds)
        if out is not None:
            assert out == wanted
            return kills
        kills += 1
    assert run_and_kill(work, 300) == wanted
    return kills


@pytest.mark.slow
def test_a_killed_audit_continues_to_the_same_numbers(done, tmp_path):
    work = tmp_path / "work"
    for findings in (1, 3):
        process = started(work)
        while len(list(work.rglob("*.json"))) < findings:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        process.kill()
        process.communicate()
    assert run_and_kill(work, 300) == store.dump(done.document)


@pytest.mark.slow
def test_twenty_audits_killed_at_random_points(done, tmp_path):
    wanted = store.dump(done.document)
    start = time.monotonic()
    assert run_and_kill(tmp_path / "whole", 300) == wanted
    whole = time.monotonic() - start
    rng = np.random.default_rng(0)
    killed = 0
    for number in range(20):
        killed += kill_and_resume(tmp_path / f"work{number}", wanted, [whole * rng.uniform(0.2, 0.95)])
    assert killed >= 15


def test_draws_that_happen_to_be_equal_are_kept(people):
    """Noise of 0.001 is gone after rounding to tens: the two draws are the same numbers."""
    steps = [{"kind": "Gaussian", "std": 0.001}, {"kind": "Rounding", "base": 10}]
    release = {"name": "tens", "statistic": {"kind": "Marginals", "ways": 2}, "protect": steps}
    plan = {"repeats": 2, "steps": False, "releases": [release]}
    assert ta.audit(people, plan).findings[0].outcome.draws == 2
    assert (
        ta.audit(people, plan | {"releases": [release | {"protect": steps[1:]}]}).findings[0].outcome.draws
        == 1
    )


@dataclass(frozen=True)
class Louder(ta.Protection):
    """Noise that does not declare its law."""

    std: float

    @property
    def law(self):
        return ta.Unknown()

    def perturb(self, values, rng=None, context=None):
        return ta.Gaussian(self.std).perturb(values, rng)


MASK = np.arange(60) < 40
TABLE = {"-1": 0.5, "1": 0.5}


def _published(protect, where=None):
    values = np.round(np.random.default_rng(5).normal(4, 2, 4))
    options = {"public": _KEPT.public, "noise": protect, "where": where}
    return Planned.published("p", ta.Release.from_values(ta.Marginals(2, [["a0"]]), values, **options))


def _planned(where, *protect):
    return Planned("t", ta.Marginals(3), protect, where=as_where(where))


_KEPT = random_people(60, 5, seed=3)
CHANGES = {
    "law of a published release": (_published(ta.Gaussian(2.0)), _published(ta.Gaussian(20.0))),
    "people of a published release": (
        _published(ta.Gaussian(2.0), MASK),
        _published(ta.Gaussian(2.0), ~MASK),
    ),
    "people": (_planned(MASK), _planned(~MASK)),
    "cell key": (_planned(MASK, ta.CellKey(TABLE, key=1)), _planned(MASK, ta.CellKey(TABLE, key=2))),
    "own class": (_planned(MASK, Louder(1.0)), _planned(MASK, Louder(9.0))),
}


@pytest.mark.parametrize("name", CHANGES)
def test_kept_work_is_never_that_of_another_plan(name, tmp_path):
    first, second = (Plan((planned,), steps=False) for planned in CHANGES[name])
    ta.audit(_KEPT, first, work=tmp_path)
    kept, fresh = (ta.audit(_KEPT, second, work=work).findings[0] for work in (tmp_path, None))
    assert kept.outcomes == fresh.outcomes
    assert kept.outcomes != ta.audit(_KEPT, first).findings[0].outcomes
