"""tellall recognise: what outputs are, without a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tellall.cli.audit import Confirm, Protect, Public, Published
from tellall.cli.options import (
    AsJson,
    Data,
    DropGaps,
    Kind,
    MayInclude,
    Out,
    Quiet,
    Seed,
    Unused,
    check_out,
    emit,
    tell_assumed,
)
from tellall.cli.outputs_asked import OutputsGiven
from tellall.core.errors import invalid

__all__ = ["recognise"]

Outputs = Annotated[Path, typer.Argument(metavar="OUTPUTS", help="A file or a folder of outputs.")]
OneSecret = Annotated[str | None, typer.Option("--secret", help="The column to protect.")]


def recognise(
    outputs: Outputs,
    data: Data = None,
    secret: OneSecret = None,
    public: Public = None,
    published: Published = None,
    protect: Protect = None,
    confirm: Confirm = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    out: Out = None,
    drop_gaps: DropGaps = False,
    may_include: MayInclude = False,
    kind: Kind = None,
    reveal: Unused = False,
) -> None:
    """Say what outputs are, by computing them again from the people.

    It is the first half of tellall audit OUTPUTS, without attacks and without a verdict: what every table and
    model is found to be, whether it says anything about the secret, and which columns an outsider is taken to
    know. Outputs are those that tellall audit takes.

    Exit codes: 0 looked at, 2 bad input or usage. tellall --help has the others.
    """
    from tellall.audits.plans.asked import How
    from tellall.outputs.recognised import OutputsFound
    from tellall.report.found_outputs import output_lines
    from tellall.report.terminal import PlainConsole, talk_console

    check_out(out)
    if outputs.suffix.lower() == ".toml":
        raise invalid("OUTPUTS", "a file or a folder of outputs; a plan says what it has", str(outputs))
    given = OutputsGiven.of([secret] if secret else None, public, published, protect, confirm, None, None)
    how = How(data, seed, drop_gaps, kind, may_include)
    talk = talk_console(quiet=quiet)
    asked = given.recognised(outputs, given.chosen(outputs, how)[0], how, talk)
    assert asked.outputs is not None
    found = OutputsFound.of(asked.outputs)
    if not as_json:
        shown = PlainConsole(quiet=quiet)
        for line in output_lines(found.outputs):
            shown.print(line, markup=False, highlight=False, soft_wrap=True)
        if found.assumed_unknown:
            shown.print(f"An outsider is taken not to know {', '.join(found.assumed_unknown)}.")
    tell_assumed(asked.people.assumed, talk)
    emit(found, as_json=as_json, out=out)
