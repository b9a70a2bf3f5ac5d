"""Halves: who rounds them how, read with and without knowing it. No proof is wrong, no right table refused.

The tables are rounded here by somebody else: in whole numbers, without the library.
"""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from tests.attack.prove.test_brute_force import fitting, instance

import tellall as ta
from tellall.evidence.undo import possible_counts

BASES = [2, 4, 5, 6, 10, 20]
HABITS = ["up", "away", "even", "either"]


def somebody_rounds(value, base, habit: str, rng: np.random.Generator):
    """The multiple of the base that is nearest, in exact arithmetic; "either": a half goes anywhere."""
    below = floor(Fraction(value) / Fraction(base))
    twice = 2 * (Fraction(value) / Fraction(base) - below)
    if twice != 1:
        up = twice > 1
    elif habit == "up":
        up = True
    elif habit == "away":
        up = value > 0
    elif habit == "even":
        up = below % 2 == 1
    else:
        up = bool(rng.integers(2))
    return (below + up) * Fraction(base)


def foreign(exact: np.ndarray, base, habit: str, rng: np.random.Generator) -> np.ndarray:
    return np.array([float(somebody_rounds(value, base, habit, rng)) for value in exact])


def population(seed: int) -> tuple[ta.Dataset, np.random.Generator]:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 40)), int(rng.integers(2, 4))
    columns = {f"c{j}": rng.integers(0, int(rng.integers(2, 4)), n).astype(str) for j in range(d)}
    values = 2 if seed % 3 else 3
    secret = np.append(rng.choice(values, n - values, p=rng.dirichlet(np.ones(values))), np.arange(values))
    return ta.Dataset.from_frame({**columns, "s": secret}, secret="s"), rng


def counted(seed: int) -> np.ndarray:
    """Proved, wrongly proved, tables, right tables called contradictory; of one population's tables."""
    people, rng = population(seed)
    statistic = ta.Marginals(int(rng.integers(2, len(people.public.columns) + 2)))
    exact = ta.publish(people, statistic).values
    out = np.zeros(4, dtype=int)
    base = BASES[seed % len(BASES)]
    limit = int(rng.integers(2, 2 * base))
    for habit in HABITS:
        shown = foreign(exact, base, habit, rng)
        for ties in {None, "unknown", habit if habit != "either" else None}:
            law = ta.Rounding(base, ties=ties)
            hidden_first = np.where(exact < limit, np.nan, shown)
            hidden_last = np.where(shown < limit, np.nan, shown)
            for values, protect in (
                (shown, [law]),
                (hidden_first, [ta.Suppression(limit), law]),
                (hidden_last, [law, ta.Suppression(limit)]),
            ):
                release = ta.Release.from_values(
                    statistic, values, public=people.public, protect=protect, levels=people.levels
                )
                attack = ta.reconstruct(release, people.public, "least-squares")
                proved = attack.identified == "proved"
                wrong = proved & (attack.guess != people.secret)
                clash = attack.status.word == "contradictory"
                out += [int(proved.sum()), int(wrong.sum()), 1, int(clash)]
    return out


def check(seeds) -> None:
    proved, wrong, tables, refused = sum(map(counted, seeds))
    assert (wrong, refused) == (0, 0), f"{wrong} of {proved} proofs wrong, {refused} of {tables} refused"
    assert proved > len(seeds)


def test_no_proof_is_wrong_and_no_right_table_is_refused():
    check(range(12))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_two_hundred_populations(block):
    check(range(20 * block, 20 * block + 20))


@pytest.mark.parametrize("ties", [None, "up", "away", "even", "unknown"])
def test_everybody_whom_the_rule_determines_is_proved_and_nobody_else(ties):
    rng, found, lost = np.random.default_rng(1), 0, 0
    for seed in range(25):
        people, release, _ = instance(seed, 8, 2 if seed % 3 else 3)
        exact = ta.publish(people, release.statistic).values
        base = int(rng.choice([2, 4, 5, 6]))
        habit = str(rng.choice(HABITS)) if ties in (None, "unknown") else ties
        law, values = ta.Rounding(base, ties=ties), foreign(exact, base, habit, rng)
        read = ta.Release.from_values(
            release.statistic, values, public=people.public, protect=law, levels=people.levels
        )
        sure = np.ptp(fitting(people, read, [law]), axis=0) == 0
        attack = ta.reconstruct(read, people.public, "least-squares")
        assert attack.undecided == 0
        assert np.array_equal(attack.identified == "proved", sure), (seed, law, habit)
        found, lost = found + int(sure.sum()), lost + int((~sure).sum())
    assert found > 5
    assert lost > 5


@pytest.mark.parametrize("base", [3, 5, 7, 2.5])
def test_where_there_are_no_halves_nothing_is_lost(base):
    shown = np.unique(ta.Rounding(base).perturb(np.arange(60.0)))
    known = [possible_counts(shown, [ta.Rounding(base, ties=ties)], 1.0) for ties in ("even", "up", None)]
    for one in known[1:]:
        assert np.array_equal(one.low, known[0].low)
        assert np.array_equal(one.high, known[0].high)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("habit", HABITS)
def test_what_is_undone_is_exactly_what_is_done(base, habit):
    counts, rng = np.arange(8 * base), np.random.default_rng(0)
    law = ta.Rounding(base, ties="unknown" if habit == "either" else habit)
    shown = np.arange(0, 6 * base, base)
    found = possible_counts(shown.astype(float), [law], 1.0)
    for value, low, high in zip(shown, found.low, found.high, strict=True):
        rules = ["up", "even"] if habit == "either" else [habit]
        fits = [c for c in counts if any(somebody_rounds(c, base, rule, rng) == value for rule in rules)]
        fits += [c for c in counts if habit == "either" and abs(2 * (c - value)) == base]
        assert (low, high) == (min(fits), max(fits))


@pytest.mark.parametrize("habit", HABITS)
def test_sums_of_numbers_below_zero_too(habit):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, base = 14, BASES[seed % len(BASES)]
        columns = {f"c{j}": rng.integers(0, 2, n).astype(str) for j in range(2)}
        people = ta.Dataset.from_frame({**columns, "s": rng.integers(-40, 40, n) / 2 + 0.0}, secret="s")
        exact = ta.publish(people, ta.Sums(2)).values
        shown = foreign(exact, base, habit, rng)
        for ties in {None, habit if habit != "either" else None}:
            read = ta.Release.from_values(
                ta.Sums(2), shown, public=people.public, protect=ta.Rounding(base, ties=ties), levels=0
            )
            attack = ta.reconstruct(read, people.public)
            assert attack.status.word != "contradictory"
            assert (attack.limits.low <= people.secret + 1e-6).all()
            assert (people.secret - 1e-6 <= attack.limits.high).all()


@pytest.mark.parametrize("habit", HABITS)
@pytest.mark.parametrize("base", ["0.1", "0.01", "0.05"])
def test_shares_whose_halves_are_no_floating_point_halves(habit, base):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n = [8, 16, 20, 40][seed % 4]
        columns = {f"c{j}": rng.integers(0, 2, n).astype(str) for j in range(2)}
        people = ta.Dataset.from_frame({**columns, "s": rng.permutation(np.arange(n) % 2)}, secret="s")
        for scale in ("rates", "fractions"):
            statistic = ta.Marginals(2, scale=scale)
            exact = ta.publish(people, statistic).values
            fractions = [None if np.isnan(x) else Fraction(float(x)).limit_denominator(1000) for x in exact]
            shown = [
                np.nan if x is None else float(somebody_rounds(x, Fraction(base), habit, rng))
                for x in fractions
            ]
            for ties in {None, habit if habit != "either" else None}:
                law = ta.Rounding(float(base), ties=ties)
                read = ta.Release.from_values(statistic, shown, public=people.public, protect=law, levels=2)
                attack = ta.reconstruct(read, people.public)
                assert attack.status.word != "contradictory", (seed, scale, ties)
                proved = attack.identified == "proved"
                assert (attack.guess == people.secret)[proved].all()
