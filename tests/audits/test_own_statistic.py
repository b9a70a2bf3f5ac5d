"""A statistic and a protection from outside tellall: audits, sweeps, areas, pages and files take them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tellall as ta
from tellall.audits.document import read_audit
from tellall.audits.trial import Planned
from tellall.linalg.operators.linear_operator import Dense
from tellall.protections.protection import Noise
from tellall.statistics.where import as_where
from tellall.testing import check_statistic


@dataclass(frozen=True)
class Holders(ta.Statistic):
    """How many people with each value of some columns have each value of the secret but the first."""

    columns: tuple[str, ...]

    def _rows(self, public: Any) -> Any:
        places = [public.names.index(name) for name in self.columns]
        codes = np.asarray(public.codes)
        return np.array([codes[at] == value for at in places for value in range(public.levels[at])], float)

    def serves(self, levels: int) -> str:
        return "" if levels >= 2 else "it counts people with a value"

    def size(self, public: Any) -> int:
        return sum(public.levels[public.names.index(name)] for name in self.columns)

    def size_for(self, public: Any, levels: int) -> int:
        return self.size(public) * (levels - 1)

    def values(self, dataset: Any) -> Any:
        if not dataset.levels:
            raise ta.InvalidInput("secret must be categories")
        rows = self._rows(dataset.public)
        return np.concatenate([rows @ (dataset.secret == value) for value in range(1, dataset.levels)])

    def equations(self, public: Any, values: Any) -> ta.Equations:
        rows = self._rows(public)
        levels = values.size // len(rows) + 1
        matrix = rows if levels == 2 else np.kron(np.eye(levels)[1:], rows)
        return ta.Equations(Dense(matrix), values, public.patterns.index)

    def describe(self) -> str:
        return "holders of each value"


class Inward(Holders):
    """The same, with a parameter that is no plain data."""

    def __init__(self, columns: set[str]) -> None:
        object.__setattr__(self, "columns", tuple(sorted(columns)))
        object.__setattr__(self, "given", columns)


@dataclass(frozen=True)
class Coarse(ta.Protection):
    """Values are rounded to the nearest even number."""

    @property
    def law(self) -> Noise:
        return ta.Rounding(2.0)

    @property
    def random(self) -> bool:
        return False

    def perturb(self, values: Any, rng: Any = None, context: Any = None) -> Any:
        return np.round(np.asarray(values) / 2) * 2


def unlike(n: int = 40) -> ta.Dataset:
    """People of whom each differs from everybody else, with a secret of three values."""
    codes = np.arange(n) if n <= 64 else np.arange(n) % 64
    bits = (codes[None] >> np.arange(6)[:, None]) & 1
    rng = np.random.default_rng(0)
    table = {f"c{at}": [str(bit) for bit in row] for at, row in enumerate(bits)}
    table["who"] = [f"p{code:02d}" for code in codes]
    table["class"] = list(rng.choice(["low", "middle", "high"], n))
    return ta.Dataset.from_frame(table, secret="class")


PEOPLE = unlike()
EVERYBODY = Holders(("who",))
FEW = Holders(("c0", "c1", "c2"))


def test_its_laws_hold() -> None:
    check_statistic(Holders(("a0",)))


def test_an_audit_attacks_it() -> None:
    plan = ta.Plan((Planned("holders", EVERYBODY),), secret="class")
    audit = ta.audit(PEOPLE, plan, remedy=True)
    assert not audit.plan.not_checked
    assert audit.verdict.word == "fail"
    best = max(outcome.accuracy for finding in audit.findings for outcome in finding.outcomes)
    assert best == 1.0


def test_one_that_serves_no_such_secret_is_not_checked() -> None:
    @dataclass(frozen=True)
    class OfBits(Holders):
        def serves(self, levels: int) -> str:
            return "" if levels == 2 else "it is about bits"

    plan = ta.Plan((Planned("holders", OfBits(("c0",))),), secret="class")
    (one,) = plan.attackable(PEOPLE).not_checked
    assert one.reason.startswith("it is about bits")


def test_own_protections_are_audited_with_it() -> None:
    plan = ta.Plan((Planned("holders", EVERYBODY, (Coarse(),)),), secret="class")
    audit = ta.audit(PEOPLE, plan)
    assert [finding.job.name for finding in audit.findings] == ["holders"]


def test_areas_attack_it() -> None:
    plan = ta.Plan((Planned("holders", FEW),), secret="class", by="c5")
    assert ta.audit(PEOPLE, plan).findings


@pytest.mark.parametrize("protect", [ta.Gaussian(0.5), Coarse()], ids=lambda one: type(one).__name__)
def test_sweeps_try_it(protect: ta.Protection) -> None:
    swept = ta.sweep(PEOPLE, EVERYBODY, [None, protect], repeats=2)
    assert len({row.protection for row in swept.rows}) == 2
    areas = ta.sweep_areas(PEOPLE, FEW, [protect], by="c5", repeats=2)
    assert areas is not None


def test_it_may_be_about_some_of_the_people(tmp_path: Path) -> None:
    where = "c0 = '1'"
    some = Planned("holders", EVERYBODY, (Coarse(),), where=as_where(where))
    audit = ta.audit(PEOPLE, ta.Plan((replace(some, protections=()),), secret="class"))
    (outcome, *_) = audit.findings[0].outcomes
    assert outcome.people == 20
    assert outcome.accuracy == 1.0
    assert audit.document["plan"]["releases"][0]["where"] == where
    swept = ta.sweep(PEOPLE, some.query, [None, Coarse()], repeats=2)
    assert swept.statistic == "holders of each value, where c0 = '1'"
    release = ta.publish(PEOPLE, EVERYBODY, Coarse(), where=where)
    again = ta.Release.load(release.save(tmp_path / "some.json"), own=[Holders])
    assert again.where == where
    assert again.statistic == EVERYBODY


def test_its_page_names_it(tmp_path: Path) -> None:
    audit = ta.audit(PEOPLE, ta.Plan((Planned("of mine", EVERYBODY),), secret="class"))
    audit.save(tmp_path / "audit")
    page = (tmp_path / "audit" / "report.html").read_text()
    assert "of mine" in page
    assert "Holders" in page
    read = read_audit((tmp_path / "audit" / "audit.json").read_text())
    assert read.plan["releases"][0]["statistic"] == {"kind": "Holders", "columns": ["who"]}


def test_a_file_of_it_is_read_by_who_has_the_class(tmp_path: Path) -> None:
    release = ta.publish(PEOPLE, EVERYBODY)
    file = release.save(tmp_path / "release.json")
    loaded = ta.Release.load(file, own=[Holders])
    assert loaded.statistic == EVERYBODY
    assert ta.reconstruct(loaded, PEOPLE.public).proved.all()
    with pytest.raises(ta.InvalidInput, match="got Holders"):
        ta.Release.load(file)


def test_no_file_takes_a_class_that_is_named_like_one_of_ours(tmp_path: Path) -> None:
    like = type("Means", (Holders,), {})(("c0",))
    with pytest.raises(ta.InvalidInput, match="unlike tellall's"):
        ta.publish(PEOPLE, like).save(tmp_path / "release.json")


def test_one_without_plain_parameters_is_named_in_documents() -> None:
    plan = ta.Plan((Planned("inward", Inward({"c0", "c1"})),), secret="class")
    assert plan.releases[0].as_json()["statistic"]["kind"] == "Inward"
    assert ta.audit(PEOPLE, plan).findings
