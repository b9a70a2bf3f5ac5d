"""tellall attack: the outsider's side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from tellall.cli.options import AsJson, Out, Quiet, Reveal, Seed, check_out, emit, write_secret
from tellall.errors import InvalidInput, invalid

if TYPE_CHECKING:
    from tellall.attacks.reconstruct import Reconstruction
    from tellall.data import Public
    from tellall.release import Release

__all__ = ["attack"]

_LEVELS = (0.95, 0.99)
Files = Annotated[
    list[Path], typer.Argument(metavar="RELEASE.json...", help="One release, or several attacked together.")
]
PublicFile = Annotated[Path, typer.Option("--public", help="The file with everybody's public columns.")]
Prior = Annotated[float | None, typer.Option("--prior", help="The secret's rate, where it is known.")]


def attack(
    releases: Files,
    public: PublicFile,
    prior: Prior = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    out: Out = None,
    reveal: Reveal = False,
) -> None:
    """Guess everybody's secret from saved releases and the public columns, as an outsider would.

    Exit codes: 0 attacked, 2 bad input or usage, 3 inconclusive (the solver did not settle).
    """
    from tellall.attacks.reconstruct import reconstruct
    from tellall.release import Release
    from tellall.report import text

    talk = text.talk_console(quiet=quiet)
    check_out(out)
    loaded = [Release.load(path) for path in releases]
    found = reconstruct(loaded, _view(loaded, public), prior=prior, rng=seed)
    document = _document(found, loaded, releases, seed)
    for line in _lines(document):
        talk.print(line, highlight=False, markup=False)
    if reveal:
        marked = write_secret(out or Path(f"{releases[0].stem}-people"), _people(found))
        talk.print(f"Who is guessed what is in {marked}", highlight=False, markup=False, soft_wrap=True)
    emit(document, as_json=as_json, out=out)
    raise typer.Exit(0 if found.status.word == "solved" else 3)


def _view(releases: list[Release], path: Path) -> Public:
    """The public columns, cut as the releases cut them."""
    from tellall.io import read

    first = releases[0]
    if any(release.columns != first.columns or release.imprint != first.imprint for release in releases):
        raise invalid("releases", "made for the same public columns and people", "different ones")
    bins = None if first.imprint is None else first.imprint.bins
    try:
        return read(path, public=first.columns, bins=bins).public
    except InvalidInput as error:
        raise InvalidInput(f"--public: {error}") from None


def _document(found: Reconstruction, releases: list[Release], paths: list[Path], seed: int) -> dict[str, Any]:
    """What was concluded, counted; no person in it."""
    from tellall.version import __version__

    groups = found.evidence.groups
    box = found.evidence.enclosure
    mixed = (box.lower == box.upper) & (box.lower > 0) & (box.lower < groups.counts)
    return {
        "schema_version": 1,
        "document": "attack",
        "tellall": __version__,
        "seed": seed,
        "releases": [
            {"file": path.name, "statistic": release.statistic.describe(), "values": int(release.values.size)}
            for path, release in zip(paths, releases, strict=True)
        ],
        "people": found.n,
        "equations": int(found.evidence.target.size),
        "decoder": found.decoder,
        "status": str(found.status),
        "rate": found.prior,
        "guessed_to_have_it": int(found.guess.sum()),
        "confident": {f"{level:g}": int((found.confidence >= level).sum()) for level in _LEVELS},
        "proved": int((found.identified == "proved").sum()),
        "cannot_be_told_apart": int(groups.counts[mixed].sum()),
    }


def _lines(document: dict[str, Any]) -> list[str]:
    sure = ", ".join(f"{count:,} with confidence {level}" for level, count in document["confident"].items())
    return [
        f"{document['equations']:,} equations about {document['people']:,} people; "
        f"{document['decoder']}: {document['status']}",
        f"Guessed for everybody; sure of {sure}; {document['proved']:,} proved.",
        f"{document['guessed_to_have_it']:,} are guessed to have the secret.",
        "Whether the guesses are right, only who holds the truth can tell: tellall audit.",
    ]


def _people(found: Reconstruction) -> dict[str, Any]:
    return {
        "warning": "SECRET: what an attack concludes about single people. Not for publication.",
        "people": [
            {"row": row + 1, "guess": int(guess), "confidence": round(float(sure), 4), "identified": str(how)}
            for row, (guess, sure, how) in enumerate(
                zip(found.guess, found.confidence, np.asarray(found.identified), strict=True)
            )
        ],
    }
