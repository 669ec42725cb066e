"""What methods are written with: gradients, steps over batches, small algorithms on the simplex."""

from fedkin.core.ops.abreast import scan_several, side_by_side
from fedkin.core.ops.gradients import descend, full_gradient, gradient, sgd_step
from fedkin.core.ops.rows import correct, outputs, over_rows, predictions
from fedkin.core.ops.scans import (
    Batches,
    BatchSampling,
    Scanner,
    ScanStep,
    home_step,
    over_frozen,
    scan,
)
from fedkin.core.ops.simplex import simplex_step
from fedkin.core.protected.sealed import at_home

__all__ = [
    "BatchSampling",
    "Batches",
    "ScanStep",
    "Scanner",
    "at_home",
    "correct",
    "descend",
    "full_gradient",
    "gradient",
    "home_step",
    "outputs",
    "over_frozen",
    "over_rows",
    "predictions",
    "scan",
    "scan_several",
    "sgd_step",
    "side_by_side",
    "simplex_step",
]
