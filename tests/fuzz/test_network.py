"""The grammar of hostile messages begins with what is good: else the boundaries would refuse all
that they are shown, and prove nothing.
"""

import json

import pytest

pytest.importorskip("flwr")

from tests.fuzz import network
from tests.fuzz.grammar import FACTS, REPLY, REQUEST, TABLE
from tests.fuzz.network import NETWORK, honest_message


def test_headers_that_are_good_are_used() -> None:
    NETWORK["up: headers"].enter(json.dumps(REPLY).encode())
    NETWORK["down: headers"].enter(json.dumps(REQUEST).encode())
    NETWORK["up: replies"].enter(
        (json.dumps({**REPLY, "steps": [{**REPLY["steps"][0], "message": False}]}).encode(), [])
    )


def test_facts_that_are_good_are_used() -> None:
    good = json.dumps(FACTS).encode()
    NETWORK["up: facts of nodes"].enter((good, good))


@pytest.mark.parametrize("facts", [FACTS, TABLE])
def test_facts_are_of_the_form(facts: dict[str, object]) -> None:
    network.good_or_one_sentence(network.Facts, json.dumps(facts).encode())


@pytest.mark.parametrize("method", network.METHODS)
def test_messages_that_are_good_are_merged(method: str) -> None:
    expected = [network._expected(method, client, False) for client in range(2)]
    blobs = [network.encode(honest_message(tree)) for tree in expected]
    NETWORK["up: messages"].enter((method, blobs, -1.0))


@pytest.mark.parametrize("method", ["comet", "ppfl"])
def test_introductions_that_are_good_are_used(method: str) -> None:
    expected = [network._expected(method, client, True) for client in range(2)]
    blobs = [network.encode(honest_message(tree)) for tree in expected]
    NETWORK["up: introductions"].enter((method, blobs, -1.0))


def test_a_request_that_is_good_is_obeyed() -> None:
    down = network._parts("fedavg").method.broadcast(network._state("fedavg"), 1)
    good = json.dumps(network._known("ef" * 8)).encode()
    NETWORK["down: what a node is asked"].enter((good, [network.encode(down)]))
