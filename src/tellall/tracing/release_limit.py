"""How many means can be released before people can be traced, by simulation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellall.core.checks import above_zero, share, whole
from tellall.core.errors import invalid
from tellall.core.intervals import clopper_pearson
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.people.attributes.codings import CODINGS, AttributeCoding
from tellall.protections.keyed import CellKey
from tellall.protections.protection import Protection, Rng, apply, as_protections, as_rng
from tellall.protections.record_changes import Subsample
from tellall.protections.suppression import Suppression
from tellall.tracing.score_terms import Contribution, contribution_of
from tellall.tracing.trace import Tracing

__all__ = [
    "ReleaseLimit",
    "describe_limit",
    "release_limit",
    "simulate_tracing",
]

_ATTACKS = ("likelihood-ratio", "pool", "single", "homer")
_DRAWS = 2_000_000  # held at once
_TAIL = 0.025  # beyond either end of an interval
_FIRST = 256  # attributes in the first stage of a simulation
_BESIDE = 20_000  # most attributes simulated along with a tracing
_TRIALS, _MOST_TRIALS = 300, 10_000  # releases simulated with a tracing; a rate that needs more is skipped


@dataclass(frozen=True, eq=False)
class ReleaseLimit:
    """How the power of an attack grows with the number of means released.

    Attributes
    ----------
    attributes
        The most attributes on the grid at which the upper end of the power's interval stays within the
        limit; zero if even one is too many.
    counts, power, low, high
        The curve: numbers of attributes, the power at the false-positive rate, and its 95 % interval.
    searched
        Whether the limit was reached; if not, more attributes than were tried may be safe too.
    """

    attributes: int
    counts: IntArray
    power: Array
    low: Array
    high: Array
    searched: bool

    def __repr__(self) -> str:
        most = f"{self.attributes:,}" + ("" if self.searched else " or more")
        return f"ReleaseLimit: {most} attributes (up to {int(self.counts[-1]):,} tried)"


def release_limit(
    frequencies: npt.ArrayLike,
    n: int,
    *,
    protect: Protection | Sequence[Protection] | None = None,
    power: float = 0.05,
    rate: float = 0.01,
    reference: int | None = None,
    attack: str = "likelihood-ratio",
    alpha: float | None = None,
    coding: str = "bits",
    most: int = 100_000,
    trials: int = 4000,
    rng: Rng = None,
) -> ReleaseLimit:
    """Finds the most attributes that can be released while the attack's power stays within the limit.

    Parameters
    ----------
    frequencies
        The observed frequencies in [0, 1] of the attributes to be released, or of a sample of them.
    n
        How many people the means are over.
    protect
        The protections of each published frequency, on the scale from 0 to 1; a subsample of the people may
        come first. Protections made for counts are refused.
    power, rate
        The power allowed at this false-positive rate; power must be at least the rate.
    reference
        How many reference people the attacker has; 2n by default.
    attack
        "likelihood-ratio", "pool", "single" or "homer"; alpha truncates "pool".
    coding
        "bits", or "genotypes" for two alleles a person.
    most
        The largest number of attributes to try.
    trials
        How many releases are simulated; each has one member and one outsider.
    rng
        Seed.

    Notes
    -----
    Each trial draws attributes with replacement from the observed frequencies, and then n people and the
    reference people independently. The scores of a member and of an outsider are summed along the attributes,
    so one run gives the whole curve. Dependent attributes partly repeat each other, so tracing real people
    takes somewhat more attributes than this says. The threshold is the outsiders' quantile at `rate`; the
    intervals allow for the error of the threshold and of the members' share. With few trials the upper end of
    the interval passes the limit early, and the answer is far too cautious. The simulation stops once the
    power is surely too large. Time O(trials · attributes tried), memory two million draws.

    Examples
    --------
    >>> limit = release_limit([0.1, 0.3, 0.5], 100, power=0.5, most=3000, trials=400, rng=0)
    >>> 100 <= limit.attributes <= 1500
    True
    """
    observed, rule = _check(frequencies, n, power, rate, attack, coding, most, trials, alpha)
    pool = 2 * n if reference is None else reference
    whole("reference", pool)
    protections = as_protections(protect)
    _check_fits(protections)
    kept = n
    for protection in protections:
        kept = protection.left_of(kept)
    values = tuple(protection for protection in protections if not isinstance(protection, Subsample))
    contribution = contribution_of(attack, n=kept, ploidy=rule.ploidy, alpha=alpha)
    counts = np.unique(np.geomspace(1, most, 121).astype(np.int64))
    generator = as_rng(rng)
    # a member of the people is in a subsample with chance kept/n, in all attributes or in none
    taken = generator.random((trials, 1)) < kept / n
    running, scores = np.zeros((2, trials)), np.zeros((2, trials, counts.size))
    for first, last in _stages(most):
        here = np.flatnonzero((counts > first) & (counts <= last))
        width = max(1, _DRAWS // (last - first))
        for start in range(0, trials, width):
            rows = slice(start, min(start + width, trials))
            shape = (rows.stop - rows.start, last - first)
            adds = _simulate(observed, kept, pool, shape, contribution, rule, values, generator, taken[rows])
            for who in range(2):
                sums = np.cumsum(adds[who], axis=1) + running[who, rows, None]
                scores[who, rows, here[0] : here[-1] + 1] = sums[:, counts[here] - 1 - first]
                running[who, rows] = sums[:, -1]
        tried = here[-1] + 1
        found = _limit(scores[0, :, :tried], scores[1, :, :tried], counts[:tried], power, rate)
        if found.low[-1] > power:  # further attributes can only be too many
            break
    return found


def simulate_tracing(
    tracing: Tracing,
    means: Array,
    n: int | None,
    *,
    coding: str,
    alpha: float | None = None,
    power: float = 1.0,
    rate: float | None = None,
    trials: int = _TRIALS,
    rng: Rng = None,
) -> ReleaseLimit | None:
    """Simulates the power of a tracing's attack; None if n is unknown or the means are not frequencies.

    Mean allele counts are halved if the tracing read them as counts. At most 20,000 attributes are simulated,
    and no false-positive rate below 1 in 10,000. ``power`` and ``rate`` are those of `release_limit`;
    ``rate`` defaults to the tracing's own. ``trials`` is raised to what that rate needs.
    """
    wrong = tracing.delta if rate is None else rate
    shares = (means + 1) / 2 if coding == "signs" else means / 2 if tracing.alleles == "counts" else means
    within = bool(((shares >= 0) & (shares <= 1) | np.isnan(shares)).all())
    enough = max(trials, min(math.ceil(1 / max(wrong, 1e-300)), _MOST_TRIALS + 1))
    if n is None or tracing.attack == "gaussian" or not within or enough > _MOST_TRIALS:
        return None
    return release_limit(
        shares,
        n,
        power=power,
        rate=wrong,
        reference=tracing.reference_people,
        attack=tracing.attack,
        alpha=alpha,
        coding="genotypes" if coding == "genotypes" else "bits",
        most=min(tracing.attributes, _BESIDE),
        trials=enough,
        rng=rng,
    )


def describe_limit(found: ReleaseLimit, n: int, *, power: float, rate: float, trials: int) -> str:
    """Returns a sentence on how many means can be published."""
    asked = (
        f"with at most {100 * power:g} in 100 of the {n:,} people traced at {100 * rate:g} % false positives"
    )
    if not found.searched:
        return f"All {found.attributes:,} means tried can be published {asked}; more may be too."
    refused = int(np.flatnonzero(found.high > power)[0])
    few = ""
    if found.power[refused] <= power:  # refused for the upper end of its interval, not for the power itself
        few = f", with only {trials:,} simulated releases; more trials may allow more"
    if not found.attributes:
        return f"Not one mean can be published {asked}{few}."
    return (
        f"About {found.attributes:,} means can be published {asked}, by simulation with independent "
        f"attributes against this attack{few}."
    )


def _stages(most: int) -> Iterator[tuple[int, int]]:
    """Yields ranges of attributes, each as long as all before it."""
    first, last = 0, min(_FIRST, most)
    while first < most:
        yield first, last
        first, last = last, min(2 * last, most)


def _simulate(
    observed: Array,
    n: int,
    pool: int,
    shape: tuple[int, int],
    contribution: Contribution,
    coding: AttributeCoding,
    protections: tuple[Protection, ...],
    rng: np.random.Generator,
    taken: npt.NDArray[np.bool_],
) -> tuple[Array, Array]:
    """Returns what every attribute adds to a person's score (in the data if `taken`) and to an outsider's."""
    k = coding.ploidy
    p = rng.choice(observed, size=shape)
    member, outsider = rng.binomial(k, p), rng.binomial(k, p)
    one = member if taken.all() else np.where(taken, member, rng.binomial(k, p))
    frequency = (one + rng.binomial(k * (n - 1), p)) / (k * n)
    q = np.clip(2 * apply(protections, frequency, rng) - 1, -1, 1)
    w = 2 * rng.binomial(k * pool, p) / (k * pool) - 1
    shown, others = ~np.isnan(q), np.asarray(float(pool))
    q = np.where(shown, q, 0.0)
    return (
        np.where(shown, contribution.of(2 * member / k - 1, q, w, others), 0.0),
        np.where(shown, contribution.of(2 * outsider / k - 1, q, w, others), 0.0),
    )


def _limit(inside: Array, outside: Array, counts: IntArray, power: float, rate: float) -> ReleaseLimit:
    shares, low, high = _power(inside, outside, rate)
    above = np.flatnonzero(high > power)
    first = int(above[0]) if above.size else counts.size
    attributes = int(counts[first - 1]) if first else 0
    return ReleaseLimit(attributes, counts, shares, low, high, bool(above.size))


def _power(inside: Array, outside: Array, rate: float) -> tuple[Array, Array, Array]:
    """Returns the share of members above the outsiders' quantile, and its 95 % interval.

    Notes
    -----
    There are two errors. The members' share at the estimated threshold has Clopper–Pearson's interval. The
    threshold itself is uncertain: Binomial(t, rate) of t outsiders score above the true one, so it lies
    between two of their scores, and the members' shares at these two limit how far its error moves the power.
    The two errors are independent, so their distances from the estimate add by squares, each end for itself
    (Zou and Donner, 2008). The true power lay inside for 96 to 99 of 100 seeds at six sizes.
    """
    from scipy.special import bdtr

    trials, attributes = inside.shape
    order = np.sort(outside, axis=0)[::-1]
    hits = (inside > np.quantile(outside, 1 - rate, axis=0, method="higher")).sum(axis=0)
    chance = bdtr(np.arange(trials, dtype=np.float64), trials, rate)
    fewest, most = int((chance <= _TAIL).sum()), int((chance < 1 - _TAIL).sum())
    some = np.zeros(attributes) if fewest == 0 else (inside > order[fewest - 1]).mean(axis=0)
    many = np.ones(attributes) if most >= trials else (inside >= order[most]).mean(axis=0)
    least, largest = clopper_pearson(hits, trials, 2 * _TAIL)
    found = hits / trials
    low, high = found - np.hypot(found - least, found - some), found + np.hypot(largest - found, many - found)
    return found, np.maximum(low, 0.0), np.minimum(high, 1.0)


def _check_fits(protections: Sequence[Protection]) -> None:
    """Refuses protections made for counts: published frequencies are from 0 to 1."""
    rule = "one that fits frequencies from 0 to 1"
    for protection in protections:
        if isinstance(protection, CellKey):
            raise invalid("protect", f"{rule}; CellKey fits counts in tables", protection)
        if isinstance(protection, Suppression) and protection.below >= 1:
            advice = "Divide the limit by the number of people."
            raise invalid(
                "protect", f"{rule}; this hides every value under {protection.below:g}", protection, advice
            )


def _check(
    frequencies: npt.ArrayLike,
    n: int,
    power: float,
    rate: float,
    attack: str,
    coding: str,
    most: int,
    trials: int,
    alpha: float | None,
) -> tuple[Array, AttributeCoding]:
    try:
        if np.iscomplexobj(frequencies):  # its imaginary part would be lost
            raise TypeError
        observed = np.ma.filled(np.ma.asarray(frequencies, dtype=np.float64), np.nan).ravel()
    except (TypeError, ValueError):
        raise invalid("frequencies", "one or more numbers from 0 to 1", frequencies) from None
    observed = observed[~np.isnan(observed)]
    if observed.size == 0 or observed.min() < 0 or observed.max() > 1:
        seen = "none" if observed.size == 0 else f"{observed.min():g} to {observed.max():g}"
        raise invalid("frequencies", "one or more numbers from 0 to 1", seen)
    if coding not in ("bits", "genotypes"):
        raise invalid("coding", "'bits' or 'genotypes'", coding)
    if attack not in _ATTACKS:
        raise invalid("attack", f"one of {', '.join(_ATTACKS)}", attack)
    for name, value, least in (("n", n, 1), ("most", most, 1), ("trials", trials, 2)):
        whole(name, value, least)
    rate = share("rate", rate, zero=False, one=False)
    if trials * rate < 1:
        fewest = str(int(np.ceil(1 / rate))) if rate > 1e-9 else f"1/{rate:g}"
        raise invalid("trials", f"{fewest} or more, to see one false positive", trials)
    share("power", power, zero=False)
    if not rate <= power <= 1:
        raise invalid("power", f"from the false-positive rate ({rate:g}) to 1", power)
    if alpha is not None:
        above_zero("alpha", alpha, finite=False)
    return observed, CODINGS[coding]
