"""Seconds a round of a deployment against a bare Flower app with the same payload, on the same
nodes, in turn.

    python -m benchmarks.flower [--hidden 4000] [--rounds 5] [--torch]

The bare app echoes an array of the same size to four nodes, with the same driver (own polling), and
does nothing else; with --torch its client imports torch, as a client that trains does. Both run on
one SuperLink, with TLS and authentication on; bare, fedkin, bare, fedkin.
"""

import argparse
import json
import statistics
import subprocess
import time
from typing import Any

from fedkin.flower.config import DEPLOYMENT, Deployment, load
from fedkin.flower.operator.command_line import LINK, connection, environment, program
from fedkin.flower.operator.site import APP
from fedkin.runs.database import read_only
from tests.flower.cluster import Cluster, cluster, experiment, wait_for

CLIENT = """
import numpy as np
{imports}
from flwr.app import Message, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()


@app.train("echo")
def echo(message, context):
    return Message(RecordDict({{"a": message.content["a"]}}), reply_to=message)
"""
SERVER = """
import json, time
import numpy as np
from flwr.app import ArrayRecord, Message, RecordDict
from flwr.serverapp import ServerApp

app = ServerApp()


@app.main()
def main(grid, context):
    config = context.run_config
    nodes = sorted(node.node_id for node in grid.get_nodes())
    seconds = []
    for number in range(int(config["rounds"])):
        began = time.monotonic()
        values = np.random.default_rng(number).random(int(config["size"]), dtype=np.float32)
        record = RecordDict({"a": ArrayRecord([values])})
        sent = [Message(record, node, "train.echo", ttl=600) for node in nodes]
        waiting = set(grid.push_messages(sent))
        while waiting:
            for reply in grid.pull_messages(list(waiting)):
                waiting.discard(reply.metadata.reply_to_message_id)
                assert not reply.has_error(), reply.error
            time.sleep(0.2)
        seconds.append(time.monotonic() - began)
    with open(config["out"], "w") as file:
        json.dump(seconds, file)
"""


def bare(running: Cluster, size: int, rounds: int, torch: bool) -> list[float]:
    """Seconds of each round of the bare app."""
    folder = running.home / "bare"
    package = folder / "fedkin_deployment"
    package.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(
        APP.partition("[tool.flwr.app.config]")[0].replace(
            'name = "fedkin-deployment"', 'name = "bare"'
        )
        + f'[tool.flwr.app.config]\nrounds = {rounds}\nsize = {size}\nout = ""\n'
    )
    (package / "__init__.py").write_text("")
    (package / "server_app.py").write_text(SERVER)
    (package / "client_app.py").write_text(CLIENT.format(imports="import torch" if torch else ""))
    out = running.home / "bare.json"
    out.unlink(missing_ok=True)
    home = connection(running.folder, load(Deployment, running.folder, DEPLOYMENT))
    command = [
        program("flwr"),
        "run",
        str(folder),
        LINK,
        "--run-config",
        f'out="{out}"',
        "--format",
        "json",
    ]
    done = subprocess.run(
        command, env=environment(home), capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise RuntimeError(f"flwr run: {done.stdout}{done.stderr}")
    wait_for(out.exists, 1200, running)
    time.sleep(1)
    found: list[float] = json.loads(out.read_text())
    return found


def ours(running: Cluster) -> list[float]:
    """Seconds of each round of a run, evaluation included; the first and the last have other
    messages.
    """
    with read_only(running.run()) as database:
        rows: list[Any] = database.rows(
            "SELECT seconds FROM rounds WHERE phase = 'round' ORDER BY round"
        )
    return [json.loads(text)["total"] for (text,) in rows]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hidden", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--torch", action="store_true")
    chosen = parser.parse_args()
    size = 64 * chosen.hidden + chosen.hidden + 10 * chosen.hidden + 10
    spec = experiment(
        "fedavg", model__name="dnn", model__hidden=chosen.hidden, run__rounds=chosen.rounds + 1
    )
    times: dict[str, list[float]] = {"bare": [], "fedkin": []}
    with cluster(spec) as running:
        bare(running, 10, 1, False)  # every node is there and has answered once
        for _ in range(2):
            times["bare"] += bare(running, size, chosen.rounds, chosen.torch)
            times["fedkin"] += ours(running)[1:]
    medians = {name: round(statistics.median(values), 2) for name, values in times.items()}
    print(
        json.dumps(
            {
                "floats": size,
                **medians,
                "ratio": round(medians["fedkin"] / medians["bare"], 3),
                "all": times,
            }
        )
    )


if __name__ == "__main__":
    main()
