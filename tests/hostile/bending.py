"""What is bent in an input: one byte, one value, one line."""

from __future__ import annotations

import json
import random
from typing import Any

__all__ = ["HARSH", "NUMBERS", "OTHER", "Command", "Rng", "bent", "bent_bytes", "toml"]

Rng = random.Random
Command = list[str]

HARSH = [
    "\u202ealice",
    "\x1b[31mred",
    "<script>alert(1)</script>",
    "=1+1",
    "x" * 300,
    "../../etc/passwd",
    "a\tb",
    "🙂",
    "\ufeff",
    "'; DROP TABLE people; --",
    "%s%n",
    "null",
]
NUMBERS: list[Any] = [
    0,
    1,
    -1,
    2,
    3,
    7,
    0.5,
    -0.0,
    1e-300,
    1e300,
    2**31,
    2**63,
    10**30,
    float("inf"),
    float("nan"),
]
OTHER: list[Any] = ["", "x", True, None, [], {}, [1, 2], {"kind": "Marginals"}, *NUMBERS]


def bent_bytes(rng: Rng, data: bytes) -> bytes:
    """The file with one thing wrong."""
    place = rng.randrange(len(data) + 1)
    line = data.split(b"\n")
    return rng.choice(
        [
            lambda: data[:place] + bytes([rng.randrange(256)]) + data[place + 1 :],
            lambda: data[:place],
            lambda: data.replace(b"\n", b"\r\n"),
            lambda: b"\xef\xbb\xbf" + data,
            lambda: data.replace(b",", b";"),
            lambda: b"\n".join([*line[:2], line[1] + b",extra", *line[2:]]),
            lambda: b"\n".join([line[0] + b"," + line[0], *line[1:]]),
            lambda: b"\n".join(line[:1]) + b"\n",
            lambda: data + b'"open',
            lambda: data.replace(b"1", b"1e400", 1),
            lambda: data.replace(b"1", b"\x00", 1),
            lambda: b"",
            lambda: data.decode().encode("utf-16"),
        ]
    )()


def bent(rng: Rng, document: Any) -> Any:
    """The document with one value replaced, removed or added somewhere."""
    places: list[tuple[Any, Any]] = []

    def collect(node: Any) -> None:
        pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in pairs:
            places.append((node, key))
            collect(value)

    whole = json.loads(json.dumps(document))
    collect(whole)
    if not places:
        return whole
    node, key = rng.choice(places)
    what = rng.randrange(4)
    if what == 0:
        del node[key]
    elif what == 1 and isinstance(node[key], int | float):
        node[key] = rng.choice(NUMBERS)
    elif what == 2 and isinstance(node, dict):
        node[rng.choice(["kind", "extra", "std", "ways", "name"])] = rng.choice(OTHER)
    else:
        node[key] = rng.choice([*OTHER, *HARSH])
    return whole


def toml(document: Any) -> str:
    """A document as TOML, which has the JSON values but null."""

    def value(node: Any) -> str:
        if isinstance(node, dict):
            return "{ " + ", ".join(f"{json.dumps(str(k))} = {value(v)}" for k, v in node.items()) + " }"
        if isinstance(node, list):
            return "[" + ", ".join(map(value, node)) + "]"
        if isinstance(node, float) and node != node:
            return "nan"
        if isinstance(node, float) and abs(node) == float("inf"):
            return "inf" if node > 0 else "-inf"
        return json.dumps(node) if node is not None else '""'

    return "".join(f"{json.dumps(str(key))} = {value(node)}\n" for key, node in document.items())
