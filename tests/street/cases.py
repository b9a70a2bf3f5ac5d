"""The cases: what is published about whom, and whether a statistician calls it harmless or dangerous."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

import tellall as ta
from tellall.audits.plans.draft import as_toml, as_toml_value
from tests.street.people import people_of

__all__ = ["CASES", "LABELS", "Case"]

LABELS = {"harmless": 0, "dangerous": 1}  # the exit code that each deserves
_PEOPLE = ("where", "first", "every", "make", "cut", "labels")


@dataclass(frozen=True, eq=False)
class Case:
    """One ordinary output.

    Attributes
    ----------
    name, kind
        What it is called, and the file it stands in: the kind of statistic.
    people, chosen
        The data set, and which of its rows and columns, as `people_of` takes them.
    plan
        What is published, in the words of a plan, without the file of people.
    label, why
        "harmless" or "dangerous", and one sentence that a second person could dispute.
    wrong
        Why tellall decides otherwise today; empty if it does not. The test turns red when it decides right.
    relabelled
        Why the label is not the one that was written first; empty if it is.
    remedy
        Whether a remedy is looked for too, which takes longer.
    remedy_wrong
        Why the remedy offered today is not worth having; empty if it is, or if there is none.
    quick, slow
        Whether `make test` runs it too, and whether only the slow tests do.
    """

    name: str
    kind: str
    people: str
    label: str
    why: str
    plan: dict[str, Any]
    chosen: dict[str, Any] = field(default_factory=dict)
    wrong: str = ""
    relabelled: str = ""
    remedy: bool = False
    remedy_wrong: str = ""
    quick: bool = False
    slow: bool = False

    @classmethod
    def of(cls, kind: str, entry: dict[str, Any]) -> Case:
        """The case of an entry of a file; what is no key of a case is one of its plan."""
        left = dict(entry)
        chosen = {key: left.pop(key) for key in _PEOPLE if key in left}
        own = {key: left.pop(key) for key in list(left) if key in cls.__dataclass_fields__}
        return cls(**own, kind=kind, chosen=chosen, plan={"steps": False, **left})

    @property
    def code(self) -> int:
        """The exit code that it deserves."""
        return LABELS[self.label]

    @property
    def protection(self) -> str:
        """The kinds of its protections."""
        given = [one.get("protect", []) for one in self.plan["releases"]]
        listed = [part for one in given for part in (one if isinstance(one, list) else [one])]
        return " + ".join(dict.fromkeys(part["kind"] for part in listed)) or "exact"

    def frame(self) -> pd.DataFrame:
        """The people as a table of the public columns and the secret."""
        if "public" in self.plan:
            return people_of(self.people, **self.chosen, columns=[*self.plan["public"], self.plan["secret"]])
        return people_of(self.people, **self.chosen)

    def document(self) -> dict[str, Any]:
        """The plan as a mapping, for the library."""
        return {**self.plan, "data": "people.csv"}

    def dataset(self) -> ta.Dataset:
        """The people as the library reads them."""
        return ta.Dataset.from_frame(
            self.frame(), self.plan["secret"], self.plan.get("public"), self.plan.get("bins")
        )

    def write(self, folder: Path) -> Path:
        """The people and the plan as files; returns the plan's path."""
        self.frame().to_csv(folder / "people.csv", index=False)
        plan = self.document()
        releases = plan.pop("releases")
        bins = plan.pop("bins", None)
        lines = [f"{key} = {as_toml_value(value)}" for key, value in plan.items()]
        if bins is not None:
            lines.append(f"bins = {as_toml_value(bins)}")
        path = folder / "plan.toml"
        path.write_text("\n".join([*lines, "", as_toml(releases), ""]), encoding="utf-8")
        return path


def _read() -> tuple[Case, ...]:
    files = sorted((Path(__file__).parent / "cases").glob("*.toml"))
    return tuple(
        Case.of(file.stem, entry)
        for file in files
        for entry in tomllib.loads(file.read_text(encoding="utf-8"))["case"]
    )


CASES = _read()
