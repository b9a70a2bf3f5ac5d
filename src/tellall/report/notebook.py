"""Results in a notebook: the blocks of the pages, without a page around them.

One more kind of result is one function that makes blocks, registered for its class.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, singledispatch
from pathlib import Path

import numpy as np

from tellall.attack.reconstruct.attack import Reconstruction
from tellall.attack.secret import Real
from tellall.audits.answers import strongest_rows
from tellall.audits.document import Audit
from tellall.audits.measures.risk import Risk
from tellall.audits.sweep import Sweep
from tellall.audits.verdict import Answer
from tellall.core import files
from tellall.core.amounts import counted, digits, level, with_interval
from tellall.core.not_done import NotDone
from tellall.core.text import plain_text
from tellall.people.dataset import Dataset
from tellall.protections.profile import PrivacyProfile
from tellall.release.release import Release
from tellall.report.audit_page import chart_blocks
from tellall.report.first_screen import answer_blocks, release_blocks
from tellall.report.kit.blocks import (
    Badge,
    Block,
    Box,
    Bullets,
    Drawn,
    Folded,
    Line,
    Listing,
    Paragraph,
    Terms,
    Tiles,
)
from tellall.report.kit.html import environment, fill, laid_out, page_style
from tellall.report.kit.plot import Axis, Figure, Series
from tellall.report.study_figures import sweep_figures
from tellall.report.trace_figures import tracing_figures
from tellall.tracing.trace import Tracing
from tellall.tracing.tracing_verdict import judge_tracing

__all__ = [
    "Plot",
    "framed",
    "notebook_html",
    "plot_of",
    "without_links",
]

_COMMON = (1e-3, 1e-5, 1e-6)  # values of δ that people ask for
_LEAST = 1e-8  # δ below this is not drawn


def notebook_html(result: object) -> str:
    """A result as HTML for a notebook: counts and rates, all text escaped, no script and no request."""
    return framed(list(blocks_of(result)))


def plot_of(result: object) -> Plot:
    """The figures of a result."""
    return Plot(tuple(figures_of(result)))


@dataclass(frozen=True)
class Plot:
    """Figures as the pages draw them; a notebook shows them."""

    figures: tuple[Block, ...]

    def _repr_html_(self) -> str:
        return framed(self.figures)

    def save(self, path: str | Path) -> Path:
        """Writes the figures to an HTML file that needs nothing else, and returns its path."""
        text = fill("figures.html", blocks=list(self.figures))
        return files.write_text(Path(path), text)

    def __repr__(self) -> str:
        return f"Plot of {len(self.figures)} figures; a notebook shows them, and .save(path) writes them"


_AT = "tellall-000000000000"


def framed(blocks: Sequence[Block]) -> str:
    """Blocks in a frame of their own: the style sheet reaches nothing outside it, no id occurs twice."""
    shown = environment().get_template("notebook.html").render(blocks=blocks, at=_AT, style=notebook_style())
    # of what is shown and no more: a hash of numbers that are shown rounded would confirm a guess at them
    return plain_text(shown.replace(_AT, f"tellall-{hashlib.sha256(shown.encode()).hexdigest()[:12]}"))


@cache
def notebook_style() -> str:
    """The pages' style sheet within the frame of a notebook's output, by nested rules."""
    inside = re.sub(r"(^|[\s}])(?::root|body)(?=\s*\{)", r"\1&", page_style())
    return f".tellall-output {{\n{inside}\n}}"


# what each kind of result shows


@singledispatch
def blocks_of(result: object) -> Sequence[Block]:
    """The blocks of a result."""
    raise TypeError(f"a notebook shows no {type(result).__name__}")


@singledispatch
def figures_of(result: object) -> Sequence[Block]:
    """The figures of a result."""
    raise TypeError(f"{type(result).__name__} has no figures")


@blocks_of.register
def _(people: Dataset) -> Sequence[Block]:
    columns = people.public.columns
    lines = [
        Line(
            column.name,
            [f"{column.levels:,}", ", ".join(column.cut_texts) or "–"],
        )
        for column in columns
    ]
    about = f"{people.n:,} people, {len(people.patterns):,} distinct public rows."
    return [
        Paragraph(about),
        *([Terms([(f"secret: {people.secret_name}", _secret_words(people))])] if _has_secret(people) else []),
        Listing("Public columns", ["public column", "values", "cut at"], lines, left=["cut at"]),
        *(
            [Bullets([f"Left out: {reason}" for reason in people.public.left_out])]
            if people.public.left_out
            else []
        ),
    ]


def _has_secret(people: Dataset) -> bool:
    return people.secret is not None


def _secret_words(people: Dataset) -> str:
    assert people.secret is not None
    if not people.levels:
        return "a real number"
    counts = np.bincount(people.secret, minlength=people.levels)
    return ", ".join(f"{count:,} × {name}" for count, name in zip(counts, people.meaning, strict=True))


@blocks_of.register
def _(release: Release) -> Sequence[Block]:
    hidden = int(np.isnan(release.values).sum())
    whom = "everybody" if release.where is None else release.where.words or "some people, unknown which"
    return [
        Terms(
            [
                ("published", release.describe()),
                ("values", f"{release.values.size:,}" + (f", {hidden:,} of them hidden" if hidden else "")),
                ("protected by", ", ".join(map(repr, release.protections)) or "nothing: exact"),
                ("about", whom),
                ("public columns", ", ".join(release.columns) or "–"),
            ]
        )
    ]


@blocks_of.register
def _(attack: Reconstruction) -> Sequence[Block]:
    pairs = [
        ("people", f"{attack.n:,}"),
        ("equations", f"{attack.evidence.target.size:,}"),
        ("decoder", f"{attack.decoder}: {attack.status}"),
    ]
    if isinstance(attack.secret, Real):
        pairs.append(("known to within", f"{digits(float(np.median(attack.std)))}, half of the people"))
    else:
        sure = int((attack.confidence >= 0.95).sum())
        pairs += [("proved", f"{int(attack.proved.sum()):,}"), ("guessed with confidence 0.95", f"{sure:,}")]
        pairs += [("left undecided", f"{attack.undecided:,}")] if attack.undecided else []
    note = "Only somebody who holds the truth can tell whether the guesses are right: ta.score."
    odd = [Bullets(attack.notes)] if attack.notes else []
    return [Terms(pairs), *_skipped(attack.skipped), *odd, Paragraph(note, soft=True)]


def _skipped(reasons: Sequence[NotDone]) -> list[Block]:
    return [Bullets([f"No equation from {reason}" for reason in reasons])] if reasons else []


@blocks_of.register
def _(risk: Risk) -> Sequence[Block]:
    real = isinstance(risk.secret, Real)
    lines = [
        Line("the attack", [level(risk.accuracy, real)], whole=True),
        *(Line(f"without it: {name}", [level(value, real)]) for name, value in risk.baselines.items()),
    ]
    found = [("advantage [95 %]", with_interval(risk.advantage, risk.interval, real))]
    if not real:
        found += [("proved alone", f"{risk.proved_alone:,}"), ("proved as a group", f"{risk.proved_group:,}")]
    found.append(("exposed", f"{risk.exposed:,}"))
    head = [f"of {risk.n:,} people", "off by" if real else "right"]
    return [Terms(found), Listing("The attack and its baselines", head, lines)]


@blocks_of.register
def _(audit: Audit) -> Sequence[Block]:
    document = audit.content
    return [*map(without_links, answer_blocks(document)), *release_blocks(document)]


def without_links(block: Block) -> Block:
    """The block without links to sections, which a notebook does not show."""
    if not isinstance(block, Tiles):
        return block
    return Tiles([replace(tile, to="") for tile in block.tiles])


@figures_of.register
def _(audit: Audit) -> Sequence[Block]:
    return [block for block in chart_blocks(audit.content) if isinstance(block, Drawn)]


@blocks_of.register
def _(found: Sweep) -> Sequence[Block]:
    lines = [
        Line(
            f"{row.protection} *" if row.frontier else row.protection,
            [
                Badge(row.verdict),
                level(row.accuracy, found.real),
                with_interval(row.advantage, (row.low, row.high), found.real),
                counted(row.learnt),
                digits(row.loss),
            ],
        )
        for row in strongest_rows(found.rows)
    ]
    head = ["protection", "verdict", "off by" if found.real else "right", "advantage [95 %]", "sensitive"]
    about = f"{found.statistic}, {found.people:,} people. * no other here has less advantage and less error."
    left = [f"Left out {one.name}: {one.reason}" for one in found.skipped]
    return [
        Listing("Protections", [*head, "error"], lines, about),
        *([Bullets(left)] if left else []),
        Folded("Figures", figures_of(found)),
    ]


@figures_of.register
def _(found: Sweep) -> Sequence[Block]:
    return [Drawn(laid_out(one)) for one in sweep_figures(found)]


@blocks_of.register
def _(profile: PrivacyProfile) -> Sequence[Block]:
    reached = [(f"ε at δ = {delta:g}", f"{profile.epsilon(delta):.3g}") for delta in _COMMON]
    pure = [("δ = 0 from ε", f"{profile.pure_epsilon:.3g}")] if np.isfinite(profile.pure_epsilon) else []
    holds = "this data set only" if profile.relative else "every data set"
    about = [
        ("mechanism", profile.mechanism),
        ("computed", profile.method),
        ("neighbours", profile.neighbours),
    ]
    return [Terms([*about, ("holds for", holds), *reached, *pure]), *figures_of(profile)]


@figures_of.register
def _(profile: PrivacyProfile) -> Sequence[Block]:
    furthest = min(max(profile.epsilon(_LEAST), 0.1), 20.0)
    epsilons = np.linspace(0, furthest, 60)
    words = f"{profile.mechanism}, {profile.method}"
    lines = [Series(words, epsilons, profile.delta(epsilons))]
    if profile.lower_curve is not None:
        confidence = 0.0 if profile.confidence is None else profile.confidence
        said = f"at least, {100 * confidence:g} % confidence"
        lines.append(Series(said, epsilons, profile.lower(epsilons)))
    figure = Figure(
        "δ against ε",
        "Lower is more private: the least δ for which the release is (ε, δ)-differentially private.",
        Axis("ε"),
        Axis("δ", log=True, low=_LEAST, high=1.0),
        tuple(lines),
    )
    return [Drawn(laid_out(figure), titled=False)]


@blocks_of.register
def _(tracing: Tracing) -> Sequence[Block]:
    verdict = judge_tracing(tracing)
    pairs = [
        ("named", f"{tracing.traced:,} of {tracing.scores.size:,} targets"),
        ("attack", f"{tracing.attack}, threshold {tracing.rule}"),
        ("allowed for each", f"{tracing.delta:g} false positives"),
        ("attributes", f"{tracing.attributes:,}"),
        ("reference people", f"{tracing.reference_people:,}"),
    ]
    answer = Answer(verdict.kind, verdict.word.capitalize(), verdict.sentence)
    notes = [Bullets(tracing.notes)] if tracing.notes else []
    return [Box(answer, pairs), *notes]


@figures_of.register
def _(tracing: Tracing) -> Sequence[Block]:
    return [Drawn(laid_out(one)) for one in tracing_figures(tracing)]
