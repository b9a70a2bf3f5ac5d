"""tellall serve."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from tellall.cli.options import AsJson, Quiet, Seed, Unused, emit, say
from tellall.core.curator_key import CuratorKey
from tellall.core.errors import InvalidInput
from tellall.core.records import VERSION

__all__ = [
    "serve",
]

Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0: any that is free.")]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Print the address, and open nothing.")]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--folder", "--out", "-o", help="Where audits are kept; by default in your folder for program state."
    ),
]
Key = Annotated[
    Path | None,
    typer.Option(
        "--key", metavar="FILE", help="Let tellall check recognise the file of people of a decision."
    ),
]


def serve(
    port: Port = 0,
    no_browser: NoBrowser = False,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    folder: Folder = None,
    reveal: Unused = False,
    key: Key = None,
) -> None:
    """Open an audit in the browser, for people without a terminal.

    The page is served to this machine only, at an address that nobody can guess. Files that you open are
    copied to a private folder and go nowhere else. Audits that are running when the server stops continue
    when it is started again. Ctrl-C stops it.
    """
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise InvalidInput("The served page needs Starlette and Uvicorn. Install: pip install 'tellall[web]'")
    from tellall.serve.server import Server

    curator = None if key is None else CuratorKey.read(key)
    server = Server(
        folder, port, seed=seed, key=curator, log=lambda line: None if quiet else say(line, err=True)
    )
    address = {"schema_version": VERSION, "document": "served", "address": server.address}
    say(f"tellall is at {server.address}", err=True)
    say("Open it in the browser of this machine. Ctrl-C ends it.", err=True)
    emit(address, as_json=as_json, out=None)
    server.run(open_browser=not no_browser)
