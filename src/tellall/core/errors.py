"""What can go wrong, in words a person can act on.

Every message has one shape: ``{parameter} must be {rule}; got {value}. {what to do}``.
"""

from __future__ import annotations

from pathlib import PurePath

__all__ = [
    "CannotLinearise",
    "InvalidInput",
    "NoAnswer",
    "SolverFailed",
    "TellallError",
    "TooLittlePower",
    "WorkLost",
    "invalid",
]


class TellallError(Exception):
    """Any error that tellall raises on purpose."""


class InvalidInput(TellallError, ValueError):
    """An argument, a file or a column breaks a rule; the text names parameter, rule and value."""


class NoAnswer(InvalidInput):
    """A question that is well put but has no answer with these data; the text says what would have one."""


class TooLittlePower(NoAnswer):
    """Too few people to answer what was asked; the text says what they could answer."""


class CannotLinearise(TellallError):
    """A published value that cannot be written as an equation about people."""


class SolverFailed(TellallError):
    """A solver could not return anything usable; the text says what to try."""


class WorkLost(TellallError):
    """Processes or a cluster that work was given to are gone; what was finished is kept."""


def invalid(parameter: str, rule: str, value: object, advice: str = "") -> InvalidInput:
    """The error for an argument that breaks a rule, ready to raise.

    Examples
    --------
    >>> print(invalid("std", "zero or more", -1.0))
    std must be zero or more; got -1.0.
    """
    text = f"{parameter} must be {rule}; got {_short(value)}."
    return InvalidInput(f"{text} {advice}" if advice else text)


def _short(value: object, limit: int = 80) -> str:
    if isinstance(value, PurePath):  # the name of a file is at its end
        return f"{value}" if len(f"{value}") <= limit else f"…{str(value)[1 - limit :]}"
    text = value if isinstance(value, str) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
