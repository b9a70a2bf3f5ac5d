"""Whether a posterior holds: its sure guesses compared with solutions at random."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.attack.reconstruct.decoders import DecodedCounts
from tellall.attack.secret import Undecided
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.linalg.posterior.sampling import SoftRows, sample_part
from tellall.linalg.solvers.solution import Component, Status, WholeSystem

__all__ = ["compare_with_samples"]

_SURE, _ODDS = 0.95, 3.0  # who is sure: by how much, and how many times the odds before any release
_FEWEST = 10  # sure people, from which on the posterior is compared
_ROOM = 0.01  # of the sure guesses, and one person more, may be wrong beyond what was said
_STARTS = 64  # points at which walks to a start begin
_MOST_TABLE = 5_000_000  # numbers of a table of weights
_WORK = (2e7, 1.5e8)  # numbers that the steps of all chains of a part may touch; the second where needed

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Samples:
    """Draws of all counts, start × draws × unknowns, and which counts they are about."""

    draws: Array
    drawn: Mask

    @property
    def mean(self) -> Array:
        """The mean count from each start."""
        return np.asarray(self.draws.mean(axis=1))


def compare_with_samples(
    found: DecodedCounts, undecided: Undecided, rng: np.random.Generator
) -> DecodedCounts:
    """Returns a trusted posterior as it is if sampled solutions bear it out, and otherwise as not trusted.

    Notes
    -----
    Only where all values are exact or bounded, and ten people or more are sure beyond what was likely before.
    Chains from two starts, one near the posterior's own guesses and one drawn from the prior, give each sure
    guess a chance (`sample_part`). If both starts expect about as many wrong guesses as the posterior says,
    it is trusted. Otherwise it is not: chains that agree with each other may have missed the same solutions,
    so their chances are not taken instead (tried: one of three such runs was worse than it said).
    """
    whole = undecided.whole
    if not found.status.settled or undecided.evidence is None or not np.isfinite(whole.rows.bound).all():
        return found
    sure = _Sure.of(found, undecided)
    if sure.people < _FEWEST:
        return found
    compared = found
    for work in _WORK:
        samples = _sample(found, undecided, sure.counts, work, rng)
        if float(sure.weight[~samples.drawn].sum()) >= _FEWEST:
            said = "sure guesses could not be compared with other secrets that fit; they may be too sure"
            return replace(found, status=Status("uncalibrated", said, ("not-sampled",)))
        compared, holds = _compare(found, undecided, sure, samples)
        if holds:
            break
    return compared


def _compare(
    found: DecodedCounts, undecided: Undecided, sure: _Sure, samples: _Samples
) -> tuple[DecodedCounts, bool]:
    """Returns the answer as these samples leave it, and whether they bear it out."""
    mean, some, size = samples.mean, samples.drawn, undecided.size
    weight = np.where(some, sure.weight, 0.0)
    wrong = [float(weight @ np.where(sure.yes, 1 - each / size, each / size)) for each in mean]
    said, room = float(weight @ sure.doubt), 1 + _ROOM * float(weight.sum())
    found = replace(found, stats={**found.stats, "said wrong": said, "sampled wrong": max(wrong)})
    if max(wrong) <= said + room:
        return found, True
    told = "other secrets that fit the values do not bear the sure guesses out; they may be too sure"
    return replace(found, status=Status("uncalibrated", told, ("not-sampled",))), False


@dataclass(frozen=True, eq=False)
class _Sure:
    """Of each count: how many people are sure, whether of yes, and how much their guesses doubt."""

    weight: Array
    yes: Mask
    doubt: Array

    @classmethod
    def of(cls, found: DecodedCounts, undecided: Undecided) -> _Sure:
        """Who is sure by the decoder's answer; people of one count by the mean of their chances."""
        chance, rate = found.chance, undecided.rate
        yes = chance >= 0.5
        sure, before = np.where(yes, chance, 1 - chance), np.where(yes, rate, 1 - rate)
        more = sure * (1 - before) >= _ODDS * before * (1 - sure)
        return cls(np.where((sure >= _SURE) & more, undecided.size, 0.0), yes, 1 - sure)

    @property
    def people(self) -> float:
        return float(self.weight.sum())

    @property
    def counts(self) -> Mask:
        return np.asarray(self.weight > 0)


def _sample(
    found: DecodedCounts, undecided: Undecided, asked: Mask, work: float, rng: np.random.Generator
) -> _Samples:
    """Returns draws of the parts that hold a count that is asked for."""
    assert undecided.evidence is not None
    certain, prior = undecided.evidence.certain, undecided.prior
    drawn = np.zeros(asked.size, dtype=bool)
    start = found.value + rng.random((_STARTS, asked.size)) - 0.5
    start[0] = found.value
    near, far = np.rint(start), np.stack([prior.sample(rng) for _ in range(_STARTS)])
    pieces: list[tuple[IntArray, Array]] = []
    if asked.size * (undecided.upper.max() + 1) <= _MOST_TABLE:
        table = prior.log_weights(undecided.secret.exclusive)
        box = undecided.evidence.enclosure
        system = WholeSystem.left_open(certain.operator, certain.low, certain.high, certain.gaps, box)
        for part in system.parts():
            at = part.columns
            if not asked[at].any():
                continue
            soft = _soft_rows(undecided, part)
            drawn_part = sample_part(part, table[at], near[:, at], far[:, at], soft, work, rng).draws
            if drawn_part is None:
                break  # one part that cannot be compared is enough
            pieces.append((at, drawn_part.astype(np.float64)))
            drawn[at] = True
    most = max((each.shape[1] for _, each in pieces), default=1)
    draws = np.tile(found.value, (2, most, 1))
    for at, each in pieces:
        draws[:, :, at] = each[:, np.resize(np.arange(each.shape[1]), most)]
    return _Samples(draws, drawn)


def _soft_rows(undecided: Undecided, part: Component) -> SoftRows | None:
    """Returns the rows of a part whose errors are not even within their bounds; None if there are none."""
    rows = undecided.whole.rows
    soft = np.flatnonzero((rows.bound > rows.slack * (1 + 1e-9)) & ~rows.unseen)
    if not soft.size:
        return None
    matrix: Any = undecided.whole.operator.to_sparse().tocsr()[soft][:, part.columns]
    about = np.flatnonzero(np.diff(matrix.indptr))
    if not about.size:
        return None
    return SoftRows(matrix[about].tocsr(), rows.target[soft][about], rows.rest[soft][about])
