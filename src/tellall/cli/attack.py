"""tellall attack: the outsider's side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tellall.cli.options import (
    AsJson,
    BandsFile,
    Device,
    MayInclude,
    Out,
    Quiet,
    Reveal,
    Seed,
    check_out,
    emit,
    tell_assumed,
    write_secret,
)
from tellall.core.exits import DONE, UNSETTLED

__all__ = [
    "attack",
]

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
    bands: BandsFile = None,
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
    from tellall.attack.reconstruct.attack_files import attack_files
    from tellall.people.bands import Bands
    from tellall.report.attack_text import attack_lines
    from tellall.report.terminal import talk_console

    talk = talk_console(quiet=quiet)
    check_out(out)
    attacked = attack_files(
        releases,
        public,
        secret=secret,
        prior=prior,
        where=where or (),
        missing=missing,
        may_include=may_include,
        bands=() if bands is None else Bands.read(bands),
        device=device,
        rng=seed,
    )
    found = attacked.found
    for unread in found.not_read:
        talk.print(f"Not read: {unread}")
    for line in attack_lines(found):
        talk.print(line)
    tell_assumed(attacked.assumed, talk)
    if reveal:
        marked = write_secret(out or Path(f"{releases[0].stem}-people"), attacked.people)
        talk.print(f"The guess about each person is in {marked}", soft_wrap=True)
    emit(found, as_json=as_json, out=out)
    raise typer.Exit(DONE if attacked.attack.status.settled else UNSETTLED)
