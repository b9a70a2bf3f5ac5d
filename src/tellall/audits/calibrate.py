"""calibrate: the least noise with which every attack stays within the limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from tellall.audits.families import Family, as_family, least_scale
from tellall.audits.kept_trials import OUTCOMES, Attempt, kept_trials
from tellall.audits.measures.counts import People
from tellall.audits.measures.revealing_cells import USUAL_RULES, CellRules
from tellall.audits.measures.utility import Coefficients, Utility
from tellall.audits.outcome import Outcome, Promised
from tellall.audits.plans.attacker import INSIDER, Attacker
from tellall.audits.sweep import Word, untried_decoders
from tellall.audits.trial import Planned, Setting, Trial, check_decoders, seed_of, strongest, untried
from tellall.audits.verdict import Limits, Verdict, judge, sensitive_codes
from tellall.core.amounts import amount, counted, digits, gain
from tellall.core.checks import above_zero, share, whole
from tellall.core.errors import NoAnswer, TooLittlePower, invalid
from tellall.core.records import IF_KNOWN, NOT_WRITTEN, UNKNOWN, Meaning, Record
from tellall.core.work import share_done
from tellall.evidence.query import Asked, Query, as_query
from tellall.people.dataset import Dataset
from tellall.protections.protection import Protection, Rng, noise_of, prepare
from tellall.statistics.where import describe

__all__ = ["NO_GUARANTEE", "Calibration", "Evaluation", "calibrate"]

NO_GUARANTEE = (
    "Noise that stops today's attacks is no guarantee against tomorrow's; "
    "only the (ε, δ) of differential privacy is one."
)
_FEWEST = 8  # evaluations that a search needs to bracket and to halve
_QUICKEST = ("least-squares", "auto", "posterior", "lp", "exhaustive")


@dataclass(frozen=True)
class Evaluation(Record):
    """One scale, measured: the strongest decoder, and the word of the verdict on all decoders.

    Once a decoder does not pass at a scale, no further one is tried there.
    """

    scale: Annotated[float, Meaning(least=0)]
    decoder: str
    accuracy: float
    advantage: float
    interval: tuple[float, float]
    learnt: People
    loss: Annotated[float, Meaning(least=0), UNKNOWN]
    verdict: Annotated[Word, Meaning("What an audit would say, over the decoders tried.")]
    decided: Annotated[str, Meaning("What decided, in a few words.")]
    codes: Annotated[tuple[str, ...], Meaning("Why it is no pass, by codes, the decisive one first.")] = ()

    @property
    def passed(self) -> bool:
        """Whether the verdict is a pass."""
        return self.verdict == "pass"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Calibration(Record):
    """The least noise of a family with which the verdict is a pass.

    ``protection`` is the protection, a list if the family gives several, None if nothing needs to be done;
    ``outcomes`` are what each decoder achieves there, and ``limits`` those of the verdict.
    """

    name: Annotated[str | None, Meaning("What a plan calls what is published."), IF_KNOWN] = None
    family: str
    scale: Annotated[float, Meaning("0: nothing needs to be done.", least=0)]
    done: Annotated[str, Meaning("What is done, in words.", key="protection")]
    max_advantage: Annotated[float, Meaning(above=0)]
    decoder: Annotated[str, Meaning("The strongest: the one with the largest advantage.")]
    accuracy: float
    baseline: str
    baseline_accuracy: float
    advantage: Annotated[float, Meaning("Of that decoder, as the verdict judges it.")]
    interval: Annotated[tuple[float, float], Meaning("95 %, over people and draws of the noise.")]
    exposed: Annotated[People, Meaning("The most people that any decoder exposes at confidence 0.95.")]
    learnt: Annotated[People, Meaning("People with a sensitive value, proved alone or exposed.")]
    loss: Annotated[float, Meaning("The mean absolute error of a published value there.", least=0)]
    utility: Annotated[Utility, Meaning("What the reader loses there.")]
    coefficients: Coefficients | None
    guarantee: Annotated[Promised | None, Meaning("The (ε, δ) that is promised; null: nothing.")]
    evaluations: Annotated[int, Meaning("How many scales were measured.", least=1)]
    history: Annotated[tuple[Evaluation, ...], Meaning("Each scale that was measured, in order.")]
    draws: Annotated[int, Meaning(least=1)]
    statistic: str
    people: Annotated[int, Meaning(unit="people", least=1)]
    units: Annotated[str, Meaning("What values, errors and noise are measured in.")]
    secret: str = "secret"
    real: bool = False
    seed: Annotated[int, Meaning(least=0)]
    warnings: Annotated[tuple[str, ...], Meaning("What to keep in mind.")] = (NO_GUARANTEE,)
    protection: Annotated[Protection | list[Protection] | None, NOT_WRITTEN] = None
    outcomes: Annotated[tuple[Outcome, ...], NOT_WRITTEN] = ()
    limits: Annotated[Limits | None, NOT_WRITTEN] = None

    @property
    def worst(self) -> Outcome:
        """What the strongest decoder achieves there."""
        return strongest(self.outcomes)

    @property
    def verdict(self) -> Verdict:
        """The verdict there, as an audit gives it: a pass."""
        return judge([(one.protection, one) for one in self.outcomes], self.limits or Limits(0.0))

    @property
    def low(self) -> float:
        """The lower end of the advantage's interval."""
        return self.interval[0]

    @property
    def high(self) -> float:
        """The upper end of the advantage's interval."""
        return self.interval[1]

    def __str__(self) -> str:
        low, high = (gain(end, self.real) for end in self.interval)
        gained = f"{amount(self.advantage, self.real, '+')} [{low}, {high}]"
        done = self.done if self.scale else "none is needed"
        by = f" by {self.decoder}" if len(self.outcomes) == 1 else ""
        unit = f", in the unit of {self.secret}" if self.real else ""
        promise = "no differential privacy is promised" if self.guarantee is None else self.guarantee.text
        draws = f"{self.worst.draws:,} {'draw' if self.worst.draws == 1 else 'draws'}"
        return "\n".join(
            [
                f"Least noise for an advantage of at most {amount(self.max_advantage, self.real)}{unit}{by}: "
                f"{done}",
                f"  advantage {gained} of {self.decoder}, over {draws}",
                f"  utility: {self.utility}{'' if self.coefficients is None else f'; {self.coefficients}'}",
                f"  guarantee: {promise}",
                f"  {self.evaluations} scales measured",
                *(f"  {sentence}" for sentence in self.warnings),
            ]
        )

    __repr__ = __str__


def calibrate(
    dataset: Dataset,
    statistic: Asked,
    family: object,
    max_advantage: float,
    *,
    exposed_limit: int | None = 0,
    sensitive: Sequence[str] | None = None,
    cells: CellRules = USUAL_RULES,
    draws: int = 50,
    tolerance: float = 0.05,
    evaluations: int = 15,
    start: float | None = None,
    decoders: Sequence[str] | None = None,
    promised_advantage: float | None = None,
    promised_tpr: float | None = None,
    attacker: Attacker = INSIDER,
    rng: Rng = 0,
    stream: int = 0,
    work: str | Path | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Calibration:
    """The least noise of a family with which the verdict is a pass.

    Parameters
    ----------
    dataset, statistic
        The people with their secret, and what would be published about them.
    family
        A class such as ``Gaussian`` (see `as_family`), its name, or a function from a scale to a protection.
    max_advantage
        The most that attacks may gain over the strongest baseline: a share of the people; for a real secret,
        mean absolute error in its own unit.
    exposed_limit, sensitive
        The most people with a sensitive value who may be proved alone or exposed, None not to count them; and
        the sensitive values, by default all but the most common one.
    draws
        Draws of the noise at each scale, the same random numbers at every scale.
    tolerance
        How much smaller, relatively, a scale that fails may be than the answer.
    evaluations
        The most scales measured.
    start
        The first scale; by default noise as large as half a person's norm in the equations.
    decoders
        Names of decoders; by default every affordable one.
    promised_advantage, promised_tpr
        The most that any attack there will ever be may achieve against one person, if the noise is also to
        promise that: as an advantage, and as a true-positive rate at a false-positive rate of 1 %. Scales
        that promise less are not measured.
    cells, attacker, rng, stream, work
        As for `sweep`; every finished scale is kept.
    progress
        Called with (scales measured, how many there will probably be) before each, and at the end.

    Notes
    -----
    A scale passes where the verdict on every decoder is a pass, as in an audit: the interval of the advantage
    ends at or below the limit, no more people are given away than allowed, and nothing is left for a person
    to decide. Once one decoder does not pass, slower ones are not tried. The search brackets on the log scale
    and bisects (`least_scale`). The answer itself has passed; that it is the least rests on more noise being
    safer, which holds for additive noise and roughly for rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from tellall.protections.additive import Gaussian
    >>> from tellall.statistics.marginals import Marginals
    >>> rng = np.random.default_rng(0)
    >>> people = Dataset.from_arrays(rng.integers(0, 2, (60, 8)), secret=np.arange(60) % 2)
    >>> found = calibrate(people, Marginals(3), Gaussian, 0.25, draws=10, decoders=["least-squares"])
    >>> found.interval[1] <= 0.25 and found.evaluations <= 15
    True
    """
    limit = above_zero("max_advantage", max_advantage)
    above_zero("tolerance", tolerance)
    whole("draws", draws, least=1)
    whole("stream", stream, least=0)
    whole("evaluations", evaluations, least=_FEWEST)
    kind, seed = as_family(family), seed_of(rng)
    setting = Setting(dataset, attacker=attacker, seed=seed, rules=cells)
    for name, most in (("promised_advantage", promised_advantage), ("promised_tpr", promised_tpr)):
        if most is not None:
            share(name, most, zero=False, one=False)
    if limit >= 1 and dataset.levels:
        raise invalid("max_advantage", "a share above 0 and below 1", max_advantage)
    if not isinstance(statistic, Asked):
        raise invalid("statistic", "a statistic such as Marginals(3)", statistic)
    query = as_query(statistic)
    tried = check_decoders(decoders, dataset.n, draws, dataset.levels)
    part = limit / _unit(setting, query)
    limits = Limits(part, exposed_limit, sensitive_codes(dataset, sensitive), kept=True)
    first = _start(setting, query, kind) if start is None else above_zero("start", start)
    seen: dict[float, tuple[Outcome, ...]] = {}
    history: list[Evaluation] = []
    made, tries = 0, 0  # attacks of this run, not those kept from an earlier one; scales still to come

    def expects(scales: int) -> None:
        nonlocal tries
        tries = scales
        if progress:
            progress(len(history), len(history) + tries)
            attacked(0)

    def attacked(attacks: int = 1) -> None:
        nonlocal made
        made += attacks
        if progress:  # a scale that fails does so after any of its attacks
            share_done(made / (made + tries * (1 + len(ways)) / 2))

    def passes(scale: float) -> bool:
        planned = Planned(
            f"{kind.name} at {scale:g}", query.statistic, kind.at(scale), stream, where=query.where
        )
        attempt = Attempt(Trial(setting, (planned,), draws, seed), tuple(tried), limits)
        if not _keeps(attempt.trial.promised, promised_advantage, promised_tpr):
            return False
        make = partial(_measure, attempt.trial, tried, limits, attacked)
        seen[scale] = OUTCOMES.answer(kept, attempt, make)
        history.append(_evaluation(scale, seen[scale], limits))
        return history[-1].passed

    # what all scales share is computed before the first is measured
    unprotected = Planned("", query.statistic, where=query.where)
    ways = Trial(setting, (unprotected,), 1, seed).ways(tried) if progress else ()
    with kept_trials(work, dataset) as kept:
        scale = least_scale(
            passes, first, most=kind.most, tolerance=tolerance, tries=evaluations, expects=expects
        )
    if progress:
        progress(len(history), len(history))
    if scale is None:
        raise _hopeless(history, limit, kind, dataset.n)
    chosen, known = kind.at(scale), setting.exact(query)
    left_out = untried(tried, dataset.levels) if decoders is None else ()
    worst = strongest(seen[scale])
    advantage, low, high = worst.judged
    assert worst.loss is not None
    promised = worst.promised
    return Calibration(
        family=kind.name,
        scale=scale,
        done=worst.protection,
        max_advantage=limit,
        decoder=worst.asked,
        accuracy=worst.accuracy,
        baseline=worst.baseline,
        baseline_accuracy=worst.baselines[worst.baseline],
        advantage=advantage,
        interval=(low, high),
        exposed=max(outcome.exposed_people for outcome in seen[scale]),
        learnt=next(one for one in history if one.scale == scale).learnt,
        loss=worst.loss.error,
        utility=worst.loss.utility,
        coefficients=worst.loss.coefficients,
        guarantee=None if promised is None or promised.epsilon is None else promised,
        evaluations=len(history),
        history=tuple(history),
        draws=draws,
        statistic=describe(known.statistic, known.where),
        people=dataset.n,
        units=setting.units(known.statistic),
        secret=dataset.secret_name,
        real=not dataset.levels,
        seed=seed,
        warnings=(
            NO_GUARANTEE,
            *_too_fine(history, limit, dataset.n, not dataset.levels),
            *_doubts(seen[scale]),
            *untried_decoders(left_out, dataset.n),
        ),
        protection=chosen[0] if len(chosen) == 1 else list(chosen) or None,
        outcomes=seen[scale],
        limits=limits,
    )


def _measure(
    trial: Trial, decoders: Sequence[str], limits: Limits, attacked: Callable[[], object]
) -> tuple[Outcome, ...]:
    """What each attack achieves, the quickest first, and none after one that does not pass."""
    found: dict[str, Outcome] = {}
    ways = trial.ways(decoders)
    for way in sorted(ways, key=_rank):
        found[way] = trial.run(way, tried=len(ways))
        attacked()
        if judge([(outcome.protection, outcome) for outcome in found.values()], limits).word != "pass":
            break
    return tuple(found[way] for way in ways if way in found)


def _rank(attack: str) -> int:
    decoder = attack.partition(", ")[0]
    return _QUICKEST.index(decoder) if decoder in _QUICKEST else len(_QUICKEST)


def _keeps(promised: Promised, advantage: float | None, tpr: float | None) -> bool:
    """Whether a promise limits every attack as asked; nothing asked is always kept."""
    if advantage is not None and (promised.advantage is None or promised.advantage > advantage):
        return False
    return tpr is None or (promised.tpr is not None and promised.tpr <= tpr)


def _unit(setting: Setting, query: Query) -> float:
    """What the limits of verdicts are a share of: everybody, or the strongest baseline's error."""
    if setting.secret.levels:
        return 1.0
    truth = setting.truth[setting.stand.rows[setting.judged([query])]]
    known = setting.baselines([query])
    least = min(float(setting.secret.error(one.guess, truth).mean()) for one in known)
    return least or math.inf


def _evaluation(scale: float, outcomes: Sequence[Outcome], limits: Limits) -> Evaluation:
    worst, verdict = strongest(outcomes), judge([(one.protection, one) for one in outcomes], limits)
    advantage, low, high = worst.judged
    return Evaluation(
        scale,
        worst.asked,
        worst.accuracy,
        advantage,
        (low, high),
        max(limits.count(outcome.learnt) for outcome in outcomes),
        worst.loss.error if worst.loss else math.nan,
        verdict.word,
        verdict.decided,
        verdict.codes,
    )


def _start(setting: Setting, query: Query, family: Family) -> float:
    """The scale whose noise is as large as half a person's norm in the equations."""
    unit, known = min(1.0, family.most), setting.exact(query)
    std = noise_of(prepare(family.at(unit), known.statistic, known.dataset.public)).std
    reach = setting.reach(query)
    start = reach / std * unit if std > 0 and math.isfinite(std) else reach
    return min(start if start > 0 else 1.0, family.most)


def _doubts(outcomes: Sequence[Outcome]) -> list[str]:
    return [f"{one.asked} did not settle there: {one.status}." for one in outcomes if not one.settled]


def _unresolved(history: Sequence[Evaluation], limit: float) -> list[float]:
    """The half-widths above the limit of intervals that reach down to zero and kept a scale from passing."""
    failed = (one for one in history if not one.passed and one.interval[0] <= 0)
    return [half for one in failed if (half := one.interval[1] - one.advantage) > limit]


def _too_fine(history: Sequence[Evaluation], limit: float, people: int, real: bool) -> list[str]:
    halves = _unresolved(history, limit)
    if not halves:
        return []
    least = amount(max(halves), real)
    return [
        f"With {people:,} people an advantage is known only to within ±{least}: that sets the noise, "
        f"not the attack. Choose a limit above {least}, or use more people."
    ]


def _hopeless(history: Sequence[Evaluation], limit: float, family: Family, people: int) -> NoAnswer:
    if not history:
        rule = f"one that promises that much; {family.name} does at no scale that was tried"
        return NoAnswer(str(invalid("promised_advantage or promised_tpr", rule, "no promise that is enough")))
    halves = _unresolved(history, limit)
    if halves:
        rule = f"above {max(halves):.3g}, what {people:,} people can resolve"
        return TooLittlePower(str(invalid("max_advantage", rule, limit)))
    last = max(history, key=lambda one: one.scale)
    rule = (
        f"one that {family.name} can keep; at scale {last.scale:.4g} the advantage is "
        f"{digits(last.advantage)} [{digits(last.interval[0])}, {digits(last.interval[1])}] and "
        f"{counted(last.learnt)} people are given away ({last.decided})"
    )
    return NoAnswer(str(invalid("max_advantage", rule, limit, "Try another family or a larger start.")))
