"""Nodes that read files of their own."""

import numpy as np
import pytest

from fedkin.experiment.run import run
from fedkin.setup.build import assemble
from tests.flower.cluster import NAMES, Cluster, experiment, result
from tests.flower.reference import write_rows


@pytest.mark.slow
def test_nodes_with_files_of_their_own_give_the_same_bits(tmp_path):
    public = tmp_path / "public.npz"
    digits = assemble(experiment("fedavg")).population
    np.savez(public, x=digits.x[::7].numpy(), y=digits.y[::7].numpy())
    spec = experiment(
        "comet", public__source=str(public), public__samples=60, run__rounds=2, run__clients=2
    )
    started = Cluster(spec, NAMES[:2], own_data=True)
    try:
        population = assemble(spec).population
        for client, name in enumerate(started.names):
            write_rows(started.node(name) / "data.npz", population, client)
        started.up()
        assert result(started.run()) == result(run(spec, tmp_path / "plain"))
        with_names = (started.last() / "nodes.json").read_text()
        assert all(name in with_names for name in started.names)
    finally:
        started.close()
