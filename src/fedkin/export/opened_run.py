"""A run, opened to take personal models out of it: of its own clients, and of those
that joined it.
"""

import json
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError, near, some, unknown
from fedkin.core.files import read_file
from fedkin.core.method import Method
from fedkin.core.tree import Tree
from fedkin.engine.store import read_state
from fedkin.export.personal import Personal, tried
from fedkin.newcomers.join import FOLDER, FOUND, LARGEST, MODEL, experiment_of
from fedkin.runs.bounds import is_number
from fedkin.runs.checkpoint import in_training
from fedkin.runs.directory import resumed_by
from fedkin.setup.build import Assembled
from fedkin.setup.loaded_run import load, states_used

PERSONAL = "personal"  # the view that a client deploys


class Member(NamedTuple):
    """Whose model: a client's ``number``; None for one that joined, of which ``details`` is
    what its join.json says.
    """

    name: str
    number: int | None
    folder: Path | None = None
    details: dict[str, Any] = {}  # noqa: RUF012 (read only)


class Opened:
    """A run at its last committed round. Its data are read again, as the run read them.

    Args:
        folder: The run directory.
        method: The Method value that it ran; None where its method has a name.
        trust_code: Whether the code that its specification names may be imported
            (docs/security.md).
        client: The only one whose models will be asked for, as ``member`` takes it: of a run that
            goes on no other one's state is copied. None: anybody.
    """

    def __init__(
        self,
        folder: Path,
        method: Method | None = None,
        trust_code: bool = False,
        client: str | int | None = None,
    ) -> None:
        self.folder = folder
        whose = None if client is None else partial(_numbers, client)
        self.coordinator, self.parts, self.at = load(
            folder, method=method, trust_code=trust_code, of=whose
        )
        self.names = self.parts.population.names
        self.round = self.at.trained

    def member(self, client: str | int) -> Member:
        """A client, or somebody who joined the run.

        Args:
            client: The number of a client, from 0, or its name; of one that joined, its name or the
                folder of its join.

        Returns:
            Whose model it is.

        Raises:
            FedkinError: Nobody is called so, the client was held out of training, or the folder's
                model is damaged or joined another run.
        """
        number = _number(client, self.names)
        if isinstance(client, str) and client not in self.names:
            for folder in (self.folder / FOLDER / client, self.folder / client, Path(client)):
                if (folder / FOUND).is_file():
                    return self._joined(folder)
        if number is not None:
            return Member(self.names[number], number)
        apart = self.parts.held_out
        if apart is not None and client in apart.names:
            raise FedkinError(
                f"client {client!r} was held out of training: fedkin join {self.folder} "
                f"--client {client} makes a model"
            )
        joined = sorted(path.parent.name for path in (self.folder / FOLDER).glob(f"*/{FOUND}"))
        called = some(self.names, 8) + (f"; joined: {some(joined, 8)}" if joined else "")
        raise FedkinError(
            f"client {client!r} is not there{near(str(client), [*joined, *self.names])} "
            f"(clients are 0 to {len(self.names) - 1}, called {called})"
        )

    def _joined(self, folder: Path) -> Member:
        """Somebody's model that ``fedkin join`` wrote: of this run, and with all that is asked of
        it here.
        """
        try:
            details = json.loads(read_file(folder / FOUND, LARGEST))
            name, architecture = details["client"], details["architecture"]
            identity = [details[key] for key in ("method", "seed", "data_digest", "experiment")]
            if not isinstance(name, str) or not isinstance(architecture, str):
                raise TypeError
            _check_numbers(details)
        except (AttributeError, KeyError, OSError, RecursionError, TypeError, ValueError):
            raise FedkinError(
                f"{folder / FOUND} is damaged, or of an older fedkin: let the client join again"
            ) from None
        parts = self.parts
        own = [parts.method.name, parts.spec.run.seed, parts.population.digest()]
        own.append(experiment_of(self.at.facts))
        if identity != own or architecture not in parts.models:
            raise FedkinError(
                f"{folder} holds a model of another run than {self.folder}: name the run it joined"
            )
        return Member(name, None, folder, details)

    def architecture(self, member: Member) -> str:
        """The name of its model's architecture.

        Args:
            member: A client, or one that joined.

        Returns:
            A key of the run's models.
        """
        if member.number is None:
            return str(member.details["architecture"])
        return self.parts.infos[member.number].architecture

    def view(self, member: Member, view: str = PERSONAL) -> Tree:
        """What the method predicts with for it: parameters, or a mixture of several.

        Args:
            member: A client, or one that joined.
            view: "personal", or another one that the method has, such as "global".

        Returns:
            A tree of tensors and numbers.

        Raises:
            FedkinError: The method has no such view of it.
        """
        if member.folder is not None:
            views = (
                {"personal": read_state(member.folder / MODEL)}
                if view == "personal"
                else {"personal": {}}
            )
        else:
            assert member.number is not None
            # as they were evaluated
            ended = self.parts.spec.run.rounds + 1
            views = self.coordinator.views(member.number, ended, self.round)
        if view not in views:
            raise unknown("view", view, views)
        return views[view]

    def personal(self, member: Member, view: str = PERSONAL) -> Personal:
        """The model that it would deploy, in evaluation mode.

        Args:
            member: A client, or one that joined.
            view: "personal", or another one that the method has.

        Returns:
            A torch module, on the CPU.

        Raises:
            FedkinError: The method has no such view of it.
        """
        return self.deployed(member, self.view(member, view))

    def deployed(self, member: Member, view: Tree) -> Personal:
        """The same of a view that ``view`` gave.

        Args:
            member: A client, or one that joined.
            view: What ``view`` gave for it.

        Returns:
            A torch module in evaluation mode.

        Raises:
            FedkinError: Of what the view holds the method makes no model.
        """
        parts = self.parts
        with states_used(self.folder):
            model = parts.models[self.architecture(member)]
            return tried(Personal(model, view, parts.method.predict), parts.population.x)

    @property
    def unfinished(self) -> str:
        """A sentence where the run is not finished, so that its models are not its last ones; else
        empty.
        """
        if self.at.finished:
            return ""
        after = f"after round {self.round} of {self.parts.spec.run.rounds}"
        training = in_training(self.folder)
        again = "it is in training now" if training else resumed_by(str(self.folder), self.at.facts)
        return f"the run is not finished: its models are those {after} ({again})"


def _number(client: str | int, names: Sequence[str]) -> int | None:
    """Of a client by its name, or else by its number; None where nobody of the run is meant."""
    if isinstance(client, int):
        return client
    if client in names:
        return names.index(client)
    return int(client) if client.isdecimal() and int(client) < len(names) else None


def _numbers(client: str | int, parts: Assembled) -> Collection[int]:
    number = _number(client, parts.population.names)
    return () if number is None else (number,)


def _check_numbers(details: dict[str, Any]) -> None:
    """Raise where a join.json, which anybody may have written, has no number in the place of one
    that a card tells.
    """
    sent = [details["scalars"][way] for way in ("up", "down")]
    counts = [details[key] for key in ("train", "val", "test", "after_round", "rounds")]
    counts += [details["bytes"][way] for way in ("up", "down")]
    counts += [count for by_kind in sent for count in by_kind.values()]
    scores = [by for splits in details["scores"].values() for by in splits.values()]
    numbers = [number for by in scores for number in (by["loss"], by["accuracy"], *by.values())]
    others = [by for splits in details.get("measures", {}).values() for by in splits.values()]
    numbers += [number for by in others for number in by.values()]
    if not all(type(count) is int and 0 <= count < 2**63 for count in counts):
        raise TypeError
    known = [number for number in numbers if number is not None]
    if not all(type(number) in (int, float) and is_number(number) for number in known):
        raise TypeError
    details.get("notes", {}).items()
