"""The words of an audit's tables: what each means, why it matters, what to do."""

from __future__ import annotations

__all__ = [
    "SEE",
    "WORDS",
]

SEE = {"pass": "verdict", "review": "verdict", "fail": "verdict"}  # words explained under another

WORDS = {
    "right": (
        "The share of all people whose secret the attack guesses right.",
        "It says little alone: 90 % right is nothing where 90 % of people have the same value.",
        "Look at the advantage, which is what remains beyond the strongest baseline.",
    ),
    "majority": (
        "The simplest baseline: guess for everybody the value that most people have.",
        "Whoever knows nothing of a person but the rate of the secret does as well.",
        "Nothing to fix. The advantage is counted over the strongest baseline, this one or another.",
    ),
    "public": (
        "A baseline: a prediction of each person's secret from the public columns, learned from others.",
        "Where it is strong the public columns say much about the secret, whatever is published.",
        "Nothing to fix by protecting the release; the plan's public columns are what an attacker may know.",
    ),
    "population": (
        "A baseline: a model fitted to the same release made without the person.",
        "It is what the release teaches about everybody, the people outside the data included. To learn that "
        "is what statistics are for, so it does not count as a leak.",
        "Nothing to fix. Where it is missing the statistic has no model of anybody else.",
    ),
    "named": (
        "People who are said with 95 % confidence to have the secret, and how many of them do; of a secret "
        "with several values, said to have any of them.",
        "An attacker acts on names, not on averages; and a name that is wrong harms somebody too.",
        "Compare with exposed, which leaves out those of whom a baseline was as sure.",
    ),
    "proved": (
        "People with the same secret in every way to fill in the data that fits the release.",
        "No guess is needed about them: the published values leave no other possibility.",
        "Noise without a bound proves nothing; coarser or fewer tables prove less.",
    ),
    "foreseen": (
        "What is reckoned before any attack, from the public columns, the noise and the rate of the secret: "
        "how many unknowns can be solved for, and how many secrets would be guessed right.",
        "It takes secrets as drawn at random. Where public columns predict them, an attack can find more.",
        "Use it to choose before publishing; the verdict goes by what the attack found.",
    ),
    "promised": (
        "The differential privacy that the protections of a release declare, or nothing.",
        "A promise holds against every attack, what was measured only against those tried.",
        "See: tellall explain guarantee.",
    ),
    "bought": (
        "Points of advantage that the last protection of a row took away, compared with the row before.",
        "A protection that buys nothing costs the reader and protects nobody.",
        "Leave out what buys nothing, unless a rule asks for it; put the effort where it buys most.",
    ),
}
