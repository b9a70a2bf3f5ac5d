"""The public names of tellall: lazy_loader reads this list, and so do type checkers."""

from . import testing as testing
from .attack.blackbox.estimate import estimate_profile as estimate_profile
from .attack.blackbox.mechanism import MechanismAudit as MechanismAudit
from .attack.blackbox.mechanism import audit_mechanism as audit_mechanism
from .attack.reconstruct.attack import Reconstruction as Reconstruction
from .attack.reconstruct.attack import reconstruct as reconstruct
from .attack.reconstruct.rows import reconstruct_rows as reconstruct_rows
from .attack.trace.limit import ReleaseLimit as ReleaseLimit
from .attack.trace.limit import release_limit as release_limit
from .attack.trace.plan import (
    Accuracy as Accuracy,
)
from .attack.trace.plan import (
    ReleasePlan as ReleasePlan,
)
from .attack.trace.plan import (
    accuracy as accuracy,
)
from .attack.trace.plan import (
    release_plan as release_plan,
)
from .attack.trace.risk import (
    Disproof as Disproof,
)
from .attack.trace.risk import (
    TracingRisk as TracingRisk,
)
from .attack.trace.risk import (
    disprove_epsilon as disprove_epsilon,
)
from .attack.trace.strength import (
    TracingPlan as TracingPlan,
)
from .attack.trace.strength import (
    robust_strength as robust_strength,
)
from .attack.trace.strength import (
    strength as strength,
)
from .attack.trace.strength import (
    tracing_plan as tracing_plan,
)
from .attack.trace.trace import Tracing as Tracing
from .attack.trace.trace import trace as trace
from .core.errors import (
    CannotLinearise as CannotLinearise,
)
from .core.errors import (
    InvalidInput as InvalidInput,
)
from .core.errors import (
    NoAnswer as NoAnswer,
)
from .core.errors import (
    SolverFailed as SolverFailed,
)
from .core.errors import (
    TellallError as TellallError,
)
from .core.errors import (
    TooLittlePower as TooLittlePower,
)
from .core.errors import (
    WorkLost as WorkLost,
)
from .experiment.audit import audit as audit
from .experiment.calibrate import Calibration as Calibration
from .experiment.calibrate import calibrate as calibrate
from .experiment.findings import Audit as Audit
from .experiment.findings import Finding as Finding
from .experiment.findings import Skipped as Skipped
from .experiment.plan import Plan as Plan
from .experiment.risk import Risk as Risk
from .experiment.risk import score as score
from .experiment.study_areas import (
    AreaCalibration as AreaCalibration,
)
from .experiment.study_areas import (
    AreaSweep as AreaSweep,
)
from .experiment.study_areas import (
    calibrate_areas as calibrate_areas,
)
from .experiment.study_areas import (
    sweep_areas as sweep_areas,
)
from .experiment.sweep import Sweep as Sweep
from .experiment.sweep import sweep as sweep
from .experiment.utility import (
    CoefficientUtility as CoefficientUtility,
)
from .experiment.utility import (
    Utility as Utility,
)
from .experiment.utility import (
    coefficient_utility as coefficient_utility,
)
from .experiment.utility import (
    utility as utility,
)
from .people import datasets as datasets
from .people import genomics as genomics
from .people.counting.count import Cells as Cells
from .people.counting.count import count_cells as count_cells
from .people.counting.stored import Stored as Stored
from .people.counting.stored import scan as scan
from .people.dataset import Dataset as Dataset
from .people.dataset import Public as Public
from .people.readers import read as read
from .promise import bounds as bounds
from .promise import privacy as privacy
from .promise.least_squares.noisy import GaussianLeastSquares as GaussianLeastSquares
from .promise.least_squares.projected import ProjectedLeastSquares as ProjectedLeastSquares
from .promise.least_squares.sketched import SketchedLeastSquares as SketchedLeastSquares
from .promise.least_squares.table import (
    ProfileTable as ProfileTable,
)
from .promise.least_squares.table import (
    profile_table as profile_table,
)
from .promise.least_squares.table import (
    standard_methods as standard_methods,
)
from .release.equations import Equations as Equations
from .release.equations import Evidence as Evidence
from .release.foreign import read_coefficients as read_coefficients
from .release.foreign import release_from_fits as release_from_fits
from .release.linearise import linearise as linearise
from .release.profile import PrivacyProfile as PrivacyProfile
from .release.protections.additive import (
    Gaussian as Gaussian,
)
from .release.protections.additive import (
    Laplace as Laplace,
)
from .release.protections.additive import (
    TruncatedNormal as TruncatedNormal,
)
from .release.protections.calibrated import (
    Combined as Combined,
)
from .release.protections.calibrated import (
    SuLQ as SuLQ,
)
from .release.protections.calibrated import (
    Trivial as Trivial,
)
from .release.protections.calibrated import (
    WalshNoise as WalshNoise,
)
from .release.protections.discrete import DiscreteGaussian as DiscreteGaussian
from .release.protections.discrete import Geometric as Geometric
from .release.protections.guarantee import Guarantee as Guarantee
from .release.protections.guarantee import guarantee_of as guarantee_of
from .release.protections.keyed import CellKey as CellKey
from .release.protections.keyed import Complement as Complement
from .release.protections.law import Unknown as Unknown
from .release.protections.mixture import Corruption as Corruption
from .release.protections.protection import Protection as Protection
from .release.protections.records import Subsample as Subsample
from .release.protections.records import Swapping as Swapping
from .release.protections.rounding import Rounding as Rounding
from .release.protections.suppression import Suppression as Suppression
from .release.release import Release as Release
from .release.release import publish as publish
from .release.statistics.base import Statistic as Statistic
from .release.statistics.boolean import (
    is_degenerate as is_degenerate,
)
from .release.statistics.boolean import (
    multilinear as multilinear,
)
from .release.statistics.boolean import (
    truth_table as truth_table,
)
from .release.statistics.error_rates import ErrorRates as ErrorRates
from .release.statistics.estimators import Estimator as Estimator
from .release.statistics.marginals import Marginals as Marginals
from .release.statistics.means import Means as Means
from .release.statistics.predicates import Predicates as Predicates
from .release.statistics.subset_counts import SubsetCounts as SubsetCounts
from .release.statistics.tables import Tables as Tables

__version__: str
