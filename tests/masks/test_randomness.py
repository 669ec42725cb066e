"""Where keys come from."""

import pytest

from fedkin.core.rng import Secret, seeded
from fedkin.masks import keys
from fedkin.masks.randomness import not_private


def test_a_secret_that_protects_makes_no_repeatable_keys() -> None:
    with pytest.raises(ValueError, match="come from the system"):
        not_private(Secret(bytes(32)), 1, 0)
    draw = not_private(seeded(3), 1, 0)
    assert draw("seed", 32) == draw("seed", 32) != draw("key", 32)
    assert not_private(seeded(3), 2, 0)("seed", 32) != draw("seed", 32)
    assert not_private(seeded(3), 1, 1)("seed", 32) != draw("seed", 32)
    assert len(keys.commitment(draw("seed", 32))) == 32
