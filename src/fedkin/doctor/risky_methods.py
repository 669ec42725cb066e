"""Which methods may end below a simpler one on such data, with their defaults."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from fedkin.doctor.kinds import FEDERATED, KINDS

ONE, FITTED, LAYERS, OWN, GROUP = KINDS
# By the way that comes first: the kinds that lose on cases of own data (docs/defaults.md). With one
# concept whatever is a client's own is learned from fewer rows; with groups one model for all is
# wrong. Where both an own and a shared part help, either alone loses. No case has "offset" first:
# it is taken for "anchored"
KINDS_THAT_LOSE = {
    "shared": (LAYERS, OWN, GROUP),
    "grouped": (ONE,),
    "anchored": tuple(KINDS),
    "offset": tuple(KINDS),
}
# Of other kinds, and lost
ALSO: dict[str, tuple[str, ...]] = {
    "shared": ("finetune",),
    "grouped": ("ditto", "fedu", "finetune", "per_fedavg", "pfedme", "ppfl"),
}
# Of these kinds, and lost on no case of the way: two cases or more, by "anchored" three or more
NEAR = "fedala", "feddbe", "fedpac", "knn_per", "persfl"
SPARED: dict[str, tuple[str, ...]] = {
    "shared": ("fedala", "fedpac", "fedu", "persfl"),
    "anchored": NEAR,
    "offset": NEAR,
}
BESIDE = {"shared": ("fedavg",), "grouped": ("local",)}


class RiskyMethods(NamedTuple):
    """A caution.

    Attributes:
        methods: Names of methods.
        beside: What to compare them with, as it is typed after --method.
    """

    methods: tuple[str, ...]
    beside: tuple[str, ...]


def risky_methods(federate: bool, candidates: Sequence[dict[str, Any]]) -> RiskyMethods:
    """Which methods can end points below the better of ``local`` and ``fedavg``.

    Args:
        federate: The verdict.
        candidates: As ``candidates`` gives them, the best way first.

    Returns:
        All that federate where the verdict is to train alone; else the kinds that lose on such
        data, without the methods that did not.
    """
    if not federate or not candidates:
        return RiskyMethods(FEDERATED, ("local",))
    way = candidates[0]["way"]
    return RiskyMethods(risky_for(way), BESIDE.get(way, ("local", "fedavg")))


def risky_for(way: str) -> tuple[str, ...]:
    """Names of the methods that may lose where a way comes first.

    Args:
        way: Of ``fedkin.doctor.fits.FEDERATED``.

    Returns:
        In the order of letters.
    """
    kinds = {name for kind in KINDS_THAT_LOSE[way] for name in KINDS[kind]}
    return tuple(sorted((kinds | set(ALSO.get(way, ()))) - set(SPARED.get(way, ()))))
