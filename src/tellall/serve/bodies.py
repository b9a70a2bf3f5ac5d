"""Bodies of requests: files and forms, taken in as they come and never beyond their limits."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

from tellall.core.locks import PARTIAL
from tellall.serve.guard import LARGEST_FILE, LARGEST_FORM

__all__ = ["LARGEST_FILE", "Fields", "RefusedError", "copied", "copy_to", "fields_of"]


class RefusedError(Exception):
    """A request that is refused after its address was understood."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code, self.why = code, why


async def _pieces(request: Request, most: int) -> AsyncIterator[bytes]:
    """The body of a request, as it comes; one that is too long is refused before it is taken in."""
    seen = 0
    with suppress(ClientDisconnect):
        async for piece in request.stream():
            seen += len(piece)
            if seen > most:
                raise RefusedError(413, "too large")
            yield piece
        return
    raise RefusedError(400, "not finished")


async def copy_to(request: Request, path: Path) -> None:
    """Writes the body of a request to a new file, for its owner alone."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        async for piece in _pieces(request, LARGEST_FILE):
            file.write(piece)


@asynccontextmanager
async def copied(request: Request, folder: Path) -> AsyncIterator[Path]:
    """The body of a request as a file in a folder, under a name of ours; gone afterwards unless moved."""
    path = folder / f"{secrets.token_hex(8)}{PARTIAL}"
    try:
        await copy_to(request, path)
        yield path
    finally:
        path.unlink(missing_ok=True)


class Fields(dict[str, str]):
    """The fields of a form, the last value of each; ``all`` has every value of a field sent several times."""

    def __init__(self, pairs: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(pairs)
        self._pairs = pairs

    def all(self, name: str) -> list[str]:
        """Every value of a field."""
        return [value for one, value in self._pairs if one == name]


async def fields_of(request: Request) -> Fields:
    """The fields of a form."""
    body = b"".join([piece async for piece in _pieces(request, LARGEST_FORM)])
    try:
        return Fields(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=10_000))
    except ValueError:
        raise RefusedError(400, "not a form") from None
