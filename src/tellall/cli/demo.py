"""tellall demo."""

from __future__ import annotations

from pathlib import Path

import tellall
from tellall.cli.options import AsJson, Out, Quiet, Seed, check_out, emit
from tellall.core import files

__all__ = [
    "demo",
]


def demo(as_json: AsJson = False, seed: Seed = 0, quiet: Quiet = False, out: Out = None) -> None:
    """Attack "safe" tables of real people; about two minutes on two cores."""
    from rich.console import Console
    from rich.progress import track

    from tellall.cli import demonstration
    from tellall.report import text
    from tellall.report.audit_page import render

    where = Path("tellall-demo.html") if out is None else out.with_suffix(".html")
    check_out(out)
    check_out(where)
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
    page.print()
    page.print(text.release_table(rows))
    page.print()
    files.write_text(where, render(demonstration.as_audit(prepared, rows).document))
    page.print(demonstration.closing(prepared, rows, where), highlight=False, markup=False)
    document = {
        "schema_version": 1,
        "tellall": tellall.__version__,
        "command": "demo",
        "seed": seed,
        "data": prepared.name,
        "people": prepared.setting.people.n,
        "releases": [row.as_json() for row in rows],
    }
    emit(document, as_json=as_json, out=out)
