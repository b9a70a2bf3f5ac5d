"""Models printed as a list of coefficients: statsmodels, R, Stata, SAS and tables of the same form.

Lines are texts; cells of a table are joined by tabs. Others wrote them: they are read, never run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tellall.outputs.found import FittedModel, Source
from tellall.outputs.model_words import (
    about_people,
    columns_of_cells,
    columns_of_text,
    is_rule,
    is_statistic,
    kind_in,
    link_in,
)
from tellall.people.printed_numbers import Shown, decimal_sign, shown_of

__all__ = ["INTERCEPT_NAMES", "ModelLines", "models_in_lines"]

INTERCEPT_NAMES = ("(intercept)", "intercept", "const", "_cons", "constant", "(constant)", "cons")
_NUMBER = re.compile(r"[<≤]?\s?[-+\u2212]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|NA|NaN|nan|\.")
_STARS = re.compile(r"(?:(?<=[\d.])|\s)(?:\*{1,4}|\.|†|\+|°)$")
_START = re.compile(
    r"\s*(?:Call:|\.\s*(?:xi: ?)?(?:reg|regress|logit|logistic|probit|poisson|glm)\b"
    r"|.*Regression Results\s*$|Results: |#"
    r"|The (?:REG|LOGISTIC|GENMOD|GLM) Procedure|>\s*(?:summary|coeftest|print)\()",
    re.IGNORECASE,
)
_WIDE = 40  # lines above a list of coefficients that may speak of it
_BELOW = 25
_BLANK_ROOM = 3  # lines between a header and the first coefficient
_MOST_TERMS = 500


@dataclass(frozen=True)
class ModelLines:
    """A model, and the first and last of the lines that print it."""

    model: FittedModel
    first: int
    last: int


@dataclass(frozen=True)
class _Row:
    name: str
    numbers: tuple[str, ...]


@dataclass(frozen=True)
class _Body:
    """A list of coefficients: its header line, the lines below it, and what was read from them."""

    header: int
    last: int
    kinds: tuple[str, ...]
    rows: tuple[_Row, ...]
    response: str


def models_in_lines(lines: Sequence[str], place: Callable[[int, int], Source]) -> list[ModelLines]:
    """The models printed in some lines, from top to bottom."""
    bodies: list[_Body] = []
    at = 0
    while at < len(lines):
        body = _body_at(lines, at)
        if body is not None:
            bodies.append(body)
        at = at + 1 if body is None else body.last + 1
    return [_model(lines, bodies, k, place) for k in range(len(bodies))]


def _body_at(lines: Sequence[str], at: int) -> _Body | None:
    """The list of coefficients whose header stands in a line; None if there is none."""
    line = lines[at]
    if len(line) > 1000 or is_rule(line):
        return None
    if line.strip() == "Coefficients:" and (pairs := _names_over_numbers(lines, at)) is not None:
        return pairs
    response = ""
    kinds: tuple[str, ...]
    if "\t" in line:
        cells = line.split("\t")
        kinds = columns_of_cells(cells[1:])
        response = cells[0].strip()
    else:
        name, bar, rest = line.partition("|")
        if bar and len(name.split()) <= 1 and (kinds := columns_of_text(rest)):
            response = name.strip()
        else:
            kinds = columns_of_text(line.strip())
            parted = re.split(r"\s{2,}", line.strip())
            if kinds and not _starts_columns(parted[0]) and len(parted) > 1:
                response = parted[0]  # the head over the names
    if not kinds:
        return None
    rows, last = _rows(lines, at, kinds)
    return _Body(at, last, kinds, tuple(rows), response) if rows else None


def _names_over_numbers(lines: Sequence[str], at: int) -> _Body | None:
    """The list that R prints of a model itself: names, and the numbers below them, both set to the right."""
    rows: list[_Row] = []
    k = at + 1
    while k + 1 < len(lines) and lines[k].strip() and lines[k + 1].strip():
        numbers = list(re.finditer(r"\S+", lines[k + 1]))
        if not all(_NUMBER.fullmatch(word[0]) for word in numbers):
            return None
        start = 0
        for word in numbers:
            name = lines[k][start : word.end()].strip()
            if not name:
                return None
            rows.append(_Row(name, (word[0],)))
            start = word.end()
        if lines[k][start:].strip():
            return None
        k += 2
    return _Body(at, k - 1, ("estimate",), tuple(rows), "") if rows else None


def _starts_columns(text: str) -> bool:
    return bool(columns_of_text(f"{text} std err t"))


def _rows(lines: Sequence[str], header: int, kinds: tuple[str, ...]) -> tuple[list[_Row], int]:
    """The coefficients below a header, and the last line of them."""
    rows: list[_Row] = []
    factor, last = "", header
    for k in range(header + 1, min(len(lines), header + _MOST_TERMS)):
        line = lines[k]
        bare = line.replace("\t", " ").strip()
        if not bare or is_rule(line):
            ended = bool(rows) and not (bare and "+" in bare and factor)
            if ended or k - header > _BLANK_ROOM:
                break
            continue
        if not bare.strip("|. "):  # a line between two factors, as Stata prints it
            factor = ""
            continue
        row = _row(line, kinds)
        if row is None:
            named = re.fullmatch(r"\s*([\w.#]+)\s*\|\s*", line)
            if named is not None:
                factor = named[1]
            elif (rows and "omitted" not in line and "base" not in line and "empty" not in line) or (
                not rows and k - header > 1
            ):
                break
            continue
        if is_statistic(row.name) and "\t" in line and _number_of(kinds, row, "error") is None:
            break
        name = row.name
        if factor and line.partition("|")[0].startswith("  ") and name not in INTERCEPT_NAMES:
            name = _levels_of_stata(factor, name)
        elif factor:
            factor = ""
        rows.append(replace(row, name=name))
        last = k
    return rows, last


def _levels_of_stata(factor: str, level: str) -> str:
    """The term for a level of a factor, or of an interaction: "2.region", "2.region#c.age"."""
    parts = factor.split("#")
    levels = (
        re.split(r"\s*#\s*|\s+", level) if sum(not part.startswith("c.") for part in parts) > 1 else [level]
    )
    named, left = [], list(levels)
    for part in parts:
        continuous = part.startswith("c.") or not left
        named.append(part.removeprefix("c.") if continuous else f"C({part})[T.{left.pop(0)}]")
    return ":".join(named)


def _row(line: str, kinds: tuple[str, ...]) -> _Row | None:
    """A name and the numbers behind it; None if a line is something else."""
    if "\t" in line:
        name, *cells = (cell.strip() for cell in line.split("\t"))
        of_kinds = [cell for cell, kind in zip(cells, kinds, strict=False) if kind and cell]
        if not name or not of_kinds or not all(_NUMBER.match(_STARS.sub("", cell)) for cell in of_kinds):
            return None
        return _Row(name, tuple(cells[: len(kinds)]))
    before, bar, after = line.partition("|")
    if bar and "P>|" not in line:
        name, text = before.strip(), after
    else:
        name, text = "", line
    text = re.sub(r"<\s+(?=[\d.])", "<", text.rstrip().replace("\u2212", "-"))
    text = _STARS.sub("", text).rstrip()
    words = text.split()
    wanted = len([kind for kind in kinds if kind])
    taken = 0
    while taken < min(len(words), wanted) and _NUMBER.fullmatch(words[-1 - taken]):
        taken += 1
    numbers = tuple(words[len(words) - taken :])
    rest = " ".join(words[: len(words) - taken])
    name = name or rest
    if not name or not taken or taken < min(2, wanted) or (bar and "P>|" not in line and rest):
        return None
    return _Row(name, numbers)


def _number_of(kinds: tuple[str, ...], row: _Row, kind: str) -> str | None:
    """The number of one kind in a line; None if it is not there."""
    at = kinds.index(kind) if kind in kinds else None
    return row.numbers[at] if at is not None and at < len(row.numbers) else None


def _model(
    lines: Sequence[str], bodies: Sequence[_Body], at: int, place: Callable[[int, int], Source]
) -> ModelLines:
    body = bodies[at]
    first = _first_line(lines, bodies, at)
    end = _first_line(lines, bodies, at + 1) - 1 if at + 1 < len(bodies) else len(lines) - 1
    last = min(end, body.last + _BELOW)
    begins = [k for k in range(body.last + 1, last + 1) if _START.match(lines[k].replace("\t", " "))]
    last = begins[0] - 1 if begins else last
    above = [_spaced(line) for line in lines[first : body.header + 1]]
    below = [_spaced(line) for line in lines[body.last + 1 : last + 1]]
    around = "\n".join([*above, *below])
    kinds = body.kinds
    exponentiated = "estimate" not in kinds
    what = "estimate_exp" if exponentiated else "estimate"
    texts = [_number_of(kinds, row, "low") or "" for row in body.rows]
    sign = decimal_sign([_number_of(kinds, row, what) or "" for row in body.rows] + texts)[0]
    rows = [row for row in body.rows if _shown(_number_of(kinds, row, what), sign).number is not None]
    numbers = {
        kind: tuple(_shown(_number_of(kinds, row, kind), sign) for row in rows)
        for kind in (what, "error", "low", "high")
        if kind in kinds
    }
    errors = numbers.get("error")
    formula, call = _formula(around)
    family = _family(around)
    kind = (
        kind_in("\n".join([call, family, link_in(around)]))
        or kind_in("\n".join(above))
        or kind_in("\n".join(below))
    )
    model = FittedModel(
        source=place(first, max(body.last, _last_said(lines, body.last, last))),
        kind=kind,
        response=_response(around, formula, body.response),
        terms=tuple(row.name for row in rows),
        coefficients=numbers[what],
        standard_errors=errors if errors and all(each.number is not None for each in errors) else None,
        intervals=_intervals(numbers),
        n=_people(around, len(rows), any(row.name.lower() in INTERCEPT_NAMES for row in rows)),
        family=family,
        link=link_in(around),
        formula=formula,
        call=call,
        covariance=_covariance(around),
        exponentiated=exponentiated,
        title=tuple(line.strip() for line in above[:3] if line.strip() and not is_rule(line)),
    )
    return ModelLines(model, first, body.last)


def _shown(text: str | None, sign: str) -> Shown:
    return shown_of("" if text is None else text.replace("\u2212", "-"), sign)


def _intervals(numbers: dict[str, tuple[Shown, ...]]) -> tuple[tuple[Shown, Shown], ...] | None:
    if "low" not in numbers or "high" not in numbers:
        return None
    return tuple(zip(numbers["low"], numbers["high"], strict=True))


def _first_line(lines: Sequence[str], bodies: Sequence[_Body], at: int) -> int:
    """Where the words about a model begin: at the last line that starts an output, else near its list."""
    low = bodies[at - 1].last + 1 if at else 0
    starts = [k for k in range(low, bodies[at].header + 1) if _START.match(lines[k].replace("\t", " "))]
    if starts:
        return starts[0] if at == 0 or len(starts) == 1 else starts[-1]
    if not at:
        return max(low, bodies[at].header - _WIDE)
    # without a sign, what stands before the second blank line below the earlier list belongs to that one
    gaps = [k for k in range(low, bodies[at].header) if not lines[k].strip()]
    return gaps[1] + 1 if len(gaps) > 2 else (gaps[-1] + 1 if gaps else low)


def _last_said(lines: Sequence[str], start: int, last: int) -> int:
    """The last line below a list of coefficients that belongs to it, for the place that is named."""
    end = start
    for k in range(start + 1, last + 1):
        if not lines[k].strip():
            break
        end = k
    return end


def _spaced(line: str) -> str:
    return "  ".join(cell.strip() for cell in line.split("\t")) if "\t" in line else line


def _family(text: str) -> str:
    found = re.search(r"Model Family:\s*(\w+)", text) or re.search(r"family ?= ?[\"']?(\w+)", text)
    return found[1] if found else ""


def _formula(text: str) -> tuple[str, str]:
    """The formula and the command of a model; empty where they are not printed."""
    call = ""
    if found := re.search(r"Call:\s*\n((?:.*\S.*\n?)+)", text):
        call = " ".join(found[1].split())
    elif found := re.search(
        r"^\s*\.\s*((?:xi: ?)?(?:reg|regress|logit|logistic|probit|poisson|glm)\b.*)$", text, re.M
    ):
        call = found[1].strip()
    formula = re.search(r"(?:formula ?= ?|\()([\w.()\[\]]+ ?~ ?[^,\n]+?)(?:,|\)\s*$|\)\n|$)", call)
    return (formula[1].strip() if formula else ""), call


def _response(text: str, formula: str, head: str) -> str:
    """The name of what is modelled."""
    if "~" in formula:
        return formula.partition("~")[0].strip()
    for words in (
        r"Dep(?:endent|\.) [Vv]ariables?:?\s+(\[.*?\](?=\s{2}|\s*$)|\S+)",
        r"Response [Vv]ariable:?\s+(\S+)",
        r"^\s*\.\s*(?:regress|reg|logit|logistic|probit|poisson|glm)\s+(\w+)",
    ):
        found = re.search(words, text, re.M)
        if found is not None:
            return found[1].strip("'\"")
    words_of_names = (
        "term",
        "variable",
        "parameter",
        "predictor",
        "effect",
        "variables",
        "characteristic",
        "",
    )
    return head if head and head.lower() not in words_of_names and len(head) < 60 else ""


def _people(text: str, coefficients: int, intercept: bool) -> int | None:
    """How many people a model is about, as it says or by its degrees of freedom."""
    for line in text.splitlines():
        for said in re.finditer(
            r"(?:^|\s{2,}|\t)([A-Za-z][\w.()]*(?: [\w.()]+)*?)\s*[:=]?\s+(?:= *)?([\d,]+)\.?(?=\s|$)", line
        ):
            if about_people(said[1]):
                return int(said[2].replace(",", ""))
    found = re.search(r"Null deviance:.* on (\d+) +degrees of freedom", text)
    if found is not None:
        return int(found[1]) + int(intercept)
    found = re.search(r"Degrees of Freedom: (\d+) Total", text)
    if found is not None:
        return int(found[1]) + int(intercept)
    found = re.search(r"Residual standard error:.* on (\d+) degrees of freedom", text)
    if found is not None:
        return int(found[1]) + coefficients
    found = re.search(r"Df Residuals:\s+(\d+)", text)
    return int(found[1]) + coefficients if found else None


def _covariance(text: str) -> str:
    if found := re.search(r"Covariance Type:\s+(\S+)", text):
        return found[1]
    if re.search(r"\brobust\b|\bHC[0-3]\b|clustered|adjusted for \d+ clusters", text, re.IGNORECASE):
        return "robust"
    return ""
