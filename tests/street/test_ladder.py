"""Generated outputs of every kind, protection, secret and size: no fault, no warning, no verdict by luck."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import pytest

import tellall as ta
from tellall.audits.document import Audit
from tellall.report.audit_page import render
from tests.street.ladder import Rung, covering, fits, pairs_of, rungs, sized

QUICK, MILLION = 24, 1_000_000  # the first of them run in make test


def marked(place: int, rung: Rung) -> Any:
    quick = place < QUICK and rung.people <= 1030
    marks = [] if quick else [pytest.mark.slow if heavy(rung) else pytest.mark.street]
    return pytest.param(rung, marks=marks, id=rung.name)


def heavy(rung: Rung) -> bool:
    """Whether one audit may take a minute: many people, each alone in many tables, or many values."""
    alone = rung.columns == 8 and rung.groups == "of one" and rung.people >= 3000
    several = rung.protection == "sampled" and rung.secret == "8 values" and rung.people >= 10_000
    functions = rung.statistic == "predicates" and rung.columns == 8 and rung.people >= 100_000
    return alone or several or functions


def some(fit: Callable[[Rung], bool]) -> list[Any]:
    return [pytest.param(rung, id=rung.name) for rung in rungs(True) if fit(rung)]


def audited(rung: Rung, people: int | None = None) -> Audit:
    """The audit, every warning an error, its page written as well."""
    audit = ta.audit(rung.dataset(people), rung.plan())
    assert render(audit.content)
    return audit


def explained(audit: Audit) -> None:
    """A fail has a number beyond its limit, a pass has none, whatever the size."""
    limits, word, overall = audit.limits, audit.verdict.word, audit.overall
    if overall is None:
        assert word == "review"
        return
    outcomes = [one for finding in audit.found for one in finding.outcomes]
    learnt = max(
        *(limits.count(one.learnt) for one in outcomes),
        overall.sensitive.proved_alone,
        overall.sensitive.exposed,
    )
    beyond = any(one.share_gained[1] > limits.advantage for one in outcomes) or learnt > (limits.exposed or 0)
    reason = audit.verdict.decided
    if word == "fail" and reason in ("advantage above the limit", "people proved", "people exposed"):
        assert beyond, audit.verdict
    if word == "pass":
        assert not beyond, audit.verdict


@pytest.mark.parametrize("rung", [marked(*one) for one in enumerate(rungs(True))])
def test_every_rung_ends_without_a_fault_or_a_warning(rung):
    explained(audited(rung))


@pytest.mark.parametrize("rung", rungs(False), ids=lambda rung: rung.name)
def test_too_few_people_are_refused_whatever_is_published(rung):
    with pytest.raises(ta.InvalidInput, match=r"people must be 4 or more"):
        audited(rung)


@pytest.mark.parametrize(
    "rung",
    [
        pytest.param(one, id=one.name, marks=pytest.mark.slow if heavy(one) else pytest.mark.street)
        for one in [each for each in rungs(True) if 10 <= each.people <= 3000][::4]
    ],
)
def test_a_neighbouring_size_fails_only_by_a_number_beyond_its_limit(rung):
    """From pass to fail with one person more or fewer: then that number has crossed its limit in between."""
    for people in (rung.people - 1, rung.people, rung.people + 1):
        explained(audited(rung, people))


@pytest.mark.slow
@pytest.mark.parametrize("rung", some(lambda one: one.people == 100_000 and not heavy(one)))
def test_a_million_people(rung):
    explained(audited(rung, MILLION))


@pytest.mark.parametrize("enough", [True, False])
def test_every_two_settings_that_go_together_occur_together(enough):
    factors, feasible = sized(enough), set()
    for values in product(*factors.values()):
        setting = dict(zip(factors, values, strict=True))
        if fits(setting):
            feasible |= set(pairs_of(setting))
    occur = {pair for rung in rungs(enough) for pair in pairs_of(vars(rung))}
    assert occur == feasible
    assert len(rungs(enough)) <= 170


def test_the_design_is_the_same_every_time_and_covers_any_factors():
    factors = {"a": (1, 2, 3), "b": (1, 2, 3), "c": (1, 2), "d": (0, 1)}

    def unlike(setting: dict[str, int]) -> bool:
        return setting["a"] != setting["b"]

    chosen = covering(factors, unlike)
    assert chosen == covering(factors, unlike)
    assert all(map(unlike, chosen))
    for one, other in combinations(factors, 2):
        wanted = {
            (x, y) for x, y in product(factors[one], factors[other]) if {one, other} != {"a", "b"} or x != y
        }
        assert {(setting[one], setting[other]) for setting in chosen} == wanted
    assert len(chosen) < 3 * 3 * 2 * 2 / 2


@pytest.mark.parametrize("command", ["audit", "sweep", "calibrate"])
@pytest.mark.parametrize("secret", ["bits", "numbers"])
@pytest.mark.parametrize("people", [2, 3])
def test_fewer_than_four_people_are_refused_in_a_sentence(tellall, tmp_path, people, secret, command):
    rows = [f"{'ab'[i % 2]},{i % 2 if secret == 'bits' else 1.5 + 2.25 * i}" for i in range(people)]
    (tmp_path / "people.csv").write_text("\n".join(["town,ill", *rows]) + "\n")
    (tmp_path / "plan.toml").write_text(
        'data = "people.csv"\nsecret = "ill"\nsteps = false\n'
        '[[releases]]\nstatistic = { kind = "Marginals", ways = 2 }\n'
    )
    code, out, err = tellall(command, "plan.toml", "--jobs", "1")
    said = " ".join(err.split())
    assert (code, out) == (2, "")
    assert said.count("people must be 4 or more, to compare an attack with a baseline") == 1
    assert "protections" not in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv", "plan.toml"]
