"""Keys of one round."""

import pytest

from fedkin.masks import keys
from fedkin.masks.client import MaskingClient
from fedkin.masks.wire import HEADER
from tests.masks.rounds import play, vectors_of

ONE, OTHER = (keys.pair_of(bytes(range(first, first + 32))) for first in (1, 2))


def test_keys_are_made_for_one_round_by_the_system() -> None:
    first, second = (MaskingClient(0, 1, 2).advertise() for _ in range(2))
    content = [blob[HEADER.size :] for blob in (first, second)]
    assert len(content[0]) == 96
    assert not {content[0][k : k + 32] for k in (0, 32, 64)} & {
        content[1][k : k + 32] for k in (0, 32, 64)
    }


def test_what_two_agree_on_is_another_key_for_each_purpose() -> None:
    key = keys.agreed(ONE.private, OTHER.public, "mask 7 1 2")
    assert key == keys.agreed(OTHER.private, ONE.public, "mask 7 1 2")
    assert key != keys.agreed(ONE.private, OTHER.public, "shares 7 1 2")


def test_no_key_hides_two_pairs_of_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """All are encrypted under the nonce 0: of two under one key, everybody could tell how the one
    differs from the other.
    """
    used: list[bytes] = []
    hide = keys.encrypt

    def noted(key: bytes, content: bytes, about: bytes) -> bytes:
        used.append(key)
        return hide(key, content, about)

    monkeypatch.setattr(keys, "encrypt", noted)
    play(vectors_of(range(5), 3), 3)
    assert len(used) == len(set(used)) == 5 * 4


def test_what_is_hidden_is_shown_at_the_place_it_was_made_for_only() -> None:
    key = keys.agreed(ONE.private, OTHER.public, "shares 1 2 3")
    blob = keys.encrypt(key, b"x", b"shares 1 2 3")
    assert keys.decrypt(key, blob, b"shares 1 2 3") == b"x"
    assert keys.decrypt(key, blob, b"shares 1 3 2") is None
    assert keys.decrypt(bytes(32), blob, b"shares 1 2 3") is None
