"""GPFL (Zhang, Hua, Wang, Song, Xue, Ma, Cao & Guan, 2023): a valve moves the features of a shared
body twice, towards embeddings of the classes that all clients share, and for the client's own head.
"""

from torch import Tensor

from fedkin.core.hyperparameters import NotNegative, Weights, declared
from fedkin.core.method import ClientContext, FederationInit, Method, Needs, likelihood
from fedkin.core.model import Model, head_of
from fedkin.core.ops import scan
from fedkin.core.tree import Tree, dtype_of
from fedkin.methods.fedavg import fedavg
from fedkin.methods.parts.conditional_valve import (
    BESIDE,
    CLASSES,
    guided_step,
    modules,
    moved,
)
from fedkin.methods.parts.extra_parameters import without
from fedkin.methods.parts.personal_head import personal_head

__all__ = ["gpfl"]


@declared
def gpfl(
    *, lr: float, lam: NotNegative = 0.01, mu: NotNegative = 0.1, weights: Weights = "samples"
) -> Method:
    """GPFL: min ℓ(g(v(h, p_i); φ_i), y) + CE(cos(v(h, g), E), y) + λ ‖v(h, g) − Ē_y‖ +
    (μ/2)(‖v‖² + ‖E‖²), h = f(x; θ_i), over θ_i, φ_i, the valve v and the embeddings E; θ, v and E
    are averaged, φ_i stays at home.

    Readings: Ē is the received E; g = Σ_c Ē_c / C, and p_i weighs Ē_c by the client's share of
    class c. The distance is a sample's, and its mean is taken. v(h, c) = ReLU((γ + 1) ∘ h + β), γ
    and β a linear layer of c, a ReLU and a layer normalization each. φ_i begins at the initial
    head.

    Deviations: the authors' code takes the E of the client's last work for g and p_i, and zeros in
    the first round. Its distance is that of a whole mini-batch.

    Args:
        lr: Learning rate of all that descends.
        lam: λ, the pull of features to their class's embedding; 0.01 in the authors' script.
        mu: μ, the decay of valve and embeddings; 0.1 in the authors' script.
        weights: "samples" or "uniform": the weights of the server's means.
    """

    def server(start: FederationInit) -> Tree:
        w, (head,) = start.only(), start.heads.values()
        made = modules(start.classes, head.size, dtype_of(w), start.key.torch("valve"))
        body = {name: value for name, value in w.items() if name not in head.names}
        return {"parameters": {**body, **made}}

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        sent, mine = received["parameters"], personal_head(own, data)
        embeddings = sent[CLASSES]
        fixed = embeddings, condition(embeddings, data), embeddings.mean(0)
        start = {**sent, **mine}
        w = scan(guided_step, start, data.batches(), *fixed, lam, mu, lr * data.decay)
        return {"head": {name: w[name] for name in mine}}, {
            "parameters": {name: w[name] for name in sent}
        }

    def personal_models(received: Tree, own: Tree, data: ClientContext) -> dict[str, Tree]:
        sent = received["parameters"]
        w = {**sent, **personal_head(own, data)}
        return {"personal": {"parameters": w, "condition": condition(sent[CLASSES], data)}}

    return fedavg(lr=lr, weights=weights)._replace(
        name="gpfl",
        server=server,
        client_update=client_update,
        personal_models=personal_models,
        predict=prediction,
        needs=Needs(classes=True, head=True),
    )


def condition(embeddings: Tensor, data: ClientContext) -> Tensor:
    """p_i [K]: the embeddings by the client's shares of classes."""
    counts = data.info.histogram.to(embeddings.dtype)
    return counts / counts.sum() @ embeddings


def prediction(model: Model, view: Tree, x: Tensor) -> Tensor:
    """What the personal head makes of the features moved for the client."""
    w, head = view["parameters"], head_of(model)
    found = head.features(without(w, BESIDE), x)
    return likelihood(model, head.scores(w, moved(w, found, view["condition"])))
