"""L2SGD (Hanzely & Richtárik, 2020): a mixture of global and local models, by loopless local
gradient descent.

min over w_1 … w_M of (1/M) Σ f_i(w_i) + (λ/2M) Σ ‖w_i − w̄‖². Algorithm 1 (L2GD) with mini-batch
gradients.
"""

from fedkin.core.aggregation import Mean, WeightedSum, Weights
from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import Between, NotNegative, Start, declared
from fedkin.core.method import ClientContext, Method, Needs, ServerContext
from fedkin.core.ops import scan, sgd_step
from fedkin.core.rng import Key
from fedkin.core.tree import Tree, mix


@declared
def l2sgd(
    *,
    lr: float,
    lam: NotNegative = 0.1,
    p: Between = 0.1,
    start: Start = "persistent",
    weights: Weights = "uniform",
) -> Method:
    """L2SGD: in every step a coin decides, with probability p all models move towards their mean,
    else each takes a gradient step. Only a change from local steps to the mean costs communication:
    that is a round here.

    Readings: the paper's local step is η/(M(1−p)) and its pull ηλ/(Mp), M clients. Here η =
    lr·M(1−p): a local step is lr, as in every other method, a pull lr·λ(1−p)/p, and M drops out.
    lr·λ(1−p)/p above 1 would overshoot the mean and is refused. A round is a run of heads and the
    run of tails after it: j ≥ 1 pulls, j ~ Geometric(1−p), towards the mean of the last uploads
    (which they do not move), then k ≥ 1 local steps, k ~ Geometric(p); the server draws both, so
    [train] steps and epochs are not used. In the first round all models are equal and the pulls do
    nothing. The decay multiplies η, so it slows both. Where an upload is lost, w̄ is the mean of
    those that arrived.
    Deviation: of the paper's methods only this one is built, not the variance-reduced L2SGD+.
    start = "received" keeps no w_i from round to round, as code does that lays the received model
    over all that a client has (pFedMe's, and its forks): w_i is then w̄ before its k steps, and λ
    moves nothing.

    Args:
        lr: Learning rate of a local step.
        lam: λ, the pull towards the mean; 0 is local training.
        p: The coin's chance in (0, 1) of an averaging step; a round has 1/p local steps on average.
        start: What w_i goes on from in a round: "persistent", itself, or "received", the mean w̄.
        weights: "samples" or "uniform": the weights of w̄; the paper's is uniform.

    Raises:
        FedkinError: Models persist, and lr·λ(1−p)/p is above 1.
    """
    pull = lr * lam * (1 - p) / p
    if start == "persistent" and pull > 1:
        raise FedkinError(
            f"l2sgd: lr · lam · (1 − p) / p is {pull:.3g}, and above 1 a pull overshoots the "
            "mean: lower method.lam"
        )

    def coins(key: Key) -> dict[str, int]:
        rng = key.numpy("coins")
        return {"pulls": int(rng.geometric(1 - p)), "steps": int(rng.geometric(p))}

    def broadcast(state: Tree, client: int) -> Tree:
        control = {"pulls": state["pulls"], "steps": state["steps"]}
        return {"parameters": state["parameters"], "control": control}

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        pulls, steps = received["control"]["pulls"], received["control"]["steps"]
        w = received["parameters"]
        if start == "persistent":
            share = 1 - (1 - pull * data.decay) ** pulls  # j pulls at once: w̄ stays where it is
            w = mix(own["parameters"], w, share)
        w = scan(sgd_step, w, data.batches(steps=steps), lr * data.decay)
        return {"parameters": w}, {"parameters": w}

    def server_update(state: Tree, sent: Mean, server: ServerContext) -> Tree:
        return {"parameters": sent.mean["parameters"], **coins(server.key)}

    return Method(
        name="l2sgd",
        server=lambda start: {"parameters": start.only(), **coins(start.key)},
        client=lambda initial, info: {"parameters": initial},
        broadcast=broadcast,
        client_update=client_update,
        expected_update=lambda received, info: {"parameters": received["parameters"]},
        aggregation=WeightedSum(weights),
        server_update=server_update,
        personal_models=lambda received, own, data: {
            "personal": own["parameters"],
            "global": received["parameters"],
        },
        update_newcomer=lambda state, newcomer, reply, server: {**state, **coins(server.key)},
        server_metrics=lambda state: {
            "next_pulls": {-1: state["pulls"]},
            "next_steps": {-1: state["steps"]},
        },
        needs=Needs(full_participation=True),
    )
