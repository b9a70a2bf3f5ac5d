"""tellall explain."""

from __future__ import annotations

from typing import Annotated

import typer

from tellall.cli.options import AsJson, Out, Quiet, Seed, check_out, emit

__all__ = [
    "explain",
]

Word = Annotated[str | None, typer.Argument(metavar="[TOPIC]", help="The word; all of them if left out.")]
Unused = Annotated[bool, typer.Option("--reveal", help="Nothing to reveal here.", hidden=True)]


def explain(
    topic: Word = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    out: Out = None,
    reveal: Unused = False,
) -> None:
    """Say what a word on the page means, why it matters, what to do about it and where to read."""
    from rich.console import Console

    from tellall.report import topics

    check_out(out)
    if topic is None:
        names = topics.topic_names()
        document: dict[str, object] = {"schema_version": 1, "document": "topics", "topics": names}
        lines = ["tellall explain TOPIC, with one of: " + ", ".join(names)]
    else:
        found = topics.explain(topic)
        document = {"schema_version": 1, "document": "topic", **found.as_json()}
        lines = [
            f"{found.name}. {found.what}",
            f"Why it matters: {found.why}",
            f"What to do: {found.fix}",
            f"Where to read: {found.read}",
        ]
    if not as_json and not quiet:
        console = Console(highlight=False, markup=False)
        for line in lines:
            console.print(line)
    emit(document, as_json=as_json, out=out)
