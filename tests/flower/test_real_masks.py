"""Secure aggregation on real nodes: more messages a round, and the bits of one process."""

import pytest

from fedkin.experiment.run import run
from tests.flower.cluster import result
from tests.flower.test_masks import experiment, plain, sizeless, unsigned


@pytest.mark.parametrize(("method", "seeded"), [("fedavg", False), ("ditto", True)])
def test_masked_rounds_give_the_bits_of_one_process(method, seeded, running, tmp_path):
    running.train(experiment(method, seeded))
    deployed = result(running.run())
    one = run(experiment(method, seeded), tmp_path / "one")
    assert unsigned(deployed) == sizeless(result(one))
    unmasked = result(run(plain(method), tmp_path / "plain"))
    assert deployed["fingerprint"] == unmasked["fingerprint"]
    assert not deployed["events"]
