"""w − lr · (a @ b) as one product: it begins with w and adds to it, so that the gradient is never
written by itself.
"""

from torch import ops
from torch.fx import Graph, GraphModule, Node

aten = ops.aten


def fused_updates(recorded: GraphModule) -> GraphModule:
    """A graph in which every ``sub(w, mul(lr, mm(a, b)))`` is ``addmm(w, lr · a, b, alpha=-1)``, or
    with lr · b.

    lr is a tensor without axes; only what nothing else uses is taken away. The smaller factor is
    scaled, so results differ from those of the graph, which stays as it is, by rounding.

    Args:
        recorded: A recorded step.

    Returns:
        A new graph.
    """
    graph = Graph()
    graph.output(graph.graph_copy(recorded.graph, {}))
    for node in list(graph.nodes):
        if update := _update(node):
            _replace(graph, node, *update)
    graph.eliminate_dead_code()
    return GraphModule(recorded, graph)


def _update(node: Node) -> tuple[Node, Node, Node] | None:
    """(w, lr, the product) of an update, or None for any other node."""
    if node.target is not aten.sub.Tensor or node.kwargs:
        return None
    w, step = node.args
    if not _only(step, aten.mul.Tensor):
        return None
    for rate, slope in (step.args, step.args[::-1]):  # type: ignore[union-attr]
        if isinstance(rate, Node) and isinstance(slope, Node) and rate.meta["val"].dim() == 0:
            product = _under(slope)
            if product is not None and isinstance(w, Node) and _alike(w, slope):
                return w, rate, product
    return None


def _under(node: Node) -> Node | None:
    """The product that a node is, or is the transpose of the transpose of."""
    while _only(node, aten.t.default) and _only(node.args[0], aten.t.default):
        node = node.args[0].args[0]  # type: ignore[union-attr, assignment]
    return node if _only(node, aten.mm.default) else None


def _only(node: object, target: object) -> bool:
    """Whether a node is a call of ``target`` that one other node uses."""
    return isinstance(node, Node) and node.target is target and len(node.users) == 1


def _alike(w: Node, slope: Node) -> bool:
    mine, other = w.meta["val"], slope.meta["val"]
    return bool(mine.shape == other.shape and mine.dtype == other.dtype)


def _replace(graph: Graph, node: Node, w: Node, rate: Node, product: Node) -> None:
    factors = list(product.args)
    small = min(range(2), key=lambda k: factors[k].meta["val"].numel())  # type: ignore[union-attr]
    with graph.inserting_before(node):
        scaled = graph.call_function(aten.mul.Tensor, (factors[small], rate))
        scaled.meta = dict(factors[small].meta)  # type: ignore[union-attr]
        factors[small] = scaled
        whole = graph.call_function(aten.addmm.default, (w, *factors), {"alpha": -1})
        whole.meta = dict(node.meta)
    node.replace_all_uses_with(whole)
