"""``python -m tests.flower.soak MINUTES [SEED]``: random kills; nothing committed is lost."""

import random
import sys
import time
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.engine.store import read_state
from fedkin.flower.node.store import NodeStore
from fedkin.runs.checkpoint import committed
from fedkin.runs.database import read_only
from tests.flower.cluster import NAMES, Cluster, cluster, experiment, kill, with_text

VICTIMS = (
    "flower-supernode",
    "flower-supernode",
    "fedkin.flower.node.host",
    "flwr-serverapp",
    "flower-superlink",
)
PAUSE = (20.0, 70.0)  # seconds between two kills


def strike(running: Cluster, chance: random.Random) -> str:
    """Kill one process of a kind that is chosen by chance."""
    kind = chance.choice(VICTIMS)
    place = (
        running.node(chance.choice(NAMES)) if "node" in kind or "host" in kind else running.folder
    )
    pids = running.server_apps() if kind == "flwr-serverapp" else with_text(str(place), kind)
    for pid in pids:
        kill(pid)
    return f"{kind} of {place.name}: {pids}"


def check(running: Cluster) -> int:
    """Every committed round is readable, and every client's last committed state is on its node.

    Returns the round.
    """
    folder = running.last()
    with read_only(folder) as database:
        last = database.last_round()
        for number in range(last + 1):
            assert database.rows("SELECT count(*) FROM rounds WHERE round = ?", number) == [(1,)], (
                number
            )
        states = committed(folder, database)
        run = str(database.facts()["deployment"])
    for client, path in states.items():
        receipt: Any = read_state(path)
        if client >= 0 and receipt["round"]:
            found = NodeStore(running.node(NAMES[client]) / "state" / run).find(receipt["round"])
            assert found is not None, (client, receipt["round"])
    return last


def patiently(running: Cluster) -> int:
    """The check, again where a commit came between its looks."""
    for _ in range(3):
        try:
            return check(running)
        except (AssertionError, FedkinError):
            time.sleep(1)
    return check(running)


def main(minutes: float, seed: int) -> None:
    chance = random.Random(seed)
    spec = experiment("ditto", run__rounds=100_000)
    with cluster(spec, deadline=120.0) as running:
        end, next_strike = time.monotonic() + 60 * minutes, time.monotonic() + 60
        process = running.begin()
        checks, kills, resumed = 0, 0, 0
        while time.monotonic() < end:
            time.sleep(2)
            if process.poll() is not None:
                time.sleep(5)
                process, resumed = running.begin("--resume"), resumed + 1
            if time.monotonic() > next_strike:
                print(strike(running, chance), flush=True)
                kills, next_strike = kills + 1, time.monotonic() + chance.uniform(*PAUSE)
            if running.round() >= 0:
                checks, last = checks + 1, patiently(running)
        print(
            f"{kills} kills, {resumed} resumes, {checks} checks, {last} rounds committed: "
            "nothing is lost",
            flush=True,
        )


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
