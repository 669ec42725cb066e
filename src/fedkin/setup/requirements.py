"""What a method needs of an experiment, checked before training."""

from collections.abc import Callable, Mapping, Sequence

from fedkin.core.aggregation import WeightedSum
from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.core.model import Model, head_of
from fedkin.core.optimizers import PLAIN, Optimizer
from fedkin.data.population import Population
from fedkin.engine.round.federation import Federation, participants_of
from fedkin.engine.round.panel import check_panel
from fedkin.methods import make, registry
from fedkin.models.one_sample import refuses_one_sample
from fedkin.runs.spec import Spec
from fedkin.setup.aggregation import check_aggregation
from fedkin.setup.population import HELD_OUT


def check_patience(spec: Spec, population: Population) -> None:
    """Refuse patience that has nothing to go by, or tells what [privacy] hides.

    Args:
        spec: The specification.
        population: The clients' data.

    Raises:
        FedkinError: There is [run] patience, and noise, changing participants or no validation
            sample.
    """
    if spec.run.patience is None:
        return
    if spec.privacy.on and not spec.privacy.of_samples:
        raise FedkinError(
            "run.patience ends training by validation scores, which have no noise, and [privacy] "
            "hides all that a client has: leave run.patience out, or take privacy.unit = 'sample', "
            "which leaves validation samples outside of its guarantee"
        )
    if spec.run.evaluate == "participants":
        raise FedkinError(
            "run.patience compares rounds, and run.evaluate = 'participants' evaluates others in "
            "each: choose all or panel:N"
        )
    if not any(len(rows) for rows in population.val):
        raise FedkinError(
            "run.patience goes by validation, and no client has validation samples: raise "
            "split.val, or leave run.patience out"
        )


def check_batch_size(spec: Spec, population: Population, models: Mapping[str, Model]) -> None:
    """Refuse mini-batches of one sample where a model cannot learn from one.

    Args:
        spec: The specification.
        population: The clients' data.
        models: Every architecture, by name.

    Raises:
        FedkinError: [train] batch_size is 1, and a model normalizes over samples.
    """
    if spec.train.batch_size > 1:
        return
    for model in models.values():
        if refuses_one_sample(model, population.x[:1]):
            raise FedkinError(
                f"train.batch_size is 1, and model {model.name} normalizes over the samples of a "
                "mini-batch: set train.batch_size to 2 or more"
            )


def check_needs(
    method: Method,
    federation: Federation,
    population: Population,
    models: Mapping[str, Model],
    architectures: Sequence[str],
) -> None:
    """Refuse an experiment that has not what a method needs.

    Args:
        method: The method that clients run.
        federation: Its clients and their settings.
        population: The clients' data.
        models: Every architecture, by name.
        architectures: The architecture of each client [clients].

    Raises:
        FedkinError: The first thing that is lacking, in one sentence.
    """
    check_panel(federation.evaluate, len(federation.infos))
    _check_introduction(method)
    check_aggregation(method)
    _check_models(method, models, architectures)
    _check_data(method, population)
    _check_rounds(method, federation)
    method.check(federation.start, participants_of(federation))


def _check_models(
    method: Method, models: Mapping[str, Model], architectures: Sequence[str]
) -> None:
    needs = method.needs
    if needs.one_architecture and len(set(architectures)) > 1:
        counts = ", ".join(
            f"{name} ({architectures.count(name)})" for name in sorted(set(architectures))
        )
        able = _methods(lambda method: not method.needs.one_architecture)
        raise FedkinError(
            f"{method.name} needs one architecture, clients have {counts}: try {able}"
        )
    unexpected = [name for name, model in models.items() if model.learner is not None]
    if unexpected and method.distillation_target is None:
        able = _methods(lambda method: method.distillation_target is not None)
        raise FedkinError(
            f"{method.name} works with parameters and gradients, and {unexpected[0]} is no torch "
            f"module: try {able}"
        )
    if needs.head:
        for model in models.values():
            _check_head(method.name, model)
    if needs.classes and not all(model.family.classes for model in models.values()):
        families = ", ".join(sorted({model.family.name for model in models.values()}))
        able = _methods(lambda method: not method.needs.classes and method.needs.one_architecture)
        raise FedkinError(
            f"{method.name} needs class probabilities, but family {families} predicts numbers: try "
            f"{able}"
        )


def _check_data(method: Method, population: Population) -> None:
    if method.needs.public != "none" and population.public is None:
        raise FedkinError(
            f"{method.name} needs a public set: set public.source to a data set's name, or to "
            f"{HELD_OUT!r} to take samples of the same data before they are split"
        )
    check_public_labels(method, population.public_y is not None)
    if method.needs.validation and not all(len(rows) for rows in population.val):
        who = "method.safe" if method.hyper.get("safe") else method.name
        raise FedkinError(
            f"{who} chooses by validation: set split.val above 0 so that every client has some"
        )


def _check_rounds(method: Method, federation: Federation) -> None:
    if method.needs.full_participation and federation.participation < 1:
        raise FedkinError(
            f"{method.name} needs every client in every round: set run.participation to 1"
        )
    participants = participants_of(federation)
    if federation.min_replies > participants:
        raise FedkinError(
            f"run.min_replies is {federation.min_replies}, but a round has {participants} "
            "participants"
        )


def check_public_labels(method: Method, labeled: bool) -> None:
    """Refuse a public set without labels where a method needs them.

    Args:
        method: Its ``needs`` are looked at.
        labeled: Whether the public set has labels.

    Raises:
        FedkinError: It needs them, and there are none.
    """
    if method.needs.public == "labeled" and not labeled:
        raise FedkinError(
            f"{method.name} needs a labeled public set: set public.labeled = true, or try a method "
            "that learns without its labels (ds_fl, kt_pfl, comet or feddf)"
        )


def _check_introduction(method: Method) -> None:
    """A message before the first round has four parts: the client's, its form, what the server
    does with it, and whose it is.
    """
    parts = {
        "setup_message": method.setup_message is not None,
        "expected_setup": method.expected_setup is not None,
        "setup_update": method.setup_update is not None,
        "needs.introduction ('participants' or 'everyone')": method.needs.introduction != "none",
    }
    lacking = [part for part, given in parts.items() if not given]
    if lacking and len(lacking) < len(parts):
        given = next(part for part, given in parts.items() if given).split(" ")[0]
        raise FedkinError(
            f"{method.name} has {given} without {' and '.join(lacking)}: a message before the "
            "first round needs all four of setup_message, expected_setup, setup_update and "
            "needs.introduction"
        )


def check_optimizer(method: Method, optimizer: Optimizer) -> None:
    """Refuse other local steps than a method presumes.

    Args:
        method: Its ``needs`` are looked at.
        optimizer: What [train] asks for.

    Raises:
        FedkinError: The method computes with steps of plain SGD, and [train] asks for others.
    """
    if not method.needs.plain_sgd or optimizer == PLAIN:
        return
    names = ("name", "momentum", "weight_decay", "clip")
    first = next(
        (name for name in names if getattr(optimizer, name) != getattr(PLAIN, name)), "name"
    )
    key = "optimizer" if first == "name" else first
    raise FedkinError(
        f"{method.name} computes with what steps of plain SGD did: set train.{key} back to its "
        f"default, {getattr(PLAIN, first)!r}, or choose another method, fedavg for one"
    )


def _check_head(method: str, model: Model) -> None:
    try:
        head_of(model)
    except FedkinError as error:
        raise FedkinError(f"{method} works with what enters a model's head, and {error}") from None


def methods_with_a_sum() -> str:
    """The methods whose server needs only a weighted sum, for a sentence.

    Returns:
        Names with commas between.
    """
    return _methods(lambda method: isinstance(method.aggregation, WeightedSum))


def _methods(fits: Callable[[Method], bool]) -> str:
    """The methods that fit, with their default hyper-parameters, for a sentence."""
    names = []
    for name in sorted(registry()):
        try:
            method = make(name, {}, {"lr": 0.1})
        # it has hyper-parameters without defaults: not a suggestion for a first try
        except FedkinError:
            continue
        if fits(method) and not method.needs.pooled:
            names.append(name)
    return ", ".join(names)
