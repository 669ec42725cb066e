"""The same bits for more methods, on the same four nodes."""

import pytest

from tests.flower.reference import same_bits


@pytest.mark.parametrize("method", ["cgpfl", "ppfl", "ditto", "fedem"])
def test_five_rounds_give_the_bits_of_one_process(method, running, tmp_path):
    same_bits(method, running, tmp_path)
