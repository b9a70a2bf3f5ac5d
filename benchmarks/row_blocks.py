"""Rows from tables alone: blocks of 30 people of a census, against an integer solver on a sample.

python benchmarks/row_blocks.py [--blocks 1000] [--sample 10] [--quick]

The goal: 1,000 blocks within 5 minutes on two cores. On the sample, HiGHS in SciPy finds the least and the
largest count of every possible row, two integer programmes each.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

import tellall as ta
from timing import Section, least_time, one_thread

sys.path.append(str(Path(__file__).resolve().parents[1] / "examples"))
from census_blocks import make_block, publish

PEOPLE = 30


def by_programmes(found: ta.PossibleRows) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest count of every row, by two integer programmes each."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    certain = found.joint.certain
    matrix, possible = certain.operator.to_sparse(), np.flatnonzero(found.joint.upper > 0)
    rows = LinearConstraint(matrix, certain.low, certain.high)
    lower, upper = np.zeros(found.lower.size), np.zeros(found.lower.size)
    for row in possible.tolist():
        for side, sign in ((lower, 1.0), (upper, -1.0)):
            cost = np.zeros(lower.size)
            cost[row] = sign
            said = milp(cost, constraints=rows, bounds=Bounds(0, found.joint.upper), integrality=1)
            side[row] = round(sign * said.fun)
    return lower, upper


def solve(tables: list[list[Any]]) -> list[ta.PossibleRows]:
    """The bounds of every block."""
    return [ta.rows_from_tables(each, people=PEOPLE) for each in tables]


def main() -> None:
    """The row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=1000, help="how many")
    parser.add_argument("--sample", type=int, default=10, help="blocks that the integer solver has too")
    parser.add_argument("--quick", action="store_true", help="three blocks; nothing is written")
    given = parser.parse_args()
    blocks, sample = (3, 1) if given.quick else (given.blocks, given.sample)
    one_thread()
    rng = np.random.default_rng(0)
    truth = [make_block(PEOPLE, rng) for _ in range(blocks)]
    tables = [publish(rows, None, rng) for rows in truth]
    took, found = least_time(lambda: solve(tables), 1)
    beside, bounds = least_time(lambda: [by_programmes(each) for each in found[:sample]], 1)
    ours, theirs = took / blocks, beside / sample
    same = sum(
        np.array_equal(each.lower, low) and np.array_equal(each.upper, high)
        for each, (low, high) in zip(found, bounds, strict=False)
    )
    certain = sum(float(each.lower.sum()) for each in found)
    wrong = sum(each.score(rows).wrong for each, rows in zip(found, truth, strict=True))
    solved = sum(each.status.word == "solved" for each in found)
    names = ("work", "size", "reference", "reference time ÷ ours", "ours", "reference")
    section = Section("row_blocks.py", names, keep=not given.quick)
    section.add(
        (
            "rows from tables alone",
            f"{blocks:,} blocks of {PEOPLE} people, 4 tables, 700 possible rows",
            f"HiGHS in SciPy, two programmes a row, {sample} blocks",
            f"{theirs / ours:.0f}× ({theirs:.2f} s ÷ {ours:.3f} s a block)",
            f"{solved:,} solved, {certain / PEOPLE / blocks:.0%} of people certain, {wrong} rows wrong",
            f"all bounds the same in {same} of {sample}",
        )
    )


if __name__ == "__main__":
    main()
