"""What methods are written with: gradients, steps over batches, small algorithms on the simplex."""

from fedkin.core.ops.gradients import descend, full_gradient, gradient, sgd_step
from fedkin.core.ops.parallel_scans import scan_several, side_by_side
from fedkin.core.ops.rows import correct, outputs, over_rows, predictions
from fedkin.core.ops.scans import (
    Batches,
    BatchSampling,
    Scanner,
    ScanStep,
    local_only_step,
    over_frozen,
    scan,
)
from fedkin.core.ops.simplex import simplex_step
from fedkin.core.protected.sealed import local_only

__all__ = [
    "BatchSampling",
    "Batches",
    "ScanStep",
    "Scanner",
    "correct",
    "descend",
    "full_gradient",
    "gradient",
    "local_only",
    "local_only_step",
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
