"""Several scans from one start, side by side: one for each choice of a step's constants."""

from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from fedkin.core.errors import FedkinError, named_line
from fedkin.core.model import Model
from fedkin.core.ops.scans import Batches, ScanStep, scan
from fedkin.core.optimizers import PLAIN
from fedkin.core.protected.sealed import Uncovered
from fedkin.core.tree import Params, Tree, dtype_of, map_tree, stack

ABREAST = 8  # scans that go side by side in one step
LARGEST_STACKED = 1_000_000  # parameters of a model whose scans are stacked


def scan_several(
    step: ScanStep, carry: Params, batches: Batches, constants: Sequence[Sequence[float]]
) -> list[Params]:
    """Where ``scan`` ends from one start, for each choice of a step's constants.

    Small dense models are scanned side by side, ABREAST of them stacked along a first axis. Others,
    and steps that cannot be stacked (they draw, say), go one after the other; of those the run's
    notes say why.

    Args:
        step: As for ``scan``.
        carry: Parameters, where every scan starts.
        batches: The same for all.
        constants: One row of numbers for each scan.

    Returns:
        The last carry of each scan, in the order of ``constants``.

    Raises:
        Uncovered: Samples are protected: it goes several times through the same mini-batches.
    """
    starts = [tuple(numbers) for numbers in constants]
    if batches.protected is not None:
        raise Uncovered("it goes several times through the same mini-batches")
    if batches.optimizer == PLAIN and _stacks(carry, batches.model):
        try:
            return _in_parallel(step, carry, batches, starts)
        except FedkinError:
            raise
        except Exception as error:  # of the step of a user's model, whatever that raises stacked
            ended = _alone(step, carry, batches, starts)  # a genuine mistake raises here
            batches.runtime.say(f"scans from one start run one by one: {named_line(error)}")
            return ended
    return _alone(step, carry, batches, starts)


def _alone(
    step: ScanStep, carry: Params, batches: Batches, rows: list[tuple[float, ...]]
) -> list[Params]:
    return [scan(step, carry, batches, *numbers) for numbers in rows]


def _in_parallel(
    step: ScanStep, carry: Params, batches: Batches, rows: list[tuple[float, ...]]
) -> list[Params]:
    carries: list[Params] = []
    many = side_by_side(step)
    for first in range(0, len(rows), ABREAST):
        some = rows[first : first + ABREAST]
        full = [*some, *[some[0]] * (ABREAST - len(some))]  # one shape, one graph
        columns = [torch.tensor(column, dtype=dtype_of(carry)) for column in zip(*full)]
        ended = scan(many, stack([carry] * ABREAST), batches, *columns)
        carries += [map_tree(lambda x, at=at: x[at].clone(), ended) for at in range(len(some))]
    return carries


def _stacks(carry: Params, model: Model) -> bool:
    """Whether scans are worth stacking: no convolutions, which become slower, no statistics."""
    small = sum(leaf.numel() for leaf in carry.values()) <= LARGEST_STACKED
    return small and model.pads and all(leaf.dim() <= 2 for leaf in carry.values())


@cache
def side_by_side(step: ScanStep) -> ScanStep:
    """``step`` for stacked parameters and constants and one batch; one object for one step, by
    which graphs are found again.

    Args:
        step: Of one client, as for ``scan``.

    Returns:
        A step whose carry and constants have one more axis, in front.
    """

    def many(model: Model, carry: Tree, batch: Tree, *constants: Tensor) -> Tree:
        return torch.vmap(lambda own, *rest: step(model, own, batch, *rest))(carry, *constants)

    return many
