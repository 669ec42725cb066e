"""PerAda (Xie, Huang, Chu, Xu, Xiao, Li & Anandkumar, 2024): personal adapters near a global one,
which the server distils from everybody's.
"""

from fedkin.core.aggregation import Weights
from fedkin.core.hyperparameters import Count, NotNegative, Positive, Whole, declared
from fedkin.core.method import ClientContext, Method
from fedkin.core.ops import scan
from fedkin.core.tree import Tree
from fedkin.methods.feddf import feddf
from fedkin.methods.fedprox import proximal_step


@declared
def perada(
    *,
    lr: float,
    lam: NotNegative = 1.0,
    personal_lr: Positive | None = None,
    personal_steps: Count | None = None,
    distill_steps: Whole = 100,
    distill_lr: Positive = 0.05,
    public_batch: Count = 128,
    weights: Weights = "uniform",
) -> Method:
    """PerAda (Algorithm 1): each participant moves an adapter v of its own by ∇f(v) + λ(v − w) and
    trains the adapter w that it received; the server takes the mean of what it is sent and lets it
    imitate σ(mean logits of all that were sent) on the public set, by KL.

    What an adapter is says [model] frozen: everything that is not frozen. With no part frozen v
    and w are whole models.

    Readings: v starts at the initial adapter, persists, and runs through the same mini-batches as
    w. The w of λ(v − w) is the one received.
    Deviation: the server's steps are feddf's, plain SGD for a fixed number of them; the authors'
    code has Adam with early stopping on validation data at the server, which our server has not.

    Args:
        lr: Learning rate of the received adapter's local SGD.
        lam: λ of (λ/2)‖v − w‖²; 0 is local training of v.
        personal_lr: The step of v; lr if not given.
        personal_steps: How many mini-batches v sees in a round; else as many as [train] says.
        distill_steps: Mini-batches of public_batch public rows a round; 0 leaves the mean.
        distill_lr: Learning rate of the server's distillation.
        public_batch: Public rows of a distillation step.
        weights: "uniform" (the paper) or "samples": the weights of the mean of adapters.
    """
    base = feddf(
        lr=lr, distill_steps=distill_steps, distill_lr=distill_lr, public_batch=public_batch
    )
    rate = lr if personal_lr is None else personal_lr

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        _, up = base.client_update(received, own, data)
        v, w = own["parameters"], received["parameters"]
        batches = data.batches(steps=personal_steps)
        return {"parameters": scan(proximal_step, v, batches, rate * data.decay, lam, w)}, up

    return base._replace(
        name="perada",
        client=lambda initial, info: {"parameters": initial},
        client_update=client_update,
        personal_models=lambda w, v, data: {"personal": v["parameters"], "global": w["parameters"]},
    )
