"""Proofs against every secret there is, one by one: none wrong, and nobody missed who is determined."""

from itertools import product

import numpy as np
import pytest
from tests.attack.prove.forwards import ALONE, after, can_be, fits_controlled

import tellall as ta


def determined(people: ta.Dataset, release: ta.Release, protect: list[ta.Protection]) -> np.ndarray:
    """Who has the same secret in every secret that can have led to the release."""
    return np.ptp(fitting(people, release, protect), axis=0) == 0


def fitting(people: ta.Dataset, release: ta.Release, protect: list[ta.Protection]) -> np.ndarray:
    """Every secret that can have led to the release, one a row."""
    n, values = people.n, people.levels
    every = np.array(list(product(range(values), repeat=n)), dtype=np.int64)
    fits = np.ones(len(every), dtype=bool)
    start = 0
    for columns in release.statistic.sets(people.public):
        shape = [people.public.levels[column] for column in columns]
        cell = np.ravel_multi_index(tuple(people.public.codes[c].astype(int) for c in columns), shape)
        inside = (cell[:, None] == np.arange(np.prod(shape))).astype(np.int64)
        counts = np.stack([(every == value) @ inside for value in range(values)], axis=2)
        counts = counts.reshape(len(every), -1)
        published = release.values[start : start + counts.shape[1]]
        start += counts.shape[1]
        for column, value in enumerate(published):
            most = counts[:, column].max()
            allowed = np.array([can_be(value, count, protect) for count in range(most + 1)])
            fits &= allowed[counts[:, column]]
        fits &= fits_controlled(published, counts, protect)
    assert fits[np.flatnonzero((every == people.secret).all(axis=1))].all(), "the truth must fit"
    return every[fits]


def instance(seed: int, largest: int, values: int) -> tuple[ta.Dataset, ta.Release, list[ta.Protection]]:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, largest + 1)), int(rng.integers(2, 5))
    public = np.column_stack([rng.integers(0, rng.integers(2, 4), n) for _ in range(d)])
    secret = (rng.random(n) < rng.choice([0.2, 0.5, 0.8])).astype(int)
    if values > 2:
        secret = rng.integers(0, values, n)
    if len(set(secret)) < values or (public == public[0]).all():
        return instance(seed + 10**6, largest, values)
    frame = {f"c{j}": public[:, j].astype(str) for j in range(d)} | {"s": secret}
    people = ta.Dataset.from_frame(frame, secret="s")
    count = int(rng.integers(0, 3))
    protect = [ALONE[i] for i in rng.choice(len(ALONE), count, replace=False)]
    ways = int(rng.integers(1, min(3, len(people.public.columns)) + 1)) + 1
    release = ta.publish(people, ta.Marginals(ways), protect, rng=seed)
    return people, release, [one.as_published() for one in protect]  # publishing says where halves went


def check(seed: int, largest: int, values: int = 2) -> int:
    """The number of people determined; all of them, and nobody else, are proved and guessed right."""
    people, release, protect = instance(seed, largest, values)
    sure = determined(people, release, protect)
    attack = ta.reconstruct(release, people.public, "least-squares")
    proved = attack.identified == "proved"
    said = f"{seed}: {release!r}"
    assert (proved <= sure).all(), f"proved, and not determined: {said}"
    assert (attack.guess == people.secret)[proved].all(), said
    assert attack.undecided == 0, said
    assert (proved == sure).all(), f"determined, and not proved: {said}"
    return int(sure.sum())


def test_everybody_who_is_determined_is_proved_and_nobody_else():
    assert sum(check(seed, largest=8) for seed in range(60)) > 50


def test_the_same_of_a_secret_of_three_values():
    assert sum(check(seed, largest=6, values=3) for seed in range(30)) > 20


def test_what_was_hidden_twice_with_rounding_in_between_has_limits():
    people = ta.Dataset.from_frame({"a": list("011"), "b": list("001"), "s": [0, 1, 1]}, secret="s")
    protect = [ta.Suppression(1), ta.Rounding(4, ties="up"), ta.Suppression(3)]
    release = ta.publish(people, ta.Marginals(2), protect)
    assert determined(people, release, protect).all()
    assert (ta.reconstruct(release, people.public).identified == "proved").all()


@pytest.mark.slow
@pytest.mark.parametrize("values", [3, 4])
def test_six_hundred_releases_of_several_values(values):
    largest = {3: 8, 4: 6}[values]
    assert sum(check(seed, largest, values) for seed in range(300)) > 100


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_two_thousand_releases_of_up_to_fourteen_people(block):
    assert sum(check(seed, largest=14) for seed in range(100 * block, 100 * block + 100)) > 50


@pytest.mark.parametrize("first", ALONE, ids=str)
def test_every_pair_of_protections_is_undone(first):
    rng = np.random.default_rng(1)
    from tellall.evidence.undo import possible_counts

    for second in [None, *ALONE]:
        protect = [first] if second is None else [first, second]
        for _ in range(2):
            count = int(rng.integers(0, 12))
            values = np.array(_draws(count, protect, rng))
            found = possible_counts(values, protect, 1.0)
            gaps = dict(found.gaps)
            for index, value in enumerate(values):
                for other in range(25):
                    inside = found.low[index] <= other <= found.high[index]
                    inside &= other not in gaps.get(index, ())
                    assert inside == can_be(value, other, protect), (protect, value, other)


def _draws(count, protect, rng):
    """Published values that a cell of this count can have, drawn with the definitions above."""
    value, out = float(count), []
    for _ in range(4):
        now, gone = value, False
        for one in protect:
            reached, hidden = after(one, [(now, now)], count)
            if hidden and (not reached or rng.random() < 0.5):
                gone = True
                break
            low, high = reached[rng.integers(len(reached))]
            low, high = (-50.0, 50.0) if np.isinf(low) else (low, high)
            now = low if low == high else float(np.round(rng.uniform(low, high), 6))
        out.append(np.nan if gone else now)
    return out


@pytest.mark.parametrize("values", [2, 3])
def test_as_many_secrets_fit_as_are_counted(values):
    for seed in range(8):
        people, release, protect = instance(seed, 7 if values == 2 else 5, values)
        attack = ta.reconstruct(release, people.public, "least-squares")
        assert attack.possible is not None
        assert attack.possible.exact
        assert attack.possible.least == len(fitting(people, release, protect)), (seed, release)
