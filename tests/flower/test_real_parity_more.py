"""The same bits for more methods, in a process and with a cluster of their own."""

import pytest

from tests.flower.reference import same_bits

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("method", ["cgpfl", "ppfl", "ditto", "fedem"])
def test_five_rounds_give_the_bits_of_one_process(method, running, tmp_path):
    same_bits(method, running, tmp_path)
