"""What is no error and yet seldom meant, of an experiment whose objects are made."""

import math
import statistics

import numpy as np
import torch
from torch import Tensor

from fedkin.core.errors import FedkinError, many
from fedkin.core.family import GAUSSIAN
from fedkin.core.kinds import PREDICTIONS
from fedkin.core.method import Method
from fedkin.core.tree import leaves
from fedkin.data.population import Population
from fedkin.engine.round.divergence import is_divergence
from fedkin.engine.round.federation import participants_of
from fedkin.models.one_sample import refuses_one_sample
from fedkin.models.softmax import softmax_remark
from fedkin.setup.build import Assembled
from fedkin.setup.frozen import size_of
from fedkin.setup.hosts import replays_of

OFF_CENTRE = 1.5  # deviations between the pixels' mean and 0
UNITS = 100.0  # size of the numbers from which on, or below whose inverse, training fails
LOOKED_AT = 500  # training rows
HARDLY = 0.01  # of the way to the others in a whole run
WILD = 1e3  # a learning rate above which a step leads nowhere
FEW = 100  # steps of a head that nobody trained before; the page of fedbabu has what fewer cost
DROWNED = 10.0  # times an update: from here on half of the accuracy goes (docs/privacy.md)
FAR = 30.0  # of labels that are numbers: the mean, or a deviation, from which on steps overshoot


def remarks(parts: Assembled) -> list[str]:
    """What is no error and yet seldom meant: a model that gives probabilities where logits are
    asked for, clients with too few samples for it, noise that hides nothing from the server or
    far longer than the updates, sizes that count twice, a learning rate far too large, a step that
    overshoots, a pull that comes to nothing, a trial or a warm-up that the run does not see the end
    of, a head that is hardly trained, pixels that lie far from zero, numbers that are far too large
    or too small.

    Args:
        parts: The experiment's objects.

    Returns:
        A sentence each; [] where there is nothing to say.
    """
    x = parts.population.x[:8]
    ends = [remark for model in parts.models.values() if (remark := softmax_remark(model, x))]
    scale = parts.spec.data
    far = [] if scale.mean or scale.std else _off_centre(parts.population)
    rounds = parts.spec.run.rounds
    steps = [
        *_wild(parts),
        *_overshooting(parts.method),
        *_hardly_drawn(parts),
        *_on_trial(parts.method, rounds),
        *_hardly_tuned(parts),
        *_warming(parts.spec.train.warmup, rounds),
    ]
    labels = [*_large_labels(parts), *_class_0(parts.population)]
    samples = [*alone(parts), *unsent_noise(parts), *_drowned(parts), *_by_size_twice(parts)]
    return [*_frozen(parts), *ends, *samples, *steps, *far, *labels]


def why_diverged(error: FedkinError, parts: Assembled) -> list[str]:
    """What may be why a run ended as diverged: its record has no remark before its end.

    Args:
        error: What ended the run.
        parts: The experiment's objects.

    Returns:
        A sentence each; [] of another error.
    """
    return remarks(parts) if is_divergence(error) else []


def _large_labels(parts: Assembled) -> list[str]:
    """Of numbers far from 1 that the model learns as they are."""
    model, population = parts.spec.model, parts.population
    if model.family != GAUSSIAN.name or model.target != "none":
        return []
    rows = _looked_at(population, population.y)
    if rows is None:
        return []
    labels = population.y[rows].double()
    mean, deviation = float(labels.mean()), float(labels.std(correction=0))
    if max(abs(mean), deviation) < FAR:
        return []
    return [
        f"labels lie around {mean:.3g} with a deviation of {deviation:.3g}, far from 1, so steps "
        "overshoot or take long: try model.target=standard"
    ]


def _class_0(population: Population) -> list[str]:
    """Of classes that are numbered from 1."""
    named = bool(population.class_names) or not population.classes or not len(population.y)
    if named or int(population.y.min()) != 1:
        return []
    return [
        f"no sample is of class 0, and the model has {population.classes} outputs, one for it: "
        "number the classes from 0"
    ]


def alone(parts: Assembled) -> list[str]:
    """Of clients with one training sample, and a model that learns from two or more.

    Args:
        parts: The experiment's objects.

    Returns:
        A sentence, or none where there are no such clients or nodes keep the data.
    """
    population, refusing = parts.population, dict[str, bool]()  # by architecture: each tried once
    alone = []
    for client, size in enumerate(population.sizes("train").tolist()):
        if size != 1:
            continue
        name = parts.infos[client].architecture
        if name not in refusing:
            refusing[name] = refuses_one_sample(parts.models[name], population.x[:1])
        if refusing[name]:
            alone.append(population.names[client])
    if not alone:
        return []
    return [
        f"{many(len(alone), 'client')} with one training sample ({alone[0]} the first): the model "
        "normalizes over the samples of a mini-batch, so no round has an update of theirs; choose "
        "a model without batch norm, or leave such clients out"
    ]


def unsent_noise(parts: Assembled) -> list[str]:
    """Of noise on samples whose clients send nothing that it could hide.

    Args:
        parts: The experiment's objects.

    Returns:
        A sentence, or none where clients send something or samples are not protected.
    """
    if parts.costs is None or parts.costs.sent:
        return []
    return [
        f"clients of {parts.method.name} send nothing, so [privacy] hides nothing from the server: "
        "its noise costs accuracy, and protects only a model that its client gives away; if none "
        "does, leave [privacy] out"
    ]


def _drowned(parts: Assembled) -> list[str]:
    """Of noise on updates that is many times as long as the longest of them."""
    privacy = parts.spec.privacy
    if not privacy.on or privacy.of_samples:
        return []
    assert isinstance(privacy.noise, float)
    method, first = parts.method, min(parts.infos)
    received = method.broadcast(method.server(parts.federation.start), first)
    sent = method.expected_update(received, parts.infos[first])
    if PREDICTIONS in sent:  # a row of the simplex each, not one long vector
        return []
    values = sum(value.numel() for value in leaves(sent))
    clients = participants_of(parts.federation)
    deviation = privacy.noise / (clients**0.5 if privacy.where == "client" else clients)
    times = deviation * values**0.5
    if times < DROWNED:
        return []
    return [
        f"[privacy]: the noise on a round's mean is {times:,.0f} times as long as an update may be "
        f"({values:,} values, {many(clients, 'client')}), so hardly anything is learned: take more "
        "clients a round, a smaller model, or less noise"
    ]


def _by_size_twice(parts: Assembled) -> list[str]:
    """Of participants drawn by their samples, whose mean is weighted by samples again."""
    everybody = participants_of(parts.federation) == len(parts.infos)
    weighted = parts.method.hyper.get("weights") == "samples"
    if parts.spec.run.sampling != "size" or everybody or not weighted:
        return []
    return [
        "run.sampling = 'size' draws clients by their samples, and method.weights = 'samples' "
        "weights the mean by them again, so that samples of large clients count more than others; "
        "set method.weights to 'uniform'"
    ]


def _frozen(parts: Assembled) -> list[str]:
    """How much of each model nobody trains."""
    return [
        f"model {name}: {held:,} of {held + size_of(model.initial):,} parameters are frozen; "
        "nobody trains or sends them"
        for name, model in parts.models.items()
        if (held := size_of(model.frozen))
    ]


def _off_centre(population: Population) -> list[str]:
    """Of pictures that nobody has centred, and of other numbers, but for a table's, that are far
    larger or smaller than what models begin with.
    """
    x = population.x
    pixels = x.dtype == torch.uint8 and x.dim() > 2
    numbers = x.is_floating_point() and population.encoding is None
    rows = _looked_at(population, x) if pixels or numbers else None
    if rows is None:
        return []
    values = x[rows].double() / (255 if pixels else 1)
    mean, deviation = float(values.mean()), float(values.std())
    if not deviation > 0:
        return []
    if pixels and mean >= OFF_CENTRE * deviation:
        return [
            f"pixels lie around {mean:.2f} with a deviation of {deviation:.2f}, so training begins "
            f"far from zero: try data.mean=[{mean:.2f}] and data.std=[{deviation:.2f}]"
        ]
    if numbers and not 1 / UNITS < math.hypot(mean, deviation) < UNITS:
        return [
            f"numbers lie around {mean:.3g} with a deviation of {deviation:.3g}, and models learn "
            f"from those around 1: try data.mean=[{mean:.3g}] and data.std=[{deviation:.3g}]"
        ]
    return []


def _looked_at(population: Population, here: Tensor) -> Tensor | None:
    """Some training rows of all clients alike, or of as many as are looked at; None where nodes
    keep their data, and ``here`` holds none.
    """
    apart = -(-len(population.train) // LOOKED_AT)
    asked = range(0, len(population.train), apart)
    each = -(-LOOKED_AT // len(asked))
    rows = torch.from_numpy(np.concatenate([population.train[one][:each] for one in asked]))
    return rows if len(rows) and int(rows.max()) < len(here) else None


def _wild(parts: Assembled) -> list[str]:
    """Of learning rates of clients or the server with which no model learns."""
    train, server = parts.spec.train, parts.spec.server
    known = {f"method.{key}": rate for key, rate in parts.method.hyper.items() if key[-3:] == "_lr"}
    shortened = train.clip is not None and train.clip < 1  # a step is at most so much of the rate
    rates = {} if shortened else {"train.lr": train.lr, **known}
    return [
        f"{key} = {rate:g} is far too large: training diverges, or its losses and probabilities "
        f"mean nothing; try {key}={usual:g}"
        for key, rate, usual in [
            *((key, rate, 0.1) for key, rate in rates.items()),
            ("server.lr", server.lr, 1.0),
        ]
        if isinstance(rate, int | float) and rate > WILD
    ]


def _overshooting(method: Method) -> list[str]:
    """Of methods whose personal model is pulled to another: η times λ is a share of the way."""
    hyper = method.hyper
    lr, eta, lam = (hyper.get(key) for key in ("lr", "personal_lr", "lam"))
    if not isinstance(eta, int | float) or not isinstance(lam, int | float):
        return []
    remarks_made = []
    if eta * lam >= 1:
        remarks_made.append(
            f"{method.name}: personal_lr times lam is {eta * lam:.3g}: from 1 on a personal step "
            f"goes beyond the model that pulls it; try method.personal_lr={0.6 / lam:.2g}"
        )
    # where the personal model is solved for in inner steps, λ draws the local copy to it in turn
    if "inner" in hyper and isinstance(lr, int | float) and lr * lam >= 1:
        remarks_made.append(
            f"{method.name}: lr times lam is {lr * lam:.3g}: from 1 on a step of the local copy "
            f"goes beyond the personal model; try train.lr={0.6 / lam:.2g}"
        )
    return remarks_made


def _hardly_drawn(parts: Assembled) -> list[str]:
    """Of methods whose clients draw near ones to each other, by λ/σ in each step at most."""
    hyper = parts.method.hyper
    lr, lam, sigma = (hyper.get(key) for key in ("lr", "lam", "sigma"))
    numbers = [one for one in (lr, lam, sigma) if isinstance(one, int | float)]
    others = len(parts.infos) - 1
    if len(numbers) < 3 or not lam or not others:
        return []
    way = lr * lam / sigma * replays_of(parts) / len(parts.infos) * others
    if way >= HARDLY:
        return []
    near = sigma * way / (10 * HARDLY)  # ten times the least that matters
    return [
        f"{parts.method.name}: in the whole run the others draw a client by {way:.2g} of the way "
        "to them at most (train.lr · lam / sigma · steps · others), which is local training; try "
        f"method.sigma={near:.2g} and method.alpha={near / others / 2:.2g}"
    ]


def _on_trial(method: Method, rounds: int) -> list[str]:
    """Of methods that try several starts side by side for some rounds, and then go on with one."""
    starts, trial = method.hyper.get("starts"), method.hyper.get("trial")
    if not isinstance(starts, int) or not isinstance(trial, int) or starts < 2 or trial <= rounds:
        return []
    return [
        f"{method.name}: its trial of {starts} starts takes {many(trial, 'round')} and the run "
        f"{many(rounds, 'round')}, so none is chosen and each round costs {starts} times as much; "
        "lower method.trial or raise run.rounds"
    ]


def _hardly_tuned(parts: Assembled) -> list[str]:
    """Of methods whose head is as it was drawn until a few passes at the end (``fedbabu``)."""
    epochs, tuned = (parts.method.hyper.get(key) for key in ("epochs", "tune"))
    if not isinstance(epochs, int) or tuned not in ("full", "head"):
        return []
    sizes = [one.samples for one in parts.infos.values() if one.samples]
    if not sizes:
        return []
    a_pass = math.ceil(statistics.median(sizes) / parts.spec.train.batch_size)
    if epochs * a_pass >= FEW:
        return []
    return [
        f"{parts.method.name}: no round trains the head, and at the end a client of median size "
        f"trains it for {many(epochs * a_pass, 'step')}; fewer than {FEW} may leave it far below "
        f"what it could reach: try method.epochs={math.ceil(FEW / a_pass)}"
    ]


def _warming(warmup: int, rounds: int) -> list[str]:
    """Of a warm-up after which no round is left."""
    if not warmup or warmup < rounds:
        return []
    highest = rounds / (warmup + 1)
    return [
        f"train.warmup = {warmup} and the run has {many(rounds, 'round')}, so the learning rate "
        f"never reaches train.lr, and {highest:.3g} of it at most; lower train.warmup or raise "
        "run.rounds"
    ]
