"""Mistakes: what is wrong with a plan, in words, all of it at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tellall.core import files
from tellall.core.errors import InvalidInput, TellallError
from tellall.core.records import VERSION, outdated
from tellall.core.text import one_line
from tellall.release import catalogue
from tellall.statistics.where import as_where

if TYPE_CHECKING:
    from tellall.audits.plans.written import PlanDocument

__all__ = [
    "ELSEWHERE",
    "Problem",
    "all_at_once",
    "checked",
    "is_unknown",
    "rule_in",
    "short",
]

_MOST_ERRORS = 20

ELSEWHERE = "Give a file elsewhere on the command line, with --data."

# messages for a wrong type in these keys, where pydantic would list every alternative
_RULES = {
    "bins": "must be a count of 2 or more, or a table of counts or lists of cut points by column",
    "where": "must be a condition in quotes, such as \"sex = 'f' and age < 40\"",
    "protect": "must be a table such as { kind = 'Rounding', base = 5 } or a list of such tables",
}

Problem = tuple[str, str]  # where, what


def checked(
    mapping: Mapping[str, object], *, folder: Path | None = None, needed: Sequence[str] = ()
) -> PlanDocument:
    """The plan in a mapping, if nothing is wrong with it; one error lists all problems."""
    from pydantic import ValidationError

    from tellall.audits.plans.written import PlanDocument

    found: list[Problem] = [(key, "is needed") for key in needed if key not in mapping]
    document = None
    given = dict(mapping)
    version = given.pop("schema_version", VERSION)
    if advice := outdated(version):
        found.append(("schema_version", f"must be {VERSION}; got {one_line(version)}. {advice}"))
    try:
        document = PlanDocument.model_validate(given)
    except ValidationError as error:
        found += _explained(error.errors(include_url=False), mapping.get("releases"))
    if not mapping.get("releases") and not mapping.get("published"):
        found.append(("releases", "is needed"))
    if mapping.get("by") and mapping.get("by") == mapping.get("secret"):
        found.append(("by", "must be a public column, not the secret."))
    found += _described_wrongly(mapping.get("releases"))
    found += _misplaced(mapping.get("data"), folder)
    if document is not None:
        found += _ambiguous(document)
    if found or document is None:
        raise all_at_once(found)
    return document


def _explained(errors: Sequence[Any], releases: Any = ()) -> list[Problem]:
    """What pydantic found, in our words; alternatives of one key are one problem."""
    found: dict[str, str] = {}
    for error in errors:
        path = [str(part)[:60] for part in error["loc"]]
        rule = next((key for key in _RULES if key in path), None)
        where = _place(path, releases)
        if rule is not None:
            cut = path.index(rule) + 1
            found.setdefault(_place(path[:cut], releases), f"{_RULES[rule]}.")
        elif error["type"] == "extra_forbidden":
            found[where] = f"is not a key of a plan.{_nearest_key(path)}"
        elif error["type"] == "missing":
            found[where] = "is needed."
        else:
            said = error["msg"].removeprefix("Input ")
            found[where] = f"{said}; got {short(error.get('input'))}."
    return list(found.items())


def _place(path: Sequence[str], releases: object) -> str:
    """Where in a plan something is, a release by its name."""
    if len(path) < 2 or path[0] != "releases" or not path[1].isdigit():
        return ".".join(path)
    rest = ".".join(path[2:])
    return f"{release_words(int(path[1]), releases)}{': ' if rest else ''}{rest}"


def release_words(index: int, releases: object) -> str:
    """A release of a plan by its name; by its place, counted from one, if it has none.

    Examples
    --------
    >>> release_words(0, [{"name": "counts"}]), release_words(1, [])
    ('release “counts”', 'release 2')
    """
    given = releases[index] if isinstance(releases, list | tuple) and index < len(releases) else None
    name = given.get("name") if isinstance(given, Mapping) else None
    return f"release “{short(name)}”" if name and isinstance(name, str) else f"release {index + 1}"


def _nearest_key(path: Sequence[str]) -> str:
    from tellall.audits.plans.written import PlanDocument, PlanRelease

    model = PlanDocument if len(path) == 1 else PlanRelease
    known = list(model.model_fields)
    return catalogue.nearest(path[-1], known) or f" The keys are {', '.join(known)}."


def _described_wrongly(releases: object) -> list[Problem]:
    """Problems with the statistics and protections."""
    found: list[Problem] = []
    for index, release in enumerate(releases if isinstance(releases, list) else []):
        if not isinstance(release, Mapping):
            continue
        path, protect = release_words(index, releases), release.get("protect", [])
        parts = [("statistic", "statistic", release.get("statistic"))]
        if isinstance(protect, Mapping):
            parts.append(("protect", "protection", protect))
        for number, plain in enumerate(protect if isinstance(protect, list) else [], 1):
            parts.append(("protect" if len(protect) == 1 else f"protect {number}", "protection", plain))
        for where, what, plain in parts:
            if isinstance(plain, Mapping) and not is_unknown(what, plain):
                found += _under(f"{path}: {where}", catalogue.problems(what, plain))
    return found


def is_unknown(what: str, plain: object) -> bool:
    """Whether this is a statistic or protection of a kind that tellall does not have."""
    name = plain.get(catalogue.KIND) if isinstance(plain, Mapping) else None
    return isinstance(name, str) and name not in catalogue.kinds(what)


def rule_in(error: TellallError, *names: str) -> str:
    """What an error says, without the parameter's name if that was said already."""
    said = str(error)
    return next((said.removeprefix(f"{name} ") for name in names if said.startswith(f"{name} ")), said)


def _misplaced(data: object, folder: Path | None) -> list[Problem]:
    """Problems with the path of the data."""
    if not isinstance(data, str) or not data or folder is None:
        return []
    try:
        files.fits_inside(folder, data[:1000], what="", advice=ELSEWHERE)
    except TellallError as error:
        return [("data", str(error).strip())]
    except OSError as error:
        return [("data", f"must be the name of a file; got {short(data)} ({error.strerror}).")]
    return []


def _under(path: str, found: Sequence[Problem]) -> list[Problem]:
    return [(f"{path}.{where}" if where else path, what) for where, what in found]


def all_at_once(found: Sequence[Problem]) -> InvalidInput:
    """The error that lists every problem, up to a number that people read."""
    lines = [f"{where} {what}" if where else what for where, what in found]
    if len(lines) == 1:
        return InvalidInput(f"plan: {lines[0]}")
    more = [f"  ... and {len(lines) - _MOST_ERRORS} more"] if len(lines) > _MOST_ERRORS else []
    listed = [f"  {line}" for line in lines[:_MOST_ERRORS]]
    return InvalidInput("\n".join([f"plan: {len(lines)} errors", *listed, *more]))


def short(value: object) -> str:
    """The value on one line, short enough for a message."""
    return one_line(value, 60)


def _ambiguous(document: Any) -> list[Problem]:
    """Keys that say twice what an attacker knows, and conditions that cannot be read."""
    found: list[Problem] = []
    if (
        document.attackers
        and {"known", "known_people", "known_secrets", "may_include"} & document.model_fields_set
    ):
        found.append(("known", "belongs under an attacker where [[attackers]] are listed."))
    names = [one.name for one in document.attackers if one.name]
    if len(set(names)) < len(names):
        found.append(("attackers", "must have different names."))
    for index, release in enumerate(document.releases):
        try:
            if release.where is not None:
                as_where(release.where)
        except TellallError as error:
            listed = [{"name": one.name} for one in document.releases]
            found.append((f"{release_words(index, listed)}: where", rule_in(error, "condition")))
    return found
