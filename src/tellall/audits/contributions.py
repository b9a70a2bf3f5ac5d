"""Culprits: what each release, table or column adds to what is given away, and about whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tellall.attack.prove.proof import EFFORT
from tellall.audits.advised import Added, CulpritPart, Culprits, ExposedRow, ExposedTable, PartKind
from tellall.audits.changes import parts_of
from tellall.audits.document import Audit
from tellall.audits.findings import Finding
from tellall.audits.measures.disclosure import Crowd, most_telling
from tellall.audits.measures.risk import Mask, Risk
from tellall.audits.outcome import Outcome
from tellall.audits.plans.places import Form, Kept, Place, attack_apart, planned_identity, together
from tellall.audits.trial import Planned, Setting, Trial
from tellall.audits.verdict import Limits
from tellall.core.errors import TellallError
from tellall.core.jobs import Workers
from tellall.core.work import Progress, counter
from tellall.people.dataset import Dataset, Public

__all__ = ["find_culprits", "learnt_people", "who_is_learnt"]

_MOST_PARTS = 20  # that are left out and attacked again
_EFFORT = EFFORT // 10  # steps of the search for proofs, which is run again for every part left out
_ALIKE = "people alike in public"
_SIZES = ((1, 1, "1"), (2, 4, "2 to 4"), (5, 9, "5 to 9"), (10, np.inf, "10 or more"))


def find_culprits(
    dataset: Dataset,
    places: Sequence[Place],
    audit: Audit,
    progress: Progress | None = None,
    workers: Workers | None = None,
    kept: Kept | None = None,
) -> Culprits | None:
    """What each part of the worst set of releases adds; None where the plan passes.

    ``progress`` is called with (attacks made, attacks in all) after the whole and after each part.
    ``workers`` make the attacks; the numbers do not depend on them. Finished ones are ``kept`` (`kept_in`).

    Notes
    -----
    The strongest decoder attacks the set again without each of its releases, tables or columns, on the draw
    of the audit; at most 20 parts. The search for proofs takes a tenth of the audit's steps, so fewer people
    may be proved here than there. A part can add less than nothing, because the baselines change without it.
    People given away, proved alone or exposed with a sensitive value, are counted by one public column, or by
    how many people are alike in public, as far as that names nobody (`most_telling`). With areas they are
    counted by area only: a second table could be subtracted from those counts.
    """
    worst = _worst(audit)
    if audit.attacks.word == "pass" or worst is None or not places:
        return None
    releases = tuple(audit.plan.releases[index] for index, _ in worst.job.members)
    decoder, limits = worst.outcome.asked, audit.limits
    parts = list(_without(releases, places[0].setting))
    tried = parts[:_MOST_PARTS]
    tell = counter(progress, 1 + len(tried))
    pieces = [
        (each, audit.plan.seed, decoder, limits) for each in (releases, *(one.releases for one in tried))
    ]
    found = []
    for one in attack_apart(_attacked, places, pieces, workers, kept, _FORM):
        found.append(one)
        tell(1)
    if isinstance(found[0], TellallError):
        raise found[0]
    whole, masks = found[0]
    learnt = np.zeros(dataset.n, dtype=bool)
    for place, mask in zip(places, masks, strict=True):
        learnt[place.people] = mask
    left = zip(tried, found[1:], strict=True)
    return Culprits(
        of=worst.name,
        decoder=decoder,
        parts=tuple(_added(part, whole, one[0], limits) for part, one in left if isinstance(one, tuple)),
        not_tried=tuple(part.name for part in parts[_MOST_PARTS:]),
        who=() if audit.plan.by is not None else who_is_learnt(dataset.public, learnt),
        **_numbers(whole, limits),
    )


def _attacked(
    places: Sequence[Place], work: tuple[tuple[Planned, ...], int, str, Limits]
) -> tuple[Outcome, list[Mask]] | TellallError:
    """The outcome of some releases over all places, and who is given away in each; or why there is none."""
    releases, seed, decoder, limits = work
    outcomes, masks = [], []
    try:
        for place in places:
            trial = Trial(place.setting, releases, 1, place.seed(seed), _EFFORT)
            attacks, risks = trial.scored(decoder)
            outcomes.append(Outcome.of(attacks, risks, asked=decoder, statistic="", protection=""))
            masks.append(learnt_people(risks[0], limits))
    except TellallError as error:
        return error
    return together(outcomes), masks


def _identity(work: tuple[tuple[Planned, ...], int, str, Limits]) -> list[object] | None:
    """What decides the answer to a piece, as plain data; None if own classes do."""
    releases, seed, decoder, limits = work
    known = planned_identity(releases)
    return None if known is None else [known, seed, decoder, asdict(limits)]


def _to_plain(found: tuple[Outcome, list[Mask]] | TellallError) -> dict[str, Any]:
    if isinstance(found, TellallError):
        return {"reason": str(found)}
    outcome, masks = found
    packed = [[int(mask.size), np.packbits(mask).tobytes().hex()] for mask in masks]
    return {"outcome": outcome.to_plain(), "learnt": packed}


def _parsed(plain: dict[str, Any]) -> tuple[Outcome, list[Mask]] | TellallError:
    if "reason" in plain:
        return TellallError(str(plain["reason"]))
    masks = [
        np.unpackbits(np.frombuffer(bytes.fromhex(packed), np.uint8), count=size).astype(bool)
        for size, packed in plain["learnt"]
    ]
    return Outcome.from_plain(plain["outcome"]), masks


_FORM = Form("culprits", _identity, _to_plain, _parsed)


def _worst(audit: Audit) -> Finding | None:
    """The finding that gives most people away among those that do not pass, of the fewest releases."""
    bad = [finding for finding in audit.found if finding.verdict.word != "pass"]
    return max(
        bad,
        key=lambda one: (
            one.verdict.rank,
            audit.limits.count(one.outcome.learnt),
            one.outcome.advantage,
            -len(one.job.members),
        ),
        default=None,
    )


@dataclass(frozen=True, eq=False)
class _Rest:
    """What is left of a set of releases without one part."""

    kind: PartKind
    name: str
    releases: tuple[Planned, ...]


def _without(releases: tuple[Planned, ...], setting: Setting) -> Iterator[_Rest]:
    several = len(releases) > 1
    if several:
        for one in releases:
            yield _Rest("release", one.name, tuple(other for other in releases if other is not one))
    for one in releases:
        for part in parts_of(one, setting):
            name = f"{part.name} in “{one.name}”" if several else part.name
            kept = replace(one, statistic=part.kept)
            yield _Rest(part.kind, name, tuple(kept if other is one else other for other in releases))


def _added(rest: _Rest, whole: Outcome, left: Outcome, limits: Limits) -> CulpritPart:
    """What is given away without a part, and what the part adds."""
    before, after = _numbers(whole, limits), _numbers(left, limits)
    adds = Added(**{name: before[name] - after[name] for name in before})
    return CulpritPart(kind=rest.kind, name=rest.name, adds=adds, **after)


def _numbers(found: Outcome, limits: Limits) -> dict[str, float]:
    return {
        "proved": found.proved,
        "exposed": found.exposed_people,
        "learnt": limits.count(found.learnt),
        "advantage": found.share_gained[0],
    }


def learnt_people(risk: Risk, limits: Limits) -> Mask:
    """Which of all people are proved alone or exposed and have a sensitive value."""
    learnt = risk.learnt
    if limits.sensitive is not None:
        learnt &= np.isin(risk._truth, [int(value) for value in limits.sensitive])
    return risk.spread(learnt, nothing=False)


# Who is given away, in counts that reveal no single person


def who_is_learnt(public: Public, learnt: Mask) -> tuple[ExposedTable, ...]:
    """The people given away, by one column or by how many are alike; nothing where that names somebody.

    It is at most one table: see `most_telling`.
    """
    found = most_telling(_tables(public), learnt) if learnt.any() else None
    if found is None:
        return ()
    by, rows = found
    return (ExposedTable(by=by, rows=tuple(_row(crowd, learnt) for crowd in rows)),)


def _tables(public: Public) -> Iterator[tuple[str, list[Crowd]]]:
    alike = public.patterns.counts[public.patterns.index]
    sizes = [Crowd((text,), (alike >= least) & (alike <= most)) for least, most, text in _SIZES]
    yield _ALIKE, [crowd for crowd in sizes if crowd.people.any()]
    for column, codes in zip(public.columns, public.codes, strict=True):
        values = [Crowd((str(label),), np.asarray(codes == code)) for code, label in enumerate(column.labels)]
        yield column.name, [crowd for crowd in values if crowd.people.any()]


def _row(crowd: Crowd, learnt: Mask) -> ExposedRow:
    people, count = crowd.counted(learnt)
    return ExposedRow(values=crowd.values, people=people, learnt=count)
