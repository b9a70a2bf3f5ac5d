"""What the words on a page mean, read from `words.toml`: the one list that `explain` and the pages use."""

from __future__ import annotations

import inspect
import tomllib
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from tellall.core.errors import invalid
from tellall.release import catalogue

__all__ = [
    "Topic",
    "explain",
    "legend",
    "topic_names",
    "word_list",
]

_NO_WHY = "What it gives away depends on what else is published. An audit measures it."


@dataclass(frozen=True)
class Topic:
    """A word: what it means, why it matters, what to do about it, and where to read more."""

    name: str
    what: str
    why: str
    fix: str
    read: str

    def as_json(self) -> dict[str, str]:
        """The topic as plain data."""
        return asdict(self)


@cache
def word_list() -> dict[str, Any]:
    """The tables of `words.toml`: sources, words, see, why."""
    return tomllib.loads(files("tellall.report").joinpath("words.toml").read_text(encoding="utf-8"))


def legend(*names: str) -> dict[str, str]:
    """The short definitions of these words, for a page's legend.

    Examples
    --------
    >>> legend("promised")
    {'promised': 'differential privacy, as the protections declare it'}
    """
    return {name: word_list()["words"][name]["short"] for name in names}


def topic_names() -> list[str]:
    """Every word that can be explained."""
    listed = word_list()
    return [*listed["words"], *listed["see"], *_kinds()]


def explain(name: str) -> Topic:
    """The topic of this name. A statistic or protection is explained by its own docstring.

    Examples
    --------
    >>> explain("Rounding").name
    'Rounding'
    """
    listed, made = word_list(), _kinds().get(name.strip())
    if made is not None:  # a class by its own name, where a word is spelt alike
        return _of_class(name.strip(), made)
    key = name.strip().lower()
    key = listed["see"].get(key, key)
    if key in listed["words"]:
        said = listed["words"][key]
        return Topic(key, said["what"], said["why"], said["fix"], listed["sources"][said["read"]])
    for kind, made in _kinds().items():
        if kind.lower() == key:
            return _of_class(kind, made)
    names = topic_names()
    raise invalid("topic", f"one of {', '.join(names)}", name, catalogue.nearest(name, names).strip())


def _kinds() -> dict[str, type]:
    return {**catalogue.kinds("statistic"), **catalogue.kinds("protection")}


def _of_class(name: str, kind: type) -> Topic:
    import tellall

    first = (inspect.getdoc(kind) or name).partition("\n\n")[0]
    own = getattr(tellall, name, None) is kind  # a public name; help finds any other by its module
    return Topic(
        name,
        " ".join(first.split()),
        word_list()["why"].get(name, _NO_WHY),
        f"In a plan: kind = '{name}', with the keys: {', '.join(catalogue.parameters(kind)) or 'none'}.",
        f"help({f'tellall.{name}' if own else repr(f'{kind.__module__}.{name}')}) in Python.",
    )
