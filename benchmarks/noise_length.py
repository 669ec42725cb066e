"""``python -m benchmarks.noise_length``: what noise on updates costs, by its length beside the
longest update. FedAvg on digits.
"""

import argparse
from itertools import product
from statistics import mean

from fedkin import Experiment, run

CLIP, ROUNDS, SEEDS = 0.5, 30, range(3)
VALUES = {"mlr": 650, "dnn": 9_610}  # that a client sends
NOISES = (0.3, 1.0, 3.0, 10.0, 30.0)


def accuracy(model: str, clients: int, noise: float | None) -> float:
    """Mean test accuracy after the last round, in percent, over the seeds."""
    privacy = {} if noise is None else {"noise": noise, "clip": CLIP, "delta": 1e-5}
    found = []
    for seed in SEEDS:
        experiment = Experiment(
            "fedavg",
            data="digits",
            model=model,
            clients=clients,
            rounds=ROUNDS,
            seed=seed,
            privacy=privacy,
        )
        found.append(run(experiment).summary["accuracy"]["personal"]["final"]["mean"])
    return float(100 * mean(found))


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    print("| model | clients | noise, in clips | noise on the mean, in updates | accuracy | lost |")
    print("|---|---|---|---|---|---|")
    for model, clients in product(VALUES, (15, 60)):
        without = accuracy(model, clients, None)
        for noise in NOISES:
            times = noise * VALUES[model] ** 0.5 / clients
            found = accuracy(model, clients, noise)
            cells = f"{model} | {clients} | {noise:g} | {times:.2g} | {found:.1f} %"
            print(f"| {cells} | {without - found:.0f} |")


if __name__ == "__main__":
    main()
