"""A newcomer whose losses are written down, and what it is asked, round by round."""

from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch

from fedkin.engine.codec import decode
from fedkin.engine.evaluation import Evaluation
from fedkin.newcomers import protocol
from fedkin.newcomers.protocol import Ask, Joined, Standing, join

CLIENT, AFTER, SEED = 4, 7, 11
UP = b"0123456789"


class Scripted:
    """A guest whose losses by place and round are these; it keeps what it was asked."""

    def __init__(self, *losses: list[float]) -> None:
        self.losses, self.asked = losses, list[Ask]()
        self.received: list[list[int]] = []

    def ask(self, ask: Ask) -> list[Any]:
        self.asked.append(ask)
        place, done = decode(ask.message)["parameters"].tolist()
        self.received.append([place, done])
        return [self._answer(op, place, done) for op, _ in ask.steps]

    def _answer(self, op: str, place: int, done: int) -> Any:
        loss = self.losses[place][done]
        other = 100 - loss  # whoever looks at another split chooses another moment
        splits = {"evaluate": {"val": (loss, 0.5)}}.get(
            op, {"train": (loss, 0.25), "val": (other, 0.5), "test": (other, 0.75)}
        )
        record = Evaluation({"personal": splits}, {"n": done}, {"m": {}})
        return SimpleNamespace(error=None, record=record, message=UP if op == "local" else None)


def standing(places: int = 1, validates: bool = True, finishes: bool = False, **more: Any) -> Any:
    """A server whose state is the place and how many updates it had."""
    told: list[tuple[int, int]] = []

    def update(state: Any, client: int, reply: Any, tools: Any) -> Any:
        assert (client, list(reply.message)) == (CLIENT, ["parameters"])
        told.append((tools.key.seed, tools.key.round))
        return {"parameters": state["parameters"] + torch.tensor([0, 1])}

    method: Any = SimpleNamespace(
        name="scripted",
        newcomer_placements=lambda state, client, info: tuple(
            {"parameters": torch.tensor([place, 0])} for place in range(places)
        ),
        broadcast=lambda state, client: state,
        expected_update=lambda down, info: None,
        update_newcomer=update,
        finalize=(lambda: None) if finishes else None,
        server_metrics=lambda state: {
            "place": {CLIENT: state["parameters"].tolist(), 0: "another's"},
            "others": {0: 1},
        },
    )
    info: Any = SimpleNamespace(client=CLIENT)
    tools = protocol.ServerTools(*(None for _ in protocol.ServerTools.__dataclass_fields__))
    server = Standing(method, {}, AFTER, tools, SEED, info, validates)
    return server._replace(**more), told


def tried(
    guest: Scripted, rounds: int | None = None, most: int = 9, **server: Any
) -> tuple[Joined, list[tuple[int, int]]]:
    """What came of it, and the (seed, round) of each update; every reply is fine."""
    reply = SimpleNamespace(reply=SimpleNamespace(message={"parameters": torch.ones(3)}))
    at, told = standing(len(guest.losses), **server)
    with mock.patch.object(protocol, "accepted", return_value=reply):
        return join(at, guest, rounds, most), told


def asks(guest: Scripted) -> list[tuple[Any, ...]]:
    return [(one.place, one.base, one.keep, one.steps) for one in guest.asked]
