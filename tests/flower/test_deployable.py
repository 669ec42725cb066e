"""What nodes are not asked for."""

import pytest
import tomli_w

from fedkin.cli import deploy
from fedkin.core.errors import FedkinError
from fedkin.flower.deployable import check_deployable, unused
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
        ({"run": {"measure": "mine:top_two_score"}}, "run.measure = 'mine:top_two_score' is for"),
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


@pytest.mark.parametrize("rehearse", [True, False])
def test_settings_of_a_file_that_nodes_do_not_use_are_told(rehearse, tmp_path, caplog) -> None:
    columns = {"name": "patients", "label": "sick", "mean": [1.0], "std": [2.0]}
    assert unused(parse({"data": columns})[0]) is None
    read_here = {"separator": ";", "encoding": "latin-1", "client": "site"}
    content = {"data": {"name": "digits"} if rehearse else {**columns, **read_here}}
    path = tmp_path / "e.toml"
    path.write_text(tomli_w.dumps({"run": {"clients": 2}, **content}))
    caplog.set_level("INFO", "fedkin")
    deploy.init(tmp_path / "site", path, "a,b", insecure=True, rehearse=rehearse)
    said = "note: nodes do not use data.client, data.encoding, data.separator: a node's file is "
    assert (said in caplog.text) is not rehearse
