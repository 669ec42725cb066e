"""What a run directory says of its run as a whole: facts, clients, the specification it
began with.
"""

import hashlib
import importlib.metadata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w
import torch

from fedkin.core.method import Method
from fedkin.engine.model_sources import ModelSources, model_sources
from fedkin.experiment.masked_record import summed_labels
from fedkin.experiment.own_files import own_files
from fedkin.runs.directory import GIVEN, of_value
from fedkin.setup.architectures import measure_of
from fedkin.setup.arguments.values import facts_of as facts_of_values
from fedkin.setup.build import Assembled
from fedkin.setup.frozen import facts_of as facts_of_frozen
from fedkin.setup.privacy import facts_of as facts_of_privacy
from fedkin.setup.privacy import is_personal_outside


def facts_of(parts: Assembled) -> dict[str, Any]:
    """The facts of run.db.

    Args:
        parts: The run's objects.

    Returns:
        {name: plain value}, of a run that begins.
    """
    spec, choice = parts.spec, measure_of(parts.population)
    perhaps = {
        "privacy": privacy_of(parts),
        "frozen": facts_of_frozen(parts.models) or None,
        "label_counts": summed_labels(parts) if parts.federation.masked else None,
        "code": own_files(spec) or None,
    }
    return {
        "method": parts.method.name,
        "hyper": hyper_of(parts.method),
        "seed": spec.run.seed,
        "clients": len(parts.infos),
        "rounds": spec.run.rounds,
        "participation": spec.run.participation,
        "data": spec.data.name,
        "split": spec.split.name,
        "model": ", ".join(parts.models),
        "parameters": {
            name: sum(t.numel() for t in m.initial.values()) for name, m in parts.models.items()
        },
        "measure": spec.run.measure,
        "why": choice.why if choice.name == spec.run.measure else "asked for",
        "class_names": list(parts.population.class_names),
        "data_digest": parts.population.digest(),
        "spec": spec.model_dump(mode="json"),
        "versions": versions(),
        "finished": False,
        **{name: fact for name, fact in perhaps.items() if fact is not None},
        **given_digest(parts),
        **facts_of_values(parts),
    }


def given_digest(parts: Assembled) -> dict[str, str]:
    """The sha256 of data that were given from Python, by which runs know them again: each run has
    a copy of its own. {} of data that have a name.

    Args:
        parts: The run's objects.

    Returns:
        {"given": 64 hexadecimal digits}, or {}.
    """
    path = Path(parts.spec.data.name)
    if path.name not in GIVEN or not path.is_file():
        return {}
    with path.open("rb") as file:
        return {"given": hashlib.file_digest(file, "sha256").hexdigest()}


def privacy_of(
    parts: Assembled, again: int = 0, trained: int | None = None
) -> dict[str, Any] | None:
    """What [privacy] gives.

    Args:
        parts: The run's objects.
        again: Rounds that were released once more.
        trained: How many there were, where training ended early; None: all.

    Returns:
        Plain values, "epsilon" and "delta" among them; None where nothing was asked for.
    """
    if not parts.spec.privacy.on:
        return None
    personal_outside = is_personal_outside(parts.spec, _made_of(parts))
    return facts_of_privacy(parts.spec, parts.costs, again, trained, personal_outside)


def _made_of(parts: Assembled) -> ModelSources:
    """What a client's personal model is made of; it does not depend on which client that is."""
    models, infos = parts.models, list(parts.infos.values())
    info = next((one for one in infos if one.architecture in models), infos[0])
    model = models.get(info.architecture, next(iter(models.values())))
    received = parts.method.broadcast(parts.method.server(parts.federation.start), info.client)
    return model_sources(parts.method, received, model, info)


def clients_of(parts: Assembled) -> list[tuple[Any, ...]]:
    """The rows of the table of clients; under masks without the labels that each has.

    Args:
        parts: The run's objects.

    Returns:
        (number, name, architecture, samples in train, val and test, histogram as a text), one a
        client.
    """
    population = parts.population
    return [
        (
            client,
            population.names[client],
            info.architecture,
            info.samples,
            len(population.val[client]),
            len(population.test[client]),
            str([] if parts.federation.masked else [int(count) for count in info.histogram]),
        )
        for client, info in parts.infos.items()
    ]


def toml_of(parts: Assembled, engine: Mapping[str, Any]) -> bytes:
    """experiment.toml: the specification with every default, and what it was run with.

    Args:
        parts: The run's objects.
        engine: What the engine notes of the run.

    Returns:
        The file's content, UTF-8.
    """
    content = parts.spec.model_dump(mode="json", exclude_none=True)
    content["record"] = {"data_digest": parts.population.digest(), **versions(), **engine}
    if of_value(facts_of_values(parts)):  # which a run that has no record yet says nowhere else
        content["record"]["values"] = {"method": parts.method.name}
    return tomli_w.dumps(content).encode()


def hyper_of(method: Method) -> dict[str, Any]:
    """A method's hyper-parameters, so far as JSON holds them.

    Args:
        method: The method that is run.

    Returns:
        {name: plain value}.
    """
    return {key: value for key, value in method.hyper.items() if _plain(value)}


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, list, tuple))


def versions() -> dict[str, str]:
    """What the results of a run may depend on beside its specification.

    Returns:
        {"fedkin": version, "torch": version}.
    """
    return {"fedkin": importlib.metadata.version("fedkin"), "torch": torch.__version__}
