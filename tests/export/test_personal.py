"""One module of what a method predicts with."""

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from fedkin.core.tree import BUFFER
from fedkin.export.personal import FROZEN, Personal, with_frozen

W, B = torch.tensor([[1.5, -2.0]]), torch.tensor([0.5])


def model(frozen: dict[str, Tensor] | None = None) -> Any:
    """y = x wᵀ, of which `holding` says what it holds."""
    made: Any = SimpleNamespace(
        name="mlr",
        family=SimpleNamespace(name="categorical"),
        initial={"a.w": W},
        frozen=frozen or {},
        held=None,
    )
    made.holding = lambda held: SimpleNamespace(**{**vars(made), "held": held})
    return made


def test_what_a_file_of_a_view_holds() -> None:
    frozen = {"body.b": B}
    assert with_frozen(model(), {"a.w": W}) == {"a.w": W}
    assert with_frozen(model(frozen), {"a.w": W}) == {"body.b": B, "a.w": W}
    assert with_frozen(model(frozen), {"mix": [W]}) == {"mix": [W], FROZEN: frozen}
    assert with_frozen(model(frozen), [W, B]) == {"parts": [W, B], FROZEN: frozen}


def test_one_set_of_parameters_has_the_frozen_ones_beside_it() -> None:
    asked: list[Any] = []

    def predict(of: Any, view: Any, x: Tensor) -> Tensor:
        asked.append((of.held, view))
        return x @ view["a.w"].T

    personal = Personal(model({"body.b": B}), {"a.w": W}, predict)
    x = torch.tensor([[1.0, 1.0], [2.0, 0.0]])
    assert personal(x).tolist() == [[-0.5], [3.0]]
    ((held, view),) = asked
    assert (held, list(view)) == (None, ["body.b", "a.w"])
    assert [name for name, _ in personal.named_parameters()] == ["body_b", "a_w"]
    assert personal.extra_repr() == "mlr, 3 parameters, categorical"


def test_beside_a_mixture_the_frozen_ones_are_held() -> None:
    asked: list[Any] = []

    def predict(of: Any, view: Any, x: Tensor) -> Tensor:
        asked.append((of.held, view))
        return x

    frozen = {"body.b": B}
    personal = Personal(model(frozen), {"mix": {"a.w": W}, "share": B}, predict)
    personal(torch.zeros(1, 2))
    ((held, view),) = asked
    assert list(held) == ["body.b"]
    assert held["body.b"].equal(B)
    assert held["body.b"] is not B  # a copy: training it on changes no run
    assert list(view) == ["mix", "share"]
    assert list(dict(personal.named_buffers())) == [f"{FROZEN}/body_b"]
    without = Personal(model(), {"mix": {"a.w": W}}, predict)
    without(torch.zeros(1, 2))
    assert asked[-1][0] is None


def test_what_can_be_trained_on() -> None:
    """Weights, no counts and no running statistics, wherever they stand."""
    view = {
        "w": W,
        "n": torch.tensor([3]),
        f"{BUFFER}mean": B,
        "mix": {f"{BUFFER}var": B, "w": W},
    }
    personal = Personal(model(), view, lambda of, view, x: x)
    wanted = {name.rpartition("/")[2]: one.requires_grad for name, one in _named(personal)}
    assert wanted == {"w": True, "n": False, f"{BUFFER}mean": False, f"{BUFFER}var": False}


def _named(personal: Personal) -> list[tuple[str, Any]]:
    return list(personal.named_parameters())


def test_names_that_differ_by_a_dot_alone() -> None:
    """Also names of what every module has."""
    view = {"fc.0.weight": W, "fc_0.weight": 2 * W, "forward": 3 * W, "_model": 4 * W}

    def predict(of: Any, view: Any, x: Tensor) -> Tensor:
        return torch.stack([x @ leaf.T for leaf in view.values()])

    personal = Personal(model(), view, predict)
    x = torch.tensor([[1.0, 0.0]])
    assert personal(x).flatten().tolist() == [1.5, 3, 4.5, 6]
    names = [name for name, _ in personal.named_parameters()]
    assert names == ["fc_0_weight", "fc_0_weight_", "forward_", "_model_"]
    frozen = Personal(model({"a.b": W, "a_b": B}), {"mix": {"a.w": W}}, lambda of, view, x: of)
    held = frozen(x).held
    assert (held["a.b"].equal(W), held["a_b"].equal(B)) == (True, True)
