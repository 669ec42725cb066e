"""Every transform by name, and the order in which they may stand.

A message passes the transforms in the order of the list: first what an attacker does, then what
compresses it, then what the server does: it shortens each, then takes a rule of all of them.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError, unknown
from fedkin.core.hyperparameters import OutOfRange, in_annotations
from fedkin.core.method import Method
from fedkin.transforms import attacks, rules
from fedkin.transforms.compression import transform as compression
from fedkin.transforms.setting import Change, Setting
from fedkin.transforms.trust import trust

COMPRESSION = "compression"
STAGES = ("attack", COMPRESSION, "bound", "rule")
ONE_OF = {
    COMPRESSION: "both compress what a client sends",
    "rule": "both stand in the place of the mean",
}


class Transform(NamedTuple):
    """A named transform: where a message passes it, and what makes it from its parameters."""

    stage: str  # one of STAGES
    make: Callable[..., Change]
    simulated: bool = False  # nodes of a deployment do no such thing
    trains: bool = False  # at the server, on a public set with labels


class TransformEntry(NamedTuple):
    """One entry of [[transforms]]."""

    name: str
    parameters: Mapping[str, Any]


TRANSFORMS: dict[str, Transform] = {
    "attack": Transform("attack", attacks.attack, simulated=True),
    "top_k": Transform(COMPRESSION, compression.top_k),
    "random_k": Transform(COMPRESSION, compression.random_k),
    "quantize": Transform(COMPRESSION, compression.quantize),
    "bfloat16": Transform(COMPRESSION, compression.bfloat16),
    "norm_bound": Transform("bound", rules.norm_bound),
    "median": Transform("rule", rules.median),
    "trimmed_mean": Transform("rule", rules.trimmed_mean),
    "geometric_median": Transform("rule", rules.geometric_median),
    "krum": Transform("rule", rules.krum),
    "trust": Transform("rule", trust, simulated=True, trains=True),
}


def _as_it_is(method: Method) -> Method:
    return method


def transformed(
    method: Method,
    asked: Sequence[TransformEntry],
    setting: Setting,
    noised: Callable[[Method], Method] = _as_it_is,
) -> Method:
    """The method with these transforms around it, the first one innermost.

    Compression stands around all others and around noise: it is the last thing that happens to a
    message at a client and is undone before anything else at the server. What it makes of a noised
    message tells no more than the message.

    Args:
        method: What is transformed.
        asked: Names and parameters, in the order in which a message passes them.
        setting: The experiment around the method.
        noised: What [privacy] puts around it.

    Raises:
        FedkinError: A name or a parameter is unknown or out of range, the order breaks what a
            transform promises, or the method has nothing that a transform works on.
    """
    check_order([one.name for one in asked])
    last = [one for one in asked if _named(one.name).stage == COMPRESSION]
    for one in asked:
        method = method if one in last else made(one)(method, setting)
    method = noised(method)
    for one in last:
        method = made(one)(method, setting)
    return method


def compressing(names: Sequence[str]) -> list[str]:
    """Those of the transforms that compress messages."""
    return [name for name in names if _named(name).stage == COMPRESSION]


def trained_at_server(method: Method, names: Sequence[str]) -> Method:
    """The method, with what transforms need that train at the server: a public set with labels.

    Args:
        method: What is transformed.
        names: Of the transforms.
    """
    if not any(_named(name).trains for name in names):
        return method
    return method._replace(needs=method.needs._replace(public="labeled", server_models=True))


def made(asked: TransformEntry) -> Change:
    """One transform from its parameters. Raises FedkinError for what it does not take."""
    function = _named(asked.name).make
    accepted = inspect.signature(function).parameters
    for key in asked.parameters:
        if key not in accepted:
            raise unknown(f"parameter of transform {asked.name}", key, accepted)
    missing = [
        key for key, p in accepted.items() if p.default is p.empty and key not in asked.parameters
    ]
    if missing:
        raise FedkinError(f"transform {asked.name} needs {', '.join(missing)}")
    try:
        return in_annotations(function)(**asked.parameters)
    except OutOfRange as error:
        raise FedkinError(f"transform {asked.name}: {error.key}: {error}") from None


def check_order(names: Sequence[str]) -> None:
    """Raise FedkinError where the list's order breaks what one of them promises."""
    for before, after in pairwise(names):
        if STAGES.index(_named(after).stage) < STAGES.index(_named(before).stage):
            raise FedkinError(
                f"transforms: {before} stands before {after}, and a message passes {after} "
                f"first: write {after} above {before} ({' → '.join(STAGES)})"
            )
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise FedkinError(f"transforms: {twice[0]} stands there twice: once is enough")
    for stage, why in ONE_OF.items():
        found = [name for name in names if _named(name).stage == stage]
        if len(found) > 1:
            raise FedkinError(f"transforms: {found[0]} and {found[1]} {why}: choose one")


def check_deployable(names: Sequence[str]) -> None:
    """Raise FedkinError for what only a simulation does."""
    for name in names:
        if _named(name).simulated:
            raise FedkinError(
                f"transform {name} is for simulations (fedkin run): take it out of [[transforms]]"
            )


def _named(name: str) -> Transform:
    if name not in TRANSFORMS:
        hidden = HIDDEN.get(name)
        if hidden:
            raise FedkinError(f"transform {name} is asked for by {hidden}, not by [[transforms]]")
        raise unknown("transform", name, TRANSFORMS)
    return TRANSFORMS[name]


# Those that an experiment asks for under another key
HIDDEN = {
    "local_batch_norm": "model.buffers = 'local'",
    "black_box_models": "a model that is a learner",
    "safe": "method.safe = true",
    "server_optimizer": "server.optimizer",
    "keep_optimizer": "train.state = 'kept'",
    "client_noise": "privacy.noise with privacy.unit = 'client'",
    "sample_noise": "privacy.noise with privacy.unit = 'sample'",
    "prediction_noise": "privacy.noise of a method that sends predictions",
    "votes": "privacy.noise of a method whose server labels by votes",
    "masks": "privacy.secure_aggregation = true",
}
