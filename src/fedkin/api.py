"""The Python interface: describe an experiment, run it, look at what came out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from torch import Tensor, nn

from fedkin.core.method import Method
from fedkin.core.model import Model
from fedkin.core.tree import Tree, named_leaves
from fedkin.experiment import Progress, load
from fedkin.experiment import resume as _resume
from fedkin.experiment import run as _run
from fedkin.report import frames
from fedkin.report.html import write_report
from fedkin.report.summary import summary
from fedkin.runs.spec import Spec, assign, parse

# Keywords without a dot, and where they belong.
PLACES = {
    **{name: f"{name}.name" for name in ("data", "split", "model", "engine")},
    **{name: f"run.{name}" for name in ("clients", "participation", "rounds", "seed", "out")},
    **{name: f"train.{name}" for name in ("lr", "batch_size", "steps", "epochs")},
    **{name: f"engine.{name}" for name in ("workers", "compile")},
    "public": "public.source",
}


class Experiment:
    """What to run: ``Experiment(method="cgpfl", data="mnist", clients=40, rounds=200, **{"method.clusters": 4})``.

    Keywords are the names of the command line's options; dotted ones are ``section.key`` of a specification.
    ``method`` is a name, or a Method value of your own (then engine is "inprocess"). Raises FedkinError for a key or a
    value that does not exist.
    """

    def __init__(self, method: str | Method = "comet", **settings: Any) -> None:
        content: dict[str, Any] = {}
        self.method = None if isinstance(method, str) else method
        if isinstance(method, str):
            assign(content, "method.name", method)
        else:
            assign(content, "engine.name", "inprocess")
        for key, value in settings.items():
            assign(content, PLACES.get(key, key), value)
        self.spec: Spec = parse(content)[0]


class Personal(nn.Module):
    """One client's personal model: ``forward(x)`` gives log-probabilities [batch, classes] (means for regression).

    Its parameters are those of the run; they can be saved, exported, or trained on.
    """

    def __init__(self, model: Model, view: Tree, predict: Callable[[Model, Tree, Tensor], Tensor]) -> None:
        super().__init__()
        self._model, self._predict, self._like = model, predict, view
        for path, leaf in named_leaves(view):
            self.register_parameter(path.replace(".", "_"), nn.Parameter(leaf.clone(), leaf.is_floating_point()))

    def forward(self, x: Tensor) -> Tensor:
        """x: [batch, …] like the data (uint8 pixels or float features)."""
        from fedkin.core.tree import fill

        view = fill(self._like, iter(self.parameters()))
        return self._predict(self._model, view, x)


class Result:
    """A run directory, opened. DataFrames are read when asked for."""

    def __init__(self, folder: Path | str, method: Method | None = None) -> None:
        self.folder = Path(folder)
        self._method = method

    @property
    def summary(self) -> dict[str, Any]:
        """What ``fedkin show --json`` prints."""
        return summary(self.folder)

    @property
    def metrics(self) -> pd.DataFrame:
        """One row a round, client, view and split: loss and accuracy."""
        return frames.metrics(self.folder)

    @property
    def communication(self) -> pd.DataFrame:
        """One row a message: its direction, kind, scalars and bytes."""
        return frames.communication(self.folder)

    @property
    def notes(self) -> pd.DataFrame:
        """What the method told of clients, round by round: clusters, memberships, teachers."""
        return frames.notes(self.folder)

    def personal(self, client: int, view: str = "personal") -> Personal:
        """The model that a client would deploy (or its ``view`` "global"), as a torch module in evaluation mode."""
        coordinator, parts = load(self.folder, method=self._method)
        views = coordinator.views(client)
        return Personal(parts.models[parts.infos[client].architecture], views[view], parts.method.predict).eval()

    def report(self) -> Path:
        """Write report.html into the run directory."""
        return write_report(self.folder)


def run(experiment: Experiment, out: Path | str | None = None, progress: Progress | None = None) -> Result:
    """Run an experiment; ``progress`` is called with the Record of every round."""
    return Result(_run(experiment.spec, out, method=experiment.method, progress=progress), experiment.method)


def resume(folder: Path | str, method: Method | None = None, progress: Progress | None = None) -> Result:
    """Continue a run that was stopped; gives the numbers of an uninterrupted one."""
    return Result(_resume(Path(folder), method=method, progress=progress), method)


__all__ = ["Experiment", "Personal", "Result", "resume", "run"]
