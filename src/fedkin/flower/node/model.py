"""A node's own model out of its folder, for ``fedkin deploy export`` and ``predict``: nobody else
is asked.
"""

from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.core.model import Model
from fedkin.data.population import Population
from fedkin.engine.codec import decode
from fedkin.experiment.run_facts import hyper_of
from fedkin.export.card import input_of, output_of
from fedkin.export.exportable import Exportable, samples_of
from fedkin.export.opened_run import PERSONAL
from fedkin.export.personal import Personal, with_frozen
from fedkin.flower import config
from fedkin.flower.node import data
from fedkin.flower.node.deployed_model import Details, KeptModel
from fedkin.flower.node.placement import models_at, permit_method
from fedkin.report.records import number
from fedkin.report.words.deployed import of_notes
from fedkin.runs.spec import DataSection, Spec
from fedkin.setup.build import adapt_to_models, method_of
from fedkin.setup.population import population_of
from fedkin.setup.privacy import facts_of, is_personal_outside


def exportable(folder: Path, run: str | None = None) -> Exportable:
    """The model of a node's last finished run, or of the one whose folder in ``state`` begins with
    ``run``.

    It is made of what was kept with it. The node's data are read when an exported file is compared
    on them.

    Args:
        folder: Of the node.
        run: The beginning of the name of its run's folder in ``state``; None: the last finished
            run.

    Returns:
        The model, with what its card and its comparison need.

    Raises:
        FedkinError: There is no such model, or its code is not allowed.
    """
    node = config.load(config.NodeConfig, folder, config.NODE)
    kept = KeptModel(node, folder, run)
    details = kept.details
    permit_method(node, details.spec)
    own = details.facts is not None
    population = kept.blank() if own else population_of(details.spec, wanted=False)
    models, info = models_at(node, details.spec, population, details.place)
    model, method = (
        models[info.architecture],
        adapt_to_models(details.spec, method_of(details.spec), models),
    )
    view = decode(kept.view)
    return Exportable(
        node.client,
        Personal(model, view, method.predict).eval(),
        with_frozen(model, view),
        partial(_card, node.client, kept, method, model, population),
        partial(_own_samples, node, folder, details)
        if own
        else partial(samples_of, node.client, population, [info.client]),
        population,
        # a node's own file is read without [data]'s options, and so are its new samples
        DataSection(
            name=str(folder / (node.data or details.spec.data.name)), label=details.spec.data.label
        )
        if own
        else details.spec.data,
    )


def _own_samples(node: config.NodeConfig, folder: Path, details: Details) -> Tensor:
    """Of the node's file as it is now, which must still hold such samples."""
    if node.data is None:
        raise FedkinError(
            "node.toml names no data file any more: an exported model is compared on its samples"
        )
    own = data.read(folder / node.data, details.spec.data.label or "label")
    now, then = data.facts_of(own, 0), details.facts
    assert then is not None
    if now.columns and then.columns:
        data.same_columns(node.data, now.columns, "the run", then.columns)
    if (now.shape, now.dtype) != (then.shape, then.dtype):
        had = f"{then.dtype} {list(then.shape)}"
        raise FedkinError(
            f"{node.data} has samples of {now.dtype} {list(now.shape)}, the run had {had}"
        )
    return samples_of(node.client, own, [0])


def _card(
    client: str, kept: KeptModel, method: Method, model: Model, population: Population
) -> dict[str, Any]:
    """As of a run here, but for what was sent: the record of that is the server's."""
    details, spec = kept.details, kept.details.spec
    joined, rounds = details.place.joined, spec.run.rounds
    if details.trained is not None:  # run.patience may have ended it before its last round
        rounds = min(rounds, details.trained)
    return {
        "client": client,
        "number": details.place.client,
        "view": PERSONAL,
        "method": method.name,
        "hyper_parameters": hyper_of(method),
        "architecture": details.place.architecture,
        "family": model.family.name,
        "seed": spec.run.seed,
        "rounds": rounds if joined is None else min(joined, rounds),
        "finished": joined is None or joined >= rounds,
        "joined": None
        if joined is None
        else {"after_round": min(joined, rounds), "rounds": details.round - joined - 1},
        "took_part": details.took_part,
        "run": kept.run,
        "data": {
            "name": spec.data.name,
            "samples": dict(details.samples),
            "digest": details.place.data or population.digest(),
        },
        "deploys": of_notes(details.notes),
        "scores": {view: _scores(details, view) for view in details.scores},
        "input": input_of(population, model),
        "output": output_of(population, model),
        "versions": {"fedkin": details.version},
        "privacy": _privacy(spec, rounds, details),
        "outside_of_privacy": spec.privacy.on and is_personal_outside(spec, details.model_sources),
    }


def _privacy(spec: Spec, rounds: int, details: Details) -> dict[str, Any] | None:
    """What the noise of so many rounds gives each client, beside those that were released once
    more; None where a node cannot say it: of samples it depends on how many the others have.
    """
    privacy = spec.privacy
    known = isinstance(privacy.noise, float) and not privacy.of_samples
    # a client's noise is drawn from what a round is made of
    again = 0 if privacy.at_client else details.again
    if not known:
        return None
    personal_outside = is_personal_outside(spec, details.model_sources)
    return facts_of(spec, again=again, trained=rounds, personal_outside=personal_outside)


def _scores(details: Details, view: str) -> dict[str, dict[str, float | None]]:
    """None for what was not measured: a split without samples, the accuracy of a regression."""
    measures = details.measures.get(view, {})
    scores = {
        split: {"loss": loss, "accuracy": accuracy} | measures.get(split, {})
        for split, (loss, accuracy) in details.scores[view].items()
    }
    return {
        split: {name: number(value) for name, value in values.items()}
        for split, values in scores.items()
    }
