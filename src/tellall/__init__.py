"""tellall tells people who publish statistics what those statistics give away about the people in them.

>>> import tellall as ta
>>> people = ta.datasets.load("breast_cancer")
>>> release = ta.publish(people, ta.Marginals(4), protect=ta.Rounding(5))
>>> attack = ta.reconstruct(release, people.public)
>>> bool((attack.guess == people.secret).mean() > 0.9)
True
"""

from __future__ import annotations

from tellall import datasets, genomics
from tellall.attacks.accuracy import Accuracy, accuracy
from tellall.attacks.reconstruct import Reconstruction, reconstruct
from tellall.attacks.release_limit import ReleaseLimit, release_limit
from tellall.attacks.strength import TracingPlan, robust_strength, strength, tracing_plan
from tellall.attacks.trace import Tracing, trace
from tellall.attacks.tracing_risk import Disproof, TracingRisk, disprove_epsilon
from tellall.data import Dataset, Public
from tellall.errors import CannotLinearise, InvalidInput, SolverFailed, TellallError
from tellall.evidence import Evidence
from tellall.io import read
from tellall.noise import Gaussian, Laplace, Rounding
from tellall.protections import Suppression
from tellall.release import Release, linearise, publish
from tellall.risk import Risk, score
from tellall.statistics import Marginals, Means

__version__ = "0.1.0"
__all__ = [
    "Accuracy",
    "CannotLinearise",
    "Dataset",
    "Disproof",
    "Evidence",
    "Gaussian",
    "InvalidInput",
    "Laplace",
    "Marginals",
    "Means",
    "Public",
    "Reconstruction",
    "Release",
    "ReleaseLimit",
    "Risk",
    "Rounding",
    "SolverFailed",
    "Suppression",
    "TellallError",
    "Tracing",
    "TracingPlan",
    "TracingRisk",
    "accuracy",
    "datasets",
    "disprove_epsilon",
    "genomics",
    "linearise",
    "publish",
    "read",
    "reconstruct",
    "release_limit",
    "robust_strength",
    "score",
    "strength",
    "trace",
    "tracing_plan",
]
