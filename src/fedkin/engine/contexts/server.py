"""The server's tools in one round: what a method's ``server_update`` is given."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from fedkin.core.model import Model
from fedkin.core.ops import Batches, Scanner
from fedkin.core.rng import Key, Secret
from fedkin.engine.contexts.rows import drawn_batches
from fedkin.engine.contexts.schedule import Schedule


@dataclass(frozen=True)
class ServerTools:
    """``ServerContext`` over a federation's models and its public set."""

    key: Key
    models: Mapping[str, Model]
    public: Tensor | None
    public_y: Tensor | None
    runtime: Scanner
    schedule: Schedule
    secret: Secret | None = None

    @property
    def decay(self) -> float:
        """This round's learning-rate factor, from the schedule in [train]."""
        return self.schedule.factor(self.key.round)

    def rows(
        self, model: Model, tensors: tuple[Tensor, ...], size: int, steps: int, purpose: str
    ) -> Batches:
        """Mini-batches of a public set, as ``ServerContext.rows`` says.

        Args:
            model: Whose parameters the steps move.
            tensors: Of one first axis, [n, …] each.
            size: Rows of a batch.
            steps: How many batches.
            purpose: Names the random stream.

        Returns:
            With plain SGD, unless the caller says otherwise.
        """
        return drawn_batches(self.runtime, model, tensors, size, steps, self.key.numpy(purpose))
