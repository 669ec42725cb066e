"""docs/deploy.md, "Change the experiment" and "Choose without pooling": runs of one deployment,
whose nodes are not started again, side by side.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.flower import config
from fedkin.flower.node.host import Node
from fedkin.report.comparison.compare import comparison
from fedkin.runs.spec import Spec
from tests.cli.command import fedkin
from tests.engine.small import small
from tests.flower.fleet import NAMES, Fleet

METHODS = ("local", "fedavg", "finetune")


def of(method: str, lr: float = 0.1, seed: int = 0) -> Spec:
    return small(
        method,
        run__participation=1.0,
        run__rounds=2,
        run__clients=4,
        model__name="mlr",
        train__lr=lr,
        run__seed=seed,
    )


def write(folder: Path) -> Node:
    """A node's folder with rows of its own."""
    rng = np.random.default_rng(list(folder.name.encode()))
    parts = {}
    for part in ("train", "val", "test"):
        x = rng.normal(size=(30, 2)).astype(np.float32)
        parts |= {f"x_{part}": x, f"y_{part}": (x[:, 0] > 0).astype(np.int64)}
    np.savez(folder / "data.npz", **parts)  # type: ignore[arg-type]
    return Node(folder)


def carry(fleet: Fleet, spec: Spec, names: tuple[str, ...] = NAMES) -> None:
    """The experiment into the deployment's folder, and to these nodes."""
    text = config.text_of(spec)
    (fleet.folder / config.EXPERIMENT).write_text(text)
    for name in names:
        shutil.copy(fleet.folder / config.EXPERIMENT, fleet.folder / "nodes" / name)


def ran(fleet: Fleet, specs: list[Spec]) -> list[Path]:
    """A run of each experiment, on the same nodes."""
    folders = []
    for number, spec in enumerate(specs, 1):
        carry(fleet, spec)
        fleet.out = fleet.folder / "runs" / str(number)
        fleet.out.parent.mkdir(exist_ok=True)
        folders.append(fleet.run())
    return folders


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    made = Fleet(tmp_path, of("local"), own_data=True)
    for name in NAMES:
        made.nodes[name].__init__(write(made.folder / "nodes" / name).folder)  # type: ignore[misc]
    return made


@pytest.mark.rotating
def test_runs_of_one_deployment_are_compared_node_by_node(fleet: Fleet) -> None:
    runs = ran(fleet, [*map(of, METHODS), of("local", lr=0.3)])
    found = comparison(runs[:3])
    pairs = found.against.set_index("method")["clients"]
    assert dict(pairs) == {"fedavg": 4, "finetune": 4}
    scores = found.runs.set_index("method")
    tuned, shared = scores["global loss"]["finetune"], scores["personal loss"]["fedavg"]
    assert tuned == pytest.approx(shared)  # so the run of finetune tells both
    chosen = fedkin("compare", *map(str, runs), "--best")
    assert chosen.exit_code == 0
    assert "Settings by validation" in chosen.stdout


def test_a_node_is_one_person_under_every_seed(fleet: Fleet) -> None:
    runs = ran(fleet, [of(one, seed=seed) for one in METHODS[:2] for seed in (0, 1)])
    compared = comparison(runs)
    (found,) = compared.pairs
    assert (found["seeds"], found["clients"]) == ([0, 1], 8)
    persons = [sorted(one.persons.values()) for one in compared.seen]
    assert persons == [sorted(NAMES)] * 4


def test_a_node_with_the_old_file_is_named(fleet: Fleet) -> None:
    carry(fleet, of("fedavg"), NAMES[:-1])
    fleet.configure(wait=0.1)
    with pytest.raises(FedkinError, match=r"c3: this node's experiment is \w+, not \w+"):
        fleet.run()
