"""What a run says of clients that no round had."""

from collections.abc import Mapping

from fedkin.core.errors import many
from fedkin.core.tree import Tree
from fedkin.engine.untrained import begins_untrained
from fedkin.setup.build import Assembled


def never_drawn(parts: Assembled, state: Tree, rounds_of: Mapping[int, int]) -> list[str]:
    """A sentence where clients took part in no round and deploy something that nobody trained.

    Args:
        parts: The run's objects.
        state: The server's state after the last round.
        rounds_of: client → in how many rounds it took part.

    Returns:
        [] or one sentence.
    """
    left = [client for client in parts.infos if not rounds_of.get(client)]
    if not left:
        return []
    info, method = parts.infos[left[0]], parts.method
    alike = (
        k for k in rounds_of if rounds_of[k] and parts.infos[k].architecture == info.architecture
    )
    model = parts.models[info.architecture]
    if not begins_untrained(method, state, model, info, next(alike, None)):
        return []
    whose = f"{method.name} with safe" if method.beside_own else method.name
    return [
        f"{len(left)} of {many(len(parts.infos), 'client')} took part in no round: what {whose} "
        "keeps of a personal model for its client alone is untrained there; raise run.rounds or "
        "run.participation"
    ]
