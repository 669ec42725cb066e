"""A node's client at its place in the federation: its model, and what it knows of itself there."""

from collections.abc import Mapping

from fedkin.core.method import ClientInfo
from fedkin.core.model import Model
from fedkin.data.population import Population
from fedkin.flower.envelope import Place
from fedkin.runs.spec import ModelSection, Spec
from fedkin.setup.architectures import models_of
from fedkin.setup.build import infos_of, names_of


def models_at(
    spec: Spec, population: Population, place: Place
) -> tuple[Mapping[str, Model], ClientInfo]:
    """The client's model under the name of its architecture, and its info; ``population`` has it at
    its number.
    """
    info = infos_of(population, [place.architecture] * place.clients)[place.client]
    same = {name: getattr(spec.model, name) for name in ("buffers", "family", "target")}
    own = spec.model_copy(update={"model": ModelSection(name=info.architecture, **same)})
    recipe = (
        spec if info.architecture in names_of(spec) else own
    )  # the experiment's options are not for it
    return models_of(recipe, population, [info.architecture]), info
