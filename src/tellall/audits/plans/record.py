"""What an audit's report says about how it was made: the day, the plan as written, hashes of files."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from tellall.audits.plans.draft import as_toml, as_toml_value
from tellall.core.records import Meaning, Record

__all__ = ["Origin", "plan_as_shown", "record_of", "sha256_of"]

_KEY = "key"  # the curator's secret number; whoever has it can remove the noise


@dataclass(frozen=True, kw_only=True)
class Origin(Record):
    """When an audit was made, and of which files; never a hash of a file of people."""

    date: Annotated[str, Meaning(pattern=r"^\d{4}-\d\d-\d\d$")]
    plan: Annotated[str | None, Meaning("As it was written, without a curator's key.")] = None
    sha256: Annotated[dict[str, str], Meaning("Of the plan, the policy and published files.")]


def record_of(
    plan: bytes | None,
    *,
    name: str = "plan.toml",
    hashes: Mapping[str, str] | None = None,
    published: Sequence[Path] = (),
) -> Origin:
    """The record of an audit of a plan with this content, next to these files published before.

    ``hashes`` are known already, by name, for example that of a policy.

    Notes
    -----
    Files of people have no hash: it would confirm a guess about the one row that somebody does not know. Nor
    have outputs that are not published, since their exact counts are as telling. The plan's hash stands next
    to its whole text; a plan with a curator's key has none, and is shown without the key.
    """
    text = None if plan is None else plan.decode("utf-8-sig").replace("\r\n", "\n")
    shown = None if text is None else plan_as_shown(text)
    hashed = {} if plan is None or shown != text else {name: hashlib.sha256(plan).hexdigest()}
    hashed |= hashes or {}
    hashed |= {f"{path.parent.name}/{path.name}".lstrip("/"): sha256_of(path) for path in published}
    return Origin(date=datetime.now(UTC).date().isoformat(), plan=shown, sha256=hashed)


def plan_as_shown(text: str) -> str:
    """A plan's text as a report may show it: as it is, or rewritten without a curator's key.

    Examples
    --------
    >>> print(plan_as_shown("seed = 1  # mine"))
    seed = 1  # mine
    >>> print(plan_as_shown('seed = 1\\n[[releases]]\\nprotect = {kind = "CellKey", key = 7}'))
    seed = 1
    <BLANKLINE>
    [[releases]]
    protect = { kind = "CellKey" }
    """
    mapping = tomllib.loads(text)
    if not _holds_key(mapping):
        return text
    kept = _without_key(mapping)
    releases = kept.pop("releases", [])
    lines = [f"{name} = {as_toml_value(value)}" for name, value in kept.items()]
    return "\n".join([*lines, "", as_toml(releases)])


def _holds_key(value: object) -> bool:
    if isinstance(value, Mapping):
        return _KEY in value or any(map(_holds_key, value.values()))
    return isinstance(value, list) and any(map(_holds_key, value))


def _without_key(value: object) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_key(part) for name, part in value.items() if name != _KEY}
    return [_without_key(part) for part in value] if isinstance(value, list) else value


def sha256_of(path: Path) -> str:
    """The hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
