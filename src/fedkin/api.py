"""The Python interface: describe an experiment, run it, look at what came out."""

import operator
import warnings
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from torch import Tensor

from fedkin.core.errors import FedkinError, unknown
from fedkin.core.method import Method
from fedkin.data.partitions.registry import PARTITIONS
from fedkin.data.population import Population, Split
from fedkin.data.sources import as_typed, check_name
from fedkin.experiment.resume import resume as _resume
from fedkin.experiment.run import run as _run
from fedkin.experiment.training import Progress
from fedkin.export.opened import Opened
from fedkin.export.personal import Personal
from fedkin.models.build import MODELS
from fedkin.report import frames
from fedkin.report.page.report import write_report
from fedkin.report.summary import summary
from fedkin.runs.spec import Spec, assign, parse
from fedkin.setup.build import method_of
from fedkin.setup.opened import load
from fedkin.setup.population import HELD_OUT

# Keywords without a dot, and where they belong.
PLACES = {
    **{name: f"{name}.name" for name in ("data", "split", "model", "engine")},
    **{name: f"run.{name}" for name in ("clients", "participation", "rounds", "seed", "out")},
    **{name: f"train.{name}" for name in ("lr", "batch_size", "steps", "epochs")},
    **{name: f"engine.{name}" for name in ("workers", "compile")},
    "public": "public.source",
}


class Experiment:
    """What to run: ``Experiment(method="cgpfl", data="mnist", clients=40, rounds=200,
    **{"method.clusters": 4})``.

    Keywords are the names of the command line's options; dotted ones are ``section.key`` of a
    specification. ``method`` is a name, or a Method value of your own (then engine is "inprocess").
    Raises FedkinError, here and now, for a key, a name or a value that does not exist, and warns of
    keys that have another name here.
    """

    def __init__(self, method: str | Method = "comet", **settings: Any) -> None:
        content: dict[str, Any] = {}
        self._given = {"method": method if isinstance(method, str) else method.name, **settings}
        self.method = None if isinstance(method, str) else method
        if isinstance(method, str):
            assign(content, "method.name", method)
        else:
            assign(content, "engine.name", "inprocess")
        for key, value in settings.items():
            assign(content, PLACES.get(key, key), as_typed(value) if key == "data" else value)
        self.spec: Spec
        self.spec, hints = parse(content, where="Experiment")
        for hint in hints:
            warnings.warn(hint, stacklevel=2)
        _check(self.spec, self.method)

    def __repr__(self) -> str:
        plain = [f"{key}={value!r}" for key, value in self._given.items() if "." not in key]
        dotted = {key: value for key, value in self._given.items() if "." in key}
        return f"Experiment({', '.join([*plain, *([f'**{dotted!r}'] if dotted else [])])})"


def _check(spec: Spec, method: Method | None) -> None:
    """What a specification names must exist; whether it fits the data is asked when it runs."""
    if method is None:
        method_of(spec)
    check_name(spec.data.name, spec.data.dir)
    if spec.public.source not in (None, HELD_OUT):
        check_name(spec.public.source, spec.data.dir)
    if spec.split.name not in PARTITIONS:
        raise unknown("partition", spec.split.name, PARTITIONS)
    for name in spec.model.map.values() or [spec.model.name]:
        if ":" not in name and name not in MODELS:
            raise unknown("model", name, [*MODELS, "package.module:Class"])


class Result:
    """A run directory, opened. DataFrames are read when asked for.

    Samples are as in the data set: uint8 pixels in 0..255 or float features, of a table its columns
    in their order without label and client. Classes are numbered in the sorted order of the labels;
    ``class_names`` are their values. ``trust_code``: the classes that the run of somebody else
    names may be imported (docs/security.md).
    """

    def __init__(
        self, folder: Path | str, method: Method | None = None, trust_code: bool = False
    ) -> None:
        self.folder, self._trust_code = Path(folder), trust_code
        self._method = method

    def __repr__(self) -> str:
        return f"Result({str(self.folder)!r})"

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

    def personal(self, client: int | str, view: str = "personal") -> Personal:
        """The model that a client would deploy (or its ``view`` "global"), as a torch module in
        evaluation mode.

        ``client``: its number, or its name, also that of one who joined (docs/join.md). It takes
        samples as in the data set (see ``data``). Raises FedkinError for a client or a view that is
        not there.
        """
        opened = Opened(self.folder, self._method, self._trust_code)
        if not isinstance(client, str):
            client = _number(client, len(opened.parts.infos))
        return opened.personal(opened.member(client), view)

    def data(self, client: int | str, split: Split = "test") -> tuple[Tensor, Tensor]:
        """(x, y) of one client's "train", "val" or "test" samples, as a copy: what its personal
        model takes and is measured by.

        x is as in the data set: uint8 pixels in 0..255 or float features, of a table its columns in
        their order without label and client (z-scores with data.scale). y numbers the classes in
        sorted order (``class_names``), or holds the targets. ``client``: its number, or its name.
        """
        names = self._population.names
        number = names.index(client) if isinstance(client, str) and client in names else client
        return self._population.part(_number(number, len(names)), split)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The label of class 0, 1, … in sorted order; () for regression and where the data set has
        no names.
        """
        return self._population.class_names

    @cached_property
    def _population(self) -> Population:
        return load(self.folder, method=self._method, trust_code=self._trust_code)[1].population

    def report(self) -> Path:
        """Write report.html into the run directory."""
        return write_report(self.folder)


def _number(client: int | str, clients: int) -> int:
    try:
        number = operator.index(client)  # type: ignore[arg-type]  # of a name, a TypeError
    except TypeError:
        number = -1
    if not 0 <= number < clients:
        raise FedkinError(f"client {client!r} is not there: clients are 0 to {clients - 1}")
    return number


def run(
    experiment: Experiment, out: Path | str | None = None, progress: Progress | None = None
) -> Result:
    """Run an experiment; ``progress`` is called with the Record of every round."""
    return Result(
        _run(experiment.spec, out, method=experiment.method, progress=progress), experiment.method
    )


def resume(
    folder: Path | str,
    method: Method | None = None,
    progress: Progress | None = None,
    trust_code: bool = False,
) -> Result:
    """Continue a run that was stopped; gives the numbers of an uninterrupted one."""
    return Result(
        _resume(Path(folder), method=method, progress=progress, trust_code=trust_code),
        method,
        trust_code,
    )


__all__ = ["Experiment", "Personal", "Result", "resume", "run"]
