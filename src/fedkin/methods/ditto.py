"""Ditto (Li, Hu, Beirami & Smith, 2021): personal models beside FedAvg's. Algorithm 2."""

from fedkin.core.hyperparameters import Count, NotNegative, Positive, Start, Weights, declared
from fedkin.core.method import ClientContext, Method
from fedkin.core.ops import local_only_step, scan
from fedkin.core.tree import Tree
from fedkin.methods.fedavg import fedavg
from fedkin.methods.fedprox import proximal_step


@declared
def ditto(
    *,
    lr: float,
    lam: NotNegative = 1.0,
    personal_lr: Positive | None = None,
    personal_steps: Count | None = None,
    start: Start = "persistent",
    weights: Weights = "samples",
) -> Method:
    """Ditto: the global w by FedAvg; each participant moves a v of its own by ∇f(v) + λ(v − w).

    Readings: w in λ(v − w) is the model received. v starts at the initial model and persists. Both
    run through the same mini-batches, so that λ = 0 is `local`. The personal view is v (LM of the
    tables), the global one w (GM).
    Deviation: start = "received" keeps no v from round to round, as code does that lays the
    received model over all that a client has (pFedMe's, and its forks).

    Args:
        lr: Learning rate of the global model's local SGD.
        lam: λ (the paper tries 0.05 to 2); 0 is local training.
        personal_lr: The step of v; lr if not given.
        personal_steps: s, how many mini-batches v sees in a round; else as many as [train] says.
        start: What v goes on from in a round: "persistent", the client's own v, or "received".
        weights: "samples" or "uniform" (the authors' code): the weights of the global mean.
    """
    base, rate = fedavg(lr=lr, weights=weights), lr if personal_lr is None else personal_lr

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        _, up = base.client_update(received, own, data)
        w = received["parameters"]
        v = own["parameters"] if start == "persistent" else w
        batches, step = data.batches(steps=personal_steps), local_only_step(proximal_step)
        return {"parameters": scan(step, v, batches, rate * data.decay, lam, w)}, up

    return base._replace(
        name="ditto",
        client=lambda initial, info: {"parameters": initial},
        client_update=client_update,
        personal_models=lambda received, own, data: {
            "personal": own["parameters"],
            "global": received["parameters"],
        },
    )
