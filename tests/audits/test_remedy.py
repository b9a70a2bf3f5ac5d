"""From verdict to remedy: the cheapest change that passes, and what it costs."""

import tomllib
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

import tellall as ta
from tellall.audits.changes import Change, candidates, parts_of, price, with_noise, without_release
from tellall.audits.contributions import find_culprits
from tellall.audits.document import read_audit
from tellall.audits.measures.guesses import dropped_error
from tellall.audits.plans.draft import as_toml
from tellall.audits.plans.places import places_of
from tellall.audits.plans.plan import Plan
from tellall.audits.remedy import _RemedySearch, _Tried, find_remedy
from tellall.audits.trial import Planned, Setting, SharedSystem, Trial
from tellall.core import files as store
from tellall.core.jobs import Workers
from tellall.core.tasks import Done


def people_of(seed: int = 0, n: int = 80) -> ta.Dataset:
    rng = np.random.default_rng(seed)
    sizes = (2, 3, 3, 2)
    frame = {f"c{j}": rng.choice([f"v{k}" for k in range(size)], n) for j, size in enumerate(sizes)}
    return ta.Dataset.from_frame({**frame, "ill": (rng.random(n) < 0.3).astype(int)}, secret="ill")


PLAN = {
    "limit": 0.2,
    "steps": False,
    "releases": [{"name": "counts", "statistic": {"kind": "Marginals", "ways": 4}}],
}


def audited_again(people: ta.Dataset, audit: ta.Audit, seed: int) -> str:
    entries = tomllib.loads(audit.remedy.toml)["releases"]
    return ta.audit(people, {**audit.plan.as_json(), "releases": entries, "seed": seed}).verdict.word


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Least squares alone, but for the slow test, which asks for everything."""
    with pytest.MonkeyPatch.context() as patch:
        for room in ("attacks", "remedy"):
            patch.setattr(f"tellall.audits.{room}.affordable", lambda *_: ("least-squares",))
        yield patch


@pytest.fixture(scope="module")
def people() -> ta.Dataset:
    return people_of()


@pytest.fixture(scope="module")
def remedied(people) -> ta.Audit:
    return ta.audit(people, PLAN, remedy=True)


def test_the_remedy_passes_when_the_plan_is_audited_again(people, remedied):
    assert remedied.verdict.word == "fail"
    assert remedied.remedy.found
    assert audited_again(people, remedied, 77) == "pass"


def test_the_remedy_says_what_it_costs_and_was_the_first_that_passes(remedied):
    found = remedied.remedy
    assert found.change.verdict == "pass"
    assert found.change.words in found.sentence
    assert (found.change.withheld > 0) == ("withheld" in found.sentence)
    cheaper = [one for one in found.tried if one.loss < found.change.loss]
    assert all(one.verdict != "pass" for one in cheaper)
    assert read_audit(store.dump(remedied.document)).remedy == found


def test_what_passes_needs_no_remedy(people):
    plan = {
        **PLAN,
        "limit": 1.0,
        "exposed_limit": None,
        "releases": [{"statistic": {"kind": "Marginals", "ways": 2}}],
    }
    audit = ta.audit(people, plan)
    assert audit.verdict.word == "pass"
    assert find_remedy(places_of(people, audit.plan), audit) is None


def test_where_nothing_can_be_attacked_there_is_no_search():
    people = ta.Dataset.from_frame({"sex": list("fm") * 6, "pay": np.linspace(1.25, 9.5, 12)}, secret="pay")
    audit = ta.audit(people, {"releases": [{"statistic": {"kind": "Marginals", "ways": 2}}]}, remedy=True)
    assert (audit.verdict.word, audit.verdict.decided, audit.remedy) == ("review", "not attacked", None)


def test_what_cannot_be_attacked_is_left_out(people):
    unknown = {"name": "medians", "statistic": {"kind": "Quantiles"}}
    known = {
        "name": "totals",
        "statistic": {"kind": "Marginals", "ways": 2},
        "protect": {"kind": "Gaussian", "std": 99.0},
    }
    audit = ta.audit(people, {**PLAN, "limit": 0.5, "releases": [known, unknown]})
    assert audit.verdict.word == "review"
    found = find_remedy(places_of(people, audit.plan), audit)
    assert found.found
    assert found.change.words == "leave out “medians”"
    assert [entry["name"] for entry in found.entries] == ["totals"]


def test_costs_follow_what_is_withheld(people):
    setting = Setting(people)
    planned = (Planned("counts", ta.Marginals(3)),)
    costs = {change.words: change.cost(setting, 0) for change in candidates(planned, [("counts",)], setting)}
    assert costs["hide values below 5 in “counts”"].loss < costs["hide values below 10 in “counts”"].loss
    assert costs["hide values below 5 in “counts”"].error == 0
    assert costs["round to 3 in “counts”"].withheld == 0
    assert costs["round to 3 in “counts”"].loss < costs["round to 10 in “counts”"].loss
    fewer = costs["publish tables of 1 fewer column in “counts”"]
    smaller = setting.exact(ta.Marginals(2)).publish((), None).values.size
    assert (fewer.withheld, fewer.error, fewer.instead) == (1.0, 0.0, smaller)
    assert price(fewer.withheld, fewer.instead, fewer.error) == (
        f"no planned value is shown; {smaller} values of smaller tables are shown instead"
    )
    assert all(cost.instead == 0 for words, cost in costs.items() if "fewer" not in words)
    exact = setting.exact(planned[0].statistic).publish((), None)
    shown = setting.exact(ta.Marginals(2)).publish((), None)
    assert fewer.loss == pytest.approx(dropped_error(exact, people, shown))
    assert fewer.loss < dropped_error(exact, people)  # the smaller tables say something of the larger ones
    assert "leave out “counts”" not in costs  # nothing would be left
    column = costs["leave the column c1 out of “counts”"]
    assert 0 < column.withheld < 1
    assert 0 < column.loss < fewer.loss


def test_a_dropped_table_and_what_is_left_are_the_planned_tables(people):
    setting = Setting(people)
    listed = Planned("chosen", ta.Marginals(3, attributes=[("c0", "c1"), ("c2", "c3")]))
    parts = parts_of(listed, setting)
    assert [(part.kind, part.name) for part in parts] == [("table", "c0 × c1"), ("table", "c2 × c3")]
    whole = setting.exact(listed.statistic).clean.size
    assert all(part.kept.size(people.public) + part.dropped.size(people.public) == whole for part in parts)
    all_tables = Planned("all", ta.Marginals(3))
    for part in parts_of(all_tables, setting):
        both = part.kept.size(people.public) + part.dropped.size(people.public)
        assert both == all_tables.statistic.size(people.public)
    assert parts_of(Planned("fits", ta.Estimator("linear")), setting) == []


def test_noise_is_named_as_it_is_drawn(people):
    change = with_noise((Planned("counts", ta.Marginals(3)),), ["counts"], 1.0, Setting(people))
    assert isinstance(change, Change)
    (protection,) = change.releases[0].protections
    assert change.words == f"add noise of standard deviation {protection.std:g} to “counts”"


@pytest.mark.parametrize("name", ["plain", 'quote " \\ end', "Łódź 🙂", "line\nbreak"])
def test_what_is_to_be_pasted_is_read_as_it_was_meant(name):
    planned = Planned(
        name,
        ta.Marginals(3, attributes=[("a b", "c")]),
        (ta.Suppression(5, complementary=True), ta.Rounding(5)),
    )
    read = tomllib.loads(as_toml([planned.as_json()]))
    assert read["releases"] == [planned.as_json()]
    assert Plan.from_mapping(read).releases[0].statistic == planned.statistic


def test_a_random_remedy_was_checked_on_twenty_draws(people, monkeypatch):
    monkeypatch.setattr("tellall.audits.remedy.candidates", lambda *_: iter(()))
    audit = ta.audit(people, {**PLAN, "limit": 0.4})
    none = find_remedy(places_of(people, audit.plan), audit)
    assert not none.found  # noise that passes is farther off than the overall rate
    assert none.sentence.endswith(
        "Leave out “counts”, or publish less: no other change that passes costs the reader less."
    )
    monkeypatch.setattr("tellall.audits.remedy._RemedySearch._most_lost", lambda *_: float("inf"))
    found = find_remedy(places_of(people, audit.plan), audit)
    assert found.found
    assert found.change.words.startswith("add noise of standard deviation ")
    assert (found.change.draws, found.change.passed) == (20, 20)


def test_sets_that_the_audit_did_not_attack_are_attacked_before_a_release_is_left_out(people):
    tables = [{"kind": "Marginals", "ways": 2, "attributes": [[f"c{j}"]]} for j in range(4)]
    noise = {"kind": "Gaussian", "std": 50.0}
    entries = [{"name": f"t{j}", "statistic": one, "protect": noise} for j, one in enumerate(tables)]
    audit = ta.audit(people, {**PLAN, "limit": 0.9, "releases": entries})
    search = _RemedySearch(places_of(people, audit.plan), audit, None)
    change = without_release(search.planned, ["t0"])
    names = [{one.name for one in releases} for releases in search._sets(change, touched=True)]
    assert {"t1", "t2", "t3"} in names
    assert {"t1"} not in names
    assert {"t1", "t2"} not in names


def test_a_search_ends_with_its_budget_and_says_so(people, monkeypatch):
    audit = ta.audit(people, PLAN)
    places = places_of(people, audit.plan)
    told: list[tuple[int, int]] = []
    monkeypatch.setattr("tellall.audits.remedy._BUDGET", 0)
    monkeypatch.setattr("tellall.audits.remedy._LEAST", 3)
    found = find_remedy(places, audit, lambda done, most: told.append((done, most)))
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert not found.found
    assert "The search ended after 3 attacks" in found.sentence
    assert len(found.tried) <= 3
    assert found.not_tried
    assert found == find_remedy(places, audit)


def test_the_first_draw_that_fails_ends_the_attack_on_a_change(people):
    audit = ta.audit(people, PLAN)
    search = _RemedySearch(places_of(people, audit.plan), audit, None)
    change = with_noise(search.planned, ["counts"], 0.01, search.setting)
    found = search._attacked(_Tried(change, change.cost(search.setting, 0)), ["least-squares"], 8)
    assert not found.good
    assert (found.draws, found.passed) == (1, 0)
    assert search.made == 1


def answers(people: ta.Dataset, audit: ta.Audit, workers: Workers) -> tuple:
    places = places_of(people, audit.plan)
    culprits = find_culprits(people, places, audit, None, workers)
    return culprits, find_remedy(places, audit, None, workers)


def test_the_answer_does_not_depend_on_how_many_attacks_are_made_at_once(people, monkeypatch):
    monkeypatch.setattr("tellall.audits.remedy._SCREENED", 4)
    monkeypatch.setattr("tellall.audits.remedy._DRAWS", 4)
    monkeypatch.setattr("tellall.audits.contributions._MOST_PARTS", 2)
    audit = ta.audit(people, {**PLAN, "limit": 0.4})
    alone = answers(replace(people), audit, Workers(1))

    def elsewhere(function, tasks, *, workers=None):
        """As other processes do it: on copies, and the last comes first."""
        for index in reversed(range(len(tasks))):
            copy = deepcopy(tasks[index].make())
            yield Done(index, deepcopy(function(copy)))

    monkeypatch.setattr("tellall.audits.plans.places.run", elsewhere)
    monkeypatch.setattr("tellall.audits.remedy.MOST_UNKNOWNS", 0)  # draw by draw
    apart = answers(replace(people), audit, Workers(5))
    assert apart[0] == alone[0]
    assert replace(apart[1], tried=()) == replace(alone[1], tried=())
    assert [one.words for one in apart[1].tried] == [one.words for one in alone[1].tried]


@pytest.mark.slow
def test_processes_give_the_same_remedy_and_culprits(people):
    audit = ta.audit(people, {**PLAN, "limit": 0.4})
    alone = answers(replace(people), audit, Workers(1))
    assert answers(replace(people), audit, Workers(2)) == alone


@pytest.mark.slow
def test_remedies_hold_on_fresh_draws(quick):
    """In 19 of 20 plans: exact and noisy tables of other people, each audited again with another seed."""
    quick.undo()
    held, searched = 0, 0
    for seed in range(40):
        people = people_of(seed, 80 + 5 * (seed % 8))
        noise = [{"kind": "Gaussian", "std": 0.7}] if seed % 2 else []
        entry = {**PLAN["releases"][0], "protect": noise}
        audit = ta.audit(people, {**PLAN, "seed": seed, "releases": [entry]}, remedy=True)
        if audit.remedy is None or not audit.remedy.found:
            continue
        searched += 1
        held += audited_again(people, audit, 1000 + seed) == "pass"
    assert searched >= 20
    assert held >= 0.95 * searched


def test_a_plan_by_area_has_a_remedy_and_culprits_over_all_areas():
    people = people_of(0, 160)  # fewer leave nothing that is worth having
    towns = np.repeat(["north", "south", "tiny"], [90, 68, 2])
    columns = {column.name: people.public.codes[j] for j, column in enumerate(people.public.columns)}
    crowd = ta.Dataset.from_frame({**columns, "town": towns, "ill": people.secret}, secret="ill")
    audit = ta.audit(crowd, {**PLAN, "by": "town", "limit": 0.4}, remedy=True)
    assert audit.verdict.word == "fail"
    assert [place.name for place in places_of(crowd, audit.plan)] == ["north", "south"]
    assert audit.remedy.found
    said = audit.remedy.sentence
    assert "in every town" in said
    assert said.endswith("Publish nothing about 1 area with too few people.")
    kept = crowd.take(np.flatnonzero(towns != "tiny"))
    assert audited_again(kept, audit, 7) == "pass"
    assert audit.culprits.learnt == audit.limits.count(audit.findings[0].outcome.learnt)
    read_audit(store.dump(audit.document))


class Killed(BaseException):
    """As if the process had ended here."""


class Attacks:
    """Counts attacks as they are made, and ends the process before one of them."""

    def __init__(self, monkeypatch, last: float = np.inf) -> None:
        self.made, self.last = 0, last
        for owner, name in ((Trial, "_alone"), (SharedSystem, "attack")):
            monkeypatch.setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, function):
        def called(*arguments):
            if self.made >= self.last:
                raise Killed
            self.made += 1
            return function(*arguments)

        return called


@pytest.mark.parametrize("by", [None, "town"])
def test_a_search_that_was_killed_goes_on_where_it_was(people, tmp_path, monkeypatch, by):
    columns = {column.name: people.public.codes[j] for j, column in enumerate(people.public.columns)}
    town = np.where(np.arange(people.n) % 2, "north", "south")
    frame = {**columns, "town": town, "ill": people.secret}
    plan = {**PLAN, "limit": 0.4, **({"by": by} if by else {})}

    made: list[int] = []

    def audited(work: str, last: float = np.inf) -> ta.Audit | None:
        with monkeypatch.context() as patch:
            counted = Attacks(patch, last)
            try:
                crowd = ta.Dataset.from_frame(frame, secret="ill")
                return ta.audit(crowd, plan, work=tmp_path / work, remedy=True)
            except Killed:
                return None
            finally:
                made.append(counted.made)

    whole = audited("other")
    assert whole is not None
    assert len(whole.remedy.tried) > 2
    while audited("work", last=made[0] // 4) is None:
        assert made[-1] == made[0] // 4
        assert len(made) < 10
    again = audited("work")
    assert sum(made[1:]) <= made[0] + 2 * len(made)  # an attack that was not finished is made again
    assert made[-1] == 0
    assert again.document == whole.document


def test_noise_on_means_is_no_free_change():
    """A cell without people made every change of these means look free; fixed seed."""
    rng = np.random.default_rng(6)
    region, sex = rng.integers(0, 3, 60), rng.integers(0, 2, 60)
    sex[region == 2] = 0
    people = ta.Dataset.from_arrays(np.stack([region, sex], axis=1), rng.lognormal(3.0, 0.5, 60))
    planned = Planned("pay", ta.CellMeans(3), (ta.Gaussian(2.0),))
    cost = Change("noise", (planned,), ("pay",)).cost(Setting(people), 0)
    assert cost.loss > 0.5
    assert cost.withheld == 0
