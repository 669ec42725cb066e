"""What a method says of a client's state is numbers, under names that are free."""

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.engine.codec import encode
from fedkin.engine.method_calls.client_metrics import check_metrics
from fedkin.engine.op import Task
from fedkin.setup.build import assemble
from fedkin.setup.hosts import host_of
from tests.engine.small import small


@pytest.mark.parametrize(
    ("metrics", "says"),
    [
        ({"x": "abc"}, "'x' is 'abc', which is no finite number"),
        ({"x": float("nan")}, "'x' is nan"),
        ({"x": [1.0, float("inf")]}, "'x' is .*inf"),
        ({"x": torch.ones(1)}, "no finite number"),
        ({"cluster": 1.5}, "'cluster' is 1.5, and a cluster is a whole number"),
        ({"epsilon": 1.0}, "'epsilon', which the server says of a client"),
        ({"attacker": 0.0}, "'attacker', which the server says of a client"),
    ],
)
def test_what_is_no_number_or_has_a_taken_name(metrics, says):
    with pytest.raises(FedkinError, match=f"^method mine: client_metrics says .*{says}"):
        check_metrics("mine", metrics)


def test_numbers_and_vectors_are_kept():
    metrics = {"x": 1, "y": 0.5, "membership": [0.25, 0.75], "cluster": 2}
    assert check_metrics("mine", metrics) == metrics


def test_a_host_says_so(tmp_path):
    parts = assemble(small("fedavg"))
    method = parts.method._replace(client_metrics=lambda own: {"x": "abc"})
    host = host_of(parts._replace(method=method), [0], tmp_path)
    down = encode({"parameters": parts.models["mlr"].initial})
    (answer,) = host.do("evaluate", 1, [Task(0, down)])
    assert "client_metrics says 'x'" in answer.error
