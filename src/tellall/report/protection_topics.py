"""Why each protection matters: what it does against the attacks, and what it promises."""

from __future__ import annotations

__all__ = [
    "WHY",
]

WHY = {
    "CellKey": "The same cell has the same noise wherever it is shown, so averaging does not take it off; "
    "whoever learns the key does. No differential privacy is promised.",
    "Combined": "It keeps anybody from reconstructing nearly all rows with the least noise known for that. "
    "Where it samples, those in the sample are exposed: no differential privacy is promised.",
    "Complement": "Gross errors that look like counts: LP decoding shrugs them off where least squares "
    "does not. It tests attacks, and is no protection.",
    "Corruption": "A few gross errors spoil least squares, and LP decoding sees through them. It tests "
    "attacks, and is no protection.",
    "DiscreteGaussian": "Normal noise in whole numbers: counts stay counts. It promises an (ε, δ) where the "
    "sensitivity of the statistic is known.",
    "Exact": "Nothing is done: what everything else is compared with.",
    "Gaussian": "Independent noise is what reconstruction cannot undo once it is about √n in a value. It "
    "promises an (ε, δ) where the sensitivity of the statistic is known.",
    "Geometric": "Laplace noise in whole numbers: counts stay counts. It promises a pure ε where the "
    "sensitivity of the statistic is known.",
    "Laplace": "Independent noise with heavier tails than the normal law's. It promises a pure ε where the "
    "sensitivity of the statistic is known.",
    "Rounding": "Each value looks vague, but together many rounded values pin people down: its error is "
    "bounded. No differential privacy is promised.",
    "SuLQ": "The least normal noise that keeps the (ε, δ) you name, one row replaced: a promise first, and "
    "the attack shows what it buys.",
    "Subsample": "Whoever is left out is safe, and whoever is in the sample is exposed as without it. No "
    "differential privacy is promised.",
    "Sum": "Several laws one after the other; variances and bounds add up.",
    "Suppression": "Small cells are what rules forbid, and totals and other tables often give them back. No "
    "differential privacy is promised.",
    "Swapping": "Public columns and totals stay right while some people carry somebody else's secret. No "
    "differential privacy is promised.",
    "Trivial": "It gives nothing away and says nothing: what useful releases are compared with.",
    "TruncatedNormal": "Its error never passes its bound, which helps the attacker as much as the reader: at "
    "±0.05 scales its noise is 34.6 times smaller than the scale. No differential privacy is promised.",
    "WalshNoise": "Noise once on what tables share, so that they agree and cells are more exact for the same "
    "promise. It promises an ε, or an (ε, δ).",
}
