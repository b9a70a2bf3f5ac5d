"""Which people of a census block do its tables name, and what do swapping, rounding and noise change?

Blocks of 10, 30 and 100 made-up people, with four published tables each: age (10 groups) by sex, race (5) by
sex, race by age, household size (7) by age. No list of people is used: rows are proved from the tables alone.
The number of blocks of each size is an argument: python census_blocks.py 100
"""

import sys

import numpy as np

import tellall as ta

LEVELS = {"age": 10, "sex": 2, "race": 5, "size": 7}
TABLES = (("age", "sex"), ("race", "sex"), ("race", "age"), ("size", "age"))
NAMES = tuple(LEVELS)


def make_block(people, rng):
    """Households of one to seven: one or two adults of similar age and their children, mostly of one race."""
    mix = rng.dirichlet([6, 1.5, 1, 0.6, 0.4])
    rows = []
    while len(rows) < people:
        size = min(7, 1 + rng.poisson(1.6))
        race, adult = rng.choice(5, p=mix), rng.integers(2, 9)
        for member in range(size):
            age = adult + rng.integers(-1, 2) if member < 2 else rng.integers(0, 3)
            own = race if rng.random() < 0.9 else rng.choice(5, p=mix)
            rows.append((np.clip(age, 0, 9), rng.integers(2), own, size - 1))
    return np.array(rows[:people])


def swap(blocks, share, rng):
    """This share of people exchange age, sex and race with people in households of the same size."""
    everybody = np.concatenate(blocks)
    for size in range(LEVELS["size"]):
        alike = rng.permutation(np.flatnonzero(everybody[:, 3] == size))
        chosen = alike[: int(share * alike.size)]
        everybody[chosen, :3] = everybody[np.roll(chosen, 1), :3]
    return np.split(everybody, np.cumsum([len(block) for block in blocks])[:-1])


def publish(rows, protect, rng):
    tables = []
    for names in TABLES:
        shape = [LEVELS[name] for name in names]
        places = [NAMES.index(name) for name in names]
        counts = np.bincount(np.ravel_multi_index(tuple(rows[:, places].T), shape), minlength=np.prod(shape))
        shown = counts if protect is None else protect.perturb(counts.astype(float), rng)
        tables.append(ta.CountTable({name: range(LEVELS[name]) for name in names}, shown, protect))
    return tables


def main(count):
    rng = np.random.default_rng(0)
    print("people  published as     people certain  of these wrong  of the first 10: there (model)")
    for people in (10, 30, 100):
        blocks = [make_block(people, rng) for _ in range(count)]
        for name, protect in (
            ("exact", None),
            ("10 % swapped", None),
            ("rounded to 3", ta.Rounding(3, "random")),
            ("noise of std 1", ta.DiscreteGaussian(1.0)),
        ):
            tabulated = swap(blocks, 0.1, rng) if "swapped" in name else blocks
            certain = wrong = first = model = 0
            for truth, rows in zip(blocks, tabulated, strict=True):
                tables = publish(rows, protect, rng)
                found = ta.rows_from_tables(tables, people=people, proof_effort=2000, draws=40)
                score = found.score(truth)
                certain += int(found.lower.sum())
                wrong += score.wrong
                first += score.first[10][0] / count
                model += score.first[10][1] / count
            share = certain / (people * count)
            print(f"{people:6}  {name:15} {share:15.1%} {wrong:15} {first:20.1f} ({model:.1f})")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
