"""Small products of a compiled step in C++ of fedkin's own (``small_matmul.cpp``), compiled for
this CPU.

A step of a mini-batch multiplies matrices of some ten rows. A library's product is made for larger
ones: it packs its factors first, and the one that torch brings leaves half of some CPUs' vector
units unused. Only x86 was measured: elsewhere products stay as they are.
"""

import platform
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard, cast

import torch
from torch import Tensor, ops
from torch.fx import Graph, GraphModule, Node
from torch.library import Library

aten = ops.aten

MEASURED = ("x86_64", "AMD64")
LARGEST = (
    2**24
)  # multiplications of one product: a library's packing costs little beside more of them
LONGEST = 2**12  # of them for one number, whose sum is one after the other
FUNCTION = (
    "AOTITorchError aoti_torch_cpu_{name}({given}, AtenTensorHandle* made) {{ return "
    "product({of}, made); }}"
)


def small_products(graph: GraphModule) -> GraphModule:
    """The graph with its small products of float32 as operators of fedkin's: a @ b, and w − a @ b.

    ``graph`` has the facts about its tensors (``meta``), and is changed itself. Inductor needs
    ``settings`` for it.
    """
    if not _measured():
        return graph
    _library()
    for node in graph.graph.nodes:
        if node.op == "call_function" and (made := _product(graph.graph, node)) is not None:
            made.meta = dict(node.meta)
            node.replace_all_uses_with(made)
    graph.graph.eliminate_dead_code()
    graph.recompile()
    return graph


@cache
def settings() -> dict[str, Any]:
    """Inductor's settings that compile these operators: their C++, each piece of which is put
    behind an ``extern``.
    """
    if not _measured():
        return {}
    from torch._inductor import cpp_builder

    _library()
    whole = (
        '"C++" {\n' + Path(__file__).with_name("small_matmul.cpp").read_text(encoding="utf-8") + "}"
    )
    a, b, w = (f"AtenTensorHandle {name}" for name in "abw")
    product = FUNCTION.format(name="small_product", given=f"{a}, {b}", of="nullptr, a, b")
    update = FUNCTION.format(name="small_update", given=f"{w}, {a}, {b}", of="w, a, b")
    code = {
        ops.fedkin.small_product.default: [whole, product],
        ops.fedkin.small_update.default: [update],
    }
    found: dict[str, Any] = {"aot_inductor.custom_ops_to_c_shims": code}
    if (
        "clang" in cpp_builder.get_cpp_compiler()
    ):  # it does not read the level that small_matmul.cpp asks for
        found["aot_inductor.compile_wrapper_opt_level"] = "O3"
    return found


def _measured() -> bool:
    return platform.machine() in MEASURED


@cache
def _library() -> Any:
    """What Inductor asks about the operators: their schemas, and the shapes of what they give."""
    library = cast(Any, Library)("fedkin", "DEF")  # its own code has no types
    as_recorded = (torch.Tag.needs_exact_strides,)  # by which ``_suits`` chose them
    library.define("small_product(Tensor a, Tensor b) -> Tensor", tags=as_recorded)
    library.define("small_update(Tensor w, Tensor a, Tensor b) -> Tensor", tags=as_recorded)
    library.impl("small_product", lambda a, b: a @ b, "CompositeExplicitAutograd")
    library.impl("small_update", lambda w, a, b: w - a @ b, "CompositeExplicitAutograd")
    return library  # the operators are there as long as it is


def _product(graph: Graph, node: Node) -> Node | None:
    """What stands in for a node, put before it; None if it stays."""
    given: tuple[Any, ...] = node.args
    with graph.inserting_before(node):
        if node.target in (aten.mm.default, aten.bmm.default) and _suits(*given):
            return graph.call_function(ops.fedkin.small_product.default, given)
        if node.target is not aten.addmm.default or not _suits(*given[1:]):
            return None
        w, *factors = given
        if node.kwargs == {"alpha": -1} and _whole(w, node):
            return graph.call_function(ops.fedkin.small_update.default, given)
        if node.kwargs:
            return None
        product = graph.call_function(ops.fedkin.small_product.default, tuple(factors))
        product.meta = dict(node.meta)
        return graph.call_function(aten.add.Tensor, (product, w))


def _suits(a: Node, b: Node) -> bool:
    left, right = (node.meta.get("val") for node in (a, b))
    if not (_plain(left) and _plain(right)):
        return False
    inner = left.shape[-1]
    size = left.shape[-2] * inner * right.shape[-1]
    beside = right.stride(-1) == 1 or (right.stride(-2) == 1 and left.stride(-1) == 1)
    return 0 < size <= LARGEST and inner <= LONGEST and beside


def _plain(tensor: Any) -> TypeGuard[Tensor]:
    if not isinstance(tensor, Tensor) or tensor.layout is not torch.strided:
        return False
    return tensor.device.type == "cpu" and tensor.dtype == torch.float32 and tensor.numel() > 0


def _whole(w: Node, result: Node) -> bool:
    """Whether w is not broadcast, and its rows lie one after the other."""
    given: Tensor = w.meta["val"]
    return given.is_contiguous() and given.shape == result.meta["val"].shape
