"""Which client has which architecture, and the models of all of them."""

import inspect
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, cast

import numpy as np

from fedkin.core.errors import FedkinError, unknown
from fedkin.core.family import BERNOULLI, CATEGORICAL, FAMILIES, GAUSSIAN, POISSON, standardised
from fedkin.core.measures import Choice, Kind, Name, check_measure, chosen_for, kind_of
from fedkin.core.model import Inputs, Model
from fedkin.core.rng import Key
from fedkin.core.system.user_code import is_user_code
from fedkin.core.system.user_measures import user_measure
from fedkin.core.tree import Params
from fedkin.data.population import Population
from fedkin.data.validation import TOKENS
from fedkin.models.build import MODELS, options_of
from fedkin.models.build import build as build_model
from fedkin.runs.short_form import short_form
from fedkin.runs.spec import Spec
from fedkin.runs.suggested import is_table
from fedkin.runtime.precision import lowered


def names_of(spec: Spec) -> set[str]:
    """The architectures of [model].

    Args:
        spec: The specification.

    Returns:
        Those of the map, or the one name.
    """
    return {*spec.model.map.values()} or {spec.model.name}


def architectures_of(
    spec: Spec, sizes: Sequence[int], column_values: Sequence[str] | None = None
) -> list[str]:
    """The architecture of clients with so many training samples, by [model] rule (``RULES``), from
    its map or name.

    Args:
        spec: The specification.
        sizes: Training samples of each client [clients].
        column_values: What the column of rule "column" says of each client (``column_of``); None:
            no rule asks for it.

    Returns:
        A name each [clients].

    Raises:
        FedkinError: Shares do not go with the map or the rule, or a client's value is not in the
            map.
    """
    model = spec.model
    names = list(model.map.values()) or [model.name]
    if model.shares and (len(model.shares) != len(names) or model.rule not in ("size", "random")):
        raise FedkinError(
            f"model.shares has {len(model.shares)} numbers for {len(names)} models and rule "
            f"{model.rule!r}: give one "
            'for each model of the map, with rule "size" or "random"'
        )
    if model.rule == "column":
        return _by_column(spec, column_values)
    return RULES[model.rule](spec, sizes, names)


def sizes_of(population: Population) -> list[int]:
    """Training samples of each client.

    Args:
        population: The clients' data.

    Returns:
        One number a client, in the order of their numbers.
    """
    return [len(rows) for rows in population.train]


def column_of(spec: Spec, population: Population) -> list[str] | None:
    """The one value that [model] column has in the rows of each client; None where no rule asks for
    it.

    Args:
        spec: The specification.
        population: The clients' data.

    Returns:
        A text each [clients], or None.

    Raises:
        FedkinError: The data have no such column, or a client has several values of it.
    """
    column = spec.model.column
    if spec.model.rule != "column" or column is None:
        return None
    values = population.truth.get(column)
    if values is None or len(values) != len(population.x):
        raise FedkinError(
            f"the data have no column {column!r} that says a client's model: see model.column"
        )
    own_values = []
    for name, rows in zip(population.names, population.train):
        own = sorted({str(value) for value in values[rows]})
        if len(own) > 1:
            raise FedkinError(
                f"client {name} has several values of {column!r}: {', '.join(own[:3])}"
            )
        own_values.append(own[0])
    return own_values


def _by_size(spec: Spec, sizes: Sequence[int], names: list[str]) -> list[str]:
    """Clients in order of their training samples, in equal shares or those of [model]: the largest
    have the first.
    """
    clients = len(sizes)
    by_size = sorted(range(clients), key=lambda k: (-sizes[k], k))
    rank = {client: position for position, client in enumerate(by_size)}
    if not spec.model.shares:
        return [names[rank[client] * len(names) // clients] for client in range(clients)]
    ends = [round(clients * end / sum(spec.model.shares)) for end in accumulate(spec.model.shares)]
    return [
        names[int(np.searchsorted(ends, rank[client], side="right"))] for client in range(clients)
    ]


def _in_turn(spec: Spec, sizes: Sequence[int], names: list[str]) -> list[str]:
    return [names[client % len(names)] for client in range(len(sizes))]


def _at_random(spec: Spec, sizes: Sequence[int], names: list[str]) -> list[str]:
    """Drawn for each client, all alike or with the probabilities of [model] shares."""
    rng = Key(spec.run.seed).numpy("architectures")
    if not spec.model.shares:
        return [names[int(i)] for i in rng.integers(len(names), size=len(sizes))]
    chances = np.array(spec.model.shares) / sum(spec.model.shares)
    return [names[int(i)] for i in rng.choice(len(names), size=len(sizes), p=chances)]


def _by_column(spec: Spec, column_values: Sequence[str] | None) -> list[str]:
    choices = spec.model.map
    if spec.model.column is None or not choices:
        raise FedkinError(
            'rule "column" needs model.column, a column of the table, and a model.map with '
            "its values"
        )
    if column_values is None:
        raise FedkinError(
            f"column {spec.model.column!r} says a client's model, and nobody's is known: name "
            "the model"
        )
    for one in column_values:
        if one not in choices:
            raise unknown(f"model by column {spec.model.column!r}:", one, choices)
    return [choices[one] for one in column_values]


RULES: dict[str, Callable[[Spec, Sequence[int], list[str]], list[str]]] = {
    "size": _by_size,
    "turn": _in_turn,
    "random": _at_random,
}


def models_of(spec: Spec, population: Population, names: list[str]) -> dict[str, Model]:
    """One Model an architecture, initial parameters by seed.

    Args:
        spec: The specification.
        population: The clients' data, for the shape of a sample and the classes.
        names: Architectures, with their options.

    Returns:
        {name: model}.

    Raises:
        FedkinError: There is no such architecture or option, or it does not take such samples.
    """
    spec = with_family(spec, population)
    return {name: _model(spec, population, name, Key(spec.run.seed)) for name in names}


def another(spec: Spec, population: Population, name: str, number: int) -> Params:
    """Other initial parameters of an architecture: its draw ``number``, of which 0 is the model's
    own.

    Args:
        spec: The specification.
        population: The clients' data.
        name: Of an architecture.
        number: Of the draw, from 0.

    Returns:
        Parameters with the names and shapes of the model's own.
    """
    return _model(spec, population, name, Key(spec.run.seed, round=number - 1)).initial


def _model(spec: Spec, population: Population, name: str, key: Key) -> Model:
    shape, model, inputs = tuple(population.x.shape[1:]), spec.model, inputs_of(spec, population)
    recipe, own = described(name)
    options = {**model.options, **own}
    if ours := sorted(options.keys() & inspect.signature(build_model).parameters.keys()):
        raise unknown(f"option of model {recipe!r}", ours[0], options_of(recipe))
    built = build_model(
        recipe,
        shape,
        population.classes,
        key,
        model.family,
        inputs,
        model.buffers,
        model.head,
        model.frozen,
        **options,
    )

    def called(whole: Model) -> Model:
        if isinstance(model.target, tuple):
            whole = whole._replace(family=standardised(*model.target))
        return lowered(whole._replace(name=name), spec.train.precision)

    return built.changed(called)


def described(text: str) -> tuple[str, dict[str, Any]]:
    """``dnn:hidden=16`` as a name and its options; ``package.module:Class:width=8`` too.

    >>> described("dnn:hidden=16"), described("nets:Net:width=8")
    (('dnn', {'hidden': 16}), ('nets:Net', {'width': 8}))

    Args:
        text: A model as it is typed.

    Returns:
        (name, {option: value}); nothing is imported.

    Raises:
        FedkinError: An option has no name.
    """
    head, _, rest = text.partition(":")
    if head in MODELS:
        return short_form(text, _no_bare)
    name, options = short_form(rest, _no_bare)
    return (f"{head}:{name}" if rest else head), options


def _no_bare(name: str) -> str:
    raise FedkinError(f"an option of model {name!r} has no name: write {name}:key=value")


def with_family(spec: Spec, population: Population) -> Spec:
    """The specification with the family of its outputs: "auto" is categorical for classes, gaussian
    for numbers; and with the mean and the standard deviation of the training labels where its
    target is "standard".

    Args:
        spec: The specification.
        population: The clients' data.

    Returns:
        A copy in which neither family nor target is "auto" or "standard".

    Raises:
        FedkinError: The labels are not for the family, or the family has no target.
    """
    spec = _with_target(_with_family(spec, population))
    if spec.model.target == "none":
        return spec
    if spec.model.family != GAUSSIAN.name:
        numbers = (
            "leave it out"
            if population.task == "regression"
            else "are they numbers? say data.task=regression"
        )
        raise FedkinError(
            f"model.target is for labels of family gaussian, not {spec.model.family}: {numbers}"
        )
    if spec.model.target != "standard":
        return spec
    labels = population.y.numpy()[np.concatenate(population.train)].astype(np.float64)
    target = float(labels.mean()), float(labels.std()) or 1.0
    return spec.replace("model", target=target)


def _with_target(spec: Spec) -> Spec:
    """The specification with "auto" as what it means for these labels."""
    if spec.model.target != "auto":
        return spec
    own = spec.model.family == GAUSSIAN.name and is_table(spec.data.name)
    target = "standard" if own else "none"
    return spec.replace("model", target=target)


def _with_family(spec: Spec, population: Population) -> Spec:
    family, numbers = spec.model.family, population.task == "regression"
    if family == "auto":
        usual = GAUSSIAN if numbers else CATEGORICAL
        return spec.replace("model", family=usual.name)
    if family in FAMILIES and numbers and FAMILIES[family].classes:
        raise FedkinError(
            "labels are numbers, not classes: set model.family to gaussian or poisson, not "
            f"{family}"
        )
    if family in FAMILIES and not numbers and not FAMILIES[family].classes:
        # a model of numbers would be fitted to each label's place among the sorted labels
        raise FedkinError(
            f"labels are classes, but family {family} predicts numbers: set "
            "model.family=categorical, or say that labels are numbers (of a table: "
            "data.task=regression; of arrays: y of floats)"
        )
    if family == BERNOULLI.name and population.classes != 2:
        raise FedkinError(
            f"family bernoulli is for two classes, but there are {population.classes}: use "
            "categorical"
        )
    if family == POISSON.name and bool((population.y < 0).any()):
        # without the label: a node tells its server this sentence
        raise FedkinError(
            "family poisson is for counts, but there are labels below 0: use gaussian"
        )
    return spec


def measure_of(population: Population, counted: bool = True) -> Choice:
    """The measure that the clients' training labels suggest, and why.

    Args:
        population: The clients' data.
        counted: Whether the labels of all clients are here to be counted; a node has only its own.

    Returns:
        The name, with the reason in words.
    """
    counts = [int(n) for n in population.histogram("train").sum(0)] if counted else []
    return chosen_for(_kind(population), counts)


def with_measure(spec: Spec, population: Population, counted: bool = True) -> Spec:
    """The specification with its measure: "auto" is the one that the data suggest
    (``measure_of``).

    Args:
        spec: The specification.
        population: The clients' data.
        counted: Whether the labels of all clients are here to be counted.

    Returns:
        A copy in which the measure is not "auto".

    Raises:
        FedkinError: There is no such measure, or it is not for these labels.
    """
    name = spec.run.measure
    if name == "auto":
        name = cast(Name, measure_of(population, counted).name)
    check_measure(name, _kind(population))
    if is_user_code(name):
        user_measure(name)  # what cannot be called is refused before training
    return spec.replace("run", measure=name)


def _kind(population: Population) -> Kind:
    return kind_of(population.classes, population.x.dtype in TOKENS)


def inputs_of(spec: Spec, population: Population) -> Inputs:
    """[data] mean and std, one for all or one a channel; symbols of a text have none.

    Args:
        spec: The specification.
        population: The clients' data.

    Returns:
        How samples enter a model.

    Raises:
        FedkinError: Symbols have a scale, or the number of values is not that of the channels.
    """
    channels, tokens = population.x.shape[1], population.x.dtype in TOKENS
    mean = () if isinstance(spec.data.mean, str) else spec.data.mean
    for name, values in (("mean", mean), ("std", spec.data.std)):
        if values and tokens:
            raise FedkinError(
                f"data.{name} is for numbers, but {spec.data.name} holds symbols: leave it out"
            )
        if len(values) not in (0, 1, channels):
            raise FedkinError(
                f"data.{name} has {len(values)} values: give one, or one for each of "
                f"{channels} channels"
            )
    return Inputs(mean, spec.data.std, tokens)
