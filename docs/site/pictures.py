"""The pictures of the first page, drawn from runs: `make pictures` writes them into docs.

how-it-works.svg: three harmless tables of six people, and what follows. before-after.svg: tables of real
people (NHANES) before and after a change. demo.svg: what the demonstration prints.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import tellall as ta

DOCS = Path(__file__).resolve().parents[1]
_STYLE = (
    "text{font:14px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;fill:#1b1f24}"
    ".soft{fill:#57606a}.strong{font-weight:600}.head{font-weight:600;font-size:16px}.end{text-anchor:end}"
    ".fail{fill:#c8324a}.pass{fill:#2f8a4e}.card{fill:#f6f8fa;stroke:#d0d7de}.middle{text-anchor:middle}"
    ".line{stroke:#d0d7de;stroke-width:1}.arrow{stroke:#57606a;stroke-width:2;fill:none}"
)
_NAMES = ("Ann", "Bea", "Cleo", "Dan", "Eli", "Fay")
_COLUMNS = {"smokes": ("no", "yes"), "town": ("A", "B"), "job": ("desk", "field")}
_PEOPLE = [[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 1, 1]]
_ILL = [0, 1, 0, 0, 1, 1]


def main() -> None:
    """Writes every picture; about a minute of one core."""
    (DOCS / "how-it-works.svg").write_text(how_it_works(), "utf-8")
    (DOCS / "before-after.svg").write_text(before_after(), "utf-8")
    (DOCS / "demo.svg").write_text(demonstration(), "utf-8")


def how_it_works() -> str:
    """Three tables of six people, in which no cell is small or all alike, and the people that they prove."""
    people = ta.Dataset.from_arrays(_PEOPLE, _ILL, names=list(_COLUMNS))
    release = ta.publish(people, ta.Marginals(2))
    evidence = ta.linearise(release, people.public)
    attack = ta.reconstruct(release, people.public)
    assert (attack.identified == "proved").all()
    assert attack.guess.tolist() == _ILL
    rows = evidence.operator.to_dense()
    wanted = [index for index in range(len(rows)) if (rows[index] >= 0).all()]  # the cells of the ill
    marks = [*_heading(16, "1. Three tables"), *_heading(272, "2. Six equations")]
    marks += _heading(520, "3. One answer")
    cells = [(name, value) for name, values in _COLUMNS.items() for value in values]
    for place, (index, (name, value)) in enumerate(zip(wanted, cells, strict=True)):
        y = 76 + 30 * place
        group, count = np.flatnonzero(rows[index]), int(evidence.target[index])
        marks += [
            _text(20, y, f"{name} = {value}"),
            _text(132, y, f"{count} of {len(group)} ill", "strong"),
            _text(276, y, f"{' + '.join(_NAMES[one] for one in group)} = {count}"),
        ]
    for place, (name, ill) in enumerate(zip(_NAMES, attack.guess, strict=True)):
        word, kind = ("ill", "strong fail") if ill else ("not ill", "strong pass")
        marks += [_text(526, 76 + 30 * place, name), _text(580, 76 + 30 * place, word, kind)]
    marks += [f'<path class="arrow" d="M{x} 150h28m-9 -7l9 7l-9 7"/>' for x in (226, 474)]
    marks += [
        _text(
            16,
            278,
            "Every cell has three people, and in none are they all alike. Still, only one answer fits.",
            "soft",
        )
    ]
    said = "Three tables of six people; each cell is an equation; one solution is left: " + ", ".join(
        f"{name} {'ill' if ill else 'not ill'}" for name, ill in zip(_NAMES, _ILL, strict=True)
    )
    return _svg(700, 300, "How tables become people", said, marks)


def before_after() -> str:
    """People of NHANES whose drug use is learnt from tables, under usual protections and after a change."""
    people = ta.datasets.load("nhanes")
    usual = [ta.Suppression(10), ta.Rounding(5)]
    tried: list[tuple[str, int, Sequence[ta.Protection]]] = [
        ("Before: 3-way tables, exact", 3, []),
        ("3-way, rounded to 5", 3, [ta.Rounding(5)]),
        ("3-way, under 10 hidden, rounded to 5", 3, usual),
        ("After: 2-way tables, rounded to 5", 2, [ta.Rounding(5)]),
    ]
    bars = []
    for label, ways, protect in tried:
        attack = ta.reconstruct(ta.publish(people, ta.Marginals(ways), protect), people.public)
        risk = ta.score(attack, people.secret)
        given_away = sum(risk.learnt_by_value.values()) + risk.proved_group
        bars.append((label, given_away))
    most = max(count for _, count in bars)
    marks = [_text(16, 34, f"Of {people.n:,} people, whose drug use do the tables give away?", "head")]
    for place, (label, count) in enumerate(bars):
        y, width, kind = 56 + 44 * place, max(2.0, 250 * count / most), "fail" if count else "pass"
        marks += [
            _text(290, y + 19, label, "end"),
            f'<rect class="{kind}" x="300" y="{y}" width="{width:.1f}" height="28" rx="3"/>',
            _text(308 + width, y + 19, f"{count:,} people", "strong"),
        ]
    note = "Proved, or guessed right with confidence 0.95 and three times any baseline's odds. NHANES."
    marks.append(_text(16, 256, note, "soft"))
    said = "; ".join(f"{label}: {count:,} people" for label, count in bars)
    return _svg(700, 276, "What tables give away before and after a change", said, marks)


def demonstration() -> str:
    """What `tellall demo` prints, as a picture of a terminal."""
    from rich.console import Console
    from rich.terminal_theme import MONOKAI
    from rich.text import Text

    command = [sys.executable, "-m", "tellall", "demo"]
    with TemporaryDirectory() as folder:
        told = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder).stdout
    shown = (
        told.partition("\nright ")[0] + told.partition("any baseline's odds\n")[2].partition("The page is")[0]
    )
    console = Console(record=True, width=80, file=io.StringIO())
    console.print(Text(f"$ tellall demo\n{shown.rstrip()}"))
    drawn = console.export_svg(title="tellall demo", theme=MONOKAI)
    return re.sub(
        r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL
    )  # which would ask the network for a font


def _heading(x: float, words: str) -> list[str]:
    return [_text(x, 36, words, "head"), f'<path class="line" d="M{x} 48h178"/>']


def _text(x: float, y: float, words: str, kind: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(words)}</text>'


def _svg(width: int, height: int, title: str, said: str, marks: Sequence[str]) -> str:
    inside = "\n".join(marks)
    box = f'viewBox="0 0 {width} {height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-labelledby="t d">\n'
        f'<title id="t">{escape(title)}</title>\n<desc id="d">{escape(said)}</desc>\n'
        f"<style>{_STYLE}</style>\n"
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n{inside}\n</svg>\n'
    )


if __name__ == "__main__":
    main()
