"""A node's client at its place in the federation: its model, and what it knows of itself there."""

from collections.abc import Mapping

from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientInfo
from fedkin.core.model import Model
from fedkin.data.population import Population
from fedkin.flower.config import NodeConfig
from fedkin.flower.envelope import Place
from fedkin.models.own import allow
from fedkin.runs.spec import ModelSection, Spec
from fedkin.setup.architectures import described, models_of, names_of
from fedkin.setup.frozen import digest
from fedkin.setup.population import infos_of


def models_at(
    node: NodeConfig, spec: Spec, population: Population, place: Place
) -> tuple[Mapping[str, Model], ClientInfo]:
    """The client's model under the name of its architecture, and its info; ``population`` has it at
    its number.

    Raises:
        FedkinError: the model is code that node.toml does not let the experiment name.
    """
    _permit(node, place.architecture)
    info = infos_of(population, [place.architecture] * place.clients)[place.client]
    same = {name: getattr(spec.model, name) for name in ("buffers", "family", "target")}
    own = spec.model_copy(update={"model": ModelSection(name=info.architecture, **same)})
    # the experiment's options are not for it
    recipe = spec if info.architecture in names_of(spec) else own
    models = models_of(recipe, population, [info.architecture])
    if digest(models[info.architecture]) != place.frozen:
        raise FedkinError(
            f"its frozen parameters of model {info.architecture!r} are not those of the server: "
            "they are drawn from run.seed, or loaded by the model's class, whose files must be the "
            "same everywhere"
        )
    return models, info


def _permit(node: NodeConfig, architecture: str) -> None:
    """The operator's own model may be imported, and what ``imports`` lists; nothing else that a
    server names.
    """
    code = described(architecture)[0]
    if ":" not in code:
        return
    listed = code in node.imports or code.partition(":")[0] in node.imports
    if not listed and architecture != node.model:
        raise FedkinError(
            f"the experiment names code ({code}) that this node does not import: if its "
            "operator trusts it, "
            f'node.toml says so: imports = ["{code}"]'
        )
    allow([code])
