"""[run] patience of a deployment: it ends with the round that one process ends with."""

from pathlib import Path
from typing import Any

from fedkin.experiment.run import run
from fedkin.flower import server
from fedkin.flower.node.host import Node
from fedkin.flower.node.model import exportable
from fedkin.flower.operator.site import init
from tests.engine.small import small
from tests.flower.cluster import result
from tests.flower.fleet import Grid

NAMES = ("c0", "c1", "c2")
EARLY = {
    "run__clients": 3,
    "run__rounds": 30,
    "run__patience": 2,
    "run__participation": 1.0,
    "train__lr": 2.0,
}


def test_nodes_finish_after_the_same_round(tmp_path: Path):
    spec = small("ditto", **EARLY)
    folder = init(tmp_path / "d", spec, NAMES, "127.0.0.1:9092", own_data=False)
    nodes: Any = {name: Node(folder / "nodes" / name) for name in NAMES}
    server.serve(Grid(nodes), folder, tmp_path / "run", folder / "stop")  # type: ignore[arg-type]
    deployed, alone = result(tmp_path / "run"), result(run(spec, tmp_path / "alone"))
    assert len(deployed["rounds"]) < 30
    assert deployed == alone
    trained = sum(phase == "round" for _, phase, *_ in alone["rounds"])
    assert {exportable(node.folder).card()["rounds"] for node in nodes.values()} == {trained}
