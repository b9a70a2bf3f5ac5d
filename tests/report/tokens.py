"""The numbers that a page shows, and whether the document that it was made of explains each of them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np

import tellall as ta

TOKEN = re.compile(r"[+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+−-]?\d+)?")
# numbers that sentences of every page have: intervals and confidences, "in 100", levels of a curve
ALWAYS = {"95", "99", "100", "0.95", "0.99", "1", "2", "3", "0"}
# drawn examples are invented; charts have axes; plans, hashes and versions are told by tests of their own
SKIPPED = {"style", "script", "svg", "pre", "code", "head"}


class Shown(HTMLParser):
    """The text of a page outside of what is skipped, and outside of sections whose headings are given."""

    def __init__(self, without: tuple[str, ...]) -> None:
        super().__init__()
        self.without, self.depth, self.off = without, 0, False
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.depth += tag in SKIPPED
        if tag == "h2":
            self.off = dict(attrs).get("id") in self.without

    def handle_endtag(self, tag):
        self.depth -= tag in SKIPPED

    def handle_data(self, data):
        if not self.depth and not self.off:
            self.text.append(data)


def shown_text(page: str, without: tuple[str, ...] = ("works", "plan", "record")) -> str:
    """What a reader sees of a page, charts and invented examples left out."""
    shown = Shown(without)
    shown.feed(page)
    return " ".join(shown.text).replace("\N{NO-BREAK SPACE}", " ")


def _leaves(plain: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(plain, dict):
        for name, part in plain.items():
            yield "name", name
            yield from _leaves(part, name)
    elif isinstance(plain, list):
        for part in plain:
            yield from _leaves(part, key)
    else:
        yield key, plain


def forms(number: float) -> set[str]:
    """A number as pages may write it: whole with thousands, in 100 with one digit, in three digits."""
    if isinstance(number, int):
        return {f"{number:,}", f"+{number:,}"}
    tenths = f"{100 * number:z.1f}"
    digits = {f"{100 * number:g}", f"{number:.3g}", f"{number:g}", f"{number:,.0f}", f"{number:.4g}"}
    signs = {f"{100 * number:+z.1f}", tenths, f"{number:+z.3g}", f"{number:.2f}"}
    if math.isfinite(number):
        digits |= {f"{float(f'{number:.3g}'):,.0f}"}  # large ones in three digits and zeros
    return digits | signs | {one.replace("-", "−") for one in digits | signs}


def derived(document: dict[str, Any]) -> Iterator[float]:
    """Numbers that a page makes of others: sums over values, shares of a real secret, rates, differences."""
    overall = document["overall"] or {}
    for name in ("proved_alone", "proved_group", "exposed"):
        yield sum(overall.get(name, {}).values())
        sensitive = document["sensitive"]
        yield sum(n for code, n in overall.get(name, {}).items() if code not in (sensitive or ()))
    people = document["data"]["people"]
    for row in document["findings"]:
        found = row["summary"]
        if found is None:
            continue
        yield from (sum(row[name].values()) for name in ("proved_alone", "proved_group"))
        for level in found["exposed"].values():
            yield sum(level.values())
        usual = found["baselines"][found["baseline"]]
        unit = usual if found["real"] else 1.0
        for one in (found, *row["decoders"]):
            yield from (value / unit for value in (one["advantage"], *one["interval"]))
            for part in one.get("reliability") or ():
                yield from (part["right"] / part["said"], round(100 * part["low"]), round(100 * part["high"]))
        if found["real"]:
            yield from (found["in_sample"] / unit, abs(found["advantage"]) / unit)
            yield from (one / unit for value in found["beyond_fit"] or () for one in (value, abs(value)))
        else:
            yield from (round(share * people) for share in (found["accuracy"], usual))
            yield from (abs(value) for value in (found["advantage"], *found["interval"]))
    found = [row["summary"] for row in document["findings"] if row["summary"]]
    gains = [one["advantage"] / (one["baselines"][one["baseline"]] if one["real"] else 1.0) for one in found]
    yield from (before - after for before in gains for after in gains)  # what a protection bought
    for table in (document["culprits"] or {"who": ()})["who"]:
        yield from (row["learnt"] / row["people"] for row in table["rows"] if row["learnt"] is not None)
    yield len((document["remedy"] or {"tried": ()})["tried"])


def known_tokens(document: dict[str, Any]) -> set[str]:
    """Every number of the document as a page may write it.

    Sentences of verdicts count for nothing: the numbers must explain them too. Those about changes that were
    tried, and about the agencies' rules, are all that the document says about them.
    """
    known = set(ALWAYS)
    for change in (document["remedy"] or {"tried": ()})["tried"]:
        known |= set(TOKEN.findall(change["sentence"]))
    if document["rules"]:
        known |= set(TOKEN.findall(document["rules"]["sentence"]))
    for key, leaf in _leaves(json.loads(json.dumps(document))):
        if isinstance(leaf, str):
            known |= set() if key in ("sentence", "decided") else set(TOKEN.findall(leaf))
        elif leaf is not None and not isinstance(leaf, bool):
            known |= forms(leaf)
    for number in derived(document):
        known |= forms(number)
    return known


def unexplained(text: str, known: set[str]) -> list[str]:
    """The numbers of a text that are in no document."""
    return [token for token in TOKEN.findall(text) if token not in known]


def bent(text: str) -> Iterator[str]:
    """The text with the last digit of one number changed, one number with a point after the other."""
    for match in TOKEN.finditer(text):
        if "." in match[0] and match[0] not in ALWAYS and "e" not in match[0]:
            digit = "7" if match[0][-1] != "7" else "2"
            yield f"{text[: match.end() - 1]}{digit}{text[match.end() :]}"


KINDS = ("bit", "category", "real")


def people_of(kind: str, n: int = 36) -> dict[str, Any]:
    """Columns of a few people, the last of them the secret."""
    rng = np.random.default_rng(5)
    frame: dict[str, Any] = {
        "sex": rng.choice(["f", "m"], n),
        "region": rng.choice(list("NESW"), n),
        "job": rng.choice(list("abc"), n),
    }
    secrets = {
        "bit": np.where(rng.random(n) < 0.4, "yes", "no"),
        "category": rng.choice(["A", "B", "O"], n),
        "real": rng.normal(180, 25, n).round(1),
    }
    return frame | {"secret": secrets[kind]}


@cache
def audit_of(kind: str, *, whole: bool) -> ta.Audit:
    """A small audit; with its remedy where that is quick, or for the whole."""
    people = ta.Dataset.from_frame(people_of(kind), secret="secret")
    plan = {"releases": releases_of(kind), "seed": 3, "limit": 0.3 if whole else 0.5}
    return ta.audit(people, plan, name=kind, remedy=whole or kind == "category")


def releases_of(kind: str) -> list[dict[str, Any]]:
    """Two tables, one of them rounded."""
    tables = {"kind": "CellMeans", "ways": 3} if kind == "real" else {"kind": "Marginals", "ways": 3}
    rounded = {"kind": "Rounding", "base": 3}
    return [
        {"name": "tables", "statistic": tables},
        {"name": "rounded", "statistic": tables, "protect": [rounded]},
    ]
