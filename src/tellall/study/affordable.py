"""Which decoders a study tries, and which it leaves out for the time they take."""

from __future__ import annotations

from collections.abc import Sequence

from tellall.attacks.decoders import DECODERS
from tellall.errors import invalid

__all__ = ["check_decoders", "quickest_first", "untried"]

# up to so many people a decoder is used where none is named, the quickest first; others up to the least of
# these. For fifty draws at n = 1000: 2 s, 3 to 30 s, 10 to 90 s.
_AFFORDABLE = {"least-squares": 10**9, "posterior": 1000, "lp": 1000, "exhaustive": 16}


def quickest_first(decoder: str) -> int:
    """The place of a decoder among them, the quickest first."""
    order = tuple(_AFFORDABLE)
    return order.index(decoder) if decoder in order else len(order)


def untried(chosen: Sequence[str]) -> tuple[str, ...]:
    """Decoders that are left out where none is named; listing every secret is for few people anyway."""
    return tuple(name for name in DECODERS if name not in chosen and name != "exhaustive")


def check_decoders(decoders: Sequence[str] | None, n: int) -> tuple[str, ...]:
    """The decoders that are named or, where none is, those that so many people can afford."""
    if decoders is None:
        least = min(_AFFORDABLE.values())
        return tuple(name for name in DECODERS if n <= _AFFORDABLE.get(name, least))
    names = (decoders,) if isinstance(decoders, str) else tuple(decoders)
    for name in names:
        if name != "auto" and name not in DECODERS:
            raise invalid("decoders", f"among 'auto', {', '.join(map(repr, DECODERS))}", name)
    if not names:
        raise invalid("decoders", "one or more, or None", "none")
    return names
