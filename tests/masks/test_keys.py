"""Keys of one round."""

from fedkin.masks.client import MaskingClient
from fedkin.masks.wire import HEADER


def test_keys_are_made_for_one_round_by_the_system() -> None:
    first, second = (MaskingClient(0, 1, 2).advertise() for _ in range(2))
    content = [blob[HEADER.size :] for blob in (first, second)]
    assert len(content[0]) == 96
    assert not {content[0][k : k + 32] for k in (0, 32, 64)} & {
        content[1][k : k + 32] for k in (0, 32, 64)
    }
