"""Subsets of people: a mask, or a condition on the public columns."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.data import Public
from tellall.errors import invalid
from tellall.linops import IntArray
from tellall.statistics.conditions import Condition, parse_condition

__all__ = ["Mask", "Subset", "as_subset", "check_order", "file_order", "members", "subset_to_plain"]

Bits = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Mask:
    """Chosen people, in file order, eight to a byte."""

    people: int
    packed: bytes

    @classmethod
    def of(cls, bits: npt.ArrayLike, parameter: str = "subsets") -> Mask:
        """The mask of an array of bits, one per person."""
        try:
            array: npt.NDArray[Any] = np.asarray(bits)
        except ValueError:
            raise invalid(parameter, "masks of one bit per person, or conditions", bits) from None
        if array.ndim != 1 or array.size == 0:
            raise invalid(parameter, "masks of one bit per person, or conditions", f"shape {array.shape}")
        if array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
            raise invalid(parameter, "masks of bits (0 or 1, one per person), or conditions", bits)
        return cls(array.size, np.packbits(array.astype(bool)).tobytes())

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], parameter: str = "subsets") -> Mask:
        """The mask that was saved as its number of people and its bits in hexadecimal."""
        people, text = plain.get("people"), plain.get("bits")
        if set(plain) != {"people", "bits"} or not isinstance(text, str) or not isinstance(people, int):
            raise invalid(parameter, "conditions or tables { people = ..., bits = ... }", plain)
        try:
            packed = bytes.fromhex(text)
        except ValueError:
            raise invalid(parameter, "masks whose bits are hexadecimal digits", text) from None
        if people < 1 or len(packed) != (people + 7) // 8 or (people % 8 and packed[-1] & 255 >> people % 8):
            raise invalid(parameter, f"masks of {people} bits", f"{len(text)} hexadecimal digits")
        return cls(people, packed)

    @property
    def bits(self) -> Bits:
        """Who is in it."""
        return np.unpackbits(np.frombuffer(self.packed, dtype=np.uint8), count=self.people).astype(bool)

    def take(self, people: IntArray) -> Mask:
        """Who of these people, by place, is in it."""
        return Mask.of(self.bits[people])


Subset = Mask | Condition


def as_subset(subset: Any, parameter: str = "subsets") -> Subset:
    """The subset of whatever says one: text, a saved mask, or an array of bits."""
    if isinstance(subset, Mask | Condition):
        return subset
    if isinstance(subset, str):
        return parse_condition(subset)
    if isinstance(subset, Mapping):
        return Mask.from_plain(subset, parameter)
    return Mask.of(subset, parameter)


def subset_to_plain(subset: Subset) -> Any:
    """The subset as plain data."""
    if isinstance(subset, Condition):
        return subset.text
    return {"people": subset.people, "bits": subset.packed.hex()}


def members(subset: Subset, public: Public, parameter: str = "subsets") -> Bits:
    """Who is in the subset."""
    if isinstance(subset, Condition):
        return subset.mask(public)
    if subset.people != public.n:
        raise invalid(parameter, f"masks of one bit per person ({public.n})", f"{subset.people} bits")
    return subset.bits


def file_order(public: Public) -> str:
    """A fingerprint of the public rows in their order: masks mean people by their place."""
    digest = hashlib.blake2b(digest_size=16)
    for codes in public.codes:
        digest.update(codes.astype(np.uint32).tobytes())
    return digest.hexdigest()


def check_order(order: str, public: Public) -> None:
    """Nothing, if people come in the order they had when the masks were made."""
    if order and order != file_order(public):
        raise invalid("public", "the people in the order in which the masks list them", "another order")
