"""How a deployment is, for people and for programs."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from fedkin.cli.talk.json_output import print_json
from fedkin.core.errors import many, some
from fedkin.experiment.terminal import say


def tell(found: Mapping[str, Any], as_json: bool) -> None:
    """Print what ``fedkin deploy status`` found.

    Args:
        found: "superlink", "nodes", "run" and "privacy".
        as_json: Whether it is printed as JSON.
    """
    if as_json:
        print_json(found)
        return
    say(f"SuperLink  {found['superlink']}")
    for state, number in Counter(one["status"] for one in found["nodes"]).items():
        names = ", ".join(one["name"] for one in found["nodes"] if one["status"] == state)
        say(f"nodes      {number} {state}: {names}")
    if not found["nodes"]:  # without keys only those who are connected are known
        say("nodes      none connected")
    run = found["run"]
    if run is None:
        say("run        none yet")
    else:
        more = f", {run['waiting']}" if run["waiting"] else ""
        done = f"round {run['round']} of {run['rounds']} committed"
        say(f"run {run['run']:<6} {run['status']}, {done}{more}")
    if found["privacy"] is not None:
        say(f"privacy    {_privacy(found['privacy'])}")


def _privacy(found: Mapping[str, Any]) -> str:
    """What the runs with noise cost together; runs of other deployments are not known here."""
    each = [
        f"{'?' if one['epsilon'] is None else format(one['epsilon'], '.3g')} (run {one['run']})"
        for one in found["runs"]
    ]
    total = f"together {found['epsilon']:.3g} at delta = {found['delta']:.3g}"
    of = many(len(each), "run with noise", "runs with noise")
    return f"{of}: epsilon = {some(each, 10)}; {total} by basic composition"
