"""The attribute attack: from releases and public columns to a guess at everybody's secret."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array
from tellall.algebra.operators.device import HOST, find_device
from tellall.algebra.solvers.base import Status
from tellall.algebra.solvers.least_squares import LeastSquares
from tellall.attack.reconstruct.decoders import DECODERS, Decoded, decode
from tellall.attack.reconstruct.doubts import (
    CONTRADICTION,
    Misfit,
    find_misfit,
    with_doubts,
    with_little_shown,
    with_misfits,
)
from tellall.attack.reconstruct.knowledge import check_bounds, check_prior
from tellall.attack.reconstruct.reals import RealReconstruction, reconstruct_reals
from tellall.attack.reconstruct.system import leave_undecided
from tellall.attack.secret import Secret
from tellall.core.errors import invalid
from tellall.people.dataset import Dataset, Public, as_public
from tellall.release.equations import Evidence
from tellall.release.linearise import linearise
from tellall.release.protections.law import Rng, as_rng
from tellall.release.protections.records import Swapping
from tellall.release.release import Release

__all__ = [
    "Reconstruction",
    "reconstruct",
]

_DECLARE = "declare the noise they have"


@dataclass(frozen=True, eq=False, repr=False)
class Reconstruction:
    """What an attacker concludes about each person, in file order.

    Attributes
    ----------
    estimate
        The decoder's own minimiser, in [0, 1] under the box; one column per value of a categorical secret.
    guess
        The bit, or the code of the category, guessed for each person.
    confidence
        The model's probability that the guess is right, in [0.5, 1] for bits.
    status
        How the decoder ended; anything but "solved" or "trusted" comes with advice.
    prior
        The rate of the secret that the attack assumed, or read off the release, among the people whose bit
        the bounds leave open; one per value of a categorical secret.
    """

    estimate: Array
    guess: npt.NDArray[np.integer[Any]]
    confidence: Array
    status: Status
    decoder: str
    prior: float | tuple[float, ...]
    evidence: Evidence
    public: Public
    releases: tuple[Release, ...]
    stats: dict[str, float] = field(default_factory=dict)
    _proved: tuple[Array, Array] | None = (
        None  # bounds on each unknown that the decoder added to the evidence's
    )

    @property
    def secret(self) -> Secret:
        """What kind of secret was attacked."""
        return Secret.of(self.releases[0].levels)

    @property
    def n(self) -> int:
        """How many people."""
        return self.guess.size

    @cached_property
    def identified(self) -> npt.NDArray[np.str_]:
        """ "proved", "linear" or "no" for each person, computed when first asked for.

        Notes
        -----
        "proved": the same bit in every 0/1 secret consistent with the evidence, by bound propagation (valid
        but not complete: some provable people are missed) or, by the exhaustive decoder, because all such
        secrets were listed. "linear": the person's unit vector lies in the row
        space of the operator. O(P³) for P groups of equal people; where P is beyond the Gram
        limit the row space is not computed and "linear" is not claimed.
        """
        evidence, groups = self.evidence, self.evidence.groups
        size, box = evidence.system.size, evidence.enclosure
        affordable = size.size <= LeastSquares().gram_limit
        fixed = evidence.determined & (size == 1) if affordable else np.zeros(size.size, dtype=bool)
        linear = fixed.reshape(evidence.values, -1).all(axis=0)
        lower, upper = (box.lower, box.upper) if self._proved is None else self._proved
        full, none = lower == size, upper == 0
        # of bits, none is as good as all; of several values one that everybody has settles the others
        settled = full | none if evidence.values == 1 else full
        proved = settled.reshape(evidence.values, -1).any(axis=0) & np.full(len(groups), not box.empty)
        return np.where(proved, "proved", np.where(linear, "linear", "no"))[groups.index]

    def __repr__(self) -> str:
        sure = int((self.confidence >= 0.95).sum())
        return (
            f"Reconstruction of {self.n} people from {self.evidence.target.size} equations "
            f"by {self.decoder}: {self.status}; {sure} guessed with confidence 0.95 or more"
        )


def reconstruct(
    releases: Release | Sequence[Release],
    public: Public | Dataset | npt.ArrayLike,
    decoder: str = "auto",
    prior: float | Sequence[float] | None = None,
    rng: Rng = None,
    *,
    bounds: tuple[float, float] | None = None,
    device: str = "cpu",
) -> Reconstruction | RealReconstruction:
    """The best guess at everybody's secret from one or several releases and the public columns.

    Parameters
    ----------
    releases
        One release, or several of any kinds to be solved together.
    public
        The attacker's view of the people.
    decoder
        "least-squares", "lp" (robust to gross errors), "posterior" (the strongest), "exhaustive" (every
        secret that fits, for few people), or "auto" to let tellall choose and say what it chose.
    prior
        The rate of the secret (of each of its values, where it has more than two), if the attacker knows
        it; estimated from the releases otherwise.
    rng
        For the simulated secrets on which confidences are checked, and the variance estimates of large
        problems. Without it a fixed seed: the same evidence gives the same answer.
    bounds
        The least and the largest value of a real secret, if the attacker knows them.
    device
        Where the equations of a bit or a category are solved: "cpu", "cuda", "cuda:1". Without such a device,
        or for equations that have no form there, the CPU, with a warning. The guesses are the same.

    Notes
    -----
    Real secrets are not rounded: see `reconstruct_reals`.

    Exact and rounded values bound counts, and bounds are propagated first: what they settle is proved. The
    rest goes to the decoder (see `decode` for the choice). Least squares works
    on groups of people whom no release tells apart, ridge at the prior, box
    at the bounds (linear-reconstruction, Theorem 2.1, with ridge and box added). The guess is the estimate
    rounded at 1/2. The confidence is the evidence's own Gaussian opinion of a group's count t (posterior
    divided by prior: mean r, variance τ) times a Binomial(c, π) prior within the bounds,
    P(t = j) ∝ C(c, j) π^j (1−π)^(c−j) exp(−(j − r)²/(2τ)), and P(s_i = 1) = E[t]/c; for a person alone in
    the group these are the log-odds logit(π) + (2r − 1)/(2τ). Where the box and this model disagree about a
    person, the confidence is 1/2.
    """
    if not isinstance(releases, Release | Iterable):
        raise invalid("releases", "a Release or a list of them", releases)
    chosen = (releases,) if isinstance(releases, Release) else tuple(releases)
    if not chosen or not all(isinstance(release, Release) for release in chosen):
        raise invalid("releases", "a Release or a list of them", releases)
    if not isinstance(decoder, str) or (decoder != "auto" and decoder not in DECODERS):
        raise invalid("decoder", f"one of 'auto', {', '.join(map(repr, DECODERS))}", decoder)
    view = as_public(public)
    levels = sorted({release.levels for release in chosen})
    if len(levels) > 1:
        raise invalid("releases", "about the same secret", f"secrets of {levels} values (0: real numbers)")
    if levels == [0]:
        evidence = Evidence.together([linearise(release, view) for release in chosen])
        if decoder not in ("auto", "least-squares") or prior is not None:
            raise invalid("decoder", "'least-squares' without a prior rate, for a real secret", decoder)
        found = reconstruct_reals(evidence, view, chosen, check_bounds(bounds))
        return replace(found, status=with_doubts(found.status, chosen, view, "least-squares"))
    if bounds is not None:
        raise invalid("bounds", "left out, since the secret is not a real number", bounds)
    chosen_device = find_device(device)
    with chosen_device.short_of_memory():
        evidence = Evidence.together([linearise(release, view, device=chosen_device) for release in chosen])
        moved = evidence if chosen_device is HOST else evidence.on(chosen_device)
        return reconstruct_codes(moved, view, chosen, decoder, prior, rng)


def reconstruct_codes(
    evidence: Evidence,
    view: Public,
    chosen: tuple[Release, ...],
    decoder: str = "auto",
    prior: float | Sequence[float] | None = None,
    rng: Rng = None,
) -> Reconstruction:
    """The best guess at everybody's bit or category from the evidence."""
    generator = as_rng(0 if rng is None else rng)
    decoded, rates = _decode(evidence, decoder, prior, generator)
    if decoded.stats["misfits"] and evidence.bounded:  # what follows from values that cannot be is no proof
        evidence, first = evidence.unbounded(), decoded
        decoded, rates = _decode(evidence, decoder, prior, generator)
        stats = {**decoded.stats, "misfits": first.stats["misfits"]}
        decoded = replace(decoded, status=first.status, stats=stats)
    chance = _through_swaps(decoded.chance, rates[evidence.system.value], chosen)
    estimate, guess, confidence = _people(evidence, replace(decoded, chance=chance))
    status = with_little_shown(decoded.status, evidence, chosen, rate_known=prior is not None)
    return Reconstruction(
        estimate=estimate,
        guess=guess,
        confidence=confidence,
        status=with_doubts(status, chosen, view, decoded.name),
        decoder=decoded.name,
        prior=float(rates[0]) if evidence.values == 1 else tuple(map(float, rates)),
        evidence=evidence,
        public=view,
        releases=chosen,
        stats=decoded.stats,
        _proved=_proved_bounds(evidence, decoded),
    )


def _proved_bounds(evidence: Evidence, decoded: Decoded) -> tuple[Array, Array] | None:
    if decoded.proved is None:
        return None
    box = evidence.enclosure
    lower, upper = (np.where(decoded.proved, np.rint(decoded.value), side) for side in (box.lower, box.upper))
    return lower, upper


def _people(evidence: Evidence, decoded: Decoded) -> tuple[Array, npt.NDArray[np.integer[Any]], Array]:
    """Each person's estimate, guess and the confidence in it."""
    index = evidence.groups.index
    share = decoded.value / evidence.system.size
    if evidence.values == 1:
        estimate, chance = share[index], decoded.chance[index]
        guess = (estimate >= 0.5).astype(np.int8)
        return estimate, guess, np.maximum(np.where(guess == 1, chance, 1 - chance), 0.5)
    shares, chances = (part.reshape(evidence.values, -1).T[index] for part in (share, decoded.chance))
    chances = chances / np.maximum(chances.sum(axis=1, keepdims=True), 1e-300)
    codes = shares.argmax(axis=1)
    sure = np.take_along_axis(chances, codes[:, None], axis=1)[:, 0]
    return shares, codes, np.maximum(sure, 1 / evidence.values)


def _decode(
    evidence: Evidence, decoder: str, prior: float | Sequence[float] | None, rng: np.random.Generator
) -> tuple[Decoded, Array]:
    """What the bounds and then the decoder conclude about every unknown, and the rates assumed."""
    given = None if prior is None else check_prior(prior, evidence.values)
    undecided = leave_undecided(evidence, given)
    size = evidence.system.size
    value = evidence.enclosure.lower.copy()
    chance = value / size
    if not undecided.places.size:
        held = value.reshape(evidence.values, -1).sum(axis=1)
        rates = held / evidence.n if given is None else given
        decided = Decoded(value, chance, Status("solved"), "bounds")
        return _with_contradictions(decided, evidence, find_misfit(decided, evidence)), rates
    found = decode(decoder, undecided, rng)
    value[undecided.places] = found.value
    chance[undecided.places] = found.chance
    proved = None
    if found.proved is not None:
        proved = np.zeros(size.size, dtype=bool)
        proved[undecided.places] = found.proved
    whole = replace(found, value=value, chance=chance, proved=proved)
    misfit = find_misfit(whole, evidence, undecided)
    return _with_contradictions(whole, evidence, misfit), undecided.rates


def _with_contradictions(decoded: Decoded, evidence: Evidence, misfit: Misfit) -> Decoded:
    """The decoder's answer, its status changed where no secret comes near the published values."""
    stats = {**decoded.stats, "misfit": misfit.excess, "misfits": float(misfit.values)}
    status = decoded.status
    if evidence.enclosure.empty and not misfit.values:
        status = Status("contradictory", f"no secret satisfies the published values; {_DECLARE}")
    elif misfit.excess > CONTRADICTION and decoded.name not in ("posterior", "exhaustive"):  # not minimisers
        missed = f"the best secret misses the values by {misfit.excess:.1f} times the declared noise"
        status = Status("contradictory", f"{missed}; {_DECLARE}")
    return replace(decoded, status=with_misfits(status, misfit.values, evidence.target.size), stats=stats)


def _through_swaps(chance: Array, rate: Array, releases: Sequence[Release]) -> Array:
    """The chance of one's own secret, where what the release tells is the secret held after swapping.

    Exact but for the rate: a swapped person holds somebody else's. Several releases, swapped each in its own
    way, are about different secrets; then the law of the error alone speaks.
    """
    if len(releases) == 1:
        for protection in releases[0].protections:
            if isinstance(protection, Swapping):
                chance = (1 - protection.fraction) * chance + protection.fraction * rate
    return chance
