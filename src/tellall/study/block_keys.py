"""What a block's study is filed under: a hash of everything that decides its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tellall import catalogue
from tellall.errors import TellallError
from tellall.protections import Protection
from tellall.statistics import Statistic
from tellall.study.families import Family, as_family
from tellall.work import filed_under

__all__ = ["study_key"]


def study_key(
    what: str, people: str, statistic: Statistic, seed: int, options: Mapping[str, Any]
) -> str | None:
    """The hash; None where something in it is the user's own code, of which no hash can be made."""
    try:
        chosen = {name: _plain(value) for name, value in options.items()}
        return filed_under(what, people, catalogue.to_plain(statistic), seed, chosen)
    except (TellallError, TypeError):
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, type):
        if value not in catalogue.kinds("protection").values():
            raise TypeError(value.__name__)
        return value.__name__
    if isinstance(value, Protection):
        # a cell key changes the noise and is never written down but here, in a hash
        return [catalogue.to_plain(value), getattr(value, "key", None)]
    if isinstance(value, Family):
        known = catalogue.kinds("protection")
        if value.name not in known or as_family(value.name) != value:
            raise TypeError(value.name)
        return value.name
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(type(value).__name__)
