"""FedAvg-FT: FedAvg, then every client fine-tunes the final model at home (a baseline in PPFL's
tables).
"""

from typing import Literal

from fedkin.core.hyperparameters import Count, Positive, Weights, declared
from fedkin.core.method import ClientContext, Method
from fedkin.core.ops import scan, sgd_step
from fedkin.core.tree import Params, Tree
from fedkin.methods.fedavg import fedavg
from fedkin.methods.parts.best_epoch import best_epoch, tuned_epochs


@declared
def finetune(
    *,
    lr: float,
    epochs: Count = 5,
    personal_lr: Positive | None = None,
    keep: Literal["last", "best"] = "last",
    weights: Weights = "samples",
) -> Method:
    """FedAvg for all rounds; after the last one each client runs local epochs from the final w.
    Nothing more is sent.

    Readings: the schedule's decay goes on: fine-tuning has the factor that a further round would
    have. All parameters are tuned. Until the end the personal view is the global model. A new
    client fine-tunes the last w. With keep = "best" the optimizer's state begins anew with each
    epoch, the experiment's measure decides, then the lower loss, then fewer epochs, and a client
    without validation rows keeps the last model.

    Args:
        lr: Learning rate of FedAvg's local SGD.
        epochs: Passes over the client's training data at the end (1 to 5 in PPFL).
        personal_lr: Learning rate of those; lr if not given.
        keep: "last" is the model after all epochs; "best" is, of w and the models after each epoch,
            the one that validates best at this client, by the experiment's measure.
        weights: "samples" or "uniform": the weights of the mean, as in fedavg.
    """
    rate = lr if personal_lr is None else personal_lr

    def finalize(received: Tree, own: Tree, data: ClientContext) -> Tree:
        if keep == "best":
            return best_epoch(received["parameters"], data, epochs, rate)
        batches = data.batches(purpose="finetune", epochs=epochs)
        return {"parameters": scan(sgd_step, received["parameters"], batches, rate * data.decay)}

    def personal_models(received: Tree, own: Tree, data: ClientContext) -> dict[str, Params]:
        w = received["parameters"]
        return {"personal": own.get("parameters", w), "global": w}

    return fedavg(lr=lr, weights=weights)._replace(
        name="finetune",
        finalize=finalize,
        personal_models=personal_models,
        client_metrics=tuned_epochs,
    )
