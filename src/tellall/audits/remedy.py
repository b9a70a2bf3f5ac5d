"""The remedy: the cheapest change of a plan that passes, attacked with the same engine on fresh draws."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from tellall.attack.prove.proof import EFFORT
from tellall.audits.advised import Remedy, TriedChange
from tellall.audits.attacks import compared_rules, jobs_alone, jobs_together
from tellall.audits.changes import Change, Cost, candidates, price, with_noise, without_release
from tellall.audits.document import Audit
from tellall.audits.draws import MOST_UNKNOWNS
from tellall.audits.families import least_scale
from tellall.audits.findings import Finding, Skipped
from tellall.audits.outcome import Outcome
from tellall.audits.plans.draft import as_toml
from tellall.audits.plans.places import Form, Kept, Place, attack_apart, planned_identity, together
from tellall.audits.plans.plan import Plan
from tellall.audits.trial import Planned, Trial, affordable
from tellall.audits.verdict import Limits, Verdict, judge_area, judge_outcome, judged_areas, with_rules
from tellall.audits.withheld import mostly_withheld
from tellall.core.amounts import count_of
from tellall.core.errors import TellallError
from tellall.core.jobs import Workers
from tellall.core.reasons import Reason
from tellall.core.work import Progress, one_thread
from tellall.protections.protection import is_random

__all__ = ["find_remedy", "most_attacks"]

_FRESH = 1_000_003  # added to the seed: draws that the audit has not seen
_DRAWS = 20  # fresh draws of a random release that must pass
_SLOW_WORK = 20_000  # people × draws that slower decoders are tried on, at least on three draws
_NOISY, _NOISY_WORK = (2, 8), 40_000  # draws at each scale while noise is searched for; people × draws
_SCREENED, _CHECKED = 24, 6  # changes that are attacked quickly, and by everything
_BUDGET, _LEAST = 3_000_000, 60  # people × attacks of least squares that a search takes; the fewest attacks
_SLOW = 6  # how many attacks of least squares one by another decoder counts for
_LOUDER = (1.1, 1.6, 2.5, 4.0)  # times the noise that the search found, until it holds on fresh draws
_QUICK = "least-squares"


@dataclass(frozen=True, eq=False)
class _Tried:
    """A change with its cost and what became of it."""

    change: Change
    cost: Cost
    verdict: Verdict | None = None
    draws: int = 0
    passed: int = 0

    @property
    def good(self) -> bool:
        return self.verdict is not None and self.verdict.word == "pass"

    def told(self) -> TriedChange:
        return TriedChange(
            words=self.change.words,
            releases=tuple(self.change.changed),
            loss=self.cost.loss,
            withheld=self.cost.withheld,
            error=self.cost.error,
            instead=self.cost.instead,
            verdict=None if self.verdict is None else self.verdict.word,
            sentence="" if self.verdict is None else self.verdict.sentence,
            draws=self.draws,
            passed=self.passed,
        )


class _SpentError(Exception):
    """The search has taken as many attacks as it may."""


def find_remedy(
    places: Sequence[Place],
    audit: Audit,
    progress: Progress | None = None,
    workers: Workers | None = None,
    kept: Kept | None = None,
) -> Remedy | None:
    """The cheapest change of a plan that passes.

    None if the plan passes, or if nothing could be attacked.

    Parameters
    ----------
    places, audit
        The people (`places_of`), and the audit of the plan.
    progress
        Called with (attacks made, attacks that the search may take) after each.
    workers
        The workers that make the attacks. Several at once make some attacks that turn out not to be needed;
        the answer is the same.
    kept
        Where finished attacks are kept (`kept_in`), so that a search that was stopped continues there.

    Notes
    -----
    The changes are a small built-in list: hide values below 5 or 10, round to 3, 5 or 10, both, withhold sums
    and means by the rules for cells, tables of fewer columns, noise, and leaving out a table, a column or a
    release. They are ordered by what they cost the reader, attacked by the quickest decoder with proofs by
    bounds, and the first that passes is checked by every decoder, with a search for proofs, on every set of
    releases it touches: once if nothing is random, otherwise on 20 fresh draws, all of which must pass (3 for
    slow decoders). The first attack that does not pass ends the check. Noise is searched for last, and only
    up to the cost of what has been found. At most 24 changes are attacked; the others are listed. The search
    takes 3,000,000 people × attacks of least squares, 60 attacks at least; an attack by another decoder
    counts as six. Then it ends with the best change found.

    With several attackers, changes are checked against the worst, and the sentence says so.

    With ``by`` in the plan a change is made in every area, and judged over all of them as an audit by area
    is. Areas of too few people to be attacked are left out, and the sentence says so.
    """
    if audit.attacks.word == "pass" or audit.worst is None:
        return None
    if not places:
        return _remedy(None, "No area has enough people to be attacked; publish nothing by area.")
    with one_thread():
        return _RemedySearch(places, audit, progress, workers, kept).run()


@dataclass(frozen=True, eq=False)
class _Piece:
    """Attacks on some draws of a changed plan.

    Attributes
    ----------
    sets
        The releases that are attacked together.
    draws
        Which draws; ``slow`` is how many of all are attacked by other decoders than the quickest.
    areas
        Whether the places are areas, each of which is judged.
    """

    sets: tuple[tuple[Planned, ...], ...]
    decoders: tuple[str, ...]
    draws: range
    slow: int
    seed: int
    effort: int
    limits: Limits
    areas: bool


_Judged = tuple[int, str, Verdict]  # a draw, the decoder that attacked it, and the verdict


def _identity(piece: _Piece) -> list[object] | None:
    """What decides the verdicts of a piece, as plain data; None if own classes do."""
    sets = [planned_identity(releases) for releases in piece.sets]
    if None in sets:
        return None
    draws = [piece.draws.start, piece.draws.stop, piece.slow]
    return [sets, piece.decoders, draws, piece.seed, piece.effort, asdict(piece.limits), piece.areas]


_FORM = Form(
    "remedy",
    _identity,
    lambda found: {"judged": [[draw, decoder, verdict.as_json()] for draw, decoder, verdict in found]},
    lambda plain: [
        (int(draw), str(name), Verdict.from_json(verdict)) for draw, name, verdict in plain["judged"]
    ],
)


def _verdicts(places: Sequence[Place], piece: _Piece) -> list[_Judged]:
    """The verdict on each draw of each set by each decoder, up to the first that does not pass."""
    found: list[_Judged] = []
    for releases in piece.sets:
        if piece.draws.start and not any(is_random(one.protections) for one in releases):
            continue  # every draw is the first
        for one in _of_set(places, piece, releases):
            found.append(one)
            if one[2].word != "pass":
                return found
    return found


def _of_set(places: Sequence[Place], piece: _Piece, releases: tuple[Planned, ...]) -> Iterator[_Judged]:
    name = " + ".join(one.name for one in releases)
    draws, first = piece.draws, piece.draws.start
    trials = [
        Trial(place.setting, releases, len(draws), place.seed(piece.seed), piece.effort, first)
        for place in places
    ]
    drawn, decoder = first, piece.decoders[0]
    try:
        # an area without an informed attack is attacked there with one rate for everybody
        ways = tuple(dict.fromkeys(way for one in trials for way in one.ways(piece.decoders)))
        each = {way: zip(*(one.attacks(way) for one in trials), strict=True) for way in ways}
        for drawn in draws:
            strongest: tuple[str, list[Outcome]] | None = None
            for decoder in ways:
                if decoder.partition(", ")[0] != _QUICK and drawn >= piece.slow:
                    continue
                outcomes = [
                    Outcome.of(
                        [attack],
                        trial.risks([attack]),
                        asked=decoder,
                        statistic="",
                        protection="",
                        tried=len(ways),
                        cells=trial.cells,
                    )
                    for trial, attack in zip(trials, next(each[decoder]), strict=True)
                ]
                yield drawn, decoder, _verdict(name, places, outcomes, piece, strongest=False)
                if strongest is None or _gained(outcomes) > _gained(strongest[1]):
                    strongest = decoder, outcomes
            if strongest is not None:
                yield drawn, strongest[0], _verdict(name, places, strongest[1], piece, strongest=True)
    except StopIteration:  # nothing is random: one draw is all there is
        return
    except TellallError as error:
        said = f"“{name}” cannot be attacked: {error}"
        yield drawn, decoder, Verdict(said, (Reason("not-attacked", said, name),))


def _only_leaves_out(change: Change) -> bool:
    """Whether nothing is published instead, nor in another way: releases, tables or columns are left out."""
    return bool(change.dropped) and not change.instead


def _gained(outcomes: Sequence[Outcome]) -> float:
    """How much an attack on all places gains."""
    people = sum(one.people for one in outcomes)
    return sum(one.people * one.share_gained[0] for one in outcomes) / people


def _verdict(
    name: str, places: Sequence[Place], outcomes: Sequence[Outcome], piece: _Piece, *, strongest: bool
) -> Verdict:
    """The verdict on one draw: on all people and, if the places are areas, on each of them."""
    tried = len(piece.decoders)
    whole = judge_outcome(name, together(outcomes, tried), piece.limits, strongest=strongest)
    if not piece.areas:
        return whole
    areas = [
        judge_area(place.name or "", found.people, [(name, found)], piece.limits, len(outcomes) * tried, None)
        for place, found in zip(places, outcomes, strict=True)
    ]
    return judged_areas(whole, areas, piece.limits)


def most_attacks(people: int) -> int:
    """The most attacks, each counted as one of least squares, that a search for these people may make."""
    return max(_LEAST, _BUDGET // people)


class _RemedySearch:
    """One search: the people, what was found about the plan, and what has been tried."""

    def __init__(
        self,
        places: Sequence[Place],
        audit: Audit,
        progress: Progress | None = None,
        workers: Workers | None = None,
        kept: Kept | None = None,
    ) -> None:
        largest = max(places, key=lambda place: place.setting.people.n).setting
        self.places, self.setting = places, largest  # all areas have the same columns
        self.people = sum(place.setting.people.n for place in places)
        self.limits: Limits = audit.limits
        self.plan = audit.plan
        self.progress = progress
        self.workers = workers or Workers()
        self.kept = kept
        # least squares on many draws of noise shares one decomposition, which is not made twice
        self.whole = all(len(place.setting.people.patterns) <= MOST_UNKNOWNS for place in places)
        self.seed = (audit.plan.seed + _FRESH) % 2**63
        self.small = len(audit.areas) - len(places) if audit.areas else 0
        alone = [finding for finding in audit.findings if finding.job.role == "alone"]
        self.unknown = tuple(one.name for one in (*audit.not_checked, *alone) if not isinstance(one, Finding))
        self.planned = tuple(one for one in audit.plan.releases if one.name not in self.unknown)
        self.skipped = tuple(one for one in audit.plan.releases if one.name in self.unknown)
        self.known = {_names(audit.plan, finding): _word(audit, finding) for finding in audit.findings}
        self.decoders = affordable(largest.people.n, 1, largest.people.levels)
        self.tried: list[_Tried] = []
        self._left_out: dict[tuple[str, ...], float] = {}
        self.made, self.most = 0, most_attacks(self.people)

    def run(self) -> Remedy:
        """The cheapest change that passes, and what was tried on the way."""
        listed = self._listed()
        best = None
        spent = False
        try:
            best = self._first_that_passes(listed[:_SCREENED])
            for found in self._noise(best):
                best = found
        except _SpentError:
            spent = True
        tried = {one.change.words for one in self.tried}
        not_tried = [one for one in listed if one.change.words not in tried] if best is None else []
        if best is None:
            said = f"None of the {count_of(len(self.tried), 'change')} tried passes."
            if spent:
                said += f" The search ended after {self.made} attacks, the most it may make."
            elif empty := mostly_withheld(self.places, self.planned, self.seed):
                said = " ".join([said, *empty])
            elif not not_tried:
                said += self._to_leave_out()
            return _remedy(None, said, self.tried, not_tried)
        return _remedy(best, self._said(best), self.tried, not_tried, self.planned)

    def _to_leave_out(self) -> str:
        """What to leave out, where no change is worth having."""
        targets = self._targets()
        if not targets:
            return " Publish less, or to fewer people."
        named = " and ".join(f"“{name}”" for name in targets[0])
        return f" Leave out {named}, or publish less: no other change that passes costs the reader less."

    def _count(self, decoder: str) -> None:
        """Counts one attack, if there may still be one."""
        if self.made >= self.most:
            raise _SpentError
        self.made = min(self.made + (1 if decoder == _QUICK else _SLOW), self.most)
        if self.progress:
            self.progress(self.made, self.most)

    def _listed(self) -> list[_Tried]:
        """The changes of the built-in list that may pass, the cheapest first."""
        found: dict[str, _Tried] = {}
        for change in self._changes():
            if change.words not in found and change.releases and self._rest_passes(change):
                try:
                    cost = self._cost(change)
                except TellallError:
                    continue
                if cost.loss < self._most_lost(change) or _only_leaves_out(change):
                    found[change.words] = _Tried(change, cost)
        return sorted(found.values(), key=lambda one: (one.cost.loss, one.cost.withheld))

    def _most_lost(self, change: Change) -> float:
        """What is lost if all that it changes is left out: from then on it is not worth having."""
        names = [one.name for one in self.planned if one.name in change.changed]
        key = tuple(names)
        if key not in self._left_out:
            self._left_out[key] = self._cost(without_release(self.planned, names)).loss if names else math.inf
        return self._left_out[key]

    def _cost(self, change: Change) -> Cost:
        return Cost.of_all([change.cost(place.setting, place.seed(self.seed)) for place in self.places])

    def _changes(self) -> Iterator[Change]:
        if self.unknown and self.planned:
            gone = without_release((*self.planned, *self.skipped), self.unknown)
            yield gone
        for change in candidates(self.planned, self._targets(), self.setting):
            yield self._complete(change)

    def _complete(self, change: Change) -> Change:
        """The change that also leaves out everything that could not be attacked."""
        if not self.unknown:
            return change
        names = " and ".join(f"“{name}”" for name in self.unknown)
        return replace(
            change,
            words=f"{change.words}; leave out {names}, which cannot be attacked",
            changed=(*change.changed, *self.unknown),
            dropped=(*change.dropped, *(one.query for one in self.skipped)),
        )

    def _targets(self) -> list[tuple[str, ...]]:
        """The groups of releases that changes are made to: those that do not pass, alone and in sets.

        What is published already cannot be changed.
        """
        order = [one.name for one in self.planned]
        done = {one.name for one in self.planned if one.given is not None}
        bad = frozenset(name for name in order if self.known.get(frozenset([name])) != "pass")
        groups = [bad] if bad else []
        joint = [names for names, word in self.known.items() if word != "pass" and not names & bad]
        for names in sorted(joint, key=len):
            groups += [bad | {name} for name in order if name in names] + [bad | names]
        groups += [frozenset(order)] if groups else []
        listed = dict.fromkeys(group - done for group in groups if group - done)
        return [tuple(n for n in order if n in group) for group in listed][:8]

    def _rest_passes(self, change: Change) -> bool:
        """Whether every set of releases that the change does not touch is known to pass."""
        return all(self.known[_named(one)] == "pass" for one in self._sets(change, touched=False))

    def _sets(self, change: Change, *, touched: bool) -> list[tuple[Planned, ...]]:
        """The sets of the changed plan that the audit has not attacked as they are, or those that it has."""
        plan = replace(self.plan, releases=change.releases, steps=False)
        jobs = [*jobs_alone(plan), *jobs_together(plan, range(len(plan.releases)))]
        sets = [tuple(plan.releases[index] for index, _ in job.members) for job in jobs]
        changed = set(change.changed)
        return [
            one for one in sets if (bool(_named(one) & changed) or _named(one) not in self.known) == touched
        ]

    def _first_that_passes(self, listed: Sequence[_Tried]) -> _Tried | None:
        checked, step = 0, self.workers.count
        for start in range(0, len(listed), step):
            some = listed[start : start + step]
            pieces = [self._pieces(one.change, [_QUICK], 1)[0] for one in some]
            for one, verdicts in zip(some, self._apart(pieces), strict=True):
                found = self._judged(one, [verdicts], 1)
                if found.good:
                    checked += 1
                    if checked > _CHECKED:
                        return None
                    found = self._checked(one)
                self.tried.append(found)
                if found.good:
                    return found
        return None

    def _checked(self, one: _Tried) -> _Tried:
        """The change attacked by every decoder, on fresh draws where something is random."""
        draws = _DRAWS if any(is_random(each.protections) for each in one.change.releases) else 1
        found = self._attacked(one, self.decoders, draws)
        if found.verdict is None or not found.good:
            return found
        people, rules = self.setting.people, self.plan.cells
        compared = compared_rules(people, one.change.releases, self.seed, rules)
        return replace(found, verdict=with_rules(found.verdict, compared))

    def _attacked(self, one: _Tried, decoders: Sequence[str], draws: int) -> _Tried:
        """The change with the first verdict of any draw, set of releases and decoder that does not pass.

        If all pass, it has the last one.
        """
        pieces, step = self._pieces(one.change, decoders, draws), self.workers.count
        starts = range(0, len(pieces), step)
        return self._judged(
            one, (found for start in starts for found in self._apart(pieces[start : start + step])), draws
        )

    def _judged(self, one: _Tried, found: Iterable[Sequence[_Judged]], draws: int) -> _Tried:
        """The change with what became of it; every attack that it took is counted."""
        verdict = Verdict("What is left passes as it is.")
        for draw, decoder, verdict in (each for piece in found for each in piece):
            self._count(decoder)
            if verdict.word != "pass":
                return replace(one, verdict=verdict, draws=draw + 1, passed=draw)
        return replace(one, verdict=verdict, draws=draws, passed=draws)

    def _apart(self, pieces: Sequence[_Piece]) -> list[list[_Judged]]:
        """The verdicts of some pieces, all of which are attacked."""
        if self.made >= self.most:
            raise _SpentError
        return list(attack_apart(_verdicts, self.places, pieces, self.workers, self.kept, _FORM))

    def _pieces(self, change: Change, decoders: Sequence[str], draws: int) -> list[_Piece]:
        """The attacks on a change: draw by draw, or all draws in one where they share a decomposition."""
        several = 1 if not self.whole else draws
        slow = min(draws, max(3, _SLOW_WORK // self.people))
        piece = _Piece(
            tuple(self._sets(change, touched=True)),
            tuple(sorted(decoders, key=lambda name: name == _QUICK)),
            range(several),
            slow,
            self.seed,
            0 if list(decoders) == [_QUICK] != list(self.decoders) else EFFORT,
            self.limits,
            self.plan.by is not None,
        )
        return [replace(piece, draws=range(at, at + several)) for at in range(0, draws, several)]

    def _noise(self, best: _Tried | None) -> Iterator[_Tried]:
        """Noise that passes on fresh draws and costs less than the best change so far, cheaper each time."""
        for names in self._targets():
            unit = with_noise(self.planned, names, 1.0, self.setting)
            if unit is None or not self._rest_passes(unit):
                continue
            price = self._cost(unit).loss
            least = min(self._most_lost(unit), math.inf if best is None else best.cost.loss)
            most = least / price if price > 0 and math.isfinite(least) else 1e6
            found = self._quietest(names, most)
            if found is not None:
                best = found
                yield found

    def _quietest(self, names: tuple[str, ...], most: float) -> _Tried | None:
        def made(scale: float) -> _Tried:
            change = with_noise(self.planned, names, scale, self.setting)
            assert change is not None
            full = self._complete(change)
            return _Tried(full, self._cost(full))

        def passes(scale: float) -> bool:
            return scale > 0 and self._attacked(made(scale), [_QUICK], draws).good

        few, many = _NOISY
        draws = min(many, max(few, _NOISY_WORK // self.people))

        scale = least_scale(passes, min(1.0, most), most=most, tolerance=0.15, tries=9)
        for louder in _LOUDER:
            if not scale or scale * louder > most:
                break
            one = self._checked(made(scale * louder))
            self.tried.append(one)
            if one.good:
                return one
        return None

    def _said(self, best: _Tried) -> str:
        cost, units = best.cost, self.setting.units(self.planned[0].statistic)
        lost = f"{price(cost.withheld, cost.instead, cost.error, f' {units}')}."
        checked = (
            f"All {best.draws} fresh draws pass."
            if best.draws > 1
            else "The changed plan passes when audited again."
        )
        where = "" if self.plan.by is None else f" in every {self.plan.by}"
        said = f"The cheapest change found: {best.change.words}{where}. {lost[0].upper()}{lost[1:]} {checked}"
        if self.small:
            said += f" Publish nothing about {count_of(self.small, 'area')} with too few people."
        if any(getattr(part, "key", None) is not None for one in self.planned for part in one.protections):
            said += " Cell keys are never written down: copy yours into the changed plan."
        if len(self.plan.attackers) > 1:
            worst = f"It was checked only against “{self.plan.attacker.name}”, the worst of the attackers"
            said += f" {worst}; audit the changed plan for the others."
        return said


def _word(audit: Audit, finding: Finding | Skipped) -> str:
    """The verdict on a set of releases, no better than that on any area."""
    words = [finding.verdict.word]
    looked_at = sum(len(one.outcomes) for area in audit.areas for one in area.found)
    for area in audit.areas:
        for one in (one for one in area.found if one.job == finding.job):
            found = [(one.name, outcome) for outcome in one.outcomes]
            words.append(judge_area(area.name, area.people, found, audit.limits, looked_at, None).word)
    return max(words, key=("pass", "review", "fail").index)


def _names(plan: Plan, finding: Finding | Skipped) -> frozenset[str]:
    return frozenset(plan.releases[index].name for index, _ in finding.job.members)


def _named(releases: Sequence[Planned]) -> frozenset[str]:
    return frozenset(one.name for one in releases)


def _remedy(
    best: _Tried | None,
    sentence: str,
    tried: Sequence[_Tried] = (),
    not_tried: Sequence[_Tried] = (),
    planned: Sequence[Planned] = (),
) -> Remedy:
    described = {one.name for one in planned if one.name == one.described}
    entries = [
        {**one.as_json(), "name": one.described if one.name in described else one.name}
        for one in (() if best is None else best.change.releases)
        if one.given is None
    ]
    return Remedy(
        found=best is not None,
        sentence=sentence,
        change=None if best is None else best.told(),
        entries=tuple(entries),
        toml=as_toml(entries),
        tried=tuple(one.told() for one in tried),
        not_tried=tuple(one.told() for one in not_tried),
    )
