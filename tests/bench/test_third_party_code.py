"""Methods of other people's modules in a bench: only those that somebody typed."""

import pytest

from fedkin.bench.suite import suite
from fedkin.bench.third_party_code import third_party_code
from fedkin.core.errors import FedkinError
from fedkin.methods import user_methods
from fedkin.methods.user_methods import allow
from fedkin.runs.spec import parse

SOURCE = """
from fedkin.core.method import Method
from fedkin.methods.fedavg import fedavg

def mine(*, lr: float, near: float = 0.5) -> Method:
    return fedavg(lr=lr * near)._replace(name="mine")
"""
SPEC = parse({})[0]


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch, own_modules):
    (tmp_path / "outside7.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(user_methods._code, "_allowed", set())


def test_nobody_imports_what_nobody_typed() -> None:
    with pytest.raises(FedkinError, match="is code of one's own, which nobody has allowed"):
        third_party_code("outside7:mine", SPEC)
    allow(["outside7:mine"])
    assert list(third_party_code("outside7:mine", SPEC)) == ["outside7:mine"]
    assert third_party_code("Fed-Avg", SPEC) == {}
    with pytest.raises(FedkinError, match="did you mean 'fedavg'"):
        third_party_code("fedagv", SPEC)


@pytest.mark.parametrize("decorated", ["", "@declared\n"])
def test_changed_code_is_another_search(decorated, tmp_path) -> None:
    name = f"outside8{'d' if decorated else ''}:mine"
    file = (tmp_path / name.partition(":")[0]).with_suffix(".py")
    source = SOURCE.replace("def mine", f"{decorated}def mine")
    file.write_text(f"from fedkin.core.hyperparameters import declared\n{source}")
    allow([name])
    before = third_party_code(name, SPEC)
    assert before == third_party_code(name, SPEC)
    file.write_text(file.read_text().replace("lr * near", "0 * lr * near"))
    assert third_party_code(name, SPEC) != before


def test_a_suite_may_name_one_and_no_other_colon(tmp_path) -> None:
    file = tmp_path / "s.toml"
    content = 'title = "x"\nmethods = ["{}"]\nrates = [0.1]\nseeds = [0]\n[settings.a]\n'
    file.write_text(content.format("outside7:mine") + 'title = "a"\nspec = {}\n')
    assert suite(str(file)).methods == ("outside7:mine",)
    file.write_text(file.read_text().replace("outside7:mine", "ditto:lam=2"))
    with pytest.raises(FedkinError, match="unknown method 'ditto:lam=2'"):
        suite(str(file))
