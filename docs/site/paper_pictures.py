"""Draws the pictures of docs/paper-figures.md: `python docs/site/paper_pictures.py DATA`."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

from tellall.report.kit.drawing import draw
from tellall.report.kit.html import environment, page_style
from tellall.report.kit.plot import Figure

DOCS = Path(__file__).resolve().parents[1]
PLOTTED = {"private_ols": ("Fig. 2", "Fig. 3"), "regression_noise": ("Fig. 2", "Fig. 3", "Fig. 4", "Fig. 5")}
_SVG = """{% from "plots.html" import marks %}
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{ chart.width }} {{ height }}"
 role="img" aria-labelledby="t d">
<title id="t">{{ figure.title }}</title>
<desc id="d">{{ figure.caption }}</desc>
<style>{{ style }}</style>
<rect width="100%" height="100%" fill="#ffffff"/>
{{ marks(chart.under) }}
<defs><clipPath id="frame"><rect{{ chart.frame | xmlattr }}/></clipPath></defs>
<g clip-path="url(#frame)">
{{ marks(chart.inside) }}
</g>
{{ marks(chart.over) }}
{% for label, sample in chart.key %}
<g transform="translate(60 {{ chart.height + 22 * loop.index0 }})">
{{ marks(sample) }}
<text x="58" y="10">{{ label }}</text>
</g>
{% endfor %}
</svg>
"""


def main(data: Path) -> None:
    """Reruns what is about each figure and writes its pictures; some minutes of one core."""
    for paper, numbers in PLOTTED.items():
        module = import_module(f"tellall.papers.{paper}")
        for number in numbers:
            for place, figure in enumerate(module.rerun(data, about=number).figures, 1):
                name = f"paper-{paper}-{number}-{place}".replace("_", "-").replace(". ", "-").lower()
                (DOCS / f"{name}.svg").write_text(picture(figure), encoding="utf-8")


def picture(figure: Figure) -> str:
    """A figure as a file of its own, in the colours of a light page, its key below."""
    chart = draw(figure)
    colours = re.search(r":root \{[^}]*\}", page_style())
    rules = [line for line in page_style().splitlines() if line.startswith("svg ")]
    style = "\n".join([colours[0] if colours else "", *rules, "svg { max-width: none; }"])
    height = chart.height + 22 * len(chart.key)
    drawn = environment().from_string(_SVG).render(chart=chart, figure=figure, style=style, height=height)
    return re.sub(r"\n\s*\n+", "\n", drawn.strip()) + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
