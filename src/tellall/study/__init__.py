"""Studies: how much noise is enough. Many protections measured on one prepared system."""

from tellall.study.calibrate import Calibration, Evaluation, calibrate
from tellall.study.families import Family, as_family
from tellall.study.measurement import Measurement, Outcome
from tellall.study.prepared import Prepared
from tellall.study.sweep import Sweep, sweep

__all__ = [
    "Calibration",
    "Evaluation",
    "Family",
    "Measurement",
    "Outcome",
    "Prepared",
    "Sweep",
    "as_family",
    "calibrate",
    "sweep",
]
