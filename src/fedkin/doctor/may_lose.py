"""Which methods may end below a simpler one on such data, with their defaults."""

from collections.abc import Sequence
from typing import Any, NamedTuple

PERSONAL = "apfl", "ditto", "fedper", "finetune", "ifca"
GLOBAL = "fedavg", "per_fedavg", "scaffold"
# By the way that comes first; measured on cases of own data (docs/own_data.md). With one concept
# an own model has fewer samples than the shared one; with groups one model for all is wrong. Where
# both an own and a shared part help, either alone may lose
OTHERS = {
    "shared": PERSONAL,
    "grouped": ("ditto", "fedavg", "finetune", "per_fedavg", "persfl", "scaffold"),
    "anchored": tuple(sorted(PERSONAL + GLOBAL)),
    "offset": tuple(sorted(PERSONAL + GLOBAL)),
}
FEDERATED = tuple(sorted({method for others in OTHERS.values() for method in others}))
BESIDE = {"shared": ("fedavg",), "grouped": ("local",)}


class MayLose(NamedTuple):
    """A caution.

    Attributes:
        methods: Names of methods.
        beside: What to compare them with, as it is typed after --method.
    """

    methods: tuple[str, ...]
    beside: tuple[str, ...]


def may_lose(federate: bool, candidates: Sequence[dict[str, Any]]) -> MayLose:
    """Which methods can end points below the better of ``local`` and ``fedavg``.

    Args:
        federate: The verdict.
        candidates: As ``candidates`` gives them, the best way first.

    Returns:
        All that federate where the verdict is to train alone; else those that lost on such data.
    """
    if not federate or not candidates:
        return MayLose(FEDERATED, ("local",))
    way = candidates[0]["way"]
    return MayLose(OTHERS[way], BESIDE.get(way, ("local", "fedavg")))
