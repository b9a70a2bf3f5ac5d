"""What reports show, as plain data: counts and rates, never a person."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tellall.attacks.reconstruct import Reconstruction
from tellall.risk import LEVELS, Risk

__all__ = ["ReleaseSummary", "summarise"]


@dataclass(frozen=True)
class ReleaseSummary:
    """One release and what it gave away.

    Attributes
    ----------
    found
        The share of those with the secret who are guessed to have it.
    named, named_right
        How many are said with confidence 0.95 to have the secret, and how many of those do.
    proved
        How many have the same bit in every secret that fits the release.
    exposed
        People exposed, by confidence and by the value of their secret.
    """

    statistic: str
    protection: str
    accuracy: float
    baselines: dict[str, float]
    baseline: str
    advantage: float
    interval: tuple[float, float]
    found: float
    named: int
    named_right: int
    proved: int
    exposed: dict[str, dict[str, int]]
    status: str

    def as_json(self) -> dict[str, Any]:
        """The summary as plain data."""
        return asdict(self)


def summarise(attack: Reconstruction, risk: Risk, *, statistic: str, protection: str) -> ReleaseSummary:
    """The summary of an attack that has been scored."""
    named, right = risk.named()
    return ReleaseSummary(
        statistic=statistic,
        protection=protection,
        accuracy=risk.accuracy,
        baselines=dict(risk.baselines),
        baseline=risk.baseline,
        advantage=risk.advantage,
        interval=risk.interval,
        found=risk.found(),
        named=named,
        named_right=right,
        proved=int((attack.identified == "proved").sum()),
        exposed={f"{level:g}": {str(bit): risk.exposed_at(level, bit) for bit in (0, 1)} for level in LEVELS},
        status=str(attack.status),
    )
