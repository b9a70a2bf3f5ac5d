"""Trial: releases drawn, attacked and scored. Audits, sweeps, calibrations and areas all run trials."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from math import isfinite
from typing import Any

import numpy as np

from tellall.attack.baselines import Baseline, before_any_release, by_accepted, of_releases, prior_of
from tellall.attack.prove.proof import EFFORT, Proof
from tellall.attack.reconstruct.attack import Reconstruction, reconstruct_releases
from tellall.attack.reconstruct.decoders import DECODERS, TRIED
from tellall.attack.reconstruct.reals import Whitened
from tellall.attack.secret import Secret
from tellall.audits.consistency import clashes_in, count_few
from tellall.audits.draws import SharedSystem
from tellall.audits.measures.revealing_cells import (
    USUAL_RULES,
    CellRules,
    NumberCells,
    all_reasons,
    cells_of,
)
from tellall.audits.measures.risk import Risk, risks_of, strongest_way
from tellall.audits.measures.utility import ReaderLoss, readers_of
from tellall.audits.outcome import Foreseen, Outcome, Promised
from tellall.audits.plans.attacker import INSIDER, Attacker
from tellall.core.errors import TellallError, invalid
from tellall.core.reasons import Reason
from tellall.core.work import one_thread
from tellall.evidence.query import Asked, Query, as_query, seen_by
from tellall.evidence.view import EVERYTHING
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.people.dataset import Dataset
from tellall.privacy.bounds.gauge import gauge_together
from tellall.protections.guarantee import Guarantee, together
from tellall.protections.protection import (
    Noise,
    Protection,
    Rng,
    as_rng,
    guarantee_of,
    is_random,
    prepare,
)
from tellall.release import catalogue
from tellall.release.release import Computed, Release
from tellall.statistics.conditions import Subset
from tellall.statistics.statistic import Statistic

__all__ = [
    "DELTA",
    "Planned",
    "Setting",
    "Trial",
    "affordable",
    "check_decoders",
    "seed_of",
    "strongest",
    "untried",
]

PRIORS = {"informed": "public", "outside": "outside columns"}  # the baseline that each prior is
_PRIORLESS = ("lp",)  # decoders that find the same answer whatever the prior
DELTA = 1e-6  # of every (ε, δ) that is reported for a law with a whole curve of them
GAUGED = 4000  # distinct public rows up to which the danger gauge, cubic in them, is worth its time
_RANKED = 1000  # up to which the rank is, too
_MOST_WORK = 50_000  # people × draws of slow decoders, where none is named


@dataclass(frozen=True, eq=False)
class Planned:
    """One planned release: a statistic, the protections it gets, in order, and whose it is.

    ``where`` is the condition or the mask of the people whom it is about, None for everybody.
    ``stream`` separates the random numbers of releases that are drawn with the same seed. ``given`` is the
    release if it is published already, and ``source`` its file; nothing is drawn then.
    """

    name: str
    statistic: Statistic
    protections: tuple[Protection, ...] = ()
    stream: int = 0
    given: Release | None = None
    source: str = ""
    where: Subset | None = None

    @classmethod
    def published(cls, name: str, release: Release, source: str = "") -> Planned:
        """A release that is published already."""
        return cls(
            name, release.statistic, release.protections, given=release, source=source, where=release.where
        )

    @property
    def query(self) -> Query:
        """What is published, before anything is done to it, and of whom."""
        return Query(self.statistic, self.where)

    @property
    def label(self) -> str:
        """The protections in a few words."""
        return catalogue.label(self.protections)

    @property
    def described(self) -> str:
        """The name of a release that a plan gives none: what is published and how."""
        return f"{self.query.describe()}, {self.label}"

    @cached_property
    def described_fully(self) -> str:
        """All that is planned but the name, as text that equal releases share; nothing about the data."""
        try:
            what, whom = self.query.identity()
        except TellallError:  # a class of one's own
            what, whom = self.query.describe(), None
        return json.dumps([what, whom, [catalogue.published(one) for one in self.protections]], default=repr)

    def stream_of(self, equal: int) -> int:
        """The stream of its random numbers if so many equal releases come before it.

        It hangs on nothing else: moving a release, or adding others, does not draw it again.
        """
        told = sha256(json.dumps([self.described_fully, equal]).encode()).digest()
        return int.from_bytes(told[:6], "little") + 1

    def as_json(self) -> dict[str, Any]:
        """The release as a plan writes it."""
        plain: dict[str, Any] = {"name": self.name, "statistic": catalogue.shown(self.statistic)}
        if self.where is not None and self.where.words is not None:  # a mask is not written down
            plain["where"] = self.where.words
        plain["protect"] = [catalogue.published(protection) for protection in self.protections]
        if self.given is not None:
            plain["published"] = sha256(self.given.values.tobytes()).hexdigest()
        return plain

    def identity(self, count: int | None = None) -> list[object] | None:
        """What decides the values with the first ``count`` protections, or all; plain data for a hash.

        None if classes from outside tellall do, whose code may change. Cell keys are in it, so it must never
        be written down.
        """
        done = self.protections[:count]
        try:
            what, whom = self.query.identity()
            plain = [what, *map(catalogue.to_plain, done)]
        except TellallError:
            return None
        return [plain, whom, [getattr(one, "key", None) for one in done]]


class Setting:
    """People whose releases are attacked again and again, with everything that the attacks share.

    Baselines are functions of people, statistics and what the attacker knows, so they are computed once. With
    a random ``key`` outcomes keep who is proved, shuffled by it. ``seed`` decides whom the attacker knows,
    ``rules`` what cells of numbers must keep, ``accepted`` which public
    columns may tell the secret.
    """

    def __init__(
        self,
        people: Dataset,
        device: str = "cpu",
        key: bytes | None = None,
        attacker: Attacker = INSIDER,
        seed: int = 0,
        rules: CellRules = USUAL_RULES,
        accepted: Sequence[str] = (),
    ) -> None:
        if not isinstance(people, Dataset):
            raise invalid("dataset", "a Dataset", type(people).__name__, "Make one with ta.read.")
        if people.secret is None:
            raise invalid("dataset", "one with a secret", "no secret")
        if not isinstance(attacker, Attacker):
            raise invalid("attacker", "one of Plan.attackers", attacker)
        self.people = people
        self.device = device
        self.key = key
        self.rules = rules
        self.accepted = tuple(accepted)
        self.truth = people.secret
        self.secret = Secret.of(people.levels)
        self.attacker, self.stand = attacker, attacker.stand(people, seed)
        self._computed: list[tuple[Query, Computed]] = []
        self._cells: list[tuple[Query, NumberCells | None]] = []
        self._whose = "" if attacker.knows_all else f" of {attacker} {seed}"
        also = "".join(f" {name!r}" for name in self.accepted)
        known = people.memory.setdefault(f"populations{self._whose}{also}", [])
        self._populations: list[tuple[tuple[Query, ...], tuple[Baseline, ...]]] = known
        self.shared = SharedSystem()

    @property
    def before(self) -> tuple[Baseline, ...]:
        """The baselines that no release changes, for everybody whom the attacker knows."""
        return self._before(np.arange(self.stand.view.n))

    def _before(self, judged: IntArray) -> tuple[Baseline, ...]:
        view, truth = self.stand.view, self.truth[self.stand.rows]
        key, known = f"before{self._whose} {sha256(judged.tobytes()).hexdigest()}", self.people.memory
        if key not in known:
            public = view if judged.size == view.n else view.take(judged)
            with one_thread():
                known[key] = before_any_release(public, truth[judged], self.secret)
        found: tuple[Baseline, ...] = known[key]
        listed = [name for name in self.accepted if name in view.names]
        if not listed or not self.secret.levels:
            return found
        public = view if judged.size == view.n else view.take(judged)
        return (*found, by_accepted(public, truth[judged], self.secret, listed))

    def judged(self, asked: Sequence[Asked]) -> IntArray:
        """The people on whom attacks on these statistics are judged, by row in the attacker's view."""
        return self.stand.judged([as_query(one).where for one in asked], self.people.public)

    def baselines(self, asked: Sequence[Asked]) -> tuple[Baseline, ...]:
        """All baselines of releases of these statistics, for the people who are judged."""
        wanted, judged = tuple(map(as_query, asked)), self.judged(asked)
        for known, found in self._populations:
            if _equal(known, wanted):
                return (*self._before(judged), *found)
        view, truth = self.stand.view, self.truth[self.stand.rows][judged]
        seen = [one for one in map(self._seen, wanted) if one is not None]
        if judged.size < view.n:
            seen, view = [one.take(judged, view) for one in seen], view.take(judged)
        before = self._before(judged)
        with one_thread():
            self._populations.append((wanted, of_releases(seen, view, truth, self.secret, before)))
        return (*before, *self._populations[-1][1])

    def priors(self, asked: Sequence[Asked]) -> dict[str, Array]:
        """What the attacker believes about everybody in view before the releases, by the name of the prior.

        Each is a baseline, exactly as it is used. A prior that tells nobody apart is left out.
        """
        if not self.secret.levels:
            return {}
        judged, out = self.judged(asked), dict[str, Array]()
        found = {one.name: one for one in self.baselines(asked)}
        for prior, name in PRIORS.items():
            own = prior_of(found[name]) if name in found else None
            if own is None:
                continue
            everybody = np.broadcast_to(own.mean(axis=0), (self.stand.view.n, *own.shape[1:])).copy()
            everybody[judged] = own
            out[prior] = everybody
        return out

    def _seen(self, query: Query) -> Query | None:
        """A statistic as the attacker can use it; None if they cannot."""
        if self.attacker.knows_all:
            return query
        return seen_by(self.exact(query).publish((), None), self.stand.view)

    @property
    def models(self) -> tuple[tuple[tuple[Query, ...], tuple[Baseline, ...]], ...]:
        """The baselines found so far, by the statistics they belong to."""
        return tuple(self._populations)

    def learn(self, models: Sequence[tuple[tuple[Query, ...], tuple[Baseline, ...]]]) -> None:
        """Takes over baselines of the same people that were found elsewhere."""
        for wanted, found in models:
            if not any(_equal(known, wanted) for known, _ in self._populations):
                self._populations.append((wanted, found))

    def exact(self, asked: Asked) -> Computed:
        """The statistic of these people, settled and computed once."""
        query = as_query(asked)
        for given, known in self._computed:
            if _equal(given, query):
                return known
        self._computed.append((query, Computed.of(query.statistic, self.people, query.where)))
        return self._computed[-1][1]

    def cells(self, query: Query) -> NumberCells | None:
        """What the values of the statistic say about contributors, computed once; None if they are none."""
        for given, known in self._cells:
            if _equal(given, query):
                return known
        self._cells.append((query, cells_of(query.statistic, query.where, self.people, self.rules)))
        return self._cells[-1][1]

    def units(self, statistic: Statistic) -> str:
        """What published values, and the noise on them, are measured in."""
        return statistic.measured_in()

    def reach(self, asked: Asked) -> float:
        """The noise on a published value at which the best linear guess of a bit is right 0.84 of the time.

        √(mean square of a person's coefficients, summed over values)/2, in the units of what is published.
        """
        known, public = self.exact(asked), self.people.public
        units = known.statistic.units(known.dataset.public)
        operator = Query(known.statistic, known.where).equations(public, known.clean * units).operator
        energy = operator.squared().rmatvec(np.ones(operator.shape[0], dtype=operator.dtype))
        return float(np.sqrt(energy.mean())) / 2 / units


@dataclass(frozen=True, eq=False)
class Trial:
    """One experiment: what is published about whom, drawn how often.

    The draws depend on the seed, the release's stream and the draw's number alone, so that every decoder,
    and every protection of a sweep, meets the same random numbers. The first draw of a release without a
    stream is what `publish` gives with the same seed. ``effort`` is how many steps each search for proofs may
    take, ``first`` the number of the first draw.
    """

    setting: Setting
    releases: tuple[Planned, ...]
    draws: int = 1
    seed: int = 0
    effort: int = EFFORT
    first: int = 0

    @cached_property
    def published(self) -> list[tuple[Release, ...]]:
        """The releases of each draw; one draw if nothing is random."""
        made = [self._drawing(planned) for planned in self.releases]
        chance = any(planned.given is None and is_random(planned.protections) for planned in self.releases)
        needed = self.draws if chance else 1
        return [tuple(draw(number) for draw in made) for number in range(self.first, self.first + needed)]

    def _drawing(self, planned: Planned) -> Callable[[int], Release]:
        """The function that makes the release of each draw."""
        if (given := planned.given) is not None:
            return lambda draw: given
        known = self.setting.exact(planned.query)
        done = prepare(planned.protections, known.statistic, known.dataset.public)
        return lambda draw: known.publish(done, _stream(self.seed, planned.stream, draw))

    @property
    def shares_draws(self) -> bool:
        """Whether additive noise is the only protection, so that draws differ only in their values."""
        return bool(self.releases[0].protections) and all(
            isinstance(protection, Noise) for protection in self.releases[0].protections
        )

    def warm(self) -> None:
        """Computes now what the draws share."""
        drawn = [releases[0] for releases in self.published[:2]]
        self.setting.shared.warm(drawn, self.setting.people.public)

    @cached_property
    def _proofs(self) -> dict[int, Proof]:
        """The proofs of each draw that are known so far: all decoders share them."""
        return {}

    def attack(self, decoder: str = "auto") -> list[Reconstruction]:
        """The attack on each draw."""
        return list(self.attacks(decoder))

    def attacks(self, attack: str = "auto") -> Iterator[Reconstruction]:
        """The attack on one draw after the other; least squares on many shares one decomposition.

        ``attack`` names the decoder and, after a comma, the prior, as :meth:`ways` does.
        """
        setting = self.setting
        decoder, _, name = attack.partition(", ")
        prior = setting.priors(self.queries).get(name) if name else None
        found: Sequence[Reconstruction | None] = [None] * len(self.published)
        alone = len(self.releases) == 1 and setting.attacker.knows_all
        if alone and decoder in setting.secret.shared_decoders:
            drawn = [releases[0] for releases in self.published]
            public = setting.people.public
            found = setting.shared.attack(drawn, public, self._proofs, self.effort, prior)
        for draw, known in enumerate(found):
            yield known or self._alone(draw, decoder, prior)

    @property
    def queries(self) -> list[Query]:
        """What is published, and of whom."""
        return [planned.query for planned in self.releases]

    def ways(self, decoders: Sequence[str]) -> tuple[str, ...]:
        """The attacks to try: every decoder with one rate for everybody, and with every prior that it uses.

        *informed*: each person's chance by the public columns; *outside*: by those that no release uses.
        """
        found = list(decoders)
        for prior in self.setting.priors(self.queries):
            found += [f"{decoder}, {prior}" for decoder in decoders if decoder not in _PRIORLESS]
        return tuple(found)

    def _alone(self, draw: int, decoder: str, prior: Array | None = None) -> Reconstruction:
        """The attack on one draw."""
        setting, known = self.setting, self.setting.stand.known
        found = reconstruct_releases(
            self.published[draw],
            setting.stand.view,
            decoder,
            prior,
            device=setting.device,
            effort=self.effort,
            decompose=setting.shared.decompose if known is EVERYTHING else Whitened.of,
            proof=self._proofs.get(draw),
            interruptible=False,
            known=known,
        )
        self._proofs[draw] = found.proof
        return found

    def scored(self, decoder: str = "auto") -> tuple[list[Reconstruction], list[Risk]]:
        """Each draw's attack with its risk."""
        attacks = self.attack(decoder)
        return attacks, self.risks(attacks)

    def risks(self, attacks: Sequence[Reconstruction]) -> list[Risk]:
        """The risk of each draw's attack, compared with the baselines, for the strongest way of guessing."""
        queries, setting = self.queries, self.setting
        judged, rows = setting.judged(queries), setting.stand.rows
        truth, known = setting.truth[rows[judged]], setting.baselines(queries)
        least = setting.rules.threshold
        found = strongest_way([risks_of(attack, truth, known, judged, least) for attack in attacks])
        return [replace(risk, rows=rows[judged], everybody=setting.people.n) for risk in found]

    def run(self, decoder: str = "auto", *, tried: int = 1) -> Outcome:
        """What the attack achieves over all draws; ``tried`` in all are tried on these releases.

        ``decoder`` names the decoder and, after a comma, the prior.
        """
        with one_thread():
            attacks, risks = self.scored(decoder)
            survival = attacks[0].survival if attacks[0].decoder == "lp" else None
            return Outcome.of(
                attacks,
                risks,
                tried=tried,
                key=self.setting.key,
                asked=decoder,
                statistic=" + ".join(dict.fromkeys(one.query.describe() for one in self.releases)),
                protection=" + ".join(dict.fromkeys(one.label for one in self.releases)),
                loss=self.loss,
                promised=self.promised,
                foreseen=self.foreseen,
                survives=None if survival is None else survival.share,
                **self._consistent(attacks[0]),
                cells=self.cells,
            )

    def _consistent(self, attack: Reconstruction) -> dict[str, Any]:
        """How many secrets fit the first draw, and which values contradict each other, for every decoder."""
        if "possible" not in self._told:
            self._told["clash"] = clashes_in(attack, [one.name for one in self.releases])
            self._told["possible"] = count_few(attack)
        return self._told

    @cached_property
    def _told(self) -> dict[str, Any]:
        """What `_consistent` has found out."""
        return {}

    def run_all(self, decoders: Sequence[str]) -> tuple[Outcome, ...]:
        """What each decoder achieves with each prior, intervals corrected for the number of attacks."""
        ways = self.ways(decoders)
        return tuple(self.run(way, tried=len(ways)) for way in ways)

    @cached_property
    def loss(self) -> ReaderLoss | None:
        """What the reader of one release loses; None for several releases."""
        if len(self.releases) != 1:
            return None
        known = replace(self.setting.exact(self.releases[0].query), where=None)
        clean = known.publish((), None)
        drawn = [replace(releases[0], statistic=known.statistic, where=None) for releases in self.published]
        return ReaderLoss.of(clean, drawn, known.dataset, readers_of(clean, known.dataset))

    @cached_property
    def cells(self) -> tuple[Reason, ...]:
        """Why cells of numbers do not pass, whatever attacks find; over draws, the most of any."""
        setting = self.setting
        known = [setting.cells(planned.query) for planned in self.releases]
        return all_reasons(
            [
                cells.reasons(release, planned.name, setting.people, setting.rules)
                for planned, cells, drawn in zip(
                    self.releases, known, zip(*self.published, strict=True), strict=True
                )
                for release in drawn
                if cells is not None
            ]
        )

    @cached_property
    def promised(self) -> Promised:
        """The differential privacy that the protections promise.

        For several releases with independent noise, ε and δ add up. If one promises nothing, or they mean
        different neighbours, nothing is promised.
        """
        known = [self._guarantee(one) if one.protections else None for one in self.releases]
        kept = [one for one in known if one is not None and isfinite(one.epsilon)]
        relations = {one.relation for one in kept}
        if len(kept) < len(self.releases) or len(relations) != 1:
            return Promised()
        profile = together(kept)
        return Promised(
            epsilon=sum(one.epsilon for one in kept),
            delta=sum(one.delta for one in kept),
            relation=relations.pop(),
            text="; ".join(dict.fromkeys(one.text for one in kept)),
            advantage=profile.advantage(),
            tpr=float(profile.tpr(0.01)),
        )

    def _guarantee(self, planned: Planned) -> Guarantee | None:
        """What the protections of one release promise."""
        public = self.setting.people.public
        return guarantee_of(planned.protections, planned.statistic, public, delta=DELTA, where=planned.where)

    @cached_property
    def foreseen(self) -> Foreseen | None:
        """The danger gauge of the planned releases; None if it does not apply.

        It does not apply to statistics whose equations depend on the published values, to a secret that
        everybody or nobody has, to secrets other than bits, to an attacker who does not know everything, or
        beyond 4000 distinct public rows. Beyond 1000 the rank is not computed. O(groups³).
        """
        distinct = len(self.setting.people.patterns)
        if self.setting.secret.levels != 2 or distinct > GAUGED or not self.setting.attacker.knows_all:
            return None
        public, rate = self.setting.people.public, float(np.mean(self.setting.truth))
        try:
            parts = [
                (one.query, prepare(one.protections, one.statistic, one.query.part(public)))
                for one in self.releases
            ]
            found = gauge_together(parts, public, rate=rate, plain=distinct <= _RANKED)
        except (TellallError, np.linalg.LinAlgError, MemoryError):
            return None
        if not isfinite(found.with_prior):
            return None
        ignored = [
            catalogue.label([given])
            for planned, (_, done) in zip(self.releases, parts, strict=True)
            for given, ready in zip(planned.protections, done, strict=True)
            if ready.hides or not ready.law.known
        ]
        return Foreseen(
            equations=found.equations,
            people=found.people,
            groups=found.groups,
            rank_cap=found.rank_cap,
            rank=found.rank,
            accuracy=found.with_prior,
            limit=found.limit,
            rate=rate,
            ignored=tuple(dict.fromkeys(ignored)),
        )


def _equal(one: object, other: object) -> bool:
    """Whether two statistics, or lists of them, are equal; with arrays, only if they are one object."""
    try:
        return one is other or bool(one == other)
    except ValueError:  # the truth value of an array
        return False


def _stream(seed: int, stream: int, draw: int) -> np.random.Generator:
    return np.random.default_rng([seed, stream, draw] if stream or draw else seed)


def strongest(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome with the largest advantage, then with the most people exposed."""
    return max(outcomes, key=lambda one: (one.advantage, one.exposed_people, one.proved))


def affordable(people: int, draws: int, levels: int) -> tuple[str, ...]:
    """The decoders to try if none is named: all that are affordable for this many people and draws.

    Least squares always; "auto", the strongest that applies, for one draw or up to 50,000 people × draws; LP
    decoding, and others in ``TRIED``, up to their own number of people as well (1000 for LP). For real
    secrets only least squares.
    """
    if not levels:
        return ("least-squares",)
    few = people * draws <= _MOST_WORK
    chosen = ["auto"] if few or draws == 1 else []
    chosen += [name for name, most in TRIED.items() if not isfinite(most) or (few and people <= most)]
    return tuple(chosen)


def untried(chosen: Sequence[str], levels: int) -> tuple[str, ...]:
    """The decoders that were left out for the time they take."""
    slow = ("auto", *(name for name, most in TRIED.items() if isfinite(most)))
    return tuple(name for name in slow if levels and name not in chosen)


def check_decoders(decoders: Sequence[str] | None, people: int, draws: int, levels: int) -> tuple[str, ...]:
    """The decoders that are named, or the affordable ones if none is."""
    if decoders is None:
        return affordable(people, draws, levels)
    names = (decoders,) if isinstance(decoders, str) else tuple(decoders)
    for name in names:
        if name != "auto" and name not in DECODERS:
            raise invalid("decoders", f"among 'auto', {', '.join(map(repr, DECODERS))}", name)
    if not names:
        raise invalid("decoders", "one or more, or None", "none")
    return names


def seed_of(rng: Rng) -> int:
    """A seed: the given one, or one drawn from the generator."""
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0:
        return int(rng)
    return int(as_rng(rng).integers(2**31))
