"""What nodes are not asked for."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.flower.deployable import check_deployable
from fedkin.runs.spec import parse

PRIVATE = {"noise": 1.0, "clip": 1.0, "delta": 1e-5}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            {"privacy": {**PRIVATE, "unit": "sample", "budget": 4.0}},
            "privacy.budget with unit = 'sample'",
        ),
        ({"audit": {"canaries": 5}}, "audit.canaries is for simulations"),
    ],
)
def test_what_only_a_simulation_does(content: dict[str, object], said: str) -> None:
    with pytest.raises(FedkinError, match=said):
        check_deployable(parse(content)[0])


def test_noise_at_the_server_and_at_nodes_is_deployed() -> None:
    check_deployable(parse({"privacy": PRIVATE})[0])
    check_deployable(parse({"privacy": {**PRIVATE, "where": "client"}})[0])
    check_deployable(parse({"privacy": {**PRIVATE, "unit": "sample"}})[0])
    check_deployable(parse({})[0])
