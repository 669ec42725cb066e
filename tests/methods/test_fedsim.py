"""FedSim."""

import pytest

from tests.methods.partial_fl_examples import (
    OUT,
    WORK,
    compare,
)


@pytest.mark.certifies("partial_fl", "fedsim", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("rate", [{}, {"personal_lr": 0.05}], ids=str)
@pytest.mark.parametrize(
    ("name", "schedule"), [("partial_fl", {"schedule": "simultaneous"}), ("fedsim", {})]
)
def test_fedsim(name, schedule, rate, work):
    compare(name, "dnn", OUT, work, {**schedule, **rate})
