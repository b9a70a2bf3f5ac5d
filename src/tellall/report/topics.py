"""What the words on a page mean: what it is, why it matters, what to do, where to read."""

from __future__ import annotations

import inspect
from dataclasses import asdict, dataclass

from tellall.core.errors import invalid
from tellall.release import catalogue
from tellall.report.protection_topics import WHY
from tellall.report.word_topics import SEE, WORDS

__all__ = [
    "TOPICS",
    "Topic",
    "explain",
    "topic_names",
]


@dataclass(frozen=True)
class Topic:
    """A word and what to know about it."""

    name: str
    what: str
    why: str
    fix: str
    read: str

    def as_json(self) -> dict[str, str]:
        """The topic as plain data."""
        return asdict(self)


_LINEAR = (
    "Kasiviswanathan, Rudelson, Smith: The power of linear reconstruction attacks (SODA 2013); "
    "Dinur, Nissim: Revealing information while preserving privacy (PODS 2003)."
)
_TABLES = (
    "Kasiviswanathan, Rudelson, Smith, Ullman: The price of privately releasing contingency tables and the "
    "spectra of random matrices with correlated rows (STOC 2010)."
)

TOPICS = (
    Topic(
        "reconstruction",
        "Every published count is an equation about people. With enough of them, whoever knows the public "
        "columns solves for everybody's secret.",
        "Small counts can all be hidden and the equations still have one solution: rules about single "
        "numbers say nothing about what the numbers give away together.",
        "Publish fewer or coarser tables, or add noise; audit again until the advantage is below the limit.",
        _LINEAR,
    ),
    Topic(
        "baseline",
        "What one would guess about a person without their own record in the release: the commoner value, "
        "a prediction from the public columns, or a model fitted to the same release made without them.",
        "A statistic may teach something about everybody, and that is what it is for. Only what it gives "
        "away beyond that is a leak about the people in it.",
        "Nothing to fix. A strong baseline means the public columns already say a lot.",
        "Dwork, Smith, Steinke, Ullman: Exposed! A survey of attacks on private data (2017).",
    ),
    Topic(
        "advantage",
        "The share of secrets guessed right less the share that the strongest baseline guesses right, with "
        "a 95 % interval from a paired bootstrap over people.",
        "Accuracy alone misleads: 90 % right is nothing where 90 % of people have the same value.",
        "The plan's limit says how much is too much. See: tellall explain verdict.",
        "Giomi et al.: A unified framework for quantifying privacy risk in synthetic data (PETS 2023).",
    ),
    Topic(
        "exposed",
        "A person is exposed at 95 % when the attack guesses them right with that confidence while no "
        "baseline was that sure.",
        "A small advantage on average can be a certainty for a few, and it is those few who are harmed.",
        "exposed_limit in the plan makes it part of the verdict. People alone in a cell come first: coarser "
        "categories for them.",
        _TABLES,
    ),
    Topic(
        "verdict",
        "pass: every interval of the advantage lies below the plan's limit. fail: one lies above it. "
        "review: the limit lies inside one, or something could not be attacked.",
        "A pipeline can stop on it (exit codes 0, 1, 3), and a steward can read why.",
        "On review, publish less, protect more, or let a person decide; more people narrow the interval.",
        "docs/audit.md of this project.",
    ),
    Topic(
        "protection",
        "What is done to the values before they are published: noise, rounding, suppression, in order.",
        "Rounding and suppression look safe number by number and are not together; noise is what works, and "
        "how much it takes depends on how much is published.",
        "The page's section on what each protection bought compares them on your own people.",
        _TABLES,
    ),
    Topic(
        "sweep",
        "Each planned statistic with nothing done, as planned, and with families of protections at several "
        "scales: what the strongest attack gains, and what the reader loses.",
        "Which of two protections is better depends on the statistic and on the people; both costs are "
        "measured on yours, with the same random numbers for every protection.",
        "tellall sweep PLAN --family Gaussian --family Laplace -o FOLDER, then look at the frontier.",
        "docs/noise.md of this project.",
    ),
    Topic(
        "calibrate",
        "The least noise of a family at which the 95 % interval of every decoder's advantage ends under the "
        "limit, found by bisection, with what it costs the reader and the (ε, δ) it corresponds to.",
        "It answers how much is enough for these people and this statistic. What stops today's attacks is no "
        "guarantee against tomorrow's.",
        "tellall calibrate PLAN --max-advantage 0.05. Where no answer is found, take a larger limit, publish "
        "less, or ask with more people: the sentence says which.",
        "docs/noise.md of this project.",
    ),
    Topic(
        "frontier",
        "The protections of a sweep that no other beats in both: less advantage for the attack, and less "
        "error for the reader. An advantage below zero counts as none.",
        "What is not on it can be replaced by something that is better in one and no worse in the other, "
        "unless the difference lies within the intervals.",
        "Choose on the frontier: first the advantage you can accept, then the least error.",
        "docs/noise.md of this project.",
    ),
    Topic(
        "guarantee",
        "The (ε, δ) of differential privacy that a protection promises, and for which neighbours: one row "
        "replaced, or one row zeroed. Rounding, suppression, swapping and sampling promise none.",
        "It holds against every attack, also those that nobody has thought of; an attack that fails proves "
        "nothing. A large ε promises next to nothing.",
        "Where you need one, start from ε (SuLQ, Laplace) and use the attack to see what it buys.",
        _TABLES,
    ),
    Topic(
        "utility",
        "What the reader loses: mean and largest error of a value, total variation and association with the "
        "secret for tables; for coefficients the error of predictions, wrong signs, and how often confidence "
        "intervals still cover.",
        "Noise that hides everybody and leaves nothing to read is easy; the point is to pay as little as "
        "possible.",
        "tellall sweep shows it against noise and against privacy.",
        "docs/noise.md of this project.",
    ),
    *(Topic(name, *said, "docs/audit.md of this project.") for name, said in WORDS.items()),
)


def topic_names() -> list[str]:
    """Every word that can be explained."""
    return [
        *(topic.name for topic in TOPICS),
        *SEE,
        *catalogue.kinds("statistic"),
        *catalogue.kinds("protection"),
    ]


def explain(name: str) -> Topic:
    """The topic of this name; a statistic or protection is explained by its own description.

    Examples
    --------
    >>> explain("Rounding").what.startswith("Rounding to a multiple")
    True
    """
    known = {topic.name: topic for topic in TOPICS}
    word = name.strip().lower()
    if SEE.get(word, word) in known:
        return known[SEE.get(word, word)]
    kinds = {**catalogue.kinds("statistic"), **catalogue.kinds("protection")}
    lower = {kind.lower(): kind for kind in kinds}
    if name.lower() in lower:
        return _of_class(lower[name.lower()], kinds[lower[name.lower()]])
    raise invalid(
        "topic", f"one of {', '.join(topic_names())}", name, catalogue.nearest(name, topic_names()).strip()
    )


def _of_class(name: str, kind: type) -> Topic:
    paragraphs = [" ".join(part.split()) for part in (inspect.getdoc(kind) or name).split("\n\n")]
    keys = ", ".join(catalogue.parameters(kind)) or "none"
    return Topic(
        name,
        paragraphs[0],
        WHY.get(name, "What it gives away depends on what else is published: an audit says."),
        f"In a plan: kind = '{name}', with the keys: {keys}.",
        f"help(tellall.{name}) in Python.",
    )
