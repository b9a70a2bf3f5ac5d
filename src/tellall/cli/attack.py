"""tellall attack: the outsider's side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tellall.cli.options import (
    AsJson,
    Device,
    Out,
    Quiet,
    Reveal,
    Seed,
    check_out,
    emit,
    tell_assumed,
    write_secret,
)
from tellall.core.amounts import digits
from tellall.core.errors import InvalidInput, invalid
from tellall.core.exits import DONE, UNSETTLED
from tellall.core.records import VERSION

if TYPE_CHECKING:
    from tellall.attack.reconstruct.attack import Reconstruction
    from tellall.people.dataset import Dataset
    from tellall.release.outputs import OutputFolder
    from tellall.release.release import Release

__all__ = [
    "attack",
]

_LEVELS = (0.95, 0.99)
_CLASHES = 12  # values that cannot all be true, at most as many lines
Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="RELEASE.json...", help="Releases attacked together; or a folder of outputs, such as ACRO's."
    ),
]
Secret = Annotated[
    str | None,
    typer.Option("--secret", help="For a folder: the column to guess; the file need not have it."),
]
PublicFile = Annotated[Path, typer.Option("--public", help="The file with everybody's public columns.")]
About = Annotated[
    list[str] | None,
    typer.Option("--where", help="FILE: CONDITION, the people a release is about if it does not say."),
]
Missing = Annotated[
    int | None, typer.Option("--missing", help="How many people the releases count who are not in the file.")
]
MayInclude = Annotated[
    bool, typer.Option("--may-include", help="The file holds people who may not be in the releases.")
]
Prior = Annotated[float | None, typer.Option("--prior", help="The rate of the secret, if it is known.")]


def attack(
    releases: Files,
    public: PublicFile,
    secret: Secret = None,
    prior: Prior = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    out: Out = None,
    reveal: Reveal = False,
    device: Device = "cpu",
    where: About = None,
    missing: Missing = None,
    may_include: MayInclude = False,
) -> None:
    """Guess everybody's secret from releases, as an outsider would.

    The file has everybody the attacker knows; each release is about some of them. The attacker does not know
    columns that the file lacks: tables are added up over them.

    RELEASE can be a folder that ACRO wrote, with tables and regressions as they are suppressed and rounded,
    or a folder of tables in CSV or Excel files, described by its tables.toml (tellall init FOLDER). Outputs
    that could not be read are listed with the reason.

    Exit codes: 0 attacked, 2 bad input or usage, 3 inconclusive (the solver did not settle). tellall --help
    has the others.
    """
    from tellall import reconstruct
    from tellall.release.release import Release
    from tellall.report.text import talk_console

    talk = talk_console(quiet=quiet)
    check_out(out)
    names, skipped = [path.name for path in releases], []
    if any(path.is_dir() for path in releases):
        people, folder = _folder(releases, public, secret, may_include=may_include)
        loaded = list(folder.releases)
        names, skipped = [output.id for output in folder.outputs], list(folder.skipped)
    else:
        if secret is not None:
            raise invalid("--secret", "left out, as a release says what it is about", secret)
        loaded = [Release.load(path) for path in releases]
        about, more = _whom(names, where or [])
        people = _known(loaded, public, more)
        loaded = _about(loaded, about, people)
    for one in skipped:
        talk.print(f"Not read: {one}")
    found = reconstruct(
        loaded,
        people.public,
        prior=prior,
        rng=seed,
        device=device,
        missing=missing,
        may_include=may_include,
    )
    concluded = _counted(found) if found.secret.levels else _real(found)
    document = _common(found, loaded, names, seed) | concluded
    document["not_read"] = [{"id": one.id, "reason": one.reason} for one in skipped]
    for line in _lines(document):
        talk.print(line)
    for reason in document["skipped"]:
        talk.print(f"Not used: {reason}")
    for note in document["notes"]:
        talk.print(note)
    tell_assumed(people.assumed, talk)
    if reveal:
        marked = write_secret(out or Path(f"{releases[0].stem}-people"), _people(found))
        talk.print(f"The guess about each person is in {marked}", soft_wrap=True)
    emit(document, as_json=as_json, out=out)
    raise typer.Exit(DONE if found.status.settled else UNSETTLED)


def _folder(
    paths: list[Path], public: Path, secret: str | None, *, may_include: bool
) -> tuple[Dataset, OutputFolder]:
    """The people with their public columns, and the outputs of a folder about them."""
    from tellall.people.dataset import Dataset
    from tellall.people.readers import read_table
    from tellall.release.folders import read_folder

    if len(paths) > 1:
        raise invalid("RELEASE", "one folder, or releases in files", f"{len(paths)} paths with a folder")
    table = read_table(public)
    names = [str(name) for name in (table if isinstance(table, dict) else table.columns)]
    people = Dataset.from_frame(table, public=[name for name in names if name != secret])
    folder = read_folder(paths[0], people.public, secret=secret, may_include=may_include)
    if not folder.outputs:
        reasons = "; ".join(map(str, folder.skipped[:3])) or "no outputs"
        raise invalid("RELEASE", "a folder with an output that can be read", "none", f"Not read: {reasons}")
    return people, folder


def _known(releases: list[Release], path: Path, more: Sequence[str] = ()) -> Dataset:
    """The people with the releases' public columns that the file has, cut as the releases cut them.

    ``more`` are further columns that conditions are about.
    """
    from tellall.people.dataset import Dataset
    from tellall.people.readers import read_table

    table = read_table(path)
    have = [str(name) for name in (table if isinstance(table, dict) else table.columns)]
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
    from tellall.release.statistics.conditions import parse_condition

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
    from tellall.release.statistics.among import people_where

    for where in filter(None, about):
        try:
            people_where(where, people.public)
        except InvalidInput as error:
            raise InvalidInput(f"--where: {error}") from None
    pairs = zip(releases, about, strict=True)
    return [release if where is None else release.about(where) for release, where in pairs]


def _common(found: Any, releases: list[Release], names: list[str], seed: int) -> dict[str, Any]:
    """What was attacked, and how the attack ended."""
    from tellall.core.version import __version__

    return {
        "schema_version": VERSION,
        "document": "attack",
        "tellall": __version__,
        "seed": seed,
        "device": found.evidence.device.name,
        "releases": [
            {"file": name, "statistic": release.statistic.describe(), "values": int(release.values.size)}
            for name, release in zip(names, releases, strict=True)
        ],
        "people": found.n,
        "equations": int(found.evidence.target.size),
        "decoder": found.decoder,
        "status": str(found.status),
        "status_codes": list(found.status.why),
        "skipped": list(found.evidence.skipped),
        "notes": list(found.notes),
    }


def _real(found: Reconstruction) -> dict[str, Any]:
    """What was concluded about a real secret, without any single person."""
    import numpy as np

    mean, spread = np.asarray(found.prior).tolist()
    return {
        "mean": mean,
        "spread": spread,
        "median_std": float(np.median(found.std)),
        "known_to_a_tenth": int((found.std <= spread / 10).sum()),
    }


def _counted(found: Reconstruction) -> dict[str, Any]:
    """What was concluded about bits or categories, as counts of people."""
    import numpy as np

    system, box, values = found.evidence.system, found.evidence.enclosure, found.evidence.values
    mixed = (box.lower == box.upper) & (box.lower > 0) & (box.lower < system.size)
    together = mixed.reshape(values, -1).any(axis=0)
    return {
        "rate": found.prior,
        **(
            {"guessed_to_have_it": int(found.guess.sum())}
            if values == 1
            else {"guessed_values": np.bincount(found.guess, minlength=values).tolist()}
        ),
        "confident": {f"{level:g}": int((found.confidence >= level).sum()) for level in _LEVELS},
        "proved": int(found.proved.sum()),
        "undecided": found.undecided,
        "loose": found.loose,
        "possible": str(found.possible or ""),
        "contradiction": _contradiction(found) if found.status.word == "contradictory" else [],
        "cannot_be_told_apart": int(found.evidence.groups.counts[together].sum()),
    }


def _contradiction(found: Reconstruction) -> list[dict[str, Any]]:
    """Published values that cannot all be true: of which release, which cell, and what was published."""
    from tellall.release.joint import name_cell

    return [
        {
            "release": reason.release,
            "value": reason.value,
            "cell": name_cell(found.releases[reason.release], found.public, reason.value),
            "published": _shown(found.releases[reason.release].values[reason.value]),
        }
        for reason in found.contradiction
        if 0 <= reason.release < len(found.releases) and reason.value >= 0
    ]


def _shown(value: float) -> float | None:
    return None if value != value else float(value)


def _clashes(document: dict[str, Any]) -> list[str]:
    """The values that cannot all be true, a line each."""
    lines = []
    for one in document["contradiction"][:_CLASHES]:
        file = document["releases"][one["release"]]["file"]
        cell = ", ".join(f"{name} = {value}" for name, value in one["cell"].items())
        what = cell or f"value {one['value'] + 1:,}"
        shown = "hidden" if one["published"] is None else f"{one['published']:g}"
        lines.append(f"  {file}: {what}: {shown}")
    return ["These values cannot all be true:", *lines] if lines else []


def _lines(document: dict[str, Any]) -> list[str]:
    first = (
        f"{document['equations']:,} equations about {document['people']:,} people; "
        f"{document['decoder']}: {document['status']}"
    )
    truth = "Only somebody who holds the truth can tell whether the guesses are right"
    if "median_std" in document:
        return [
            first,
            f"Everybody's value is estimated to within {digits(document['median_std'])} (median standard "
            f"deviation); people differ by {digits(document['spread'])}.",
            f"{document['known_to_a_tenth']:,} people are known to within a tenth of that.",
            f"{truth}.",
        ]
    sure = ", ".join(f"{count:,} with confidence {level}" for level, count in document["confident"].items())
    if "guessed_values" in document:
        tally = ", ".join(f"{count:,} × {value}" for value, count in enumerate(document["guessed_values"]))
        said = f"Guessed values: {tally}."
    else:
        said = f"{document['guessed_to_have_it']:,} people are guessed to have the secret."
    return [
        first,
        f"Everybody is guessed: {sure}; {document['proved']:,} proved"
        + (f", {document['undecided']:,} left open by the search." if document["undecided"] else "."),
        said,
        *([f"The secret is {document['possible']}."] if document["possible"] else []),
        *_clashes(document),
        f"{truth}: tellall audit.",
    ]


def _people(found: Reconstruction) -> dict[str, Any]:
    """What the attack concludes about each person, by row of the public file."""
    columns: dict[str, list[Any]]
    if not found.secret.levels:
        columns = {"estimate": found.estimate.tolist(), "std": found.std.tolist()}
    else:
        columns = {
            "guess": found.guess.tolist(),
            "confidence": [round(sure, 4) for sure in found.confidence.tolist()],
            "identified": list(map(str, found.identified)),
        }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return {
        "warning": "SECRET: what an attack concludes about single people. Not for publication.",
        "people": [{"row": number, **row} for number, row in enumerate(rows, 1)],
    }
