"""What a client's update returns is a pair."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.engine.method_calls.client_update import state_and_message
from fedkin.engine.op import Task
from fedkin.setup.build import assemble
from fedkin.setup.hosts import host_of
from tests.engine.small import small

METHOD = assemble(small("local")).method


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ({"parameters": 1.0, "control": 2.0}, r"returns a dict, not \(P, U\)"),
        (None, "returns a NoneType"),
        (({},), "returns a tuple of 1"),
        (({}, {}, {}), "returns a tuple of 3"),
    ],
)
def test_what_is_no_pair_is_named(found, says):
    with pytest.raises(FedkinError, match=f"^method local: client_update {says}"):
        state_and_message(METHOD, found)


def test_a_host_says_so(tmp_path):
    parts = assemble(small("local"))
    method = parts.method._replace(client_update=lambda down, own, data: {"a": 1.0, "b": 2.0})
    host = host_of(parts._replace(method=method), [0], tmp_path)
    (answer,) = host.do("local", 1, [Task(0, None)])
    assert answer.error.startswith("method local: client_update returns a dict")
