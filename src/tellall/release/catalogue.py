"""Statistics and protections by name: turns objects into plain data and plain data into objects.

Nothing has to be registered: the public classes are the catalogue, and the parameters of a class's
constructor are its keys. A class with arguments that are not plain data overrides ``as_plain``.
"""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tellall import protections, statistics
from tellall.core.errors import InvalidInput, TellallError, invalid
from tellall.core.text import one_line, said
from tellall.protections.protection import Protection, Sum, Unknown
from tellall.statistics.statistic import Statistic

__all__ = [
    "KIND",
    "build",
    "kinds",
    "label",
    "nearest_kind",
    "parameters",
    "problems",
    "published",
    "to_plain",
]

KIND = "kind"
_DEEPEST = 5  # nobody nests sums of laws deeper
_LONGEST_WORD = 60  # nobody misspells a longer word
# what other tools call these kinds; the first of these words that a name contains decides
_ALSO_CALLED: dict[str, dict[str, str]] = {
    "statistic": {
        "pivot": "Marginals",
        "crosstab": "Marginals",
        "contingency": "Marginals",
        "table": "Marginals",
        "frequenc": "Marginals",
        "histogram": "Marginals",
        "percent": "Marginals",
        "proportion": "Marginals",
        "regression": "Estimator",
        "ols": "Estimator",
        "logit": "Estimator",
        "glm": "Estimator",
        "model": "Estimator",
        "coefficient": "Estimator",
        "classif": "ErrorRates",
        "accuracy": "ErrorRates",
        "confusion": "ErrorRates",
        "query": "SubsetCounts",
        "correl": "Correlations",
        "covarian": "Correlations",
        "survival": "SurvivalCurve",
        "kaplan": "SurvivalCurve",
        "groupmean": "CellMeans",
        "minim": "Extremes",
        "maxim": "Extremes",
        "total": "Sums",
        "magnitude": "Sums",
        "average": "Means",
    },
    "protection": {
        "suppress": "Suppression",
        "threshold": "Suppression",
        "hide": "Suppression",
        "round": "Rounding",
        "sampl": "Subsample",
        "swap": "Swapping",
        "winsor": "TopCoding",
        "censor": "TopCoding",
        "noise": "Gaussian",
    },
}
_NOTHING_LIKE_IT = ("quantile", "quartile", "percentile", "plot", "graph")


def kinds(what: str) -> dict[str, type[Any]]:
    """The classes of statistics, or of protections, that a plan may name.

    Examples
    --------
    >>> "Marginals" in kinds("statistic"), "Rounding" in kinds("protection")
    (True, True)
    """
    if what == "statistic":
        return _classes(statistics, lambda kind: issubclass(kind, Statistic))
    return dict(sorted(_classes(protections, lambda kind: issubclass(kind, Protection)).items()))


def parameters(kind: type[Statistic | Protection]) -> dict[str, inspect.Parameter]:
    """The constructor's parameters that a plan may give: the keys of the kind.

    Parameters that a class lists as ``filled`` are left out: publishing fills them in.
    """
    return {name: p for name, p in _accepted(kind).items() if name not in kind.filled}


def _accepted(kind: type) -> dict[str, inspect.Parameter]:
    """All parameters of the constructor, including those that publishing fills in."""
    signature = inspect.signature(kind)
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {name: p for name, p in signature.parameters.items() if p.kind in plain}


def problems(
    what: str, plain: Any, *, saved: bool = False, own: Sequence[type[Statistic]] = ()
) -> list[tuple[str, str]]:
    """Everything that is wrong with the description of a statistic or protection: (where, what) pairs.

    ``own``: classes of one's own that it may name too.
    """
    known = _loadable(what) if saved else kinds(what)
    known = {**{kind.__name__: kind for kind in own}, **known}
    if not isinstance(plain, Mapping):
        example = next(iter(known))
        got = one_line(plain, _LONGEST_WORD)
        return [("", f"must be a table such as {{ kind = '{example}', ... }}; got {got}")]
    if _depth(plain) > _DEEPEST:
        return [("", f"must not be nested more than {_DEEPEST} deep")]
    name = plain.get(KIND)
    if not isinstance(name, str) or name not in known:
        got = "nothing" if name is None else one_line(name, _LONGEST_WORD)
        return [(KIND, f"must be one of {', '.join(known)}; got {got}.{nearest(name, known)}")]
    keys = parameters(known[name])
    found = [
        (str(key)[:_LONGEST_WORD], f"is not a parameter of {name} ({', '.join(keys)}).{nearest(key, keys)}")
        for key in plain
        if key != KIND and key not in _accepted(known[name])
    ]
    found += [
        (key, f"is needed by {name}")
        for key, parameter in keys.items()
        if parameter.default is parameter.empty and key not in plain
    ]
    return found or _trouble(known[name], plain)


def build(what: str, plain: Mapping[str, Any], own: Sequence[type[Statistic]] = ()) -> Any:
    """The statistic or protection that the plain data describe; ``own`` classes may be named too."""
    found = problems(what, plain, saved=True, own=own)
    if found:
        where, text = found[0]
        raise InvalidInput(f"{what}{'.' if where else ''}{where} {text}")
    known = {**{kind.__name__: kind for kind in own}, **_loadable(what)}
    return _construct(known[str(plain[KIND])], plain)


def to_plain(thing: Statistic | Protection, *, own: bool = False) -> dict[str, Any]:
    """The statistic or protection as plain data, without defaults.

    With ``own`` a class from outside tellall too: a reader must then be given that class.

    Examples
    --------
    >>> to_plain(protections.Rounding(5)), to_plain(statistics.Marginals(3))
    ({'kind': 'Rounding', 'base': 5.0}, {'kind': 'Marginals', 'ways': 3})
    """
    name = type(thing).__name__
    if not _is_ours(thing):
        if not own:
            raise invalid("statistic and protections", "public classes of tellall, to be saved", name)
        if name in kinds("statistic"):
            raise invalid("a class of one's own", "named unlike tellall's, to be saved", name)
    plain: dict[str, Any] = {KIND: name}
    told = thing.as_plain()
    for key, parameter in _accepted(type(thing)).items():
        value = told[key] if key in told else getattr(thing, key)
        if not (
            value is parameter.default
            or (isinstance(value, str | int | float) and value == parameter.default)
        ):
            plain[key] = _plain_value(name, key, value)
    return plain


def shown(statistic: Statistic) -> dict[str, Any]:
    """What documents say about a statistic; of a class from outside tellall perhaps its name alone."""
    if _is_ours(statistic):
        return to_plain(statistic)
    try:
        return to_plain(statistic, own=True)
    except (TellallError, AttributeError):  # parameters that are no plain data, or kept under other names
        return {KIND: type(statistic).__name__}


def published(protection: Protection) -> dict[str, Any]:
    """What a saved release says about a protection.

    For classes from outside tellall that is the law of their errors, with an unknown error added if the law
    does not say all that an attack must know.
    """
    if _is_ours(protection):
        return to_plain(protection)
    more = protection.doubt or (protection.hides and protection.law.bound == math.inf)
    return to_plain(Sum((protection.law, Unknown())) if more else protection.law)


def label(chosen: Sequence[Protection]) -> str:
    """A list of protections in a few words.

    Examples
    --------
    >>> label([protections.Rounding(5)]), label([])
    ('Rounding(base=5)', 'exact')
    """
    return ", ".join(_call(to_plain(p)) if _is_ours(p) else repr(p) for p in chosen) or "exact"


def nearest(word: object, known: Mapping[str, Any] | Sequence[str]) -> str:
    """The advice for a misspelt word; empty if no known word is near."""
    if not isinstance(word, str) or len(word) > _LONGEST_WORD:
        return ""
    lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), lower, n=1)
    return f" Did you mean '{lower[near[0]]}'?" if near else ""


def nearest_kind(what: str, name: str) -> str | None:
    """The kind that comes nearest to a statistic or protection that tellall does not have; None if none.

    Examples
    --------
    >>> nearest_kind("statistic", "PivotTable"), nearest_kind("statistic", "Marginal")
    ('Marginals', 'Marginals')
    >>> nearest_kind("statistic", "Quantiles") is None
    True
    """
    known = {kind.lower(): kind for kind in kinds(what)}
    word = name.lower()[:_LONGEST_WORD]
    if any(part in word for part in _NOTHING_LIKE_IT):
        return None
    called = [kind for part, kind in _ALSO_CALLED[what].items() if part in word and kind in known.values()]
    near = [known[kind] for kind in difflib.get_close_matches(word, known, n=1)]
    return next(iter([*called, *near]), None)


def _is_ours(thing: Any) -> bool:
    return type(thing) in (*kinds("statistic").values(), *_loadable("protection").values())


def _loadable(what: str) -> dict[str, type[Any]]:
    """The kinds that a saved release may name: those of plans, and for protections an unknown law."""
    return {**kinds(what), Unknown.__name__: Unknown} if what == "protection" else kinds(what)


def _depth(plain: Any) -> int:
    """How deep kinds are nested in kinds, counted up to just over the limit."""
    layer = [plain]
    depth = 0
    while layer and depth <= _DEEPEST:
        inner = [part for value in layer for part in _parts(value)]
        layer, depth = inner, depth + any(isinstance(part, Mapping) and KIND in part for part in inner)
        if not any(isinstance(part, Mapping | list | tuple) for part in layer):
            break
    return depth


def _parts(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else []


def _classes(module: Any, wanted: Any) -> dict[str, type]:
    public = {name: getattr(module, name) for name in module.__all__}
    return {
        name: kind
        for name, kind in public.items()
        if inspect.isclass(kind) and not inspect.isabstract(kind) and wanted(kind)
    }


def _construct(kind: type, plain: Mapping[str, Any]) -> Any:
    return kind(**{key: _object(value) for key, value in plain.items() if key != KIND})


def _object(value: Any) -> Any:
    """A value of the plain data, with nested kinds built."""
    if isinstance(value, list | tuple):
        return tuple(map(_object, value))
    if isinstance(value, Mapping) and KIND in value:
        what = "statistic" if value[KIND] in kinds("statistic") else "protection"
        return build(what, value)
    return value


def _trouble(kind: type, plain: Mapping[str, Any]) -> list[tuple[str, str]]:
    try:
        _construct(kind, plain)
    except TellallError as error:
        return [("", str(error))]
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        return [("", f"cannot be a {kind.__name__}: {said(error, _LONGEST_WORD)}")]
    return []


def _plain_value(name: str, key: str, value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain_value(name, key, part) for part in value]
    if isinstance(value, Mapping):
        return {str(k): _plain_value(name, key, part) for k, part in value.items()}
    if isinstance(value, Statistic | Protection):
        return to_plain(value)
    raise invalid(f"{key} of {name}", "plain data, to be saved", type(value).__name__)


def _call(plain: Mapping[str, Any]) -> str:
    def text(value: Any) -> str:
        if isinstance(value, Mapping) and KIND in value:
            return _call(value)
        if isinstance(value, list):
            return f"[{', '.join(map(text, value))}]"
        return f"{value:g}" if isinstance(value, float) else str(value)

    inside = ", ".join(f"{key}={text(value)}" for key, value in plain.items() if key != KIND)
    return f"{plain[KIND]}({inside})"
