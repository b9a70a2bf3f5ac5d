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

from tellall.attack.reconstruct.attack import reconstruct
from tellall.core.errors import InvalidInput, TellallError
from tellall.evidence.evidence import Evidence
from tellall.evidence.linearise import evidence_of, linearise
from tellall.evidence.view import Knowledge
from tellall.linalg.operators.linear_operator import Array, Dense, IntArray, LinearOperator
from tellall.linalg.solvers.least_squares import BoxProblem
from tellall.linalg.solvers.solution import Solution
from tellall.people.codes import Column
from tellall.people.dataset import Dataset, Public
from tellall.protections.discrete import Finite
from tellall.protections.protection import (
    Noise,
    Protection,
    as_protections,
    carry_out,
    is_random,
    noise_of,
    prepare,
)
from tellall.protections.rounding import Rounding
from tellall.release.release import Computed, Release, publish
from tellall.statistics.estimators import Estimator
from tellall.statistics.marginals import Marginals
from tellall.statistics.statistic import Statistic, tables_of

Bools = npt.NDArray[np.bool_]

__all__ = ["check_operator", "check_protection", "check_solver", "check_statistic", "check_views"]

_DRAWS, _FEW_DRAWS = 40, 8
_NEIGHBOURS, _GROWTH = 20, 1.15  # pairs of neighbouring people; the numbers of the last are 14 times larger
_DOUBTS = 4.0  # an equation may be off by this many times the further error it declares
_TYPICAL = 2.0  # and by this many times on average
_ROWS = 30  # errors on which the declared gain is judged
_GROSS = 5.0  # an error of this many times the usual one is gross; at most one in 25 is without gross errors


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
    weights[::3] = 0.0
    exact = dense.astype(np.float64)
    for given, wanted in ((None, exact), (weights, exact * weights[:, None])):
        gram = operator.gram(given)
        assert gram.dtype == np.float64, f"gram is in double precision, not {gram.dtype}"
        _close(gram, exact.T @ wanted, "gram equals the dense form", tolerance)
    _close(operator.squared().to_dense(), dense**2, "squared equals the dense form", tolerance)
    _close(operator.to_sparse().toarray(), dense, "to_sparse equals the dense form", tolerance)
    columns = rng.permutation(n)[: max(1, n // 2)] if n else np.zeros(0, dtype=np.intp)
    for chosen, which in ((columns, ""), (np.concatenate([columns, columns[:1]]), " of repeated columns")):
        taken = operator.take(chosen).to_dense()
        _close(taken, dense[:, chosen], f"take{which} equals the dense form", tolerance)


def check_statistic(statistic: Statistic, people: Dataset | None = None, *, seed: int = 0) -> None:
    """Checks the laws of a statistic: its size, its equations on an exact release, and its sensitivity.

    By default it is checked on random people, with every kind of secret (bit, category, real number) that it
    accepts.

    Notes
    -----
    On an exact release, operator @ secret == target; people alike have equal columns; a suppressed value has
    no equation; counts of people are whole numbers; a cell of a table is about the people in the cell; and
    replacing one person moves the values by at most the declared sensitivity. On a noisy and on a rounded
    release, the errors of the rows are as ``gain`` and ``reach`` declare: the noise is ±1 with equal chances,
    and the mean square of 30 errors or more, in units of the declared spread, is at most 3 (a false alarm has
    probability below 1e-6).
    """
    assert isinstance(statistic, Statistic), f"a statistic extends Statistic; {type(statistic).__name__}"
    given = [*_random_people(seed), *_few_people(seed)] if people is None else [people]
    refused = ["" if people is not None else _refusal(statistic, each) for each in given]
    taken = [each for each, reason in zip(given, refused, strict=True) if not reason]
    assert taken, f"some kind of secret (bit, category, real number) is accepted; {refused[0]}"
    for each in taken:
        _check_equations(statistic, each, np.random.default_rng(seed))
        if not each.levels:
            _check_unit(statistic, each)
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
        seen = replace(release, where=None).about(mask[rows])
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
    _check_limits(evidence, people)
    assert evidence.skipped or len(evidence.rows) or evidence.parts[0].hidden, "an unusable release says why"


def _check_limits(evidence: Evidence, people: Dataset) -> None:
    """Checks that the true secret is possible: proofs rest on these limits alone."""
    certain = evidence.certain
    image = certain.operator @ _of_groups(evidence, _unknowns(people))
    assert (image >= certain.low - 1e-6).all(), "the true secret meets every certain lower bound"
    assert (image <= certain.high + 1e-6).all(), "the true secret meets every certain upper bound"
    for row, counts in certain.gaps:
        assert round(float(image[row])) not in counts, "the true secret is in no gap"
    if not people.levels:
        secret, known = np.asarray(people.secret), evidence.numbers
        room = 1e-6 * max(1.0, float(np.abs(secret).max(initial=0.0)))
        inside = (secret >= known.low - room) & (secret <= known.high + room)
        assert inside.all(), "everybody's number is within its limits"


def _of_groups(evidence: Evidence, truth: Array) -> Array:
    """The sum of the unknowns over each group of people alike."""
    index = evidence.groups.index
    each = truth.reshape(evidence.values, -1)
    return np.concatenate([np.bincount(index, one, minlength=len(evidence.groups)) for one in each])


def _check_equations(statistic: Statistic, people: Dataset, rng: np.random.Generator) -> None:
    assert people.secret is not None, "the check needs people with a secret"
    computed = Computed.of(statistic, people)
    release = computed.publish((), None)
    expected = release.statistic.size_for(people.public, people.levels)
    assert release.values.size == expected, "size is the number of published values"
    assert statistic.describe(), "describe says what is published"
    evidence = linearise(release, people.public)
    image = evidence.operator @ _unknowns(people)
    _met(image, evidence, "operator @ secret == target on an exact release")
    groups = evidence.groups
    whole = evidence.parts[0].source.to_dense().reshape(-1, evidence.values, people.n)
    _close(whole, whole[..., groups.first][..., groups.index], "people alike have equal columns", 0.0)
    _check_tables(release.statistic, people, whole)
    _check_informative(evidence, people)
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
    _check_gain(computed, rng)
    _check_sensitivity(statistic, people, rng)


def _check_unit(statistic: Statistic, people: Dataset) -> None:
    """Checks that values in another unit are those of people whose numbers are in that unit."""
    unit = 8.0
    small = statistic.in_unit(unit, statistic.values(people), exact=True)
    if small is not None and people.secret is not None:
        again = small[0].values(replace(people, secret=people.secret / unit))
        law = "in_unit gives the values of a secret in that unit"
        _close(np.isnan(small[1]), np.isnan(again), law)
        _close(np.nan_to_num(small[1]), np.nan_to_num(again), law)


def _check_tables(statistic: Statistic, people: Dataset, coefficients: Array) -> None:
    """Checks that the cells of its tables, if it has any, are about the people in them alone."""
    public, tables = people.public, tables_of(statistic, people.public, people.levels)
    if not len(tables):
        return
    sizes = [int(np.prod(shape)) for shape in tables.shapes]
    assert sum(sizes) == len(coefficients), "the tables hold every value"
    start = 0
    for columns, shape, size in zip(tables.columns, tables.shapes, sizes, strict=True):
        cell = np.zeros(people.n, dtype=np.intp)
        for column, levels in zip(columns, shape, strict=False):
            cell = cell * levels + public.codes[column]
        own = np.arange(size // shape[-1]).repeat(shape[-1])[:, None] == cell
        about = (coefficients[start : start + size] != 0).any(axis=1)
        assert not (about & ~own).any(), "a cell of a table is about the people in the cell"
        start += size


def _check_informative(evidence: Evidence, people: Dataset) -> None:
    """Checks that no row of an exact release is taken to be further off than any two secrets are apart."""
    span = max(1.0, float(np.ptp(np.asarray(people.secret)))) if not people.levels else 1.0
    reach = np.abs(evidence.operator.to_dense()).sum(axis=1) * span
    says = (evidence.rows.spread <= reach) | (reach == 0)
    assert says.all(), "the floor and the doubt of a row leave it something to say"


def _check_gain(computed: Computed, rng: np.random.Generator) -> None:
    """Checks the declared errors of rows on a rounded release and on noisy ones."""
    statistic, people = computed.statistic, computed.dataset
    unit = 1 / statistic.units(people.public)
    if not (statistic.counts_people and people.levels):  # small, since some rows hold to first order alone
        shown = computed.clean[~np.isnan(computed.clean)]
        unit = 1e-4 * (float(np.sqrt(np.mean(shown**2))) if shown.any() else 1.0)
    noise = Finite(((-unit, 0.5), (unit, 0.5)))
    _row_errors(computed.publish((Rounding(3 * unit),), None), people)
    squares = _row_errors(computed.publish((noise,), rng), people) ** 2
    for _ in range(-(-_ROWS // squares.size) - 1 if squares.size else 0):
        squares = np.append(squares, _row_errors(computed.publish((noise,), rng), people) ** 2)
    assert not squares.size or squares.mean() <= 3, "gain turns the spread of a value's error into its row's"


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
    Checked on the law: it scales, and its parts fit together. Checked on bare values, if it accepts them:
    missing values stay missing, exactly the values under a declared limit are hidden, and the errors of
    `size` values stay within the bound, have the declared spread (within five standard errors of a sample
    standard deviation with kurtosis at most 9) and, if random, the mean zero (within 5.5 standard errors).
    Checked on releases: one seed gives one release, and only a random protection gives another with another
    seed; a saved release keeps the law; at the true secret every equation holds within its bound and every
    count, shown or hidden, is possible. About 200 people, over 40 draws: the mean square of the errors, in
    units of the declared spread, is at most 2 and at least 1/4; no more errors are gross than declared; and
    unless ``doubt`` says otherwise, errors are independent: no direction has more than twice the largest
    variance of a matrix of independent ones. About few people, in tables with small and empty cells, each
    release is attacked: nobody is proved to have a secret they do not have, and the values contradict
    nothing. A false alarm has probability below 1e-6. An ``Unknown()`` law declares nothing and passes.
    """
    assert isinstance(protection, Protection), f"a protection extends Protection; {type(protection).__name__}"
    _check_values(protection, np.random.default_rng(seed), size)
    fit, tables, shares = Estimator("linear", 2), Marginals((2, 3)), Marginals(2, scale="fractions")
    refused = []
    for people in _random_people(seed):
        chosen = statistic or (Marginals(3) if people.levels else fit)
        refused.append(_refusal(chosen, people, protection))
        if not refused[-1]:
            _check_many(protection, chosen, people, seed)
    for people in _few_people(seed):
        own = ((tables, shares) if people.levels == 2 else (tables,)) if people.levels else (fit,)
        for chosen in own if statistic is None else (statistic,):
            refused.append(_refusal(chosen, people, protection))
            if not refused[-1]:
                _check_few(protection, chosen, people, seed)
    assert not all(refused), f"some kind of secret (bit, category, real number) is accepted; {refused[0]}"


def _check_law(law: Noise) -> None:
    """Checks that the numbers of a law fit together, and that it scales."""
    for name in ("std", "bound", "half_width"):
        assert getattr(law, name) >= 0, f"{name} is zero or more"
    for part in _parts(law):
        widest = min(part.bound, np.sqrt(3) * part.std) * (1 + 1e-9)  # of a uniform error with this spread
        assert part.half_width <= widest, "the interval that rounding leaves fits the std and the bound"
        rest = part.ordinary == part or part.gross_share < 1
        assert rest, "a law with gross errors says how many values they hit"
    for factor in (0.25, -3.0):
        scaled, size = law.scaled(factor), abs(factor)
        pairs = [(getattr(scaled, name), getattr(law, name)) for name in ("std", "bound", "half_width")]
        for got, wanted in [*pairs, (scaled.ordinary.std, law.ordinary.std)]:
            assert np.isclose(got, size * wanted, rtol=1e-6, atol=0), "a scaled law scales"
    if law.known and type(law).tail is not Noise.tail:
        _check_tail(law)


def _check_tail(law: Noise, size: int = 20_000) -> None:
    """Checks that errors are as rare as the law says: a false alarm has a probability below 1e-6."""
    drawn = np.abs(law.sample(size, np.random.default_rng(0)))
    for distance in np.unique(np.quantile(drawn, [0.5, 0.9, 0.99])):
        share = float((drawn >= distance).mean())
        room = 7 * np.sqrt(share * (1 - share) / size)
        assert law.tail(float(distance)) >= share - room, "errors are no more likely than tail says"


def _check_values(protection: Protection, rng: np.random.Generator, size: int) -> None:
    try:
        declared: object = protection.law
    except InvalidInput:  # it becomes another protection
        return
    assert isinstance(declared, Noise), "law is a property that returns a law, such as Unknown()"
    try:
        law = noise_of([protection])
        typical = law.std if np.isfinite(law.std) else 1.0
        values = rng.uniform(0, 1000 * max(1.0, typical), size)
        out = protection.perturb(np.append(values, np.nan), rng)
    except InvalidInput:  # it needs people
        return
    assert np.isnan(out[-1]), "a missing value stays missing"
    error = out[:-1] - values
    assert protection.hides or not np.isnan(error).any(), "a protection that hides values declares it"
    if not law.known or protection.changes_people:
        return
    if protection.limit is not None and law.bound == 0:
        near = protection.limit + np.array([-1.0, -1e-9, 0.0, 1e-9, 1.0])
        hidden = np.isnan(protection.perturb(near, rng))
        assert (hidden == (near < protection.limit)).all(), "exactly the values under the limit are hidden"
    error = error[~np.isnan(error)]
    assert np.abs(error).max(initial=0.0) <= law.bound * (1 + 1e-12), "errors stay within the bound"
    if not np.isfinite(law.std) or not error.size:
        return
    drawn = [protection.sample(size, rng)] if isinstance(protection, Noise) else []
    for name, sample in (("errors", error), *(("samples", one) for one in drawn)):
        slack = law.std / np.sqrt(sample.size)
        assert abs(float(sample.std()) - law.std) <= 5 * np.sqrt(2) * slack, f"{name} have the declared std"
        zero = abs(float(sample.mean())) <= 5.5 * slack or not protection.random
        assert zero, f"{name} have the mean zero"
    if law.half_width:  # a uniform error on that interval, and others
        others = sum(part.std**2 - part.half_width**2 / 3 for part in _parts(law))
        beyond = float(np.mean(np.maximum(np.abs(error) - law.half_width, 0.0) ** 2))
        slack = 5 * np.sqrt(8 / error.size) * law.std**2
        assert beyond <= others + slack, "errors beyond the interval that rounding leaves are as declared"


def _parts(law: Noise) -> tuple[Noise, ...]:
    return law.terms or (law,)


def _draw(protection: Protection, computed: Computed, seed: int, draws: int) -> list[Release]:
    """Releases to compare with the truth, after checks that need no truth; none if the law is unknown."""
    people, statistic = computed.dataset, computed.statistic
    prepared = prepare(as_protections(protection), statistic, people.public)
    ready = protection.prepare(statistic, people.public)
    if ready.leaves_counts(statistic, people.public):
        kept = carry_out((ready,), people, statistic, seed)
        assert np.allclose(kept, computed.clean, equal_nan=True), "what leaves counts changes no count"
    release, again, other = (computed.publish(prepared, rng) for rng in (seed, seed, seed + 1))
    assert release.values.shape == computed.clean.shape, "every value is published or missing"
    assert np.array_equal(release.values, again.values, equal_nan=True), "one seed gives one release"
    chance = is_random(prepared)
    same = np.array_equal(release.values, other.values, equal_nan=True)
    assert chance or same, "a protection that is not random publishes one release, whatever the seed"
    hides = any(step.hides for step in prepared)
    missing = np.isnan(release.values) & ~np.isnan(computed.clean)
    assert hides or not missing.any(), "a protection that hides values declares it"
    _check_saved(release)
    _check_law(release.noise)
    if not release.noise.known:
        return []
    more = [computed.publish(prepared, seed + draw) for draw in range(2, draws)] if chance else []
    return [release, other, *more] if chance else [release]


def _row_errors(release: Release, people: Dataset, *, gross: list[float] | None = None) -> Array:
    """The errors of shown rows at the true secret, in units of their spread; fails if one is impossible.

    ``gross`` collects how many times the usual error each error is.
    """
    evidence, truth, found = linearise(release, people.public), _unknowns(people), [np.zeros(0)]
    for part in evidence.parts:
        error, rows = np.asarray(part.rows.target - part.operator @ truth), part.rows
        assert (np.abs(error) <= rows.bound * (1 + 1e-9) + 1e-6).all(), "errors stay within the bound"
        seen = ~rows.unseen
        assert (np.abs(error[seen & (rows.std == 0)]) <= 1e-6).all(), "equations declared exact are exact"
        if gross is not None:
            gross += ((np.abs(error) - rows.slack) / rows.rest)[seen].tolist()
        some = seen & (rows.std > 0)
        found.append(error[some] / rows.std[some])
    _check_limits(evidence, people)
    return np.concatenate(found)


def _check_many(protection: Protection, statistic: Statistic, people: Dataset, seed: int) -> None:
    """Checks the sizes of errors, on tables without small cells."""
    computed = Computed.of(statistic, people)
    releases, gross = _draw(protection, computed, seed, _DRAWS), list[float]()
    if not releases:
        return
    law, steps = releases[0].noise, releases[0].protections
    error = np.concatenate([_row_errors(release, people, gross=gross) for release in releases])
    if error.size:
        assert float((error**2).mean()) <= _TYPICAL, "errors have the declared spread"
    if gross:
        turned = min(law.gross_share, 1 - law.gross_share) if law.gross_share < 1 else 1.0
        most = turned + 1 / _GROSS**2 + 2.5 / np.sqrt(len(gross))
        assert float((np.array(gross) > _GROSS).mean()) <= most, "no more errors are gross than declared"
    if not is_random(steps) or not error.size or law.half_width:
        return  # the errors of rounding depend on the values
    assert float((error**2).mean()) >= 1 / 4, "errors are not much smaller than declared"
    if any(step.doubt or step.changes_people for step in steps):
        return
    zero = law.varies or abs(float(error.mean())) <= 5.5 / np.sqrt(error.size)
    assert zero, "errors have the mean zero"
    _check_independent(np.array([release.values - computed.clean for release in releases]))


def _check_independent(errors: Array) -> None:
    """Checks that no direction has much more variance than independent errors have (draws × values).

    Notes
    -----
    The largest eigenvalue of the correlations of p independent errors in D draws is near (1 + √(p/D))²; that
    of one error shared by all values is p.
    """
    errors = errors[:, ~np.isnan(errors).any(axis=0)]
    errors = errors - errors.mean(axis=0)
    size = errors.std(axis=0)
    errors = errors[:, size > 0] / size[size > 0]
    draws, count = errors.shape
    largest = np.linalg.eigvalsh(errors @ errors.T / draws)[-1] if count else 0.0
    assert largest <= 2 * (1 + np.sqrt(count / draws)) ** 2, "errors of different values are independent"


def _check_few(protection: Protection, statistic: Statistic, people: Dataset, seed: int) -> None:
    """Checks what is certain, and attacks, on tables with small and empty cells."""
    releases = _draw(protection, Computed.of(statistic, people), seed, _FEW_DRAWS)
    for release in releases:
        _row_errors(release, people)
    if not releases:
        return
    found = reconstruct(releases[0], people.public, "least-squares", proof_effort=100, rng=0)
    assert found.status.word != "contradictory", f"published values do not contradict: {found.status}"
    if people.levels:
        right = found.guess[found.proved] == np.asarray(people.secret)[found.proved]
        assert right.all(), "nobody is proved to have a secret they do not have"


def _check_saved(release: Release) -> None:
    with TemporaryDirectory() as folder:
        try:
            path = release.save(Path(folder) / "release.json")
        except InvalidInput:  # the law is of a class that tellall does not know
            return
        law, loaded = release.noise, Release.load(path, own=[type(release.statistic)]).noise
    kept = (law.std, law.bound, law.known) == (loaded.std, loaded.bound, loaded.known)
    assert kept, "a saved release keeps the law"


def _random_people(seed: int) -> list[Dataset]:
    """Random people with each kind of secret: a bit, a category, a real number."""
    rng = np.random.default_rng(seed)
    public = rng.integers(0, 2, (200, 6))
    secrets = (rng.permutation(np.arange(200) % 2), rng.permutation(np.arange(200) % 3), rng.normal(size=200))
    return [Dataset.from_arrays(public, secret) for secret in secrets]


def _few_people(seed: int) -> list[Dataset]:
    """Few random people, whose tables have empty, small and large cells, with each kind of secret."""
    rng, n = np.random.default_rng(seed), 30
    shares = ((0.6, 0.3, 0.1), (0.8, 0.2), (0.2, 0.5, 0.3), (0.5, 0.5))
    public = np.stack([rng.permutation(_shared_out(n, share)) for share in shares], axis=1)
    secrets = (_shared_out(n, (0.7, 0.3)), _shared_out(n, (0.6, 0.3, 0.1)), rng.normal(size=n))
    return [Dataset.from_arrays(public, rng.permutation(secret)) for secret in secrets]


def _shared_out(n: int, shares: tuple[float, ...]) -> IntArray:
    """The codes of n people, these shares of whom have each value."""
    return np.searchsorted(np.cumsum(shares)[:-1], (np.arange(n) + 0.5) / n)


def _refusal(statistic: Statistic, people: Dataset, protection: Protection | None = None) -> str:
    """Why the statistic cannot be published about these people or has no equations; empty if it can."""
    try:
        linearise(publish(people, statistic, protection, rng=0), people.public)
    except InvalidInput as reason:
        return str(reason)
    return ""


def _unknowns(people: Dataset) -> Array:
    """The secret as the equations count it: one unknown per person, or one per person and value."""
    assert people.secret is not None
    if people.levels <= 2:
        return np.asarray(people.secret, dtype=np.float64)
    values: Array = np.arange(people.levels)[:, None] == people.secret
    return values.astype(np.float64).ravel()


def check_solver(solver: BoxSolver, *, seed: int = 0, n: int = 40, m: int = 120) -> None:
    """Checks a least-squares solver: in the box, stationary, and prepared once for many targets.

    Your own solver needs ``prepare(problem)``; the object this returns needs ``solve(target)``. A target with
    a missing number is hopeless: the solver refuses it with an error, or its status is not settled.
    """
    rng = np.random.default_rng(seed)
    matrix, room = rng.normal(size=(m, n)), rng.integers(1, 4, n).astype(float)
    weights, ridge = rng.uniform(0.5, 2.0, m), rng.uniform(0.2, 1.0, n)
    lower = rng.integers(0, 2, n).astype(float)
    upper, center = lower + room, lower + room / 3
    problem = BoxProblem(Dense(matrix), weights, ridge, center, lower, upper)
    prepared = solver.prepare(problem)
    truth = rng.integers(lower, upper + 1)
    first, second = (matrix @ truth + noise * rng.normal(size=m) for noise in (1.0, 5.0))
    for target in (first, second, first):
        solution = prepared.solve(target)
        assert solution.status.settled, f"status is {solution.status}"
        x = np.asarray(solution.value)
        assert x.shape == (n,), f"the estimate has shape {x.shape}, not {(n,)}"
        assert (x >= lower).all(), "the estimate stays above the lower bound"
        assert (x <= upper).all(), "the estimate stays below the upper bound"
        gradient = matrix.T @ (weights * (matrix @ x - target)) + ridge * (x - center)
        step = gradient / (weights @ matrix**2 + ridge)
        moved = np.clip(x - step, lower, upper)
        _close(moved, x, "a projected gradient step does not move the estimate", 1e-4)
    again = np.asarray(solver.prepare(problem).solve(first).value)
    _close(again, x, "an earlier target leaves no trace", 1e-4)
    try:
        hopeless = solver.prepare(problem).solve(np.where(np.arange(m) == m // 2, np.nan, first))
    except TellallError:
        return
    assert not hopeless.status.settled, "a hopeless problem is not called solved"


def _met(image: Array, evidence: Evidence, law: str) -> None:
    """Checks that the equations hold, within four times the further error they declare, if any.

    On average they hold within twice that error.
    """
    error, unsure = np.abs(image - evidence.target), evidence.std > 0
    if unsure.any():
        typical = float(np.mean((error[unsure] / evidence.std[unsure]) ** 2))
        assert typical <= _TYPICAL**2, f"{law}: off by {typical**0.5:.3g} times the declared doubt"
    doubtful = error <= _DOUBTS * evidence.std
    _close(np.where(doubtful, evidence.target, image), evidence.target, law)


def _close(got: Array | float, wanted: Array | float, law: str, tolerance: float = 1e-9) -> None:
    a, b = np.asarray(got, dtype=float), np.asarray(wanted, dtype=float)
    assert a.shape == b.shape, f"{law}: shapes {a.shape} and {b.shape}"
    worst = float(np.abs(a - b).max(initial=0.0)) / max(1.0, float(np.abs(b).max(initial=0.0)))
    assert worst <= tolerance, f"{law}: off by {worst:.3g}"
