"""The counted work of a specification: samples trained and evaluated, times the time of one
gradient of each model.
"""

import json
import math
import time
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import torch

from fedkin.core.tree import is_buffer
from fedkin.data.population import Population
from fedkin.experiment.run import experiment
from fedkin.runs.spec import Spec
from fedkin.setup.architectures import architectures_of, models_of, sizes_of
from fedkin.setup.population import population_of

EVALUATION = 1 / 3  # a forward pass beside forward and backward
GRADIENTS = 5  # of which the fastest counts
ALIKE = {"cifar100": "cifar10"}  # data of the same shapes, where the first are not there


class Work(NamedTuple):
    """Of a later round, and of the finish: seconds of plain gradients, up to a factor that is the
    method's own.
    """

    round: float
    finish: float


def students(options: dict[str, Any]) -> float:
    """How many students PersFL trains at the end, times their epochs."""
    from fedkin.methods.persfl import LAMBDAS, TEMPERATURES

    lams, temperatures = options.get("lams", LAMBDAS), options.get("temperatures", TEMPERATURES)
    grid = sum(1 if lam == 0 else len(temperatures) for lam in lams)
    return float(grid * options.get("student_epochs", 5))


PASSES: dict[str, Callable[[dict[str, Any]], float]] = {
    "ppfl": lambda options: float(options.get("models", 4)),
    "fedem": lambda options: float(options.get("components", 3)),
}
"""How much a gradient is worth, of methods where an option says so; else what the method's own rate
says.
"""
FINISH: dict[str, Callable[[dict[str, Any]], float]] = {"persfl": students}
"""Work of the finish in passes over the training data, of methods whose options say how
much it is.
"""


def work(spec: Spec) -> Work:
    """The counted work of a specification."""
    data, split = json.dumps(spec.data.model_dump()), json.dumps(spec.split.model_dump())
    sizes, evaluated = sizes_and_evaluated(data, split, spec.run.clients)
    whole = sum(sizes)
    share = math.ceil(spec.run.participation * len(sizes)) / len(sizes)
    if spec.train.steps is None:
        trained = share * (spec.train.epochs or 1) * whole
    else:
        trained = share * spec.train.steps * spec.train.batch_size * len(sizes)
    names = architectures_of(spec, sizes)
    gradient = (
        sum(
            seconds(data, spec.model.model_dump_json(), name, spec.train.batch_size) * size
            for name, size in zip(names, sizes, strict=True)
        )
        / whole
    )
    often = sum(
        n % spec.run.evaluate_every == 0 or n == spec.run.rounds
        for n in range(2, spec.run.rounds + 1)
    )
    evaluations = often / max(1, spec.run.rounds - 1)
    passes = FINISH.get(spec.method.name, lambda options: 0.0)(spec.method.options)
    gradient *= PASSES.get(spec.method.name, lambda options: 1.0)(spec.method.options)
    a_round = gradient * (trained + EVALUATION * evaluations * evaluated)
    return Work(a_round, gradient * (passes * whole + EVALUATION * (evaluated + whole)))


@cache
def sizes_and_evaluated(data: str, split: str, clients: int | None) -> tuple[list[int], int]:
    """(training samples of each client, validation and test samples of all)."""
    content = {"data": json.loads(data), "split": json.loads(split)} | (
        {"run": {"clients": clients}} if clients else {}
    )
    population = population_of(experiment(content), False)
    return sizes_of(population), sum(map(len, population.val)) + sum(map(len, population.test))


@cache
def seconds(data: str, model: str, name: str, batch: int) -> float:
    """Processor seconds a sample of one gradient of a batch, of a model on samples of a data set's
    shape.
    """
    content = {
        "data": json.loads(data),
        "model": json.loads(model),
        "split": {"name": "iid"},
        "run": {"clients": 100},
    }
    spec = experiment(content)
    population = few(data)
    found = models_of(spec, population, [name])[name]
    w = {
        key: leaf if is_buffer(key) else leaf.clone().requires_grad_()
        for key, leaf in found.initial.items()
    }
    leaves = [leaf for leaf in w.values() if leaf.requires_grad]
    x = population.x[:batch]
    taken = []
    for _ in range(
        GRADIENTS
    ):  # process_time counts nanoseconds, the clock of ``processor`` hundredths of a second
        began = time.process_time()
        torch.autograd.grad(found.train_outputs(w, x).sum(), leaves)
        taken.append(time.process_time() - began)
    return min(taken) / len(x)


@cache
def few(data: str) -> Population:
    """A population of the data set, to build models for."""
    return population_of(
        experiment({"data": json.loads(data), "split": {"name": "iid"}, "run": {"clients": 5}}),
        False,
    )


def like(spec: Spec) -> Spec:
    """The same with data of the same shapes, where its own may not be there."""
    other = ALIKE.get(spec.data.name)
    return (
        spec
        if other is None
        else spec.model_copy(update={"data": spec.data.model_copy(update={"name": other})})
    )
