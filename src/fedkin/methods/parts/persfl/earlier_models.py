"""Earlier global models, of which PersFL's server keeps some: a newcomer's teacher may be one."""

from fedkin.core.tree import Params, Tree


def with_earlier(after: Tree, state: Tree, round: int, most: int) -> Tree:
    """The server's state after a round, with earlier models: {round: model}, the rounds as text.

    Args:
        after: The new state, without them.
        state: The one before, whose model is now an earlier one; the initial model is none.
        round: From 1.
        most: How many are kept.

    Returns:
        The new state, whose ``earlier`` are evenly spread over the rounds.
    """
    before = {str(round - 1): state["parameters"]} if round > 1 else {}
    return {**after, "earlier": thinned({**state.get("earlier", {}), **before}, most)}


def thinned(models: dict[str, Params], most: int) -> dict[str, Params]:
    """At most so many of the models of rounds, those of the multiples of 1, 2, 4, … rounds.

    Args:
        models: {round: model}.
        most: How many.

    Returns:
        Some of them, in their order.
    """
    every = 1
    while len(models) > most:
        every *= 2
        models = {number: w for number, w in models.items() if int(number) % every == 0}
    return models


def places(state: Tree) -> tuple[Tree, ...]:
    """Server states for a newcomer: the model as it is, and each of the earlier ones.

    Args:
        state: Of the server.

    Returns:
        At least one; that of an earlier model says its ``round``.
    """
    earlier = state.get("earlier", {}).items()
    return (
        {"parameters": state["parameters"]},
        *({"parameters": w, "round": int(number)} for number, w in earlier),
    )


def message_of(state: Tree) -> Tree:
    """The message to a client. Only a newcomer at an earlier model is told the model's round: the
    others know it.

    Args:
        state: Of the server, or one of its ``places``.

    Returns:
        {"parameters": the model}, and perhaps ``control``.
    """
    message = {"parameters": state["parameters"]}
    return {**message, "control": {"round": state["round"]}} if "round" in state else message


def round_of(received: Tree, last: int) -> int:
    """The round whose global model was received.

    Args:
        received: What ``message_of`` made.
        last: The last round that trained.

    Returns:
        ``last``, or what a newcomer was told.
    """
    number: int = received.get("control", {}).get("round", last)
    return number
