"""Plan: what is going to be published about whom, and how much that may give away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tellall import catalogue, io, store
from tellall.audit.plan_problems import (
    ELSEWHERE,
    Problem,
    all_at_once,
    described_wrongly,
    explained,
    misplaced,
    short,
)
from tellall.cells import Stored, scan
from tellall.cells.engine import Progress
from tellall.data import Dataset, split
from tellall.data.blocks import values_as_text
from tellall.errors import TellallError, invalid
from tellall.protections import Protection
from tellall.protections.base import as_protections, prepare
from tellall.schemas import VERSION
from tellall.statistics import Marginals, Statistic

if TYPE_CHECKING:
    from tellall.audit.memory import Memory

__all__ = ["ALL_TOGETHER", "Entry", "Plan"]

ALL_TOGETHER = "all releases together"  # what that attack is called; no release may be

_LARGEST_PLAN = 2**20


@dataclass(frozen=True, eq=False)
class Entry:
    """One planned release: a statistic and the protections it gets, in order."""

    name: str
    statistic: Statistic
    protections: tuple[Protection, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The entry as a plan writes it."""
        return {
            "name": self.name,
            "statistic": catalogue.to_plain(self.statistic),
            "protect": [catalogue.to_plain(protection) for protection in self.protections],
        }


@dataclass(frozen=True, eq=False)
class Plan:
    """A list of planned releases with the data they are about and the limit they must keep.

    Attributes
    ----------
    releases
        What will be published, all of it.
    data, secret, public, bins
        How to read the people; see :func:`tellall.read`. Not needed where a dataset is at hand.
    by
        A public column; everything is published, and attacked, for each of its values apart. None: for all.
    limit
        The most advantage over the strongest baseline that a release may give.
    exposed_limit
        The most people a release may expose; None where that is not judged.
    repeats
        How many draws of the noise are attacked.
    seed
        Seed of the audit. What is published later must not use it: who knows the seed can undo the noise.
    steps
        Whether each release is attacked also with none and with only its first protections.
    device
        Where equations are solved, "cpu" or "cuda"; no part of the plan as a document.

    Examples
    --------
    >>> plan = Plan.from_mapping({"releases": [{"statistic": {"kind": "Marginals", "ways": 3}}]})
    >>> plan.releases[0].name, plan.limit
    ('every 3-way table, exact', 0.05)
    """

    releases: tuple[Entry, ...]
    data: str = ""
    secret: str = ""
    public: tuple[str, ...] | None = None
    bins: int | Mapping[str, int | Sequence[float]] = field(default_factory=dict)
    limit: float = 0.05
    exposed_limit: int | None = None
    repeats: int = 1
    seed: int = 0
    steps: bool = True
    folder: Path | None = None
    by: str | None = None
    device: str = "cpu"

    @classmethod
    def read(cls, path: str | Path, *, needs_data: bool = True) -> Plan:
        """The plan in a TOML file; everything wrong with it is said at once."""
        import tomllib

        place = Path(path)
        text = store.read_text(place, what="plan", largest=_LARGEST_PLAN)
        try:
            mapping = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise invalid("plan", "a TOML file", str(path), f"The reader said: {str(error)[:120]}.") from None
        needed = ("secret", "data") if needs_data else ("secret",)
        return cls.from_mapping(mapping, folder=place.parent, needed=needed)

    @classmethod
    def from_mapping(
        cls, mapping: Mapping[str, Any], *, folder: Path | None = None, needed: Sequence[str] = ()
    ) -> Plan:
        """The plan in a mapping of the same shape as the file."""
        from pydantic import ValidationError

        from tellall.schemas.documents import PlanDocument

        found: list[Problem] = [(key, "is needed") for key in needed if key not in mapping]
        document = None
        try:
            document = PlanDocument.model_validate(dict(mapping))
        except ValidationError as error:
            found += explained(error.errors(include_url=False))
        if mapping.get("by") and mapping.get("by") == mapping.get("secret"):
            found.append(("by", "must be a public column, not the secret."))
        found += described_wrongly(mapping.get("releases"))
        found += misplaced(mapping.get("data"), folder)
        if found or document is None:
            raise all_at_once(found)
        entries = [_entry(release.name, release.statistic, release.protect) for release in document.releases]
        return cls(
            releases=_with_different_names(entries),
            data=document.data,
            secret=document.secret,
            public=None if document.public is None else tuple(document.public),
            bins=document.bins,
            limit=document.limit,
            exposed_limit=document.exposed_limit,
            repeats=document.repeats,
            seed=document.seed,
            steps=document.steps,
            folder=folder,
            by=document.by or None,
        )

    def dataset(self, data: Path | None = None) -> Dataset:
        """The people, read as the plan says, from its file or from another."""
        if data is None:
            data = store.fits_inside(self.folder or Path(), self.data, what="data", advice=ELSEWHERE)
        table = io.read_table(data)
        names = [str(name) for name in (table if isinstance(table, dict) else table.columns)]
        by_column = {} if isinstance(self.bins, int) else self.bins
        found = [
            (where, f"must be a column of {data.name}; got '{short(name)}'.{catalogue.nearest(name, names)}")
            for where, name in (
                ("secret", self.secret),
                *((("by", self.by),) if self.by is not None else ()),
                *((f"public.{place}", name) for place, name in enumerate(self.public or ())),
                *((f"bins.{name}"[:60], name) for name in by_column),
            )
            if name not in names
        ]
        if found:
            raise all_at_once(found)
        public = self.public
        if self.by is not None:
            table = _with_text(table, self.by)
            public = None if public is None else tuple(dict.fromkeys([*public, self.by]))
        return Dataset.from_frame(table, secret=self.secret, public=public, bins=self.bins or None)

    def stored(self, data: Path | None = None, progress: Progress | None = None) -> Stored:
        """The people of Parquet files, seen as the plan says, for tables of more than memory holds."""
        if data is None:
            data = store.fits_inside(self.folder or Path(), self.data, what="data", advice=ELSEWHERE)
        chosen: Any = self.bins or None
        return scan(data, secret=self.secret, public=self.public, bins=chosen, progress=progress)

    def check(self, dataset: Dataset, *, reals: bool = True) -> None:
        """Refuse releases that cannot be computed from these people, all at once.

        Without ``reals`` a secret of real numbers is refused, which studies of noise take and audits do not.
        """
        if dataset.secret is None:
            raise invalid("dataset", "one with a secret, to be audited", "no secret")
        if not (dataset.levels or reals):
            advice = "Cut it into categories; ta.reconstruct and ta.score take real numbers as they are."
            raise invalid("secret", "of two values or some, to be audited", "real numbers", advice)
        if self.secret and self.secret != dataset.secret_name:
            raise invalid("secret", f"that of the dataset ('{dataset.secret_name}')", f"'{self.secret}'")
        public = dataset.public if self.by is None else split(dataset, self.by)[0].whole.public
        found: list[Problem] = []
        for place, entry in enumerate(self.releases):
            try:
                entry.statistic.size(public)
                if dataset.levels > 2 and not isinstance(entry.statistic, Marginals):
                    said = f"must be tables (Marginals) for a secret of {dataset.levels} values"
                    found.append(
                        (f"releases.{place}.statistic", f"{said}; got {entry.statistic.describe()}.")
                    )
                    continue
            except TellallError as error:
                found.append((f"releases.{place}.statistic", str(error)))
                continue
            try:
                prepare(as_protections(entry.protections), entry.statistic, public)
            except TellallError as error:
                found.append((f"releases.{place}.protect", str(error)))
        if found:
            raise all_at_once(found)

    def memory(self, dataset: Dataset, device: str = "cpu") -> Memory:
        """What the audit will need, before it starts; ``device`` as in :func:`tellall.audit`."""
        from tellall.audit.memory import memory_of

        return memory_of(self, dataset, device)

    def as_json(self) -> dict[str, Any]:
        """The plan as plain data, every default written out."""
        return {
            "schema_version": VERSION,
            "data": self.data,
            "secret": self.secret,
            "public": None if self.public is None else list(self.public),
            "bins": self.bins if isinstance(self.bins, int) else dict(self.bins),
            "by": self.by,
            "limit": self.limit,
            "exposed_limit": self.exposed_limit,
            "repeats": self.repeats,
            "seed": self.seed,
            "steps": self.steps,
            "releases": [entry.as_json() for entry in self.releases],
        }


def _entry(name: str, statistic: Mapping[str, Any], protect: Any) -> Entry:
    computed = catalogue.build("statistic", statistic)
    listed = protect if isinstance(protect, list) else [protect]
    protections = tuple(catalogue.build("protection", plain) for plain in listed)
    return Entry(name or f"{computed.describe()}, {catalogue.label(protections)}", computed, protections)


def _with_text(table: Any, by: str) -> Any:
    """The table, in which every value of the column that blocks are made by is a category."""
    texts = values_as_text(by, table[by])
    return {**table, by: texts} if isinstance(table, dict) else table.assign(**{by: texts})


def _with_different_names(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The entries, those with a name that was there before numbered, by the next number that is free."""
    given = {entry.name for entry in entries} | {ALL_TOGETHER}
    seen = {ALL_TOGETHER}
    named = []
    for entry in entries:
        name, again = entry.name, 1
        while name in seen or (again > 1 and name in given):
            again += 1
            name = f"{entry.name} ({again})"
        seen.add(name)
        named.append(Entry(name, entry.statistic, entry.protections))
    return tuple(named)
