"""tellall tells people who publish statistics what those statistics give away about the people in them.

>>> import tellall as ta
>>> people = ta.datasets.load("breast_cancer")
>>> release = ta.publish(people, ta.Marginals(4), protect=ta.Rounding(5))
>>> attack = ta.reconstruct(release, people.public)
>>> bool((attack.guess == people.secret).mean() > 0.9)
True
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tellall.version import __version__ as __version__

if TYPE_CHECKING:
    from tellall import bounds, datasets, genomics, privacy
    from tellall.attacks.accuracy import Accuracy, accuracy
    from tellall.attacks.blackbox import estimate_profile
    from tellall.attacks.mechanism import MechanismAudit, audit_mechanism
    from tellall.attacks.reals import RealReconstruction
    from tellall.attacks.reconstruct import Reconstruction, reconstruct
    from tellall.attacks.release_limit import ReleaseLimit, release_limit
    from tellall.attacks.release_plan import ReleasePlan, release_plan
    from tellall.attacks.rows import reconstruct_rows
    from tellall.attacks.strength import TracingPlan, robust_strength, strength, tracing_plan
    from tellall.attacks.trace import Tracing, trace
    from tellall.attacks.tracing_risk import Disproof, TracingRisk, disprove_epsilon
    from tellall.audit import Audit, Finding, Plan, Skipped, audit
    from tellall.cells import Cells, Stored, count_cells, scan
    from tellall.data import Dataset, Public
    from tellall.errors import (
        CannotLinearise,
        InvalidInput,
        NoAnswer,
        SolverFailed,
        TellallError,
        TooLittlePower,
        WorkLost,
    )
    from tellall.evidence import Evidence
    from tellall.foreign import read_coefficients, release_from_fits
    from tellall.io import read
    from tellall.noise import (
        Corruption,
        DiscreteGaussian,
        Gaussian,
        Geometric,
        Laplace,
        Rounding,
        TruncatedNormal,
    )
    from tellall.privacy import PrivacyProfile
    from tellall.private_ols import (
        GaussianLeastSquares,
        ProfileTable,
        ProjectedLeastSquares,
        SketchedLeastSquares,
        profile_table,
        standard_methods,
    )
    from tellall.protections import (
        CellKey,
        Combined,
        Complement,
        Guarantee,
        Subsample,
        SuLQ,
        Suppression,
        Swapping,
        Trivial,
        WalshNoise,
        guarantee_of,
    )
    from tellall.release import Release, linearise, publish
    from tellall.risk import RealRisk, Risk, score
    from tellall.statistics import ErrorRates, Estimator, Marginals, Means, Predicates, SubsetCounts, Tables
    from tellall.statistics.boolean import is_degenerate, multilinear, truth_table
    from tellall.study.blocks import calibrate_blocks, sweep_blocks
    from tellall.study.calibrate import calibrate
    from tellall.study.calibration import Calibration
    from tellall.study.sweep import sweep
    from tellall.study.sweep_table import Sweep
    from tellall.study.swept import BlockCalibration, BlockSweep
    from tellall.utility import CoefficientUtility, Utility, coefficient_utility, utility

__all__ = [
    "Accuracy",
    "Audit",
    "BlockCalibration",
    "BlockSweep",
    "Calibration",
    "CannotLinearise",
    "CellKey",
    "Cells",
    "CoefficientUtility",
    "Combined",
    "Complement",
    "Corruption",
    "Dataset",
    "DiscreteGaussian",
    "Disproof",
    "ErrorRates",
    "Estimator",
    "Evidence",
    "Finding",
    "Gaussian",
    "GaussianLeastSquares",
    "Geometric",
    "Guarantee",
    "InvalidInput",
    "Laplace",
    "Marginals",
    "Means",
    "MechanismAudit",
    "NoAnswer",
    "Plan",
    "Predicates",
    "PrivacyProfile",
    "ProfileTable",
    "ProjectedLeastSquares",
    "Public",
    "RealReconstruction",
    "RealRisk",
    "Reconstruction",
    "Release",
    "ReleaseLimit",
    "ReleasePlan",
    "Risk",
    "Rounding",
    "SketchedLeastSquares",
    "Skipped",
    "SolverFailed",
    "Stored",
    "SuLQ",
    "Subsample",
    "SubsetCounts",
    "Suppression",
    "Swapping",
    "Sweep",
    "Tables",
    "TellallError",
    "TooLittlePower",
    "Tracing",
    "TracingPlan",
    "TracingRisk",
    "Trivial",
    "TruncatedNormal",
    "Utility",
    "WalshNoise",
    "WorkLost",
    "accuracy",
    "audit",
    "audit_mechanism",
    "bounds",
    "calibrate",
    "calibrate_blocks",
    "coefficient_utility",
    "count_cells",
    "datasets",
    "disprove_epsilon",
    "estimate_profile",
    "genomics",
    "guarantee_of",
    "is_degenerate",
    "linearise",
    "multilinear",
    "privacy",
    "profile_table",
    "publish",
    "read",
    "read_coefficients",
    "reconstruct",
    "reconstruct_rows",
    "release_from_fits",
    "release_limit",
    "release_plan",
    "robust_strength",
    "scan",
    "score",
    "standard_methods",
    "strength",
    "sweep",
    "sweep_blocks",
    "trace",
    "tracing_plan",
    "truth_table",
    "utility",
]

# where each name lives: it is imported when it is first used, so that `import tellall` is quick
_HOMES = {
    "tellall.attacks.accuracy": "Accuracy accuracy",
    "tellall.attacks.blackbox": "estimate_profile",
    "tellall.attacks.mechanism": "MechanismAudit audit_mechanism",
    "tellall.attacks.reals": "RealReconstruction",
    "tellall.attacks.reconstruct": "Reconstruction reconstruct",
    "tellall.attacks.release_limit": "ReleaseLimit release_limit",
    "tellall.attacks.release_plan": "ReleasePlan release_plan",
    "tellall.attacks.rows": "reconstruct_rows",
    "tellall.attacks.strength": "TracingPlan robust_strength strength tracing_plan",
    "tellall.attacks.trace": "Tracing trace",
    "tellall.attacks.tracing_risk": "Disproof TracingRisk disprove_epsilon",
    "tellall.audit": "Audit Finding Plan Skipped audit",
    "tellall.cells": "Cells Stored count_cells scan",
    "tellall.data": "Dataset Public",
    "tellall.errors": (
        "CannotLinearise InvalidInput NoAnswer SolverFailed TellallError TooLittlePower WorkLost"
    ),
    "tellall.evidence": "Evidence",
    "tellall.foreign": "read_coefficients release_from_fits",
    "tellall.io": "read",
    "tellall.noise": "Corruption DiscreteGaussian Gaussian Geometric Laplace Rounding TruncatedNormal",
    "tellall.privacy": "PrivacyProfile",
    "tellall.private_ols": (
        "GaussianLeastSquares ProfileTable ProjectedLeastSquares SketchedLeastSquares profile_table "
        "standard_methods"
    ),
    "tellall.protections": (
        "CellKey Combined Complement Guarantee SuLQ Subsample Suppression Swapping Trivial WalshNoise "
        "guarantee_of"
    ),
    "tellall.release": "Release linearise publish",
    "tellall.risk": "RealRisk Risk score",
    "tellall.statistics": "ErrorRates Estimator Marginals Means Predicates SubsetCounts Tables",
    "tellall.statistics.boolean": "is_degenerate multilinear truth_table",
    "tellall.study.blocks": "calibrate_blocks sweep_blocks",
    "tellall.study.calibrate": "calibrate",
    "tellall.study.calibration": "Calibration",
    "tellall.study.sweep": "sweep",
    "tellall.study.sweep_table": "Sweep",
    "tellall.study.swept": "BlockCalibration BlockSweep",
    "tellall.utility": "CoefficientUtility Utility coefficient_utility utility",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}


class _Front(ModuleType):
    """The package, whose names are imported when they are first used."""

    def __getattr__(self, name: str) -> Any:
        if name in _HOME_OF:
            found = getattr(import_module(_HOME_OF[name]), name)
        elif name.isidentifier() and name[0] != "_" and find_spec(f"tellall.{name}"):
            found = import_module(f"tellall.{name}")
        else:
            raise AttributeError(f"module 'tellall' has no attribute '{name}'", name=name, obj=self)
        setattr(self, name, found)
        return found

    def __setattr__(self, name: str, value: object) -> None:
        # the import system puts every room it loads on the package: not in place of the verb of that name
        if name in _HOME_OF and isinstance(value, ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})


sys.modules[__name__].__class__ = _Front
