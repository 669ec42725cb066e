"""LG-FedAvg."""

import pytest

from tests.methods.federation import (
    architecture,
)
from tests.methods.partial_fl_examples import (
    SPLITS,
    WORK,
    compare,
)


@pytest.mark.certifies("lg_fedavg", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_lg_fedavg(split, work):
    kind, choice, names = split
    others = [name for name in architecture(kind).initial if name not in names]
    compare("lg_fedavg", kind, others, work, {"shared": choice})
