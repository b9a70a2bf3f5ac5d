"""Changes of a plan by clicking: the text stays the plan that the command line reads."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from tellall.audits.plans.draft import as_toml
from tellall.core.errors import InvalidInput, invalid
from tellall.core.text import one_line
from tellall.release import catalogue

__all__ = [
    "NUMBERS",
    "OFFERED",
    "attackers_of",
    "changed",
    "chip_words",
    "entries_of",
    "files_of",
    "index_of",
    "public_columns",
    "tables_of",
    "with_entries",
    "with_number",
    "with_one",
    "with_published",
    "without_comments",
]

Entry = dict[str, Any]
_FIRST = re.compile(r"^\[\[releases\]\]", re.MULTILINE)
_NOTES = re.compile(r"^(?:#[^\n]*\n|[ \t]*\n)+\Z", re.MULTILINE)  # comments that lead to the releases
_MOST_RELEASES = _MOST_ATTACKERS = 20
_KNOWN = ("known", "known_people", "known_secrets", "may_include")

# protections that a card offers, each made from one number: kind, its key, words, a first value
OFFERED: tuple[tuple[str, str, str, str], ...] = (
    ("Suppression", "below", "hide counts below", "10"),
    ("Rounding", "base", "round to", "5"),
    ("Gaussian", "std", "add noise of", "3"),
)
_WORDS = {
    "Suppression": "hide counts below {below:g}",
    "Rounding": "round to {base:g}",
    "Gaussian": "noise, normal, ± {std:g}",
    "Laplace": "noise, Laplace, scale {scale:g}",
    "Swapping": "swap {hundredths:g} % of secrets",
    "Subsample": "a sample of {hundredths:g} %",
}
# numbers of a plan that a form may set: the least, the most, whether whole
NUMBERS: dict[str, tuple[float, float, bool]] = {
    "limit": (0.0, 1.0, False),
    "exposed_limit": (0, 10**9, True),
    "repeats": (1, 1000, True),
    "seed": (0, 2**53, True),
}


def entries_of(text: str) -> list[Entry]:
    """The releases of a plan as it writes them, protections always as a list."""
    found = tomllib.loads(text).get("releases", [])
    return [{**entry, "protect": _listed(entry.get("protect", []))} for entry in found]


def with_entries(text: str, entries: Sequence[Entry]) -> str:
    """The plan with other releases; everything before the first, comments included, stays as it is."""
    first = _FIRST.search(text)
    head = text[: first.start()] if first else f"{text.rstrip()}\n\n"
    made = f"{head}{as_toml(entries)}\n"
    before, after = tomllib.loads(text), tomllib.loads(made)
    before.pop("releases", None)
    after.pop("releases", None)
    if before != after:  # something other than a release comes after the first one
        raise InvalidInput(
            "plan must have its releases last, to be changed by clicking. Move the other tables above the "
            "first [[releases]], in the text of the plan."
        )
    return made


def with_number(text: str, key: str, typed: str) -> str:
    """The plan with another number for one of its keys; its comment stays."""
    low, high, whole = NUMBERS[key]
    number = _number(key, typed, low, high, whole=whole)
    line = re.compile(rf"^{key}[ \t]*=[ \t]*[^\s#]+", re.MULTILINE)
    first = _FIRST.search(text)
    cut = first.start() if first else len(text)
    head, count = line.subn(
        f"{key} = {number:g}" if not whole else f"{key} = {int(number)}", text[:cut], count=1
    )
    return f"{head}{text[cut:]}" if count else f"{key} = {number}\n{text}"


def tables_of(text: str, key: str) -> list[Entry]:
    """The entries of a list of tables in a plan, such as [[attackers]], as it writes them."""
    return [dict(entry) for entry in tomllib.loads(text).get(key, [])]


def files_of(text: str) -> list[str]:
    """The files that a plan names as published before."""
    return [str(entry.get("file", "")) for entry in tables_of(text, "published")] if text else []


def with_tables(text: str, key: str, entries: Sequence[Entry], without: Sequence[str] = ()) -> str:
    """The plan with another list of tables before its releases, and without some keys; the rest stays."""
    first = _FIRST.search(text)
    head, rest = (text[: first.start()], text[first.start() :]) if first else (text, "")
    head = re.sub(rf"^\[\[{key}\]\][^\n]*\n(?:(?![\[#\n])[^\n]*\n)*\n?", "", head, flags=re.MULTILINE)
    for one in without:
        value = r"(?:\[[^\]]*\])?[^\n]*"
        head = re.sub(rf"^{one}[ \t]*=[ \t]*{value}\n", "", head, flags=re.MULTILINE)
    notes = _NOTES.search(head)
    place = notes.start() if notes else len(head)
    listed = f"{as_toml(entries, key)}\n\n" if entries else ""
    made = f"{head[:place].rstrip()}\n\n{listed}{head[place:].lstrip()}{rest}"
    before, after = tomllib.loads(text), _parsed(made)
    wanted = {name: value for name, value in before.items() if name not in (*without, key)}
    if after != wanted | ({key: list(entries)} if entries else {}):
        raise InvalidInput(
            f"plan must have its [[{key}]] above the first [[releases]], to be changed by clicking. "
            "Move them there, in the text of the plan."
        )
    return made


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def with_published(text: str, file: str, name: str) -> str:
    """The plan with one more release that was published before."""
    known = tables_of(text, "published")
    taken = {str(entry.get("name", "")) for entry in (*known, *entries_of(text))}
    return with_tables(text, "published", [*known, {"file": file, "name": _free(name, taken)}])


def attackers_of(text: str) -> list[Entry]:
    """Who attacks, as a plan writes it: those listed, or the one that the plan's own keys describe."""
    plan = tomllib.loads(text)
    own = {key: plan[key] for key in _KNOWN if key in plan}
    return tables_of(text, "attackers") or [own]


def with_attackers(text: str, entries: Sequence[Entry]) -> str:
    """The plan with other attackers; one who knows everything is the default and is not written."""
    listed = [] if len(entries) == 1 and not set(entries[0]) - {"name"} else list(entries)
    return with_tables(text, "attackers", listed, without=_KNOWN)


def _attacker(form: Mapping[str, str], known: Sequence[str], entries: Sequence[Entry], text: str) -> Entry:
    """One more attacker, as a form describes them; columns by their places among the public ones."""
    columns = public_columns(text)
    chosen = [columns[index_of(one, len(columns))] for one in known]
    people = _number("known_people", form.get("known_people", ""), 1, 100, whole=False) / 100
    told = _number("known_secrets", form.get("known_secrets", ""), 0, 99, whole=False) / 100
    name = one_line(form.get("name", ""), 80) or f"attacker {len(entries) + 1}"
    return {
        "name": _free(name, {str(one.get("name", "")) for one in entries}),
        **({} if len(chosen) == len(columns) else {"known": chosen}),
        **({} if people == 1 else {"known_people": people}),
        **({} if told == 0 else {"known_secrets": told}),
    }


def public_columns(text: str) -> list[str]:
    """The public columns that a plan names."""
    return [str(name) for name in tomllib.loads(text).get("public", [])]


def _changed_attackers(text: str, form: Mapping[str, str], known: Sequence[str]) -> str:
    entries = attackers_of(text)
    if form["do"] == "unattack":
        place = index_of(form.get("place", ""), len(entries))
        if len(entries) == 1:
            raise invalid("attackers", "one or more", "none", "Add another before you remove the last one.")
        return with_attackers(text, [*entries[:place], *entries[place + 1 :]])
    if len(entries) >= _MOST_ATTACKERS:
        raise invalid("attackers", f"at most {_MOST_ATTACKERS}", len(entries))
    first = {"name": "as planned" if entries[0] else "insider", **entries[0]}
    named = [first, *entries[1:]]
    return with_attackers(text, [*named, _attacker(form, known, named, text)])


def changed(text: str, form: Mapping[str, str], known: Sequence[str] = ()) -> str:
    """The plan after one click.

    ``do`` says what: "protect" (add a protection), "unprotect", "add" (a release of tables), "drop", "attack"
    (add an attacker, who knows the columns in ``known``), "unattack", "unpublish" (of those before).
    """
    entries = entries_of(text)
    what = form.get("do", "")
    if what in ("attack", "unattack"):
        return _changed_attackers(text, form, known)
    if what == "unpublish":
        before = tables_of(text, "published")
        place = index_of(form.get("place", ""), len(before))
        return with_tables(text, "published", [*before[:place], *before[place + 1 :]])
    if what == "add":
        ways = int(_number("columns", form.get("ways", ""), 1, 8, whole=True)) + 1
        return with_one(text, _tables(ways))
    index = index_of(form.get("release", ""), len(entries))
    entry = dict(entries[index])
    if what == "drop":
        if len(entries) == 1:
            raise invalid("releases", "one or more", "none", "Add another before you remove the last one.")
        return with_entries(text, [*entries[:index], *entries[index + 1 :]])
    if what == "unprotect":
        place = index_of(form.get("place", ""), len(entry["protect"]))
        entry["protect"] = [*entry["protect"][:place], *entry["protect"][place + 1 :]]
    elif what == "protect":
        entry["protect"] = [*entry["protect"], _protection(form)]
    else:
        raise invalid("do", "a change that a page offers", what)
    return with_entries(text, [*entries[:index], entry, *entries[index + 1 :]])


def with_one(text: str, entry: Entry) -> str:
    """The plan with one more release."""
    entries = entries_of(text)
    if len(entries) >= _MOST_RELEASES:
        raise invalid("releases", f"at most {_MOST_RELEASES}, to be added by clicking", len(entries))
    name = _free(str(entry["name"]), {str(one.get("name", "")) for one in entries})
    return with_entries(text, [*entries, {**entry, "name": name}])


def without_comments(text: str) -> str:
    """A plan as a page shows it; unchanged if it has texts of several lines, since a # may belong to them.

    Examples
    --------
    >>> without_comments("# what\\nlimit = 0.1 # of people\\n\\n\\nseed = 1\\n")
    'limit = 0.1 # of people\\n\\nseed = 1'
    """
    if '"""' in text or "'''" in text:
        return text
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def chip_words(plain: Mapping[str, Any]) -> str:
    """A protection in a few words.

    Examples
    --------
    >>> chip_words({"kind": "Rounding", "base": 5}), chip_words({"kind": "SuLQ", "epsilon": 1})
    ('round to 5', 'SuLQ, epsilon 1')
    """
    kind = str(plain.get(catalogue.KIND, "?"))
    rest = {key: value for key, value in plain.items() if key != catalogue.KIND}
    try:
        hundredths = 100 * rest.get("fraction", 0)
        return _WORDS[kind].format(**rest, hundredths=hundredths) if len(rest) == 1 else _spelled(kind, rest)
    except (KeyError, TypeError, ValueError):
        return _spelled(kind, rest)


def _spelled(kind: str, rest: Mapping[str, Any]) -> str:
    return ", ".join([kind, *(f"{key} {value}" for key, value in rest.items())])


def _tables(ways: int) -> Entry:
    name = "tables" if ways == 3 else f"{ways}-way tables"
    return {"name": name, "statistic": {"kind": "Marginals", "ways": ways}, "protect": []}


def _free(name: str, taken: set[str]) -> str:
    """A name that is not taken: the name, or the name with a number."""
    number = 1
    while (called := name if number == 1 else f"{name} ({number})") in taken:
        number += 1
    return called


def _protection(form: Mapping[str, str]) -> dict[str, Any]:
    kind = form.get("kind", "")
    key = next((key for offered, key, _, _ in OFFERED if offered == kind), None)
    if key is None:
        raise invalid("protection", f"one of {', '.join(one[0] for one in OFFERED)}", kind)
    number = _number(key, form.get("number", ""), 0.0, 1e9, whole=False)
    plain = {"kind": kind, key: int(number) if number == int(number) else number}
    catalogue.build("protection", plain)
    return plain


def _number(name: str, typed: str, low: float, high: float, *, whole: bool) -> float:
    rule = f"a {'whole ' if whole else ''}number from {low:g} to {high:g}"
    try:
        number = float(typed[:40].replace(",", "."))
    except ValueError:
        raise invalid(name, rule, typed or "nothing") from None
    if not low <= number <= high or (whole and number != int(number)):
        raise invalid(name, rule, typed)
    return number


def index_of(typed: str, count: int) -> int:
    """The index that a form names, if there is such an index."""
    if not typed.isascii() or not typed.isdigit() or len(typed) > 6 or int(typed) >= count:
        raise invalid("place", f"below {count}", typed or "nothing", "Load the page again.")
    return int(typed)


def _listed(protect: Any) -> list[Any]:
    return list(protect) if isinstance(protect, list) else [protect]
