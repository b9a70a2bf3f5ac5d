"""An ordinary table of any size ends in a verdict, from a plan and from the command line."""

from itertools import product

import numpy as np
import pytest
from typer.testing import CliRunner

import tellall as ta
from tellall.cli import app
from tests.conftest import first_fast

SIZES = [300, 1030, 2000, 5000, 10_000]
PROTECTIONS = {
    "exact": [],
    "rounded": [{"kind": "Rounding", "base": 5}],
    "hidden": [{"kind": "Suppression", "below": 10}],
    "noise": [{"kind": "Gaussian", "std": 2.0}],
}
CASES = list(product(SIZES, [2, 3, 8], PROTECTIONS))
# a third of them, every size with every number of values and every protection
FEW = [case for number, case in enumerate(CASES) if number % 5 == 0]
VERDICTS = {"pass": 0, "review": 3, "fail": 1}


def rows(people, values):
    rng = np.random.default_rng(people + values)
    places, sexes = rng.integers(0, 4, people), rng.integers(0, 2, people)
    ages, codes = rng.integers(18, 80, people), rng.integers(0, values, people)
    return {
        "area": np.array([f"area {place}" for place in places]),
        "sex": np.array(["f", "m"])[sexes],
        "age": np.array(["young", "middle", "old"])[np.searchsorted([35, 60], ages)],
        "illness": np.array([f"code {code}" for code in codes]),
    }


def audited(people, values, protect):
    dataset = ta.Dataset.from_frame(rows(people, values), secret="illness")
    release = {"name": "tables", "statistic": {"kind": "Marginals", "ways": 3}, "protect": protect}
    return ta.audit(dataset, {"steps": False, "repeats": 1, "releases": [release]})


@pytest.mark.parametrize(
    ("people", "values", "protection"),
    first_fast([*FEW, *(case for case in CASES if case not in FEW)], len(FEW)),
)
def test_tables_of_any_size_end_in_a_verdict(people, values, protection):
    assert audited(people, values, PROTECTIONS[protection]).verdict.word in VERDICTS


@pytest.mark.slow
@pytest.mark.parametrize(("values", "protection"), list(product([2, 3, 8], PROTECTIONS)))
def test_a_hundred_thousand_people_end_in_a_verdict(values, protection):
    assert audited(100_000, values, PROTECTIONS[protection]).verdict.word in VERDICTS


@pytest.mark.parametrize(
    ("people", "values"),
    first_fast([(1030, 2), (350, 3), (2000, 8), *product([300, 5000, 10_000], [2, 3, 8])], 2),
)
def test_so_do_plans_that_are_drafted(people, values, tmp_path):
    table, plan = tmp_path / "people.csv", tmp_path / "plan.toml"
    columns = rows(people, values)
    lines = [",".join(columns), *map(",".join, zip(*columns.values(), strict=True))]
    table.write_text("\n".join(lines) + "\n")
    made = CliRunner().invoke(app, ["init", str(table), "--secret", "illness", "-o", str(plan), "--quiet"])
    assert made.exit_code == 0
    out = str(tmp_path / "out")
    done = CliRunner().invoke(app, ["audit", str(plan), "--no-remedy", "--quiet", "-o", out])
    assert done.exit_code in VERDICTS.values(), done.output
    assert "fault" not in done.output
