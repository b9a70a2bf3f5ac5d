"""What the papers share: claims, the rules of their verdicts, parts of a rerun, and means over runs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from string import Formatter
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.core.work import Progress, Tell, counter, one_thread
from tellall.report.kit.plot import Figure, Kind, Series, number
from tellall.report.paper import IndexEntry, PaperRerun, PaperTable, Statement
from tellall.report.paper_words import GRAVEST, PaperVerdict

__all__ = [
    "Array",
    "Case",
    "Claim",
    "Found",
    "Joined",
    "NamedCase",
    "Numbered",
    "Paper",
    "PaperPart",
    "Progress",
    "Tell",
    "attributes_for",
    "binomial",
    "case_of",
    "counter",
    "filled",
    "interval_series",
    "mean_of",
    "objects_in",
    "run_parts",
    "share_of",
]

Array = npt.NDArray[np.floating[Any]]
Case = Mapping[str, Any]
NamedCase = tuple[str, Case]
Found = tuple[Iterable[Figure], Iterable[NamedCase]]
_SLACK = 1e-12
_KIND = re.compile(
    "(?P<rule>at least|at most|holds if|by choice, else|) ?"
    "(?P<name>.*?)(?P<within> within our range)?(?P<own> on its own data)?"
)
_MENDED: Mapping[str, PaperVerdict] = {  # what may stand alone, or behind "by choice, else"
    "": "our own addition",
    "not tried": "not tried",
    "false as worded": "false as worded",
    "constant": "constant",
    "gap in the proof": "gap in the proof",
    "wording": "wording",
    "copy": "copy",
    "not reproduced": "not reproduced",
}


def binomial(successes: Any, trials: int, chance: float) -> Any:
    """The probability of each number of successes in a number of trials.

    Examples
    --------
    >>> binomial(np.arange(3), 2, 0.5).tolist()
    [0.25, 0.5, 0.25]
    """
    from scipy.special import binom, xlog1py, xlogy

    failures = np.subtract(trials, successes)
    return binom(trials, successes) * np.exp(xlogy(successes, chance) + xlog1py(failures, -chance))


class Joined(tuple[float, ...]):
    """Numbers that a template writes one after the other: "{values:.2g}" gives "0.5, 0.25"."""

    def __format__(self, spec: str) -> str:
        return ", ".join(format(value, spec) for value in self)


@dataclass(frozen=True)
class Claim:
    """One row of a paper's table of claims, as its file has it.

    Every text is a template that is filled in from the case an experiment reports: "n = {n:,}" or, as pages
    write numbers, "{value!n}". `{shown}` is the value with its interval.

    Attributes
    ----------
    key
        The name under which the experiments report; each case they report becomes one statement.
    what, where
        The claim in a few words, and its number in the paper.
    paper
        What the paper says, in its words and with its numbers; empty for our own additions. Numbers that are
        filled in have names that begin with "paper".
    run
        The experiment that reports on it, by the name of its function.
    tested
        How it was tested.
    ours
        What we found.
    kind
        The verdict, or how it follows from the case: "at least 0.95", "at most bound" (a number of the case
        or of the settings), "holds if close" (what the case says under that name); a correction ("false as
        worded", "constant", "gap in the proof", "wording", "copy"), which the case's `mended` confirms; "by
        choice, else constant" for a choice that the paper leaves open: "holds" whatever is chosen, "wording"
        where it depends. It may end with " within our range", where the paper gives no sizes or constants, so
        that "holds" is said of the sizes and bars tried only; and with " on its own data", where it is about
        the paper's data, so that on other data it was not tried. Empty for our own additions.
    settings
        Numbers that texts, kinds and experiments of the paper share.
    """

    key: str
    what: str
    where: str
    paper: str = ""
    run: str = ""
    tested: str = ""
    ours: str = "{shown}"
    kind: str = ""
    settings: Case = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        for _, name, _, _ in Formatter().parse(self.paper):
            if name and not name.startswith("paper"):
                raise invalid("paper", "the paper's words and numbers, in fields named paper…", name)
        words = _MENDED if self._rule == "" else [word for word in _MENDED if word not in ("", "not tried")]
        if self._rule in ("", "by choice, else") and self._name not in words:
            raise invalid("kind", f"a rule, or one of {', '.join(filter(None, words))}", self.kind)

    @cached_property
    def _parts(self) -> re.Match[str]:
        return cast("re.Match[str]", _KIND.fullmatch(self.kind))

    @property
    def _rule(self) -> str:
        return self._parts["rule"]

    @property
    def _name(self) -> str:
        return self._parts["name"]

    @property
    def own_data(self) -> bool:
        """Whether it is about the paper's own data."""
        return self._parts["own"] is not None

    @property
    def asymptotic(self) -> bool:
        """Whether the paper gives no sizes or constants."""
        return self._parts["within"] is not None

    @property
    def possible(self) -> frozenset[PaperVerdict]:
        """The verdicts that it can be given."""
        holds: PaperVerdict = "holds within our range" if self.asymptotic else "holds"
        cases = ({"mended": yes, "always": False, "sometimes": yes} for yes in (True, False))
        if self._rule == "":
            return frozenset(map(self.verdict, cases))
        return frozenset(
            {holds, *map(self.verdict, cases)} if "choice" in self._rule else {holds, "not reproduced"}
        )

    def bound(self, case: Case) -> float | None:
        """What the value of a case is compared with, if anything."""
        if self._rule not in ("at least", "at most"):
            return case.get("bound")
        known = {**self.settings, **case}
        return float(known.get(self._name, self._name))

    def verdict(self, case: Case, *, other_data: bool = False) -> PaperVerdict:
        """The verdict on one case."""
        if other_data and self.own_data:
            return "not tried (other data)"
        found = self._found(case)
        return "holds within our range" if self.asymptotic and found == "holds" else found

    def _found(self, case: Case) -> PaperVerdict:
        match self._rule:
            case "":
                fixed = self._name in ("", "not tried") or case["mended"]
                return _MENDED[self._name] if fixed else "not reproduced"
            case "by choice, else":
                return "holds" if case["always"] else "wording" if case["sometimes"] else _MENDED[self._name]
            case "holds if":
                fine = bool(case[self._name])
            case side:
                sign = 1 if side == "at least" else -1
                fine = sign * (case["value"] - (self.bound(case) or 0.0)) >= -_SLACK
        return "holds" if fine else "not reproduced"

    def judged(self, case: Case, *, other_data: bool = False) -> Statement:
        """The statement for one case.

        Examples
        --------
        >>> row = Claim("k", "soundness", "Prop. 2", "at most δ", tested="n = {n}", kind="at most 0.05")
        >>> print(row.judged({"value": 0.01, "n": 10}))
        holds                   soundness (Prop. 2) [n = 10]
                                ours: 0.01; the paper: at most δ
        """
        value, bound, interval = case.get("value"), self.bound(case), case.get("interval")
        known = {"shown": _shown(value, interval), **self.settings, **case}
        texts = (self.what, self.where, self.paper, self.tested, self.ours)
        what, where, paper, tested, ours = (_Words().vformat(text, (), known) for text in texts)
        verdict = self.verdict(case, other_data=other_data)
        value, bound = (None if one is None else float(one) for one in (value, bound))
        return Statement(what, where, paper, tested, ours, verdict, value, bound, interval, self.key)


@dataclass(frozen=True)
class Numbered:
    """A numbered object of a paper: its number, what it says in a few words, and why if no claim tests it."""

    number: str
    says: str
    why: str = ""


@dataclass(frozen=True)
class Paper:
    """A paper: what it is called, its table of claims, what a reader has to know, and its index.

    The index lists every numbered object in the paper's order. Plain words between them are places ("Sec.
    4.1") that claims name too; they say where such a claim stands. `settings` are numbers that texts and
    experiments share, `effort` the sizes and runs of each experiment, quick and full, and `tables` the
    paper's own tables.
    """

    name: str
    title: str
    reference: str
    claims: tuple[Claim, ...]
    notes: tuple[str, ...]
    index: tuple[Numbered | str, ...] = ()
    settings: Case = field(default_factory=dict)
    effort: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    tables: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def part(self, run: Callable[..., Found], *given: Any, work: int = 1) -> PaperPart:
        """The part that runs an experiment, `run(*given, rng, tell)`, for the claims that name it."""
        return PaperPart(partial(run, *given), work, self.reported_by(run))

    def reported(self, run: Callable[..., Iterable[NamedCase]], *given: Any, work: int = 1) -> PaperPart:
        """The part that runs `run(*given, rng)`, an experiment that draws no figures."""
        return PaperPart(partial(_without_figures, run, given), work, self.reported_by(run))

    def reported_by(self, run: Callable[..., Any]) -> tuple[str, ...]:
        """The claims that an experiment reports on."""
        name = run.__name__.lstrip("_")
        found = tuple(one.key for one in self.claims if one.run == name)
        if not found:
            raise invalid("run", "an experiment that some claim names", name)
        return found

    def check_about(self, words: str) -> None:
        """Raises an error before anything is run if the words name no object or place and no erratum."""
        named = {one if isinstance(one, str) else one.number for one in self.index}
        named |= {part for claim in self.claims for part in objects_in(claim.where)}
        if words not in named:
            raise invalid("about", "a number of the paper, as “Thm. 3.3”, or an erratum, as “E-LR-1”", words)

    def keys_about(self, words: str) -> frozenset[str] | None:
        """The claims about an object, place or erratum; None, for all, if no words are given."""
        if not words:
            return None
        return frozenset(one.key for one in self.claims if words in objects_in(one.where))

    def rerun(
        self,
        figures: Iterable[Figure],
        cases: Iterable[NamedCase],
        rng: object,
        quick: bool,
        *,
        stand_in: str = "",
        tables: Iterable[PaperTable] = (),
        **more: Any,
    ) -> PaperRerun:
        """The record of a rerun from what its experiments found; `stand_in` names data not the paper's."""
        places = [one if isinstance(one, str) else one.number for one in self.index]
        order = {place: position for position, place in enumerate(places)}

        def position(one: Statement) -> int:
            return min(
                (order[place] for place in objects_in(one.where) if place in order), default=len(order)
            )

        statements = tuple(sorted(filled(self.claims, cases, other_data=bool(stand_in)), key=position))
        return PaperRerun(
            name=self.name,
            title=self.title,
            reference=self.reference,
            statements=statements,
            figures=tuple(figures),
            **{"notes": self.notes, "quick": quick, **more},
            index=tuple(_entry(one, statements) for one in self.index if isinstance(one, Numbered)),
            seed=rng if isinstance(rng, int) else None,
            stand_in=stand_in,
            tables=tuple(tables),
        )


def objects_in(where: str) -> tuple[str, ...]:
    """The objects and places that a claim is about.

    Examples
    --------
    >>> objects_in("proof of Thm. 3.3, Cor. 3.7, E-LR-1")
    ('Thm. 3.3', 'Cor. 3.7', 'E-LR-1')
    """
    return tuple(part.removeprefix("proof of ") for part in where.split(", "))


def _entry(one: Numbered, statements: Sequence[Statement]) -> IndexEntry:
    """The index entry of an object; our own additions are listed with it but do not test it."""
    about = [place for place, said in enumerate(statements, 1) if one.number in objects_in(said.where)]
    words = {statements[place - 1].verdict for place in about}
    verdict: PaperVerdict = next((word for word in GRAVEST if word in words), "not tried")
    why = ""
    if verdict == "not tried":
        why = one.why or ("as said there" if about else "nothing in this run is about it")
    return IndexEntry(one.number, one.says, verdict, tuple(about), why)


def filled(
    claims: Sequence[Claim], cases: Iterable[NamedCase], *, other_data: bool = False
) -> tuple[Statement, ...]:
    """The statements, in the order of the claims; a claim without a case is left out."""
    by_key: dict[str, list[Case]] = {claim.key: [] for claim in claims}
    for key, case in cases:
        by_key[key].append(case)
    return tuple(claim.judged(case, other_data=other_data) for claim in claims for case in by_key[claim.key])


def _without_figures(
    run: Callable[..., Iterable[NamedCase]], given: tuple[Any, ...], rng: np.random.Generator, tell: Tell
) -> Found:
    return (), run(*given, rng)


class PaperPart(NamedTuple):
    """A part of a rerun: what to run, about how many seconds it takes, and the claims it reports on.

    Without claims it belongs to every question about the paper.
    """

    run: Callable[[np.random.Generator, Tell], Found]
    work: int = 1
    claims: tuple[str, ...] = ()

    def answers(self, keys: frozenset[str] | None) -> bool:
        """Whether it reports on one of these claims; None means all claims."""
        return keys is None or not self.claims or not keys.isdisjoint(self.claims)


def run_parts(
    parts: Sequence[PaperPart],
    rng: int | np.random.Generator | None,
    progress: Progress | None,
    keys: frozenset[str] | None = None,
) -> tuple[list[Figure], list[NamedCase]]:
    """The figures and the cases of all parts, or of those that report on one of the claims with these keys.

    Each part has its own stream of random numbers, so a change in one part leaves the others' numbers alone,
    and a part that is run alone has the numbers of the whole rerun. Matrix products use one thread: threads
    that wait for each other cost more than they save. Work that a part did not report is reported at its end.
    """
    figures: list[Figure] = []
    cases: list[NamedCase] = []
    streams = np.random.default_rng(rng).spawn(len(parts))
    chosen = [(one, stream) for one, stream in zip(parts, streams, strict=True) if one.answers(keys)]
    tell = counter(progress, sum(one.work for one, _ in chosen))
    with one_thread():
        for one, stream in chosen:
            left = one.work

            def report(done: int) -> None:
                nonlocal left
                step = min(done, left)
                left -= step
                tell(step)

            drawn, found = one.run(stream, report)
            figures.extend(drawn)
            reported = list(found)
            if one.claims and not {key for key, _ in reported} <= set(one.claims):
                raise invalid("claims", "all that the part reports", sorted(one.claims))
            cases.extend(reported)
            report(one.work)
    return figures, cases


def attributes_for(sets: int, order: int = 2) -> int:
    """The fewest attributes that have this many sets of `order` of them.

    Examples
    --------
    >>> attributes_for(800, 1), attributes_for(800, 2), attributes_for(800, 3)
    (800, 41, 18)
    """
    d = order
    while math.comb(d, order) < sets:
        d += 1
    return d


def share_of(rates: npt.ArrayLike) -> tuple[float, tuple[float, float]]:
    """The mean of rates, one per run, with its 95 % interval over runs.

    Notes
    -----
    Student's interval, cut to [0, 1]. If all runs gave 0, or all gave 1, it would be empty. Then it is
    Clopper–Pearson's interval for the chance that a run gives anything else, which is wider than needed.

    Examples
    --------
    >>> value, (low, high) = share_of([1.0] * 10)
    >>> value, round(low, 3), high
    (1.0, 0.692, 1.0)
    """
    from scipy.special import stdtrit

    values = np.asarray(rates, dtype=np.float64)
    mean, runs = float(values.mean()), values.size
    blank = 0.025 ** (1 / runs)
    if mean in (0.0, 1.0):
        return mean, ((blank, 1.0) if mean else (0.0, 1 - blank))
    if runs == 1:
        return mean, (0.0, 1.0)
    margin = float(stdtrit(runs - 1, 0.975) * values.std(ddof=1) / math.sqrt(runs))
    return mean, (max(0.0, mean - margin), min(1.0, mean + margin))


def mean_of(runs: Array) -> tuple[float, tuple[float, float] | None]:
    """The mean over runs with its 95 % interval; no interval if all runs agree.

    Examples
    --------
    >>> mean_of(np.ones(5))
    (1.0, None)
    """
    value, interval = share_of(runs)
    return value, None if bool(np.all(runs == runs[0])) else interval


def case_of(found: tuple[float, tuple[float, float] | None], **more: Any) -> dict[str, Any]:
    """The case of a mean with its interval."""
    return {"value": found[0], "interval": found[1], **more}


def interval_series(label: str, x: Sequence[float], runs: Sequence[Array], kind: Kind = "points") -> Series:
    """The means of some runs at each x, with their 95 % intervals."""
    found = [mean_of(values) for values in runs]
    ends = [(value, value) if interval is None else interval for value, interval in found]
    low, high = zip(*ends, strict=True)
    return Series(label, x, [value for value, _ in found], low=low, high=high, kind=kind)


class _Words(Formatter):
    """Templates with one more conversion: !n writes a number as pages do, and % has a no-break space."""

    def format_field(self, value: Any, format_spec: str) -> str:
        written: str = super().format_field(value, format_spec)
        return written.replace("%", "\N{NO-BREAK SPACE}%") if format_spec.endswith("%") else written

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return number(value) if conversion == "n" else super().convert_field(value, conversion)


def _shown(value: float | None, interval: tuple[float, float] | None) -> str:
    if value is None:
        return ""
    if interval is None or not all(map(math.isfinite, interval)):
        return number(value)
    return f"{number(value)} [{number(interval[0])}, {number(interval[1])}]"
