"""FedRep (Collins, Hassani, Mokhtari & Shakkottai, 2021): a shared representation, a head for each
client. Algorithm 1.
"""

from fedkin.core.hyperparameters import Count, Layers, Positive, Weights, declared
from fedkin.core.method import Method
from fedkin.methods.partial_fl import partial_fl


@declared
def fedrep(
    *,
    lr: float,
    personal: Layers = "last",
    personal_lr: Positive | None = None,
    personal_steps: Count | None = None,
    weights: Weights = "uniform",
) -> Method:
    """FedRep: τ steps of the head h_i on the received representation φ, then steps of φ with the
    new head; the server takes the mean of the representations.

    Readings: all heads start from the same draw. The two halves draw mini-batches of their own.

    Deviations: Algorithm 1 takes one step of φ in a round (its experiments one epoch) and many of
    the head; here both are what [train] says, unless τ is given. The authors' code, as a copy of it
    reads, ends with a round in which every client trains its head alone, and tests a client with
    the φ that its own training left.

    Args:
        lr: Learning rate of φ.
        personal: The head, by name, as in fedper.
        personal_lr: Learning rate of the head; lr if not given.
        personal_steps: τ, the steps of the head in a round (the paper uses many: 10 epochs beside 1
            of φ); else as many as [train] says.
        weights: "samples" or "uniform": the weights of the mean; the paper's server takes the plain
            one over the r·n participants.
    """
    base = partial_fl(
        lr=lr,
        personal=personal,
        schedule="alternate",
        personal_lr=personal_lr,
        personal_steps=personal_steps,
        weights=weights,
    )
    return base._replace(name="fedrep")
