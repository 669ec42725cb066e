"""A node's own model out of its folder, for ``fedkin deploy export`` and ``predict``: nobody else is asked.

The host keeps what the client deploys when a run is over (``vault.MODEL``), with the experiment that it was trained in:
the folder may serve another one by now.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.assemble import for_models, method_of
from fedkin.core.errors import FedkinError, some
from fedkin.data.clients import Population
from fedkin.engine.wire import decode
from fedkin.flower import config, data
from fedkin.flower.envelope import Place
from fedkin.flower.place import models_at
from fedkin.flower.vault import MODEL, SUFFIX, Commit, Vault
from fedkin.handover.card import input_of, output_of
from fedkin.handover.handed import Handed, samples_of
from fedkin.handover.personal import Personal
from fedkin.populate import population_of
from fedkin.report.records import number
from fedkin.runs.spec import DataSection, Spec


class Kept(NamedTuple):
    """A model that the node has: the name of the run's folder in ``state``, and what was kept."""

    run: str
    commit: Commit


def handed(folder: Path, run: str | None = None) -> Handed:
    """The model of a node's last finished run, or of the one whose folder in ``state`` begins with ``run``.

    The node's data are read as they are now: for what a sample is, and to compare an exported file on.
    """
    node = config.load(config.NodeConfig, folder, config.NODE)
    kept = _kept(node, folder, run)
    spec, place = _trained_in(kept, folder / node.state)
    population = _population(node, folder, spec, place, kept.commit.told["columns"])
    models, info = models_at(node, spec, population, place)
    method = for_models(spec, method_of(spec), models)
    view = decode(kept.commit.state)
    return Handed(
        node.client,
        Personal(models[info.architecture], view, method.predict).eval(),
        view,
        partial(_card, node, kept, spec, population),
        partial(samples_of, node.client, population, [place.client]),
        population,
        # a node's file is read without [data]'s options, and so are its new samples
        spec.data if node.data is None else DataSection(name=spec.data.name, label=spec.data.label),
    )


def _kept(node: config.NodeConfig, folder: Path, run: str | None) -> Kept:
    """The newest; a joined run's as well."""
    state = folder / node.state
    found = sorted(state.glob(f"*/{MODEL}{SUFFIX}"), key=lambda path: path.stat().st_mtime_ns)
    names = [path.parent.name for path in found]
    chosen = [name for name in names if name.startswith(run or "")]
    if not chosen:
        there = f": {some(names)}" if names else ", until a run that it takes part in is finished"
        raise FedkinError(f"{state} holds no model{f' of a run {run!r}' if run and names else ''}{there}")
    if run and len(chosen) > 1:
        raise FedkinError(f"{run!r} is the beginning of several runs: {some(chosen)}")
    commit = Vault(state / chosen[-1]).find(MODEL)
    assert commit is not None
    return Kept(chosen[-1], commit)


def _trained_in(kept: Kept, state: Path) -> tuple[Spec, Place]:
    told = kept.commit.told
    try:
        return Spec.model_validate(told["spec"]), Place.model_validate(told["place"])
    except (KeyError, ValueError):  # pydantic's is one
        path = state / kept.run / f"{MODEL}{SUFFIX}"
        raise FedkinError(f"{path} is damaged, or of another fedkin: it was written by {told.get('version')}") from None


def _population(node: config.NodeConfig, folder: Path, spec: Spec, place: Place, columns: list[str]) -> Population:
    """The node's data at its number, without the public set: a model is told by its inputs, not by what taught it."""
    if node.data is None:
        return population_of(spec, wanted=False)
    own = data.read(folder / node.data, spec.data.label or "label")
    if own.encoding is not None and columns:
        data.same_columns(node.data, data.columns_of(own), "the run", columns)
    if own.classes > place.classes:
        raise FedkinError(f"{node.data} has {own.classes} classes, the run had {place.classes}")
    return replace(own, classes=place.classes).alone(place.client, place.clients)


def _card(node: config.NodeConfig, kept: Kept, spec: Spec, population: Population) -> dict[str, Any]:
    """As of a run here, but for what was sent: the record of that is the server's."""
    told = kept.commit.told
    place = Place.model_validate(told["place"])
    method = spec.method.model_dump(exclude={"name"}, exclude_none=True)
    return {
        "client": node.client,
        "number": place.client,
        "method": spec.method.name,
        "hyper_parameters": method,
        "architecture": place.architecture,
        "family": spec.model.family,
        "seed": spec.run.seed,
        "rounds": spec.run.rounds,
        "finished": True,
        "joined": None,
        "run": kept.run,
        "data": {"name": node.data or spec.data.name, "samples": told["samples"], "digest": place.data},
        "scores": {view: _scores(told, view) for view in told["scores"]},
        "input": input_of(population),
        "output": output_of(population),
        "versions": {"fedkin": told["version"]},
    }


def _scores(told: Mapping[str, Any], view: str) -> dict[str, dict[str, float | None]]:
    """None for what was not measured: a split without samples, the accuracy of a regression."""
    measures = told.get("measures", {}).get(view, {})
    found = {
        split: {"loss": loss, "accuracy": accuracy} | measures.get(split, {})
        for split, (loss, accuracy) in told["scores"][view].items()
    }
    return {split: {name: number(value) for name, value in values.items()} for split, values in found.items()}
