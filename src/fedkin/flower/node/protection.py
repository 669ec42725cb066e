"""A node's method with the noise and the masks of its experiment, and what they do not cover
refused: nobody but the node itself sees to it that nothing leaves without them.
"""

from collections.abc import Mapping

from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientInfo, Method
from fedkin.core.model import Model
from fedkin.data.population import Population
from fedkin.engine.round.federation import participants_among
from fedkin.flower.envelope import Place
from fedkin.flower.node import reasons
from fedkin.flower.node.request_log import hides
from fedkin.masks.terms import check_majority
from fedkin.newcomers.local import check_accounted
from fedkin.runs.spec import Spec
from fedkin.setup.architectures import with_family
from fedkin.setup.build import schedule_of, start_of
from fedkin.setup.method_transforms import transformed_at_node
from fedkin.setup.sample_privacy import protected_at_node
from fedkin.setup.secure_aggregation import threshold_of


def with_protection(
    spec: Spec,
    method: Method,
    threshold: int | None,
    info: ClientInfo,
    models: Mapping[str, Model],
    population: Population,
) -> Method:
    """The method with all that the experiment puts around it.

    Args:
        spec: The experiment.
        method: The method that clients run.
        threshold: Of secure aggregation; None: there are no masks.
        info: What the node's client knows of itself.
        models: The client's model, under the name of its architecture.
        population: Has the client at its number.

    Returns:
        The changed method.

    Raises:
        FedkinError: It would send what no noise covers, or no mask hides: an honest server refuses
            such an experiment before it asks anybody.
    """
    clients = population.clients
    if not hides(spec):
        return transformed_at_node(spec, method, info, clients)
    held, schedule = [info.architecture] * clients, schedule_of(spec)
    start = start_of(with_family(spec, population), population, models, held)
    if spec.privacy.of_samples:
        model = models[info.architecture]
        try:
            method = protected_at_node(spec, method, start, info, model, population, schedule)
        except FedkinError as error:
            raise _without_cells(error) from None
    method = transformed_at_node(spec, method, info, clients, threshold)
    method.check(start, participants_among(spec.run.participation, clients))
    return method


def _without_cells(error: FedkinError) -> FedkinError:
    """The same error, or where the method met its client's samples and failed by itself, one
    without its words: they may quote a cell.
    """
    foreign = error.__context__
    if not isinstance(foreign, Exception) or isinstance(foreign, FedkinError):
        return error
    reasons.logged(str(error))
    return FedkinError(
        "privacy.unit = 'sample' does not fit the method: its work failed with "
        f"{reasons.of_failure(foreign)}; try fedavg, or ditto"
    )


def threshold_at(spec: Spec, place: Place) -> int | None:
    """t of secure aggregation, as a node's own experiment says.

    Args:
        spec: The experiment.
        place: Of the client, as its server says.

    Returns:
        None where there are no masks.

    Raises:
        FedkinError: It is a newcomer, who works alone, or its server names so many clients that
            half of a round would be enough.
    """
    if place.joined is not None:
        check_accounted(spec)
    if spec.privacy.secure_aggregation is not None and place.joined is not None:
        raise FedkinError(
            "a newcomer works alone, and secure aggregation hides an update among others: it joins "
            "the next run as one of its clients"
        )
    participants = participants_among(spec.run.participation, place.clients)
    found = threshold_of(spec, participants)
    # the server says how many clients there are, and with it each one's noise
    if found is not None:
        check_majority(found, participants)
    return found
