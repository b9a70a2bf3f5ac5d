"""Kept trials: what the attacks of a sweep or a calibration came to, so that a stopped study goes on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tellall.audits.outcome import Outcome
from tellall.audits.plans.places import Form, Kept
from tellall.audits.trial import Trial
from tellall.audits.verdict import Limits
from tellall.core.checkpoint import Checkpoint
from tellall.people.areas import fingerprint
from tellall.people.dataset import Dataset

__all__ = ["OUTCOMES", "Attempt", "kept_trials"]


@dataclass(frozen=True, eq=False)
class Attempt:
    """A trial of one release, the decoders that attack it, and the limits at which they stop, if they do."""

    trial: Trial
    decoders: tuple[str, ...]
    limits: Limits | None = None


@contextmanager
def kept_trials(work: str | Path | None, people: Dataset) -> Iterator[Kept | None]:
    """Where the outcomes of a study of these people are kept; None if nothing is."""
    if work is None:
        yield None
        return
    with Checkpoint.in_folder(work) as checkpoint:
        yield Kept(checkpoint, fingerprint(people))


def _identity(attempt: Attempt) -> list[object] | None:
    """What decides the outcomes, as plain data; None if own classes do."""
    trial, setting = attempt.trial, attempt.trial.setting
    (planned,) = trial.releases
    known = planned.identity()
    if known is None:
        return None
    limits = None if attempt.limits is None else asdict(attempt.limits)
    drawn = [planned.stream, trial.draws, trial.seed]
    return [known, drawn, attempt.decoders, limits, setting.attacker.as_json(), asdict(setting.rules)]


def _to_plain(found: tuple[Outcome, ...] | str) -> dict[str, Any]:
    if isinstance(found, str):
        return {"reason": found}
    return {"outcomes": [outcome.to_plain() for outcome in found]}


def _parsed(plain: Mapping[str, Any]) -> tuple[Outcome, ...] | str:
    if "reason" in plain:
        return str(plain["reason"])
    return tuple(map(Outcome.from_plain, plain["outcomes"]))


OUTCOMES = Form("trial", _identity, _to_plain, _parsed)
