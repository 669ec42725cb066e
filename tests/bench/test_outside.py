"""Methods of other people's modules: only those that somebody typed."""

import pytest

from fedkin.bench import outside
from fedkin.bench.outside import (
    allow,
    checked_name,
    code_digest,
    is_outside,
    outside_method,
)
from fedkin.core.errors import FedkinError
from fedkin.core.method import Method

SOURCE = """
from fedkin.methods.fedavg import fedavg

def mine(*, lr: float, near: float = 0.5):
    return fedavg(lr=lr * near)._replace(name="mine")

def odd(*, lr: float):
    return 7

number = 3
"""


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    (tmp_path / "outside7.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(outside._code, "_allowed", set())


def test_a_colon_is_a_module() -> None:
    assert is_outside("outside7:mine")
    assert not is_outside("fedavg")
    assert checked_name("fedavg") == "fedavg"
    assert checked_name("Fed-Avg") == "fedavg"
    with pytest.raises(FedkinError, match="did you mean 'fedavg'"):
        checked_name("fedagv")


def test_nobody_imports_what_nobody_typed() -> None:
    with pytest.raises(FedkinError, match="is code of one's own, which nobody has allowed"):
        checked_name("outside7:mine")
    allow(["outside7:mine"])
    assert checked_name("outside7:mine") == "outside7:mine"
    made = outside_method("outside7:mine", {"near": 0.25}, 0.4)
    assert isinstance(made, Method)
    assert made.name == "mine"


@pytest.mark.parametrize(
    ("name", "hyper", "said"),
    [
        ("outside7:number", {}, "method 'outside7:number' is no function that makes a method"),
        ("outside7:odd", {}, "outside7:odd makes no fedkin.Method, but int"),
        ("outside7:mine", {"nera": 1.0}, "'nera': did you mean 'near'"),
        ("outside7:gone", {}, "cannot be imported: AttributeError"),
    ],
)
def test_what_makes_no_method_is_told(name, hyper, said) -> None:
    allow([name])
    with pytest.raises(FedkinError, match=said):
        outside_method(name, hyper, 0.1)


@pytest.mark.parametrize("decorated", ["", "@declared\n"])
def test_changed_code_is_another_search(decorated, tmp_path) -> None:
    name = f"outside8{'d' if decorated else ''}:mine"
    file = (tmp_path / name.partition(":")[0]).with_suffix(".py")
    source = SOURCE.replace("def mine", f"{decorated}def mine")
    file.write_text(f"from fedkin.core.hyperparameters import declared\n{source}")
    allow([name])
    before = code_digest(name)
    assert before == code_digest(name)
    file.write_text(file.read_text().replace("lr * near", "0 * lr * near"))
    assert code_digest(name) != before
