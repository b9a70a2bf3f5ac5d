"""What words and codes mean, read from `words.toml` and `reasons.toml`: what `explain` and the pages use."""

from __future__ import annotations

import inspect
import tomllib
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from tellall.core.errors import invalid
from tellall.core.reasons import KINDS
from tellall.release import catalogue

__all__ = [
    "Topic",
    "explain",
    "legend",
    "reason_list",
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


@cache
def reason_list() -> dict[str, Any]:
    """The tables of `reasons.toml`: what each code of a reason means, and what to do."""
    return tomllib.loads(files("tellall.report").joinpath("reasons.toml").read_text(encoding="utf-8"))


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
    return [*listed["words"], *listed["see"], *KINDS, *_kinds()]


def explain(name: str) -> Topic:
    """The topic of this name: a word, the code of a reason, or a kind of statistic or protection.

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
        word = Topic(key, said["what"], said["why"], said["fix"], listed["sources"][said["read"]])
        if name.strip().lower() not in KINDS:
            return word
        code = _of_code(name.strip().lower())  # a word and a code are spelt alike
        return Topic(
            code.name,
            f"{word.what} {code.what}",
            f"{code.why} {word.why}",
            f"{word.fix} {code.fix}",
            f"{word.read} {code.read}",
        )
    if key in KINDS:
        return _of_code(key)
    for kind, made in _kinds().items():
        if kind.lower() == key:
            return _of_class(kind, made)
    words = [one for one in topic_names() if one not in KINDS]
    rule = f"the code of a reason, or one of {', '.join(words)}"
    raise invalid("topic", rule, name, catalogue.nearest(name, topic_names()).strip())


def _kinds() -> dict[str, type]:
    return {**catalogue.kinds("statistic"), **catalogue.kinds("protection")}


def _of_code(code: str) -> Topic:
    kind, said = KINDS[code], reason_list()[code]
    what = {
        "fail": f"It makes the verdict fail. What to look at: {kind.look_at}",
        "review": f"It is for a person to decide. What to look at: {kind.look_at}",
        "pass": "It is a remark and decides nothing.",
    }
    return Topic(code, said["means"], what[kind.word], said["do"], "docs/reasons.md of this project.")


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
