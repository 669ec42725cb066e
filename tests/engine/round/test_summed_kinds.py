"""A sum over what no client sends ends a run before any client works."""

import pytest
import torch

from fedkin.core.aggregation import WeightedSum
from fedkin.core.errors import FedkinError
from fedkin.engine.coordinator import Coordinator
from fedkin.engine.round.summed_kinds import check_summed
from fedkin.engine.transports.base import InProcess
from fedkin.setup.build import assemble
from fedkin.setup.hosts import host_of
from tests.engine.small import small


def coordinator(work, kinds):
    """FedAvg's, whose server says that it sums these kinds, and whose clients note their work."""
    parts = assemble(small("fedavg"))
    plain = parts.method

    def client_update(down, own, data):
        work.append(data.info.client)
        return plain.client_update(down, own, data)

    parts = parts._replace(
        method=plain._replace(client_update=client_update, aggregation=WeightedSum(kinds=kinds))
    )
    transport = InProcess(host_of(parts, sorted(parts.infos), None))
    return Coordinator(parts.method, parts.federation, transport)


def test_a_kind_that_nobody_sends_is_refused_before_the_first_round():
    work = []
    says = "sums control, which its clients do not send: a message has parameters"
    with pytest.raises(FedkinError, match=says):
        coordinator(work, ("parameters", "control")).round(1)
    assert not work


def test_a_method_that_sends_parameters_in_other_rounds_is_let_through():
    check_summed(assemble(small("ppfl")).method, {"coefficients": torch.zeros(3)})


def test_it_is_asked_once(monkeypatch):
    asked = []
    monkeypatch.setattr("fedkin.engine.coordinator.check_summed", lambda *_: asked.append(1))
    one = coordinator([], ("parameters",))
    one.round(1)
    one.round(2)
    assert len(asked) == 1
