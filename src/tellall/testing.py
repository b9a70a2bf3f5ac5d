"""Conformance checks for a new operator, statistic, protection or solver, written here or elsewhere.

Each check raises AssertionError and names the law that fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, IntArray, LinearOperator
from tellall.algebra.solvers.base import Solution
from tellall.algebra.solvers.least_squares import BoxProblem
from tellall.core.errors import InvalidInput
from tellall.people.columns import Column
from tellall.people.dataset import Dataset, Public
from tellall.release.equations import Evidence
from tellall.release.linearise import evidence_of, linearise
from tellall.release.protections.protection import Noise, Protection, noise_of
from tellall.release.release import Release, publish
from tellall.release.sight import Knowledge
from tellall.release.statistics.among import alone
from tellall.release.statistics.base import Statistic
from tellall.release.statistics.estimators import Estimator
from tellall.release.statistics.marginals import Marginals

Bools = npt.NDArray[np.bool_]

__all__ = ["check_operator", "check_protection", "check_solver", "check_statistic", "check_views"]

_DRAWS = 40
_NEIGHBOURS, _GROWTH = 20, 1.15  # pairs of neighbouring people; the numbers of the last are 14 times larger
_DOUBTS = 4.0  # an equation may be off by this many times the further error it declares


class PreparedSolver(Protocol):
    """What `prepare` of a solver returns."""

    def solve(self, target: Array) -> Solution:
        """The minimiser for this target."""


class BoxSolver(Protocol):
    """A least-squares solver: options, and `prepare`."""

    def prepare(self, problem: BoxProblem) -> PreparedSolver:
        """Prepares the problem, to be solved for many targets."""


def check_operator(operator: LinearOperator, *, seed: int = 0, tolerance: float = 1e-9) -> None:
    """Checks the laws of an operator: the adjoint, and that every method agrees with the dense form.

    Your own class needs only ``shape``, ``matmat``, ``rmatmat``, ``take`` and ``squared``.
    """
    rng = np.random.default_rng(seed)
    m, n = operator.shape
    dense = operator.to_dense()
    assert dense.shape == (m, n), f"to_dense has shape {dense.shape}, not {(m, n)}"
    u, v = rng.normal(size=n), rng.normal(size=m)
    _close(float(v @ (operator @ u)), float((operator.T @ v) @ u), "⟨A u, v⟩ = ⟨u, Aᵀ v⟩", tolerance)
    block, back = rng.normal(size=(n, 3)), rng.normal(size=(m, 3))
    before = np.vstack([block, back])
    image, back_image = operator.matmat(block), operator.rmatmat(back)
    assert np.array_equal(np.vstack([block, back]), before), "products change no argument"
    _close(image, dense @ block, "matmat equals the dense form", tolerance)
    _close(back_image, dense.T @ back, "rmatmat equals the dense form", tolerance)
    _close(operator.matmat(block[:, :0]), dense @ block[:, :0], "matmat of no columns", tolerance)
    _close(operator.rmatmat(back[:, :0]), dense.T @ back[:, :0], "rmatmat of no columns", tolerance)
    _close(operator.matvec(u), dense @ u, "matvec equals the dense form", tolerance)
    _close(operator.rmatvec(v), dense.T @ v, "rmatvec equals the dense form", tolerance)
    weights = rng.uniform(0.1, 2.0, size=m)
    exact = dense.astype(np.float64)
    for given, wanted in ((None, exact), (weights, exact * weights[:, None])):
        gram = operator.gram(given)
        assert gram.dtype == np.float64, f"gram is in double precision, not {gram.dtype}"
        _close(gram, exact.T @ wanted, "gram equals the dense form", tolerance)
    _close(operator.squared().to_dense(), dense**2, "squared equals the dense form", tolerance)
    _close(operator.to_sparse().toarray(), dense, "to_sparse equals the dense form", tolerance)
    columns = rng.permutation(n)[: max(1, n // 2)] if n else np.zeros(0, dtype=np.intp)
    _close(operator.take(columns).to_dense(), dense[:, columns], "take equals the dense form", tolerance)


def check_statistic(statistic: Statistic, people: Dataset | None = None, *, seed: int = 0) -> None:
    """Checks the laws of a statistic: its size, its equations on an exact release, and its sensitivity.

    By default it is checked on random people, with every kind of secret (bit, category, real number) that it
    accepts.

    Notes
    -----
    On an exact release, operator @ secret == target; people alike have equal columns; a suppressed value has
    no equation; counts of people are whole numbers; and replacing one person moves the values by at most the
    declared sensitivity.
    """
    assert isinstance(statistic, Statistic), f"a statistic extends Statistic; {type(statistic).__name__}"
    given = _random_people(seed) if people is None else [people]
    taken = [each for each in given if people is not None or _takes(statistic, each)]
    assert taken, "some kind of secret (bit, category, real number) is accepted"
    for each in taken:
        _check_equations(statistic, each, np.random.default_rng(seed))
        check_views(statistic, each, seed=seed)


def check_views(statistic: Statistic, people: Dataset, *, seed: int = 0) -> None:
    """Checks the laws of a statistic about some of the people, and for attackers with partial knowledge.

    Notes
    -----
    Releases about everybody and about some of the people are checked with views that lack columns, have
    coarser columns, cover only some of the people, include people who may not be in the release, or know some
    secrets. On an exact release, operator @ secret == target, and the true secret satisfies every certain
    bound. A release that cannot be used says why.
    """
    rng, public = np.random.default_rng(seed), people.public
    some, everybody = rng.random(people.n) < 0.7, np.arange(people.n)
    few, counted = (np.flatnonzero(rng.random(people.n) < 0.9) for _ in range(2))
    half = public.only(*public.names[: max(1, len(public.names) // 2)])
    coarse = public.coarser(**{column.name: _halves(column) for column in public.columns})
    told = rng.choice(people.n, people.n // 5, replace=False)
    views = [(public, everybody), (public.only(), everybody), (half, everybody), (public.take(few), few)]
    for mask in (None, some):
        if (release := _published(statistic, people, mask)) is not None:
            for view, rows in views:
                _check_view(release, view, people, rows, everybody, mask)
            _check_view(release, coarse, people, everybody, everybody, mask, told)
        if (release := _published(statistic, people, mask, counted)) is not None:
            for view, rows in views[2:]:
                _check_view(release, view, people, rows, counted, mask)


def _halves(column: Column) -> dict[str, str]:
    """Assigns the values of a column to two groups, or to one if there are fewer than three values."""
    known = column.labels[: column.levels - column.gaps]
    return {
        value: "low" if at < len(known) // 2 or len(known) < 3 else "high" for at, value in enumerate(known)
    }


def _published(
    statistic: Statistic, people: Dataset, mask: Bools | None, counted: IntArray | None = None
) -> Release | None:
    """The release about the counted people within a mask; None if it cannot be published."""
    try:
        if counted is None:
            return publish(people, statistic, where=mask)
        inside = None if mask is None else mask[counted]
        return publish(people.take(counted), statistic.take(counted, people.public), where=inside)
    except InvalidInput:
        return None


def _check_view(
    release: Release,
    view: Public,
    people: Dataset,
    rows: IntArray,
    counted: IntArray,
    mask: Bools | None,
    told: IntArray | None = None,
) -> None:
    """Checks the laws for an attacker who sees these rows, with a release about the counted people."""
    about = np.zeros(people.n, dtype=bool)
    about[counted] = True
    seen = release
    if mask is not None:
        about &= mask
        seen = replace(release, statistic=alone(release.statistic)).about(mask[rows])
    truth = people.take(rows)
    assert truth.secret is not None
    known = Knowledge(
        missing=int(about.sum() - about[rows].sum()),
        may_include=counted.size < people.n,
        secrets={} if told is None else {int(row): truth.secret[row].item() for row in told},
    )
    _check_certain(evidence_of([seen], view, known), truth)


def _check_certain(evidence: Evidence, people: Dataset) -> None:
    truth = _unknowns(people)
    _met(evidence.operator @ truth, evidence, "operator @ secret == target, as far as it is known")
    certain = evidence.certain
    image = certain.operator @ _of_groups(evidence, truth)
    assert (image >= certain.low - 1e-6).all(), "the true secret meets every certain lower bound"
    assert (image <= certain.high + 1e-6).all(), "the true secret meets every certain upper bound"
    assert evidence.skipped or len(evidence.rows) or evidence.parts[0].hidden, "an unusable release says why"


def _of_groups(evidence: Evidence, truth: Array) -> Array:
    """The sum of the unknowns over each group of people alike."""
    index = evidence.groups.index
    each = truth.reshape(evidence.values, -1)
    return np.concatenate([np.bincount(index, one, minlength=len(evidence.groups)) for one in each])


def _check_equations(statistic: Statistic, people: Dataset, rng: np.random.Generator) -> None:
    assert people.secret is not None, "the check needs people with a secret"
    release = publish(people, statistic)
    expected = release.statistic.size_for(people.public, people.levels)
    assert release.values.size == expected, "size is the number of published values"
    assert statistic.describe(), "describe says what is published"
    evidence = linearise(release, people.public)
    image = evidence.operator @ _unknowns(people)
    _met(image, evidence, "operator @ secret == target on an exact release")
    groups = evidence.groups
    whole = evidence.operator.to_dense().reshape(-1, evidence.values, people.n)
    _close(whole, whole[..., groups.first][..., groups.index], "people alike have equal columns", 0.0)
    if statistic.counts_people and people.levels:
        counts = release.values * statistic.units(people.public)
        _close(np.rint(counts), counts, "counts of people are whole numbers")
    values = release.values.copy()
    if evidence.target.size:
        values[rng.choice(evidence.parts[0].shown.index)] = np.nan  # one that has an equation
    fewer = linearise(replace(release, values=values), people.public)
    assert fewer.target.size <= evidence.target.size, "a suppressed value has no equation"
    if people.levels and evidence.target.size:
        assert fewer.target.size < evidence.target.size, "a suppressed value has no equation"
    _met(fewer.operator @ _unknowns(people), fewer, "equations without a suppressed value")
    _check_sensitivity(statistic, people, rng)


def _check_sensitivity(statistic: Statistic, people: Dataset, rng: np.random.Generator) -> None:
    known = statistic.sensitivity(people.public)
    if known is None or people.n < 3:
        return
    settled = statistic.settle(people.public)
    units = settled.units(people.public)
    for before, after in _neighbours(people, rng):
        try:
            moved = (settled.values(after) - settled.values(before)) * units
        except InvalidInput:  # it names individual people, or its bound is on smaller numbers
            return
        assert np.abs(moved).sum() <= known[0] * (1 + 1e-9), "values move by the L1 sensitivity at most"
        assert np.sqrt((moved**2).sum()) <= known[1] * (1 + 1e-9), "values move by the L2 sensitivity at most"


def _neighbours(people: Dataset, rng: np.random.Generator) -> Iterator[tuple[Dataset, Dataset]]:
    """People, and the same people with one replaced; real numbers grow from pair to pair."""
    assert people.secret is not None
    largest = float(np.abs(people.secret).max())
    for step in range(_NEIGHBOURS):
        one, other = rng.choice(people.n, 2, replace=False)
        index = np.arange(people.n)
        index[one] = other
        yield people, people.take(index)  # by a copy of somebody else
        if people.levels:
            continue
        low, high = people.secret.copy(), people.secret.copy()
        low[one], high[one] = -largest, largest
        scale = _GROWTH**step
        yield replace(people, secret=scale * low), replace(people, secret=scale * high)  # by the opposite


def check_protection(
    protection: Protection, *, statistic: Statistic | None = None, seed: int = 0, size: int = 200_000
) -> None:
    """Checks the laws of a protection: its errors are as it declares, whatever the secret.

    It is applied to releases about random people, with every kind of secret that it accepts. They publish the
    given statistic, or else tables of bits and categories and regressions of real numbers.

    Notes
    -----
    Checked on bare values, if it accepts them: missing values stay missing, only a protection that declares
    ``hides`` hides values, and the errors of `size` values stay within the bound and have the declared spread
    (within five standard errors of a sample standard deviation with kurtosis at most 9: a false alarm has
    probability below 1e-6). Checked on releases: one seed gives one release; a saved release keeps the law;
    at the true secret every equation holds within its bound, hidden values lie in their intervals, and the
    mean square of the errors over 40 draws, in units of the declared spread, is at most 2. An ``Unknown()``
    law declares nothing and passes.
    """
    assert isinstance(protection, Protection), f"a protection extends Protection; {type(protection).__name__}"
    _check_values(protection, np.random.default_rng(seed), size)
    tried = 0
    for people in _random_people(seed):
        chosen = statistic or (Marginals(3) if people.levels else Estimator("linear", 2))
        if _takes(chosen, people) and _takes(chosen, people, protection):
            _check_published(protection, chosen, people, seed)
            tried += 1
    assert tried, "some kind of secret (bit, category, real number) is accepted"


def _check_values(protection: Protection, rng: np.random.Generator, size: int) -> None:
    values = rng.uniform(0, 1000, size)
    try:
        out = protection.perturb(np.append(values, np.nan), rng)
        law = noise_of([protection])
    except InvalidInput:  # it needs people
        return
    assert np.isnan(out[-1]), "a missing value stays missing"
    error = out[:-1] - values
    assert protection.hides or not np.isnan(error).any(), "a protection that hides values declares it"
    if not law.known or protection.changes_people:
        return
    error = error[~np.isnan(error)]
    assert np.abs(error).max(initial=0.0) <= law.bound * (1 + 1e-12), "errors stay within the bound"
    slack = 5 * law.std * np.sqrt(8 / (4 * size))
    if np.isfinite(law.std) and error.size:
        assert float(error.std()) <= law.std + slack, "errors have the declared std"
    if isinstance(protection, Noise):
        assert abs(float(error.std()) - law.std) <= slack, "errors have the declared std"
        drawn = protection.sample(size, rng)
        assert abs(float(drawn.std()) - law.std) <= slack, "samples have the declared std"


def _check_published(protection: Protection, statistic: Statistic, people: Dataset, seed: int) -> None:
    release, again = (publish(people, statistic, protection, rng=seed) for _ in range(2))
    assert np.array_equal(release.values, again.values, equal_nan=True), "one seed gives one release"
    hides = any(step.hides for step in release.protections)
    assert hides or not np.isnan(release.values).any(), "a protection that hides values declares it"
    _check_saved(release)
    if not release.noise.known:
        return
    squares = []
    for draw in range(_DRAWS):
        drawn = publish(people, statistic, protection, rng=seed + draw)
        evidence, truth = linearise(drawn, people.public), _unknowns(people)
        for part in evidence.parts:
            error, rows = np.abs(part.operator @ truth - part.rows.target), part.rows
            assert (error <= rows.bound * (1 + 1e-9) + 1e-6).all(), "errors stay within the bound"
            error, std = error[~rows.unseen], rows.std[~rows.unseen]
            assert (error[std == 0] <= 1e-6).all(), "equations declared exact are exact"
            squares.append((error[std > 0] / std[std > 0]) ** 2)
    error = np.concatenate(squares)
    assert not error.size or float(error.mean()) <= 2, "errors have the declared spread"


def _check_saved(release: Release) -> None:
    with TemporaryDirectory() as folder:
        try:
            path = release.save(Path(folder) / "release.json")
        except InvalidInput:  # the statistic or the law is of a class that tellall does not know
            return
        law, loaded = release.noise, Release.load(path).noise
    kept = (law.std, law.bound, law.known) == (loaded.std, loaded.bound, loaded.known)
    assert kept, "a saved release keeps the law"


def _random_people(seed: int) -> list[Dataset]:
    """Random people with each kind of secret: a bit, a category, a real number."""
    rng = np.random.default_rng(seed)
    public = rng.integers(0, 2, (200, 6))
    secrets = (rng.permutation(np.arange(200) % 2), rng.permutation(np.arange(200) % 3), rng.normal(size=200))
    return [Dataset.from_arrays(public, secret) for secret in secrets]


def _takes(statistic: Statistic, people: Dataset, protection: Protection | None = None) -> bool:
    """Whether the statistic can be published about these people and has equations."""
    try:
        linearise(publish(people, statistic, protection, rng=0), people.public)
    except InvalidInput:
        return False
    return True


def _unknowns(people: Dataset) -> Array:
    """The secret as the equations count it: one unknown per person, or one per person and value."""
    assert people.secret is not None
    if people.levels <= 2:
        return np.asarray(people.secret, dtype=np.float64)
    values: Array = np.arange(people.levels)[:, None] == people.secret
    return values.astype(np.float64).ravel()


def check_solver(solver: BoxSolver, *, seed: int = 0, n: int = 40, m: int = 120) -> None:
    """Checks a least-squares solver: in the box, stationary, and prepared once for many targets.

    Your own solver needs ``prepare(problem)``; the object this returns needs ``solve(target)``.
    """
    from tellall.algebra.operators.base import Dense

    rng = np.random.default_rng(seed)
    matrix, size = rng.normal(size=(m, n)), rng.integers(1, 4, n).astype(float)
    weights, ridge = rng.uniform(0.5, 2.0, m), rng.uniform(0.2, 1.0, n)
    problem = BoxProblem(Dense(matrix), weights, ridge, size / 3, np.zeros(n), size)
    prepared = solver.prepare(problem)
    truth = rng.integers(0, size + 1)
    first, second = (matrix @ truth + noise * rng.normal(size=m) for noise in (1.0, 5.0))
    for target in (first, second, first):
        solution = prepared.solve(target)
        assert solution.status.settled, f"status is {solution.status}"
        x = np.asarray(solution.value)
        assert x.shape == (n,), f"the estimate has shape {x.shape}, not {(n,)}"
        assert (x >= 0).all(), "the estimate stays above the lower bound"
        assert (x <= size).all(), "the estimate stays below the upper bound"
        gradient = matrix.T @ (weights * (matrix @ x - target)) + ridge * (x - size / 3)
        step = gradient / (weights @ matrix**2 + ridge)
        _close(np.clip(x - step, 0, size), x, "a projected gradient step does not move the estimate", 1e-4)
    again = np.asarray(solver.prepare(problem).solve(first).value)
    _close(again, x, "an earlier target leaves no trace", 1e-4)


def _met(image: Array, evidence: Evidence, law: str) -> None:
    """Checks that the equations hold, within four times the further error they declare, if any."""
    doubtful = np.abs(image - evidence.target) <= _DOUBTS * evidence.std
    _close(np.where(doubtful, evidence.target, image), evidence.target, law)


def _close(got: Array | float, wanted: Array | float, law: str, tolerance: float = 1e-9) -> None:
    a, b = np.asarray(got, dtype=float), np.asarray(wanted, dtype=float)
    assert a.shape == b.shape, f"{law}: shapes {a.shape} and {b.shape}"
    worst = float(np.abs(a - b).max(initial=0.0)) / max(1.0, float(np.abs(b).max(initial=0.0)))
    assert worst <= tolerance, f"{law}: off by {worst:.3g}"
