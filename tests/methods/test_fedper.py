"""FedPer."""

import pytest

from tests.methods.partial_fl_examples import (
    SPLITS,
    WORK,
    compare,
)


@pytest.mark.certifies("fedper", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_fedper(split, work):
    kind, choice, names = split
    compare("fedper", kind, names, work, {"personal": choice})
