"""Studies: how much noise is enough. Many protections measured on one prepared system."""

from tellall.study.calibrate import calibrate
from tellall.study.calibration import Calibration, Evaluation
from tellall.study.families import Family, as_family
from tellall.study.measurement import Measurement, Outcome
from tellall.study.prepared import Prepared
from tellall.study.sweep import sweep
from tellall.study.sweep_table import Sweep

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
