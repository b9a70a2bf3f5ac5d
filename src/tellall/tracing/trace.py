"""Tracing: was this person in the data whose means were published?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.checks import above_zero, share
from tellall.core.errors import invalid
from tellall.core.shown import WithFigures
from tellall.linalg.operators.linear_operator import Array
from tellall.people.attributes.chunks import Chunked
from tellall.people.dataset import Dataset, Public
from tellall.protections.protection import Noise
from tellall.release.release import Release
from tellall.tracing.exchangeable import Exchangeability, compare_populations, refusal
from tellall.tracing.inputs import Input, read_input
from tellall.tracing.score_terms import contribution_of
from tellall.tracing.scores import conformal_scores, linear_scores
from tellall.tracing.thresholds import THRESHOLDS, conformal, discoveries, sound

__all__ = [
    "ATTACKS",
    "Tracing",
    "trace",
]

ATTACKS = ("single", "pool", "gaussian", "likelihood-ratio", "homer")
_CLASSICAL = ("likelihood-ratio", "homer")

People = Chunked | Dataset | Public | npt.ArrayLike


@dataclass(frozen=True, eq=False, repr=False)
class Tracing(WithFigures):
    """What the published means say about who was in the data.

    Attributes
    ----------
    scores
        One per target; a larger score is stronger evidence of having been in the data.
    threshold
        The score to exceed: one number, or one per target if the reference people are scored anew for each
        target (threshold "empirical" of an attack that uses the population's mean).
    p_values
        For each target, a bound on the chance that a person who was not in the data scores as high.
    member
        Which targets the attack names as having been in the data.
    attack, rule, delta
        The attack, the threshold, and the promised false-positive rate.
    attributes, reference_people
        How many attributes and reference people were used.
    notes
        One sentence for each thing that was dropped, clipped or noticed.
    reference_scores
        Every reference person's score, averaged over the targets; None if the threshold does not need them
        ("paper", "hoeffding").
    missing_calls
        The shares of the targets' and of the reference people's calls that are missing, among at most 10,000
        attributes spread over the whole list.
    without_calls
        How many targets have no call at all; the attack says nothing about them.
    reference_lacking
        How many reference people lack so many calls that they count as scoring no lower than some target.
    copies
        How many targets are also reference people, or have a twin there.
    alleles
        What means of genotypes were read as, "frequencies" or "counts"; None for other codings.
    exchangeability
        Whether reference people, means and targets can be of one population, which every promise rests on.
    """

    scores: Array
    threshold: float | Array
    p_values: Array
    member: npt.NDArray[np.bool_]
    attack: str
    rule: str
    delta: float
    attributes: int
    reference_people: int
    notes: tuple[str, ...] = ()
    reference_scores: Array | None = None
    missing_calls: tuple[float, float] = (0.0, 0.0)
    without_calls: int = 0
    reference_lacking: int = 0
    copies: int = 0
    alleles: str | None = None
    exchangeability: Exchangeability | None = None

    @property
    def traced(self) -> int:
        """How many targets the attack names."""
        return int(self.member.sum())

    def discoveries(self, rate: float | None = None) -> npt.NDArray[np.bool_]:
        """Returns which targets to name so that on average at most this share of the names is wrong.

        Notes
        -----
        Benjamini and Hochberg's step-up rule on the p-values; the average is over releases, and `rate`
        defaults to delta. Empirical p-values of targets who share reference people are positively dependent,
        and the rule allows that. This is proved for scores that use no population mean ("single",
        "gaussian"), not for the others.
        """
        return discoveries(self.p_values, self.delta if rate is None else rate)

    def __repr__(self) -> str:
        return (
            f"Tracing: {self.traced} of {self.scores.size} targets said to be in the data; "
            f"{self.attack}, threshold {self.rule}, delta {self.delta:g}, {self.attributes} attributes, "
            f"{self.reference_people} reference people"
        )


def trace(
    means: Release | npt.ArrayLike,
    targets: People,
    reference: People,
    *,
    attack: str = "single",
    delta: float = 0.05,
    alpha: float | None = None,
    sigma_max: float | None = None,
    threshold: str | None = None,
    coding: str = "signs",
    n: int | None = None,
    alleles: str | None = None,
    noise: Noise | None = None,
    anyway: bool = False,
) -> Tracing:
    """Scores the targets and says who was in the data, from published means and reference people.

    Parameters
    ----------
    means
        The published mean of every attribute (NaN where suppressed), or a release of :class:`Means`. If means
        and people have names (datasets, frames, a series with an index), they are matched by name, over the
        attributes that they all share; arrays are matched by position.
    targets
        The people to be traced, people × attributes, or one person.
    reference
        People of the same population who are known not to be in the data, people × attributes.
    attack
        "single" (Fig. 1), "pool" (Fig. 2), "gaussian" (Fig. 3), "likelihood-ratio" or "homer".
    delta
        The false-positive rate allowed per target.
    alpha
        The accuracy at which "pool" truncates; without it nothing is truncated and only the "empirical"
        threshold applies.
    sigma_max
        The largest standard deviation of an attribute, for the thresholds of "gaussian".
    threshold
        "paper" as printed, "hoeffding" with the smaller sound constant, or "empirical": conformal p-values.
        The default is "paper", but "empirical" for the classical tests, which have no other.
    coding
        "signs" for −1/+1 and means in [−1, 1]; "bits" for 0/1; "genotypes" for 0/1/2, with allele
        frequencies in [0, 1] or mean allele counts in [0, 2], see `alleles`.
    n
        How many people the means are over. "likelihood-ratio" uses it (by default, one over the smallest
        frequency above zero), and the means are compared with the reference people only if it is known.
    alleles
        For genotypes, what the means are: "frequencies" in [0, 1] or "counts" in [0, 2]; by default, judged
        by the reference people.
    noise
        The law of the error that was added to plain means, such as ``Gaussian(0.01)`` or ``Rounding(0.1)``; a
        release says so itself.
    anyway
        Whether to trace even if the reference people are of another population than the means or the targets.

    Notes
    -----
    Reference people who are not of the population of the means and the targets are refused: their mean
    differs from the published means, or from the targets' mean, more than two parts of the reference differ
    from each other. People of one population are refused in about 1 of 100 cases. With fewer than ten
    reference people, or fewer than ten targets and no `n`, this cannot be checked; it is then assumed, as the
    theorems do, and `exchangeability` and `notes` say so.

    With y a target and q the means in the ±1 coding:

    - single: ⟨y − z0, q⟩, z0 the first reference person. Paper √(8 d ln(1/δ)); hoeffding 2‖q‖√ln(1/δ), sound
      by Hoeffding's inequality, which gives the printed threshold the level δ² (E-RT-1). Prop. 2.
    - pool: ⟨y − z0, t⟩, t = clip(q − w, ±2α), w the mean of all reference people but the first. Paper
      4α√(d ln(1/δ)); hoeffding 2‖t‖√ln(1/δ). Prop. 18.
    - gaussian: ⟨y − z0, q⟩ for real attributes. Paper 2σ_max√(d ln(1/δ)); hoeffding 2σ_max‖q‖√ln(1/δ), whose
      exact level is at most δ/2. Prop. 29.
    - likelihood-ratio: Σ x ln(q̃/p̃) + (1 − x) ln((1 − q̃)/(1 − p̃)) on the 0/1 scale, half a person added to
      each side; homer: Σ |x − p̃| − |x − q|.

    "paper" and "hoeffding" hold for independent attributes only. Neighbouring positions of a genome are
    dependent, and both thresholds fail there. "empirical" holds for any dependence between attributes as long
    as the target and the reference people are exchangeable: p = (1 + reference scores ≥ target's)/(R + 1),
    where each of the R + 1 people is scored with the mean of all the others as the population's mean. It can
    name somebody at level δ only if δ(R + 1) ≥ 1. Under the first two thresholds a missing call adds nothing.
    Under "empirical", an attribute that a target lacks adds nothing to any of the R + 1 scores (for "single",
    it adds the reference people's mean). A reference person who lacks a call gets what the others add there
    on average, and the score is stretched to make up for the missing share of its spread. This is sound for
    calls missing at random, at rates that may differ between targets and reference people. Time
    O(targets · d), and O(targets · reference · d) for the empirical threshold of an attack with a population
    mean; memory one chunk of attributes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(-1, 1, 20_000)
    >>> people = np.where(rng.random((40, p.size)) < (1 + p) / 2, 1, -1)
    >>> members, others, reference = people[:10], people[10:20], people[20:]
    >>> tracing = trace(members.mean(axis=0), np.vstack([members, others]), reference, threshold="hoeffding")
    >>> tracing.member[:10].sum(), tracing.member[10:].sum()
    (np.int64(10), np.int64(0))
    """
    rule = _check(attack, threshold, delta, alpha, sigma_max)
    if alleles not in (None, "frequencies", "counts"):
        raise invalid("alleles", "'frequencies' or 'counts', or left out", alleles)
    given = read_input(
        means,
        targets.public if isinstance(targets, Dataset) else targets,
        reference.public if isinstance(reference, Dataset) else reference,
        coding="reals" if attack == "gaussian" else coding,
        n=n,
        clip=attack != "gaussian" or rule == "paper",
        alleles=alleles,
        noise=noise,
    )
    pool = given.reference.shape[0]
    if attack == "pool" and pool < 2:
        raise invalid("reference", "two people or more for attack='pool'", "one person")
    alike = compare_populations(given, anyway=anyway)
    if alike.status == "different" and not anyway:
        raise refusal(alike)
    if alike.status != "alike":
        given = replace(given, notes=(*given.notes, alike.sentence))
    common: dict[str, Any] = {
        "attack": attack,
        "rule": rule,
        "delta": delta,
        "attributes": given.q.size,
        "reference_people": pool,
        "missing_calls": (given.target_gaps.share, given.reference_gaps.share),
        "without_calls": int(given.target_gaps.nothing.sum()),
        "copies": given.copies,
        "alleles": given.alleles,
        "exchangeability": alike,
    }
    if rule == "empirical":
        return _empirical(given, alpha, common)
    scores, squares = linear_scores(given, alpha=alpha if attack == "pool" else None)
    limit, p_values = sound(
        scores, attack, rule, delta, d=given.q.size, squares=squares, alpha=alpha, sigma_max=sigma_max
    )
    return Tracing(scores, limit, p_values, scores > limit, notes=given.notes, **common)


def _empirical(given: Input, alpha: float | None, common: dict[str, Any]) -> Tracing:
    """Returns the tracing with conformal p-values; scores the targets in batches."""
    delta = common["delta"]
    people = given.targets.shape[0]
    pool = given.reference.shape[0]
    contribution = contribution_of(common["attack"], n=given.size(), ploidy=given.coding.ploidy, alpha=alpha)
    scores = np.zeros(people)
    limits = np.zeros(people)
    p_values = np.zeros(people)
    others, lack = np.zeros(pool), np.zeros(pool, dtype=bool)
    for who, own, beside, thin in conformal_scores(given, contribution):
        scores[who], (limits[who], p_values[who]) = own, conformal(own, beside, delta)
        others += beside.sum(axis=0) / people
        lack |= thin
    p_values[given.target_gaps.nothing] = 1.0
    notes, lacking = list(given.notes), int(lack.sum())
    if delta * (pool + 1) < 1:
        notes.append(_too_few(delta, pool))
    if lacking:
        notes.append(_says_little(lacking))
    return Tracing(
        scores,
        float(limits[0]) if (limits == limits[0]).all() else limits,
        p_values,
        p_values <= delta,
        notes=tuple(notes),
        reference_scores=others,
        reference_lacking=lacking,
        **common,
    )


def _says_little(people: int) -> str:
    lack = "1 reference person lacks" if people == 1 else f"{people} reference people lack"
    return (
        f"{lack} the calls for nine tenths or more of some target's score. Such people count as scoring "
        "no lower than that target; leave them out of the reference."
    )


def _too_few(delta: float, pool: int) -> str:
    least = str(math.ceil(1 / delta - 1e-9) - 1) if delta > 1e-9 else f"about 1/{delta:g}"
    people = "person" if pool == 1 else "people"
    return (
        f"With {pool} reference {people} the empirical threshold can name nobody at delta {delta:g}; "
        f"it takes {least} or more."
    )


def _check(
    attack: str, threshold: str | None, delta: float, alpha: float | None, sigma_max: float | None
) -> str:
    """Returns the threshold to use; refuses options that do not fit together."""
    if attack not in ATTACKS:
        raise invalid("attack", f"one of {', '.join(ATTACKS)}", attack)
    rule = ("empirical" if attack in _CLASSICAL else "paper") if threshold is None else threshold
    if rule not in THRESHOLDS:
        raise invalid("threshold", f"one of {', '.join(THRESHOLDS)}", rule)
    if attack in _CLASSICAL and rule != "empirical":
        raise invalid("threshold", f"'empirical' for attack='{attack}', which has no other", rule)
    share("delta", delta, zero=False, one=False)
    for name, value in (("alpha", alpha), ("sigma_max", sigma_max)):
        if value is not None:
            above_zero(name, value)
    if rule != "empirical":
        if attack == "pool" and alpha is None:
            raise invalid("alpha", "given for attack='pool' with this threshold", "None")
        if attack == "gaussian" and sigma_max is None:
            raise invalid("sigma_max", "given for attack='gaussian' with this threshold", "None")
    return rule
