"""The sentences about a run, from its ``summary``: the same in the terminal and on the page."""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from fedkin.core.errors import many, some
from fedkin.report.formatting import NONE, interval_method, label, plain
from fedkin.report.words.deployed import summed_up


def remarks(summary: Mapping[str, Any]) -> list[str]:
    """Of a run (a ``summary``): what is to be said beside its numbers.

    Args:
        summary: The numbers of a run, as ``report.summary`` gives them.

    Returns:
        A sentence each.
    """
    sentences = [
        f"measure: {label(summary['measure'])}"
        + (f" ({summary['why']})" if summary.get("why") else "")
    ]
    several = (
        summary["warnings"],
        summed_up(summary),
        diverged_views(summary),
        undefined_views(summary),
        evaluation_remarks(summary),
    )
    return [*sentences, *chain(*several)]


def evaluation_remarks(summary: Mapping[str, Any]) -> list[str]:
    """Of a run (a ``summary``): whom its rounds evaluated, where that was not everybody.

    Args:
        summary: The numbers of a run, as ``report.summary`` gives them.

    Returns:
        [] or one sentence.
    """
    panel = summary.get("evaluated")
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


def diverged_views(summary: Mapping[str, Any]) -> list[str]:
    """Of a run (a ``summary``): a sentence for each view in which a client's last loss is no finite
    number.

    Args:
        summary: The numbers of a run, as ``report.summary`` gives them.

    Returns:
        A sentence each.
    """
    finals = {view: picks["final"] for view, picks in summary["loss"].items()}
    return [
        f"{view}: {final['without']} of {many(final['without'] + final['clients'], 'client')} "
        "diverged: "
        "their test loss is no finite number, and no mean of losses has them"
        for view, final in finals.items()
        if final["without"]
    ]


def undefined_views(summary: Mapping[str, Any]) -> list[str]:
    """Of a run (a ``summary``): the views that were predicted with, and of which the measure says
    nothing of some clients.

    Args:
        summary: The numbers of a run, as ``report.summary`` gives them.

    Returns:
        A sentence each.
    """
    views: dict[str, list[str]] = {}  # of each sentence
    for view, picks in summary["headline"].items():
        final, loss = picks["final"], summary["loss"][view]["final"]
        measure = label(summary["measure"])
        missing = final["without"] - loss["without"]  # those that diverged are told of already
        if loss["clients"] and final["without"] and not final["clients"]:
            sentence = (
                f"{measure} says nothing: none of {many(final['without'], 'client')} with test "
                "samples has a number, for it is not defined there, or gives nan or infinity"
            )
        elif final["clients"] and missing > 0:
            sentence = (
                f"{missing:,} of {many(missing + final['clients'], 'client')} with test samples "
                f"{'has' if missing == 1 else 'have'} no {measure}, and no mean has "
                "them: it is not defined there (test labels of one class, say), or gives nan or "
                "infinity"
            )
        else:
            continue
        views.setdefault(sentence, []).append(view)
    return [f"{', '.join(names)}: {sentence}" for sentence, names in views.items()]


def in_the_mean(final: Mapping[str, Any]) -> str:
    """Of how many clients a mean is: "5 clients", or "3 of 5 clients" where two have no number.

    Args:
        final: A round's numbers over clients, as in ``report.summary``.

    Returns:
        Text.
    """
    if not final["without"]:
        return many(final["clients"], "client")
    return f"{final['clients']:,} of {many(final['clients'] + final['without'], 'client')}"


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
    clip = f"clip {shown('clip')}"
    if "clip_quantile" in facts:
        clip += f" at first, then along the {shown('clip_quantile')} quantile of updates' norms"
    return (
        f"{loud}epsilon {shown('epsilon')}{replaced} at delta {shown('delta')} for "
        f"{shown('protects')}, against {shown('from')}, after {rounds}; {clip}, "
        f"noise {shown('noise')} by the {by}; not covered: "
        f"{str(facts.get('outside'))[:400]}"
    )


def progress(summary: Mapping[str, Any]) -> str:
    """How far a run (a ``summary``) has come.

    Args:
        summary: The numbers of a run, as ``report.summary`` gives them.

    Returns:
        "12 of 50 rounds, NOT finished", say.
    """
    planned = NONE if summary["planned"] is None else summary["planned"]
    return (
        f"{summary['rounds']} of {planned} rounds, "
        f"{'finished' if summary['finished'] else 'NOT finished'}"
    )


def unequal_rounds(names: Mapping[int, Sequence[str]]) -> str:
    """Of runs that are compared and did not train for equally many rounds.

    Args:
        names: {number of rounds: names of the runs that had so many}, of at least two numbers.

    Returns:
        A sentence, without its capital and full stop.
    """
    parts = "; ".join(
        f"{many(rounds, 'round')}: {some(list(each), 3)}" for rounds, each in sorted(names.items())
    )
    return f"not the same number of rounds, so a difference may be one of training longer: {parts}"


def data_name(summary: Mapping[str, Any]) -> str:
    """The data of a run (a ``summary``): a name, or a file without its folders.

    Args:
        summary: The numbers of a run, as ``report.summary`` gives them.

    Returns:
        Text.
    """
    return Path(str(summary["data"])).name


def split(summary: Mapping[str, Any]) -> str:
    """The split of a run (a ``summary``) with its parameters: dirichlet alpha=0.1 floor=10.

    Args:
        summary: The numbers of a run, as ``report.summary`` gives them.

    Returns:
        Text.
    """
    options = [f"{name}={plain(value)}" for name, value in summary["split_parameters"].items()]
    return " ".join([str(summary["split"]), *options])
