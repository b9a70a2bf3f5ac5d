"""Columns, people and membership that an attacker does not know, solved for together: by brute force."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from tests.attack.prove.forwards import can_be, fits_controlled

import tellall as ta

PROTECTIONS = [
    None,
    ta.Suppression(2),
    ta.Rounding(3),
    ta.Rounding(3, "random"),
    ta.Rounding(3, "controlled"),
]
COLUMNS = 2  # the first is known, the second is not


def some_people(rng: np.random.Generator, n: int) -> ta.Dataset:
    while True:
        codes, secret = rng.integers(0, 2, (COLUMNS, n)), rng.integers(0, 2, n)
        if all(len(set(row)) == 2 for row in (*codes, secret)):
            frame = {f"c{j}": row.astype(str) for j, row in enumerate(codes)}
            return ta.Dataset.from_frame({**frame, "s": secret}, secret="s")


class Published:
    """A release with whom it is about, as brute force needs it."""

    def __init__(self, release: ta.Release, everybody: ta.Dataset, inside: np.ndarray | None) -> None:
        self.people, self.inside, start = release.shape.people, inside, 0
        statistic, protect = release.statistic, list(release.protections)
        self.tables, self.protect = [], protect
        for columns in statistic.sets(everybody.public):
            size = 2 ** (len(columns) + 1)
            cells = release.values[start : start + size]
            cells = np.rint(cells * self.people) if statistic.scale == "fractions" else cells
            allowed = [[can_be(cell, count, protect) for count in range(self.people + 1)] for cell in cells]
            self.tables.append((columns, np.array(allowed), cells))
            start += size

    def fits(self, rows: np.ndarray) -> bool:
        """Whether people with these rows (columns, then the secret) can have been published so."""
        for columns, allowed, cells in self.tables:
            cell = np.zeros(len(rows), dtype=int)
            for column in (*columns, COLUMNS):
                cell = 2 * cell + rows[:, column]
            counts = np.bincount(cell, minlength=len(allowed))
            if counts.max() > self.people or not allowed[np.arange(len(allowed)), counts].all():
                return False
            if not fits_controlled(cells, counts[None], self.protect).all():
                return False
        return True

    def can_be(self, rows: np.ndarray, missing: int, may_include: bool) -> bool:
        """Whether it fits for some rows of people beyond these, and some of these left out."""
        mine = rows if self.inside is None else rows[self.inside]
        for beyond in range(missing + 1) if may_include else (self.people - len(mine),):
            kept = self.people - beyond
            if not 0 <= kept <= len(mine):
                continue
            every = np.array(list(product((0, 1), repeat=COLUMNS + 1)))
            for who in combinations(range(len(mine)), kept):
                for others in product(range(len(every)), repeat=beyond):
                    if self.fits(np.vstack([mine[list(who)], every[list(others)]])):
                        return True
        return False


def fitting(
    published: list[Published], known: np.ndarray, missing: int, may_include: bool, told: dict[int, int]
) -> np.ndarray:
    """The secrets that fit for some values of the unknown column, some people beyond and some left out."""
    n, found = known.size, []
    for secret in product((0, 1), repeat=n):
        if any(secret[row] != value for row, value in told.items()):
            continue
        for other in product((0, 1), repeat=n):
            rows = np.column_stack([known, other, secret])
            if all(each.can_be(rows, missing, may_include) for each in published):
                found.append(secret)
                break
    return np.array(found)


CASES = {
    "where": {"where": True},
    "fractions": {"scale": "fractions"},
    "missing": {"missing": 1},
    "missing fractions": {"missing": 1, "scale": "fractions"},
    "missing where": {"missing": 1, "where": True},
    "may include": {"absent": 1},
    "may include where": {"absent": 1, "where": True},
    "both": {"absent": 1, "missing": 1, "n": 3},
    "told": {"missing": 1, "told": True},
}


def check(case: str, seed: int) -> tuple[int, int]:
    """How many people are determined, and how many of them sums alone prove."""
    options = {"n": 4, "missing": 0, "absent": 0, "where": False, "scale": "counts", "told": False}
    options |= CASES[case]
    n, missing, absent, may = options["n"], options["missing"], options["absent"], bool(options["absent"])
    rng = np.random.default_rng([seed, *map(ord, case)])
    people = some_people(rng, n + missing)  # the last are not in the view
    rows = np.arange(n)
    view = people.public.take(rows).only("c0")
    counted = np.arange(absent, n + missing)  # the first are not in the release
    protect = PROTECTIONS[seed % len(PROTECTIONS)] if options["scale"] == "counts" else None
    statistic = ta.Marginals([2, 3], scale=options["scale"])
    first = ta.publish(people.take(counted), statistic, protect, rng=seed)
    releases, about = [first], [None]
    if options["where"]:
        inside = np.ones(n + missing, dtype=bool)
        inside[rng.integers(absent, n)] = False
        second = ta.publish(people.take(counted), ta.Marginals(3), protect, where=inside[counted], rng=seed)
        releases.append(replace(second, where=None).about(inside[:n]))
        about.append(inside[:n])
    told = {1: int(people.secret[1])} if options["told"] else {}
    given = {"missing": missing or None, "may_include": may, "known_secrets": told or None}
    attack = ta.reconstruct(releases, view, "least-squares", **given)
    published = [Published(pair[0], people, pair[1]) for pair in zip(releases, about, strict=True)]
    worlds = fitting(published, np.asarray(view.codes[0]).astype(int), missing, may, told)
    sure = np.ptp(worlds, axis=0) == 0
    assert np.array_equal(attack.proved, sure), (case, seed)
    assert (attack.guess == people.secret[rows])[sure].all()
    assert attack.undecided == 0
    summed = ta.reconstruct(releases, view, "least-squares", proof_effort=0, **given)
    assert (summed.proved <= attack.proved).all()
    assert "c1" in " ".join(attack.notes)
    assert bool(attack.proof.jointly) == ("was solved for" in attack.notes[-1])
    return int(sure.sum()), int(summed.proved.sum())


@pytest.mark.parametrize("case", CASES)
def test_everybody_who_is_determined_whatever_is_unknown_is_proved(case):
    for seed in range(2):
        check(case, seed)


@pytest.mark.parametrize("seed", [4, 9, 19])
def test_neighbours_of_controlled_rounding_count_with_unknown_people_too(seed):
    assert PROTECTIONS[seed % len(PROTECTIONS)] == ta.Rounding(3, "controlled")
    check("told", seed)


def test_controlled_rounding_of_which_all_is_hidden_says_nothing_of_unknown_people():
    people = some_people(np.random.default_rng(1), 5)
    release = ta.publish(people, ta.Marginals(2), [ta.Rounding(2, "controlled"), ta.Suppression(9)], rng=1)
    assert np.isnan(release.values).all()
    attack = ta.reconstruct(release, people.public.take([0, 1, 2]), "least-squares", missing=2)
    assert not attack.proved.any()
    assert attack.undecided == 0


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_same_of_many(case):
    found = np.array([check(case, seed) for seed in range(40)])
    assert found[:, 0].sum() > 0  # somebody is to be proved, by brute force alone
