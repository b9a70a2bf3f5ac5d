"""tellall explain."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tellall.cli.options import AsJson, Out, Quiet, Seed, Unused, check_out, emit
from tellall.core.records import VERSION

__all__ = [
    "explain",
]

Word = Annotated[str | None, typer.Argument(metavar="[TOPIC]", help="The word; without it, all are listed.")]


def explain(
    topic: Word = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    out: Out = None,
    reveal: Unused = False,
) -> None:
    """Explain a word: what it means, and what to do about it."""
    from tellall.report import glossary as topics
    from tellall.report.terminal import PlainConsole

    check_out(out)
    document: dict[str, Any] = {"schema_version": VERSION}
    if topic is None:
        names = topics.topic_names()
        document |= {"document": "topics", "topics": names}
        lines = ["tellall explain TOPIC, with one of: " + ", ".join(names)]
    else:
        found = topics.explain(topic)
        document |= {"document": "topic", **found.as_json()}
        lines = [
            f"{found.name}. {found.what}",
            f"Why it matters: {found.why}",
            f"What to do: {found.fix}",
            f"Where to read: {found.read}",
        ]
    if not as_json:
        PlainConsole(quiet=quiet).print("\n".join(lines))
    emit(document, as_json=as_json, out=out)
