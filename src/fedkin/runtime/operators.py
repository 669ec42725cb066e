"""fedkin's own operators in compiled steps: C++ for what torch does slowly in a step of a
mini-batch.

Each kind has a file of C++ and a Python file beside it that says what it takes the place of. Only
x86 was measured: elsewhere torch's operations stay.
"""

import platform
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any, cast

from torch import Tag, ops
from torch.fx import GraphModule
from torch.library import Library

from fedkin.runtime import small_conv, small_matmul, small_pool

MEASURED = ("x86_64", "AMD64")
C_TYPES = {"Tensor": "AtenTensorHandle", "int": "int64_t"}
KINDS = {"small_matmul": small_matmul, "small_pool": small_pool, "small_conv": small_conv}
FILES = (  # with another version of one, the same graph is other code
    "operators.py",
    "rewriting.py",
    "vectors.h",
    *(f"{name}.{end}" for name in KINDS for end in ("py", "cpp")),
)


def with_own(graph: GraphModule, kinds: Collection[str] = tuple(KINDS)) -> GraphModule:
    """The graph with fedkin's operators of some kinds in the place of torch's, where they are
    faster.

    Inductor needs ``settings`` for it.

    Args:
        graph: With the facts about its tensors (``meta``); it is changed.
        kinds: Keys of KINDS.

    Returns:
        The same graph.
    """
    if not _measured():
        return graph
    _library()
    for name in kinds:
        for node in graph.graph.nodes:
            if node.op == "call_function":
                KINDS[name].replace(graph.graph, node)
    graph.graph.eliminate_dead_code()
    graph.recompile()
    return graph


def settings(graph: GraphModule) -> dict[str, Any]:
    """Inductor's settings that compile the operators of a graph: their C++, each piece of which is
    put behind an ``extern``.

    Args:
        graph: Of ``with_own``.

    Returns:
        {setting: value}; {} where the graph has none of them.
    """
    if not _measured():
        return {}
    from torch._inductor import cpp_builder

    _library()
    there = {node.target for node in graph.graph.nodes}
    texts = [_text("vectors.h")]
    shims: dict[Any, list[str]] = {}
    for name, kind in KINDS.items():
        own = (getattr(ops.fedkin, _name(schema)).default for schema in kind.SCHEMAS)
        used = {operator: [_shim(operator)] for operator in own if operator in there}
        if used:
            texts.append(_text(f"{name}.cpp"))
            shims |= used
    if not shims:
        return {}
    next(iter(shims.values())).insert(0, '"C++" {\n' + "\n".join(texts) + "}")
    options: dict[str, Any] = {"aot_inductor.custom_ops_to_c_shims": shims}
    if "clang" in cpp_builder.get_cpp_compiler():
        # it does not read the level that the files ask for
        options["aot_inductor.compile_wrapper_opt_level"] = "O3"
    return options


def _name(schema: str) -> str:
    return schema.split("(")[0]


def _shim(operator: Any) -> str:
    """The C function by which compiled code calls the C++ one of an operator's name: a tensor is a
    handle, and what comes out is written where the last arguments point.
    """
    schema = operator._schema
    parameters = [(C_TYPES[str(one.type)], one.name) for one in schema.arguments]
    parameters += [("AtenTensorHandle*", f"made_{number}") for number in range(len(schema.returns))]
    declared = ", ".join(f"{kind} {name}" for kind, name in parameters)
    passed = ", ".join(name for _, name in parameters)
    name = operator._opname
    return f"AOTITorchError aoti_torch_cpu_{name}({declared}) {{ return {name}({passed}); }}"


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _measured() -> bool:
    return platform.machine() in MEASURED


@cache
def _library() -> Any:
    """What Inductor asks about the operators: their schemas, and the shapes of what they give."""
    library = cast(Any, Library)("fedkin", "DEF")  # its own code has no types
    for kind in KINDS.values():
        for schema, like in kind.SCHEMAS.items():
            # inputs must have the strides by which ``replace`` chose them
            library.define(schema, tags=(Tag.needs_exact_strides,))
            library.impl(_name(schema), like, "CompositeExplicitAutograd")
    return library  # the operators are there as long as it is
