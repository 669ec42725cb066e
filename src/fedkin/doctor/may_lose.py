"""Which methods may end below a simpler one on such data, with their defaults."""

from collections.abc import Sequence
from typing import Any, NamedTuple

# by the way that comes first; measured on cases of own data (docs/own_data.md). With one concept
# an own model has fewer samples than the shared one; with groups one model for all is wrong
OTHERS = {
    "shared": ("apfl", "ditto", "fedper", "finetune", "ifca"),
    "grouped": ("ditto", "fedavg", "finetune", "per_fedavg", "persfl", "scaffold"),
}
FEDERATED = tuple(sorted({method for others in OTHERS.values() for method in others}))


class MayLose(NamedTuple):
    """A caution.

    Attributes:
        methods: Names of methods.
        beside: What to compare them with, as it is typed after --method.
    """

    methods: tuple[str, ...]
    beside: str


def may_lose(federate: bool, candidates: Sequence[dict[str, Any]]) -> MayLose:
    """Which methods can end points below the better of ``local`` and ``fedavg``.

    Args:
        federate: The verdict.
        candidates: As ``candidates`` gives them, the best way first.

    Returns:
        All that federate where the verdict is to train alone; else those of other ways than the
        first one.
    """
    if not federate or not candidates:
        return MayLose(FEDERATED, "local")
    best = candidates[0]
    others = OTHERS.get(best["way"], ("fedavg", "per_fedavg", "scaffold"))
    return MayLose(others, "fedavg" if best["way"] == "shared" else "local")
