"""What the terminal says about an attack on releases: counts, no person."""

from __future__ import annotations

from tellall.attack.reconstruct.attack_files import AttackOnNumbers, AttackOnValues
from tellall.core.amounts import digits

__all__ = ["attack_lines"]

_CLASHES = 12  # values that cannot all be true, at most as many lines
_TRUTH = "Only somebody who holds the truth can tell whether the guesses are right"


def attack_lines(found: AttackOnValues | AttackOnNumbers) -> list[str]:
    """What was found in sentences, and what could not be used."""
    first = f"{found.equations:,} equations about {found.people:,} people; {found.decoder}: {found.status}"
    said = _of_numbers(found) if isinstance(found, AttackOnNumbers) else _of_values(found)
    unused = [f"Not used: {reason}" for reason in found.skipped]
    return [first, *said, *unused, *found.notes]


def _of_numbers(found: AttackOnNumbers) -> list[str]:
    return [
        f"Everybody's value is estimated to within {digits(found.median_std)} (median standard deviation); "
        f"people differ by {digits(found.spread)}.",
        f"{found.known_to_a_tenth:,} people are known to within a tenth of that.",
        f"{_TRUTH}.",
    ]


def _of_values(found: AttackOnValues) -> list[str]:
    sure = ", ".join(f"{count:,} with confidence {level}" for level, count in found.confident.items())
    left = f", {found.undecided:,} left open by the search." if found.undecided else "."
    if found.guessed_values is not None:
        tally = ", ".join(f"{count:,} × {value}" for value, count in enumerate(found.guessed_values))
        guessed = f"Guessed values: {tally}."
    else:
        guessed = f"{found.guessed_to_have_it:,} people are guessed to have the secret."
    return [
        f"Everybody is guessed: {sure}; {found.proved:,} proved{left}",
        guessed,
        *([f"The secret is {found.possible}."] if found.possible else []),
        *_clashes(found),
        f"{_TRUTH}: tellall audit.",
    ]


def _clashes(found: AttackOnValues) -> list[str]:
    """The values that cannot all be true, a line each."""
    lines = []
    for one in found.contradiction[:_CLASHES]:
        cell = ", ".join(f"{name} = {value}" for name, value in one.cell.items())
        shown = "hidden" if one.published is None else f"{one.published:g}"
        lines.append(f"  {found.releases[one.release].file}: {cell or f'value {one.value + 1:,}'}: {shown}")
    return ["These values cannot all be true:", *lines] if lines else []
