"""robust-tracing: its numbered objects, in the paper's order."""

from __future__ import annotations

from tellall.papers.claims import Numbered

__all__ = [
    "INDEX",
]

# fmt: off
INDEX: tuple[Numbered | str, ...] = (
    Numbered("Thm. 1", "informal: outsiders named at most δ, some member at least 1 − δ, from d ~ n² "
        "log(1/δ)"),
    "Sec. I-B",
    Numbered("Fig. 1", "the attack: ⟨y − z, q⟩ > √(8 d ln(1/δ))"),
    Numbered("Prop. 2", "soundness of Figure 1"),
    Numbered("Remark 3", "soundness needs nothing of the release"),
    Numbered("Def. 4", "accuracy: the bias of every mean is at most α"),
    Numbered("Lemma 5", "E[f(x) Σ(x_i − p)] = g′(p)(1 − p²)"),
    Numbered("Lemma 2.11", "cited only: Lemma 5 in another scale", "a number of another paper"),
    Numbered("Def. 6", "(α, γ)-strong distributions of means"),
    Numbered("Lemma 7", "hence E[f(x) Σ(x_i − z)] ≥ γ"),
    Numbered("Def. 8", "symmetric: a function of the mean", "a definition that is used as it is"),
    Numbered("Lemma 9", "in a symmetric function every person has an equal part"),
    Numbered("Prop. 10", "the expected score: γ for all members together, γ/n for each if symmetric"),
    Numbered("Lemma 11", "the score is rarely below half of that"),
    Numbered("Prop. 12", "completeness: somebody is traced"),
    Numbered("Prop. 13", "completeness, symmetric: everybody is traced"),
    "Sec. II-D",
    Numbered("Lemma 14", "integration by parts of Definition 6"),
    Numbered("Cor. 15", "γ of a density on [−1, 1]"),
    Numbered("Cor. 16", "γ of a density on [a, b]"),
    "Sec. III",
    Numbered("Thm. 17", "informal: fewer statistics and more people with a reference pool"),
    Numbered("Fig. 2", "the attack with a pool"),
    Numbered("Prop. 18", "its soundness"),
    Numbered("Def. 19", "strong accuracy"),
    Numbered("Lemma 20", "its expected score"),
    Numbered("Prop. 21", "the sum of scores is rarely below γd/2"),
    Numbered("Lemma 22", "Σ E[X_i Y]² ≤ E[Y²]"),
    Numbered("Lemma 23", "so expected scores cannot all be large"),
    Numbered("Prop. 24", "nor can the scores: norm at most 2ηd"),
    Numbered("Lemma 25", "a large sum with a small norm has many large terms"),
    Numbered("Prop. 26", "completeness with a pool: γ²/(256α²) people are traced"),
    "Sec. IV",
    Numbered("Def. 27", "robustly strong"),
    Numbered("Prop. 28", "completeness where means are accurate on average only"),
    Numbered("Fig. 3", "the attack on real-valued data"),
    Numbered("Prop. 29", "its soundness"),
    Numbered("Def. 30", "strong for Gaussians"),
    Numbered("Prop. 31", "its completeness"),
)
# fmt: on
