"""From a specification to the data of all clients: the source, the public set, who holds what."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from fedkin.core.errors import FedkinError
from fedkin.core.files import typed_path
from fedkin.core.method import ClientInfo
from fedkin.core.rng import Key
from fedkin.data.canaries import plant
from fedkin.data.formats.frames import SUFFIXES
from fedkin.data.formats.user_files import is_path, read_own, takes
from fedkin.data.population import Population
from fedkin.data.population_builder import build as build_population
from fedkin.data.public import Public
from fedkin.data.source import Publicity, Source
from fedkin.data.sources import load, located, whole
from fedkin.data.tables.client_column import ask_for_clients
from fedkin.runs.spec import Spec

DEFAULT_CLIENTS = 20
HELD_OUT = "held-out"  # [public] source: samples of the private data, taken before they are divided
MOST_PUBLIC = (
    2000  # public samples unless [public] says: a tenth of the data, at most the papers' 2,000
)
# sources that are drawn, from the run's seed unless [data] gives one
GENERATED = ("synthetic_mixture", "linear_toy")

_kept: list[dict[str, Source]] = []  # within ``shared_reading``: what one asked for, by its words


def rooted(spec: Spec) -> Spec:
    """Its files and folders by their whole paths: a run is resumed, and looked at, from any folder.

    What is not there stays as it is, so that it is shown as it was written.

    Args:
        spec: The specification.

    Returns:
        A copy with whole paths.
    """
    data, source = spec.data, spec.public.source
    typed = None if data.dir is None else typed_path(data.dir)
    folder = whole(typed) if typed and typed.is_dir() else data.dir
    spec = spec.replace("data", name=located(data.name), dir=folder)
    return spec.replace("public", source=None if source is None else located(source))


@contextlib.contextmanager
def shared_reading() -> Iterator[None]:
    """Within it one's own data are read once for two who ask, who are then the only ones that hold
    them.

    Yields:
        Nothing.
    """
    before, _kept[:] = list(_kept), [{}]
    try:
        yield
    finally:
        _kept[:] = before


def source_of(spec: Spec) -> Source:
    """The data set, as [data] says.

    Args:
        spec: The specification.

    Returns:
        All samples, checked.

    Raises:
        FedkinError: The name does not exist, or a file is missing or damaged.
    """
    if not _kept or not is_path(spec.data.name):
        return _read(spec)
    asked = repr((rooted(spec).data, spec.run.seed, spec.model.column))
    if (source := _kept[0].pop(asked, None)) is None:
        source = _kept[0][asked] = _read(spec)
    return source


def _read(spec: Spec) -> Source:
    data = spec.data
    generated = {"seed": spec.run.seed} if data.name in GENERATED else {}
    # mean and std of [data] are the user's own scale: columns enter as they are
    unscaled = (
        {"scale": "none"}
        if (data.mean or data.std) and Path(data.name).suffix.lower() in SUFFIXES
        else {}
    )
    options = {**generated, **unscaled, **_aside(spec), **data.options}
    return load(data.name, _folder(spec), client=data.client, label=data.label, **options)


def _aside(spec: Spec) -> dict[str, Any]:
    """A column that says a client's model is not one that models see."""
    own = is_path(spec.data.name) and "about" in takes(spec.data.name, _folder(spec))
    return {"about": [spec.model.column]} if spec.model.column and own else {}


def _folder(spec: Spec) -> Path | None:
    return None if spec.data.dir is None else Path(spec.data.dir)


def population_of(spec: Spec, wanted: bool) -> Population:
    """The clients' data, as [data], [split], [public] and [run] say.

    Args:
        spec: The specification.
        wanted: Whether the method needs a public set.

    Returns:
        The clients' data, with a public set where it is wanted or asked for.

    Raises:
        FedkinError: Nothing could be measured, nobody said who the clients are, or data and
            sections do not fit.
    """
    data, split = spec.data, spec.split
    if split.holdout != "comet" and not split.val and not split.test and data.test != "official":
        raise FedkinError(
            "no samples are for validation or test, so nothing can be measured: set split.test "
            "above 0"
        )
    source = source_of(spec)
    if not division_is_given(spec):
        ask_for_clients(source)
    clients = spec.run.clients
    if clients is None and split.name != "natural":
        clients = DEFAULT_CLIENTS
    return build_population(
        source,
        split.name,
        clients,
        Key(spec.run.seed),
        partition_params=split.options,
        fractions="comet" if split.holdout == "comet" else (split.train, split.val, split.test),
        pool=data.pool,
        public=_public(spec, source, _folder(spec), wanted),
        test=data.test,
        # who names a column of the table means it, however rows are divided over clients
        group=split.group or data.options.get("group"),
        empty=split.empty,
        least=split.least,
        apart=spec.run.holdout_clients,
    )


def division_is_given(spec: Spec) -> bool:
    """Whether somebody said how samples are divided, so that the default partition is
    no accident.

    Args:
        spec: The specification.

    Returns:
        True where [split] has a name or an option.
    """
    return "name" in spec.split.model_fields_set or bool(spec.split.options)


def _public(spec: Spec, source: Source, folder: Path | None, wanted: bool) -> Public | None:
    """What [public] asks for.

    Where a method needs a public set and none is named, it is held out of the same data.
    """
    public = spec.public
    if public.source is None and not wanted:
        return None
    other = (
        None
        if public.source in (None, HELD_OUT)
        else _public_source(spec, public.source, source, folder)
    )
    size = public.samples or min(MOST_PUBLIC, len((other or source).x) // 10)
    return Public(size, other, public.labeled, public.labels == "own", public.groups)


def _public_source(spec: Spec, name: str, source: Source, folder: Path | None) -> Source:
    """The data set of that name; one's own file is read as the private one was, by the keys of
    [data] that apply.
    """
    if not is_path(name):
        return load(name, folder)
    data, known = spec.data, takes(name, folder)
    named = {
        key: value
        for key, value in (("client", data.client), ("label", data.label))
        if value is not None
    }
    keys = (
        {**named, "task": source.task, **_aside(spec), **data.options} if is_path(data.name) else {}
    )
    publicity: Publicity = "labeled" if spec.public.labeled else "unlabeled"
    return read_own(
        name, folder, {key: value for key, value in keys.items() if key in known}, publicity
    )


def planted(spec: Spec, population: Population) -> Population:
    """The population with the canaries that [audit] asks for.

    Args:
        spec: The specification, for [audit] canaries.
        population: The clients' data.

    Returns:
        A copy with the canaries; the same where there are none.
    """
    count = spec.audit.canaries
    return plant(population, count, Key(spec.run.seed)) if count else population


def infos_of(population: Population, architectures: list[str]) -> dict[int, ClientInfo]:
    """What every client knows of itself.

    Args:
        population: The clients' data.
        architectures: The architecture of each client [clients].

    Returns:
        {number of the client: its architecture, sizes and label counts}.
    """
    histogram = torch.from_numpy(population.histogram("train")).to(torch.float32)
    public = 0 if population.public is None else len(population.public)
    return {
        client: ClientInfo(
            client,
            architectures[client],
            len(population.train[client]),
            histogram[client],
            public,
            population.classes,
        )
        for client in range(population.clients)
    }
