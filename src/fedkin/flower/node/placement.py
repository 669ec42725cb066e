"""A node's client at its place in the federation: its model, and what it knows of itself there."""

from collections.abc import Mapping

from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientInfo
from fedkin.core.model import Model
from fedkin.core.system.user_code import is_user_code
from fedkin.data.population import Population
from fedkin.flower.config import NodeConfig
from fedkin.flower.envelope import Place
from fedkin.methods.user_methods import allow as allow_methods
from fedkin.models.user_models import allow
from fedkin.runs.spec import ModelSection, Spec
from fedkin.setup.architectures import described, models_of, names_of
from fedkin.setup.frozen import digest
from fedkin.setup.population import infos_of


def models_at(
    node: NodeConfig, spec: Spec, population: Population, place: Place
) -> tuple[Mapping[str, Model], ClientInfo]:
    """The client's model under the name of its architecture, and its info.

    Args:
        node: What node.toml says.
        spec: The experiment.
        population: Has the client at its number.
        place: Its place in the federation.

    Returns:
        ({architecture: model}, what the client knows of itself).

    Raises:
        FedkinError: the model is code that node.toml does not let the experiment name.
    """
    models = models_of_node(node, spec, population, place.architecture)
    info = infos_of(population, [place.architecture] * place.clients)[place.client]
    if digest(models[info.architecture]) != place.frozen:
        raise FedkinError(
            f"its frozen parameters of model {info.architecture!r} are not those of the server: "
            "they are drawn from run.seed, or loaded by the model's class, whose files must be the "
            "same everywhere"
        )
    return models, info


def models_of_node(
    node: NodeConfig, spec: Spec, population: Population, architecture: str
) -> Mapping[str, Model]:
    """A model of an architecture that the node may build.

    Args:
        node: What node.toml says.
        spec: The experiment.
        population: The node's, for the shape of a sample and the classes.
        architecture: Of the experiment, or the node's own.

    Returns:
        {architecture: model}.

    Raises:
        FedkinError: It is code that node.toml does not list, or does not take such samples.
    """
    _permit(node, architecture)
    same = {name: getattr(spec.model, name) for name in ("buffers", "family", "target")}
    own = spec.model_copy(update={"model": ModelSection(name=architecture, **same)})
    # the experiment's options are not for it
    recipe = spec if architecture in names_of(spec) else own
    return models_of(recipe, population, [architecture])


def _permit(node: NodeConfig, architecture: str) -> None:
    """The operator's own model may be imported, and what ``imports`` lists; nothing else that a
    server names.
    """
    code = described(architecture)[0]
    if ":" not in code:
        return
    listed = _listed(node, code)
    if not listed and architecture != node.model:
        raise _not_listed(code)
    allow([code])


def permit_method(node: NodeConfig, spec: Spec) -> None:
    """The experiment's method may be imported, where it is a function of a module that ``imports``
    lists.

    Args:
        node: What node.toml says.
        spec: The experiment.

    Raises:
        FedkinError: It is one that node.toml does not list.
    """
    name = spec.method.name
    if not is_user_code(name):
        return
    if not _listed(node, name):
        raise _not_listed(name)
    allow_methods([name])


def _listed(node: NodeConfig, code: str) -> bool:
    return code in node.imports or code.partition(":")[0] in node.imports


def _not_listed(code: str) -> FedkinError:
    return FedkinError(
        f"the experiment names code ({code}) that this node does not import: if its operator "
        f'trusts it, node.toml says so: imports = ["{code}"]'
    )
