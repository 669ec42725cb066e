"""What a run writes may grow with its clients, and not with their square: bytes are counted."""

import json

import pytest

from fedkin.engine.codec import encode
from tests.engine.coordinated import federation
from tests.engine.small import METHODS, content
from tests.some_methods import some

SQUARE = {  # by the method's own definition
    "kt_pfl": "c is a matrix of clients × clients",
}
SLACK = 2500  # bytes: a cluster more or less
SETTINGS = {
    "engine__compile": "never",
    "split__alpha": 1000.0,
    "train__steps": 1,
    "train__batch_size": 4,
    "run__rounds": 3,
    "run__evaluate_every": 9,
}


def written(method: str, clients: int) -> tuple[int, int]:
    """Bytes of what the server tells in a round of three participants (of all where a method needs
    them), and of its state.
    """
    everyone = content(method)["run"]["participation"] == 1
    share = 1.0 if everyone else 3 / clients
    one = federation(
        method,
        **{**SETTINGS, "run__clients": clients, "run__participation": share},
        **({"method__sigma": 90.0} if method == "fedamp" else {}),
    )
    one.setup()
    one.round(1)
    record = one.round(2)
    return len(json.dumps(record.server_metrics)), len(encode(one.state))


@pytest.mark.rotating
@pytest.mark.parametrize("method", some(sorted({*METHODS} - {*SQUARE})))
def test_what_is_written_does_not_grow_with_the_square_of_the_clients(method: str) -> None:
    """Of 15, 30 and 60 clients: the second step is twice the first where bytes grow with the
    clients, and four times where they grow with their square.
    """
    few, twice, four = (written(method, clients) for clients in (15, 30, 60))
    for one, two, three in zip(few, twice, four, strict=True):
        assert three - two <= 2.6 * (two - one) + SLACK
