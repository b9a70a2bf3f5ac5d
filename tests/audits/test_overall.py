"""What all releases of a plan give away together: one more release lowers no number."""

import json
from dataclasses import replace

import numpy as np
import pytest

import tellall as ta
from tellall.attack.baselines import Baseline, typical
from tellall.attack.secret import Secret
from tellall.audits.attacks import attack_all, jobs_together
from tellall.audits.document import read_audit
from tellall.audits.findings import Finding, void
from tellall.audits.measures.proofs import Proofs
from tellall.audits.plans.plan import Plan
from tellall.audits.union import proved_together
from tellall.audits.verdict import Limits, judge
from tellall.core import files as store
from tellall.core.checkpoint import Checkpoint
from tellall.people.dataset import Public
from tests.report.test_page import outcome

from .conftest import small_people

KEY = bytes(range(32))


def random_entry(rng: np.random.Generator) -> dict:
    protections = (
        [],
        [{"kind": "Rounding", "base": int(rng.integers(2, 6))}],
        [{"kind": "Suppression", "below": int(rng.integers(2, 6))}],
        [{"kind": "Gaussian", "std": float(rng.uniform(0.3, 3))}],
    )
    chosen = rng.choice(5, size=2, replace=False).tolist()
    table = {"kind": "Marginals", "ways": 3, "attributes": [[f"a{j}" for j in sorted(chosen)]]}
    return {"statistic": table, "protect": protections[rng.integers(len(protections))]}


def reported(people: ta.Dataset, entries: list[dict], **options: object) -> tuple[float, ...]:
    plan = {"steps": False, "releases": entries, **options}
    found = ta.audit(people, plan).overall
    counted = found.sensitive
    return (
        found.advantage,
        found.exposed_people,
        found.proved,
        sum(found.proved_alone.values()),
        counted.proved_alone,
        counted.exposed,
        counted.learnt,
    )


def never_lowers(seed: int, n: int, releases: int) -> None:
    rng = np.random.default_rng(seed)
    people = ta.Dataset.from_arrays(
        rng.integers(0, 2, (n, 5)),
        rng.permutation(np.arange(n) % 3 == 0).astype(int),
        [f"a{j}" for j in range(5)],
    )
    entries = [random_entry(rng) for _ in range(releases)]
    options = {"seed": int(rng.integers(100)), "repeats": int(rng.integers(1, 3))}
    before = (-np.inf,) * 7
    for count in range(1, releases + 1):
        after = reported(people, entries[:count], **options)
        assert all(now >= then for now, then in zip(after, before, strict=True)), (seed, count, before, after)
        before = after


def majority(public: Public, truth: np.ndarray, secret: Secret) -> tuple[Baseline, ...]:
    return (typical(truth, secret),)


@pytest.mark.parametrize("seed", range(2))
def test_one_more_release_lowers_nothing(seed, monkeypatch):
    monkeypatch.setattr("tellall.audits.attacks.affordable", lambda *_: ("least-squares",))
    monkeypatch.setattr("tellall.audits.trial.before_any_release", majority)
    never_lowers(seed, 24, 4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_one_more_of_five_releases_lowers_nothing(seed):
    never_lowers(seed, 40, 5)


def test_the_sets_of_a_longer_plan_hold_those_of_a_shorter_one():
    entry = {"statistic": {"kind": "Marginals", "ways": 2}}
    before: set = set()
    for count in range(1, 8):
        plan = Plan.from_mapping({"releases": [entry] * count})
        sets = {job.members for job in jobs_together(plan, range(count))}
        assert before <= sets
        assert len(sets) == {1: 0, 2: 1, 3: 4}.get(count, count + 1)
        before = sets


def test_people_proved_are_the_union_over_sets_of_releases(monkeypatch):
    """Two cells, each proving other people: neither alone proves as many as both."""
    people = small_people(40, 4, seed=3)
    plan = Plan.from_mapping(
        {
            "steps": False,
            "releases": [
                {"statistic": {"kind": "Marginals", "ways": 3, "attributes": [pair]}}
                for pair in ([0, 1], [2, 3])
            ],
        }
    )
    found = [one for one in attack_all(people, plan) if isinstance(one, Finding)]
    alone = [finding for finding in found if finding.job.role == "alone"]
    each = [sum(sum(part.values()) for part in finding.proved) for finding in alone]
    both = proved_together(alone)
    joined = sum(both.alone.values()) + sum(both.group.values())
    assert max(each) <= joined <= sum(each)
    masks = [np.concatenate([finding.proofs.codes[0] > 0]) for finding in alone]
    assert joined == int((masks[0] | masks[1]).sum())


@pytest.mark.parametrize("levels", [2, 4])
def test_proofs_are_counted_as_they_are_and_survive_being_written(levels):
    rng = np.random.default_rng(levels)
    truth = rng.integers(0, levels, 50)
    kinds = [rng.choice(["alone", "group", ""], 50) for _ in range(3)]
    found = Proofs.of(kinds, truth, levels, KEY)
    for name in ("alone", "group"):
        wanted = [
            np.mean([int(((kind == name) & (truth == value)).sum()) for kind in kinds])
            for value in range(levels)
        ]
        assert list(getattr(found, name).values()) == wanted
    again = Proofs.from_plain(json.loads(json.dumps(found.to_plain())))
    assert (again.alone, again.group) == (found.alone, found.group)
    assert Proofs.union([found, found]).alone == found.alone
    assert sum(found.none().alone.values()) + sum(found.none().group.values()) == 0


def test_alone_wins_over_group_and_one_draw_joins_several():
    truth = np.array([1, 0, 1, 1])
    one = Proofs.of([np.array(["group", "", "", "alone"])], truth, 2, KEY)
    two = Proofs.of([np.array(["alone", "", "", ""]), np.array(["", "group", "", ""])], truth, 2, KEY)
    both = Proofs.union([one, two])
    assert len(both.codes) == 2
    assert both.alone == {"0": 0, "1": 1.5}  # two people in the first draw, one in the second
    assert Proofs.union([]) is None


def test_what_is_kept_of_proofs_does_not_say_who():
    truth = np.arange(200) % 2
    kinds = np.where(np.arange(200) < 20, "alone", "")
    kept = Proofs.of([kinds], truth, 2, KEY).codes[0] > 0
    assert kept.sum() == 20
    assert kept[:20].sum() < 15


def test_only_an_audit_keeps_who_is_proved_and_in_an_order_of_its_own(people):
    plan = Plan.from_mapping({"steps": False, "releases": [{"statistic": {"kind": "Marginals", "ways": 4}}]})
    one, two = (attack_all(people, plan)[0].proofs for _ in range(2))
    assert (one.alone, one.group) == (two.alone, two.group)
    assert not np.array_equal(one.codes[0], two.codes[0])
    swept = ta.sweep(people, plan.releases[0].statistic, [None], decoders=["least-squares"])
    assert swept.outcomes[0].proofs is None


def test_a_proof_that_the_truth_contradicts_voids_the_proofs_of_a_release():
    row = outcome(0.0, -0.01, 0.02, proved_alone={"0": 1, "1": 3}, learnt={"0": 1, "1": 3})
    assert judge([("release", row)], Limits(0.05, 0, ("1",))).word == "fail"
    job = (
        ta.audit(small_people(), {"releases": [{"statistic": {"kind": "Marginals", "ways": 2}}]})
        .findings[0]
        .job
    )
    voided = void(Finding(job, (row,)))
    assert voided.outcome.proved == 0
    assert voided.verdict.word == "review"
    assert "does not describe these people" in voided.verdict.sentence


def test_more_people_proved_over_all_sets_than_allowed_fail():
    row = outcome(0.0, -0.01, 0.02, proved_alone={"0": 0, "1": 2}, learnt={"0": 0, "1": 2})
    limits = Limits(0.05, 3, ("1",))
    assert judge([("a", row), ("b", row)], limits, sensitive={"proved_alone": 3, "exposed": 0}).word == "pass"
    both = judge([("a", row), ("b", row)], limits, sensitive={"proved_alone": 4, "exposed": 0})
    assert both.word == "fail"
    assert "4 people proved by arithmetic" in both.sentence


def test_a_release_of_an_unknown_kind_is_recorded_beside_the_others(people):
    table = {"kind": "Marginals", "ways": 2}
    plan = {
        "limit": 0.9,
        "exposed_limit": None,
        "steps": False,
        "releases": [{"name": "counts", "statistic": table}],
    }
    unknown = {"name": "medians", "statistic": {"kind": "Quantiles"}}
    alone = ta.audit(people, plan)
    both = ta.audit(people, {**plan, "releases": [*plan["releases"], unknown]})
    assert alone.verdict.word == "pass"
    assert both.verdict.word == "review"
    assert "Not attacked: medians" in both.verdict.sentence
    assert both.overall == alone.overall
    document = both.document
    assert read_audit(store.dump(document))
    assert document["not_checked"] == [
        {
            "name": "medians",
            "reason": "tellall has no statistic of kind 'Quantiles', nor anything like it",
            "stage": "check",
            "nearest": None,
            "outcome": "skipped",
        }
    ]
    assert [row["outcome"] for row in document["findings"]] == ["found", "skipped"]


def test_decoders_stand_side_by_side_and_guesses_are_counted_by_confidence(done):
    document = done.document
    row = document["findings"][0]
    informed = {"auto, informed", "least-squares, informed"}
    assert {one["decoder"] for one in row["decoders"]} == {"auto", "least-squares", "lp"} | informed
    best = max(row["decoders"], key=lambda one: one["advantage"])
    assert best["advantage"] == row["summary"]["advantage"]
    bins = row["summary"]["reliability"]
    assert sum(one["said"] for one in bins) == 60
    assert sum(one["right"] for one in bins) == round(60 * row["summary"]["accuracy"])
    assert all(one["said"] >= 10 and one["right"] <= one["said"] for one in bins)


def test_the_checkpoints_of_areas_hold_no_proofs(tmp_path, monkeypatch):
    pieces: list[dict] = []
    keep = Checkpoint.keep
    monkeypatch.setattr(
        Checkpoint, "keep", lambda self, key, piece: pieces.append(piece) or keep(self, key, piece)
    )
    rng = np.random.default_rng(0)
    frame = {f"a{j}": rng.integers(0, 2, 40) for j in range(4)}
    frame |= {"town": np.array(["x", "y"])[np.arange(40) % 2], "ill": rng.permutation(np.arange(40) % 2)}
    people = ta.Dataset.from_frame(frame, secret="ill")
    plan = {"by": "town", "steps": False, "releases": [{"statistic": {"kind": "Marginals", "ways": 3}}]}
    done = ta.audit(people, plan, work=tmp_path)
    assert done.overall.proved > 0
    assert len(pieces) == len(list(tmp_path.rglob("*.json"))) == 2
    for piece in pieces:
        assert all(one["proofs"] is None for found in piece["findings"] for one in found["outcomes"])
    each = [
        ta.audit(area, replace_by(done.plan, area_found.seed)) for area, area_found in areas(people, done)
    ]
    assert done.overall.proved == sum(one.overall.proved for one in each)


def replace_by(plan: Plan, seed: int) -> Plan:
    return replace(plan, by=None, seed=seed)


def areas(people: ta.Dataset, done: ta.Audit):
    from tellall.people.areas import split

    for area in split(people, "town"):
        yield area.dataset, next(one for one in done.areas if one.name == area.name)


def test_what_no_attack_on_several_values_knows_is_not_checked():
    rng = np.random.default_rng(0)
    frame = {f"c{j}": rng.choice(list("ab"), 40) for j in range(3)}
    people = ta.Dataset.from_frame({**frame, "s": rng.choice(list("xyz"), 40)}, secret="s")
    fits = {"name": "fits", "statistic": {"kind": "Estimator", "loss": "linear"}}
    tables = {"name": "tables", "statistic": {"kind": "Marginals", "ways": 2}}
    audit = ta.audit(people, {"steps": False, "releases": [fits, tables]})
    assert [finding.name for finding in audit.findings] == ["tables"]
    assert [(one.name, one.nearest) for one in audit.not_checked] == [("fits", "Marginals")]
    assert "Not attacked: fits" in audit.verdict.sentence
    alone = ta.audit(people, {"steps": False, "releases": [fits]})
    assert alone.worst is None
    assert alone.verdict.word == "review"
