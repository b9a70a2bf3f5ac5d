"""Made-up tables of statistical offices with hierarchies, and their intervals by one programme a cell."""

from itertools import product

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, vstack

import tellall as ta


def tree(tops, mids, leaves):
    """A hierarchy of three levels below a total: what each code is made of, and all codes."""
    made_of, codes = {}, ["Total"]
    for top in "ABCDEFGH"[:tops]:
        made_of[top] = [f"{top}{mid}" for mid in range(1, mids + 1)]
        codes.append(top)
        for middle in made_of[top]:
            made_of[middle] = [f"{middle}{leaf}" for leaf in range(1, leaves + 1)]
            codes += [middle, *made_of[middle]]
    return made_of, codes


def leaves_of(made_of, codes, code):
    """The codes of the lowest level in a code."""
    if code == "Total":
        return [each for each in codes if each not in made_of and each != "Total"]
    return (
        [leaf for part in made_of[code] for leaf in leaves_of(made_of, codes, part)]
        if code in made_of
        else [code]
    )


class Office:
    """Tables of some columns with hierarchies about the same made-up firms."""

    def __init__(self, trees, tables, seed, *, mean=4.0, amounts=False, secondary=True, below=4):
        rng = np.random.default_rng(seed)
        self.trees, self.amounts = trees, amounts
        self.leaves = {name: leaves_of(*tree, "Total") for name, tree in trees.items()}
        shape = [len(each) for each in self.leaves.values()]
        counts = rng.poisson(rng.gamma(0.5, mean / 0.5, shape)).ravel()
        self.truth = (
            np.round(counts * rng.lognormal(2, 1, counts.size), 1) if amounts else counts.astype(float)
        )
        self.rows, self.cells, self.tables = [], [], []
        firms = counts.astype(float)
        for names in tables:
            lines = list(product(*(trees[name][1] for name in names)))
            rows = np.array([self.row(dict(zip(names, line, strict=True))) for line in lines])
            few = rows @ firms
            primary = (few > 0) & (few < below)
            hidden = primary | ((rng.random(few.size) < 0.3) & (few > 0) if secondary else False)
            columns = {name: [line[at] for line in lines] for at, name in enumerate(names)}
            more = {"variable": "turnover"} if amounts else {}
            values = rows @ self.truth
            self.tables.append(
                ta.ListedCells(columns, values, hidden, secret=values, primary=primary, **more)
            )
            self.rows.append(rows)
        self.bands = [ta.Bands(name, made_of) for name, (made_of, _) in trees.items()]

    def row(self, cell):
        """Which combinations of leaves are in a cell."""
        part = np.ones(1)
        for name, (made_of, codes) in self.trees.items():
            inside = leaves_of(made_of, codes, cell.get(name, "Total"))
            part = np.kron(part, [leaf in inside for leaf in self.leaves[name]])
        return part

    def shown(self, hidden=None):
        """The equations of everything that is published."""
        gone = [table.withheld for table in self.tables] if hidden is None else hidden
        rows = vstack([csr_array(own[~each]) for own, each in zip(self.rows, gone, strict=True)])
        return csr_array(rows), rows @ self.truth

    def interval(self, row, hidden=None):
        """The least and the largest of a sum of leaves, by a programme each."""
        rows, values = self.shown(hidden)
        room = 1e-11 * (1 + np.abs(values)) if self.amounts else 0.0
        rule = LinearConstraint(rows, values - room, values + room)
        ends = []
        for sign in (1, -1):
            whole = np.full(row.size, 0 if self.amounts else 1)
            found = milp(sign * row, integrality=whole, constraints=rule, bounds=Bounds(0, np.inf))
            ends.append(sign * found.fun if found.status == 0 else -sign * np.inf)
        return ends
