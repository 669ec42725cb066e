"""A node's client at its place in the federation: the architectures that it knows, and the model of its own."""

from collections.abc import Mapping

from fedkin.architectures import models_of
from fedkin.assemble import infos_of, names_of
from fedkin.core.method import Info
from fedkin.core.model import Model
from fedkin.data.clients import Population
from fedkin.flower.config import NodeConfig
from fedkin.flower.envelope import Place, Refused
from fedkin.runs.spec import ModelSection, Spec


def models_at(config: NodeConfig, spec: Spec, population: Population, place: Place) -> tuple[Mapping[str, Model], Info]:
    """The client's model under the name of its architecture, and what it knows of itself.

    ``population`` has the client at its number. Raises Refused for an architecture that is not this node's.
    """
    if place.architecture not in ({config.model} if config.model else names_of(spec)):
        raise Refused(f"architecture {place.architecture!r} is not the one of this node or its experiment")
    info = infos_of(population, [place.architecture] * place.clients)[place.client]
    same = {name: getattr(spec.model, name) for name in ("buffers", "family", "target")}
    own = spec.model_copy(update={"model": ModelSection(name=info.architecture, **same)})
    recipe = spec if info.architecture in names_of(spec) else own  # the experiment's options are not for it
    return models_of(recipe, population, [info.architecture]), info
