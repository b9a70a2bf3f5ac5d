"""Changes of a plan: what could be published instead, and what each change costs the reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from tellall.audits.measures.guesses import dropped_error
from tellall.audits.measures.revealing_cells import CellRules
from tellall.audits.trial import Planned, Setting, Trial
from tellall.core.amounts import count_of, digits, percent
from tellall.core.errors import TellallError
from tellall.evidence.query import Query
from tellall.protections.additive import Gaussian
from tellall.protections.concentration import Dominance, PPercent
from tellall.protections.protection import Protection, prepare
from tellall.protections.rounding import Rounding
from tellall.protections.suppression import Suppression
from tellall.release.release import Release
from tellall.statistics.cells import CellNumbers
from tellall.statistics.marginals import Marginals
from tellall.statistics.statistic import Statistic

__all__ = ["Change", "Cost", "Part", "candidates", "parts_of", "price", "with_noise", "without_release"]

_HIDE, _ROUND = (5, 10), (3, 5, 10)
_MOST_TABLES = 60  # in a plan entry that lists them one by one


@dataclass(frozen=True)
class Cost:
    """What a reader of the changed plan loses, over the values that were planned.

    Attributes
    ----------
    loss
        The mean absolute error; a withheld value counts with the error of what a reader would put there.
    withheld
        The share of the planned values that is not shown.
    error
        The mean absolute error of what is shown; None if nothing is.
    values
        How many values were planned.
    instead
        How many values are shown that were not planned: those of smaller tables in place of larger ones.
    """

    loss: float
    withheld: float
    error: float | None
    values: int = 1
    instead: int = 0

    @classmethod
    def of_all(cls, parts: Sequence[Cost]) -> Cost:
        """The cost over the values of several places."""
        weights = np.array([part.values for part in parts], dtype=float)
        if not weights.sum():
            return cls(0.0, 0.0, None, 0)
        loss, withheld = (np.array([getattr(part, name) for part in parts]) for name in ("loss", "withheld"))
        shown = weights * (1 - withheld) + np.array([part.instead for part in parts])
        wrong = sum(count * (part.error or 0.0) for count, part in zip(shown, parts, strict=True))
        return cls(
            float(weights @ loss / weights.sum()),
            float(weights @ withheld / weights.sum()),
            float(wrong / shown.sum()) if shown.sum() > 0 else None,
            int(weights.sum()),
            sum(part.instead for part in parts),
        )


@dataclass(frozen=True, eq=False)
class Change:
    """Releases to publish instead of those planned.

    Attributes
    ----------
    words
        What is changed, in words.
    releases
        All releases of the changed plan.
    changed
        The names of the releases that are changed or left out.
    dropped
        What was planned and is no longer published.
    instead
        The names of releases that publish other values than planned, in place of dropped ones.
    """

    words: str
    releases: tuple[Planned, ...]
    changed: tuple[str, ...]
    dropped: tuple[Query, ...] = ()
    instead: tuple[str, ...] = ()

    def cost(self, setting: Setting, seed: int) -> Cost:
        """What the reader loses of what was planned, by one draw of each release."""
        lost = hidden = wrong = shown = 0.0
        values = instead = 0
        smaller: list[Release] = []
        for one in self.releases:
            trial = Trial(setting, (one,), 1, seed)
            loss = trial.loss
            if loss is None:
                continue
            count, seen = loss.utility.values, loss.utility.values * (1 - loss.utility.missing)
            shown, wrong = shown + seen, wrong + (seen * loss.utility.mean_error if seen else 0.0)
            if one.name in self.instead:
                instead += round(seen)
                smaller += trial.published[0]
            else:
                lost = lost + count * loss.error
                values = values + count
                hidden = hidden + count - seen
        for at, query in enumerate(self.dropped):
            shown_instead = smaller[at] if len(smaller) == len(self.dropped) else None
            try:
                known = setting.exact(query)
            except TellallError:
                continue  # what cannot be computed has no values to lose
            clean = known.publish((), None)
            count = int(np.count_nonzero(~np.isnan(clean.values)))  # nobody can compute the others
            lost += count * dropped_error(clean, known.dataset, shown_instead)
            values = values + count
            hidden = hidden + count
        if not values:
            return Cost(0.0, 0.0, None, 0)
        error = wrong / shown if shown else None
        return Cost(lost / values, min(1.0, hidden / values), error, values, instead)


def price(withheld: float, instead: int, error: float | None, units: str = "") -> str:
    """What a reader loses by a change, in words; values that were not planned are counted separately.

    Examples
    --------
    >>> price(0.25, 0, 0.5, " people")
    '25.0\\xa0% of the planned values are withheld; what is shown is off by 0.5 people on average'
    >>> price(1.0, 48, None)
    'no planned value is shown; 48 values of smaller tables are shown instead'
    """
    hidden = f"{percent(withheld)} of the planned values are withheld" if withheld else ""
    said = "no planned value is shown" if withheld == 1 else hidden or "every planned value is shown"
    smaller = f"; {count_of(instead, 'value')} of smaller tables are shown instead" if instead else ""
    wrong = f"; what is shown is off by {digits(error)}{units} on average" if error else ""
    return f"{said}{smaller}{wrong}"


@dataclass(frozen=True)
class Part:
    """One table or column of a release that can be left out: what stays and what is dropped."""

    kind: Literal["table", "column"]
    name: str
    kept: Statistic
    dropped: Statistic


def parts_of(planned: Planned, setting: Setting) -> list[Part]:
    """The tables, or else the columns, of a release that can be left out of it."""
    statistic, names = planned.statistic, setting.people.public.names
    if not isinstance(statistic, Marginals) or not isinstance(statistic.ways, int):
        return []
    listed = _tables_listed(statistic)
    if listed is not None:
        if not 2 <= len(listed) <= _MOST_TABLES:
            return []
        return [
            Part(
                "table",
                " × ".join(_name(column, names) for column in table),
                _only(statistic, [other for other in listed if other is not table]),
                _only(statistic, [table]),
            )
            for table in listed
        ]
    size = statistic.ways - 1
    if size < 1 or len(names) <= size:
        return []
    found = []
    for column in names:
        tables = list(combinations(names, size))
        without = [table for table in tables if column not in table]
        if len(without) > _MOST_TABLES:
            return []
        found.append(
            Part(
                "column",
                column,
                _only(statistic, without),
                _only(statistic, [table for table in tables if column in table]),
            )
        )
    return found


def candidates(
    planned: Sequence[Planned], targets: Sequence[tuple[str, ...]], setting: Setting
) -> Iterator[Change]:
    """Every change of the built-in list to each group of releases, except noise."""
    for names in targets:
        for words, recipe in _recipes(setting):
            yield from _applied(planned, names, words, recipe, setting)
        if len(names) == 1:
            (one,) = (each for each in planned if each.name == names[0])
            for part in parts_of(one, setting):
                changed = replace(one, statistic=part.kept)
                yield Change(
                    f"leave the {part.kind} {part.name} out of “{one.name}”",
                    tuple(changed if each is one else each for each in planned),
                    names,
                    (Query(part.dropped, one.where),),
                )
        left = tuple(one for one in planned if one.name not in names)
        if left:
            yield without_release(planned, names)


def without_release(planned: Sequence[Planned], names: Sequence[str]) -> Change:
    """The plan without some of its releases."""
    gone = [one for one in planned if one.name in names]
    return Change(
        f"leave out {_quoted(names)}",
        tuple(one for one in planned if one.name not in names),
        tuple(names),
        tuple(one.query for one in gone),
    )


def with_noise(
    planned: Sequence[Planned], names: Sequence[str], scale: float, setting: Setting
) -> Change | None:
    """The plan with Gaussian noise on some releases in place of their protections; None if it does not fit.

    ``scale`` is in units of the noise that begins to hide a person in the release.
    """

    def noisy(one: Planned) -> Planned:
        std = float(f"{scale * setting.reach(one.query):.3g}")
        return replace(one, protections=(Gaussian(std),))

    found = list(_applied(planned, names, "add noise to", lambda one: (noisy(one), ()), setting))
    if not found:
        return None
    stds = [one.protections[0] for one in found[0].releases if one.name in names]
    said = " and ".join(dict.fromkeys(f"{one.std:g}" for one in stds if isinstance(one, Gaussian)))
    return replace(found[0], words=f"add noise of standard deviation {said} to {_quoted(names)}")


Recipe = Callable[[Planned], tuple[Planned, tuple[Query, ...]] | None]


def _recipes(setting: Setting) -> Iterator[tuple[str, Recipe]]:
    """The built-in list of changes, each with its words, which the names of the releases follow."""
    if not setting.people.levels:
        yield from _withholding(setting.rules)
    for below in _HIDE:
        yield f"hide values below {below} in", _protected(below, None)
    for base in _ROUND:
        yield f"round to {base} in", _protected(None, base)
    for below, base in ((5, 5), (10, 5), (10, 10)):
        yield f"hide values below {below} and round to {base} in", _protected(below, base)
    for fewer in (1, 2):
        yield f"publish tables of {fewer} fewer column{'s' if fewer > 1 else ''} in", _narrowed(fewer)


def _withholding(rules: CellRules) -> Iterator[tuple[str, Recipe]]:
    """Cells of sums and means withheld by the rules that they must keep, with others that give them away."""
    known = PPercent(rules.p, complementary=True)
    few = Dominance(rules.n, rules.share, complementary=True)
    yield f"withhold cells by the {rules.p:g} % rule in", _withheld((known,))
    both = f"the {rules.p:g} % rule and dominance ({rules.n}, {100 * rules.share:g} %)"
    yield f"withhold cells by {both} in", _withheld((known, few))


def _withheld(by: tuple[Protection, ...]) -> Recipe:
    """Withholds cells of numbers, before anything else is done to them; rules of the plan stay."""

    def recipe(one: Planned) -> tuple[Planned, tuple[Query, ...]] | None:
        if not isinstance(one.statistic, CellNumbers) or set(by) <= set(one.protections):
            return None
        others = tuple(each for each in one.protections if each not in by)
        return replace(one, protections=(*by, *others)), ()

    return recipe


def _protected(below: int | None, base: int | None) -> Recipe:
    """Hides and rounds at least this much; the other protections of a release stay."""

    def recipe(one: Planned) -> tuple[Planned, tuple[Query, ...]] | None:
        if not one.statistic.counts_people or one.statistic.scale != "counts":
            return None
        done: list[Protection] = []
        ties = None
        for protection in one.protections:
            if isinstance(protection, Suppression) and below is not None:
                if protection.below >= below:
                    return None
            elif isinstance(protection, Rounding) and base is not None:
                if protection.base >= base:
                    return None
                ties = protection.ties
            else:
                done.append(protection)
        if any(isinstance(protection, Rounding) for protection in done) and below is not None:
            return None  # hiding comes before rounding
        if below is not None:
            done.append(Suppression(below))
        if base is not None:
            done.append(Rounding(base, ties=ties))
        return replace(one, protections=tuple(done)), ()

    return recipe


def _narrowed(fewer: int) -> Recipe:
    def recipe(one: Planned) -> tuple[Planned, tuple[Query, ...]] | None:
        statistic = one.statistic
        if not isinstance(statistic, Marginals) or statistic.attributes is not None:
            return None
        if not isinstance(statistic.ways, int) or statistic.ways - fewer < 2:
            return None
        return replace(one, statistic=replace(statistic, ways=statistic.ways - fewer)), (one.query,)

    return recipe


def _applied(
    planned: Sequence[Planned], names: Sequence[str], words: str, recipe: Recipe, setting: Setting
) -> Iterator[Change]:
    """The change of all named releases, if it fits each of them."""
    releases: list[Planned] = []
    dropped: list[Query] = []
    for one in planned:
        if one.name not in names:
            releases.append(one)
            continue
        made = recipe(one)
        if made is None:
            return
        try:
            part = made[0].query.part(setting.people.public)
            made[0].statistic.size(part)
            prepare(made[0].protections, made[0].statistic, part)
        except TellallError:
            return
        releases.append(made[0])
        dropped += made[1]
    instead = tuple(names) if dropped else ()
    yield Change(f"{words} {_quoted(names)}", tuple(releases), tuple(names), tuple(dropped), instead)


def _tables_listed(statistic: Statistic) -> tuple[tuple[str | int, ...], ...] | None:
    return statistic.attributes if isinstance(statistic, Marginals) else None


def _only(statistic: Marginals, tables: Sequence[Sequence[str | int]]) -> Marginals:
    return replace(statistic, attributes=tuple(map(tuple, tables)))


def _name(column: str | int, names: Sequence[str]) -> str:
    return names[column] if isinstance(column, int | np.integer) else column


def _quoted(names: Sequence[str]) -> str:
    return " and ".join(f"“{name}”" for name in names)
