"""How a deployment is, for people and for programs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from fedkin.cli.talk.json_output import print_json
from fedkin.experiment.terminal import say
from fedkin.report.privacy_costs import PrivacyCost, costs_in_words


def print_status(status: Mapping[str, Any], costs: Sequence[PrivacyCost], as_json: bool) -> None:
    """Print what ``fedkin deploy status`` found.

    Args:
        status: "superlink", "nodes", "run" and "privacy".
        costs: What the noise of its runs has cost.
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
        of = "" if run["rounds"] is None else f" of {run['rounds']}"
        done = f"round {run['round']}{of} committed"
        say(f"run {run['run']:<6} {run['status']}, {done}{more}")
    if costs:  # runs of other deployments are not known here
        say(f"privacy    {costs_in_words(costs)}")
