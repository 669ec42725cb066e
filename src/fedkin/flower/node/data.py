"""A node's own data, and what the server makes of the sizes it receives: populations of one client,
or of none.
"""

import hmac
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import numpy as np
import torch

from fedkin.core.errors import FedkinError, named_line
from fedkin.core.rng import Key
from fedkin.data.arrays import Array, Task, class_labels, features, images, targets
from fedkin.data.formats.frames import SUFFIXES, Style, places_in
from fedkin.data.formats.memory import room
from fedkin.data.formats.npz import divided, load_arrays
from fedkin.data.population import SPLITS, Population
from fedkin.data.public import Public, draw
from fedkin.data.source import Source
from fedkin.data.sources import load
from fedkin.data.tables.encoding import fit
from fedkin.data.tables.recipe import Recipe
from fedkin.data.tables.table import is_number, numbers_only, read_table
from fedkin.data.validation import check_population
from fedkin.flower.envelope import COLUMNS as MOST_COLUMNS
from fedkin.flower.envelope import LONGEST, Facts, Place
from fedkin.runs.spec import Spec
from fedkin.setup.build import method_of
from fedkin.setup.frozen import digest_of
from fedkin.setup.population import HELD_OUT, MOST_PUBLIC

MANY_CLASSES = 1000  # up to so many, one node may be alone to have them
MOST_TOTAL = 500_000_000  # samples of all nodes
NUMBERED = 40  # bytes that the server needs to number a sample that it never sees
DIGITS = 18  # of a class's number, which int64 holds whichever they are
COLUMNS = "columns"  # of the nodes' tables, among what the server knows of a population


def read(path: Path, label: str = "label") -> Population:
    """One client's file as a population of one.

    .npz: x_train, y_train and, where there are any, x_val, y_val, x_test, y_test. Tables: a column
    "split" with train, val or test, a column of labels, numbers in all others. Classes are numbered
    alike on all nodes: 0, 1, ….

    Args:
        path: Of the file.
        label: The column of labels, of a table.

    Returns:
        A population whose one client has the file's name.

    Raises:
        FedkinError: The file cannot be read, has no training samples, or holds labels or columns
            that no model can take.
    """
    try:
        return _read(path, label)
    except FedkinError:
        raise
    except MemoryError:
        raise FedkinError(f"{path} takes more memory than this machine has: bring less") from None
    except Exception as error:  # of a reader, which met what none of its checks foresaw
        raise FedkinError(f"{path} cannot be read: {named_line(error)}") from error


def _read(path: Path, label: str) -> Population:
    x, y, sizes, recipe = _table(path, label) if path.suffix.lower() in SUFFIXES else _arrays(path)
    if not sizes[0]:
        raise FedkinError(
            f"{path} has no samples to train on: give it rows of split train, or x_train"
        )
    task: Task
    if y.dtype.kind == "f":
        task, classes, y = "regression", 0, targets(y, str(path))
    else:
        task, (y, classes) = "classification", class_labels(y, None, str(path))
    ends = np.cumsum(sizes)
    rows = [np.arange(end - size, end, dtype=np.int64) for end, size in zip(ends, sizes)]
    population = Population(
        name=path.name,
        x=torch.from_numpy(x),
        y=torch.from_numpy(y),
        classes=classes,
        task=task,
        train=(rows[0],),
        val=(rows[1],),
        test=(rows[2],),
        names=("own",),
        encoding=None if recipe is None else fit(recipe, x, rows[0]),
    )
    check_population(population)
    return population


def _arrays(path: Path) -> tuple[Array, Array, list[int], None]:
    wanted = "a node's file holds x_train, y_train and, if any, val and test"
    x, y, sizes = divided(load_arrays(path), path, SPLITS, wanted)
    return images(features(x, str(path))), y, list(sizes.values()), None


def _table(path: Path, label: str) -> tuple[Array, Array, list[int], Recipe]:
    source = read_table(path, client="split", label=label)
    assert source.client is not None
    assert source.columns is not None
    x = numbers_only(source, path)
    unexpected = sorted({str(part) for part in source.client} - set(SPLITS))
    if unexpected:
        raise FedkinError(
            f"{path}: column 'split' holds {unexpected[0]!r}: it says train, val or test"
        )
    order = np.concatenate([np.flatnonzero(source.client == part) for part in SPLITS])
    y: Array = source.y
    if source.class_names:
        _check_numbered(source, path, label)
        y = np.array([int(name) for name in source.class_names])[source.y]
    return (
        x[order],
        y[order],
        [int((source.client == part).sum()) for part in SPLITS],
        source.columns._replace(scale="none"),
    )


def _check_numbered(source: Source, path: Path, label: str) -> None:
    """Refuse labels that are no numbers of classes, naming the row at fault: where most labels are
    numbers of any kind it is the first that is none.
    """
    names = source.class_names
    words = [k for k, name in enumerate(names) if not name.isdecimal() or len(name) > DIGITS]
    if not words:
        return
    odd = [k for k in words if not is_number(names[k])]
    few = bool(odd) and 2 * len(odd) < len(names)
    row = int(np.flatnonzero(np.isin(source.y, odd if few else words))[0])
    advice = ", which is not a number" if few else ": number the classes alike on all nodes"
    where = places_in(path, Style())(row)
    raise FedkinError(f"{where}: column {label!r} holds {names[source.y[row]][:40]!r}{advice}")


def facts_of(population: Population, client: int, salt: bytes = b"") -> Facts:
    """What the server receives about a client's data: no label, no value of a sample.

    Args:
        population: Which has the client.
        client: Its number.
        salt: The node's secret; without it nobody can tell whether the digest is that of data that
            they guess.

    Returns:
        Sizes, shapes, columns and a digest.

    Raises:
        FedkinError: A table has too many columns, or names that are too long.
    """
    digest = hmac.new(salt, digestmod="sha256")
    for part in SPLITS:
        for tensor in population.part(client, part):
            digest.update(f"{part} {tensor.dtype} {tuple(tensor.shape)}".encode())
            digest.update(np.ascontiguousarray(tensor.numpy()).reshape(-1).view(np.uint8).data)
    train, val, test = (len(population.rows(part)[client]) for part in SPLITS)
    columns = columns_of(population)
    if len(columns) > MOST_COLUMNS or any(len(name) > LONGEST for name in columns):
        raise FedkinError(
            f"a node's table has at most {MOST_COLUMNS:,} columns, with names of {LONGEST} letters"
        )
    return Facts(
        train=train,
        val=val,
        test=test,
        shape=tuple(population.x.shape[1:]),
        dtype=str(population.x.dtype).removeprefix("torch."),  # type: ignore[arg-type]
        classes=population.classes,
        task=population.task,
        digest=digest.hexdigest(),
        columns=columns,
    )


def columns_of(population: Population) -> tuple[str, ...]:
    """The names of a table's inputs, in their order; () of arrays.

    Args:
        population: Of a node.

    Returns:
        Names, without the label and "split".
    """
    return (
        ()
        if population.encoding is None
        else tuple(feature.name for feature in population.encoding.features)
    )


def alone(spec: Spec, own: Population, place: Place) -> Population:
    """One client's data at its number among clients of whom nothing is here, with the
    public set.

    Args:
        spec: The experiment.
        own: The node's data, of one client.
        place: Its place in the federation.

    Returns:
        A population in which all others are empty.

    Raises:
        FedkinError: The place does not fit the data.
    """
    if place.client >= place.clients or (own.classes and place.classes < own.classes):
        raise FedkinError("its place in the federation does not fit the data of this node")
    public, public_y = _public(spec, own.x, place.classes, own.task)
    return replace(own, classes=place.classes, public=public, public_y=public_y).alone(
        place.client, place.clients
    )


def unseen(spec: Spec, names: Sequence[str], facts: Sequence[Facts]) -> Population:
    """The server's view: sizes and shapes of everybody's data, no sample.

    Args:
        spec: The experiment.
        names: Of the nodes, in the order of client numbers.
        facts: What each sent about its data.

    Returns:
        A population in which nobody has a sample.

    Raises:
        FedkinError: The nodes' data do not fit each other.
    """
    usual = _usual(names, facts)
    first = facts[usual]
    tables = [(name, one.columns) for name, one in zip(names, facts) if one.columns]
    for name, columns in tables:
        same_columns(name, columns, *tables[0])
    known = tables[0][1] if tables else ()
    for name, other in zip(names, facts):
        for what in ("shape", "dtype", "task"):
            if getattr(other, what) != getattr(first, what):
                mine, theirs = getattr(first, what), getattr(other, what)
                raise FedkinError(
                    f"the data of {name} have {what} {theirs}, those of {names[usual]} {mine}"
                )
    classes, total = (
        max(other.classes for other in facts),
        sum(other.train + other.val + other.test for other in facts),
    )
    x = torch.zeros((1, *first.shape), dtype=getattr(torch, first.dtype))
    public, public_y = _public(spec, x, classes, first.task)
    sizes = np.array([[other.train, other.val, other.test] for other in facts])
    parts = np.split(np.arange(total, dtype=np.int64), np.cumsum(sizes.reshape(-1))[:-1])
    return Population(
        name="own data of the nodes",
        x=x,
        y=torch.zeros(total, dtype=torch.int64 if classes else torch.float32),
        classes=classes,
        task=first.task,
        train=tuple(parts[0::3]),
        val=tuple(parts[1::3]),
        test=tuple(parts[2::3]),
        public=public,
        public_y=public_y,
        truth={
            "digest": np.array([other.digest for other in facts]),
            COLUMNS: np.array(known, dtype=str),
        },
        names=tuple(names),
    )


def _usual(names: Sequence[str], facts: Sequence[Facts]) -> int:
    """The first node whose data are of the form that most nodes have.

    Raises FedkinError, naming the node, for one that alone would enlarge everybody's model.
    """
    forms = [(one.shape, one.dtype, one.task) for one in facts]
    classes = sorted((one.classes, name) for one, name in zip(facts, names))
    most, name = classes[-1]
    others = classes[-2][0] if len(classes) > 1 else most
    if most > MANY_CLASSES and most > 10 * others:
        raise FedkinError(
            f"{name} says that its labels go up to {most - 1:,}, those of the others to "
            f"{others - 1:,}: number the classes alike on all nodes, or leave it out of clients"
        )
    held = [one.train + one.val + one.test for one in facts]
    room_left = min(MOST_TOTAL, room() // NUMBERED)
    if sum(held) > room_left:
        largest = max(range(len(facts)), key=held.__getitem__)
        raise FedkinError(
            f"the nodes say that they hold {sum(held):,} samples, {names[largest]} "
            f"{held[largest]:,} of them: more than the {room_left:,} that this server takes"
        )
    return forms.index(Counter(forms).most_common(1)[0][0])


def same_columns(name: str, columns: Sequence[str], other: str, theirs: Sequence[str]) -> None:
    """Refuse two tables with other columns, or another order: a model knows inputs by their place.

    Args:
        name: Of a node.
        columns: Of its table.
        other: Of another node.
        theirs: Of that one's table.

    Raises:
        FedkinError: They differ; names the first column that does.
    """
    for at, (mine, yours) in enumerate(zip_longest(columns, theirs), start=1):
        if mine != yours:
            first, second = (
                f"{which[:40]!r}" if which is not None else "none" for which in (mine, yours)
            )
            where = (
                f"column {at} of {name} is {first}, of {other} {second} (without 'split' "
                "and the labels)"
            )
            raise FedkinError(f"{where}: give all nodes' tables the same columns, in one order")


def digest_of_public(population: Population) -> str:
    """sha256 of the public set as it was drawn, with its labels; "" where there is none.

    Args:
        population: With or without a public set.

    Returns:
        64 hexadecimal digits, or "".
    """
    both = {"x": population.public, "y": population.public_y}
    return digest_of({name: tensor for name, tensor in both.items() if tensor is not None})


def check_public(population: Population, place: Place) -> None:
    """Refuse a public set that is not the one of the server: what is predicted on its k-th sample
    is taken together by k.

    Args:
        population: Of the node.
        place: What the server says.

    Raises:
        FedkinError: It is another one.
    """
    if digest_of_public(population) != place.public:
        raise FedkinError(
            "its public set is not the one of the server: what public.source names must be the "
            "same everywhere"
        )


def _public(
    spec: Spec, like: torch.Tensor, classes: int, task: Task
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """The public set, drawn alike on the server and on every node from the file that [public]
    names.
    """
    public = spec.public
    wanted = method_of(spec).needs.public != "none"
    if public.source is None and not wanted:
        return None, None
    if public.source in (None, HELD_OUT):
        raise FedkinError(
            "a public set cannot be held out of data that stay on their nodes: name a file "
            "or a data set"
        )
    if public.labels == "own":
        raise FedkinError(
            "nodes' models have outputs for the private classes alone: set public.labels to "
            "'private'"
        )
    other = load(public.source, None if spec.data.dir is None else Path(spec.data.dir))
    size = public.samples or min(MOST_PUBLIC, len(other.x) // 10)
    x, y = like[:1].numpy(), np.zeros(1, dtype=np.int64)
    private = Source("own data", x, y, classes, task=task)
    drawn = draw(Public(size, other, public.labeled), private, np.arange(1), Key(spec.run.seed))
    return torch.from_numpy(drawn.x), None if drawn.y is None else torch.from_numpy(drawn.y)
