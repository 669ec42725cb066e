"""A method of one's own: FedAvg whose server takes the median of each weight, so few bad clients
cannot pull it.
"""

from collections.abc import Mapping
from pathlib import Path

import torch

from fedkin import Experiment, Result, run
from fedkin.core.aggregation import EachClient, Reply
from fedkin.core.hyperparameters import declared
from fedkin.core.method import Method, ServerContext
from fedkin.core.tree import Tree, map_tree
from fedkin.methods.fedavg import fedavg


@declared
def fedmedian(*, lr: float) -> Method:
    """w ← the coordinate-wise median of the participants' w_i (Yin et al., 2018, without its
    rates).

    lr: learning rate of local SGD, as in FedAvg, whose client side this is.
    """

    def server_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
        models = [reply.message["parameters"] for reply in replies.values()]
        return {
            "parameters": map_tree(
                lambda *xs: torch.stack(xs).median(0).values, models[0], *models[1:]
            )
        }

    return fedavg(lr=lr)._replace(
        name="fedmedian", aggregation=EachClient(), server_update=server_update
    )


def main(folder: Path = Path("runs"), rounds: int = 20) -> dict[str, Result]:
    """Both on the same clients."""
    results = {}
    for name, method in (("fedavg", "fedavg"), ("fedmedian", fedmedian(lr=0.1))):
        experiment = Experiment(
            method, data="digits", split="iid", clients=10, rounds=rounds, engine="inprocess"
        )
        results[name] = run(experiment, folder / name)
        print(name, f"{results[name].summary['accuracy']['personal']['final']['mean']:.1%}")
    return results


if __name__ == "__main__":
    main()
