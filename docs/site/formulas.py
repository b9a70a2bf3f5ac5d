"""Formulas as MathML, from the plain text in which docstrings and documents write them.

The same line is read in a terminal, on a code host and on the site: `γ²/(256α²)`, `Σ_{i in c} s_i`, `√(2t)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

__all__ = ["mathml"]

_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵀⁿᵏⁱʲᵐᵘᵛʳ", "0123456789+−Tnkijmuvr", strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉ᵢⱼₖₙ", "0123456789ijkn", strict=True))
_FUNCTIONS = {
    "ln",
    "log",
    "exp",
    "tanh",
    "sinh",
    "cosh",
    "arcosh",
    "max",
    "min",
    "tr",
    "Var",
    "logit",
    "diag",
}
_OPEN = {"(": ")", "[": "]", "{": "}"}
_GAP = "\N{NO-BREAK SPACE}"
_TOKEN = re.compile(
    rf"(?P<gap>\s{{3,}})|(?P<space>\s+)|(?P<number>\d+(?:[.,]\d+)*)|(?P<half>½)"
    rf"|(?P<up>[{''.join(_RAISED)}]+)|(?P<down>[{''.join(_LOWERED)}]+|_(?=[^\W_]|{{))|(?P<power>\^)"
    r"|(?P<word>[A-Za-z]{2,}(?![\u0300-\u036f]))|(?P<letter>[^\W\d_][\u0300-\u036f~]?)|(?P<mark>.)"
)
Token = tuple[str, str]


def mathml(text: str) -> str:
    """The lines of a formula as one block of MathML.

    Examples
    --------
    >>> mathml("a/b²")
    '<math display="block"><mfrac><mi>a</mi><msup><mi>b</mi><mn>2</mn></msup></mfrac></math>'
    """
    lines = [_Reader(line.strip()).row() for line in text.strip().splitlines()]
    if len(lines) == 1:
        return f'<math display="block">{lines[0]}</math>'
    rows = "".join(f"<mtr><mtd>{line}</mtd></mtr>" for line in lines)
    return f'<math display="block"><mtable columnalign="left">{rows}</mtable></math>'


class _Reader:
    """Reads one line from left to right; every method returns MathML for what it has read."""

    def __init__(self, text: str) -> None:
        self.tokens: list[Token] = [(str(found.lastgroup), found[0]) for found in _TOKEN.finditer(text)]
        self.at = 0

    def row(self, end: str = "") -> str:
        """Everything up to a closing mark or the end."""
        parts: list[str] = []
        while self.at < len(self.tokens) and self.text != end:
            if self.kind == "space":
                self.at += 1
            elif self.kind == "gap":
                parts.append(self.take(lambda _: '<mspace width="2em"/>'))
            elif self.text in ("/", "·") or (self.kind == "mark" and self.text not in (*_OPEN, "√", "∫")):
                parts.append(self.take(lambda mark: f"<mo>{escape(mark)}</mo>"))
            else:
                parts.append(self.product())
        return "".join(parts)

    def product(self) -> str:
        """Factors side by side without a space; over a denominator, if a slash follows."""
        factors = [self.factor()]
        while self.at < len(self.tokens) and self.text != "/" and self.starts_factor():
            factors.append(self.factor())
        if self.at + 1 < len(self.tokens) and self.text == "/" and self.starts_factor(1):
            self.at += 1
            below = self.factor()
            return f"<mfrac>{_one(_bare(''.join(factors)))}{_one(_bare(below))}</mfrac>"
        return "".join(factors)

    def starts_factor(self, ahead: int = 0) -> bool:
        kind, text = self.tokens[self.at + ahead]
        return kind in ("number", "half", "word", "letter") or text in (*_OPEN, "√")

    def factor(self) -> str:
        """A number, name, bracket or root, with what is raised or lowered beside it."""
        base = self.atom()
        raised, lowered = "", ""
        while self.at < len(self.tokens):
            if self.kind == "up":
                raised += self.take(lambda up: _several("".join(_RAISED[one] for one in up)))
            elif self.text in ("′", "'"):
                raised += self.take(lambda _: "<mo>′</mo>")
            elif self.kind == "power":
                self.at += 1
                raised += self.argument()
            elif self.kind == "down":
                lowered += self.lowered()
            else:
                break
        if raised and lowered:
            return f"<msubsup>{_one(base)}{_one(lowered)}{_one(raised)}</msubsup>"
        if raised:
            return f"<msup>{_one(base)}{_one(raised)}</msup>"
        if lowered and base in ("<mo>Σ</mo>", "<mo>∫</mo>"):
            return f"<munder>{base}{_one(lowered)}</munder>"
        return f"<msub>{_one(base)}{_one(lowered)}</msub>" if lowered else base

    def lowered(self) -> str:
        marks = self.take(str)
        if marks != "_":
            return _several("".join(_LOWERED[one] for one in marks))
        if self.text == "{":
            return self.argument()
        names = ""  # all letters and digits that follow: x_iJ
        while self.at < len(self.tokens) and self.kind in ("letter", "word", "number"):
            names += self.take(str)
        return _several(names)

    def argument(self) -> str:
        """What stands in brackets, without them; or one factor, with its sign."""
        if self.at >= len(self.tokens):
            return "<mrow></mrow>"
        if self.text in _OPEN:
            closing = _OPEN[self.take(str)]
            inside = self.row(closing)
            self.at += 1
            return f"<mrow>{inside}</mrow>"
        sign = self.take(lambda mark: f"<mo>{mark}</mo>") if self.text in ("−", "-", "+") else ""
        return sign + self.atom()

    def atom(self) -> str:
        if self.text in _OPEN:
            opening = self.take(str)
            closing = _OPEN[opening]
            inside = self.row(closing)
            self.at += 1
            tall = "" if "<mfrac>" in inside else ' stretchy="false"'
            return f"<mrow><mo{tall}>{opening}</mo>{inside}<mo{tall}>{closing}</mo></mrow>"
        if self.text == "√":
            self.at += 1
            under = self.factor() if self.at < len(self.tokens) else ""
            if under.endswith("</mi>") and self.at < len(self.tokens) and self.text == "(":
                under += self.atom()  # the root of ln(…)
            return f"<msqrt>{_bare(under)}</msqrt>"
        if self.kind == "number":
            return self.take(lambda number: f"<mn>{number}</mn>")
        if self.kind == "half":
            return self.take(lambda _: "<mfrac><mn>1</mn><mn>2</mn></mfrac>")
        if self.kind == "word":
            before, after = self.beside(-1), self.beside(1)
            return self.take(lambda word: _word(word, before, after))
        if self.kind == "letter" and self.text == "Σ" and self.beside(1) in ("_", " "):
            return self.take(lambda _: "<mo>Σ</mo>")
        return self.take(_letter if self.kind == "letter" else lambda mark: f"<mo>{escape(mark)}</mo>")

    def beside(self, step: int) -> str:
        place = self.at + step
        return self.tokens[place][1][:1] if 0 <= place < len(self.tokens) else ""

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0]

    @property
    def text(self) -> str:
        return self.tokens[self.at][1]

    def take(self, write: Callable[[str], str]) -> str:
        written = write(self.text)
        self.at += 1
        return written


def _letter(letter: str) -> str:
    name, accent = letter[0], letter[1:]
    marks = {"~": "~", "\u0303": "~", "\u0302": "^", "\u0304": "¯"}
    return (
        f"<mover><mi>{name}</mi><mo>{marks.get(accent, accent)}</mo></mover>"
        if accent
        else f"<mi>{name}</mi>"
    )


def _word(word: str, before: str, after: str) -> str:
    if word in _FUNCTIONS or after in ("(", "_"):
        return f"<mi>{word}</mi>" + ('<mspace width=".2em"/>' if after == " " else "")
    left, right = _GAP if before == " " else "", _GAP if after == " " else ""
    return f"<mtext>{left}{word}{right}</mtext>"


def _several(marks: str) -> str:
    """Small marks side by side: digits together, letters one by one, names of three letters or more whole."""
    found = re.findall(r"\d+|[A-Za-z]{3,}|.", marks)
    return "".join(
        f"<mn>{one}</mn>" if one.isdigit() else f"<mi>{one}</mi>" if one.isalpha() else f"<mo>{one}</mo>"
        for one in found
    )


def _one(written: str) -> str:
    """Exactly one element, as those that hold others demand."""
    whole = re.fullmatch(r"<(m\w+)[^<>]*>[^<>]*</\1>", written)
    return written if whole or _is_row(written) else f"<mrow>{written}</mrow>"


def _bare(written: str) -> str:
    """What is in round brackets, without them: the bar of a fraction or a root holds it together."""
    found = re.fullmatch(r"<mrow><mo[^<>]*>\(</mo>(.*)<mo[^<>]*>\)</mo></mrow>", written)
    return found[1] if found and _is_row(written) else written


def _is_row(written: str) -> bool:
    """Whether the text is one element from its first mark to its last."""
    depth = 0
    for found in re.finditer(r"<(/?)m\w+[^<>]*?(/?)>", written):
        depth += 0 if found[2] else -1 if found[1] else 1
        if depth == 0:
            return found.end() == len(written)
    return False
