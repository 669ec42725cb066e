"""The sentences about a run, from its ``summary``: the same in the terminal and on the page."""

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from fedkin.core.errors import many
from fedkin.report.formatting import NONE, interval_method, label, plain
from fedkin.report.words.deployed import summed_up


def remarks(found: Mapping[str, Any]) -> list[str]:
    """Of a run (a ``summary``): what is to be said beside its numbers.

    Args:
        found: The summary.

    Returns:
        A sentence each.
    """
    said = [
        f"measure: {label(found['measure'])}" + (f" ({found['why']})" if found.get("why") else "")
    ]
    told = (
        found["warnings"],
        summed_up(found),
        diverged_views(found),
        undefined_views(found),
        evaluation_remarks(found),
    )
    return [*said, *chain(*told)]


def evaluation_remarks(found: Mapping[str, Any]) -> list[str]:
    """Of a run (a ``summary``): whom its rounds evaluated, where that was not everybody.

    Args:
        found: The summary.

    Returns:
        [] or one sentence.
    """
    panel = found.get("evaluated")
    if not panel:
        return []
    if panel["who"] == "participants":
        return [
            "every evaluation asked the participants of its round, the final one too: means over "
            "clients are estimates, and the intervals say how sure"
        ]
    return [
        f"rounds before the last evaluated a panel of {panel['clients']:,} of {panel['of']:,} "
        "clients: the best rounds and their means are the panel's; interval: "
        f"{interval_method(panel['clients'])} over it"
    ]


def diverged_views(found: Mapping[str, Any]) -> list[str]:
    """Of a run (a ``summary``): a sentence for each view in which a client's last loss is no finite
    number.

    Args:
        found: The summary.

    Returns:
        A sentence each.
    """
    finals = {view: picks["final"] for view, picks in found["loss"].items()}
    return [
        f"{view}: {final['without']} of {many(final['without'] + final['clients'], 'client')} "
        "diverged: "
        "their test loss is no finite number, and no mean of losses has them"
        for view, final in finals.items()
        if final["without"]
    ]


def undefined_views(found: Mapping[str, Any]) -> list[str]:
    """Of a run (a ``summary``): a sentence for each view that was predicted with, and of which the
    measure yet says nothing of anybody.

    Args:
        found: The summary.

    Returns:
        A sentence each.
    """
    said = []
    for view, picks in found["headline"].items():
        final, predicted = picks["final"], found["loss"][view]["final"]["clients"]
        if predicted and final["without"] and not final["clients"]:
            said.append(
                f"{view}: {label(found['measure'])} says nothing: none of "
                f"{many(final['without'], 'client')} with test samples has a number, for it is "
                "not defined there, or gives nan or infinity"
            )
    return said


def privacy(facts: Mapping[str, Any]) -> str:
    """What a run's noise gives (its fact ``privacy``), in one line.

    Args:
        facts: The run's fact "privacy".

    Returns:
        Text.
    """

    def shown(name: str) -> str:
        value = facts.get(name)
        return f"{value:.4g}" if isinstance(value, int | float) else str(value)[:60]

    rounds = "1 round" if facts.get("rounds") == 1 else f"{shown('rounds')} rounds"
    by = {"distributed": "clients, a share each"}.get(str(facts.get("where")), shown("where"))
    loud = "NOT PRIVATE (privacy.seeded): " if facts.get("seeded") else ""
    replaced = ""
    if "epsilon_replaced" in facts:
        replaced = f" ({shown('epsilon_replaced')} for other data in the place of a client's)"
    return (
        f"{loud}epsilon {shown('epsilon')}{replaced} at delta {shown('delta')} for "
        f"{shown('protects')}, against {shown('from')}, after {rounds}; clip {shown('clip')}, "
        f"noise {shown('noise')} by the {by}; outside of it: "
        f"{str(facts.get('outside'))[:400]}"
    )


def progress(found: Mapping[str, Any]) -> str:
    """How far a run (a ``summary``) has come.

    Args:
        found: The summary.

    Returns:
        "12 of 50 rounds, NOT finished", say.
    """
    planned = NONE if found["planned"] is None else found["planned"]
    return (
        f"{found['rounds']} of {planned} rounds, "
        f"{'finished' if found['finished'] else 'NOT finished'}"
    )


def data_name(found: Mapping[str, Any]) -> str:
    """The data of a run (a ``summary``): a name, or a file without its folders.

    Args:
        found: The summary.

    Returns:
        Text.
    """
    return Path(str(found["data"])).name


def split(found: Mapping[str, Any]) -> str:
    """The split of a run (a ``summary``) with its parameters: dirichlet alpha=0.1 floor=10.

    Args:
        found: The summary.

    Returns:
        Text.
    """
    options = [f"{name}={plain(value)}" for name, value in found["split_parameters"].items()]
    return " ".join([str(found["split"]), *options])
