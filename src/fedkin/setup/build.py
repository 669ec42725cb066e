"""From a specification to objects: data, models, method, hosts. Every process builds the same from
the same.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.aggregation import EachClient
from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientInfo, FederationInit, Method
from fedkin.core.model import Model
from fedkin.core.optimizers import PLAIN
from fedkin.core.rng import Key
from fedkin.data.population import Population
from fedkin.engine.contexts import Schedule, ServerTools
from fedkin.engine.held import Held
from fedkin.engine.host import Host
from fedkin.engine.round.federation import Federation, participants_of
from fedkin.engine.round.schedule import Scheduling, synchronous
from fedkin.engine.store import STORES
from fedkin.engine.vmap.block_size import block_of
from fedkin.methods import make
from fedkin.runs.spec import Spec
from fedkin.runtime.device import device_named, placed
from fedkin.runtime.replay import Runtime
from fedkin.setup.accounted import accounted
from fedkin.setup.applied import transformed_by, with_given_secret
from fedkin.setup.architectures import (
    another,
    architectures_of,
    column_of,
    models_of,
    names_of,
    permit,
    sizes_of,
    with_family,
    with_measure,
)
from fedkin.setup.frozen import map_frozen
from fedkin.setup.population import infos_of, planted, population_of, rooted
from fedkin.setup.requirements import (
    check_batch_size,
    check_needs,
    check_optimizer,
    check_patience,
)
from fedkin.setup.resolved import resolved
from fedkin.setup.sample_privacy import SampleCosts, check_delta, costs_of, protected, with_noise
from fedkin.setup.scale import with_scale
from fedkin.setup.secure_aggregation import check_scores, masking_of, with_threshold
from fedkin.transforms.black_box_models import allow_black_box_models
from fedkin.transforms.kept_optimizer import keep_optimizer
from fedkin.transforms.local_batch_norm import keep_batch_norm_local
from fedkin.transforms.registry import trained_at_server
from fedkin.transforms.safe import errors, losses, safe
from fedkin.transforms.server_optimizer import AVERAGING, ServerOptimizer, optimize_at_server

__all__ = ["Assembled", "around", "assemble", "host_from_setup", "host_of", "method_of", "setup_of"]


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
    spec, given = accounted(rooted(spec)), method
    method = method_of(spec, given)
    population = population_of(spec, method.needs.public != "none")
    if not population.apart:
        return _around(spec, given, planted(spec, population))
    if spec.privacy.at_client:
        raise FedkinError(
            "run.holdout_clients: who joins a finished run has no secret to draw noise from: leave "
            "it out, or take privacy.where = 'server'"
        )
    stay = [client for client in range(population.clients) if client not in set(population.apart)]
    parts = _around(spec, given, planted(spec, population.only(stay)))
    return parts._replace(held_out=population.only(population.apart))


def _around(spec: Spec, given: Method | None, population: Population) -> Assembled:
    """``around``, again where a budget of samples has shortened the run: a method and a schedule
    that are told the number of rounds are told those that there will be.
    """
    method = method_of(spec, given)
    parts = around(resolved(spec, method), method, population)
    if parts.spec.run.rounds == spec.run.rounds:
        return parts
    run = spec.run.model_copy(update={"rounds": parts.spec.run.rounds})
    short = spec.model_copy(update={"run": run, "privacy": parts.spec.privacy})
    return _around(short, given, population)


def named(spec: Spec) -> Method:
    """The method that [method] names, with what it takes from other sections.

    Args:
        spec: The specification: [method], lr of [train], rounds of [run].
    """
    shared = {"lr": spec.train.lr, "rounds": spec.run.rounds}
    return make(spec.method.name, spec.method.options, shared)


def method_of(spec: Spec, given: Method | None = None) -> Method:
    """The method that [method] names, or the value given in its place, as [model] buffers, [train],
    [server] and [run] sampling say.

    Args:
        spec: The specification.
        given: A Method value in place of [method].
    """
    method = given or named(spec)
    if spec.model.buffers == "local":
        method = keep_batch_norm_local(method)
    check_optimizer(method, spec.train.made_with())
    if (spec.server.optimizer, spec.server.lr) != (AVERAGING.name, AVERAGING.lr):
        how = spec.server
        chosen = ServerOptimizer(how.optimizer, how.lr, how.momentum, how.beta2, how.tau)
        method = optimize_at_server(method, chosen)
    if spec.method.safe:
        needs = method.needs._replace(validation=True)
        method = method._replace(needs=needs, hyper={**method.hyper, "safe": True})
    method = trained_at_server(method, [one.name for one in spec.transforms])
    if spec.run.sampling != "method":
        method = method._replace(needs=method.needs._replace(sampling=spec.run.sampling))
    return method


def around(
    spec: Spec, method: Method, population: Population, architectures: list[str] | None = None
) -> Assembled:
    """The objects of a run whose population is there already.

    Models that are not the experiment's are not built here: nobody but their client needs them
    where predictions alone are exchanged.

    Args:
        spec: The specification.
        method: As ``method_of`` gives it.
        population: The clients' samples; no client of them is held out.
        architectures: The architecture of each client [clients], if not what [model] says.

    Returns:
        The run's objects, checked against each other.

    Raises:
        FedkinError: Whatever does not fit, in one sentence.
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
    infos = infos_of(population, architectures)
    start = start_of(spec, population, models, architectures)
    tools = ServerTools(
        Key(spec.run.seed),
        computing(spec, models) if method.needs.server_models else {},
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
        start=start,
        infos=infos,
        seed=spec.run.seed,
        participation=share,
        tools=tools,
        min_replies=least,
        names=population.names,
        evaluate=spec.run.evaluate,
        evaluate_every=spec.run.evaluate_every,
        poisson=poisson,
    )
    federation = with_threshold(federation, spec)
    method, costs = for_models(spec, method, models), None
    if spec.privacy.of_samples:
        costs = costs_of(spec, method, federation, models, population, schedule_of(spec))
        spec = with_noise(spec, costs)
        # a budget may have shortened the run: a server that trains follows the same schedule
        tools = replace(tools, schedule=schedule_of(spec))
        federation = federation._replace(tools=tools)
        check_delta(spec, infos)
        method = protected(spec, method, costs.steps)
    method = transformed_by(spec, method, federation)
    check_scores(spec, federation)
    check_needs(method, federation, population, models, architectures)
    check_patience(spec, population)
    check_batch_size(spec, population, models)
    return Assembled(spec, method, population, models, infos, federation, costs=costs)


def start_of(
    spec: Spec, population: Population, models: Mapping[str, Model], architectures: list[str]
) -> FederationInit:
    """What a method makes its server's first state of."""
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


def for_models(spec: Spec, method: Method, models: Mapping[str, Model]) -> Method:
    """The method as clients run it that hold these models.

    With [method] safe, right and wrong classes decide where accuracy is the measure, and losses
    elsewhere.
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


def host_of(parts: Assembled, clients: list[int], folder: Path, holds: bool = False) -> Host:
    """A host that owns some of a run's clients.

    Args:
        parts: The run.
        clients: Their numbers.
        folder: Where it may keep states on disk.
        holds: Whether messages of a round may stay in the host, for a method that needs nothing but
            sums.

    Returns:
        The host, with no state of a client yet.
    """
    spec, federation = parts.spec, parts.federation
    return Host(
        method=parts.method,
        models=computing(spec, parts.models),
        infos={client: parts.infos[client] for client in clients},
        population=parts.population,
        schedule=schedule_of(spec),
        runtime=runtime_of(spec, replays_of(parts)),
        store=STORES[spec.engine.state](folder),
        seed=spec.run.seed,
        block=spec.engine.block or block_of(spec.engine.device, parts.models),
        measure=spec.run.measure,
        secret=federation.secret if spec.privacy.at_client else None,
        masking=masking_of(spec, parts.method, federation.threshold, len(federation.infos)),
        held=held_of(parts, folder) if holds else None,
    )


def held_of(parts: Assembled, folder: Path) -> Held | None:
    """Where messages of rounds stay, for a method that needs nothing but sums; None else.

    Args:
        parts: The run.
        folder: Where a host may keep states on disk.
    """
    how = parts.method.aggregation
    if parts.federation.masked or isinstance(how, EachClient) or not how.anywhere:
        return None
    return Held(how, folder if parts.spec.engine.state == "disk" else None)


def computing(spec: Spec, models: Mapping[str, Model]) -> dict[str, Model]:
    """The models where [engine] says."""
    device = device_named(spec.engine.device)
    return {name: placed(model, device) for name, model in models.items()}


def runtime_of(spec: Spec, replays: int) -> Runtime:
    """What makes their steps, ``replays`` of them in the whole run."""
    return Runtime(spec.engine.compile, replays, device_named(spec.engine.device))


def schedule_of(spec: Spec) -> Schedule:
    """[train] as hosts need it."""
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


def replays_of(parts: Assembled) -> int:
    """How many steps the whole run takes, over all clients: decides whether compiling pays."""
    spec, infos = parts.spec, parts.infos
    share = participants_of(parts.federation) / len(infos)
    if parts.method.needs.pooled and spec.train.steps is None:
        share = 1.0  # its epochs are over everybody's samples
    if spec.train.steps is not None:
        a_round = spec.train.steps * len(infos)
    else:
        a_round = (spec.train.epochs or 1) * sum(
            math.ceil(i.samples / spec.train.batch_size) for i in infos.values()
        )
    return round(spec.run.rounds * share * a_round)


def setup_of(
    spec: Spec, population_folder: Path, clients: list[int], state_folder: Path
) -> dict[str, Any]:
    """What a worker process is sent: names and numbers only.

    Args:
        spec: The specification.
        population_folder: Where the population is saved, for all workers.
        clients: The numbers of this worker's clients.
        state_folder: Where it may keep states on disk.

    Returns:
        Plain values, as ``host_from_setup`` takes them.
    """
    return {
        "spec": spec.model_dump(mode="json"),
        "population": str(population_folder),
        "clients": clients,
        "state": str(state_folder),
    }


def host_from_setup(setup: dict[str, Any]) -> Host:
    """A worker's host, from what ``setup_of`` sent.

    Args:
        setup: What ``setup_of`` returns; "secret" beside it where clients add noise themselves.

    Returns:
        The host of that worker's clients.
    """
    spec = Spec.model_validate(setup["spec"])
    permit(spec)  # as who started this worker was
    shared = Path(setup["population"])
    parts = around(spec, method_of(spec), Population.load(shared))
    map_frozen(parts.models, shared)
    parts = parts._replace(federation=with_given_secret(parts.federation, setup.get("secret")))
    return host_of(parts, setup["clients"], Path(setup["state"]), holds=True)
