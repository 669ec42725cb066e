"""FedAvgM (Hsu, Qi & Brown, 2019): FedAvg whose server moves with momentum."""

from fedkin.core.aggregation import Mean
from fedkin.core.hyperparameters import Momentum, declared
from fedkin.core.method import FederationInit, Method, ServerContext
from fedkin.core.tree import Tree, add, is_buffer, map_tree, scale, sub
from fedkin.methods.fedavg import fedavg


@declared
def fedavgm(*, lr: float, beta: Momentum = 0.9) -> Method:
    """FedAvgM: v ← β v + (mean − w), w ← w + v, where mean is FedAvg's next model.

    lr: learning rate of local SGD. beta: β, the share of the last movement that is kept; 0 is
    FedAvg.

    Reading: batch-norm statistics have no momentum (a variance could become negative): they are
    FedAvg's.
    """
    base = fedavg(lr=lr)

    def server(start: FederationInit) -> Tree:
        w = start.only()
        return {"parameters": w, "velocity": map_tree(lambda x: 0 * x, w)}

    def broadcast(state: Tree, client: int) -> Tree:
        return {"parameters": state["parameters"]}

    def server_update(state: Tree, sent: Mean, server: ServerContext) -> Tree:
        w, mean = state["parameters"], base.server_update(state, sent, server)["parameters"]
        velocity = add(scale(beta, state["velocity"]), sub(mean, w))
        moved = add(w, velocity)
        return {
            "parameters": {n: mean[n] if is_buffer(n) else moved[n] for n in w},
            "velocity": velocity,
        }

    return base._replace(
        name="fedavgm", server=server, broadcast=broadcast, server_update=server_update
    )
