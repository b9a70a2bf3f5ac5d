"""How many secrets fit what was published, and which values contradict each other, where that is cheap."""

from __future__ import annotations

from collections.abc import Sequence

from tellall.attack.prove.counting import count_secrets
from tellall.attack.prove.proof_reasons import contradiction
from tellall.attack.reconstruct.attack import Reconstruction
from tellall.evidence.count_tables import name_cell

__all__ = ["clashes_in", "count_few"]

MOST = 1_000_000  # more secrets than this are not counted
_MOST_OPEN = 200  # groups of people whose count is open; with more there are too many secrets
_SHOWN = 12  # values that contradict each other; more help nobody


def count_few(attack: Reconstruction) -> int | None:
    """How many secrets satisfy all that is certain; None if there are many, or counting takes long."""
    box = attack.proof.enclosure
    if int((box.lower < box.upper).sum()) > _MOST_OPEN:
        return None
    found = count_secrets(attack.evidence, attack.proof, attack.secret, thorough=False)
    return found.least if found is not None and found.exact and found.least <= MOST else None


def clashes_in(attack: Reconstruction, names: Sequence[str]) -> tuple[str, ...]:
    """Published values that cannot all be true, in words, none of them superfluous; empty if they agree.

    ``names`` are those of the releases. Only contradictions that bounds show are explained.
    """
    if not attack.secret.levels or not attack.evidence.enclosure.empty:
        return ()
    told = []
    for reason in contradiction(attack.evidence, effort=0):
        if reason.release < 0 or reason.value < 0:
            continue
        release = attack.releases[reason.release]
        cell = name_cell(release, attack.public, reason.value)
        what = ", ".join(f"{name} = {label}" for name, label in cell.items()) or f"value {reason.value + 1:,}"
        value = release.values[reason.value]
        told.append(f"{names[reason.release]}: {what}: {'hidden' if value != value else f'{value:g}'}")
    return tuple(told) if len(told) <= _SHOWN else ()
