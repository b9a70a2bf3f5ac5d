"""The attribute attack: from releases and public columns to a guess at everybody's secret."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tellall.attack.prove.jointly import prove_releases
from tellall.attack.prove.proof import EFFORT, Proof, prove
from tellall.attack.prove.proof_reasons import Premise, contradiction, reasons_for
from tellall.attack.reconstruct.decoders import (
    CONTRADICTION,
    DECODERS,
    Decode,
    Decoded,
    DecodedCounts,
    decode,
    find_misfit,
    linear_groups,
    misfitting_share,
    proved_groups,
    with_misfit,
)
from tellall.attack.reconstruct.reals import (
    NEEDS_PRIOR,
    NORMAL,
    Beforehand,
    DecodedReals,
    Decompose,
    Whitened,
    decode_reals,
)
from tellall.attack.reconstruct.robust import survival_of
from tellall.attack.reconstruct.sampled import compare_with_samples
from tellall.attack.secret import Code, Prior, Real, Secret, leave_undecided, members_of
from tellall.core.amounts import digits, percent
from tellall.core.checks import whole
from tellall.core.errors import invalid
from tellall.core.not_done import NotDone
from tellall.core.shown import InNotebook
from tellall.evidence.count_tables import name_cell
from tellall.evidence.evidence import Evidence
from tellall.evidence.hidden import threshold_of
from tellall.evidence.known_secrets import size_known_numbers
from tellall.evidence.linearise import as_view, evidence_of
from tellall.evidence.query import seen_by
from tellall.evidence.undo import not_possible_in_words
from tellall.evidence.usable import without_tiny_noise
from tellall.evidence.view import EVERYTHING, Knowledge
from tellall.linalg.operators.compose import Stack
from tellall.linalg.operators.linear_operator import HOST, Array, find_device
from tellall.linalg.solvers.certificate import Survival
from tellall.linalg.solvers.solution import Status
from tellall.people.dataset import Dataset, Public
from tellall.protections.protection import Rng, as_rng
from tellall.protections.record_changes import Swapping
from tellall.release.release import Release

if TYPE_CHECKING:
    from tellall.attack.prove.counting import Count
    from tellall.attack.prove.limits import NumberLimits

__all__ = [
    "Reconstruction",
    "reconstruct",
    "reconstruct_from",
    "reconstruct_releases",
]

_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Reconstruction(InNotebook):
    """What an attacker concludes about each person, in file order.

    Attributes
    ----------
    secret
        What kind of secret was attacked.
    estimate
        The decoder's own minimiser, in [0, 1] under the box; one column per value of a categorical secret.
        For a real number, the posterior mean, or the most probable value within the bounds if there are any
        (its `interval` says how far off that may be).
    guess
        The bit, the code of the category, or the number guessed for each person.
    status
        How the decoder ended; anything but "solved" or "trusted" comes with advice.
    prior
        The rate of the secret that the attack assumed, or read off the release, among the people whose bit
        the bounds leave open; one per value of a categorical secret; one per person where that was given. For
        real numbers, the mean and the
        standard deviation over people that were read off the releases.
    proof
        What is the same in every secret that fits, and how it was found.
    known
        What the attacker knew besides the public columns.
    """

    secret: Secret
    estimate: Array
    guess: npt.NDArray[Any]
    status: Status
    decoder: str
    prior: float | tuple[float, ...] | Array
    evidence: Evidence
    public: Public
    releases: tuple[Release, ...]
    _sure: Array
    proof: Proof
    stats: dict[str, float] = field(default_factory=dict)
    _decoded: Decoded | None = None
    known: Knowledge = EVERYTHING

    @property
    def n(self) -> int:
        """How many people there are."""
        return self.guess.size

    @property
    def rate(self) -> float | tuple[float, ...]:
        """The `prior`; where there was one for each person, its mean over people."""
        if not isinstance(self.prior, np.ndarray):
            return self.prior
        mean = self.prior.mean(axis=0)
        return float(mean) if mean.ndim == 0 else tuple(map(float, mean))

    @property
    def judged(self) -> _Mask:
        """Which people a score is about: those of the releases whose secret was not known before."""
        if not self.known.secrets:
            return self.evidence.covered
        judged = self.evidence.covered.copy()
        judged[list(self.known.secrets)] = False
        return judged

    @property
    def skipped(self) -> tuple[NotDone, ...]:
        """Parts of the releases that the attacker cannot use, and why."""
        return self.evidence.skipped

    @property
    def notes(self) -> tuple[str, ...]:
        """What is odd about the values, and how gaps in the attacker's knowledge were handled."""
        return (*self.evidence.notes, *((self.proof.note,) if self.proof.note else ()))

    @property
    def confidence(self) -> Array:
        """The model's probability that each guess is right, in [0.5, 1] for bits; numbers have `std`."""
        if isinstance(self.secret, Real):
            raise TypeError("a real number is guessed with a standard deviation; ask for std")
        return self._sure

    @property
    def std(self) -> Array:
        """How far off each real number is, as a standard deviation; bits and categories have `confidence`.

        Half the width of the rehearsed 95 % interval, without the bounds, divided by 1.96.
        """
        if not isinstance(self.secret, Real):
            raise TypeError("a bit or a category is guessed with a confidence; ask for confidence")
        return self._sure

    @property
    def interval(self) -> Array:
        """The 95 % interval of each real number, within the bounds if there are any: people × 2."""
        if not isinstance(self._decoded, DecodedReals):
            raise TypeError("a bit or a category is guessed with a confidence; ask for confidence")
        return np.stack([self._decoded.low, self._decoded.high], axis=1)

    @property
    def sized(self) -> bool:
        """Whether anything shows how large real numbers are; if not, their intervals mean nothing."""
        return not isinstance(self._decoded, DecodedReals) or self._decoded.sized

    @cached_property
    def limits(self) -> NumberLimits:
        """The least and the largest number that each person can have, whatever the others have."""
        from tellall.attack.prove.limits import find_limits

        if not isinstance(self._decoded, DecodedReals):
            raise TypeError("a bit or a category is proved or not; ask for identified")
        return find_limits(self.evidence, self._decoded.known.low, self._decoded.known.high)

    @cached_property
    def identified(self) -> npt.NDArray[np.str_]:
        """ "proved", "linear" or "no" for each person, computed when first asked for.

        Notes
        -----
        "proved": the same bit or category in every secret consistent with the evidence, by bound propagation,
        by the search that follows it (`prove`), or because all such secrets were listed. Complete if
        `undecided` is zero.
        "linear": the person's unit vector lies in the row space of the operator. O(P³) for P groups of equal
        people; if P is beyond the Gram limit, the row space is not computed and "linear" is not claimed.
        """
        linear = linear_groups(self.evidence)[self.evidence.groups.index]
        return np.where(self.proved, "proved", np.where(linear, "linear", "no"))

    @cached_property
    def proved(self) -> _Mask:
        """Which people are "proved", without the row space that `identified` computes: O(P) for P groups."""
        return proved_groups(self.evidence, self.secret, self._decoded)[self.evidence.groups.index]

    @property
    def undecided(self) -> int:
        """How many people the search for proofs left open when its effort was used up."""
        return 0 if self._listed else self.proof.undecided

    @property
    def loose(self) -> int:
        """How many of the `undecided` are where fewer values are published than there are unknowns.

        Many solutions are to be expected there. The others were left open where everybody could be settled.
        With ``proof_effort=0`` nobody was searched for, and all count as loose.
        """
        return 0 if self._listed else self.proof.loose

    @property
    def _listed(self) -> bool:
        """Whether every secret was listed."""
        return self._decoded is not None and self._decoded.proved is not None and self.status.settled

    @cached_property
    def survival(self) -> Survival | None:
        """How many wrong equations ℓ1 decoding survives, certified; None if that was not computed."""
        return survival_of(self.evidence) if self.secret.levels else None

    def reasons(self, person: int) -> tuple[Premise, ...]:
        """Returns published values that suffice to prove one person's secret; empty if it is not proved.

        None of them is superfluous. Also empty if it takes too many tries to find them. ``person`` is the row
        in the file of people, from zero.
        """
        if not -self.n <= person < self.n:
            raise invalid("person", f"a row from 0 to {self.n - 1}", person)
        if self.identified[person] != "proved":
            return ()
        return reasons_for(self.evidence, person, int(self.guess[person]))

    @cached_property
    def possible(self) -> Count | None:
        """How many secrets satisfy all that is certain; None for real numbers and very large problems."""
        from tellall.attack.prove.counting import count_secrets

        return count_secrets(self.evidence, self.proof, self.secret)

    @cached_property
    def contradiction(self) -> tuple[Premise, ...]:
        """Published values that cannot all be true, none of them superfluous; empty if none were found."""
        return contradiction(self.evidence)

    def __repr__(self) -> str:
        if isinstance(self.secret, Real):
            _, spread = self.prior if isinstance(self.prior, tuple) else (0.0, np.nan)
            known = f"known to within {digits(float(np.median(self.std)))} (median standard deviation, "
            found = f"{known}{digits(spread)} without the releases)"
        else:
            found = f"{int((self.confidence >= 0.95).sum())} guessed with confidence 0.95 or more"
        return (
            f"Reconstruction of {self.n} people from {self.evidence.target.size} equations "
            f"by {self.decoder}: {self.status}; {found}"
        )


def reconstruct(
    releases: Release | Sequence[Release],
    public: Public | Dataset | npt.ArrayLike,
    decoder: str = "auto",
    prior: Prior | None = None,
    rng: Rng = None,
    *,
    bounds: tuple[float | None, float | None] | None = None,
    device: str = "cpu",
    proof_effort: int = EFFORT,
    missing: int | None = None,
    may_include: bool = False,
    known_secrets: Mapping[int, Any] | None = None,
) -> Reconstruction:
    """Returns the best guess at everybody's secret, from one or several releases and the public columns.

    Parameters
    ----------
    releases
        One release, or several of any kinds to be solved together.
    public
        The attacker's view of the people: everybody whom the attacker knows, with the columns that are known
        (``people.public.only("age", "sex")``, ``.take(rows)``). Each release is about its own part of them.
        Tables are summed over columns that are not known; in small problems these columns are instead solved
        for together with the secret (``notes`` says which was done). What cannot be used is listed in
        ``skipped``, with the reason.
    decoder
        "least-squares", "lp" (robust to gross errors), "posterior" (the strongest), "exhaustive" (every
        secret that fits, for few people), "likeliest" (the one that fits best and is proved to, under noise
        too, for few people), or "auto" to let tellall choose and say what it chose. For real
        numbers, "least-squares".
    prior
        The rate of the secret, if the attacker knows it; otherwise it is estimated from the releases. One
        rate per value if the secret has more than two; for a real number, the mean and the standard deviation
        over people. Or one rate for each person (people × values; for a bit, people), if the attacker has
        reason to think that some are likelier than others to have the secret.
    rng
        For the simulated secrets on which confidences are checked, and the variance estimates of large
        problems. By default a fixed seed: the same evidence gives the same answer.
    bounds
        The least and the largest value of a real secret, if the attacker knows them; None for an unknown one:
        ``(0, None)`` if no number is negative.
    device
        Where the equations of a bit or a category are solved: "cpu", "cuda", "cuda:1". If there is no such
        device, or the equations cannot be moved to it, the CPU is used, with a warning. The guesses are the
        same.
    proof_effort
        The effort that the search for proofs may take after the bounds, in thousandths of CP-SAT's
        deterministic time; 0 for bounds alone. It is not a time on the clock, so that the same input gives
        the same proofs. ``undecided`` says how many people were left open when it was used up. Ctrl-C ends
        the search and keeps what is proved.
    missing
        How many people the releases count who are not in the view. Read off exact totals if there are any.
    may_include
        Whether the view holds people who may not be in the releases (a register against a sample).
    known_secrets
        Secrets that the attacker knows already: values by row. A score leaves these people out.

    Notes
    -----
    Real secrets are not rounded: see `decode_reals`. Exact and rounded values bound counts. Bounds are
    propagated first, then the search looks for counts that are the same in every secret that fits (`prove`):
    what these settle is proved. The rest goes to the decoder (see `decode` for the choice). Least squares
    works on groups of people whom no release tells apart, with the ridge at the prior and the box
    at the bounds (linear-reconstruction, Theorem 2.1, with ridge and box added). The guess is the estimate
    rounded at 1/2. The confidence multiplies the evidence's own Gaussian opinion of a group's count t
    (posterior divided by prior: mean r, variance τ) by a Binomial(c, π) prior within the bounds,

        P(t = j) ∝ C(c, j) π^j (1−π)^(c−j) exp(−(j − r)²/(2τ)),

    and P(s_i = 1) = E[t]/c; for a person alone in the group the log-odds are logit(π) + (2r − 1)/(2τ). If the
    box and this model disagree about a person, the confidence is 1/2.
    """
    if not isinstance(releases, Release | Iterable):
        raise invalid("releases", "a Release or a list of them", releases)
    chosen = (releases,) if isinstance(releases, Release) else tuple(releases)
    if not chosen or not all(isinstance(release, Release) for release in chosen):
        raise invalid("releases", "a Release or a list of them", releases)
    if not isinstance(decoder, str) or (decoder != "auto" and decoder not in DECODERS):
        raise invalid("decoder", f"one of 'auto', {', '.join(map(repr, DECODERS))}", decoder)
    view, effort = as_view(public, chosen), whole("proof_effort", proof_effort, 0)
    levels = sorted({release.levels for release in chosen})
    if len(levels) > 1:
        raise invalid("releases", "about the same secret", f"secrets of {levels} values (0: real numbers)")
    secret = Secret.of(levels[0])
    if prior is not None and isinstance(secret, Code):
        secret.check_prior(prior, view.n)
    known = EVERYTHING
    if missing is not None or may_include is not False or known_secrets:
        known = Knowledge(missing, may_include, known_secrets or {})
    return reconstruct_releases(
        chosen, view, decoder, prior, rng, bounds=bounds, device=device, effort=effort, known=known
    )


def reconstruct_releases(
    releases: tuple[Release, ...],
    public: Public,
    decoder: str = "auto",
    prior: Prior | None = None,
    rng: Rng = None,
    *,
    bounds: tuple[float | None, float | None] | None = None,
    device: str = "cpu",
    effort: int = EFFORT,
    decompose: Decompose = Whitened.of,
    proof: Proof | None = None,
    interruptible: bool = True,
    known: Knowledge = EVERYTHING,
) -> Reconstruction:
    """Returns what `reconstruct` gives for releases that have been checked; give ``proof`` if it is known.

    ``decompose`` is as in `reconstruct_from`. With ``interruptible``, Ctrl-C ends the search for proofs and
    nothing else.
    """
    levels = releases[0].levels
    where = find_device(device) if levels else HOST
    with where.short_of_memory():
        evidence = evidence_of(releases, public, known, where)
        if known.secrets and not levels:
            evidence = size_known_numbers(evidence)
        moved = evidence if where is HOST else evidence.on(where)
        if proof is None:
            asked = public.shape
            same = known.missing is None and not known.may_include and all(r.shape == asked for r in releases)
            if same and not evidence.leaves_open:
                proof = Proof(evidence.enclosure, np.zeros(len(evidence.groups), dtype=bool))
            elif same:
                proof = prove(evidence, Secret.of(levels), effort, interruptible=interruptible)
            else:
                proof = prove_releases(evidence, releases, public, known, effort, interruptible=interruptible)
        found = reconstruct_from(
            moved, public, releases, decoder, prior, rng, bounds=bounds, decompose=decompose, proof=proof
        )
        return found if known is EVERYTHING else replace(found, known=known)


def reconstruct_from(
    evidence: Evidence,
    public: Public,
    releases: tuple[Release, ...],
    decoder: str | Decode = "auto",
    prior: Prior | None = None,
    rng: Rng = None,
    *,
    bounds: tuple[float | None, float | None] | None = None,
    decompose: Decompose = Whitened.of,
    proof: Proof | None = None,
) -> Reconstruction:
    """Returns the best guess at everybody's secret from the evidence of these releases.

    Every attack ends here. Draws of one release can share what takes long: a ``decoder`` that knows their
    answers, or for a real secret the result of ``decompose``. Decoders can share the ``proof``.
    """
    secret = Secret.of(releases[0].levels)
    if proof is None:
        proof = prove(evidence, secret)
    evidence = evidence.within(proof.enclosure)
    if isinstance(secret, Code):
        if bounds is not None:
            raise invalid("bounds", "left out, since the secret is not a real number", bounds)
        rates = None if prior is None else secret.check_prior(prior, evidence.n)
        generator = as_rng(0 if rng is None else rng)
        evidence, counts, assumed = _decode_counts(evidence, secret, decoder, rates, generator)
        if not all(release.noise.known for release in releases):
            counts = replace(counts, proved=None)  # whatever the decoder says
        decoded: Decoded = counts
        usual = assumed if assumed.ndim == 2 else np.tile(assumed, (evidence.n, 1))
        sure = _through_swaps(_of_people(counts, evidence), usual, releases)
        # with a chance for each person, people of one count have different estimates
        share = sure if assumed.ndim == 2 else _by_person(counts.value / evidence.system.size, evidence)
        unknowns: Iterable[Array] = (share, sure)
    else:
        if decoder not in ("auto", "least-squares"):
            raise invalid("decoder", "'least-squares', for a real secret", decoder)
        beforehand = Beforehand.of(bounds, prior)
        numbers = decode_reals(evidence, public, beforehand, decompose)
        assumed = np.array([numbers.mean, numbers.spread])
        misfit = find_misfit(numbers, evidence)
        declared = tuple(part for part in evidence.parts if part.noise.known)
        if misfit.excess > CONTRADICTION and len(declared) < len(evidence.parts):
            # values of unknown law may have drawn the estimate away from the others
            alone = Evidence(declared)
            misfit = find_misfit(decode_reals(alone, public, beforehand), alone)
        decoded = with_misfit(numbers, misfit, len(evidence.rows))
        unknowns = (part[:, None] for part in (numbers.estimate, numbers.half / NORMAL))
    estimate, guess, sure = secret.conclude(*unknowns)
    plain = releases
    if all(release.shape == public.shape for release in releases):
        plain = tuple(without_tiny_noise(release, public) for release in releases)
    agreed = _with_rounding(decoded.status, releases, public)
    status = _warn_if_mostly_hidden(
        agreed, evidence, releases, rate_known=prior is not None or isinstance(secret, Real)
    )
    return Reconstruction(
        secret=secret,
        estimate=estimate,
        guess=guess,
        status=_with_doubts(status, plain, public, decoded.name),
        decoder=decoded.name,
        prior=_told_prior(assumed),
        evidence=evidence,
        public=public,
        releases=releases,
        _sure=sure,
        proof=proof,
        stats=decoded.stats,
        _decoded=decoded,
    )


def _decode_counts(
    evidence: Evidence, secret: Code, decoder: str | Decode, rates: Array | None, rng: np.random.Generator
) -> tuple[Evidence, DecodedCounts, Array]:
    """Returns the evidence used, what the decoder concludes about every count, and the rates assumed.

    If the values cannot all be true, some are treated as gross errors: bounds are no longer used, and each
    chance moves towards the assumed rate by the share of values about that group that misfit.
    """
    from scipy.special import expit, logit

    decoded, assumed = _decode_open(evidence, secret, decoder, rates, rng)
    if decoded.status.word != "contradictory" or evidence.contaminated:
        return evidence, decoded, assumed
    evidence, first = evidence.unbounded(), decoded
    decoded, assumed = _decode_open(evidence, secret, decoder, rates, rng)
    wrong = misfitting_share(evidence, decoded.value)
    rate, members = assumed[evidence.system.value] if assumed.ndim == 1 else decoded.chance, decoded.members
    if members is not None:
        whom = members_of(evidence, assumed)
        rate, share = whom.rate, wrong[whom.count]
        members = logit((1 - share) * expit(members) + share * whom.chance)
    chance = (1 - wrong) * decoded.chance + wrong * rate
    stats = {**decoded.stats, "misfits": first.stats["misfits"]}
    found = replace(decoded, chance=chance, status=first.status, stats=stats, members=members)
    return evidence, found, assumed


def _decode_open(
    evidence: Evidence, secret: Code, decoder: str | Decode, rates: Array | None, rng: np.random.Generator
) -> tuple[DecodedCounts, Array]:
    """Returns what the bounds and then the decoder conclude about every unknown, and the rates assumed.

    These are one for each value, or for each person, as they were given.
    """
    from scipy.special import logit

    own = rates if rates is not None and rates.ndim == 2 else None
    members = None if own is None else members_of(evidence, own)
    if own is not None:
        rates = own.mean(axis=0)
    undecided = leave_undecided(evidence, secret, rates, members)
    value = evidence.enclosure.lower.copy()
    chance = value / evidence.system.size
    told = None
    if members is not None:
        with np.errstate(divide="ignore"):
            told = logit(members.given(value))
    if undecided.index.size:
        found, assumed = decode(decoder, undecided, rng), undecided.rates
        if found.name == "posterior":
            found = compare_with_samples(found, undecided, rng)
        value[undecided.index], chance[undecided.index] = found.value, found.chance
        if members is not None and undecided.members is not None and told is not None:
            said = found.members
            if said is None:  # the decoder does not tell people of one count apart
                said = logit(undecided.members.moved(found.chance * undecided.size))
            told[members.inside(undecided.index)] = said
        proved = None
        if found.proved is not None:
            proved = np.zeros(value.size, dtype=bool)
            proved[undecided.index] = found.proved
        found = replace(found, value=value, chance=chance, proved=proved, members=told)
        misfit = find_misfit(found, evidence, undecided)
    else:
        held = value.reshape(evidence.values, -1).sum(axis=1)
        assumed = held / evidence.n if rates is None else rates
        found = DecodedCounts(value, Status("solved"), "bounds", chance=chance, members=told)
        misfit = find_misfit(found, evidence)
    done = with_misfit(found, misfit, len(evidence.rows), empty=evidence.enclosure.empty)
    if rates is None:
        done = replace(done, chance=_less_sure_of_others(done.chance, evidence))
    return done, assumed if own is None else own


def _less_sure_of_others(chance: Array, evidence: Evidence) -> Array:
    """Returns the chances, halfway to even ones for people about whom nothing is published.

    Their rate was read off the others. It may be another one: a survival curve shows those whose follow-up
    ended early, of whom more had the event.
    """
    squares = Stack([part.operator for part in evidence.parts]).squared()
    weight = squares.rmatvec(np.ones(squares.shape[0], dtype=squares.dtype))
    told = (np.asarray(weight).reshape(evidence.values, -1).max(axis=0) > 0)[evidence.groups.first]
    silent = np.tile(~told, evidence.values)
    even = 1 / max(2, evidence.values)
    return np.where(silent, (chance + even) / 2, chance)


def _by_person(unknowns: Array, evidence: Evidence) -> Array:
    """Returns what holds of each count, for its people: people × unknowns."""
    return np.asarray(unknowns.reshape(evidence.values, -1).T[evidence.groups.index])


def _of_people(counts: DecodedCounts, evidence: Evidence) -> Array:
    """Returns the chance of each person to be counted, people × unknowns."""
    from scipy.special import expit

    if counts.members is None:
        return _by_person(counts.chance, evidence)
    return np.asarray(expit(counts.members).reshape(evidence.values, -1).T)


def _told_prior(assumed: Array) -> float | tuple[float, ...] | Array:
    """Returns the prior as it is told: one rate, one per value, or one per person (and value)."""
    if assumed.ndim == 2:
        return assumed[:, 0] if assumed.shape[1] == 1 else assumed
    return float(assumed[0]) if assumed.size == 1 else tuple(map(float, assumed))


def _through_swaps(chance: Array, rate: Array, releases: Sequence[Release]) -> Array:
    """Returns the chance of each person's own secret, from the chance of the one they have after swapping.

    Exact except for the rate: a swapped person holds somebody else's secret. Several releases, each with its
    own swaps, are about different secrets; for those only the law of the error accounts for the swaps.
    """
    if len(releases) == 1:
        for protection in releases[0].protections:
            if isinstance(protection, Swapping):
                chance = (1 - protection.fraction) * chance + protection.fraction * rate
    return chance


# What makes confidences doubtful, whatever the decoder found.

_MINORITY = 0.45  # share of gross errors up to which they can be distinguished from right values
_MUCH = 0.5  # share of hidden values above which those shown say little about the rate of the secret


_Doubt = tuple[str, str]  # the code of a doubt, and what it says


def _with_rounding(status: Status, releases: Sequence[Release], public: Public) -> Status:
    """Returns the status, "contradictory" if the declared rounding cannot give some of the values."""
    for release in releases:
        said = not_possible_in_words(release.values, release.protections, partial(name_cell, release, public))
        if said:
            return Status("contradictory", f"{said}; look for a mistake, or declare what was done to them")
    return status


def _with_doubts(status: Status, releases: Sequence[Release], public: Public, decoder: str) -> Status:
    """Returns the status, "uncalibrated" if the model of the errors is known to be wrong."""
    if not status.settled:
        return status
    checks = (_unknown_law, _selection, _dependence, _gross_errors)
    doubts = [check(release, decoder) for check in checks for release in releases]
    for release in releases:
        seen = seen_by(release, public)
        roughly = "" if seen is None else seen.statistic.approximate(seen.part(public), release.noise.std)
        doubts.append(("linearised", roughly) if roughly else None)
    found = [doubt for doubt in doubts if doubt is not None]
    codes = tuple(dict.fromkeys(code for code, _ in found))
    return Status("uncalibrated", found[0][1], codes) if found else status


def _unknown_law(release: Release, decoder: str) -> _Doubt | None:
    """The law of the errors was not declared."""
    if release.noise.known:
        return None
    reason = "the law of a release's errors is unknown, so it proves nothing and confidence may be too high"
    return "unknown-law", f"{reason}; declare the law of the protection"


def _selection(release: Release, decoder: str) -> _Doubt | None:
    """Which values are shown depends on their noise, and the decoder ignores that."""
    hides = any(protection.hides for protection in release.protections)
    if not hides or release.noise.bound < np.inf or (decoder == "posterior" and _models_selection(release)):
        return None
    reason = "noise and suppression together select what is shown; confidence may be too high"
    return "selected-values", reason


def _models_selection(release: Release) -> bool:
    """Whether the intervals of hidden values hold all the information in which values are hidden."""
    threshold = threshold_of(release.protections, 1.0) if release.statistic.counts_people else None
    return threshold is not None and threshold.complete


def _dependence(release: Release, decoder: str) -> _Doubt | None:
    """The errors of different values depend on each other, which decoders ignore."""
    first = next((each for each in release.protections if each.doubt), None)
    return None if first is None else (first.doubt_code, f"{first.doubt}; confidence may be too high")


def _gross_errors(release: Release, decoder: str) -> _Doubt | None:
    """Gross errors are no minority, so nothing distinguishes them from the rest.

    If nearly all counts are complemented, they are turned round, and the others become the minority. This
    ignores how hidden values were selected.
    """
    law, turned = release.noise.turned()
    share = law.gross_share
    if share >= _MINORITY:
        reason = f"{percent(share)} of the values have gross errors, indistinguishable from the rest"
        return "gross-errors", f"{reason}; confidence may be too high"
    if turned and any(protection.hides for protection in release.protections):
        reason = "gross errors and suppression together select what is shown; confidence may be too high"
        return "selected-values", reason
    return None


def _warn_if_mostly_hidden(
    status: Status, evidence: Evidence, releases: Sequence[Release], *, rate_known: bool
) -> Status:
    """Returns the status, "uncalibrated" if too little is published about the secret or its rate.

    If nothing is known about hidden values, as after complementary suppression, the values shown are not a
    fair sample: a rate read off them is wrong if most values are hidden.
    """
    if not status.settled or any(part.hidden is not None for part in evidence.parts):
        return status
    if not len(evidence.rows):
        return Status("uncalibrated", "nothing is published about the secret", ("nothing-published",))
    hidden = float(np.isnan(np.concatenate([release.values for release in releases])).mean())
    if rate_known or hidden <= _MUCH:
        return status
    reason = f"{percent(hidden)} of the values are hidden and the rate comes from the others"
    return Status("uncalibrated", reason, ("mostly-hidden",), NEEDS_PRIOR)
