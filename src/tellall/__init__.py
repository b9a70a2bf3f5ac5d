"""tellall tells people who publish statistics what those statistics give away about the people in them.

>>> import tellall as ta
>>> people = ta.datasets.load("breast_cancer")
>>> release = ta.publish(people, ta.Marginals(4), protect=ta.Rounding(5))
>>> attack = ta.reconstruct(release, people.public)
>>> bool((attack.guess == people.secret).mean() > 0.9)
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tellall import datasets
from tellall.attacks.reconstruct import Reconstruction, reconstruct
from tellall.audit import Audit, Finding, Plan, Skipped, audit
from tellall.data import Dataset, Public
from tellall.errors import CannotLinearise, InvalidInput, SolverFailed, TellallError
from tellall.evidence import Evidence
from tellall.io import read
from tellall.noise import Gaussian, Laplace, Rounding
from tellall.protections import Suppression
from tellall.release import Release, linearise, publish
from tellall.risk import Risk, score
from tellall.statistics import Marginals
from tellall.version import __version__ as __version__

if TYPE_CHECKING:
    from tellall import privacy
    from tellall.attacks.blackbox import estimate_profile
    from tellall.attacks.mechanism import MechanismAudit, audit_mechanism
    from tellall.privacy import PrivacyProfile
    from tellall.private_ols import (
        GaussianLeastSquares,
        ProfileTable,
        ProjectedLeastSquares,
        SketchedLeastSquares,
        profile_table,
        standard_methods,
    )

__all__ = [
    "Audit",
    "CannotLinearise",
    "Dataset",
    "Evidence",
    "Finding",
    "Gaussian",
    "GaussianLeastSquares",
    "InvalidInput",
    "Laplace",
    "Marginals",
    "MechanismAudit",
    "Plan",
    "PrivacyProfile",
    "ProfileTable",
    "ProjectedLeastSquares",
    "Public",
    "Reconstruction",
    "Release",
    "Risk",
    "Rounding",
    "SketchedLeastSquares",
    "Skipped",
    "SolverFailed",
    "Suppression",
    "TellallError",
    "audit",
    "audit_mechanism",
    "datasets",
    "estimate_profile",
    "linearise",
    "privacy",
    "profile_table",
    "publish",
    "read",
    "reconstruct",
    "score",
    "standard_methods",
]

# imported when first used, so that `import tellall` stays quick
_ON_DEMAND = {
    "GaussianLeastSquares": "tellall.private_ols",
    "MechanismAudit": "tellall.attacks.mechanism",
    "PrivacyProfile": "tellall.privacy",
    "ProfileTable": "tellall.private_ols",
    "ProjectedLeastSquares": "tellall.private_ols",
    "SketchedLeastSquares": "tellall.private_ols",
    "audit_mechanism": "tellall.attacks.mechanism",
    "estimate_profile": "tellall.attacks.blackbox",
    "profile_table": "tellall.private_ols",
    "standard_methods": "tellall.private_ols",
}


def __getattr__(name: str) -> Any:
    if name == "privacy":
        return import_module("tellall.privacy")
    if name in _ON_DEMAND:
        return getattr(import_module(_ON_DEMAND[name]), name)
    raise AttributeError(f"module 'tellall' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
