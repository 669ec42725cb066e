"""Where operators of fedkin's own are used at all, and what becomes of a step without them."""

import platform
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from torch._inductor import cpp_builder
from torch.fx.experimental.proxy_tensor import make_fx

from fedkin.runtime import compile, operators
from fedkin.runtime.operators import with_own
from tests.runtime.own_operators import NEEDED, several
from tests.runtime.own_operators import operators as names

pytestmark = NEEDED
SHIMS = "aot_inductor.custom_ops_to_c_shims"


def product(a, b):
    return (a @ b,)


def graph():
    return make_fx(product)(torch.randn(4, 6), torch.randn(6, 5))


def test_where_nothing_was_measured_torchs_stay(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    made = with_own(graph())
    assert names(made) == ["mm"]
    assert operators.settings(made) == {}


def test_only_the_kinds_of_a_graph_are_compiled_with_it():
    (whole, _), *more = operators.settings(with_own(graph()))[SHIMS].values()
    assert "outer_block" in whole
    assert "pool_back" not in whole
    assert more == []
    assert operators.settings(graph()) == {}


def test_clang_is_asked_for_the_level_that_gcc_reads_in_the_source(monkeypatch):
    level = "aot_inductor.compile_wrapper_opt_level"
    for compiler, expected in (("clang++", "O3"), ("g++", None)):
        monkeypatch.setattr(cpp_builder, "get_cpp_compiler", lambda compiler=compiler: compiler)
        assert operators.settings(with_own(graph())).get(level) == expected


@pytest.mark.rotating
def test_a_compiler_that_does_not_take_the_source_makes_torchs_products(monkeypatch):
    def broken(made):
        found = operators.settings(made)[SHIMS]
        return {SHIMS: {name: ["an internal compiler error"] for name in found}}

    monkeypatch.setattr(compile, "settings", Mock(side_effect=broken))
    a, b = torch.randn(4, 6), torch.randn(6, 5)
    ((found, expected),) = zip(*several([(product, a, b)], compile._made), strict=True)
    assert compile.settings.called
    assert torch.allclose(found, expected, atol=1e-5)


def test_a_mistake_in_the_graph_is_no_compilers(monkeypatch):
    monkeypatch.setattr(compile, "with_own", Mock(side_effect=RuntimeError("of ours")))
    with pytest.raises(RuntimeError, match="of ours"):
        several([(product, torch.randn(4, 6), torch.randn(6, 5))], compile._made)


@pytest.mark.parametrize("name", operators.FILES)
def test_every_file_is_part_of_the_package(name):
    assert Path(operators.__file__).with_name(name).is_file()
