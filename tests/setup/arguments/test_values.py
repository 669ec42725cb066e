"""What a record keeps of a method that was given as a Python value."""

from pathlib import Path
from typing import Any

import pytest
from torch import nn

from fedkin.bench.counting import counted
from fedkin.core.errors import FedkinError
from fedkin.core.method import Method, ServerContext
from fedkin.core.tree import Tree, add, scale, sub
from fedkin.methods import make
from fedkin.methods.ditto import ditto
from fedkin.methods.fedavg import fedavg
from fedkin.models import given
from fedkin.setup.arguments.keywords import given_model
from fedkin.setup.arguments.values import check_given, facts_of, same_given
from fedkin.setup.build import assemble
from tests.engine.small import small


def damped(lr: float = 0.1, c: float = 1.0, name: str = "damped") -> Method:
    """FedAvg whose server goes a part of the way; nothing of it is declared."""

    def server_update(state: Tree, mean: Any, server: ServerContext) -> Tree:
        moved = sub(mean.mean["parameters"], state["parameters"])
        return {"parameters": add(state["parameters"], scale(c, moved))}

    return fedavg(lr=lr)._replace(name=name, server_update=server_update)


def kept(method: Method, of: str = "fedavg", **settings: Any) -> dict[str, Any]:
    found: dict[str, Any] = facts_of(assemble(small(of, **settings), method))
    return found.get("values", {}).get("method", {})


def test_what_functions_hold_is_kept_and_what_a_name_stands_for_is_not() -> None:
    one, other = kept(damped(c=1.0)), kept(damped(c=0.1))
    assert (one["settings"]["c"], other["settings"]["c"]) == (1.0, 0.1)
    assert one["code"] == other["code"]
    assert len(one["code"]) == 12
    assert facts_of(assemble(small("fedavg"))) == {}
    lr = small("fedavg").train.lr
    named = make("fedavg", {}, {"lr": lr})
    assert kept(named) == {}
    assert kept(counted(named)[0]) == {}  # bench gives every method as a value
    assert kept(fedavg(lr=2 * lr)) != {}  # whose learning rate is not what [train] says
    assert kept(damped(lr, name="fedavg")) != {}


def test_functions_of_another_method_of_fedkin_s_are_not_those_of_the_name() -> None:
    lr = small("fedavg").train.lr
    borrowed = make("fedavg", {}, {"lr": lr})
    tempered = [borrowed._replace(predict=ditto(lr=lr, lam=lam).client_update) for lam in (1.0, 2)]
    first, second = map(kept, tempered)
    assert first["settings"]["lam"] == 1.0
    assert second["settings"]["lam"] == 2
    assert first["code"] == second["code"]


def test_a_run_of_a_value_needs_the_value(tmp_path: Path) -> None:
    facts = facts_of(assemble(small("fedavg"), damped()))
    with pytest.raises(FedkinError, match="no name stands for: from Python, give it"):
        check_given(tmp_path, None, facts, "give it")
    check_given(tmp_path, damped(), facts, "give it")
    check_given(tmp_path, None, {}, "give it")


def net(width: int, act: type[nn.Module]) -> type[nn.Module]:
    """A class whose name does not say what it is made of."""

    class Net(nn.Sequential):
        def __init__(self, classes: int) -> None:
            layers = nn.Linear(64, width), act(), nn.Linear(width, classes)
            super().__init__(nn.Flatten(), *layers)

    return Net


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the parts of a run with a model that is given."""

    def parts(value: Any) -> Any:
        return assemble(small("fedavg", model__name=given_model(value)))

    monkeypatch.setattr(given, "_RECIPES", {})
    return parts


def test_a_model_keeps_its_layers_and_the_number_of_its_parameters(model: Any) -> None:
    def kept(value: Any) -> Any:
        return facts_of(model(value))["values"]["models"]["Net@python"]

    small, wide, smooth = (kept(net(*of)) for of in ((8, nn.ReLU), (64, nn.ReLU), (8, nn.Sigmoid)))
    assert (small["parameters"], wide["parameters"]) == (8 * 65 + 90, 64 * 65 + 650)
    assert len({one["layers"] for one in (small, wide, smooth)}) == 3
    assert kept(net(8, nn.ReLU)(10)) == small  # given as a module
    assert small["code"] == smooth["code"]
    assert len(small["code"]) == 12


def test_a_run_goes_on_with_its_model(model: Any, tmp_path: Path) -> None:
    facts = facts_of(model(net(8, nn.ReLU)))
    assert same_given(tmp_path, model(net(8, nn.ReLU)), facts) == []
    with pytest.raises(FedkinError, match="'Net@python' is not what this run began with"):
        same_given(tmp_path, model(net(8, nn.Sigmoid)), facts)
    with pytest.raises(FedkinError, match="610 then, 4810 now"):
        same_given(tmp_path, model(net(64, nn.ReLU)), facts)
    facts["values"]["models"]["Net@python"]["code"] = "other"
    (said,) = same_given(tmp_path, model(net(8, nn.ReLU)), facts)
    assert said.startswith("the file of model Net@python is not what this run began with")
