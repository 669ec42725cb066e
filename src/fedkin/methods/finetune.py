"""FedAvg-FT: FedAvg, then every client fine-tunes the final model at home (a baseline in PPFL's
tables).
"""

import math
from typing import Literal

from fedkin.core.aggregation import Weights
from fedkin.core.hyperparameters import Count, Positive, declared
from fedkin.core.method import ClientContext, Method
from fedkin.core.ops import scan
from fedkin.core.tree import Params, Tree
from fedkin.methods.fedavg import fedavg, sgd_step


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

    def best(w: Params, data: ClientContext) -> Tree:
        """w after the number of epochs, 0 to ``epochs``, that validates best."""
        found, least = {"parameters": w, "epochs": 0}, data.rank(w, "val")
        for epoch in range(epochs):
            batches = data.batches(purpose=f"finetune {epoch}", epochs=1)
            w = scan(sgd_step, w, batches, rate * data.decay)
            now = data.rank(w, "val")
            if now < least or math.isnan(least[1]):  # nan: it has no validation rows
                found, least = {"parameters": w, "epochs": epoch + 1}, now
        return found

    def finalize(received: Tree, own: Tree, data: ClientContext) -> Tree:
        if keep == "best":
            return best(received["parameters"], data)
        batches = data.batches(purpose="finetune", epochs=epochs)
        return {"parameters": scan(sgd_step, received["parameters"], batches, rate * data.decay)}

    def personal_models(received: Tree, own: Tree, data: ClientContext) -> dict[str, Params]:
        return {
            "personal": own.get("parameters", received["parameters"]),
            "global": received["parameters"],
        }

    def client_metrics(own: Tree) -> dict[str, float]:
        return {"tuned_epochs": own["epochs"]} if "epochs" in own else {}

    return fedavg(lr=lr)._replace(
        name="finetune",
        finalize=finalize,
        personal_models=personal_models,
        client_metrics=client_metrics,
    )
