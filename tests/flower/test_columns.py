"""Tables of nodes: a model knows a column by its place, so all nodes must have the same
ones there.
"""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.flower import config, newcomer
from fedkin.flower.node.host import Node
from fedkin.flower.operator.site import add
from fedkin.report.summary import summary
from fedkin.report.words import run_words
from tests.engine.small import small
from tests.flower.fleet import NAMES, Fleet

ORDER = ("age", "bmi")


def write(folder: Path, columns: tuple[str, ...] = ORDER) -> Node:
    """A node's folder with a table of these columns; none: an .npz file of two."""
    rng = np.random.default_rng(0)
    own = "data.csv" if columns else "data.npz"
    if columns:
        rows = [
            ",".join(
                [*(f"{value:.3f}" for value in rng.normal(size=len(columns))), str(k % 2), part]
            )
            for part in ("train", "val", "test")
            for k in range(8)
        ]
        (folder / own).write_text("\n".join([",".join([*columns, "label", "split"]), *rows]))
    else:
        x, y = rng.normal(size=(8, 2)).astype(np.float32), np.arange(8) % 2
        np.savez(
            folder / own,
            **{f"{k}_{part}": a for part in ("train", "val") for k, a in (("x", x), ("y", y))},
        )
    settings = folder / config.NODE
    settings.write_text(settings.read_text().replace("data.npz", own))
    return Node(folder)


def site(folder: Path, *others: tuple[str, ...]) -> Fleet:
    """Four nodes: the last ones have the columns of ``others``."""
    spec = small("fedavg", run__participation=1.0, run__rounds=1, model__name="mlr", train__lr=0.01)
    fleet = Fleet(folder, spec, own_data=True)
    for name, columns in zip(NAMES, [*[ORDER] * (len(NAMES) - len(others)), *others], strict=True):
        fleet.nodes[name].__init__(write(fleet.folder / "nodes" / name, columns).folder)
    return fleet


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (("bmi", "age"), "column 1 of c3 is 'bmi', of c0 'age'"),
        (("age", "weight"), "column 2 of c3 is 'weight', of c0 'bmi'"),
        (("age", "bmi", "visits"), "column 3 of c3 is 'visits', of c0 none"),
        (("age",), "column 2 of c3 is none, of c0 'bmi'"),
    ],
)
def test_other_columns_or_another_order_are_refused_before_training(columns, told, tmp_path):
    fleet = site(tmp_path, columns)
    with pytest.raises(FedkinError, match=told):
        fleet.run()
    assert not (fleet.out / "run.db").exists()


def test_a_file_without_names_is_taken_beside_tables(tmp_path):
    fleet = site(tmp_path, ())
    assert (fleet.run() / "run.db").is_file()


def test_a_record_states_no_partition_of_data_that_nodes_have(tmp_path):
    """[split] has its defaults in experiment.toml, and divided nothing."""
    found = summary(site(tmp_path).run())
    assert (found["split"], found["split_parameters"]) == ("the nodes' own", {})
    assert run_words.split(found) == "the nodes' own"


def test_a_node_that_comes_later_has_them_too(tmp_path):
    fleet = site(tmp_path)
    fleet.run()
    late = add(fleet.folder, "late")
    fleet.nodes["late"] = write(late, ("bmi", "age"))
    fleet.grid.names = list(fleet.nodes)
    with pytest.raises(FedkinError, match="column 1 of late is 'bmi', of the run's nodes 'age'"):
        newcomer.serve(fleet.grid, fleet.folder, fleet.out, "late", 1)
    fleet.nodes["late"].__init__(write(late).folder)
    assert newcomer.serve(fleet.grid, fleet.folder, fleet.out, "late", 1)["client"] == "late"
