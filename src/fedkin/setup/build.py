"""From a specification to objects: data, models, method, hosts. Every process builds the same from
the same.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientInfo, FederationInit, Method
from fedkin.core.model import Model
from fedkin.core.optimizers import PLAIN
from fedkin.core.rng import Key
from fedkin.data.population import Population
from fedkin.engine.contexts import Schedule, ServerTools
from fedkin.engine.method_calls.client_errors import with_client_errors
from fedkin.engine.method_calls.server_errors import with_server_errors
from fedkin.engine.round.federation import Federation
from fedkin.engine.round.schedule import Scheduling, synchronous
from fedkin.methods import make
from fedkin.runs.spec import Spec
from fedkin.runtime.device import device_named, placed
from fedkin.runtime.replay import Runtime
from fedkin.setup.architectures import (
    another,
    architectures_of,
    column_of,
    models_of,
    names_of,
    sizes_of,
    with_family,
    with_measure,
)
from fedkin.setup.method_transforms import transformed_by
from fedkin.setup.noise_calibration import calibrate_noise
from fedkin.setup.population import infos_of, planted, population_of, rooted
from fedkin.setup.privacy import check_delta_of_clients
from fedkin.setup.requirements import (
    check_batch_size,
    check_needs,
    check_optimizer,
    check_patience,
)
from fedkin.setup.resolved import resolved
from fedkin.setup.sample_privacy import SampleCosts, check_delta, costs_of, protected, with_noise
from fedkin.setup.scale import with_scale
from fedkin.setup.secure_aggregation import check_scores, with_threshold
from fedkin.transforms.black_box_models import allow_black_box_models
from fedkin.transforms.kept_optimizer import keep_optimizer
from fedkin.transforms.local_batch_norm import keep_batch_norm_local
from fedkin.transforms.registry import trained_at_server
from fedkin.transforms.safe import errors, losses, safe
from fedkin.transforms.server_optimizer import AVERAGING, ServerOptimizer, optimize_at_server

__all__ = ["Assembled", "assemble", "assemble_with_population", "method_of"]


class Assembled(NamedTuple):
    """Everything a run needs, checked."""

    spec: Spec
    method: Method
    population: Population
    models: Mapping[str, Model]
    infos: Mapping[int, ClientInfo]
    federation: Federation
    held_out: Population | None = None  # [run] holdout_clients: they never train
    costs: SampleCosts | None = None  # of [privacy] unit = "sample"
    scheduling: Scheduling = synchronous
    method_value: Method | None = None  # in place of [method], before anything was put around it


def assemble(spec: Spec, method: Method | None = None) -> Assembled:
    """All objects of a run, checked against each other.

    Args:
        spec: The specification; paths in it may be relative.
        method: A Method value in place of [method].

    Returns:
        The run's objects; with [run] holdout_clients, those clients by themselves.

    Raises:
        FedkinError: Whatever does not fit, in one sentence.
    """
    spec, method_value = rooted(spec), method
    population = population_of(spec, method_of(spec, method_value).needs.public != "none")
    # before the accountant is asked, which takes seconds
    check_delta_of_clients(spec, population.clients - len(population.apart))
    spec = calibrate_noise(spec)
    if not population.apart:
        return assemble_with_population(spec, method_value, planted(spec, population))
    if spec.privacy.at_client:
        raise FedkinError(
            "run.holdout_clients: who joins a finished run has no secret to draw noise from: leave "
            "it out, or take privacy.where = 'server'"
        )
    stay = np.setdiff1d(np.arange(population.clients), population.apart).tolist()
    parts = assemble_with_population(spec, method_value, planted(spec, population.only(stay)))
    return parts._replace(held_out=population.only(population.apart))


def base_method(spec: Spec) -> Method:
    """The method that [method] names, with what it takes from other sections.

    Args:
        spec: The specification: [method], lr of [train], rounds of [run].

    Returns:
        The method, without what other sections put around it.

    Raises:
        FedkinError: There is no such method, or it does not take what [method] says.
    """
    shared = {"lr": spec.train.lr, "rounds": spec.run.rounds}
    return make(spec.method.name, spec.method.options, shared)


def method_of(spec: Spec, method_value: Method | None = None) -> Method:
    """The method that [method] names, or the value given in its place, as [model] buffers, [train],
    [server] and [run] sampling say; its functions tell where they failed.

    Args:
        spec: The specification.
        method_value: A Method value in place of [method].

    Returns:
        The method; transforms, masks and noise come later.

    Raises:
        FedkinError: There is no such method, it does not take what [method] says, or it does not go
            with the optimizer of [train] or [server].
    """
    method = with_client_errors(with_server_errors(method_value or base_method(spec)))
    if spec.model.buffers == "local":
        method = keep_batch_norm_local(method)
    check_optimizer(method, spec.train.made_with())
    if (spec.server.optimizer, spec.server.lr) != (AVERAGING.name, AVERAGING.lr):
        server = spec.server
        chosen = ServerOptimizer(
            server.optimizer, server.lr, server.momentum, server.beta2, server.tau
        )
        method = optimize_at_server(method, chosen)
    if spec.method.safe:
        needs = method.needs._replace(validation=True)
        method = method._replace(needs=needs, hyper={**method.hyper, "safe": True})
    method = trained_at_server(method, [one.name for one in spec.transforms])
    if spec.run.sampling != "method":
        method = method._replace(needs=method.needs._replace(sampling=spec.run.sampling))
    return method


def assemble_with_population(
    spec: Spec,
    method_value: Method | None,
    population: Population,
    architectures: list[str] | None = None,
) -> Assembled:
    """The objects of a run whose population is there already.

    Models that are not the experiment's are not built here: nobody but their client needs them
    where predictions alone are exchanged.

    Args:
        spec: The specification.
        method_value: A Method value in place of [method].
        population: The clients' samples; no client of them is held out.
        architectures: The architecture of each client [clients], if not what [model] says.

    Returns:
        The run's objects, checked against each other; of as many rounds as a budget of samples
        allows.

    Raises:
        FedkinError: Whatever does not fit, in one sentence.
    """
    method = method_of(spec, method_value)
    parts = _checked(resolved(spec, method), method, population, architectures)
    parts = parts._replace(method_value=method_value)
    if parts.spec.run.rounds == spec.run.rounds:
        return parts
    # built again: a method and a schedule that are told the number of rounds are told those that
    # there will be
    shortened = spec.replace("run", rounds=parts.spec.run.rounds)
    shortened = shortened.model_copy(update={"privacy": parts.spec.privacy})
    return assemble_with_population(shortened, method_value, population, architectures)


def _checked(
    spec: Spec, method: Method, population: Population, architectures: list[str] | None
) -> Assembled:
    """The objects of ``assemble_with_population``; where a budget of samples shortens the run, its
    specification alone says so.
    """
    spec = with_measure(with_family(with_scale(spec, population), population), population)
    architectures = architectures or architectures_of(
        spec, sizes_of(population), column_of(spec, population)
    )
    theirs = sorted(set(architectures) - names_of(spec))
    if theirs and method.distillation_target is None:
        raise FedkinError(
            f"{method.name} needs everybody's parameters: {theirs[0]} is none of the "
            "experiment's models"
        )
    models = models_of(
        spec, population, sorted(set(architectures) & names_of(spec)) or [spec.model.name]
    )
    federation = _federation(spec, method, population, models, architectures)
    method, costs = adapt_to_models(spec, method, models), None
    if spec.privacy.of_samples:
        # what the method lacks is said before its clients' work is followed, which would fail
        check_needs(method, federation, population, models, architectures)
        check_delta(spec, federation.infos)  # before the accountant is asked, as above
        costs = costs_of(spec, method, federation, models, population, schedule_of(spec))
        spec = with_noise(spec, costs)
        method = protected(spec, method, costs.steps)
    method = transformed_by(spec, method, federation)
    check_scores(spec, federation)
    check_needs(method, federation, population, models, architectures)
    check_patience(spec, population)
    check_batch_size(spec, population, models)
    return Assembled(spec, method, population, models, federation.infos, federation, costs=costs)


def _federation(
    spec: Spec,
    method: Method,
    population: Population,
    models: Mapping[str, Model],
    architectures: list[str],
) -> Federation:
    """Who is in the run, how rounds are drawn, and what the server trains with."""
    infos = infos_of(population, architectures)
    tools = ServerTools(
        Key(spec.run.seed),
        models_on_device(spec, models) if method.needs.server_models else {},
        population.public,
        population.public_y,
        runtime_of(spec, 0),
        schedule_of(spec),
    )
    # one worker has all the data
    share = 1 / len(infos) if method.needs.pooled else spec.run.participation
    poisson = spec.privacy.on and not spec.privacy.at_client
    # a round that nobody happens to be drawn for is a round as well
    least = 0 if poisson and spec.run.min_replies == 1 else spec.run.min_replies
    federation = Federation(
        start=start_of(spec, population, models, architectures),
        infos=infos,
        seed=spec.run.seed,
        participation=share,
        tools=tools,
        min_replies=least,
        names=population.names,
        evaluate=spec.run.evaluate,
        evaluate_every=spec.run.evaluate_every,
        poisson=poisson,
        unscored=_unscored(population),
    )
    return with_threshold(federation, spec)


def _unscored(population: Population) -> frozenset[int]:
    """Clients with neither validation nor test samples."""
    sizes = population.sizes("val") + population.sizes("test")
    return frozenset(np.flatnonzero(sizes == 0).tolist())


def start_of(
    spec: Spec, population: Population, models: Mapping[str, Model], architectures: list[str]
) -> FederationInit:
    """What a method makes its server's first state of.

    Args:
        spec: The specification, for the seed.
        population: The clients' data.
        models: Every architecture, by name.
        architectures: The architecture of each client [clients].

    Returns:
        What every method is given before the first message.
    """
    return FederationInit(
        {name: model.initial for name, model in models.items()},
        tuple(range(population.clients)),
        0 if population.public is None else len(population.public),
        population.classes,
        lambda k: another(spec, population, next(iter(models)), k),
        dict(enumerate(architectures)),
        Key(spec.run.seed),
        {name: model.head for name, model in models.items() if model.head is not None},
    )


def adapt_to_models(spec: Spec, method: Method, models: Mapping[str, Model]) -> Method:
    """The method as it is run by clients with these models.

    With [method] safe, right and wrong classes decide where accuracy is the measure, and losses
    elsewhere.

    Args:
        spec: The specification.
        method: The method.
        models: The architectures that clients have, by name.

    Returns:
        The method, with what [method] safe, [train] state and models that are no torch modules put
        around it.

    Raises:
        FedkinError: A model that is no torch module does not go with [model] buffers, [train] state
            or [method] safe.
    """
    learners = any(model.learner is not None for model in models.values())
    if learners and spec.model.buffers == "local":
        raise FedkinError("model.buffers = 'local' is for torch modules: choose 'global' or 'drop'")
    if learners and spec.train.state == "kept":
        raise FedkinError("train.state = 'kept' is for torch modules: choose 'restarted'")
    if learners and spec.method.safe:
        raise FedkinError("method.safe trains a model beside by gradients: it is for torch modules")
    if learners:
        return allow_black_box_models(method)
    if spec.method.safe:
        judge = errors if spec.run.measure == "accuracy" else losses
        method = safe(method, spec.train.lr, judge)
    if spec.train.state == "kept" and spec.train.made_with() != PLAIN:
        method = keep_optimizer(method)  # of the model beside, too
    return method


def models_on_device(spec: Spec, models: Mapping[str, Model]) -> dict[str, Model]:
    """The models on the device that [engine] names.

    Args:
        spec: The specification, for [engine] device.
        models: The models, by name.

    Returns:
        {name: the model on that device}.

    Raises:
        FedkinError: The device is not there.
    """
    device = device_named(spec.engine.device)
    return {name: placed(model, device) for name, model in models.items()}


def runtime_of(spec: Spec, replays: int) -> Runtime:
    """The runtime, which makes the models' steps.

    Args:
        spec: The specification, for [engine].
        replays: How many steps the whole run has, by which compiling is worth it or not; 0:
            unknown.

    Returns:
        A runtime, which is kept for the run.
    """
    return Runtime(spec.engine.compile, replays, device_named(spec.engine.device))


def schedule_of(spec: Spec) -> Schedule:
    """[train] as hosts need it.

    Args:
        spec: The specification.

    Returns:
        How much local work a round is, and at which learning rate.
    """
    train = spec.train
    return Schedule(
        train.batch_size,
        train.steps,
        train.epochs,
        train.milestones,
        train.decay,
        train.made_with(),
        train.schedule,
        train.warmup,
        spec.run.rounds,
    )
