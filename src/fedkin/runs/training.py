"""[train] and [server]: what clients and the server move parameters with, for all methods alike."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import Field, field_validator, model_validator

from fedkin.core.settings.choices import AtServer, ClientOptimizer, RateShape
from fedkin.runs.bounds import BATCH, STEPS
from fedkin.runs.section import Section

if TYPE_CHECKING:
    from fedkin.core.optimizers import Optimizer

Share = Annotated[float, Field(ge=0, lt=1)]
Round = Annotated[int, Field(ge=1)]


class TrainSection(Section):
    """[train] the local work of a round, shared by all methods."""

    lr: float = Field(default=0.1, gt=0)  # learning rate
    batch_size: int = Field(default=10, ge=1, le=BATCH)  # samples of a mini-batch
    # mini-batches of a round; default: epochs
    steps: int | None = Field(default=None, ge=1, le=STEPS)
    # passes over a client's data in a round; default: 1
    epochs: int | None = Field(default=None, ge=1, le=STEPS)
    schedule: RateShape = "steps"  # of lr: milestones, or down to 0
    milestones: tuple[Round, ...] = ()  # rounds after which lr is multiplied by decay
    decay: float = Field(default=0.1, gt=0, le=1)  # of lr at each milestone
    warmup: int = Field(default=0, ge=0)  # rounds in which lr rises to its height
    optimizer: ClientOptimizer = "sgd"  # of clients' steps
    state: Literal["restarted", "kept"] = "restarted"  # of the optimizer, from round to round
    momentum: Share = 0.0  # of sgd
    nesterov: bool = False  # whether the momentum is Nesterov's
    betas: tuple[Share, Share] = (0.9, 0.999)  # of adam and adamw
    eps: float = Field(default=1e-8, gt=0)  # of adam and adamw
    weight_decay: float = Field(default=0.0, ge=0)  # share of the weights that a step removes, × lr
    decay_biases: bool = True  # whether weight_decay is of biases, too
    clip: float | None = Field(default=None, gt=0)  # the largest norm of a step's gradient
    precision: Literal["float32", "bfloat16"] = (
        "float32"  # of a training pass's products and convolutions
    )

    @model_validator(mode="after")
    def _fits(self) -> "TrainSection":
        if self.steps is not None and self.epochs is not None:
            raise ValueError("give steps or epochs, not both")
        if self.momentum and self.optimizer != "sgd":
            raise ValueError(f"momentum is of sgd: for {self.optimizer} set train.betas")
        if self.nesterov and not self.momentum:
            raise ValueError("nesterov needs a momentum above 0, most often 0.9")
        if self.milestones and self.schedule != "steps":
            raise ValueError(
                f"milestones are of schedule 'steps', not of {self.schedule!r}: leave one out"
            )
        return self

    def made_with(self) -> "Optimizer":
        """The optimizer of clients' steps.

        Returns:
            What the steps of all clients use.
        """
        from fedkin.core.optimizers import Optimizer  # torch comes with it

        return Optimizer(
            self.optimizer,
            self.momentum,
            self.nesterov,
            self.betas,
            self.eps,
            self.weight_decay,
            self.decay_biases,
            self.clip,
        )


def _ours(name: Any) -> Any:
    """An optimizer's name here; what is no such name is left to validation."""
    if not isinstance(name, str) or name in get_args(AtServer):
        return name
    from fedkin.core.optimizers import AT_SERVER  # torch comes with it

    return AT_SERVER.get(name.lower(), name)


class ServerSection(Section):
    """[server] what the server makes of the mean that clients sent (Reddi et al., 2021)."""

    # of the server; sgd with lr 1 takes the mean as it is
    optimizer: AtServer = "sgd"
    lr: float = Field(default=1.0, gt=0)  # learning rate of the server
    momentum: Share = 0.9  # β of momentum, β₁ of the others; unless set, 0 with adagrad
    beta2: Share = 0.99  # β₂ of adam and yogi
    tau: float = Field(default=1e-3, gt=0)  # added to the root of the second moment

    @field_validator("optimizer", mode="before")
    @classmethod
    def _known_by_its_paper(cls, name: Any) -> Any:
        """Reddi et al. (2021) and Hsu et al. (2019) call them FedAdam, FedAvgM and so on."""
        return _ours(name)

    @model_validator(mode="before")
    @classmethod
    def _adagrad_has_no_momentum(cls, content: Any) -> Any:
        """Reddi et al. (2021), Appendix D: β₁ = 0 for FedAdagrad, as Adagrad has none."""
        if isinstance(content, dict) and _ours(content.get("optimizer")) == "adagrad":
            return {"momentum": 0.0, **content}
        return content
