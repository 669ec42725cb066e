"""How good a model is on a client's samples: steps through them like training's, so that they are
compiled like those.

A model whose rows are not each other's affair is given blocks of one size, the last one filled up
with rows that do not count; any other model, and any view that is not just a model's parameters, is
given the rows as they are.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.model import Batch, Model
from fedkin.core.ops import Batches, Scanner, ScanStep, correct, scan
from fedkin.core.tree import Tree, dtype_of, named_leaves

Predict = Callable[[Model, Tree, Tensor], Tensor]
Take = Callable[[Tensor], tuple[Tensor, Tensor]]

LARGE = 1024  # rows that are gathered at once
# up to FEW rows go in blocks of SMALL, more of them in blocks of BLOCK: two graphs
FEW, SMALL, BLOCK = (64, 16, 128)


class Evaluation(NamedTuple):
    """What a client tells of an evaluation; all of it is empty of work that is none."""

    # view → split → (loss, accuracy)
    scores: dict[str, dict[str, tuple[float, float]]] = {}  # noqa: RUF012 (read only)
    # by name, what the method says of the client's state
    notes: dict[str, Any] = {}  # noqa: RUF012 (read only)
    # view → split → name → value
    measures: dict[str, dict[str, dict[str, float]]] = {}  # noqa: RUF012 (read only)


def score(
    scanner: Scanner, model: Model, view: Tree, predict: Predict, rows: Tensor, take: Take
) -> tuple[float, float]:
    """(mean loss, accuracy) of a view on ``rows`` [n], whose samples and labels ``take`` gives; nan
    where n is 0.

    Args:
        scanner: What scans the batches.
        model: The client's architecture.
        view: Parameters, or what the method predicts with.
        predict: The method's.
        rows: Row numbers.
        take: Rows → (x, y).

    Returns:
        Loss in nats or the labels' units, accuracy in 0..1 (nan for regression).
    """
    if len(rows) == 0:
        return float("nan"), float("nan")
    if model.pads and _facts(view) == _facts(model.initial):
        loss, hits = scan(grading(predict), (0.0, 0.0), _blocks(scanner, model, rows, take), view)
    else:
        loss, hits = _plain(model, view, predict, rows, take)
    return float(loss) / len(rows), float(hits) / len(rows)


def grade(model: Model, predictions: Tensor, y: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """(summed loss, number right) of the rows whose weight is not 0, in double precision; nan right
    for regression.

    Args:
        model: Its family says what predictions are.
        predictions: Log-probabilities [b, classes], or means [b, 1].
        y: Labels [b].
        weight: [b], 0 for padding.

    Returns:
        Two 0-d tensors.

    Raises:
        FedkinError: Labels have more than one axis.
    """
    if model.family.classes:
        loss = -predictions.gather(1, y[:, None])[:, 0]
        hits = correct(predictions, y).to(torch.float64)
    else:
        loss = model.family.unit * model.family.nll_of_mean(predictions, y)
        hits = torch.full_like(loss, float("nan"), dtype=torch.float64)
    if loss.shape != weight.shape:
        raise FedkinError(f"a sample has one label, not {list(y.shape[1:])} of them")
    real = weight > 0
    return torch.where(real, loss, 0).sum(dtype=torch.float64), torch.where(real, hits, 0).sum()


@cache
def grading(predict: Predict) -> ScanStep:
    """A step that adds a batch's grades; one object for one ``predict``, by which graphs are found
    again.

    Args:
        predict: A method's.

    Returns:
        For ``scan``, from (0.0, 0.0).
    """

    def step(
        model: Model, sums: tuple[Tensor, Tensor], batch: Batch, view: Tree
    ) -> tuple[Tensor, Tensor]:
        loss, hits = grade(model, predict(model, view, batch.x), batch.y, batch.weight)
        return sums[0] + loss, sums[1] + hits

    return step


def parts(rows: Tensor) -> Iterator[Tensor]:
    """Rows, as many as are gathered at once.

    Args:
        rows: [n] row numbers.

    Yields:
        At most LARGE of them.
    """
    yield from (rows[first : first + LARGE] for first in range(0, len(rows), LARGE))


def _plain(
    model: Model, view: Tree, predict: Predict, rows: Tensor, take: Take
) -> tuple[float, float]:
    loss, hits = 0.0, 0.0
    with torch.inference_mode():
        for part in parts(rows):
            x, y = take(part)
            sums = grade(model, predict(model, view, x), y, torch.ones(len(part)))
            loss, hits = loss + float(sums[0]), hits + float(sums[1])
    return loss, hits


def _blocks(scanner: Scanner, model: Model, rows: Tensor, take: Take) -> Batches:
    size = SMALL if len(rows) <= FEW else BLOCK
    blocks = -(-len(rows) // size)
    place = torch.arange(blocks * size).view(blocks, size)
    index, weight = (
        rows[place.clamp_max(len(rows) - 1)],
        (place < len(rows)).to(dtype_of(model.initial)),
    )

    def gather(first: int, last: int) -> Tree:
        return Batch(*take(index[first:last]), weight[first:last])

    return Batches(scanner, model, blocks, gather, chunk=max(1, LARGE // size))


def _facts(tree: Tree) -> list[tuple[str, Any, Any]]:
    """A number among the leaves is no tensor of any shape: who predicts by it may count with it."""
    return [
        (path, getattr(leaf, "shape", None), getattr(leaf, "dtype", None))
        for path, leaf in named_leaves(tree)
    ]


def each_view(views: dict[str, Tree], of: Callable[[Tree], Any]) -> dict[str, Any]:
    """What is found for each view. Two views may be one model, which is looked at once.

    Args:
        views: {view: parameters, or what the method predicts with}.
        of: view → what is found for it.

    Returns:
        {view: what was found}.
    """
    results: dict[int, Any] = {}
    for view in views.values():
        if id(view) not in results:
            results[id(view)] = of(view)
    return {name: results[id(view)] for name, view in views.items()}
