"""What every preset's rows cost in processor time: src/fedkin/reproduce/costs.csv, from runs that were made.

    fedkin reproduce NAME --out DIR --set engine.name=inprocess      for every preset, and what was run at full scale
    FEDKIN_DATA=DIR python -m benchmarks.preset_costs DIR …          writes the file

A row that was run is *measured*; with ``--all`` the others are *counted*: the rate of the measured row that is most
like it, of the same method, × the ratio of the counted work (samples trained and evaluated in a round × the time of
one gradient of each model, taken here). Where no row of its method was run, the rate is *another method's*. Counted
figures are rough, most of all where the model is another one.
Small runs of data sets that are not at hand can be made on made-up data of the same shape
(``python -m benchmarks.made_up DIR``): values do not change the time.
"""

import argparse
import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

import fedkin.reproduce.estimate
from fedkin.architectures import architectures_of, models_of, sizes_of
from fedkin.core.errors import FedkinError
from fedkin.core.tree import is_buffer
from fedkin.data.clients import Population
from fedkin.experiment import experiment
from fedkin.populate import population_of
from fedkin.reproduce.cost import cost, processor
from fedkin.reproduce.estimate import PROBE, Costs, probe
from fedkin.reproduce.preset import Row, names, preset
from fedkin.reproduce.running import spec_of
from fedkin.runs.spec import MethodSection, Spec

FILE = Path(fedkin.reproduce.estimate.__file__).with_name("costs.csv")
HEAD = "# Processor seconds of one seed, one process, two-core machine: python -m benchmarks.preset_costs"
EVALUATION = 1 / 3  # a forward pass beside forward and backward
LONG = 50  # rounds
GRADIENTS = 3  # of which the fastest counts
ALIKE = {"cifar100": "cifar10"}  # data of the same shapes, where the first are not there


class Work(NamedTuple):
    """Of a later round, and of the finish: seconds of plain gradients, up to a factor that is the method's own."""

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
"""How much a gradient is worth, of methods where an option says so; else what the method's own rate says."""
FINISH: dict[str, Callable[[dict[str, Any]], float]] = {"persfl": students}
"""Work of the finish in passes over the training data, of methods whose options say how much it is."""


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
    often = sum(n % spec.run.evaluate_every == 0 or n == spec.run.rounds for n in range(2, spec.run.rounds + 1))
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
    """Processor seconds a sample of one gradient of a batch, of a model on samples of a data set's shape."""
    content = {"data": json.loads(data), "model": json.loads(model), "split": {"name": "iid"}, "run": {"clients": 100}}
    spec = experiment(content)
    population = few(data)
    found = models_of(spec, population, [name])[name]
    w = {key: leaf if is_buffer(key) else leaf.clone().requires_grad_() for key, leaf in found.initial.items()}
    leaves = [leaf for leaf in w.values() if leaf.requires_grad]
    x = population.x[:batch]
    taken = []
    for _ in range(GRADIENTS):
        began = processor()
        torch.autograd.grad(found.train_outputs(w, x).sum(), leaves)
        taken.append(processor() - began)
    return max(min(taken), 1e-5) / len(x)


@cache
def few(data: str) -> Population:
    """A population of the data set, to build models for."""
    return population_of(experiment({"data": json.loads(data), "split": {"name": "iid"}, "run": {"clients": 5}}), False)


def measured(row: Row, folders: list[Path]) -> Costs | None:
    """What a row's run took, if it is in one of the folders and was made in one session and process."""
    for folder in folders:
        found = cost(folder / "runs" / f"{row.name}-seed0")
        if found and found.once is not None and found.round is not None and found.finish is not None:
            return Costs(found.once, found.round, found.finish, "measured")
    return None


def counted(row: Row, rows: dict[str, Row], lines: dict[str, Costs]) -> Costs:
    """A row's costs from those of the measured row that is most like it."""
    before = nearest(like(spec_of(row, 0, {})), rows)
    a, b, known = like(spec_of(before, 0, {})), like(spec_of(row, 0, {})), lines[before.name]
    here, there = work(a), work(b)
    how = "counted" if a.method.name == b.method.name else "another method's"
    once = max(0.0, known.once - known.round)
    if a.model == b.model:
        rate, last = known.round / here.round, known.finish / here.finish
    else:  # small models cost more than their gradients: what carries over is how many times FedAvg's work it is
        plain = a.model_copy(update={"method": MethodSection(name="fedavg")})
        base = nearest(plain, rows)
        rate = last = known.round / here.round / (lines[base.name].round / work(like(spec_of(base, 0, {}))).round)
    return Costs(once + rate * there.round, rate * there.round, last * there.finish, how)


def nearest(mine: Spec, rows: dict[str, Row]) -> Row:
    """Of the measured rows, by name, the one whose setting has most in common with a specification."""
    return max(rows.values(), key=lambda one: alike(mine, spec_of(one, 0, {})))


def alike(a: Spec, b: Spec) -> tuple[bool, bool, bool, bool, int]:
    """The method first, the model, whether steps are likely to be compiled (long runs are), the data, then how many
    settings are equal."""
    settings = [(getattr(a, name).model_dump(), getattr(b, name).model_dump()) for name in ("method", "train", "split")]
    equal = sum(x.get(key) == value for x, y in settings for key, value in y.items())
    long = (a.run.rounds >= LONG) == (b.run.rounds >= LONG)
    return a.method.name == b.method.name, a.model == b.model, long, a.data.name == b.data.name, equal


def like(spec: Spec) -> Spec:
    """The same with data of the same shapes, where its own may not be there."""
    other = ALIKE.get(spec.data.name)
    return spec if other is None else spec.model_copy(update={"data": spec.data.model_copy(update={"name": other})})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR")
    parser.add_argument("--all", action="store_true", help="counted rows too, rough where the model is another one")
    asked = parser.parse_args()
    folders: list[Path] = asked.folders
    torch.set_num_threads(1)
    pairs = [
        pair for name in names() for pair in zip(preset(name, "small").rows, preset(name, "full").rows, strict=True)
    ]
    small = {before.name: before for before, _ in pairs if before.runner == "experiment"}
    full = {row.name: row for _, row in pairs if row.runner == "experiment"}
    lines = {name: found for name, row in (small | full).items() if (found := measured(row, folders))}
    known = {name: row for name, row in (small | full).items() if name in lines}
    for name, row in (small | full).items() if asked.all else ():
        try:
            if name not in lines:
                lines[name] = counted(row, known, lines)
        except FedkinError as error:
            print(error)
    lines[PROBE] = Costs(probe(), 0.0, 0.0, "measured")
    told = [f"{name},{one.once:.3g},{one.round:.3g},{one.finish:.3g},{one.how}" for name, one in sorted(lines.items())]
    FILE.write_text("\n".join([HEAD, "row,once,round,finish,how", *told, ""]), encoding="utf-8")
    print(FILE, len(told))


if __name__ == "__main__":
    main()
