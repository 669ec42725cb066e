"""The workload in pfl (Apple's pfl-research), one process.

python -m benchmarks.peers.pfl_simulation WORKLOAD FILE ROUNDS
"""

import json
import logging
import sys
import time
from itertools import pairwise
from pathlib import Path

import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.pytorch import PyTorchTensorDataset
from pfl.data.sampling import MinimizeReuseUserSampler
from pfl.hyperparam.base import NNEvalHyperParams, NNTrainHyperParams
from pfl.metrics import Metrics, Weighted
from pfl.model.pytorch import PyTorchModel
from torch.nn.functional import cross_entropy

from benchmarks.peers.workload import BATCH, LR, mean_accuracy, module, read


class Clock(TrainingProcessCallback):  # type: ignore[type-arg]
    """Evaluates everybody's test samples once, and notes when each round ended."""

    def __init__(self, net, tests) -> None:  # type: ignore[no-untyped-def]
        self.net, self.tests = net, tests
        self.accuracy = 0.0
        self.ends = [time.perf_counter()]

    def after_central_iteration(self, aggregate_metrics, model, *, central_iteration):  # type: ignore[no-untyped-def]
        self.accuracy = mean_accuracy(self.net, self.tests)
        self.ends.append(time.perf_counter())
        return False, Metrics()


def learner(name, arrays, first):  # type: ignore[no-untyped-def]
    """The module with the two functions that pfl asks for."""
    net = module(name, arrays, first)
    plain = type(net)

    class Learner(plain):  # type: ignore[misc, valid-type]
        def loss(self, x, y, eval=False):  # type: ignore[no-untyped-def]
            self.eval() if eval else self.train()
            return cross_entropy(self(x), y)

        @torch.no_grad()
        def metrics(self, x, y, eval=True):  # type: ignore[no-untyped-def]
            self.eval()
            out = self(x)
            right = (out.argmax(1) == y).float().sum().item()
            return {
                "loss": Weighted(cross_entropy(out, y).item() * len(y), len(y)),
                "right": Weighted(right, len(y)),
            }

    net.__class__ = Learner
    return net


def main(name: str, path: Path, rounds: int) -> None:
    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)
    arrays, first = read(path)
    users = list(range(arrays.clients))
    made = {k: PyTorchTensorDataset(tuple(map(torch.from_numpy, arrays.client(k)))) for k in users}
    people = FederatedDataset(made.__getitem__, MinimizeReuseUserSampler(users))

    net = learner(name, arrays, first)
    model = PyTorchModel(net, torch.optim.SGD, torch.optim.SGD(net.parameters(), 1.0))
    clock = Clock(net, arrays.tests())
    FederatedAveraging().run(
        algorithm_params=NNAlgorithmParams(
            central_num_iterations=rounds,
            # pfl would score the training samples too, before and after training: the clock above
            # evaluates in its place (round 0 is not counted)
            evaluation_frequency=rounds + 1,
            train_cohort_size=arrays.clients,
            val_cohort_size=None,
        ),
        backend=SimulatedBackend(training_data=people, val_data=None),
        model=model,
        model_train_params=NNTrainHyperParams(
            local_num_epochs=1, local_learning_rate=LR, local_batch_size=BATCH
        ),
        model_eval_params=NNEvalHyperParams(local_batch_size=None),
        callbacks=[clock],
    )
    seconds = [b - a for a, b in pairwise(clock.ends)]
    print(json.dumps({"seconds": seconds, "accuracy": clock.accuracy}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
