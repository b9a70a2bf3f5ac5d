"""attack_files: everybody's secret guessed from releases in files, as an outsider would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from tellall.attack.reconstruct.attack import Reconstruction, reconstruct
from tellall.core.errors import InvalidInput, invalid
from tellall.core.not_done import NotDone
from tellall.core.records import ALWAYS, IF_KNOWN, VERSION, Meaning, Record
from tellall.core.version import __version__
from tellall.evidence.count_tables import name_cell
from tellall.outputs.described import described_secret, is_described
from tellall.outputs.folders import read_folder
from tellall.outputs.output_folder import OutputFolder
from tellall.people.bands import Bands
from tellall.people.dataset import Dataset
from tellall.people.readers import column_names, read_table
from tellall.release.release import Release
from tellall.statistics.conditions import parse_condition
from tellall.statistics.where import people_where

__all__ = ["AttackFound", "AttackOnNumbers", "AttackOnValues", "AttackedFiles", "attack_files"]

_LEVELS = (0.95, 0.99)
_WARNING = "SECRET: what an attack concludes about single people. Not for publication."


@dataclass(frozen=True)
class AttackedRelease(Record):
    """A release that was attacked."""

    file: str
    statistic: str
    values: int


@dataclass(frozen=True)
class ClashingValue(Record):
    """A published value that cannot be true together with others."""

    release: Annotated[int, Meaning("Which of the releases.", least=0)]
    value: Annotated[int, Meaning("Which of its values.", least=0)]
    cell: Annotated[dict[str, str], Meaning("Its value of each column.")]
    published: Annotated[float | None, Meaning("null: hidden.")]


@dataclass(frozen=True, kw_only=True)
class AttackFound(Record):
    """What an outsider concludes from releases, without any single person."""

    schema_version: Annotated[Literal[2], ALWAYS] = VERSION
    document: Annotated[Literal["attack"], ALWAYS] = "attack"
    tellall: Annotated[str, ALWAYS] = __version__
    seed: Annotated[int, Meaning(least=0)]
    device: str
    releases: tuple[AttackedRelease, ...]
    people: int
    equations: int
    decoder: str
    status: str
    status_codes: Annotated[tuple[str, ...], Meaning("Why the answer is not settled, by codes.")]
    skipped: Annotated[tuple[str, ...], Meaning("What could not be used, and why.")]
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AttackOnNumbers(AttackFound):
    """What was concluded about a real secret."""

    mean: float
    spread: Annotated[float, Meaning("The standard deviation over people.")]
    median_std: Annotated[float, Meaning("How far off the estimates are, by the median over people.")]
    known_to_a_tenth: Annotated[int, Meaning("People known to within a tenth of the spread.")]
    not_read: tuple[NotDone, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AttackOnValues(AttackFound):
    """What was concluded about bits or categories, as counts of people."""

    rate: Annotated[float | tuple[float, ...], Meaning("The rate of the secret, or of each of its values.")]
    guessed_to_have_it: Annotated[int | None, IF_KNOWN] = None
    guessed_values: Annotated[tuple[int, ...] | None, IF_KNOWN] = None
    confident: Annotated[dict[str, int], Meaning("How many are guessed with at least this confidence.")]
    proved: int
    undecided: int
    loose: int
    possible: Annotated[str, Meaning("How many secrets fit, in words; empty: not known.")]
    contradiction: tuple[ClashingValue, ...]
    cannot_be_told_apart: int
    not_read: tuple[NotDone, ...] = ()


@dataclass(frozen=True)
class GuessedValue(Record):
    """What the attack concludes about one person, by row of the public file."""

    row: int
    guess: int
    confidence: float
    identified: str


@dataclass(frozen=True)
class GuessedNumber(Record):
    """What the attack concludes about one person's number, by row of the public file."""

    row: int
    estimate: float
    std: float


@dataclass(frozen=True)
class GuessedPeople(Record):
    """What the attack concludes about each person, for whoever may know."""

    warning: str
    people: tuple[GuessedValue | GuessedNumber, ...]


@dataclass(frozen=True, eq=False)
class AttackedFiles:
    """An attack on releases in files: what is written about it, and the attack itself."""

    found: AttackOnValues | AttackOnNumbers
    attack: Reconstruction
    assumed: str

    @property
    def people(self) -> GuessedPeople:
        """What the attack concludes about each person."""
        attack = self.attack
        rows: tuple[GuessedValue | GuessedNumber, ...]
        if not attack.secret.levels:
            numbers = zip(attack.estimate.tolist(), attack.std.tolist(), strict=True)
            rows = tuple(GuessedNumber(row, *one) for row, one in enumerate(numbers, 1))
        else:
            sure = [round(one, 4) for one in attack.confidence.tolist()]
            guesses = zip(attack.guess.tolist(), sure, map(str, attack.identified), strict=True)
            rows = tuple(GuessedValue(row, *one) for row, one in enumerate(guesses, 1))
        return GuessedPeople(_WARNING, rows)


def attack_files(
    releases: Sequence[str | Path],
    public: str | Path,
    *,
    secret: str | None = None,
    prior: float | None = None,
    where: Sequence[str] = (),
    missing: int | None = None,
    may_include: bool = False,
    bands: Sequence[Bands] = (),
    device: str = "cpu",
    rng: int = 0,
) -> AttackedFiles:
    """Everybody's secret guessed from releases in files; ``.found`` is what is written, without any person.

    Parameters
    ----------
    releases
        Releases that are attacked together; or one folder of outputs, such as ACRO's.
    public
        The file with everybody's public columns.
    secret
        For a folder: the column to guess.
    where
        "FILE: CONDITION": the people that a release is about, if it does not say.
    bands
        For a folder: what labels of its tables mean, where they do not say it.
    prior, missing, may_include, device, rng
        As for `reconstruct`.
    """
    paths = [Path(path) for path in releases]
    names, skipped = [path.name for path in paths], list[NotDone]()
    if any(path.is_dir() for path in paths):
        people, folder = _folder(paths, Path(public), secret, bands, may_include=may_include)
        loaded = list(folder.releases)
        names, skipped = [output.id for output in folder.published], list(folder.unread)
        may_include = folder.may_include
    else:
        if secret is not None:
            raise invalid("--secret", "left out, as a release says what it is about", secret)
        if bands:
            told = ", ".join(each.column for each in bands)
            raise invalid("--bands", "left out, as a release says what it is about", told)
        loaded = [Release.load(path) for path in paths]
        about, more = _whom(names, where)
        people = _known(loaded, Path(public), more)
        loaded = _about(loaded, about, people)
    attack = reconstruct(
        loaded,
        people.public,
        prior=prior,
        rng=rng,
        device=device,
        missing=missing,
        may_include=may_include,
    )
    common = _common(attack, loaded, names, rng) | {"not_read": tuple(skipped)}
    found = _of_values(attack, common) if attack.secret.levels else _of_numbers(attack, common)
    return AttackedFiles(found, attack, people.assumed)


def _folder(
    paths: list[Path], public: Path, secret: str | None, bands: Sequence[Bands], *, may_include: bool
) -> tuple[Dataset, OutputFolder]:
    """The people with their public columns, and the outputs of a folder about them."""
    if len(paths) > 1:
        raise invalid("RELEASE", "one folder, or releases in files", f"{len(paths)} paths with a folder")
    table = read_table(public)
    names = column_names(table)
    about = secret  # an outsider does not know it, whatever the file has
    if about is None and is_described(paths[0]):
        about = described_secret(paths[0])
    people = Dataset.from_frame(table, public=[name for name in names if name != about])
    folder = read_folder(paths[0], people.public, secret=secret, may_include=may_include, bands=bands)
    if not folder.published:
        reasons = "; ".join(map(str, folder.skipped[:3])) or "no outputs"
        raise invalid("RELEASE", "a folder with an output that can be read", "none", f"Not read: {reasons}")
    return people, folder


def _known(releases: list[Release], path: Path, more: Sequence[str] = ()) -> Dataset:
    """The people with the releases' public columns that the file has, cut as the releases cut them.

    ``more`` are further columns that conditions are about.
    """
    table = read_table(path)
    have = column_names(table)
    wanted = list(dict.fromkeys(name for release in releases for name in release.columns))
    chosen = [name for name in wanted if name in have] or wanted
    bins: dict[str, Any] = {}
    for release in reversed(releases):  # the first decides; others are cut again
        bins |= {} if release.shape is None else release.shape.bins
    try:
        public = [*chosen, *(name for name in more if name not in chosen)]
        kept = {name: cut for name, cut in bins.items() if name in chosen}
        return Dataset.from_frame(table, public=public, bins=kept or None)
    except InvalidInput as error:
        raise InvalidInput(f"--public: {error}") from None


def _whom(names: list[str], conditions: Sequence[str]) -> tuple[list[str | None], list[str]]:
    """The people each release is said to be about, as conditions, and the columns that these need."""
    about: list[str | None] = [None] * len(names)
    columns: list[str] = []
    for given in conditions:
        name, sign, text = given.partition(":")
        if not sign or name.strip() not in names:
            rule = f"FILE: CONDITION, FILE one of {', '.join(names)}"
            raise invalid("--where", rule, given, 'For example --where "march.json: joined < 3".')
        about[names.index(name.strip())] = text.strip()
        columns += parse_condition(text.strip()).columns
    return about, columns


def _about(releases: list[Release], about: Sequence[str | None], people: Dataset) -> list[Release]:
    """The releases with the people they are said to be about; refuses conditions the file cannot answer."""
    for where in filter(None, about):
        try:
            people_where(where, people.public)
        except InvalidInput as error:
            raise InvalidInput(f"--where: {error}") from None
    pairs = zip(releases, about, strict=True)
    return [release if where is None else release.about(where) for release, where in pairs]


def _common(attack: Reconstruction, releases: list[Release], names: list[str], seed: int) -> dict[str, Any]:
    """What was attacked, and how the attack ended."""
    pairs = zip(names, releases, strict=True)
    return {
        "seed": seed,
        "device": attack.evidence.device.name,
        "releases": tuple(
            AttackedRelease(name, release.describe(), int(release.values.size)) for name, release in pairs
        ),
        "people": attack.n,
        "equations": int(attack.evidence.target.size),
        "decoder": attack.decoder,
        "status": str(attack.status),
        "status_codes": attack.status.why,
        "skipped": tuple(map(str, attack.skipped)),
        "notes": tuple(attack.notes),
    }


def _of_numbers(attack: Reconstruction, common: dict[str, Any]) -> AttackOnNumbers:
    mean, spread = np.asarray(attack.prior).tolist()
    return AttackOnNumbers(
        **common,
        mean=mean,
        spread=spread,
        median_std=float(np.median(attack.std)),
        known_to_a_tenth=int((attack.std <= spread / 10).sum()),
    )


def _of_values(attack: Reconstruction, common: dict[str, Any]) -> AttackOnValues:
    system, box, values = attack.evidence.system, attack.evidence.enclosure, attack.evidence.values
    mixed = (box.lower == box.upper) & (box.lower > 0) & (box.lower < system.size)
    together = mixed.reshape(values, -1).any(axis=0)
    bit = values == 1
    return AttackOnValues(
        **common,
        rate=attack.rate,
        guessed_to_have_it=int(attack.guess.sum()) if bit else None,
        guessed_values=None if bit else tuple(np.bincount(attack.guess, minlength=values).tolist()),
        confident={f"{level:g}": int((attack.confidence >= level).sum()) for level in _LEVELS},
        proved=int(attack.proved.sum()),
        undecided=attack.undecided,
        loose=attack.loose,
        possible=str(attack.possible or ""),
        contradiction=_contradiction(attack) if attack.status.word == "contradictory" else (),
        cannot_be_told_apart=int(attack.evidence.groups.counts[together].sum()),
    )


def _contradiction(attack: Reconstruction) -> tuple[ClashingValue, ...]:
    """Published values that cannot all be true: of which release, which cell, and what was published."""
    return tuple(
        ClashingValue(
            reason.release,
            reason.value,
            name_cell(attack.releases[reason.release], attack.public, reason.value),
            _shown(float(attack.releases[reason.release].values[reason.value])),
        )
        for reason in attack.contradiction
        if 0 <= reason.release < len(attack.releases) and reason.value >= 0
    )


def _shown(value: float) -> float | None:
    return None if np.isnan(value) else value
