"""PerAda (Xie, Huang, Chu, Xu, Xiao, Li & Anandkumar, 2024): personal adapters near a global one,
which the server distils from everybody's.
"""

from fedkin.core.hyperparameters import Count, NotNegative, Positive, Weights, Whole, declared
from fedkin.core.method import Method
from fedkin.methods.ditto import ditto
from fedkin.methods.feddf import feddf


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
    near = ditto(lr=lr, lam=lam, personal_lr=personal_lr, personal_steps=personal_steps)
    base = feddf(
        lr=lr,
        distill_steps=distill_steps,
        distill_lr=distill_lr,
        public_batch=public_batch,
        weights=weights,
    )
    return base._replace(
        name="perada",
        client=near.client,
        client_update=near.client_update,  # both train what they receive as FedAvg does
        personal_models=near.personal_models,
    )
