"""sweep: a tidy table of privacy and utility."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tellall as ta
from tellall.core.reasons import KINDS
from tests.conftest import first_fast, random_people

PEOPLE = random_people(60, 7, seed=1)
TABLES = ta.Marginals(3)


@pytest.fixture(scope="module")
def found() -> ta.Sweep:
    return ta.sweep(
        PEOPLE,
        TABLES,
        [ta.Gaussian, "Laplace", None],
        scales=[0, 2, 40],
        repeats=5,
        decoders=["least-squares"],
    )


def test_a_row_for_each_protection_and_decoder(found: ta.Sweep) -> None:
    names = [row.protection for row in found.rows]
    assert names == [
        "exact",
        "Gaussian(std=2)",
        "Gaussian(std=40)",
        "Laplace(scale=2)",
        "Laplace(scale=40)",
    ]
    assert [row.draws for row in found.rows] == [1, 5, 5, 5, 5]
    assert found.rows[3].std == pytest.approx(2 * math.sqrt(2))


def test_more_noise_less_advantage_more_error(found: ta.Sweep) -> None:
    exact, some, much = found.rows[:3]
    assert exact.advantage > some.advantage > much.advantage
    assert exact.loss == 0 < some.loss < much.loss
    assert some.loss == pytest.approx(2 * math.sqrt(2 / math.pi), rel=0.1)
    for row in found.rows:
        assert row.low <= row.advantage <= row.high
        assert row.accuracy_low <= row.accuracy <= row.accuracy_high
        assert row.advantage == pytest.approx(row.accuracy - row.baseline_accuracy)


def test_promises_stand_beside_what_attacks_achieve(found: ta.Sweep) -> None:
    exact, some = found.rows[:2]
    assert exact.epsilon is None
    promise = ta.guarantee_of(ta.Gaussian(2.0), TABLES, PEOPLE.public)
    assert promise is not None
    assert some.epsilon == promise.epsilon
    assert some.delta == promise.delta == 1e-6


def test_the_frontier_is_marked(found: ta.Sweep) -> None:
    assert found.frontier[0].protection == "exact"
    for row in found.rows:
        beaten = any(
            max(0, other.advantage) <= max(0, row.advantage) and other.loss < row.loss for other in found.rows
        )
        assert row.frontier == (not beaten)
    assert str(found).count("  *") == len(found.frontier)


def test_rows_say_by_codes_why_they_do_not_pass(found: ta.Sweep) -> None:
    for row in found.rows:
        assert (row.verdict == "pass") == (not row.codes)
        assert set(row.codes) <= set(KINDS)
    assert found.rows[0].codes
    loud = ta.calibrate(PEOPLE, ta.Marginals(2), ta.Gaussian, 0.3, draws=2, decoders=["least-squares"])
    assert all(one.passed == (not one.codes) for one in loud.history)


def test_files_hold_the_rows(found: ta.Sweep, tmp_path: Path) -> None:
    import duckdb

    with found.to_csv(tmp_path / "sweep.csv").open(encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    assert [float(row["advantage"]) for row in read] == [row.advantage for row in found.rows]
    assert read[0]["epsilon"] == ""
    parquet = found.to_parquet(tmp_path / "it's a sweep.parquet")
    with duckdb.connect(":memory:") as connection:
        rows = connection.execute("SELECT * FROM read_parquet(?)", [str(parquet)]).fetchall()
    flat = [row.as_json() | {"codes": " ".join(row.codes)} for row in found.rows]
    assert rows == [tuple(row.values()) for row in flat]


def test_numbers_do_not_depend_on_the_workers(found: ta.Sweep) -> None:
    calls: list[tuple[int, int]] = []
    again = ta.sweep(
        PEOPLE,
        TABLES,
        [ta.Gaussian, "Laplace", None],
        scales=[40, 2, 0, 2],
        repeats=5,
        decoders=["least-squares"],
        processes=2,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert again.rows == found.rows
    assert calls == [(done, 5) for done in range(6)]


def test_every_kind_of_protection_is_measured() -> None:
    chosen: list[Any] = [
        ta.Suppression(1000),
        ta.Rounding(1),
        ta.Rounding(5, "controlled"),
        [ta.Rounding(5), ta.Suppression(5)],
        ta.Swapping(0.5),
        ta.Subsample(0.5),
        ta.SuLQ(1.0, 1e-6),
        ta.TruncatedNormal(3.0, 4.0),
        ta.Gaussian(0.0),
        ta.Corruption(0.2, 30.0),
    ]
    found = ta.sweep(PEOPLE, TABLES, chosen, repeats=2, decoders=["least-squares"])
    assert len(found.rows) == len(chosen)
    nothing_shown = found.rows[0]
    assert nothing_shown.missing == 1
    assert nothing_shown.mean_error is None
    assert nothing_shown.advantage <= 0
    assert nothing_shown.loss == pytest.approx(ta.publish(PEOPLE, TABLES).values.mean())
    assert found.rows[6].protection == "SuLQ(epsilon=1, delta=1e-06)"
    assert found.rows[6].std > 10


def test_protections_are_called_by_all_their_steps() -> None:
    found = ta.sweep(
        PEOPLE,
        TABLES,
        [[ta.Suppression(5), ta.Rounding(5)], ta.Rounding(5), lambda s: [ta.Gaussian(s), ta.Rounding(5)]],
        scales=[2],
        repeats=1,
        decoders=["least-squares"],
    )
    assert [row.family for row in found.rows] == [
        "Suppression + Rounding",
        "Rounding",
        "Gaussian + Rounding",
    ]


def test_a_protection_that_does_not_fit_is_left_out_with_a_reason() -> None:
    found = ta.sweep(
        PEOPLE,
        ta.Predicates("xor", ways=3),
        [ta.WalshNoise(std=2.0), ta.Gaussian(3.0)],
        repeats=2,
        decoders=["least-squares"],
    )
    assert [row.protection for row in found.rows] == ["Gaussian(std=3)"]
    assert "WalshNoise" in found.skipped[0].name
    assert "left out WalshNoise" in str(found)
    with pytest.raises(ta.InvalidInput, match="protections must be"):
        ta.sweep(PEOPLE, ta.Predicates("xor", ways=3), [ta.WalshNoise(std=2.0)])


def test_categories_are_swept_too() -> None:
    rng = np.random.default_rng(0)
    people = ta.Dataset.from_arrays(
        rng.integers(0, 2, (60, 6)), secret=np.array(list("abc"))[rng.integers(0, 3, 60)]
    )
    found = ta.sweep(people, TABLES, ta.Gaussian, scales=[1, 60], repeats=2, decoders=["least-squares"])
    assert found.rows[0].advantage > found.rows[1].advantage


def test_real_secrets_are_swept_in_their_own_unit() -> None:
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(50, 40))  # 40 coefficients about 50 people
    people = ta.Dataset.from_arrays(columns, secret=3 + columns[:, 0] + rng.normal(size=50))
    found = ta.sweep(people, ta.Estimator("linear", block=2), ta.Gaussian, scales=[0, 0.01, 2], repeats=3)
    exact, little, much = found.rows
    assert found.real
    assert found.units == "units of a coefficient"
    assert exact.advantage == pytest.approx(little.advantage, abs=0.1)
    assert little.advantage > 0.1 > much.advantage
    gained = little.baseline_accuracy - little.accuracy
    assert little.advantage + little.in_sample == pytest.approx(gained)
    assert little.accuracy_low < little.accuracy < little.accuracy_high
    assert "%" not in str(found).splitlines()[2]
    least = ta.calibrate(people, ta.Estimator("linear", block=2), ta.Gaussian, 0.3, draws=3)
    assert least.interval[1] <= 0.3
    assert 0.01 < least.scale < 2


def test_in_sample_fit_is_left_out_of_the_advantage_of_numbers() -> None:
    rng = np.random.default_rng(3)
    columns = rng.normal(size=(60, 4))
    people = ta.Dataset.from_arrays(columns, secret=columns @ [1, 0, 2, 0] + rng.normal(size=60))
    fit = ta.Estimator("linear", 4, intercept=True)
    (row,) = ta.sweep(people, fit, None, decoders=["auto"]).rows
    (outcome,) = ta.sweep(people, fit, None, decoders=["auto"]).outcomes
    assert row.in_sample > 0
    assert (row.advantage, row.low, row.high) == outcome.beyond_fit
    assert row.advantage < outcome.advantage
    assert "in-sample fit left out" in str(ta.sweep(people, fit, None, decoders=["auto"]))


def test_every_decoder_has_its_row_and_the_worst_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from tellall.attack.reconstruct import decoders

    def weak(undecided: Any, rng: np.random.Generator) -> decoders.Decoded:
        found = decoders.DECODERS["least-squares"](undecided, rng)
        return replace(found, value=undecided.size - found.value, name="weak")

    monkeypatch.setitem(decoders.DECODERS, "weak", weak)
    found = ta.sweep(PEOPLE, TABLES, ta.Gaussian(2.0), repeats=2, decoders=["weak", "least-squares"])
    assert [row.decoder for row in found.rows] == ["weak", "least-squares"]
    assert found.rows[0].advantage < 0 < found.rows[1].advantage
    assert [row.frontier for row in found.rows] == [False, True]
    affordable = ta.sweep(PEOPLE, TABLES, ta.Gaussian(2.0), repeats=2)
    assert [row.decoder for row in affordable.rows] == ["auto", "least-squares", "lp"]
    auto = ta.sweep(PEOPLE, TABLES, ta.Gaussian(2.0), repeats=2, decoders="auto")
    assert auto.rows[0].advantage == pytest.approx(affordable.rows[0].advantage)
    monkeypatch.setitem(decoders.TRIED, "weak", PEOPLE.n)
    tried = ta.sweep(PEOPLE, TABLES, ta.Gaussian(2.0), repeats=2)
    assert [row.decoder for row in tried.rows] == ["auto", "least-squares", "lp", "weak"]
    monkeypatch.setitem(decoders.TRIED, "weak", PEOPLE.n - 1)
    assert ta.sweep(PEOPLE, TABLES, ta.Gaussian(2.0), repeats=2).untried == ("weak",)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"scales": [-1]}, "scales must be"),
        ({"scales": []}, "scales must be"),
        ({"scales": 3}, "scales must be"),
        ({}, "scales must be given"),
        ({"scales": [1], "repeats": 0}, "repeats must be"),
        ({"scales": [1], "processes": 0}, "processes must be"),
        ({"scales": [1], "decoders": ["oracle"]}, "decoders must be"),
        ({"scales": [1], "decoders": []}, "decoders must be"),
        ({"scales": [1], "rng": -1}, "rng must be"),
    ],
)
def test_bad_options_are_explained(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ta.InvalidInput, match=text):
        ta.sweep(PEOPLE, TABLES, ta.Gaussian, **options)


@pytest.mark.parametrize("family", ["Gausian", int, 3, ta.Corruption, ta.CannotLinearise])
def test_what_is_no_family_is_refused(family: Any) -> None:
    with pytest.raises(ta.InvalidInput):
        ta.sweep(PEOPLE, TABLES, [family], scales=[1])


def test_people_without_a_fitting_secret_are_refused() -> None:
    with pytest.raises(ta.InvalidInput, match="dataset must be one with a secret"):
        ta.sweep(ta.Dataset.from_arrays(np.eye(4, dtype=int)), TABLES, ta.Gaussian(1.0))
    with pytest.raises(ta.InvalidInput, match="dataset must be a Dataset"):
        ta.sweep([[1, 2]], TABLES, ta.Gaussian(1.0))  # type: ignore[arg-type]
    with pytest.raises(ta.InvalidInput, match="statistic must be"):
        ta.sweep(PEOPLE, "tables", ta.Gaussian(1.0))  # type: ignore[arg-type]


def test_draws_that_happen_to_be_equal_are_kept() -> None:
    """Little is left of what is random after rounding to tens, so that two draws are often the same."""
    quick = [[ta.Swapping(0.05), ta.Rounding(10)], [ta.Gaussian(0.5), ta.Rounding(10)], ta.Rounding(10)]
    found = ta.sweep(PEOPLE, ta.Marginals(1), quick, repeats=6, decoders=["least-squares"])
    assert [row.draws for row in found.rows] == [6, 6, 1]


@pytest.mark.parametrize(
    "protect", first_fast([[], [{"kind": "Gaussian", "std": 4.0}]]), ids=["exact", "noisy"]
)
def test_audit_sweep_and_calibrate_agree(protect: list[dict[str, Any]]) -> None:
    people, table = random_people(60, 6, seed=4), ta.Marginals(3)
    entry = {"statistic": {"kind": "Marginals", "ways": 3}, "protect": protect}
    plan = {"limit": 0.4, "exposed_limit": 20, "seed": 5, "repeats": 3, "steps": False, "releases": [entry]}
    finding = ta.audit(people, plan).findings[0]
    found = finding.outcome
    done = [ta.Gaussian(4.0)] if protect else None
    swept = ta.sweep(people, table, [done], repeats=3, limit=0.4, exposed_limit=20, rng=5)
    row = max(swept.rows, key=lambda one: (one.advantage, one.exposed, one.proved))
    assert [one.decoder for one in swept.rows] == [one.asked for one in finding.outcomes]
    assert (row.decoder, row.advantage) == (found.asked, found.advantage)
    assert (row.low, row.high) == found.interval
    assert (row.exposed, row.proved) == (found.exposed_people, found.proved)
    assert {one.verdict for one in swept.rows} == {finding.verdict.word}
    assert {one.decided for one in swept.rows} == {finding.verdict.decided}
    if protect:
        options: dict[str, Any] = {"exposed_limit": 20, "draws": 3, "rng": 5, "start": 1.0}
        chosen = ta.calibrate(people, table, lambda _: ta.Gaussian(4.0), 0.4, **options)
        measured = chosen.history[0]
        assert (measured.decoder, measured.advantage, measured.interval) == (
            found.asked,
            found.advantage,
            found.interval,
        )
        assert measured.decided == finding.verdict.decided
