"""Trees: nested dicts and tuples of tensors and numbers, and the arithmetic that methods are
written with.

A model's parameters are a flat dict, name → tensor. Entries whose name begins with ``buffer:`` are
batch-norm statistics: they are averaged and sent like parameters, but gradients and distances do
not see them.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

__all__ = [
    "BUFFER",
    "Params",
    "RunningMean",
    "Tree",
    "add",
    "children",
    "dtype_of",
    "fill",
    "first_number",
    "flat",
    "form_of",
    "is_buffer",
    "leaves",
    "map_tree",
    "mix",
    "named_leaves",
    "rebuild",
    "row",
    "scale",
    "sq_dist",
    "stack",
    "sub",
    "weighted_mean",
    "zeros",
]

Tree = Any  # dict[str, Tree] | tuple[Tree, ...] | Tensor | int | float
Params = dict[str, Tensor]

BUFFER = "buffer:"


def is_buffer(name: str) -> bool:
    """True for the entries of a parameter dict that hold running statistics, not weights.

    Args:
        name: Of an entry of a parameter dict.

    Returns:
        Whether the name begins with "buffer:".
    """
    return name.startswith(BUFFER)


def children(tree: Tree) -> list[tuple[str, Tree]] | None:
    """The named children of a dict or tuple in their order, or None for a leaf.

    Args:
        tree: A node or a leaf.

    Returns:
        (name, child) of each; of a tuple, names are "0", "1", …
    """
    if isinstance(tree, dict):
        return list(tree.items())
    if isinstance(tree, tuple):
        return [(str(i), child) for i, child in enumerate(tree)]
    return None


def rebuild(like: Tree, parts: Sequence[Tree]) -> Tree:
    """A node of the same kind as ``like`` (dict, tuple or NamedTuple) with other children.

    Args:
        like: A dict, tuple or NamedTuple.
        parts: Its new children, as many as it has, in their order.

    Returns:
        The new node.
    """
    if isinstance(like, dict):
        return dict(zip(like, parts, strict=True))
    return type(like)(*parts) if hasattr(like, "_fields") else tuple(parts)


def map_tree(function: Callable[..., Any], tree: Tree, *others: Tree) -> Tree:
    """Apply ``function`` leaf by leaf to trees of the same structure.

    Args:
        function: Takes one leaf of each tree.
        tree: Whose structure the result has.
        others: Trees of the same structure.

    Returns:
        The tree of what ``function`` returned.

    Raises:
        ValueError: Another tree has other entries; names the first place.
    """
    return _mapped(function, tree, others, "")


def _mapped(function: Callable[..., Any], tree: Tree, others: Sequence[Tree], path: str) -> Tree:
    kids = children(tree)
    if kids is None:
        for other in others:
            if isinstance(other, dict | tuple):
                raise _unlike(path, tree, other)
        return function(tree, *others)
    rows = [_partners(tree, kids, other, path) for other in others]
    parts = []
    for name, child in kids:
        partners = [row[name] for row in rows]
        parts.append(_mapped(function, child, partners, f"{path}/{name}" if path else name))
    return rebuild(tree, parts)


def _partners(
    tree: Tree, kids: Sequence[tuple[str, Tree]], other: Tree, path: str
) -> dict[str, Tree]:
    """What stands in another node for each child of this one, by name."""
    theirs = other if isinstance(other, dict) else dict(children(other) or [])
    if len(theirs) != len(kids) or not all(name in theirs for name, _ in kids):
        raise _unlike(path, tree, other)
    return theirs


def _unlike(path: str, tree: Tree, other: Tree) -> ValueError:
    """Where two trees part: at the first entry that one of them lacks, or a leaf beside a node."""
    ours, theirs = (None if (of := children(one)) is None else dict(of) for one in (tree, other))
    here = path or "the root"
    if ours is None or theirs is None:
        node, leaf = ("second", "first") if ours is None else ("first", "second")
        return ValueError(
            f"two trees differ at {here}: the {node} has entries there, the {leaf} a value"
        )
    missing = [name for name in ours if name not in theirs]
    name = missing[0] if missing else next(name for name in theirs if name not in ours)
    has, lacks = ("first", "second") if missing else ("second", "first")
    return ValueError(f"two trees differ at {here}: the {has} has {name!r} there, the {lacks} not")


def form_of(tree: Tree) -> Hashable:
    """What a tree has beside its values: nodes, names, dtypes and shapes.

    Args:
        tree: Any one.

    Returns:
        Equal for two trees exactly where both encode to as many bytes of the same layout.
    """
    if isinstance(tree, Tensor):
        return tree.dtype, tree.shape
    kids = children(tree)
    if kids is None:
        return type(tree).__name__
    return isinstance(tree, dict), tuple((name, form_of(child)) for name, child in kids)


def leaves(tree: Tree) -> list[Any]:
    """The leaves, in order.

    Args:
        tree: Any one.

    Returns:
        Tensors and numbers, as ``fill`` takes them.
    """
    return [leaf for _, leaf in named_leaves(tree)]


def dtype_of(tree: Tree) -> torch.dtype:
    """The dtype of a tree of parameters: that of its first tensor.

    Args:
        tree: It has at least one tensor.

    Returns:
        float32, unless a law or a test computes in float64.
    """
    dtype: torch.dtype = leaves(tree)[0].dtype
    return dtype


def named_leaves(tree: Tree, path: str = "") -> Iterator[tuple[str, Any]]:
    """Pairs of a slash-separated path and a leaf, in order.

    Args:
        tree: Any one.
        path: Where it stands in a larger one; "" for the root.

    Yields:
        ("a/0", leaf), lazily.
    """
    kids = children(tree)
    if kids is None:
        yield path, tree
        return
    for name, child in kids:
        here = f"{path}/{name}" if path else name
        if isinstance(child, Tensor):  # which most are: no generator for each
            yield here, child
        else:
            yield from named_leaves(child, here)


def fill(like: Tree, values: Iterator[Any]) -> Tree:
    """A tree of the structure of ``like`` whose leaves are drawn from ``values``, in order.

    Args:
        like: Whose structure it is.
        values: At least as many as ``like`` has leaves.

    Returns:
        The new tree; ``like`` is untouched.
    """
    kids = children(like)
    if kids is None:
        return next(values)
    return rebuild(like, [fill(child, values) for _, child in kids])


def add(a: Tree, b: Tree) -> Tree:
    """a + b, leaf by leaf.

    Args:
        a: Any tree.
        b: One of the same structure and shapes.

    Returns:
        A new tree, of the same structure.
    """
    return map_tree(lambda x, y: x + y, a, b)


def sub(a: Tree, b: Tree) -> Tree:
    """a − b, leaf by leaf.

    Args:
        a: Any tree.
        b: One of the same structure and shapes.

    Returns:
        A new tree, of the same structure.
    """
    return map_tree(lambda x, y: x - y, a, b)


def scale(factor: float | Tensor, tree: Tree) -> Tree:
    """factor · tree, leaf by leaf.

    Args:
        factor: A number or a 0-d tensor.
        tree: Any one.

    Returns:
        A new tree, of the same structure.
    """
    return map_tree(lambda x: factor * x, tree)


def zeros(params: Params) -> Params:
    """0 in the place of every weight; running statistics are left out.

    Args:
        params: Of a model.

    Returns:
        Zeros with the names and shapes of its weights.
    """
    return {name: torch.zeros_like(value) for name, value in params.items() if not is_buffer(name)}


def mix(a: Tree, b: Tree, share: float | Tensor) -> Tree:
    """(1 − share) · a + share · b, leaf by leaf; share = 1 gives exactly b.

    Args:
        a: Any tree.
        b: One of the same structure and shapes.
        share: Of b, within [0, 1].

    Returns:
        A new tree, of the same structure.
    """
    return map_tree(lambda x, y: (1 - share) * x + share * y, a, b)


def sq_dist(a: Params, b: Params) -> Tensor:
    """‖a − b‖², the sum over all weights; running statistics are not weights.

    Args:
        a: Parameters.
        b: Parameters of the same names and shapes.

    Returns:
        A 0-d tensor.
    """
    parts = [(a[name] - b[name]).square().sum() for name in a if not is_buffer(name)]
    return torch.stack(parts).sum()


def weighted_mean(trees: Iterable[Tree], weights: Iterable[float]) -> Tree:
    """Σ weight · tree / Σ weight, summed in the order given, one tree in memory at a time.

    Sums in double precision, so that a mean does not depend on how large the federation is; leaves
    keep their dtype.

    Args:
        trees: At least one, all of one structure.
        weights: One for each tree, not negative, with a positive sum.

    Returns:
        The mean, a tree of the same structure.

    Raises:
        ValueError: There is no tree, or no weight above 0; trees differ; or a leaf is a number,
            which has no dtype that a mean could keep. Names the place.
    """
    sums = RunningMean()
    for tree, weight in zip(trees, weights, strict=True):
        sums.add(tree, weight)
    return sums.mean()


class RunningMean:
    """A ``weighted_mean`` of trees that come one by one, where several are taken in one pass.

    ``weight``: the sum of weights so far.
    """

    def __init__(self) -> None:
        self.weight = 0.0
        self._total: Tree = None
        self._like: Tree = None

    def add(self, tree: Tree, weight: float) -> None:
        """One tree more.

        Args:
            tree: Of the structure of those before it.
            weight: Its weight, not negative.

        Raises:
            ValueError: It differs from those before it, or a leaf is a number. Names the place.
        """
        if number := first_number(tree):
            path, leaf = number
            raise ValueError(f"{path} is {leaf!r}: a mean is taken of tensors, not of numbers")
        if self._total is None:
            self._total = map_tree(lambda x: x.to(torch.float64) * weight, tree)
        else:
            map_tree(lambda t, x: t.add_(x, alpha=weight), self._total, tree)
        self._like, self.weight = tree, self.weight + weight

    def mean(self) -> Tree:
        """The mean of those that were added.

        Returns:
            A tree of their structure and dtypes.

        Raises:
            ValueError: There is no tree, or no weight above 0.
        """
        if self._total is None or self.weight <= 0:
            raise ValueError("a weighted mean needs at least one tree and a positive total weight")
        return map_tree(lambda t, x: (t / self.weight).to(x.dtype), self._total, self._like)


def first_number(tree: Tree) -> tuple[str, Any] | None:
    """The first leaf that is no tensor.

    Args:
        tree: Any one.

    Returns:
        Its path and the leaf; None where all leaves are tensors.
    """
    others = ((path, leaf) for path, leaf in named_leaves(tree) if not isinstance(leaf, Tensor))
    return next(others, None)


def flat(params: Params) -> Tensor:
    """All weights as one vector [d], in the order of the names; running statistics left out.

    Args:
        params: Parameters with d weights in all.

    Returns:
        A copy, of the weights' dtype.
    """
    return torch.cat([value.reshape(-1) for name, value in params.items() if not is_buffer(name)])


def stack(trees: Sequence[Tree]) -> Tree:
    """Trees of one structure as one tree whose leaves have a new first axis.

    Args:
        trees: At least one, all of the same structure and shapes.

    Returns:
        Leaves [len(trees), …].
    """
    return map_tree(lambda *xs: torch.stack(xs), trees[0], *trees[1:])


def row(tree: Tree, index: int) -> Tree:
    """Entry ``index`` of a stacked tree.

    Args:
        tree: Its leaves have a first axis.
        index: Which entry of that axis.

    Returns:
        The tree without that axis.
    """
    return map_tree(lambda x: x[index], tree)
