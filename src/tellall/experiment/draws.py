"""Attacks on many draws of one protection, solved together if only the values differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.algebra.posterior.model import CountPrior
from tellall.algebra.solvers.base import Status
from tellall.algebra.solvers.many_targets import ManySolutions, ManyTargets
from tellall.attack.prove.proof import EFFORT, Proof, prove
from tellall.attack.reconstruct.attack import Reconstruction, reconstruct_from
from tellall.attack.reconstruct.reals import Whitened, whiten
from tellall.attack.secret import Bit, rates_of_bits
from tellall.people.dataset import Public
from tellall.release.equations import Evidence, System
from tellall.release.linearise import count_scale, linearise
from tellall.release.release import Release

__all__ = [
    "MOST_UNKNOWNS",
    "SharedSystem",
    "common_evidence",
    "targets_of",
]

_SAME = 1e-9
MOST_UNKNOWNS = 6000  # above, one eigendecomposition takes minutes and a gigabyte


class SharedSystem:
    """Least squares on many releases that differ in nothing but the noise in their values.

    Notes
    -----
    For noise that does not depend on the values the operator, the groups of people alike and the shape of the
    weights are the same in every draw and at every scale: one eigendecomposition, kept here, serves them all
    (`ManyTargets`). Whether that holds is read off the first two releases: the same operator (one product
    with a random vector), the same errors row by row, and targets that differ as the values do. The ordinary
    attack handles releases whose bounds settle somebody, and solutions that do not settle.
    """

    def __init__(self) -> None:
        self._ready: ManyTargets | None = None
        self._whitened: Whitened | None = None

    def decompose(self, system: System) -> Whitened:
        """The decomposition of a real secret's equations, kept for others that are a multiple of these."""
        known = self._whitened
        if known is None:
            found = Whitened.of(system)
        elif known.operator is system.operator and known.spread is system.rows.spread:
            return known
        else:
            rows = whiten(system)
            factor = _multiple(known.rows, rows)
            if factor is None:
                found = Whitened.of(system)
            else:
                found = replace(
                    known,
                    operator=system.operator,
                    spread=system.rows.spread,
                    rows=rows,
                    singular=factor * known.singular,
                )
        self._whitened = found
        return found

    def attack(
        self,
        releases: Sequence[Release],
        public: Public,
        proofs: dict[int, Proof] | None = None,
        effort: int = EFFORT,
    ) -> list[Reconstruction | None]:
        """The attack on each release; None if it must be made alone.

        ``proofs`` are those that are known, by the index of the release; new ones, found with this effort,
        are added.
        """
        known = {} if proofs is None else proofs
        alone: list[Reconstruction | None] = [None] * len(releases)
        evidence = common_evidence(releases, public)
        if evidence is None:
            return alone
        system, targets = evidence.system, targets_of(releases, public, evidence)
        if not releases[0].levels:
            return [
                reconstruct_from(evidence.at(target), public, (release,), decompose=self.decompose)
                for target, release in zip(targets.T, releases, strict=True)
            ]
        if system.size.size > MOST_UNKNOWNS:
            return alone
        # where errors have bounds, each release says for itself what they settle
        bounded = bool(np.isfinite(system.rows.bound).any())
        each = [linearise(release, public) if bounded else evidence for release in releases]
        for index, one in enumerate(each):
            if index not in known:
                known[index] = prove(one, Bit(), effort, interruptible=False)
            each[index] = one.within(known[index].enclosure)
        open_ = [index for index, one in enumerate(each) if not (one.bounded or one.enclosure.empty)]
        if not open_:
            return alone
        targets = targets[:, open_]
        weight = float(np.mean(system.rows.spread)) ** -2
        ready = self._prepared(system, (np.mean(system.rows.spread) / system.rows.spread) ** 2)
        rates = rates_of_bits(system.operator, targets, system.rows.spread, system.size)
        solutions = ready.solve(targets, weight, rates)
        for column, index in enumerate(open_):
            if solutions.settled[column]:
                alone[index] = _reconstruction(
                    each[index],
                    public,
                    releases[index],
                    solutions,
                    column,
                    float(rates[column]),
                    known[index],
                )
        return alone

    def warm(self, releases: Sequence[Release], public: Public) -> None:
        """Prepares what attacks on these releases would share, if they can be made together."""
        evidence = common_evidence(releases, public)
        if evidence is None:
            return
        if not releases[0].levels:
            self.decompose(evidence.system)
        elif evidence.system.size.size <= MOST_UNKNOWNS:
            spread = evidence.system.rows.spread
            self._prepared(evidence.system, (np.mean(spread) / spread) ** 2)

    def _prepared(self, system: System, row_weights: Array) -> ManyTargets:
        even = np.ptp(row_weights) <= _SAME * row_weights.mean()
        shape = np.full_like(row_weights, 1.0) if even else row_weights
        known = self._ready
        if (
            known is None
            or known.operator.shape != system.operator.shape
            or not np.allclose(known.row_weights, shape, rtol=_SAME, atol=0)
        ):
            known = self._ready = ManyTargets.of(system.operator, shape, system.size)
        return known


def common_evidence(releases: Sequence[Release], public: Public) -> Evidence | None:
    """The evidence of the first release, if the others differ from it in their values alone."""
    if len(releases) < 2 or releases[0].levels > 2:
        return None
    if any(p.changes_people or not p.law.known for p in releases[0].protections):
        return None
    if any(np.isnan(release.values).any() for release in releases):
        return None
    first, second = (linearise(release, public) for release in releases[:2])
    if first.values != 1 or first.target.size != second.target.size or not first.target.size:
        return None
    if first.parts[0].numbers is not None:  # what is certain differs with the values
        return None
    same_rows = (
        np.array_equal(first.rows.bound, second.rows.bound)
        and np.array_equal(first.rows.slack, second.rows.slack)
        and np.array_equal(first.parts[0].shown.index, second.parts[0].shown.index)
        and np.allclose(first.rows.spread, second.rows.spread, rtol=_SAME, atol=0)
    )
    vector = np.random.default_rng(0).normal(size=first.operator.shape[1])
    if not same_rows or not np.array_equal(first.operator @ vector, second.operator @ vector):
        return None
    moved = targets_of(releases[:2], public, first)[:, 1]
    return first if np.allclose(moved, second.target, rtol=_SAME, atol=_SAME) else None


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


def _reconstruction(
    evidence: Evidence,
    public: Public,
    release: Release,
    found: ManySolutions,
    column: int,
    rate: float,
    proof: Proof,
) -> Reconstruction:
    """What the decoder concludes from one column, as `reconstruct` would say it."""
    size, index = evidence.system.size, evidence.groups.index
    ridge = 1 / (size * rate * (1 - rate))
    variance = found.variance[:, column]
    precision = np.maximum(1 / variance - ridge, 1e-12 * ridge)
    opinion = (found.mean[:, column] / variance - ridge * size * rate) / precision
    chance = CountPrior(size, np.zeros(size.size), size, rate).chance(precision, opinion)
    share = found.value[:, column] / size
    unknowns = (part[index, None] for part in (share, np.clip(chance, 0, 1)))
    estimate, guess, sure = Bit().conclude(*unknowns)
    return Reconstruction(
        secret=Bit(),
        estimate=estimate,
        guess=guess,
        status=Status("solved"),
        decoder="least-squares",
        prior=rate,
        evidence=evidence,
        public=public,
        releases=(release,),
        _sure=sure,
        proof=Proof.of_bounds(evidence),
    )
