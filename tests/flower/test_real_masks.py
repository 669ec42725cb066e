"""Secure aggregation on real nodes: more messages a round, and the bits of one process."""

import pytest

from fedkin.experiment.run import run
from tests.flower.cluster import result
from tests.flower.test_masks import experiment, plain, sizeless, unsigned


@pytest.mark.parametrize("method", ["fedavg", "ditto"])
def test_masked_rounds_give_the_bits_of_one_process(method, running, tmp_path):
    running.train(experiment(method))
    deployed = result(running.run())
    assert unsigned(deployed) == sizeless(result(run(experiment(method), tmp_path / "one")))
    unmasked = result(run(plain(method), tmp_path / "plain"))
    assert deployed["fingerprint"] == unmasked["fingerprint"]
    assert not deployed["events"]
