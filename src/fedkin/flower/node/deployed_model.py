"""What a node keeps beside the model that it deploys: enough to use it whatever the node's folder
says by then.
"""

import json
from pathlib import Path

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field

from fedkin.core.errors import FedkinError, some
from fedkin.data.population import Population
from fedkin.data.tables.encoding import from_plain
from fedkin.engine.model_sources import ModelSources
from fedkin.flower import config
from fedkin.flower.envelope import Facts, Place
from fedkin.flower.node.store import MODEL, SUFFIX, NodeStore
from fedkin.runs.spec import Spec

Scores = dict[str, dict[str, tuple[float, float]]]  # view → split → (loss, accuracy)


class Details(BaseModel):
    """The experiment that the model was trained in, the client's place there, and what its data
    were.

    ``facts`` and ``encoding`` are None where the client had its part of the experiment's [data].
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: str
    spec: Spec
    place: Place
    round: int = Field(ge=0)  # in which the model was looked at: the one after its last
    trained: int | None = Field(default=None, ge=0)  # rounds of the run; None: of a newcomer
    again: int = Field(default=0, ge=0)  # models of rounds that the server released once more
    model_sources: ModelSources = ModelSources(
        own=True, samples=True
    )  # of one that was kept without: both
    took_part: int | None = Field(default=None, ge=0)  # in how many of them; None: as trained
    samples: dict[str, int]
    facts: Facts | None
    encoding: list[dict[str, object]] | None
    scores: Scores
    measures: dict[str, dict[str, dict[str, float]]] = {}
    notes: dict[str, object] = {}


class KeptModel:
    """One model that a node kept.

    Args:
        node: What node.toml says.
        folder: Of the node.
        run: The beginning of the name of its run's folder in ``state``; None: the newest.

    Raises:
        FedkinError: There is none, or it is damaged.
    """

    def __init__(self, node: config.NodeConfig, folder: Path, run: str | None) -> None:
        state = folder / node.state
        self.run = _chosen(state, run)
        commit = NodeStore(state / self.run).find(MODEL)
        assert commit is not None
        self.view = commit.state
        try:
            self.details = Details.model_validate_json(json.dumps(commit.details))
        except ValueError:  # pydantic's is one
            path = state / self.run / f"{MODEL}{SUFFIX}"
            raise FedkinError(f"{path} is damaged, or of another fedkin") from None

    def blank(self) -> Population:
        """The node's data at its number, as they were, without a sample: what a model
        is built by.

        Returns:
            A population in which every client is empty.
        """
        facts, place = self.details.facts, self.details.place
        assert facts is not None
        nobody = np.empty(0, dtype=np.int64)
        return Population(
            name="a node's own",
            x=torch.zeros((0, *facts.shape), dtype=getattr(torch, facts.dtype)),
            y=torch.zeros(0, dtype=torch.int64 if place.classes else torch.float32),
            classes=place.classes,
            task=facts.task,
            train=(nobody,) * place.clients,
            val=(nobody,) * place.clients,
            test=(nobody,) * place.clients,
            encoding=None if self.details.encoding is None else from_plain(self.details.encoding),
        )


def _chosen(state: Path, run: str | None) -> str:
    files = sorted(state.glob(f"*/{MODEL}{SUFFIX}"), key=lambda path: path.stat().st_mtime_ns)
    names = [path.parent.name for path in files]
    chosen = [name for name in names if name.startswith(run or "")]
    if not chosen:
        there = f": {some(names)}" if names else ", until a run that it takes part in is finished"
        raise FedkinError(
            f"{state} holds no model{f' of a run {run!r}' if run and names else ''}{there}"
        )
    if run and len(chosen) > 1:
        raise FedkinError(f"{run!r} is the beginning of several runs: {some(chosen)}")
    return chosen[-1]
