"""tellall tells people who publish statistics what those statistics give away about the people in them.

>>> import tellall as ta
>>> people = ta.datasets.load("breast_cancer")
>>> release = ta.publish(people, ta.Marginals(4), protect=ta.Rounding(5))
>>> attack = ta.reconstruct(release, people.public)
>>> bool((attack.guess == people.secret).mean() > 0.9)
True
"""

from __future__ import annotations

from tellall import datasets
from tellall.attacks.reconstruct import Reconstruction, reconstruct
from tellall.attacks.trace import Tracing, trace
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
    "CannotLinearise",
    "Dataset",
    "Evidence",
    "Gaussian",
    "InvalidInput",
    "Laplace",
    "Marginals",
    "Means",
    "Public",
    "Reconstruction",
    "Release",
    "Risk",
    "Rounding",
    "SolverFailed",
    "Suppression",
    "TellallError",
    "Tracing",
    "datasets",
    "linearise",
    "publish",
    "read",
    "reconstruct",
    "score",
    "trace",
]
