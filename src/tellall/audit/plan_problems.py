"""What is wrong with a plan, in words, all of it at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tellall import catalogue, store
from tellall.errors import InvalidInput, TellallError

__all__ = ["ELSEWHERE", "Problem", "all_at_once", "described_wrongly", "explained", "misplaced", "short"]

_MOST_ERRORS = 20

ELSEWHERE = "A file elsewhere is given on the command line, with --data."

# what a wrong type in these keys is told, where pydantic would list every alternative
_RULES = {
    "bins": "must be a count of 2 or more, or a table of counts or lists of cut points by column",
    "protect": "must be a table such as { kind = 'Rounding', base = 5 } or a list of such tables",
}

Problem = tuple[str, str]  # where, what


def explained(errors: Sequence[Any]) -> list[Problem]:
    """What pydantic found, in our words; alternatives of one key are one problem."""
    found: dict[str, str] = {}
    for error in errors:
        path = [str(part)[:60] for part in error["loc"]]
        rule = next((key for key in _RULES if key in path), None)
        if rule is not None:
            cut = path.index(rule) + 1
            found.setdefault(".".join(path[:cut]), f"{_RULES[rule]}.")
        elif error["type"] == "extra_forbidden":
            found[".".join(path)] = f"is not a key of a plan.{_nearest_key(path)}"
        elif error["type"] == "missing":
            found[".".join(path)] = "is needed."
        else:
            said = error["msg"].removeprefix("Input ")
            found[".".join(path)] = f"{said}; got {short(error.get('input'))}."
    return list(found.items())


def _nearest_key(path: Sequence[str]) -> str:
    from tellall.schemas.documents import PlanDocument, PlanRelease

    model = PlanDocument if len(path) == 1 else PlanRelease
    known = list(model.model_fields)
    return catalogue.nearest(path[-1], known) or f" The keys are {', '.join(known)}."


def described_wrongly(releases: Any) -> list[Problem]:
    """What is wrong with the statistics and protections themselves."""
    found: list[Problem] = []
    for place, release in enumerate(releases if isinstance(releases, list) else []):
        if not isinstance(release, Mapping):
            continue
        path = f"releases.{place}"
        if isinstance(release.get("statistic"), Mapping):
            found += _under(f"{path}.statistic", catalogue.problems("statistic", release["statistic"]))
        protect = release.get("protect", [])
        if isinstance(protect, Mapping):
            found += _under(f"{path}.protect", catalogue.problems("protection", protect))
        for number, plain in enumerate(protect if isinstance(protect, list) else []):
            if isinstance(plain, Mapping):
                found += _under(f"{path}.protect.{number}", catalogue.problems("protection", plain))
    return found


def misplaced(data: Any, folder: Path | None) -> list[Problem]:
    """What is wrong with where the data is said to be."""
    if not isinstance(data, str) or not data or folder is None:
        return []
    try:
        store.fits_inside(folder, data[:1000], what="", advice=ELSEWHERE)
    except TellallError as error:
        return [("data", str(error).strip())]
    except OSError as error:
        return [("data", f"must be the name of a file; got {short(data)} ({error.strerror}).")]
    return []


def _under(path: str, found: Sequence[Problem]) -> list[Problem]:
    return [(f"{path}.{where}" if where else path, what) for where, what in found]


def all_at_once(found: Sequence[Problem]) -> InvalidInput:
    """The error that lists every problem, up to a number that one reads."""
    lines = [f"{where} {what}" if where else what for where, what in found]
    if len(lines) == 1:
        return InvalidInput(f"plan: {lines[0]}")
    more = [f"  ... and {len(lines) - _MOST_ERRORS} more"] if len(lines) > _MOST_ERRORS else []
    listed = [f"  {line}" for line in lines[:_MOST_ERRORS]]
    return InvalidInput("\n".join([f"plan: {len(lines)} errors", *listed, *more]))


def short(value: object) -> str:
    """The value in one line that a message can hold."""
    text = " ".join((value if isinstance(value, str) else repr(value))[:200].split())
    return text if len(text) <= 60 else f"{text[:59]}…"
