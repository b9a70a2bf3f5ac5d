"""Verdicts: pass, review or fail, with a sentence that says what decided. All judging is done here.

======  ==============================================================================================
fail    the advantage's interval lies above the limit, more people with a sensitive value are proved
        alone, proved by a cell of few who are all alike, or exposed than allowed, or a published cell of
        numbers gives a contributor away (`CellRules`)
review  the strongest attack gains something and the limit lies inside its interval, or is below an ordinary
        guess; a public column tells the secret, an answer is not settled, people are proved as a group to
        have a sensitive value, sure guesses are unreliable, something was not attacked, a cell of numbers
        is for a person to decide, or one that the agencies' p % rule passes does not hold
pass    none of these
======  ==============================================================================================

Whoever is known anyway, since a baseline gives their value with 0.95 or more, is not learnt from a release.
What no person could decide anything about is a remark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from tellall.audits.measures.contributors import ComparedRules
from tellall.audits.measures.counts import add_counts
from tellall.audits.measures.revealing_cells import all_reasons
from tellall.audits.measures.risk import LEVELS
from tellall.audits.outcome import Outcome
from tellall.core.amounts import count_of, counted, digits, percent, points
from tellall.core.errors import invalid
from tellall.core.reasons import KINDS, WORDS, Reason, Remark, worst_reason
from tellall.core.records import WRITTEN, Meaning, Record, written_of
from tellall.core.text import one_line
from tellall.people.dataset import Dataset

__all__ = [
    "Answer",
    "JudgedArea",
    "Limits",
    "Verdict",
    "area_name",
    "judge",
    "judge_area",
    "judge_outcome",
    "judged_areas",
    "sensitive_codes",
    "sensitive_of",
    "with_cells",
    "with_predictors",
    "with_rules",
]

_FIT = (
    ": any model is nearer to the people it was fitted to. That gives away no single person and is not "
    "counted."
)
Word = Literal["pass", "review", "fail"]
_NOT_PROOF = "That these attacks fail does not prove that every attack would."
_BELOW = -0.02  # an attack surely worse by more than an ordinary guess is no answer about the release
_PEOPLE = ("people-proved", "people-exposed", "small-cells-alike")
# doubts about confidences that do not matter if nobody is sure
_TESTED = {"linearised", "failed-rehearsal", "not-sampled"}
_SOME_DOUBT = "not-settled"


@dataclass(frozen=True)
class Verdict(Record):
    """The answer in a sentence, and the reasons that decide it.

    Without a reason it is a pass: every attack stayed within the limits. Otherwise the worst reason decides:
    "fail", or "review" where a person has to decide. Those that the sentence is about come first.
    """

    sentence: str
    reasons: Annotated[
        tuple[Reason, ...], Meaning("Why it is no pass; those that the sentence is about come first.")
    ] = ()
    remarks: Annotated[tuple[Remark, ...], Meaning("What is worth knowing and decides nothing.")] = ()

    def __post_init__(self, *written: Any) -> None:
        """Documents from before there were reasons have the word and what decided alone."""
        known = written_of(Verdict, written)
        if not self.reasons and known.get("word") not in (None, "pass"):
            alike = [code for code, kind in KINDS.items() if kind.word == known["word"]]
            codes = [code for code in alike if KINDS[code].decided == known["decided"]] or alike
            code = _SOME_DOUBT if _SOME_DOUBT in codes else codes[0]  # nobody knows which doubt it was
            object.__setattr__(self, "reasons", (Reason(code, self.sentence),))

    @property
    def word(self) -> Annotated[Word, WRITTEN]:
        """The answer in a word: "pass", "review" or "fail"."""
        worst = worst_reason(self.reasons)
        return "pass" if worst is None else worst.word

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the reasons, the decisive one first."""
        worst = worst_reason(self.reasons)
        decisive = () if worst is None else (worst.code,)
        return tuple(dict.fromkeys((*decisive, *(reason.code for reason in self.reasons))))

    @property
    def decided(self) -> Annotated[str, Meaning("What decided, in a few words."), WRITTEN]:
        """In a few words, what decided."""
        worst = worst_reason(self.reasons)
        return "within the limits" if worst is None else worst.decided

    @property
    def rank(self) -> int:
        """0 pass, 1 review, 2 fail."""
        return WORDS.index(self.word)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Verdict:
        """The verdict that `as_json` gave."""
        remarks = tuple(Remark(**each) for each in plain.get("remarks", ()))
        return cls(plain["sentence"], tuple(map(Reason.from_json, plain["reasons"])), remarks)

    def __str__(self) -> str:
        return f"{self.word}: {self.sentence}"


@dataclass(frozen=True)
class Answer:
    """What a page says first: a word and a sentence, about what, and how good or bad they are.

    ``kind`` is "pass", "review" or "fail".
    """

    kind: str
    word: str
    sentence: str
    about: str = ""


@dataclass(frozen=True)
class Limits:
    """What a release may give away.

    Attributes
    ----------
    advantage
        The most accuracy beyond the strongest baseline, as a share of people; for a real secret, as a share
        of that baseline's error, in-sample fit not counted.
    exposed
        The most people with a sensitive value who may be proved alone or exposed; None where people are not
        counted.
    sensitive
        The codes of the values that must not be learned; None: all of them.
    kept
        Whether the limit on the advantage must be seen to be kept, by every attack: an interval that reaches
        above it is no pass, whatever explains it. For calibrations, which choose by it.
    """

    advantage: float
    exposed: int | None = 0
    sensitive: tuple[str, ...] | None = None
    kept: bool = False

    def count(self, people: Mapping[str, float]) -> float:
        """How many of the people, counted by value, have a sensitive one."""
        return add_counts(
            count for value, count in people.items() if self.sensitive is None or value in self.sensitive
        )


def sensitive_of(counts: Sequence[int]) -> tuple[str, ...]:
    """The values that are sensitive if a plan does not say: all but the most common one.

    Examples
    --------
    >>> sensitive_of([90, 10]), sensitive_of([3, 5, 2])
    (('1',), ('0', '2'))
    """
    usual = max(range(len(counts)), key=lambda value: (counts[value], -value), default=0)
    return tuple(str(value) for value in range(len(counts)) if value != usual)


def sensitive_codes(dataset: Dataset, sensitive: Sequence[str] | None) -> tuple[str, ...] | None:
    """The codes of the sensitive values of a dataset's secret; None for a real secret: every number is."""
    if not dataset.levels or dataset.secret is None:
        return None
    if sensitive is None:
        return sensitive_of([int((dataset.secret == value).sum()) for value in range(dataset.levels)])
    for value in sensitive:
        if value not in dataset.meaning:
            raise invalid(
                "sensitive", f"values of {dataset.secret_name} ({', '.join(dataset.meaning)})", value
            )
    return tuple(str(dataset.meaning.index(value)) for value in sensitive)


def judge_outcome(name: str, found: Outcome, limits: Limits, *, strongest: bool = True) -> Verdict:
    """The verdict on one attack; whether it is the strongest of those on the same releases."""
    verdict = with_cells(_judge_found(name, found, limits, strongest), found.cells)
    if not found.undecided or "search-not-finished" in [one.code for one in verdict.reasons[:1]]:
        return verdict
    left = count_of(found.undecided, "person", "people")
    said = f"For {left} the search for proofs ended before it could tell"
    if found.loose == found.undecided:
        said += "; so few values are published about them that many secrets can be expected to fit"
    return replace(verdict, sentence=f"{verdict.sentence} {said}.")


def with_cells(verdict: Verdict, cells: Sequence[Reason]) -> Verdict:
    """The verdict, no better than these reasons allow, with what they say."""
    new = tuple(one for one in cells if one not in verdict.reasons)
    said = " ".join(one.sentence for one in new)
    worst = max(cells, key=lambda one: one.rank, default=None)
    if worst is not None and WORDS.index(worst.word) > verdict.rank:
        kept = "" if verdict.word == "pass" else verdict.sentence
        first = sorted(new, key=lambda one: one is not worst)
        return replace(verdict, sentence=f"{said} {kept}".strip(), reasons=(*first, *verdict.reasons))
    return replace(verdict, sentence=f"{verdict.sentence} {said}".strip(), reasons=(*verdict.reasons, *new))


def with_rules(verdict: Verdict, rules: ComparedRules | None) -> Verdict:
    """The verdict: fail where cells are withheld in vain, review where cells that rules pass do not hold."""
    if rules is not None and rules.in_vain:
        said = rules.sentence
        return replace(
            verdict,
            sentence=f"{verdict.sentence} {said}",
            reasons=(Reason("withheld-in-vain", said, "", rules.in_vain, rules.cells), *verdict.reasons),
        )
    if verdict.word != "pass" or rules is None or not rules.broken:
        return verdict
    said = rules.sentence
    return replace(
        verdict, sentence=f"{verdict.sentence} {said}", reasons=(Reason("cells-known-together", said),)
    )


def with_predictors(verdict: Verdict, told: Sequence[Reason]) -> Verdict:
    """The verdict with what public columns tell by themselves said first, and no better than review."""
    if not told:
        return verdict
    said = " ".join(one.sentence for one in told)
    return replace(verdict, sentence=f"{said} {verdict.sentence}", reasons=(*told, *verdict.reasons))


def _judge_found(name: str, found: Outcome, limits: Limits, strongest: bool) -> Verdict:
    """The verdict on what one attack found out, with its remarks."""
    verdict = _decided(name, found, limits, strongest)
    known = {one.code for one in verdict.reasons}
    kept = tuple(one for one in _remarks(name, found, limits, strongest) if one.code not in known)
    said = " ".join([verdict.sentence, *(one.sentence for one in kept)])
    return replace(verdict, sentence=said, remarks=kept)


def _decided(name: str, found: Outcome, limits: Limits, strongest: bool) -> Verdict:
    """The verdict on what one attack found out, without remarks."""
    reasons = tuple(_failing(name, found, limits)) or tuple(_to_review(name, found, limits, strongest))
    if not reasons:
        return Verdict(f"{_passed(name, found, limits)} {_NOT_PROOF}")
    people = _people_learnt(*_counts_learnt(found, limits))
    told = not people or reasons[0].code in _PEOPLE  # its sentence has them
    return Verdict(reasons[0].sentence + ("" if told else f" With a sensitive value: {people}."), reasons)


def _failing(name: str, found: Outcome, limits: Limits) -> Iterator[Reason]:
    """Why an attack fails."""
    proved, exposed, few = counted_people = _counts_learnt(found, limits)
    if found.share_gained[1] > limits.advantage:
        said = f"{_gain(name, found)} The limit is {_in_100(limits.advantage, found.real)}."
        yield Reason("advantage-above-limit", said, name)
    if limits.exposed is None or limits.count(found.learnt) <= limits.exposed:
        return
    limit = f"The limit is {limits.exposed:,}."
    if proved or exposed:
        said = f"From “{name}” an outsider learns the sensitive value of single people: "
        said += f"{_people_learnt(*counted_people)}. {limit}"
        yield Reason("people-proved" if proved else "people-exposed", said, name)
    if few:
        said = (
            f"“{name}” shows a sensitive value of {count_of(few, 'person', 'people')} in small cells: "
            f"everybody in the cell has it. {limit}"
        )
        yield Reason("small-cells-alike", said, name)


def _to_review(name: str, found: Outcome, limits: Limits, strongest: bool) -> Iterator[Reason]:
    """Why a person has to decide about an attack within the limits."""
    _, low, high = found.share_gained
    grouped, luck = limits.count(found.proved_group), found.luck
    if found.contradicted:
        said = f"“{name}” does not describe these people: it proves things that are not true of them."
        yield Reason("proofs-contradicted", said, name)
    if high > limits.advantage and (limits.kept or (strongest and _gains(found, limits))):
        said = (
            f"{_gain(name, found)} With this many people, {_what_is_counted(found)} could be anything from "
            f"{_more(low, found)} to {_more(high, found)}; the limit, "
            f"{_in_100(limits.advantage, found.real)}, lies between."
        )
        yield Reason("limit-inside-interval", said, name)
    beyond = found.beyond_public if strongest else None
    if beyond is not None and beyond < _BELOW:
        said = (
            f"The attack on “{name}” is right about fewer people than guessing by public columns alone, "
            f"surely {_in_100(-beyond, False)} fewer. It says little about what the release gives away."
        )
        yield Reason("below-baseline", said, name)
    if not found.settled and not found.contradicted and not _harmless_doubt(found, limits):
        yield Reason(found.status.why[0], _doubt(name, found, high <= limits.advantage), name)
    if limits.exposed is None:  # people are not counted
        return
    if grouped:
        said = (
            f"“{name}” shows a sensitive value of {count_of(grouped, 'person', 'people')} as a group: "
            "everybody in a published cell has it. A person has to decide whether that harms them."
        )
        yield Reason("people-proved-as-group", said, name)
    if luck.unreliable and not luck.explained:
        said = f"In “{name}” sure guesses are unreliable: {_luck(found)}."
        yield Reason("sure-guesses-unreliable", said, name)
    if found.undecided > found.loose:
        left = count_of(found.undecided - found.loose, "person", "people")
        said = (
            f"For {left} in “{name}” the search for proofs ended before it could tell, although so many "
            "values are published that few secrets can be expected to fit."
        )
        yield Reason("search-not-finished", said, name)


def _remarks(name: str, found: Outcome, limits: Limits, strongest: bool) -> Iterator[Remark]:
    """What is worth knowing about an attack and decides nothing."""
    gained, _, high = found.share_gained
    if strongest and high > limits.advantage and not _gains(found, limits):
        said = (
            f"With {count_of(found.people, 'person', 'people')}, an advantage of up to "
            f"{_in_100(high, found.real)} cannot be excluded."
        )
        if gained > 0 and found.fitted_as_well(limits.advantage):
            said = (
                f"{said} An ordinary model gains about as much: any is nearer to the people it was fitted "
                "to, which gives away no single person."
            )
        elif gained > 0:
            said = f"{said} Luck explains what it gains here."
        yield Remark("limit-inside-interval", said, name)
    if not found.settled and not found.contradicted and _harmless_doubt(found, limits):
        said = (
            f"How sure the attack on “{name}” is cannot be trusted "
            f"({found.status.advice or 'untested'}), but it is sure of nobody beyond luck."
        )
        yield Remark(found.status.why[0], said, name)
    if limits.exposed is None:  # people are not counted
        return
    if anyway := limits.count(found.known_anyway):
        said = (
            f"{count_of(anyway, 'person', 'people')} with a sensitive value "
            f"{'is' if anyway == 1 else 'are'} known anyway, with or without the release."
        )
        yield Remark("known-anyway", said, name)
    if found.luck.sure and found.luck.explained and not found.exposed_people:
        said = f"Luck explains the sure guesses of “{name}”, so they expose nobody: {_luck(found)}."
        yield Remark("luck-explains-sure-guesses", said, name)


def _gains(found: Outcome, limits: Limits) -> bool:
    """Whether an attack gains something that neither luck nor an ordinary fit explains."""
    gained, low, _ = found.share_gained
    by_luck = low <= 0 and gained <= limits.advantage and found.luck.explained and not found.real
    return gained > 0 and not by_luck and not found.fitted_as_well(limits.advantage)


def _harmless_doubt(found: Outcome, limits: Limits) -> bool:
    """Whether confidences that may be off do not matter: nobody is sure beyond luck, and no gain is sure.

    Confidences that failed a rehearsal are scaled down, so that a strong attack may be sure of nobody.
    """
    tested = bool(found.status.why) and _TESTED.issuperset(found.status.why)
    idle = not found.luck.sure or found.luck.explained
    _, low, high = found.share_gained
    return tested and idle and low <= 0 and high <= limits.advantage


def judge(
    found: Sequence[tuple[str, Outcome]],
    limits: Limits,
    *,
    not_attacked: Sequence[str] = (),
    sensitive: Mapping[str, float] | None = None,
    cells: Sequence[Reason] = (),
) -> Verdict:
    """The verdict on several attacks: never better than that on any of them.

    Parameters
    ----------
    found
        Each attack with the name of what was attacked.
    not_attacked
        The names of what could not be attacked.
    sensitive
        How many people with a sensitive value are ``proved_alone`` by any of the attacks and ``exposed`` by
        the one that exposes most; if not given, only each attack's own counts are used.
    cells
        Why cells of numbers of what could not be attacked do not pass.
    """
    of_cells = all_reasons([*(outcome.cells for _, outcome in found), cells])
    first = _strongest(found)
    judged = [
        (judge_outcome(name, outcome, limits, strongest=outcome is first[name]), outcome)
        for name, outcome in found
    ]
    judged.sort(key=lambda pair: (pair[0].rank, _weight(pair[1], limits)), reverse=True)
    verdict = with_cells(_judge_attacks(judged, limits, not_attacked, sensitive or {}), of_cells)
    known, more = {one.code for one in verdict.reasons}, dict[str, Reason]()
    for one in (reason for other, _ in judged for reason in other.reasons if not reason.cells):
        if one.code not in known:
            more.setdefault(one.code, one)
    said = {one.code: one for other, _ in reversed(judged) for one in other.remarks}
    reasons = (*verdict.reasons, *more.values())
    decided = {one.code for one in reasons}
    remarks = tuple(one for code, one in said.items() if code not in decided)
    return replace(verdict, reasons=reasons, remarks=remarks)


def _strongest(found: Sequence[tuple[str, Outcome]]) -> dict[str, Outcome]:
    """The attack with the largest advantage on each set of releases, by its name."""
    most: dict[str, Outcome] = {}
    for name, outcome in found:
        if name not in most or outcome.share_gained[0] > most[name].share_gained[0]:
            most[name] = outcome
    return most


def _judge_attacks(
    judged: Sequence[tuple[Verdict, Outcome]],
    limits: Limits,
    not_attacked: Sequence[str],
    sensitive: Mapping[str, float],
) -> Verdict:
    """The verdict on several attacks, the worst of which comes first, before what is known about cells."""
    missing = f"Not attacked: {'; '.join(not_attacked)}." if not_attacked else ""
    left = (Reason("not-attacked", missing),) if missing else ()
    if not judged:
        nothing = "Nothing could be attacked, so nothing is known about what it gives away."
        said = f"{nothing} {missing}".strip()
        return Verdict(said, (Reason("not-attacked", said),))
    worst, by = judged[0]
    together = _together(by, limits, sensitive)
    proved = sensitive.get("proved_alone", 0)
    if worst.word != "fail" and limits.exposed is not None and proved > limits.exposed:
        said = f"The limit is {limits.exposed:,} people with a sensitive value."
        whole = Reason("people-proved", f"{together} {said}".strip())
        worst = Verdict(said, (whole, *(one for one in worst.reasons if not one.cells)))
    if worst.word != "pass":
        said = " ".join(filter(None, [worst.sentence, together, missing]))
        return replace(worst, sentence=said, reasons=(*worst.reasons, *left))
    if left:
        limit = _in_100(limits.advantage, by.real)
        stayed = f"What could be attacked stayed below the limit of {limit}"
        return Verdict(f"{stayed}, but not everything could be. {missing}", left)
    return worst


def _together(found: Outcome, limits: Limits, sensitive: Mapping[str, float]) -> str:
    """What to add about all attacks, if they give away more than the one that decided."""
    proved, exposed = sensitive.get("proved_alone", 0), sensitive.get("exposed", 0)
    own = limits.count(found.proved_alone), limits.count(found.exposed[f"{LEVELS[0]:g}"])
    if proved <= own[0] and exposed <= own[1]:
        return ""
    return f"Over all attacks, with a sensitive value: {_people_learnt(proved, exposed)}."


def _weight(found: Outcome, limits: Limits) -> tuple[float, float]:
    """How much an attack weighs among those with the same verdict."""
    return found.share_gained[0], limits.count(found.learnt)


def _gain(name: str, found: Outcome) -> str:
    usual = found.baselines[found.baseline]
    if found.real:
        return (
            f"From “{name}” an outsider's numbers are off by {digits(found.accuracy)} on average; without "
            f"it, by {digits(usual)} at best: {_more(found.advantage / (usual or 1.0), found)}.{_fit(found)}"
        )
    return (
        f"From “{name}” an outsider guesses the secret of {_people(found.accuracy, found)} people right; "
        f"without it, of {_people(usual, found)} at best: {_more(found.share_gained[0], found)}."
    )


def _fit(found: Outcome) -> str:
    """How much of a real secret's advantage is in-sample fit."""
    usual = found.baselines[found.baseline]
    if not _has_fit(found):
        return ""
    return (
        f" {points(found.in_sample / usual, '')} of these {percent(found.advantage / usual)} are "
        f"in-sample fit{_FIT}"
    )


def _has_fit(found: Outcome) -> bool:
    """Whether in-sample fit is a part of the advantage worth mentioning."""
    usual = found.baselines[found.baseline]
    return bool(usual) and round(1000 * found.in_sample / usual) > 0


def _what_is_counted(found: Outcome) -> str:
    return "the rest" if _has_fit(found) else "that"


def _counts_learnt(found: Outcome, limits: Limits) -> tuple[float, float, float]:
    """How many people with a sensitive value are proved alone, exposed, and in small cells all alike."""
    parts = (found.proved_alone, found.exposed[f"{LEVELS[0]:g}"], found.proved_few)
    proved, exposed, few = map(limits.count, parts)
    return proved, exposed, few


def _people_learnt(proved: float, exposed: float, few: float = 0) -> str:
    """The people learnt in words; empty if there are none."""
    parts = [f"{count_of(proved, 'person', 'people')} proved by arithmetic" if proved else ""]
    parts.append(f"{count_of(exposed, 'person', 'people')} exposed with 95 % confidence" if exposed else "")
    parts.append(f"{count_of(few, 'person', 'people')} in small cells of people all alike" if few else "")
    return ", ".join(filter(None, parts))


def _doubt(name: str, found: Outcome, below: bool) -> str:
    """What is wrong with an attack that did not fail; ``below`` says that it stayed below the limits."""
    status = found.status
    stayed = " and stayed below the limits" if below else ""
    if "not-attacked-everywhere" in status.why:
        where = (
            f"“{name}” stayed below the limits where it was attacked, but was" if below else f"“{name}” was"
        )
        return f"{where} {status}."
    attacked = f"“{name}” was attacked{stayed}, but"
    if "areas-not-settled" in status.why:
        return f"{attacked} {status}."
    if status.word == "uncalibrated":
        return f"{attacked} how sure the attack is cannot be trusted: {status.advice or 'untested'}."
    return f"{attacked} what was found is not settled ({status})."


def _luck(found: Outcome) -> str:
    """How often guesses were right, compared with luck."""
    known = found.luck
    said = f"{known.sure:,.0f} sure, {known.right:,.0f} right, {known.expected:,.0f} expected by luck"
    if known.moved <= known.sure:
        return said
    all_right, by_luck = f"{known.moved_right:,.0f} right", f"{known.moved_expected:,.0f} expected by luck"
    return f"{said}; of all {known.moved:,.0f} whose odds it trebles, {all_right}, {by_luck}"


def _passed(name: str, found: Outcome, limits: Limits) -> str:
    gained = found.share_gained[0]
    limit = _in_100(limits.advantage, found.real)
    if found.real:
        more = f"come at most {percent(gained)} nearer" if round(1000 * gained) > 0 else "come no nearer"
        text = f"From “{name}” the attacks tried here {more} than one would without it; the limit is {limit}."
        if _has_fit(found):
            fit = percent(found.in_sample / found.baselines[found.baseline])
            text += f" In addition, they come {fit} nearer by in-sample fit{_FIT}"
    else:
        more = f"at most {_in_100(gained, False)} more" if gained > 0 else "no more"
        text = f"From “{name}” the attacks tried here guess {more} secrets right than one would without it; "
        text += f"the limit is {limit}."
    proved, exposed = found.proved, found.exposed_people
    if proved or exposed:
        text += f" {counted(proved)} people are proved and {counted(exposed)} exposed"
        text += " to have a value that is not sensitive." if limits.exposed is not None else "."
    return text


def _people(share: float, found: Outcome) -> str:
    return f"{round(share * found.people):,} of {found.people:,}"


def _more(share: float, found: Outcome) -> str:
    """A difference in words; one that rounds to zero is not called fewer."""
    if found.real:
        return f"{percent(abs(share))} {'farther' if round(1000 * share) < 0 else 'nearer'}"
    return f"{_in_100(abs(share), False)} {'fewer' if round(1000 * share) < 0 else 'more'}"


def _in_100(share: float, real: bool) -> str:
    return percent(share) if real else f"{points(share, '')} in 100"


# Areas

_CHANCE = 0.05  # of failing any area by luck, however many are looked at
_LISTED, _LONGEST = 3, 60


@dataclass(frozen=True)
class JudgedArea:
    """One area as a verdict sees it.

    Attributes
    ----------
    worst
        The attack with the largest advantage there, among those above the limit if there are any; None if
        nothing was attacked.
    above, surely
        Whether an interval lies above the limit, and whether it still does after correction for their number.
    exposing
        Whether more people with a sensitive value are proved alone or exposed there than allowed.
    reason
        Why it was not attacked; None where it was.
    """

    name: str
    people: int
    worst: tuple[str, Outcome] | None
    above: bool
    surely: bool
    exposing: bool = False
    reason: str | None = None

    @property
    def word(self) -> Word:
        """Its verdict: "fail", or "review" if luck may explain it or it was not attacked, or "pass"."""
        if self.surely or self.exposing:
            return "fail"
        return "review" if self.above or self.reason is not None else "pass"


def judge_area(
    name: str,
    people: int,
    found: Sequence[tuple[str, Outcome]],
    limits: Limits,
    looked_at: int,
    reason: str | None,
) -> JudgedArea:
    """One area among ``looked_at`` attacks on areas in all."""
    above = [pair for pair in found if pair[1].share_gained[1] > limits.advantage]
    sure = any(
        one.hits.surely(_CHANCE / looked_at) > limits.advantage for _, one in above if one.hits is not None
    )
    worst = max(above or found, key=lambda pair: pair[1].advantage, default=None)
    why = reason or (None if worst is not None else "nothing in it could be attacked")
    learnt = max((limits.count(one.learnt) for _, one in found), default=0)
    exposing = limits.exposed is not None and learnt > limits.exposed
    return JudgedArea(name, people, worst, bool(above), sure, exposing, why)


def judged_areas(whole: Verdict, areas: Sequence[JudgedArea], limits: Limits) -> Verdict:
    """The verdict on all areas, the worst of which come first.

    Notes
    -----
    All people together are judged as one release would be. Among many areas some lie above a limit by luck,
    so an area fails only if its advantage exceeds the limit at 95 % confidence over all areas (Bonferroni).
    Short of that, a person has to decide about an area whose own interval lies above the limit, as about one
    that could not be attacked. People given away in one area count as given away.
    """
    surely = [area for area in areas if area.surely]
    exposing = [area for area in areas if area.exposing]
    reasons: tuple[Reason, ...] = ()
    if surely:
        verb = "lies" if len(surely) == 1 else "lie"
        said = f"{_count(surely, areas)} surely {verb} above the limit on the advantage."
        reasons += (Reason("areas-above-limit", said),)
    if exposing:
        said = f"Single people are given away in {_count(exposing, areas)}."
        reasons += (Reason("areas-exposed", said),)
    told = " ".join(one.sentence for one in reasons)
    if whole.word == "fail":
        return Verdict(f"{whole.sentence} {told}".strip(), (*whole.reasons, *reasons))
    if reasons:
        worst = f"{_worst(surely[0], limits)} " if surely else ""
        return Verdict(f"{worst}{told}", (*reasons, *whole.reasons))
    if whole.word == "review":
        return whole
    above = [area for area in areas if area.above]
    if above:
        said = (
            f"{_worst(above[0], limits)} In {_count(above, areas)} the interval lies above the limit, which "
            "among this many areas could be luck. All people together stay below it."
        )
        return Verdict(said, (Reason("areas-perhaps-above-limit", said),))
    unknown = [area for area in areas if area.reason is not None]
    if unknown:
        real = any(area.worst[1].real for area in areas if area.worst is not None)
        said = (
            f"What could be attacked stayed below the limit of {_in_100(limits.advantage, real)}, but "
            f"{_count(unknown, areas)} could not be: {_list(unknown)}."
        )
        return Verdict(said, (Reason("areas-not-attacked", said),))
    return replace(whole, sentence=f"{whole.sentence} No area lies above the limit.")


def area_name(name: str) -> str:
    """An area's name as people read it: on one line, not too long, never empty."""
    return one_line(name, _LONGEST) or "(empty)"


def _worst(area: JudgedArea, limits: Limits) -> str:
    assert area.worst is not None
    name, found = area.worst
    limit = _in_100(limits.advantage, found.real)
    return f"In “{area_name(area.name)}”: {_gain(name, found)} The limit is {limit}."


def _count(some: Sequence[JudgedArea], areas: Sequence[JudgedArea]) -> str:
    return f"{len(some):,} of {count_of(len(areas), 'area')}"


def _list(areas: Sequence[JudgedArea]) -> str:
    named = ", ".join(
        f"“{area_name(area.name)}” ({count_of(area.people, 'person', 'people')})" for area in areas[:_LISTED]
    )
    more = len(areas) - _LISTED
    return f"{named} and {more:,} more" if more > 0 else named
