"""``fedkin deploy join``: submit the app for a newcomer's node, then wait until it has joined."""

import json
import sys
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError, unknown
from fedkin.experiment.training import Interrupted
from fedkin.flower.commands import flwr
from fedkin.flower.config import DEPLOYMENT, Deployment, joining_of, load, stop_of
from fedkin.flower.operator.command_line import LINK
from fedkin.flower.operator.site import write_app
from fedkin.flower.operator.submit import Submitted, check_over, one_at_a_time
from fedkin.newcomers.join import FOLDER, FOUND


def join(folder: Path, name: str, number: int | None, rounds: int | None) -> dict[str, Any]:
    """Let a newcomer's node join a run.

    Args:
        folder: The deployment's.
        name: The node's.
        number: Of the run; None: the last one.
        rounds: Local rounds; None: its validation data choose.

    Returns:
        What ``join.json`` then holds.

    Raises:
        FedkinError: The server app's sentence, or an earlier join of this node goes on, or is being
            begun.
        Interrupted: After Ctrl-C.
    """
    folder = folder.absolute()
    deployment = load(Deployment, folder, DEPLOYMENT)
    if name not in deployment.newcomers:
        raise unknown("newcomer", name, deployment.newcomers or ["none: fedkin deploy add"])
    out = _run(folder, number)
    note = joining_of(folder, name)
    flower = Submitted(folder, deployment)
    told = {
        "deployment": str(folder),
        "out": str(out),
        "join": name,
        "rounds": "" if rounds is None else str(rounds),
    }
    with one_at_a_time(folder):
        check_over(folder, deployment, note, name)
        write_app(folder / "app")  # a deployment of an earlier version does not know of newcomers
        flower.begin(told, note, out)
    asked = False
    try:
        flower.wait()
    except KeyboardInterrupt:
        asked = True
        _stop(folder, name, flower)
    try:
        flower.check("the run is as it was; ask again", asked)
    finally:
        flower.clear()
        note.unlink(missing_ok=True)
    outcome: dict[str, Any] = json.loads((out / FOLDER / name / FOUND).read_text())
    return outcome


def _stop(folder: Path, name: str, flower: Submitted) -> None:
    """Let the server app end after what the node is doing now; nothing is kept of it.

    Who does not wait leaves the note: the next join of this node takes away what it left.
    """
    stop_of(folder, flower.number).touch()
    print(
        f"stopping once {name} has answered what it was asked; Ctrl-C again does not wait for it",
        file=sys.stderr,
    )
    try:
        flower.wait()
    except KeyboardInterrupt:
        raise Interrupted(
            f"the server app stops once {name} has answered; at once: "
            + flwr(flower.home, "stop", flower.number, LINK)
        ) from None


def _run(folder: Path, number: int | None) -> Path:
    runs = [int(path.name) for path in (folder / "runs").glob("*") if path.name.isdecimal()]
    if not runs or (number is not None and number not in runs):
        raise FedkinError(f"{folder} has no run{'' if number is None else f' {number}'} to join")
    return folder / "runs" / str(number or max(runs))
