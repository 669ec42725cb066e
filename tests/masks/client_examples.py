"""What the tests of client and of its parts have in common."""

from collections.abc import Callable


def told_by(liars: list[int], change: Callable[[bytes], bytes]) -> Callable[[int, bytes], bytes]:
    return lambda client, blob: change(blob) if client in liars else blob
