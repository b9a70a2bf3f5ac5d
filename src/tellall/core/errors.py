"""What can go wrong, in words a person can act on.

Every message has one shape: ``{parameter} must be {rule}; got {value}. {what to do}``.
"""

from __future__ import annotations

from tellall.core.text import one_line, plain_text

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

_LONGEST = 1200  # characters of a message, whatever names are in it
_LONGEST_TEXT = 40_000  # of a list of them


class TellallError(Exception):
    """Any error that tellall raises on purpose; its text can be printed as it is."""

    def __init__(self, text: str = "") -> None:
        super().__init__(plain_text(text[:_LONGEST_TEXT]))


class InvalidInput(TellallError, ValueError):
    """An argument, a file or a column breaks a rule; the text names parameter, rule and value."""


class NoAnswer(InvalidInput):
    """A valid question that these data cannot answer; the text says what would have an answer."""


class TooLittlePower(NoAnswer):
    """Too few people to answer the question; the text says what they could answer."""


class CannotLinearise(TellallError):
    """A published value that cannot be written as an equation about people."""


class SolverFailed(TellallError):
    """A solver could not return anything usable; the text says what to try."""


class WorkLost(TellallError):
    """Processes or a cluster that did the work are gone; finished pieces are kept."""


def invalid(parameter: str, rule: str, value: object, advice: str = "") -> InvalidInput:
    """The error for an argument that breaks a rule, ready to raise.

    Examples
    --------
    >>> print(invalid("std", "zero or more", -1.0))
    std must be zero or more; got -1.0.
    """
    text = f"{parameter} must be {rule}; got {one_line(value)}."
    return InvalidInput(one_line(f"{text} {advice}" if advice else text, _LONGEST))
