"""FedCP (Zhang, Hua, Wang, Song, Xue, Ma & Guan, 2023): a conditional policy splits the features of
each sample between a head of all clients and one of the client's own.
"""

from torch import Tensor

from fedkin.core.hyperparameters import NotNegative, Weights, declared
from fedkin.core.method import ClientContext, FederationInit, Method, Needs, likelihood
from fedkin.core.model import Model, head_of
from fedkin.core.ops import scan
from fedkin.core.tree import Tree, dtype_of
from fedkin.methods.fedavg import fedavg
from fedkin.methods.parts.checks.linear_head import check_linear_head
from fedkin.methods.parts.conditional_policy import (
    POLICY,
    direction,
    network,
    separated,
    separated_step,
)
from fedkin.methods.parts.extra_parameters import without
from fedkin.methods.parts.personal_head import personal_head

__all__ = ["fedcp"]


@declared
def fedcp(*, lr: float, lam: NotNegative = 0.5, weights: Weights = "samples") -> Method:
    """FedCP: min ℓ(g(r ∘ h; φ_i) + g(s ∘ h; φ), y) + λ MMD(h, f(x; θ)), h = f(x; θ_i), over θ_i,
    φ_i and the policy network Θ_i, which makes r and s = 1 − r of h ∘ v_i/‖v_i‖; v_i is the sum of
    the rows of φ_i. The server takes the means of θ_i, Θ_i and (φ_i + φ)/2.

    Readings: r = e^a / (e^a + e^b), a and b what the network gives. Θ is a linear layer to 2K
    numbers, a layer normalization and a ReLU. φ_i begins at the initial head. v_i is taken once a
    round. MMD is the squared one, by the sum of the code's four Gaussian kernels, over a
    mini-batch; f(x; θ) is of the received θ in evaluation mode. Heads are linear.

    Deviations: the authors' code adds Gumbel noise to a and b, in predictions too; here nothing is
    drawn. It draws v_i at random before the first round, and hands φ and Θ to a round's
    participants alone, after their work.

    Args:
        lr: Learning rate of θ_i, φ_i and Θ_i.
        lam: λ, the pull of features towards those of the received extractor; 5 in the authors'
            script, and 0.5 validated best on the leaderboard's federations.
        weights: "samples" or "uniform": the weights of the server's means.
    """

    def server(start: FederationInit) -> Tree:
        w, (head,) = start.only(), start.heads.values()
        drawn = network(head.size, dtype_of(w), start.key.torch("policy"))
        return {"parameters": {**w, **drawn}}

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        sent, mine = received["parameters"], personal_head(own, data)
        toward = direction(mine, head_of(data.model))
        rates = lam, lr * data.decay
        w = scan(separated_step, {**sent, **mine}, data.batches(), sent, toward, *rates)
        mine = {name: w[name] for name in mine}
        half = {name: (value + sent[name]) / 2 for name, value in mine.items()}
        return {"head": mine}, {"parameters": {**w, **half}}

    def personal_models(received: Tree, own: Tree, data: ClientContext) -> dict[str, Tree]:
        sent, mine = received["parameters"], personal_head(own, data)
        common = {name: sent[name] for name in mine}
        toward = direction(mine, head_of(data.model))
        view = {"parameters": {**sent, **mine}, "head": common, "toward": toward}
        return {"personal": view}

    def check(start: FederationInit, participants: int) -> None:
        check_linear_head("fedcp adds up the rows of a linear head", start)

    return fedavg(lr=lr, weights=weights)._replace(
        name="fedcp",
        server=server,
        client_update=client_update,
        personal_models=personal_models,
        predict=prediction,
        check=check,
        needs=Needs(head=True),
    )


def prediction(model: Model, view: Tree, x: Tensor) -> Tensor:
    """What both heads make of the separated features."""
    w = view["parameters"]
    found = head_of(model).features(without(w, POLICY), x)
    return likelihood(model, separated(model, w, view["head"], found, view["toward"]))
