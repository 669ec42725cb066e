"""Ditto (Li, Hu, Beirami & Smith, 2021): personal models beside FedAvg's. Algorithm 2."""

from fedkin.core.aggregation import Weights
from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientContext, Method
from fedkin.core.ops import scan
from fedkin.core.tree import Tree
from fedkin.core.weights import counted
from fedkin.methods.fedavg import fedavg
from fedkin.methods.fedprox import proximal_step


def ditto(
    *,
    lr: float,
    lam: float = 1.0,
    personal_lr: float | None = None,
    personal_steps: int | None = None,
    weights: Weights = "samples",
) -> Method:
    """Ditto: the global w by FedAvg; each participant moves a v of its own by ∇f(v) + λ(v − w).

    lr: learning rate of the global model's local SGD. lam: λ (the paper tries 0.05 to 2); 0 is
    local training. personal_lr: the step of v; lr if not given. personal_steps: s, how many
    mini-batches v sees in a round; else as many as [train] says. weights: of the global mean, as in
    fedavg; the authors' code has "uniform".

    Readings: w in λ(v − w) is the model received. v starts at the initial model and persists. Both
    run through the same mini-batches, so that λ = 0 is `local`. The personal view is v (LM of the
    tables), the global one w (GM).
    """
    base, rate = fedavg(lr=lr), lr if personal_lr is None else personal_lr
    if lam < 0 or rate <= 0 or (personal_steps is not None and personal_steps < 1):
        raise FedkinError(
            "ditto needs lam of at least 0, personal_lr above 0 and personal_steps of at least 1"
        )

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        _, up = base.client_update(received, own, data)
        v, w = own["parameters"], received["parameters"]
        batches = data.batches(steps=personal_steps)
        return {"parameters": scan(proximal_step, v, batches, rate * data.decay, lam, w)}, up

    method = base._replace(
        name="ditto",
        client=lambda initial, info: {"parameters": initial},
        client_update=client_update,
        personal_models=lambda w, v, data: {"personal": v["parameters"], "global": w["parameters"]},
        hyper={"lr": lr, "lam": lam, "personal_lr": personal_lr, "personal_steps": personal_steps},
    )
    return counted(method, weights)
