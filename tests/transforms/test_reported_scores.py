"""What a rule says of clients, kept in the server's state."""

import torch

from fedkin.core.aggregation import Mean
from fedkin.core.method import FederationInit
from fedkin.methods import make
from fedkin.transforms.reported_scores import REPORTED, telling

W = {"w": torch.tensor([1.0, 2.0])}
START = FederationInit({"m": W}, (0, 1, 2), 0, 2, lambda k: W)


def plain():
    method = make("fedavg", {}, {"lr": 0.1})

    def server_metrics(state):
        return {"norm": {0: float(state["parameters"]["w"].norm())}}

    return method._replace(server_metrics=server_metrics)


def updated(told):
    method = telling(plain())
    state = method.server(START)
    sent = Mean((2, 0), {"parameters": {"w": torch.tensor([3.0, 4.0])}}, {}, 2.0, told)
    return method, state, method.server_update(state, sent, None)


def test_what_was_said_is_in_the_metrics_beside_the_methods_own() -> None:
    method, _, after = updated({"distance": {2: 0.5, 0: 1.5}, "kept": {0: 1.0}})
    assert method.server_metrics(after) == {
        "norm": {0: 5.0},
        "distance": {2: 0.5, 0: 1.5},
        "kept": {0: 1.0},
    }


def test_nobody_is_sent_it_and_the_method_does_not_see_it() -> None:
    method, _, after = updated({"distance": {2: 0.5}})
    assert REPORTED in after
    assert method.broadcast(after, 0) == {"parameters": after["method"]["parameters"]}
    assert after["method"].keys() == {"parameters"}
    again = method.server_update(after, Mean((0,), {"parameters": W}, {}, 1.0), None)
    assert method.server_metrics(again).keys() == {"norm"}  # of the last round alone


def test_before_the_first_round_nothing_was_said() -> None:
    method, state, _ = updated({})
    assert method.server_metrics(state).keys() == {"norm"}


def test_a_methods_own_state_may_be_any_tree() -> None:
    """A tuple, say, of a method of one's own."""
    method = telling(
        plain()._replace(
            server=lambda start: (W["w"],),
            server_update=lambda state, sent, server: (sent.mean["parameters"]["w"],),
            server_metrics=lambda state: {"size": {0: len(state)}},
        )
    )
    sent = Mean((2, 0), {"parameters": W}, {}, 2.0, {"kept": {2: 1.0}})
    after = method.server_update(method.server(START), sent, None)
    assert method.server_metrics(after) == {"size": {0: 1}, "kept": {2: 1.0}}
