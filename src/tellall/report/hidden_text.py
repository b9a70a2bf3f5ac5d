"""What the terminal says about withheld values."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from tellall.attack.prove.hidden_files import HiddenFound, HiddenValue
from tellall.core.amounts import count_of
from tellall.core.text import TERMINAL, one_line
from tellall.report.terminal import aligned

__all__ = ["cell_name", "hidden_answer", "hidden_text", "more_answer", "said_of"]

_SHOWN = 30


def hidden_answer(found: HiddenFound) -> str:
    """The answer in a sentence or two."""
    if not found.withheld:
        return "Nothing is withheld."
    if found.contradictory:
        return "The tables contradict each other, so that they say nothing: " + found.status + "."
    whole = count_of(found.withheld, "value is", "values are")
    if not found.in_vain:
        said = f"{whole} withheld, none of them in vain."
    elif found.in_vain == found.withheld:
        said = f"{whole} withheld, all in vain: anybody can work them out, or comes too near."
    else:
        said = f"{whole} withheld, {found.in_vain:,} in vain: anybody can work these out, or comes too near."
    return said if found.settled else f"{said} Not settled: {found.status}."


def cell_name(cell: Mapping[str, str]) -> str:
    """A cell in words."""
    return ", ".join(cell.values()) or "total"


def said_of(value: HiddenValue) -> str:
    """A withheld cell in words."""
    return cell_name(value.cell)


def hidden_text(found: HiddenFound) -> str:
    """What was found in words and a table, at most 80 columns wide."""
    lines = [_said(table.name, table.columns, table.cells, table.withheld) for table in found.tables]
    if found.hierarchies:
        lines.append(f"The hierarchy of {' and '.join(found.hierarchies)} was found in the tables.")
    lines = [part for line in lines for part in textwrap.wrap(line, TERMINAL)]
    lines += ["", *textwrap.wrap(hidden_answer(found), TERMINAL)]
    if not found.withheld or found.contradictory:
        return "\n".join(lines)
    ordered = sorted(found.cells, key=_nearness)
    several = len(found.tables) > 1
    head = [*(["table"] if several else []), "cell", "can be", ""]
    body = [
        [
            *([one_line(value.table, 20)] if several else []),
            one_line(said_of(value), 34),
            value.span,
            "in vain" if value.in_vain else "may be less" if value.open else "",
        ]
        for value in ordered[:_SHOWN]
    ]
    lines += ["", *aligned(head, body)]
    if len(ordered) > _SHOWN:
        lines += ["", f"… and {len(ordered) - _SHOWN:,} more; --json, -o or --html has all of them."]
    explained = next((value for value in ordered if value.reasons), None)
    if explained is not None:
        shown = "; ".join(
            f"{', '.join(cell.cell.values()) or 'total'}: {cell.low:,.10g}" for cell in explained.reasons[:8]
        )
        more = len(explained.reasons) - 8
        rest = f"; and {more} more" if more > 0 else ""
        said = f"For example {said_of(explained)} is {explained.span}, because of {shown}{rest}."
        lines += ["", *textwrap.wrap(said, TERMINAL)]
    lines += _more_lines(found, several=several)
    return "\n".join(lines)


def _more_lines(found: HiddenFound, *, several: bool) -> list[str]:
    """What to withhold besides, and what that costs."""
    if found.price is None:
        return []
    lines = ["", *textwrap.wrap(more_answer(found), TERMINAL)]
    if not found.more:
        return lines
    head = [*(["table"] if several else []), "withhold too", "shows now"]
    body = [
        [
            *([one_line(one.table, 20)] if several else []),
            one_line(cell_name(one.cell), 44),
            f"{one.value:,.10g}",
        ]
        for one in found.more[:_SHOWN]
    ]
    lines += ["", *aligned(head, body)]
    if len(found.more) > _SHOWN:
        lines += [
            "",
            f"… and {len(found.more) - _SHOWN:,} more; --json, -o, --html or --write has all of them.",
        ]
    return lines


def more_answer(found: HiddenFound) -> str:
    """What has to be withheld besides, in a sentence or two."""
    price = found.price
    if price is None:
        return ""
    parts = [f"What else to withhold: {price.sentence}."]
    if found.more:
        parts.append(f"Then {count_of(price.in_vain, 'value is', 'values are')} withheld in vain.")
    if price.unprotected:
        named = "; ".join(map(cell_name, price.unprotected[:3]))
        several = count_of(len(price.unprotected), "cell")
        parts.append(
            f"Nothing can protect {several} ({named}): what is beside them is zero or has to be shown."
        )
    if price.shown_again:
        named = "; ".join(map(cell_name, price.shown_again[:3]))
        useless = "protects" if len(price.shown_again) == 1 else "protect"
        several = count_of(len(price.shown_again), "cell")
        parts.append(f"{several} ({named}) {useless} nothing and can be shown again.")
    return " ".join(parts)


def _said(name: str, columns: tuple[str, ...], cells: int, withheld: int) -> str:
    return f"{name}: {count_of(cells, 'cell')} by {' × '.join(columns) or 'nothing'}, {withheld:,} withheld."


def _nearness(value: HiddenValue) -> tuple[bool, float]:
    """In vain first, then the narrowest."""
    if value.low is None or value.high is None:
        return (not value.in_vain, float("inf"))
    return (not value.in_vain, value.high - value.low)
