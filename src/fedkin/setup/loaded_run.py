"""A run directory as objects in this process: its specification, its data, its models at the last
commit.
"""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError, named_line
from fedkin.core.method import Method
from fedkin.core.tree import Tree
from fedkin.data.folder import data_folder
from fedkin.engine.coordinator import Coordinator
from fedkin.engine.transports.base import InProcess
from fedkin.runs import trust
from fedkin.runs.checkpoint import SERVER
from fedkin.runs.database import read_only
from fedkin.runs.directory import FILES, FOLDERS, SPEC, of_run, path_in_run
from fedkin.runs.spec import Spec
from fedkin.setup.arguments.values import check_given, same_given
from fedkin.setup.build import Assembled, assemble
from fedkin.setup.frozen import same_frozen
from fedkin.setup.hosts import host_of
from fedkin.setup.snapshot import Snapshot, snapshot
from fedkin.setup.user_code import code_of, permit

__all__ = ["Loaded", "committed", "load", "same_data", "spec_of", "states_used", "with_data"]


def spec_of(folder: Path, workers: int | None = None, trust_code: bool = False) -> Spec:
    """What a run directory says of its experiment; the code that it names is imported only if a
    person trusts it.

    Args:
        folder: The run's.
        workers: [engine] workers in place of the run's.
        trust_code: Whether the code that it names may be imported (docs/security.md).

    Returns:
        A checked specification, with ``workers`` where they were given.

    Raises:
        FedkinError: The folder has none, one that is not valid, or one whose code nobody trusts.
    """
    spec = of_run(folder)
    trust.require(folder / SPEC, spec, code_of(spec), trust_code)
    permit(spec)
    return spec if workers is None else spec.replace("engine", workers=workers)


def with_data(spec: Spec, folder: Path) -> Spec:
    """The files of data where they lie now. A copy in the run's own folder comes first: the file
    that it was trained on may have grown since. Where that is gone, a file of its name beside the
    run or in the data folder is taken: they may have been carried to another machine together.

    Args:
        spec: What the run's folder says.
        folder: The run's.

    Returns:
        The same, or with other paths.

    Raises:
        FedkinError: A file is in none of these places.
    """
    given = spec.data.dir
    known = given if given is not None and Path(given).is_dir() else None  # else the user's own
    spec = spec.replace("data", name=_now_at(spec.data.name, folder, known), dir=known)
    source = spec.public.source
    if source is None:
        return spec
    return spec.replace("public", source=_now_at(source, folder, known))


def _now_at(name: str, folder: Path, known: str | None) -> str:
    path = Path(name)
    if not path.is_absolute() or path.name in ("", ".."):
        return name
    places = [path, folder.absolute().parent / path.name]
    if path.name not in (*FILES, *FOLDERS):  # which are something else there
        places.insert(0, path_in_run(folder.absolute(), path.name))
    for place in places:
        if place.exists():
            return str(place)
    with_name = data_folder(known)
    if with_name is not None and (with_name / path.name).exists():
        return str(with_name / path.name)
    raise FedkinError(
        f"{folder}: its data are not at {path}: put {path.name} into this folder or beside it, or "
        "into the folder that FEDKIN_DATA names"
    )


def same_data(folder: Path, parts: Assembled, facts: Mapping[str, Any], hint: str = "") -> None:
    """A run's models belong to its data, to what was fitted on them (how columns are encoded), and
    to their frozen parameters.

    Args:
        folder: The run's.
        parts: Its objects, built again.
        facts: What its record says of it.
        hint: What the message advises, after a colon.

    Raises:
        FedkinError: The data, or the frozen parameters, are not those that it began with.
    """
    if parts.population.digest() != facts.get("data_digest"):
        raise FedkinError(f"{folder}: the data are not those that this run began with{hint}")
    same_frozen(folder, parts.models, facts)


def committed(state: Tree | None) -> Tree:
    """The server's state of the last commit.

    Args:
        state: What was read; None where nothing was.

    Returns:
        ``state``, which is there.

    Raises:
        FedkinError: There is none.
    """
    if state is None:
        raise FedkinError("nothing is committed yet: start the run again")
    return state


@contextmanager
def states_used(folder: Path) -> Iterator[None]:
    """Within it a method works on a run's states, which anybody may have written: of other names,
    shapes or types than the method's own.

    Args:
        folder: The run's.

    Yields:
        Nothing.

    Raises:
        FedkinError: Whatever was raised within, in one sentence; its cause is what was raised.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as e:
        raise FedkinError(
            f"{folder}: its method fails on the states of its checkpoint, which are damaged or of "
            f"another method ({named_line(e)})"
        ) from e


class Loaded(NamedTuple):
    """A run in this process, and the commit that it was taken ``at``; by now the run may be
    further.
    """

    coordinator: Coordinator
    parts: Assembled
    at: Snapshot


def load(
    folder: Path,
    *,
    method: Method | None = None,
    trust_code: bool = False,
    of: Collection[int] | Callable[[Assembled], Collection[int]] | None = None,
) -> Loaded:
    """A run at its last committed round, in this process: for looking at models, not for training
    on.

    A client's state is read when it is asked for: StoreError then where its file is gone or
    damaged.

    Args:
        folder: The run's.
        method: The Method value that it ran, if its method is not registered.
        trust_code: Whether the code that its specification names may be imported
            (docs/security.md).
        of: Whose states will be asked for, beside the server's: client numbers, or what finds them
            by the run's objects; None: everybody's.

    Returns:
        The run, and the commit that it was taken at.

    Raises:
        FedkinError: The folder is no run, its data changed, nothing is committed, its code is not
            trusted, or its clients' models are at the nodes of a deployment.
    """
    with read_only(folder) as database:
        facts = database.facts()
    if facts.get("deployment"):
        raise FedkinError(
            f"{folder} is a run of a deployment: its personal models never left their nodes, where "
            "fedkin deploy export and predict find them; fedkin deploy join is for newcomers"
        )
    check_given(folder, method, facts, f"fedkin.Result({str(folder)!r}, method=THE METHOD)")
    # where it is looked at there may be no GPU
    here = with_data(spec_of(folder, None, trust_code), folder).replace("engine", device="cpu")
    parts = assemble(here, method)
    same_data(folder, parts, facts, ": put a copy of the file as it was into this folder")
    same_given(folder, parts, facts)
    aside = Path(tempfile.mkdtemp(prefix="fedkin-"))  # not the run's own: it may be running
    try:
        host = host_of(parts, sorted(parts.infos), aside / "state")
        transport = InProcess(host)
        coordinator = Coordinator(parts.method, parts.federation, transport)
        whose = of(parts) if callable(of) else of
        at = snapshot(folder, aside, None if whose is None else {SERVER, *whose})
        coordinator.state, host.store = committed(at.server), at.states
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    weakref.finalize(transport, shutil.rmtree, aside, ignore_errors=True)
    return Loaded(coordinator, parts, at)
