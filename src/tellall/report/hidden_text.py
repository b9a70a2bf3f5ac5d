"""What the terminal says about withheld values."""

from __future__ import annotations

import textwrap

from tellall.attack.prove.hidden_files import HiddenFound, HiddenValue
from tellall.core.amounts import count_of
from tellall.core.text import TERMINAL, one_line
from tellall.report.terminal import aligned

__all__ = ["hidden_answer", "hidden_text", "said_of"]

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


def said_of(value: HiddenValue) -> str:
    """A cell in words."""
    return ", ".join(value.cell.values()) or "total"


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
    return "\n".join(lines)


def _said(name: str, columns: tuple[str, ...], cells: int, withheld: int) -> str:
    return f"{name}: {count_of(cells, 'cell')} by {' × '.join(columns) or 'nothing'}, {withheld:,} withheld."


def _nearness(value: HiddenValue) -> tuple[bool, float]:
    """In vain first, then the narrowest."""
    if value.low is None or value.high is None:
        return (not value.in_vain, float("inf"))
    return (not value.in_vain, value.high - value.low)
