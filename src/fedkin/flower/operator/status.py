"""``fedkin deploy status``: which nodes are connected, and how far the last run is. Nothing is
started, and no node is asked for anything.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.flower.config import DEPLOYMENT, SUBMITTED, Deployment, load, spec_of, waiting_of
from fedkin.flower.operator.command_line import LINK, CommandLine
from fedkin.flower.operator.submit import GOES_ON, Submitted
from fedkin.flower.waiting import word_at
from fedkin.report.privacy_costs import PrivacyCost, costs_as_json
from fedkin.runs.database import read_only
from fedkin.runs.directory import recorded

CONNECTED, UNKNOWN = "connected", "not registered"
# what Flower calls a node → what it is called here
STATES = {
    "online": CONNECTED,
    "offline": "not connected",
    "registered": "never connected",
    "unregistered": "its key was revoked",
}


def status(folder: Path, costs: Sequence[PrivacyCost]) -> dict[str, Any]:
    """How a deployment is.

    Args:
        folder: The deployment's.
        costs: What the noise of its runs has cost, as ``costs_of_runs`` reads it.

    Returns:
        What ``fedkin deploy status --json`` prints: "superlink", its address; "nodes", each with
        "name" and "status"; "run", the last one, or None; "privacy", what all runs with noise
        cost their clients together, or None.

    Raises:
        FedkinError: The SuperLink does not answer.
    """
    folder = folder.absolute()
    deployment = load(Deployment, folder, DEPLOYMENT)
    listed = CommandLine(folder, deployment).ask("supernode", "list", LINK)["nodes"]
    states = {str(node["node-id"]): str(node["status"]) for node in listed}
    return {
        "superlink": deployment.address,
        "nodes": _unnamed(states) if deployment.insecure else _named(folder, deployment, states),
        "run": _run(folder, deployment),
        "privacy": costs_as_json(costs),
    }


def _named(folder: Path, deployment: Deployment, states: dict[str, str]) -> list[dict[str, str]]:
    """Flower gives its numbers alone: which node has which was noted when it was registered."""
    nodes = []
    for name in deployment.names:
        number = folder / "keys" / f"{name}.node"
        known = number.read_text(encoding="utf-8").strip() if number.is_file() else ""
        state = states.get(known)
        shown = UNKNOWN if state is None else STATES.get(state, state)
        nodes.append({"name": name, "status": shown})
    return nodes


def _unnamed(states: dict[str, str]) -> list[dict[str, str]]:
    """Without keys a node says who it is when it is asked, and here nobody is; each start of one
    has a number of its own.
    """
    here = [number for number, state in states.items() if STATES.get(state) == CONNECTED]
    return [{"name": f"node {number}", "status": CONNECTED} for number in here]


def _run(folder: Path, deployment: Deployment) -> dict[str, Any] | None:
    try:
        kept = json.loads((folder / SUBMITTED).read_text(encoding="utf-8"))
        name, number = str(kept["run"]), str(kept["flower"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    out, done, facts = folder / "runs" / name, 0, dict[str, Any]()
    if recorded(out):
        with read_only(out) as database:
            done, facts = database.last_trained(), database.facts()
    flower = Submitted(folder, deployment, number)
    # the server app leaves word, or the SuperLink knows that it is at work
    works = not flower.word.is_file() and flower.status().startswith(GOES_ON)
    status = "going on" if works else "stopped"
    return {
        "run": name,
        "status": "finished" if facts.get("finished") else status,
        "round": done,
        "rounds": facts["rounds"] if "rounds" in facts else _planned(folder),
        "waiting": _waiting(waiting_of(folder, number)) if works else "",
    }


def _planned(folder: Path) -> int | None:
    """Rounds of a run that has no record yet. Whoever edits the experiment for the next run may
    not be done.
    """
    try:
        return spec_of(folder).run.rounds
    except FedkinError:
        return None


def _waiting(path: Path) -> str:
    """Who is waited for now: that a run goes on without others is word for the terminal that began
    it, and stays there after they are back.
    """
    word = word_at(path)
    return word if word.startswith("waiting") else ""
