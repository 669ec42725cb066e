"""How a deployment is, for people and for programs."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from fedkin.cli.talk.json_output import print_json
from fedkin.core.errors import many, some
from fedkin.experiment.terminal import say


def tell(status: Mapping[str, Any], as_json: bool) -> None:
    """Print what ``fedkin deploy status`` found.

    Args:
        status: "superlink", "nodes", "run" and "privacy".
        as_json: Whether it is printed as JSON.
    """
    if as_json:
        print_json(status)
        return
    say(f"SuperLink  {status['superlink']}")
    for state, number in Counter(one["status"] for one in status["nodes"]).items():
        names = ", ".join(one["name"] for one in status["nodes"] if one["status"] == state)
        say(f"nodes      {number} {state}: {names}")
    if not status["nodes"]:  # without keys only those who are connected are known
        say("nodes      none connected")
    run = status["run"]
    if run is None:
        say("run        none yet")
    else:
        more = f", {run['waiting']}" if run["waiting"] else ""
        done = f"round {run['round']} of {run['rounds']} committed"
        say(f"run {run['run']:<6} {run['status']}, {done}{more}")
    if status["privacy"] is not None:
        say(f"privacy    {_privacy(status['privacy'])}")


def _privacy(costs: Mapping[str, Any]) -> str:
    """What the runs with noise cost together; runs of other deployments are not known here."""
    each = [
        f"{'?' if one['epsilon'] is None else format(one['epsilon'], '.3g')} (run {one['run']})"
        for one in costs["runs"]
    ]
    total = "together unknown"
    if costs["epsilon"] is not None:
        total = (
            f"together {costs['epsilon']:.3g} at delta = {costs['delta']:.3g} by basic composition"
        )
    of = many(len(each), "run with noise", "runs with noise")
    return f"{of}: epsilon = {some(each, 10)}; {total}"
