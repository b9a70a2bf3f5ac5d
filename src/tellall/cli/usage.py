"""What is wrong with a command as it was typed, in one sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import typer

__all__ = [
    "UsageError",
    "explain_usage",
]

# typer brings its own copy of click from some version on, and uses the installed one before
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def explain_usage(error: Any, arguments: Sequence[str], commands: Sequence[str]) -> str:
    """One sentence: what is missing, unknown or wrong, and where all options are listed.

    Examples
    --------
    >>> explain_usage(UsageError("No such option: --sed"), ["audit", "--sed"], ["audit"])
    'no such option: --sed; see tellall audit --help.'
    """
    if type(error).__name__ == "NoArgsIsHelpError":
        return str(error.format_message())
    known = next((word for word in arguments[:1] if word in commands), None)
    what = _what(error)
    see = f"{' See' if what.endswith('?') else '; see'} tellall {f'{known} ' if known else ''}--help."
    return f"{what}{see}"


def _what(error: Any) -> str:
    param = getattr(error, "param", None)
    if param is None:
        text = " ".join(str(error.format_message()).split()).rstrip(".")
        text = text.replace(" (Possible options: ", " (there are ")
        return f"{text[:1].lower()}{text[1:]}" if text else "the command cannot be understood"
    name = _name(param)
    if type(error).__name__ == "MissingParameter":
        said = " ".join(str(getattr(param, "help", None) or "").split()).rstrip(".")
        return f"{name} must be given ({said})" if said else f"{name} must be given"
    rule = " ".join(str(error.message).split()).rstrip(".")
    rule = re.sub(r", unable to .*$", "", rule)
    rule, count = re.subn(r"^Input should be ", "must be ", rule)
    return f"{name} {rule}{_got(error)}" if count else f"{name}: {rule}"


def _name(param: Any) -> str:
    """An option as it is typed, the long form where there are two; an argument as its help calls it."""
    if getattr(param, "param_type_name", "") == "argument":
        return str(getattr(param, "metavar", None) or str(param.name).upper())
    return str(max(param.opts, key=len))


def _got(error: Any) -> str:
    """What was typed instead, where the check remembers it."""
    try:
        typed = str(error.__cause__.errors()[0]["input"])
    except (AttributeError, IndexError, KeyError, TypeError):
        return ""
    return f"; got {typed if len(typed) <= 80 else f'{typed[:79]}…'}"
