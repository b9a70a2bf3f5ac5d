"""Public columns as 0/1 attributes: bits as they are, any other column by its indicators "column = value"."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tellall.data import Public
from tellall.errors import invalid

__all__ = ["Indicators"]


@dataclass(frozen=True, eq=False)
class Indicators:
    """The 0/1 attributes of a public table.

    A column of bits is one attribute under its own name; any other column has one attribute per category,
    named "column = category", the columns in their order and the categories in that of their codes.

    Examples
    --------
    >>> from tellall.data import Dataset
    >>> people = Dataset.from_frame({"smokes": [0, 1, 1], "sex": ["f", "m", "f"]})
    >>> Indicators(people.public).names
    ('smokes', 'sex = f', 'sex = m')
    """

    public: Public

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each attribute is called."""
        names: list[str] = []
        for column in self.public.columns:
            if _is_bit(column.labels):
                names.append(column.name)
            else:
                names += [f"{column.name} = {label}" for label in column.labels]
        return tuple(names)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def bits(self) -> npt.NDArray[np.float32]:
        """Attributes × people; counts of them are exact below 2^24 people."""
        rows: list[npt.NDArray[np.bool_]] = []
        for column, codes in zip(self.public.columns, self.public.codes, strict=True):
            wanted = (1,) if _is_bit(column.labels) else range(column.levels)
            rows += [codes == value for value in wanted]
        return np.array(rows, dtype=np.float32).reshape(len(rows), self.public.n)

    def position(self, name: str | int) -> int:
        """The place of an attribute given by name or place."""
        if isinstance(name, int | np.integer) and not isinstance(name, bool):
            if not 0 <= name < len(self):
                raise invalid("attributes", f"places from 0 to {len(self) - 1}", int(name))
            return int(name)
        if name not in self.names:
            gone = next((reason for reason in self.public.left_out if reason.startswith(f"{name}: ")), None)
            if gone is not None:
                rule = "of columns that differ between people"
                raise invalid("attributes", rule, f"'{name}'", f"Left out: {gone}.")
            near = difflib.get_close_matches(str(name), self.names, n=1)
            listing = ", ".join(self.names[:12]) + (", ..." if len(self) > 12 else "")
            advice = f"Did you mean '{near[0]}'?" if near else ""
            raise invalid("attributes", f"among {listing}", f"'{name}'", advice)
        return self.names.index(str(name))


def _is_bit(labels: tuple[str, ...]) -> bool:
    return labels == ("0", "1")
