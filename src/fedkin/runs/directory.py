"""A run directory: what its files are called, what they say of how far it came, and that they are
its own.

A run directory may come from anybody. What fedkin reads and writes of its own in there lies in it:
no name leads out of it, and nothing is reached through a link. This is the one place that says so.
"""

import os
import shlex
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedkin.core.errors import FedkinError, many
from fedkin.core.escaping import COMMANDS
from fedkin.core.files import near_path, read_file
from fedkin.core.system.posix import POSIX
from fedkin.core.toml import LARGEST, parse_toml

if TYPE_CHECKING:
    from fedkin.runs.spec import Spec

GIVEN = ("given.csv", "given.npz")  # data that were given from Python, as a value
SPEC, RECORD, LOCK = "experiment.toml", "run.db", "run.lock"
SECRET = "secret"  # of a run with noise
FILES = (
    SPEC,
    RECORD,
    LOCK,
    SECRET,
    *GIVEN,
    *(f"{RECORD}-{kind}" for kind in ("journal", "wal", "shm")),
    "report.html",
    "audit.html",
    "clients.csv",
    "nodes.json",
    "survivors.json",
)
FOLDERS = ("checkpoint", "state", "joined", "export")
MARKS = "/\\" if POSIX else '/\\:*?"<>|'  # which no name may have
LONGEST = 255  # bytes of a file's name, as file systems have it
# a fact of a deployment's finished run: whether the server has one model of all clients
SHARED_MODEL = "shared_model"
OWN = "the nodes' own"  # among a deployment's facts: its split, which no partition of [split] made
WRITTEN = (RECORD, LOCK)  # in place, so that a second name of the same file would be written too


def states_of(run: Path) -> Path:
    """The folder of its states.

    Args:
        run: The run's folder.

    Returns:
        Its subfolder "checkpoint", which need not be there.
    """
    return run / "checkpoint"


def has_begun(run: Path) -> bool:
    """Whether a run began in this folder, so that it is resumed: one that was killed early has no
    record yet.

    Args:
        run: Any folder, which need not be there.

    Returns:
        True where there is a record or an experiment.toml.
    """
    return recorded(run) or (run / SPEC).is_file()


def check_begun(folder: Path, several: bool = False) -> None:
    """Refuse a folder in which no run began.

    Args:
        folder: Any folder, which need not be there.
        several: Whether several runs may be named in its place.

    Raises:
        FedkinError: It is not there, or holds neither a record nor an experiment.toml; one that
            holds runs, as ``runs`` or that of a sweep, is told how to name them.
    """
    if not has_begun(folder):
        raise not_a_run(folder, several)


def not_a_run(folder: Path, several: bool = False) -> FedkinError:
    """What is wrong with a folder that should be a run's and has no record.

    Args:
        folder: Any folder, which need not be there.
        several: Whether several runs may be named in its place.

    Returns:
        To be raised.
    """
    if not folder.exists():
        unlike = ": name the folder of a run, which fedkin run --out DIR makes"
        return FedkinError(f"{folder} does not exist{near_path(folder) or unlike}")
    inside = ""
    if runs := runs_inside(folder):
        one, every = (shlex.quote(str(path)) for path in (runs[0], folder))
        instead = f"take {every}/*" if several else f"name one of them, such as {one}"
        inside = f", and holds {many(len(runs), 'run')}: {instead}"
    return FedkinError(f"{folder} is not a run directory: it has no {RECORD}{inside}")


def runs_inside(folder: Path) -> list[Path]:
    """The runs of a folder that is none itself, as ``runs`` or that of a sweep.

    Args:
        folder: Any folder, which need not be there.

    Returns:
        Their folders, by name.
    """
    return sorted(one for one in folder.glob("*") if has_begun(one))


def check_home(folder: Path, file: str, of: str) -> None:
    """Refuse a folder in which the runs of a sweep or a bench would lie among others.

    Args:
        folder: Any folder, which need not be there.
        file: The file that is there where the runs are its own.
        of: What the runs would be of: "sweep" or "bench".

    Raises:
        FedkinError: It is the folder of a run, or holds runs without that file.
    """
    if has_begun(folder):
        raise FedkinError(f"{folder} is the folder of a run: choose another --out")
    if (runs := runs_inside(folder)) and not (folder / file).is_file():
        raise FedkinError(
            f"{folder} holds {many(len(runs), 'run')} and no {of}: choose another --out, such as "
            f"{shlex.quote(str(folder / of))}"
        )


def recorded(run: Path) -> bool:
    """Whether there is a record of what happened.

    Args:
        run: Any folder, which need not be there.

    Returns:
        True where there is a run.db.
    """
    return (run / RECORD).is_file()


def unrecorded(run: Path) -> bool:
    """Whether a run was killed before its record was there: it begins anew. States come after the
    record, so where there are some the record was lost.

    Args:
        run: Any folder, which need not be there.

    Returns:
        True where there is an experiment.toml, but neither a record nor a state.
    """
    return has_begun(run) and not recorded(run) and not any(states_of(run).glob("*"))


def resumed_by(folder: str, facts: Mapping[str, Any]) -> str:
    """What continues a run.

    Args:
        folder: The run's.
        facts: What its record says of it.

    Returns:
        The command; where the run's method was given as a Python value, which no command can name,
        the call.
    """
    if of_value(facts):
        return f"fedkin.resume({folder!r}, method=THE METHOD)"
    return f"fedkin resume {shlex.quote(folder)}"


def of_value(facts: Mapping[str, Any]) -> bool:
    """Whether a run's method was given as a Python value.

    Args:
        facts: What the run's record says of it.

    Returns:
        False where its method has a name.
    """
    values = facts.get("values")
    return isinstance(values, Mapping) and "method" in values


def noted(run: Path) -> dict[str, Any]:
    """What a run's experiment.toml says of the run itself.

    Args:
        run: the run's folder.

    Returns:
        Facts as a record has them, as few as are known before there is one; {} where that file
        cannot be read.
    """
    try:
        content = parse_toml(read_file(run / SPEC, LARGEST, links=False).decode())
    except (OSError, ValueError):
        return {}
    facts = content.get("record")
    return facts if isinstance(facts, dict) else {}


def of_run(run: Path) -> "Spec":
    """The specification that a run directory keeps.

    Args:
        run: The run's folder.

    Returns:
        A checked specification.

    Raises:
        FedkinError: It has none, or one that is empty or not valid.
    """
    from fedkin.runs.spec import parse, read  # not where only a record is read

    path = run / SPEC
    content, text = read(path)
    if not content:  # all defaults: it would be taken for another experiment
        raise FedkinError(f"{path} is empty: put back a copy of it, or begin the run again")
    return parse(content, text, str(path))[0]


def leftover(path: Path) -> bool:
    """What stands in a run's folder before its first file, or is left by one that was killed.

    Args:
        path: A file or folder within it.

    Returns:
        Whether a new run may begin beside it.
    """
    return path.name in (LOCK, *GIVEN) or path.suffix == ".part"


def check_own(run: Path) -> None:
    """Refuse a run directory whose own files are links, or no files.

    Args:
        run: the folder as the user named it; it may be a link itself.

    Raises:
        FedkinError: a file or a folder of the run is a link, or another kind of thing than it
            should be, or a file that is written in place has a second name elsewhere.
    """
    for name in FILES:
        _check(run / name, folder=False, alone=name in WRITTEN)
    for name in FOLDERS:
        _check(run / name, folder=True)


def check_written(path: Path) -> None:
    """Refuse a file that is written in place, so that one elsewhere would be written too.

    Args:
        path: Of the file, which need not be there.

    Raises:
        FedkinError: It is a link or no file, or has a second name.
    """
    _check(path, folder=False, alone=True)


def path_in_run(run: Path, *names: str) -> Path:
    """The path of something of the run's own, ``run/name/…``, which need not be there yet.

    Args:
        run: the folder.
        names: one name a level; a client's name is one, whatever it holds.

    Returns:
        A path below ``run`` with no link on the way.

    Raises:
        FedkinError: a name that is no name of a file, or a link on the way.
    """
    path = run
    for name in names:
        if name in ("", ".", "..") or not _names_a_file(name):
            raise FedkinError(
                f"{name[:80]!r} cannot be the name of a file in {run}: give it a folder with --out"
            )
        path = path / name
        if path.is_symlink():
            raise FedkinError(_linked(path))
    return path


def _names_a_file(name: str) -> bool:
    """One file of a folder, by letters that every terminal and file system takes."""
    if COMMANDS.search(name) or any(mark in name for mark in MARKS):
        return False
    return len(name.encode()) <= LONGEST


def _check(path: Path, folder: bool, alone: bool = False) -> None:
    try:
        facts = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise FedkinError(f"{path} cannot be read: {error.strerror}") from None
    if stat.S_ISLNK(facts.st_mode):
        raise FedkinError(_linked(path))
    if not (stat.S_ISDIR if folder else stat.S_ISREG)(facts.st_mode):
        raise FedkinError(
            f"{path} is not a {'folder' if folder else 'file'}: this is not as fedkin left it"
        )
    if alone and facts.st_nlink > 1:
        raise FedkinError(
            f"{path} is the same file as one elsewhere (a hard link): copy the run directory "
            "instead"
        )


def _linked(path: Path) -> str:
    return (
        f"{path} is a link: fedkin's own files are never reached through one, copy the whole "
        "folder with its files"
    )
