"""A method that changes what it was given: its nodes are its own, its tensors are refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.core.tree import leaves, map_tree
from fedkin.engine.host import Task
from fedkin.engine.unchanged import Unchanged
from fedkin.experiment.run import run
from fedkin.methods.ditto import ditto
from fedkin.methods.fedavg import fedavg
from fedkin.setup.build import assemble, host_of
from tests.engine.small import outcome, small

PLAIN = fedavg(lr=0.05)


def entries_put(state: Any, sent: Any, server: Any) -> Any:
    """The usual update, put into the state that it was given."""
    for name, value in PLAIN.server_update(state, sent, server).items():
        state[name] = value
    return state


def written_into(state: Any, sent: Any, server: Any) -> Any:
    """The usual update, written into the tensors that it was given."""
    new = PLAIN.server_update(state, sent, server)
    return map_tree(lambda old, value: old.copy_(value), state, new)


def message_emptied(down: Any, own: Any, data: Any) -> Any:
    """The usual update, after which the message that came holds zeros."""
    answer = PLAIN.client_update(down, own, data)
    map_tree(lambda value: value.zero_(), down)
    return answer


def written_past_the_count(way: str) -> Callable[..., Any]:
    """The usual update, after which the message holds others, which no tensor counted."""

    def update(down: Any, own: Any, data: Any) -> Any:
        answer = PLAIN.client_update(down, own, data)
        weight = down["parameters"]["1.weight"]
        if way == "data":
            weight.data.copy_(answer[1]["parameters"]["1.weight"])
        if way == "numpy":
            weight.numpy()[0, 0] += 1
        if way == "module":
            layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
            layer.weight.data = weight
            layer(torch.ones(1, weight.shape[1])).sum().backward()
            torch.optim.SGD(layer.parameters(), lr=1.0).step()
        return answer

    return update


def entry_taken(down: Any, own: Any, data: Any) -> Any:
    """The usual update, after which the message that came has lost its parameters."""
    answer = PLAIN.client_update(down, own, data)
    down.pop("parameters")
    return answer


def fingerprint(method: Method, folder: Path) -> str:
    found: str = outcome(run(small("fedavg"), folder, method=method))["fingerprint"]
    return found


@pytest.mark.parametrize(
    "changed",
    [{"server_update": entries_put}, {"client_update": entry_taken}],
    ids=["server", "client"],
)
def test_entries_of_what_a_method_was_given_are_its_own(
    changed: dict[str, Callable[..., Any]], tmp_path: Path
) -> None:
    careless = PLAIN._replace(**changed)
    assert fingerprint(careless, tmp_path / "a") == fingerprint(PLAIN, tmp_path / "b")


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"server_update": written_into}, "the server's state at parameters/1.weight"),
        ({"client_update": message_emptied}, "the message that a client received at parameters"),
    ],
    ids=["server", "client"],
)
def test_tensors_that_others_hold_are_not_written_into(
    changed: dict[str, Callable[..., Any]], what: str, tmp_path: Path
) -> None:
    with pytest.raises(FedkinError, match=f"method fedavg writes into {what}"):
        run(small("fedavg"), tmp_path / "run", method=PLAIN._replace(**changed))


@pytest.mark.parametrize("way", ["data", "numpy", "module"])
def test_what_no_tensor_counts_is_refused_as_well(way: str, tmp_path: Path) -> None:
    careless = PLAIN._replace(client_update=written_past_the_count(way))
    told = "method fedavg writes into the message that a client received at parameters/1.weight"
    with pytest.raises(FedkinError, match=told):
        run(small("fedavg"), tmp_path / "run", method=careless)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "bool", "int64"])
def test_numbers_of_any_size_and_form_are_compared(dtype: str) -> None:
    plain = torch.ones(15, dtype=getattr(torch, dtype))  # no multiple of eight bytes
    for tensor in (plain, plain[1:4], plain.reshape(3, 5).T, plain[:0], plain[2]):
        seen = Unchanged({"w": tensor})
        assert seen.is_as_it_was()
        tensor.data.zero_()
        assert seen.is_as_it_was() is (tensor.numel() == 0)
        plain.data.fill_(1)


def test_a_failing_client_who_wrote_into_its_state_is_told_of_that(tmp_path: Path) -> None:
    method = ditto(lr=0.05)

    def fails(down: Any, own: Any, data: Any) -> Any:
        leaves(own)[0].zero_()
        raise RuntimeError("sensor unplugged")

    parts = assemble(small("ditto"))
    parts = parts._replace(method=method._replace(client_update=fails))
    (answer,) = host_of(parts, sorted(parts.infos), tmp_path).do("local", 1, [Task(0, None)])
    assert "method ditto writes into a client's personal state" in str(answer.error)
