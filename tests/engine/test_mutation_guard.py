"""A method that changes what it was given: its nodes are its own, its tensors are refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from fedkin.core.errors import FedkinError, Halted
from fedkin.core.method import Method
from fedkin.core.tree import leaves, map_tree
from fedkin.engine.mutation_guard import MutationGuard
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.methods.ditto import ditto
from fedkin.methods.fedavg import fedavg
from fedkin.runs.database import read_only
from fedkin.runs.spec import Spec
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


def fingerprint(method: Method, folder: Path, spec: Spec | None = None) -> str:
    found: str = outcome(run(spec or small("fedavg"), folder, method=method))["fingerprint"]
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
        seen = MutationGuard({"w": tensor})
        assert seen.is_as_it_was()
        tensor.data.zero_()
        assert seen.is_as_it_was() is (tensor.numel() == 0)
        plain.data.fill_(1)


def test_a_run_ends_where_one_client_wrote_into_its_own_state_and_failed(tmp_path: Path) -> None:
    """Nobody has what stood there: the client would go on with a damaged state."""
    plain = ditto(lr=0.05)

    def works(down: Any, own: Any, data: Any) -> Any:
        state, message = plain.client_update(down, own, data)
        return map_tree(torch.clone, state), message  # torch itself keeps what replay returns

    def fails(down: Any, own: Any, data: Any) -> Any:
        if (data.info.client, data.key.round) != (1, 2):
            return works(down, own, data)
        leaves(down)[0].zero_()
        leaves(own)[0].zero_()
        raise RuntimeError("sensor unplugged")

    spec = small("ditto", run__participation=1.0)
    why = r"^round 2, client 1: method ditto writes into a client's personal state at parameters/"
    with pytest.raises(Halted, match=why):
        run(spec, tmp_path / "run", method=plain._replace(client_update=fails))
    with read_only(tmp_path / "run") as database:
        assert database.last_round() == 1
    method = plain._replace(client_update=works)
    resumed = outcome(resume(tmp_path / "run", method=method))["fingerprint"]
    assert resumed == fingerprint(method, tmp_path / "whole", spec)
