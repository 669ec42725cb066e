"""RMSE, MAE and AUC of a finished deployment: those of one process, and nothing that they cannot
be.
"""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr")

from fedkin.cli.join import lines
from fedkin.core.measures import IN_SCORES, suited
from fedkin.experiment.run import experiment, run
from fedkin.flower import newcomer
from fedkin.flower.node.host import Node
from fedkin.flower.operator.site import add
from fedkin.report.summary import summary
from fedkin.runs.database import read_only
from tests.engine.small import small
from tests.flower.cluster import result
from tests.flower.fleet import NAMES, Fleet


def site(folder: Path, label: str):
    """An experiment with four clients' table: "numbers", or two "classes"."""
    rng = np.random.default_rng(0)
    rows = [(k % 4, u, v, u - 2 * v) for k, (u, v) in enumerate(rng.normal(size=(160, 2)))]
    told = [
        f"s{k},{u:.4f},{v:.4f},{y if label == 'numbers' else int(y > 0)}" for k, u, v, y in rows
    ]
    (folder / "table.csv").write_text("\n".join(["site,u,v,label", *told]))
    return experiment(
        {
            "data": {"name": str(folder / "table.csv"), "client": "site"},
            "model": {"name": "mlr"},
            "method": {"name": "fedavg"},
            "train": {"steps": 4, "batch_size": 16, "lr": 0.05},
            "engine": {"name": "inprocess", "compile": "trace"},
            "run": {"rounds": 2, "participation": 1.0, "clients": 4},
        }
    )


@pytest.mark.parametrize(
    ("label", "names"),
    [
        ("numbers", {*suited("numbers"), "se"}),
        ("classes", {*suited("two classes"), "threshold"} - {*IN_SCORES}),
    ],
)
def test_a_deployment_measures_what_one_process_does(label, names, tmp_path):
    spec = site(tmp_path, label)
    deployed, plain = Fleet(tmp_path, spec).run(), run(spec, tmp_path / "plain")
    assert result(deployed) == result(plain)
    found = summary(deployed)["measures"]["personal"]
    assert found == summary(plain)["measures"]["personal"]
    assert set(found) == names
    assert all(numbers["clients"] == len(NAMES) for numbers in found.values())


def test_a_node_that_comes_later_is_told_its_own(tmp_path):
    rng = np.random.default_rng(0)
    fleet = Fleet(
        tmp_path,
        small("fedavg", run__participation=1.0, run__rounds=2, train__lr=0.01),
        own_data=True,
    )

    def write(node: Path) -> None:
        x = rng.normal(size=(40, 2)).astype(np.float32)
        y = x[:, 0] - 2 * x[:, 1]
        parts = {"train": slice(0, 20), "val": slice(20, 30), "test": slice(30, 40)}
        np.savez(
            node / "data.npz",
            **{f"{k}_{p}": a[at] for p, at in parts.items() for k, a in (("x", x), ("y", y))},
        )

    for name in NAMES:
        write(fleet.folder / "nodes" / name)
    fleet.run()
    late = add(fleet.folder, "late")
    write(late)
    fleet.nodes["late"] = Node(late)
    fleet.grid.names = list(fleet.nodes)
    found = newcomer.serve(fleet.grid, fleet.folder, fleet.out, "late", 1)
    measures, scores = found["measures"]["personal"]["test"], found["scores"]["personal"]["test"]
    assert measures["rmse"] == pytest.approx(
        (2 * scores["loss"]) ** 0.5, rel=1e-5
    )  # the loss is half a squared error
    shown = {line.split()[0]: line for line in lines(found)}
    assert shown["result"].endswith(f"test RMSE {measures['rmse']:.4f}")
    assert f"test MAE {measures['mae']:.4f}" in shown["also"]


def test_who_makes_them_up_is_not_evaluated(tmp_path, monkeypatch):
    fleet = Fleet(tmp_path, site(tmp_path, "classes"))
    rogue = fleet.nodes["c2"]
    answer = rogue.answer
    monkeypatch.setattr(
        rogue,
        "answer",
        lambda parts: [part.replace(b'"auc":', b'"auc":7') for part in answer(parts)],
    )
    with read_only(fleet.run()) as database:
        assert database.rows("SELECT DISTINCT client FROM measures ORDER BY client") == [
            (0,),
            (1,),
            (3,),
        ]
        said = [
            sentence
            for sentence in database.facts()["said"]
            if sentence.startswith("c2 was not evaluated")
        ]
    assert len(said) == 1
    assert "auc is never 7" in said[0]
