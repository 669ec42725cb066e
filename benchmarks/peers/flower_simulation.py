"""The workload in Flower's simulation (Ray actors, one a core, the data read once an actor).

python -m benchmarks.peers.flower_simulation WORKLOAD FILE ROUNDS
"""

import json
import logging
import os
import sys
import time
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from torch import nn

from benchmarks.peers.workload import BATCH, LR, Arrays, module, read

client = ClientApp()


@cache
def everything() -> tuple[nn.Module, Arrays]:
    """The model and the data, once an actor."""
    torch.set_num_threads(1)
    arrays, first = read(Path(os.environ["PEERS_FILE"]))
    return module(os.environ["PEERS_WORKLOAD"], arrays, first), arrays


def received(
    message: Message, context: Context, test: bool
) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    model, arrays = everything()
    record: Any = message.content["arrays"]
    model.load_state_dict(record.to_torch_state_dict())
    x, y = map(torch.from_numpy, arrays.client(int(context.node_config["partition-id"]), test))
    return model, x, y


@client.train()
def train(message: Message, context: Context) -> Message:
    model, x, y = received(message, context, test=False)
    optimizer = torch.optim.SGD(model.parameters(), LR)
    for rows in torch.randperm(len(y)).split(BATCH):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()
    content = {
        "arrays": ArrayRecord(model.state_dict()),
        "metrics": MetricRecord({"num-examples": len(y)}),
    }
    return Message(RecordDict(content), reply_to=message)


@client.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    model, x, y = received(message, context, test=True)
    with torch.inference_mode():
        right = (model(x).argmax(1) == y).float().mean().item()
    return Message(
        RecordDict({"metrics": MetricRecord({"accuracy": right, "num-examples": 1})}),
        reply_to=message,
    )


class Timed(FedAvg):
    """FedAvg that notes when each round's evaluation had arrived."""

    ends: list[float]
    accuracy = 0.0

    def aggregate_evaluate(self, server_round: int, replies: Any) -> Any:
        found = super().aggregate_evaluate(server_round, replies)
        self.ends.append(time.perf_counter())
        assert found is not None
        self.accuracy = float(found["accuracy"])
        return found


def main(name: str, path: Path, rounds: int) -> None:
    os.environ.update(PEERS_FILE=str(path), PEERS_WORKLOAD=name)
    logging.disable(logging.CRITICAL)
    model, arrays = everything()
    everybody = arrays.clients
    strategy = Timed(
        min_train_nodes=everybody, min_evaluate_nodes=everybody, min_available_nodes=everybody
    )
    strategy.ends = []
    server = ServerApp()

    @server.main()
    def serve(grid: Grid, context: Context) -> None:
        strategy.start(grid=grid, initial_arrays=ArrayRecord(model.state_dict()), num_rounds=rounds)

    run_simulation(
        server_app=server,
        client_app=client,
        num_supernodes=arrays.clients,
        backend_config={
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            "init_args": {"num_cpus": os.cpu_count()},
        },
    )
    seconds = [b - a for a, b in pairwise(strategy.ends)]
    print(json.dumps({"seconds": seconds, "accuracy": strategy.accuracy}))


if __name__ == "__main__":
    # the actors unpickle the client app by its module's name, which must not be __main__
    from benchmarks.peers import flower_simulation

    flower_simulation.main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
