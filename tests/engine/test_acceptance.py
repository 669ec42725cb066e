"""Replies that are far from the others."""

from fedkin.engine.acceptance import FAR, far_off


def test_numbers_that_are_far_from_the_others():
    usual = {client: {"parameters": 0.5} for client in (3, 1, 8)}
    assert not far_off({**usual, 2: {"parameters": FAR}})
    assert list(far_off({**usual, 2: {"parameters": 1.1 * FAR}})) == [2]
    assert not far_off({client: {"parameters": 1e9} for client in (3, 1, 8)})  # all of one size
    assert list(far_off({1: {"predictions": 2.0}, 0: {"predictions": 1e6}})) == [0]
    assert not far_off({4: {"parameters": 1e9}})
    assert not far_off({1: {}, 2: {}})
