"""Running an experiment from its beginning.

The Python interface and the command line both come here.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError, Halted
from fedkin.core.files import write_file
from fedkin.core.method import Method
from fedkin.experiment.local_backend import hosts
from fedkin.experiment.run_facts import toml_of
from fedkin.experiment.training import Engine, Progress, begin, check_engine
from fedkin.runs import checkpoint, trust
from fedkin.runs.database import continued_by
from fedkin.runs.directory import SPEC, has_begun, leftover
from fedkin.runs.spec import Spec, assign, parse
from fedkin.setup.build import Assembled, assemble
from fedkin.setup.user_code import code_of, permit

__all__ = [
    "claimed",
    "experiment",
    "new_folder",
    "run",
]


def experiment(content: Mapping[str, Any] | None = None, **settings: Any) -> Spec:
    """A checked specification from sections (as in TOML) and keywords with dots as double
    underscores.

    >>> experiment(method__name="fedavg", run__rounds=5).run.rounds
    5

    Args:
        content: {section: {key: value}}, as a TOML file has them.
        **settings: ``section__key=value`` each; they replace what ``content`` has.

    Returns:
        The specification; keys that are not set have their defaults.

    Raises:
        FedkinError: The first key or value that is wrong, in one sentence.
    """
    merged: dict[str, Any] = {
        key: dict(value) if isinstance(value, Mapping) else value
        for key, value in (content or {}).items()
    }
    for key, value in settings.items():
        assign(merged, key.replace("__", "."), value)
    spec = parse(merged)[0]
    permit(spec)  # who wrote the program typed the names in it
    return spec


def run(
    spec: Spec,
    out: Path | str | None = None,
    *,
    method: Method | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
    is_claimed: bool = False,
) -> Path:
    """Run an experiment from its beginning.

    Args:
        spec: The specification.
        out: The run's folder; else [run] out, else a new one in ``runs``.
        method: A Method value in place of [method], for methods that are not registered (engine
            inprocess only).
        progress: Is called with the record of each round.
        engine: Where the clients are, if not in processes of this machine.
        is_claimed: Whether ``out`` is what ``claimed`` gave the caller, who still has it.

    Returns:
        The run's folder.

    Raises:
        FedkinError: Before training, whatever does not fit; ``Interrupted``, which is one, after
            Ctrl-C.
    """
    check_engine(spec, method)
    permit(spec)
    engine = engine or Engine(assemble, hosts)
    parts = engine.assemble(spec, method)
    with (
        contextlib.nullcontext(Path(out))
        if is_claimed and out is not None
        else claimed(spec, parts.method.name, out)
    ) as folder:
        if code_of(parts.spec):
            trust.remember(folder, parts.spec)
        _keep(parts, folder, engine)
        begin(parts, folder, progress, engine)
    return folder


@contextlib.contextmanager
def claimed(spec: Spec, method: str, out: Path | str | None) -> Iterator[Path]:
    """A new run's folder, in which no other process begins a run within the block.

    Args:
        spec: The specification.
        method: The method's name.
        out: As of ``new_folder``.

    Yields:
        The folder.

    Raises:
        FedkinError: As of ``new_folder``; or a file in it is a link.
        Halted: Another process is beginning a run there.
    """
    folder = new_folder(spec, method, out)
    with checkpoint.alone(folder):
        _check_free(folder)  # another process may have begun a run since
        yield folder


def _keep(parts: Assembled, folder: Path, engine: Engine) -> None:
    try:
        write_file(folder / SPEC, toml_of(parts, engine.facts))
    except OSError as error:
        raise Halted(f"{folder} cannot be written: {error.strerror}") from None


def new_folder(spec: Spec, method: str, out: Path | str | None) -> Path:
    """The run's folder, made.

    Args:
        spec: The specification, for [run] out and the words of a name.
        method: The method's name.
        out: Where it is to be; None: where [run] out says, else the first
            ``runs/METHOD-DATA-seedS-N`` that is not there.

    Returns:
        The folder, in which there is nothing.

    Raises:
        FedkinError: It has no name, is a file, or has something in it.
        Halted: It cannot be made.
    """
    chosen = spec.run.out if out is None else out
    if chosen is not None and not str(chosen).strip():
        raise FedkinError("run.out is empty: name a folder, or leave it out for a new one in runs")
    if chosen is None:
        stem = f"{method}-{Path(spec.data.name).stem}-seed{spec.run.seed}"
        numbered = (Path("runs") / f"{stem}-{n}" for n in count(1))
        return next(folder for folder in numbered if _made(folder, anew=True))
    folder = Path(chosen)
    if folder.is_symlink() and not folder.exists():
        raise FedkinError(
            f"{folder} is a link to {folder.readlink()}, which is not there: choose another --out "
            "(run.out)"
        )
    _check_free(folder)
    _made(folder)
    return folder


def _check_free(folder: Path) -> None:
    """Raise FedkinError where a run's folder is a file, or has something in it."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise FedkinError(f"{folder} is a file: run.out names a folder")
    if any(not leftover(path) for path in folder.iterdir()):
        again = f", or: {continued_by(folder)}" if has_begun(folder) else ""
        raise FedkinError(
            f"{folder} exists and is not empty: choose another --out (run.out){again}"
        )


def _made(folder: Path, anew: bool = False) -> bool:
    """Make a folder. False where it is to be ``anew`` and was there: to make it is the one way to
    know that nobody else who begins a run has it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=not anew)
    except OSError as error:
        if anew and os.path.lexists(folder):
            return False
        raise Halted(f"{folder} cannot be made: {error.strerror}") from None
    return True
