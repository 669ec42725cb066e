"""Code of one's own in a deployment: it is told what the owner of a node has to allow."""

import json

import tomli_w

from fedkin.flower import config
from fedkin.flower.envelope import Request, sealed
from fedkin.flower.node.host import Node
from tests.cli.command import fedkin
from tests.engine.small import small

HALVED = "tests.parity.halved:halved"
LINE = f'imports = ["{HALVED}"]'


def site(folder, method):
    spec = small("fedavg", run__clients=2, run__participation=1.0)
    content = spec.model_dump(mode="json", exclude_none=True)
    content["method"]["name"] = method
    (folder / "experiment.toml").write_text(tomli_w.dumps(content))
    options = ["--spec", str(folder / "experiment.toml"), "--clients", "north,south", "--insecure"]
    made = fedkin("deploy", "init", folder / "site", *options, "--trust-code")
    assert made.exit_code == 0, made.output
    return folder / "site", made.output


def test_the_operator_is_told_what_every_node_must_allow(tmp_path):
    made, said = site(tmp_path, HALVED)
    assert f"a node refuses code that its owner did not allow: each node.toml needs {LINE}" in said
    manual = (made / "README.md").read_text()
    assert "## Code of your own" in manual
    assert f"\n{LINE}\n" in manual


def test_nothing_is_said_where_there_is_no_such_code(tmp_path):
    made, said = site(tmp_path, "fedavg")
    assert "imports" not in said
    assert "imports" not in (made / "README.md").read_text()


def test_a_node_that_allows_nothing_says_in_one_sentence_what_to_write_where(tmp_path):
    made, _ = site(tmp_path, HALVED)
    node = Node(made / "nodes" / "north")
    assert node.config.imports == ()
    asked = Request(
        version=node.version,
        experiment=config.fingerprint(config.spec_of(made)),
        run="",
        name="north",
    )
    (answer,) = node.answer([sealed(asked)])
    assert json.loads(answer)["error"] == (
        f"the experiment names code ({HALVED}) that this node does not import: if its operator "
        f"trusts it, node.toml says so: {LINE}"
    )
