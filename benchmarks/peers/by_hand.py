"""FedAvg as a researcher writes it: one module, torch.optim.SGD, a loop. What a library adds or
saves shows here.

python -m benchmarks.peers.by_hand WORKLOAD FILE ROUNDS
"""

import json
import sys
import time
from pathlib import Path

import torch

from benchmarks.peers.workload import BATCH, LR, mean_accuracy, module, read


def main(name: str, path: Path, rounds: int) -> None:
    torch.set_num_threads(1)
    arrays, first = read(path)
    model = module(name, arrays, first)
    people = [tuple(map(torch.from_numpy, arrays.client(k))) for k in range(arrays.clients)]
    tests = arrays.tests()
    whole = {key: value.clone() for key, value in model.state_dict().items()}
    generator = torch.Generator().manual_seed(0)
    seconds, accuracy = [], 0.0
    for _ in range(rounds):
        began = time.perf_counter()
        total = {key: torch.zeros_like(value) for key, value in whole.items()}
        for x, y in people:
            model.load_state_dict(whole)
            optimizer = torch.optim.SGD(model.parameters(), LR)
            for rows in torch.randperm(len(y), generator=generator).split(BATCH):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
                optimizer.step()
            for key, value in model.state_dict().items():
                total[key] += value * (len(y) / len(arrays.y))
        whole = total
        model.load_state_dict(whole)
        accuracy = mean_accuracy(model, tests)
        seconds.append(time.perf_counter() - began)
    print(json.dumps({"seconds": seconds, "accuracy": accuracy}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
