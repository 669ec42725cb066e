"""Nodes that read files of their own."""

from pathlib import Path

import numpy as np
import pytest

from fedkin.assemble import assemble
from fedkin.experiment import run
from tests.flower.cluster import NAMES, Cluster, experiment, result


def own_files(started: Cluster, folder: Path, spec) -> None:
    """Every client's rows of the experiment's data as a file of its node."""
    population = assemble(spec).population
    for client, name in enumerate(started.names):
        arrays = {}
        for part in ("train", "val", "test"):
            x, y = population.part(client, part)
            arrays |= {f"x_{part}": x.numpy(), f"y_{part}": y.numpy()}
        np.savez(started.node(name) / "data.npz", **arrays)


@pytest.mark.slow
def test_nodes_with_files_of_their_own_give_the_same_bits(tmp_path):
    public = tmp_path / "public.npz"
    digits = assemble(experiment("fedavg")).population
    np.savez(public, x=digits.x[::7].numpy(), y=digits.y[::7].numpy())
    spec = experiment("comet", public__source=str(public), public__samples=60, run__rounds=2, run__clients=2)
    started = Cluster(spec, NAMES[:2], own_data=True)
    try:
        own_files(started, tmp_path, spec)
        started.up()
        assert result(started.run()) == result(run(spec, tmp_path / "plain"))
        with_names = (started.last() / "nodes.json").read_text()
        assert all(name in with_names for name in started.names)
    finally:
        started.close()
