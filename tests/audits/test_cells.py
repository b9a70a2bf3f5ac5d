"""Cells of numbers: rivals, few contributors, dominance and extremes decide a verdict by arithmetic alone."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

import tellall as ta
from tellall import cli
from tellall.audits.document import read_audit
from tellall.audits.findings import Finding, Job, Skipped, from_plain, to_plain
from tellall.audits.measures.revealing_cells import CellRules, cells_of
from tellall.audits.plans.plan import Plan
from tellall.audits.plans.plan_files import plan_of
from tellall.audits.plans.policy import Policy
from tellall.audits.trial import Planned, Setting, Trial
from tellall.audits.verdict import Limits, judge
from tellall.linalg.solvers.solution import Status
from tellall.report.attackers import attacker_lines
from tellall.report.audit_page import render
from tellall.serve import points

SUMS = {"kind": "Sums", "ways": 2}
MEANS = {"kind": "CellMeans", "ways": 2, "counts": True}
EXTREMES = {"kind": "Extremes", "ways": 2}


def people_in(cells: list[list[float]], name: str = "region") -> ta.Dataset:
    """People with these numbers, a list for each cell of one column."""
    names = np.repeat([f"c{index:02}" for index in range(len(cells))], [len(cell) for cell in cells])
    return ta.Dataset.from_frame({name: names, "number": np.concatenate(cells)}, secret="number")


def audit(people: ta.Dataset, statistic: dict, *protect: dict, **more) -> ta.Audit:
    release = {"name": "numbers", "statistic": statistic, "protect": list(protect)}
    plan = {"steps": False, "releases": [{**release, **more.pop("release", {})}], **more}
    return ta.audit(people, Plan.from_mapping(plan), remedy=False)


def codes(people: ta.Dataset, statistic: ta.Statistic, protect=None, rules: CellRules | None = None) -> dict:
    """How many cells have each reason."""
    rules = rules or CellRules()
    release = ta.publish(people, statistic, protect, rng=0)
    cells = cells_of(release.statistic, release.where, people, rules)
    return {one.code: one.cells for one in cells.reasons(release, "t", people, rules)}


def dominated(count: int = 5, seed: int = 0) -> ta.Dataset:
    """Cells of 40 firms, one of which has 98 % of the cell."""
    rng = np.random.default_rng(seed)
    small = [rng.uniform(1, 2, 39) for _ in range(count)]
    return people_in([[*few, 49 * few.sum()] for few in small])


def many(seed: int, cells: int = 6, size: int = 40) -> ta.Dataset:
    rng = np.random.default_rng(seed)
    return people_in([list(rng.lognormal(3, 0.8, size)) for _ in range(cells)])


@pytest.mark.parametrize("statistic", [SUMS, MEANS], ids=["sums", "means"])
def test_five_dominated_sums_fail(statistic):
    found = audit(dominated(), statistic)
    assert found.verdict.word == "fail"
    assert found.verdict.decided == "contributors known too well"
    said = "In 5 of 5 published cells of “numbers” the second largest contributor knows the largest"
    assert said in found.verdict.sentence
    # page, terminal and document say so, and agree with the comparison of rules on the same screen
    document = found.document
    assert "the 10 % rule would withhold 5" in found.rules.sentence
    assert [(one["code"], one["cells"], one["of"]) for one in document["cells"]] == [("rival", 5, 5)]
    assert document["findings"][0]["cells"] == document["cells"]
    assert any(document["cells"][0]["look_at"] in line for line in attacker_lines(read_audit(document)))
    assert document["cells"][0]["look_at"] in render(read_audit(document))
    read_audit(json.dumps(document))


@pytest.mark.parametrize("statistic", [SUMS, MEANS], ids=["sums", "means"])
@pytest.mark.parametrize("few", [1, 2])
def test_cells_of_one_or_two_contributors_fail(statistic, few):
    """Whatever their numbers; below zero too."""
    rng = np.random.default_rng(few)
    for numbers in (rng.lognormal(3, 0.5, 160), rng.normal(0, 1, 160)):
        people = people_in([*np.split(numbers, 4), list(rng.normal(20, 1, few))])
        found = audit(people, statistic)
        assert found.verdict.word == "fail"
        assert found.cells[0].code == "few-contributors"
        assert (found.cells[0].cells, found.cells[0].of) == (1, 5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("statistic", [SUMS, MEANS], ids=["sums", "means"])
def test_ordinary_cells_of_forty_pass(statistic, seed):
    found = audit(many(seed), statistic)
    assert found.cells == ()
    assert found.verdict.word == "pass"


@pytest.mark.parametrize("seed", range(200))
def test_a_cell_fails_exactly_if_its_rival_knows_too_much(seed):
    """The definition, cell by cell: T − x₂ − (n − 2)L exceeds x₁ by at most p % of x₁ − L, or n ≤ 2."""
    rng = np.random.default_rng([seed, 1])
    lower = float(rng.choice([0.0, -3.0, 2.5]))
    p = float(rng.choice([5.0, 10.0, 40.0]))
    cells = [lower + rng.lognormal(0, 2, int(rng.integers(1, 8))) for _ in range(6)]
    people, rules = people_in(cells), CellRules(p=p, lower=lower)
    wanted = {"few-contributors": 0, "rival": 0, "dominance": 0}
    for cell in cells:
        x = np.sort(cell)[::-1]
        if x.size <= 2:
            wanted["few-contributors"] += 1
        elif x.sum() - x[1] - (x.size - 2) * lower - x[0] <= p / 100 * (x[0] - lower):
            wanted["rival"] += 1
        elif np.abs(x).max() > 0.85 * np.abs(x).sum():
            wanted["dominance"] += 1
    wanted = {code: count for code, count in wanted.items() if count}
    assert codes(people, ta.Sums(2), rules=rules) == wanted
    assert codes(people, ta.CellMeans(2, counts=True), rules=rules) == wanted


@pytest.mark.parametrize("power", [-15, -8, -1, 1, 8, 15])
@pytest.mark.parametrize("protect", ["exact", "noise", "rounded"])
def test_a_unit_changes_no_reason(power, protect):
    unit = 10.0**power
    done = {
        "exact": lambda u: None,
        "noise": lambda u: ta.Gaussian(2 * u),
        "rounded": lambda u: ta.Rounding(u),
    }
    rng = np.random.default_rng(3)
    cells = [rng.lognormal(2, 1.5, size) for size in (1, 2, 3, 4, 5, 20, 40)]
    for statistic in (ta.Sums(2), ta.CellMeans(2), ta.Extremes(2)):
        plain = codes(people_in(cells), statistic, done[protect](1.0))
        scaled = codes(people_in([unit * cell for cell in cells]), statistic, done[protect](unit))
        assert plain == scaled


def test_where_all_have_the_least_number_a_person_decides():
    people = people_in([[0.0] * 30, list(np.random.default_rng(0).uniform(1, 2, 30))])
    assert codes(people, ta.Sums(2)) == {"all-the-least": 1}
    found = audit(people, SUMS)
    assert found.verdict.word == "review"


def test_two_with_something_among_many_with_nothing_know_each_other():
    people = people_in([[0.0] * 30 + [7.5, 9.25], [1.5, 2.5, 2.25, 1.25] * 10])
    assert codes(people, ta.Sums(2)) == {"rival": 1}


def test_dominance_alone_is_for_a_person_to_decide():
    """The second largest is small, so that the rest is more than 10 % of the largest."""
    rng = np.random.default_rng(0)
    people = people_in([[100.5, *rng.uniform(0.9, 1.1, 14)] for _ in range(5)])
    found = audit(people, SUMS)
    assert [one.code for one in found.cells] == ["dominance"]
    assert found.verdict.word == "review"
    assert "the largest contributor makes up more than 85 %" in found.verdict.sentence


def test_numbers_below_zero_have_no_rival():
    """Without a lower bound nobody can bound the largest; the rules for sizes ask a person."""
    rng = np.random.default_rng(0)
    few = people_in([[-2.0, 900.0, *rng.normal(0, 1, 38)] for _ in range(5)])
    assert codes(few, ta.Sums(2)) == {"p-percent-rule": 5}
    assert audit(few, SUMS).verdict.word == "review"
    assert codes(few, ta.Sums(2), rules=CellRules(lower=-1000.0)) == {"dominance": 5}
    assert codes(people_in([list(rng.normal(0, 1, 40)) for _ in range(5)]), ta.Sums(2)) == {}
    with pytest.raises(ta.InvalidInput, match="at most everybody's number"):
        audit(few, SUMS, cells={"lower": 0})


def test_a_declared_lower_bound_counts():
    """Everybody knows that nobody has less than 100: what two have beyond that is known between them."""
    cells = [[100.0] * 10 + [130.5, 160.5], [100.0, 110.5, 140.0, 120.0, 150.0] * 3]
    assert codes(people_in(cells), ta.Sums(2)) == {}
    assert codes(people_in(cells), ta.Sums(2), rules=CellRules(lower=100.0)) == {"rival": 1}
    assert audit(people_in(cells), SUMS, cells={"lower": 100}).verdict.word == "fail"


CASES = {  # numbers of one more cell beside five of 20 people, the code of a rule, and the verdict
    "ordinary": (list(np.random.default_rng(2).uniform(50, 150, 20).round()), None, None),
    "rival": ([1000.0, 50.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0], "rival", "fail"),
    "dominance": ([1000.0, *[5.0] * 22, 4.0], "dominance", "review"),
    "one": ([70.0], "few-contributors", "fail"),
    "two": ([70.0, 60.0], "few-contributors", "fail"),
    "two, without a least number": ([-70.0, 60.0], "few-contributors", "fail"),
    "three, without a least number": ([-70.0, 1000.0, 5.0], "p-percent-rule", "review"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("measure", ["sums", "means"])
def test_printed_sums_and_means_are_judged_by_the_same_rules(name, measure):
    numbers, code, _ = CASES[name]
    rng = np.random.default_rng(1)
    people = people_in([*(list(rng.uniform(50, 150, 20).round()) for _ in range(5)), numbers])
    labels = people.public.columns[0].labels
    printed = ta.PrintedCells(["region"], [list(labels)], measure=measure, levels=0)
    found = codes(people, printed)
    assert found == codes(people, ta.Sums(2) if measure == "sums" else ta.CellMeans(2))
    assert (code is None and not found) or code in found


@pytest.mark.parametrize("name", CASES)
def test_sums_in_a_file_are_judged_by_the_rules_for_cells(name, tmp_path, capsys, monkeypatch):
    numbers, code, word = CASES[name]
    rng = np.random.default_rng(1)
    cells = [*(rng.uniform(50, 150, 20).round().tolist() for _ in range(5)), numbers]
    named = dict(zip("ABCDEF", cells, strict=True))
    rows = [f"{letter},{number:g}" for letter, cell in named.items() for number in cell]
    (tmp_path / "firms.csv").write_text("\n".join(["region,turnover", *rows]))
    sums = [f"{letter},{sum(cell):g}" for letter, cell in named.items()]
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "sums.csv").write_text("\n".join(["region,sum of turnover", *sums]))
    command = "audit out --data firms.csv --secret turnover -o page --json --quiet"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tellall", *command.split()])
    with pytest.raises(SystemExit):
        cli.main()
    verdict = json.loads(capsys.readouterr().out)["verdict"]
    said = {one["code"] for one in verdict["reasons"]}
    assert said & {each[1] for each in CASES.values()} == ({code} if code else set())
    assert word in (None, verdict["word"])


def test_a_withheld_cell_that_follows_from_the_total_is_withheld_in_vain():
    people = people_in([*([80.0 + each for each in range(20)] for _ in range(4)), [1000, 50, *[5.0] * 6]])
    labels = list(people.public.columns[0].labels)
    cells = [*((place, 0) for place in range(5)), (-1, 0)]
    table = ta.publish(people, ta.PrintedCells(["region"], [labels], cells, "sums", 0))
    hidden = replace(table, values=np.where(np.arange(6) == 4, np.nan, table.values))
    found = ta.audit(people, Plan((Planned.published("sums", hidden),), secret="number", steps=False))
    assert found.rules is not None
    assert found.rules.in_vain == 1
    assert found.verdict.word == "fail"
    assert "withheld-in-vain" in found.verdict.codes
    assert "withheld in vain" in found.verdict.sentence
    two = replace(hidden, values=np.where(np.arange(6) == 0, np.nan, hidden.values))
    found = ta.audit(people, Plan((Planned.published("sums", two),), secret="number", steps=False))
    assert found.rules is not None
    assert found.rules.in_vain == 0


def test_withheld_cells_are_not_judged():
    for protect in ([{"kind": "PPercent", "p": 10}], [{"kind": "Suppression", "below": 1e6}]):
        found = audit(dominated(), SUMS, *protect)
        assert found.cells == ()
        assert found.verdict.word == "pass"
    people = people_in([[1000.5, 1.0, 1.0], *[[5.0, 6.0, 7.0, 5.5, 6.5]] * 3])
    assert codes(people, ta.Sums(2)) == {"rival": 1}
    assert codes(people, ta.Sums(2), ta.PPercent(10)) == {}


@pytest.mark.parametrize("seed", range(50))
def test_what_the_p_percent_rule_passes_has_no_rival(seed):
    rng = np.random.default_rng(seed)
    people = people_in([np.round(rng.lognormal(1, 2, int(rng.integers(1, 9))), 1) + 0.1 for _ in range(8)])
    for statistic in (ta.Sums(2), ta.CellMeans([1, 2], counts=True)):
        kept = codes(people, statistic, ta.PPercent(10))
        assert not {"rival", "few-contributors"} & set(kept)
        both = codes(people, statistic, [ta.PPercent(10), ta.Dominance(1, 0.85)])
        assert both == {}


def test_noise_and_rounding_count_as_what_they_hide():
    """A number known only to within more than 10 % of the largest is not known; within less it is."""
    people = people_in([[1000.5, 1.5, 1.0, 1.0]] * 5)
    for protect, kept in (
        (ta.Gaussian(200.0), {}),
        (ta.Gaussian(10.0), {"rival": 5}),
        (ta.Laplace(200.0), {}),
        (ta.Rounding(10.0), {"rival": 5}),
        (ta.Rounding(500.0), {}),
    ):
        assert codes(people, ta.Sums(2), protect) == kept
    # a mean of four is off by a fourth as much as the sum
    assert codes(people, ta.CellMeans(2), ta.Rounding(40.0)) == {"rival": 5}
    assert codes(people, ta.CellMeans(2), ta.Rounding(60.0)) == {}


@pytest.mark.parametrize("protect", [ta.TopCoding(900.0), ta.MultiplicativeNoise(0.1)])
def test_where_the_error_is_not_known_a_person_decides(protect):
    found = codes(dominated(), ta.Sums(2), protect)
    assert found == {"error-not-known": 5}


def test_minima_and_maxima_of_small_cells_fail_and_others_are_for_a_person_to_decide():
    rng = np.random.default_rng(0)
    fours, forties = (people_in([rng.normal(50, 10, size) for _ in range(160 // size)]) for size in (4, 40))
    small, large = audit(fours, EXTREMES), audit(forties, EXTREMES)
    assert small.verdict.word == "fail"
    assert [one.code for one in small.cells] == ["extremes-of-small-cells"]
    assert "In 80 of 80 published minima and maxima" in small.verdict.sentence
    assert (large.verdict.word, large.verdict.decided) == ("review", "minima and maxima")
    assert audit(forties, EXTREMES, cells={"extremes": True}).verdict.word == "pass"
    assert audit(fours, EXTREMES, cells={"extremes": True}).verdict.word == "fail"
    assert audit(fours, EXTREMES, cells={"extremes": True, "threshold": 4}).cells == ()
    assert codes(fours, ta.Extremes(2), ta.Rounding(1000.0)) == {}


def test_a_minimum_or_maximum_that_three_people_share_is_nobodys():
    rng = np.random.default_rng(1)
    for share, count in ((1, 2), (2, 2), (3, 1)):
        cell = np.r_[np.zeros(20), rng.uniform(1, 50, 20), np.full(share, 99.0)]
        people = people_in([list(cell), list(rng.normal(50, 10, 40))])
        assert codes(people, ta.Extremes(2)) == {"extremes": 1 + count}


def test_a_table_of_some_people_is_judged_by_them():
    """Everybody's cells are large; those of one trade have one firm each."""
    rng = np.random.default_rng(0)
    trade = np.tile(np.arange(40) == 0, 5).astype(int)
    region = np.repeat([f"r{i}" for i in range(5)], 40)
    frame = {"region": region, "trade": trade, "turnover": rng.uniform(1, 2, 200)}
    firms = ta.Dataset.from_frame(frame, secret="turnover")
    one = {"kind": "Sums", "ways": 2, "attributes": [["region"]]}
    assert audit(firms, one).cells == ()
    found = audit(firms, one, release={"where": "trade = 1"})
    assert [(each.code, each.cells) for each in found.cells] == [("few-contributors", 5)]
    assert found.verdict.word == "fail"


def test_what_was_published_before_is_judged_too(tmp_path):
    ta.publish(dominated(), ta.Sums(2)).save(tmp_path / "old.json")
    plan = {
        "secret": "number",
        "steps": False,
        "published": [{"file": "old.json", "name": "old"}],
        "releases": [{"name": "all", "statistic": {"kind": "Sums", "ways": 1}}],
    }
    found = ta.audit(dominated(), plan_of(plan, folder=tmp_path))
    assert found.verdict.word == "fail"
    assert ("rival", "old", 5) in [(one.code, one.release, one.cells) for one in found.cells]


def test_weights_count():
    """One person with nearly all the weight of a cell is known from its mean."""
    rng = np.random.default_rng(0)
    region, own = np.repeat([f"r{i}" for i in range(5)], 40), rng.uniform(1, 2, 200)
    for heavy, kept in ((1.5, {}), (1e5, {"rival": 5})):
        weight = np.where(np.arange(200) % 40 == 0, heavy, 1.0)
        people = ta.Dataset.from_frame({"region": region, "weight": weight, "x": own}, secret="x")
        for statistic in (ta.Sums, ta.CellMeans):
            assert codes(people, statistic(2, [["region"]], weights="weight")) == kept


def test_bits_are_left_to_the_attacks():
    people = ta.Dataset.from_arrays([[0], [0], [1], [1]], [0, 1, 1, 0])
    for statistic in (ta.Sums(2), ta.Extremes(2)):
        assert cells_of(statistic, None, people, CellRules()) is None


def test_sweeps_and_calibrations_judge_the_same():
    people = dominated()
    swept = ta.sweep(people, ta.Sums(2), [None, ta.Gaussian], scales=[1.0, 20_000.0], repeats=2)
    words = {row.protection: (row.verdict, row.decided) for row in swept.rows}
    exact, quiet, loud = words.values()
    assert exact == quiet == ("fail", "contributors known too well")
    assert loud[0] != "fail"
    found = ta.calibrate(people, ta.Sums(2), ta.Gaussian, 50.0, draws=3, evaluations=20, start=100.0)
    least = 0.1 * 49 * 39 / 2  # two standard deviations of it hide 10 % of the smallest firm that dominates
    assert found.scale > least
    assert found.verdict.word == "pass"
    allowed = CellRules(p=1e-6, share=1.0)
    assert ta.calibrate(people, ta.Sums(2), ta.Gaussian, 50.0, draws=3, cells=allowed).scale == 0


@pytest.mark.parametrize("dominated_too", [[], [4.0, 800.0, 1.0]], ids=["one", "two"])
def test_a_remedy_passes_the_rules_too(dominated_too):
    """Two withheld cells that follow together from a total are not enough."""
    plan = {
        "steps": False,
        "releases": [{"name": "numbers", "statistic": {"kind": "Sums", "ways": [1, 2]}}],
    }
    cells = [list(np.random.default_rng(i).uniform(5, 9, 30)) for i in range(5)]
    people = people_in([*cells, [3.0, 900.0, 2.0], *([dominated_too] if dominated_too else [])])
    found = ta.audit(people, plan, remedy=True)
    assert found.verdict.word == "fail"
    first = found.remedy.tried[0]
    assert first.words == "withhold cells by the 10 % rule in “numbers”"
    assert (first.verdict == "pass") == (not dominated_too)
    if found.remedy.found:
        again = ta.audit(people, {**plan, "releases": list(found.remedy.entries)})
        assert again.verdict.word == "pass"
    assert found.remedy.found or dominated_too


def test_a_release_that_cannot_be_attacked_is_judged_by_its_cells_too():
    job = Job("alone", "numbers", ((0, 0),))
    trial = Trial(Setting(dominated()), (Planned("numbers", ta.Sums(2)),))
    skipped = Skipped(job, "too large", cells=trial.cells)
    assert skipped.verdict.word == "fail"
    assert skipped.verdict.sentence.endswith("Not attacked: too large")
    assert judge([], Limits(0.05), not_attacked=["numbers"], cells=skipped.cells).word == "fail"
    assert from_plain(to_plain(skipped)).cells == skipped.cells
    found = Finding(job, trial.run_all(["least-squares"]))
    assert from_plain(to_plain(found)).cells == found.cells == skipped.cells


def test_the_point_of_a_slider_is_judged_the_same():
    """The served page measures other protections of a release by the audit's own verdict."""
    setting = Setting(dominated())
    (outcome,) = Trial(setting, (Planned("numbers", ta.Sums(2)),)).run_all(["least-squares"])
    (row,) = points.rows_of("", None, 0.0, [outcome], Limits(0.05))
    assert row.verdict == "fail"


@pytest.mark.parametrize(
    ("plan", "policy", "kept"),
    [
        ({}, {}, {"p": 10, "threshold": 10, "extremes": False, "n": 1, "share": 0.85}),
        ({"p": 5}, {}, {"p": 5}),
        ({"p": 5}, {"p": 10}, {"p": 10}),
        ({"p": 20}, {"p": 10}, {"p": 20}),
        ({}, {"p": 2}, {"p": 2}),
        ({}, {"threshold": 4, "extremes": True}, {"threshold": 4, "extremes": True}),
        ({"extremes": True}, {"extremes": False}, {"extremes": False}),
        ({"extremes": False}, {"extremes": True}, {"extremes": False}),
        ({"extremes": True, "threshold": 3}, {"threshold": 5}, {"extremes": True, "threshold": 5}),
        ({"dominance": {"n": 1, "share": 0.7}}, {"dominance": {"n": 1, "share": 0.8}}, {"share": 0.7}),
        (
            {"dominance": {"n": 1, "share": 0.7}},
            {"dominance": {"n": 3, "share": 0.8}},
            {"n": 3, "share": 0.8},
        ),
        ({"lower": -5.0}, {"p": 2}, {"lower": -5.0, "p": 2}),
    ],
)
def test_a_policy_decides_what_cells_must_keep(plan, policy, kept):
    releases = [{"statistic": SUMS}]
    planned = Plan.from_mapping({"releases": releases, "cells": plan})
    under = Policy.from_mapping({"cells": policy}).under(planned)
    assert {name: getattr(under.cells, name) for name in kept} == kept
    # a plan as a document says the same
    again = Plan.from_mapping({"releases": releases, "cells": under.as_json()["cells"]})
    assert again.cells == under.cells


@pytest.mark.parametrize("cells", [{"p": 0}, {"p": -1}, {"threshold": 0}, {"q": 1}, {"dominance": 0.8}])
def test_wrong_rules_are_refused(cells):
    for refuse in (
        lambda: Plan.from_mapping({"releases": [{"statistic": SUMS}], "cells": cells}),
        lambda: Policy.from_mapping({"cells": cells}),
    ):
        with pytest.raises(ta.InvalidInput, match="cells"):
            refuse()


def test_the_rules_of_a_plan_are_part_of_what_is_kept(tmp_path):
    """The same work folder under other rules gives the other verdict."""
    people, plan = dominated(), {"steps": False, "releases": [{"name": "numbers", "statistic": SUMS}]}
    loose = {**plan, "cells": {"p": 0.001, "dominance": {"n": 1, "share": 1.0}}}
    words = [ta.audit(people, one, work=tmp_path).verdict.word for one in (plan, loose, plan)]
    assert words == ["fail", "pass", "fail"]


def test_reasons_are_counted_once_over_sets_of_releases():
    people = dominated()
    plan = {
        "steps": False,
        "releases": [{"name": name, "statistic": one} for name, one in (("sums", SUMS), ("means", MEANS))],
    }
    found = ta.audit(people, plan)
    assert [(one.release, one.cells) for one in found.cells] == [("sums", 5), ("means", 5)]
    assert found.verdict.sentence.count("In 5 of 5 published cells") == 2
    assert found.findings[-1].job.role == "together"
    assert found.findings[-1].cells == found.cells


def test_other_reasons_stay_in_the_sentence():
    setting = Setting(dominated())
    (outcome,) = Trial(setting, (Planned("numbers", ta.Sums(2)),)).run_all(["least-squares"])
    doubtful = replace(outcome, status=Status("not converged"))
    verdict = judge([("numbers", doubtful)], Limits(0.05))
    assert verdict.word == "fail"
    assert "not settled" in verdict.sentence


def test_exactly_p_percent_is_too_close():
    """The protection and the verdict agree at the limit itself: 80 is bounded by 88."""
    people = people_in([[80.0, 30.5, 8.0], [80.0, 30.5, 8.5], [5.0, 6.0, 7.5]])
    assert codes(people, ta.Sums(2)) == {"rival": 1}
    assert np.isnan(ta.publish(people, ta.Sums(2), ta.PPercent(10)).values).tolist() == [True, False, False]
