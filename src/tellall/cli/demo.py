"""tellall demo."""

from __future__ import annotations

import tellall
from tellall.cli.options import AsJson, Out, Quiet, Seed, check_out, emit

__all__ = ["demo"]


def demo(as_json: AsJson = False, seed: Seed = 0, quiet: Quiet = False, out: Out = None) -> None:
    """Attack "safe" tables of real people; about a minute on two cores."""
    from rich.console import Console
    from rich.progress import track

    from tellall import demo as demonstration
    from tellall.report import text

    check_out(out)
    talk = text.talk_console(quiet=quiet)
    page = talk if as_json or quiet else Console()
    prepared = demonstration.prepare(seed)
    page.print(demonstration.opening(prepared), highlight=False, markup=False)
    rows = list(
        track(
            demonstration.attack_all(prepared),
            total=prepared.releases,
            description="attacking",
            console=talk,
            transient=True,
            disable=quiet or not talk.is_terminal,
        )
    )
    page.print(text.release_table(rows))
    page.print(demonstration.closing(prepared, rows), highlight=False, markup=False)
    document = {
        "schema_version": 1,
        "tellall": tellall.__version__,
        "command": "demo",
        "seed": seed,
        "data": prepared.name,
        "people": prepared.people.n,
        "releases": [row.as_json() for row in rows],
    }
    emit(document, as_json=as_json, out=out)
