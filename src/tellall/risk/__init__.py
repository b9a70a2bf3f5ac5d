"""Risk: what an attack found, beyond what the strongest baseline would have guessed."""

from tellall.risk.categories import LEVELS, Risk, interval_over_draws
from tellall.risk.reals import RealRisk
from tellall.risk.scoring import score
from tellall.risk.tally import Tally, Total, total

__all__ = ["LEVELS", "RealRisk", "Risk", "Tally", "Total", "interval_over_draws", "score", "total"]
