"""Attacks on many draws of one protection, solved together if only the values differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tellall.attack.prove.proof import EFFORT, Proof, prove
from tellall.attack.reconstruct.attack import Reconstruction, reconstruct_from
from tellall.attack.reconstruct.decoders import Decode, DecodedCounts, gaussian_chance
from tellall.attack.reconstruct.reals import Whitened, whiten
from tellall.attack.secret import Bit, Undecided, leave_undecided, members_of, rates_of_bits
from tellall.core.errors import TellallError
from tellall.evidence.evidence import Evidence, System
from tellall.evidence.linearise import linearise
from tellall.evidence.usable import count_scale
from tellall.linalg.operators.linear_operator import Array, LinearOperator
from tellall.linalg.posterior.model import CountPrior
from tellall.linalg.solvers.many_targets import ManySolutions, ManyTargets
from tellall.linalg.solvers.solution import Status
from tellall.people.dataset import Public
from tellall.release.release import Release

__all__ = [
    "MOST_UNKNOWNS",
    "SharedSystem",
    "common_evidence",
    "targets_of",
]

_SAME = 1e-9
_KEPT = 3  # decompositions: one for each prior
MOST_UNKNOWNS = 6000  # above, one eigendecomposition takes minutes and a gigabyte


class SharedSystem:
    """Least squares on many releases that differ in nothing but the noise in their values.

    Notes
    -----
    For noise that does not depend on the values the operator, the groups of people alike and the shape of the
    weights are the same in every draw and at every scale: one eigendecomposition, kept here, serves them all
    (`ManyTargets`). Whether that holds is read off the releases: the same operator (one product with a random
    vector), the same errors row by row, and targets that differ as the values do. The ordinary attack handles
    releases whose bounds settle somebody, or whose rows least squares rewrites, and solutions that do not
    settle. Only the equations are solved here: `reconstruct_from` ends every attack.
    """

    def __init__(self) -> None:
        self._ready: list[ManyTargets] = []
        self._whitened: Whitened | None = None

    def decompose(self, system: System) -> Whitened:
        """The decomposition of a real secret's equations, kept for others that are a multiple of these."""
        known = self._whitened
        if known is None:
            found = Whitened.of(system)
        elif known.operator is system.operator and known.spread is system.rows.spread:
            return known
        else:
            rows, size = whiten(system)
            factor = _multiple(known.rows, rows)
            if factor is None:
                found = Whitened.of(system)
            else:
                found = replace(
                    known,
                    operator=system.operator,
                    spread=system.rows.spread,
                    rows=rows,
                    size=size,
                    singular=factor * known.size / size * known.singular,
                )
        self._whitened = found
        return found

    def attack(
        self,
        releases: Sequence[Release],
        public: Public,
        proofs: dict[int, Proof] | None = None,
        effort: int = EFFORT,
        prior: Array | None = None,
    ) -> list[Reconstruction | None]:
        """The attack on each release; None if it must be made alone.

        ``prior`` is the chance of each person, if the attacker has one for each. ``proofs`` are those that
        are known, by the index of the release; new ones, found with this effort, are added.
        """
        known = {} if proofs is None else proofs
        alone: list[Reconstruction | None] = [None] * len(releases)
        each = common_evidence(releases, public)
        if each is None:
            return alone
        if not releases[0].levels:
            return [
                reconstruct_from(one, public, (release,), decompose=self.decompose)
                for one, release in zip(each, releases, strict=True)
            ]
        system = each[0].system
        if system.size.size > MOST_UNKNOWNS:
            return alone
        for index, one in enumerate(each):
            if index not in known:
                known[index] = prove(one, Bit(), effort, interruptible=False)
            each[index] = one.within(known[index].enclosure)
        open_ = [index for index, one in enumerate(each) if not (one.bounded or one.enclosure.empty)]
        open_ = [index for index in open_ if _is_least_squares_of_rows(each[index])]
        if not open_:
            return alone
        targets = np.stack([each[index].target for index in open_], axis=1)
        weight = float(np.mean(system.rows.spread)) ** -2
        own = None
        if prior is None:
            rates = rates_of_bits(system.operator, targets, system.rows.spread, system.size)
        else:
            members = members_of(each[0], prior[:, None])
            law = CountPrior(
                system.size, np.zeros(system.size.size), system.size, members.rate, members=members
            )
            own, rates = (law.mean, law.variance), np.full(len(open_), float(prior.mean()))
        ready = self._prepared(system, (np.mean(system.rows.spread) / system.rows.spread) ** 2, own)
        solutions = ready.solve(targets, weight, rates)
        for column, index in enumerate(open_):
            if solutions.settled[column]:
                alone[index] = reconstruct_from(
                    each[index],
                    public,
                    (releases[index],),
                    _decoder_of(solutions, column),
                    float(rates[column]) if prior is None else prior,
                    proof=known[index],
                )
        return alone

    def warm(self, releases: Sequence[Release], public: Public) -> None:
        """Prepares what attacks on these releases would share, if they can be made together."""
        each = common_evidence(releases, public)
        if each is None:
            return
        system = each[0].system
        if not releases[0].levels:
            self.decompose(system)
        elif system.size.size <= MOST_UNKNOWNS:
            self._prepared(system, (np.mean(system.rows.spread) / system.rows.spread) ** 2)

    def _prepared(
        self, system: System, row_weights: Array, own: tuple[Array, Array] | None = None
    ) -> ManyTargets:
        even = np.ptp(row_weights) <= _SAME * row_weights.mean()
        shape = np.full_like(row_weights, 1.0) if even else row_weights
        for known in self._ready:
            if (
                _same_operator(known.operator, system.operator)
                and np.array_equal(known.size, system.size)
                and np.allclose(known.row_weights, shape, rtol=_SAME, atol=0)
                and _same_prior(known.own, own)
            ):
                return known
        found = ManyTargets.of(system.operator, shape, system.size, own)
        self._ready = [*self._ready, found][-_KEPT:]
        return found


def _same_prior(one: tuple[Array, Array] | None, other: tuple[Array, Array] | None) -> bool:
    if one is None or other is None:
        return one is other
    return all(np.array_equal(here, there) for here, there in zip(one, other, strict=True))


def common_evidence(releases: Sequence[Release], public: Public) -> list[Evidence] | None:
    """The evidence of each release, if they differ in their values alone."""
    if len(releases) < 2 or releases[0].levels > 2:
        return None
    if any(p.changes_people or not p.law.known for p in releases[0].protections):
        return None
    if any(np.isnan(release.values).any() for release in releases):
        return None
    first, further = releases[0], replace(releases[0], values=_furthest(releases))
    try:
        here, there = linearise(first, public), linearise(further, public)
        if here.values != 1 or not here.target.size or here.parts[0].numbers is not None:
            return None
        if _only_targets_differ(here) and _only_targets_differ(there) and _same_but_values(here, there):
            end = targets_of([first, further], public, here)[:, 1]
            if np.allclose(end, there.target, rtol=_SAME, atol=_SAME * np.abs(end).max(initial=0.0)):
                return [here.at(target) for target in targets_of(releases, public, here).T]
        each = [here, *(linearise(release, public) for release in releases[1:])]
    except TellallError:  # the attack on that release alone says it
        return None
    return each if all(_same_but_values(here, one) for one in each[1:]) else None


def _furthest(releases: Sequence[Release]) -> Array:
    """Values as far from those of the first release as any release has them, all at once.

    A value that two draws share, as most are with rare errors, would not show that rows depend on it.
    """
    values = np.stack([release.values for release in releases])
    low, high = values.min(axis=0), values.max(axis=0)
    return np.asarray(np.where(high - values[0] >= values[0] - low, high, low))


def _same_operator(one: LinearOperator, other: LinearOperator) -> bool:
    """Whether two operators are equal, from their products with a random vector."""
    if one is other or one.shape != other.shape:
        return one is other
    vector = np.random.default_rng(0).normal(size=one.shape[1])
    return bool(np.array_equal(one @ vector, other @ vector))


def _same_but_values(first: Evidence, other: Evidence) -> bool:
    """Whether the equations are the same but for their targets, with the same errors."""
    return (
        np.array_equal(first.parts[0].shown.index, other.parts[0].shown.index)
        and np.array_equal(first.rows.bound, other.rows.bound)
        and np.array_equal(first.rows.slack, other.rows.slack)
        and np.allclose(first.rows.spread, other.rows.spread, rtol=_SAME, atol=0)
        and _same_operator(first.operator, other.operator)
    )


def _only_targets_differ(evidence: Evidence) -> bool:
    """Whether the values have no say beyond the equations: nothing is certain, odd, or a complete table."""
    part = evidence.parts[0]
    more = part.bounds.gaps or part.sums or part.tables or part.notes or part.skipped
    return not (part.bounds.limited.size or more)


def _is_least_squares_of_rows(evidence: Evidence) -> bool:
    """Whether the decoder solves the normal equations of the published rows, Aᵀ W A x = Aᵀ W z.

    Rounded counts of the same people that share an interval, and contrasts that lie far from others of their
    kind, give other equations.
    """
    given = leave_undecided(evidence, Bit(), np.array([0.5]))
    seen = given.contrasts
    if seen is given:
        return True
    vector = np.random.default_rng(0).normal(size=given.size.size)
    left, right = (_normal_equations(one, vector) for one in (given, seen))
    scale = np.abs(left).max(axis=0, initial=0.0)
    return bool((np.abs(left - right) <= _SAME * scale).all())


def _normal_equations(undecided: Undecided, vector: Array) -> Array:
    """Aᵀ W A v and Aᵀ W z, a column each."""
    operator, rows = undecided.operator, undecided.rows
    sides = np.stack([operator @ vector, rows.target], axis=1) / rows.spread[:, None] ** 2
    return np.asarray(operator.rmatmat(sides))


def _multiple(known: Array, rows: Array) -> float | None:
    """The factor between known equations and these; None if they are not multiples."""
    if known.shape != rows.shape or not known.size:
        return None
    largest = known.argmax()
    if not known.flat[largest]:
        return None
    factor = float(rows.flat[largest] / known.flat[largest])
    return factor if factor > 0 and np.allclose(rows, factor * known, rtol=_SAME, atol=0) else None


def targets_of(releases: Sequence[Release], public: Public, evidence: Evidence) -> Array:
    """The target of each release, a column each, from that of the first."""
    rows = evidence.parts[0].shown.index
    counts = np.stack([count_scale(release, public)[0][rows] for release in releases], axis=1)
    return np.asarray(evidence.target[:, None] + (counts - counts[:, :1]))


def _decoder_of(found: ManySolutions, column: int) -> Decode:
    """The decoder that knows its answer: one column of the solutions."""

    def decode(undecided: Undecided, rng: np.random.Generator) -> DecodedCounts:
        chance, own = gaussian_chance(undecided, found.mean[:, column], found.variance[:, column])
        value = found.value[:, column]
        return DecodedCounts(value, Status("solved"), "least-squares", chance=chance, members=own)

    return decode
