"""A run's records in the tools that people have already: MLflow and TensorBoard. They are copied;
run.db stays.
"""

import hashlib
import os
import re
import time
from pathlib import Path

from fedkin.core.errors import FedkinError, first_line, reason, some
from fedkin.core.files import write_file
from fedkin.report.records import opened
from fedkin.runs.output_files import owner
from fedkin.tracking.event_file import event_file
from fedkin.tracking.points import name_of, scalars, settings, times

EXPERIMENT = "fedkin"  # of MLflow, which its runs are in
FOLDERS = "MLFLOW_ALLOW_FILE_STORE"  # what MLflow's refusal of folders names
REFUSED = re.compile(r"\[Errno -?\d+\] ([\w ]+)")  # by the system, within MLflow's sentence
EVENTS = "events.out.tfevents."  # how the names of TensorBoard's files begin


def to_tensorboard(folder: Path, target: Path) -> Path:
    """Event files in ``target``/RUN, in place of those that an earlier call wrote there: every
    point stands there once.

    Args:
        folder: A run directory.
        target: TensorBoard's log folder.

    Returns:
        The folder ``target``/RUN that TensorBoard reads, RUN being the run's name.

    Raises:
        FedkinError: the extra is not installed, the folder is no run, or ``target``/RUN cannot be
            written or holds event files of something else.
    """
    with opened(Path(folder)) as run:
        when, keys = times(run), settings(run)
        points = [(name, at, value, when[at]) for name, at, value in scalars(run)]
    try:
        content = event_file(points, "\n".join(f"    {k} = {v}" for k, v in keys.items()))
    except ImportError:
        raise FedkinError(
            "tracking with TensorBoard needs the extra track: in fedkin's checkout, "
            "pip install -c constraints.txt '.[track]'"
        ) from None
    where = Path(target) / name_of(run)
    named = os.fsencode(run.folder.resolve())
    mark = f".{hashlib.sha256(named).hexdigest()[:12]}.fedkin"
    earlier = _own_events(where, mark)
    try:
        where.mkdir(parents=True, exist_ok=True)
        # a new name: who reads the old file would go on in it
        write_file(where / f"{EVENTS}{time.time_ns()}{mark}", content)
        for path in earlier:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise FedkinError(f"{where} cannot be written: {reason(error)}") from None
    return where


def _own_events(where: Path, mark: str) -> list[Path]:
    """The event files with a mark, and what killed processes left of some. Raises FedkinError where
    others stand beside them, whose points would be doubled.
    """
    files = sorted(where.glob(f"{EVENTS}*"))
    others = [path.name for path in files if mark not in path.name]
    if others:
        raise FedkinError(
            f"{where} holds event files that are not of this run ({some(others, 1)}): choose "
            "another --tensorboard, or remove them"
        )
    return files


def to_mlflow(folder: Path, uri: str) -> str:
    """An MLflow run with parameters, metrics by round and the state as a tag.

    Args:
        folder: A run directory.
        uri: Where MLflow keeps its runs: the address of a server, or of a database such as
            sqlite:///mlflow.db.

    Returns:
        The id of MLflow's run.

    Raises:
        FedkinError: The extra is not installed, the folder is no run, or the store would keep
            nothing, is a run's own file, or cannot be used.
    """
    try:
        from mlflow.entities import Metric, Param, RunTag
        from mlflow.exceptions import MlflowException
        from mlflow.tracking import MlflowClient
    except ImportError:
        raise FedkinError(
            "tracking with MLflow needs the extra track: in fedkin's checkout, "
            "pip install -c constraints.txt '.[track]'"
        ) from None
    _check(uri)
    # its 7 are minutes where no server is
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    with opened(Path(folder)) as run:
        when = times(run)
        numbers = [
            Metric(name, value, round(when[at] * 1000), at) for name, at, value in scalars(run)
        ]
        parameters = [Param(key, str(value)[:500]) for key, value in settings(run).items()]
        finished = run.finished
    state = "finished" if finished else "unfinished"
    try:
        client = MlflowClient(tracking_uri=uri)
        experiment = client.get_experiment_by_name(EXPERIMENT)
        number = (
            experiment.experiment_id
            if experiment is not None
            else client.create_experiment(EXPERIMENT)
        )
        identity = client.create_run(number, run_name=name_of(run)).info.run_id
        for start in range(0, max(len(numbers), 1), 1000):  # MLflow takes so many at once
            part = numbers[start : start + 1000]
            client.log_batch(
                identity, part, parameters if not start else [], [RunTag("fedkin.state", state)]
            )
        client.set_terminated(identity, "FINISHED" if finished else "KILLED")
    except MlflowException as error:
        raise FedkinError(f"MLflow at {uri}: {_why(error)}") from None
    except Exception as error:
        # SQLAlchemy's, of a file that is no database; a database's driver that is not here
        why = first_line(error)
        if isinstance(error, OSError) and error.strerror:
            why = f"{error.filename}: {error.strerror}"
        raise FedkinError(f"MLflow at {uri} cannot be used: {why}") from None
    return str(identity)


def _check(uri: str) -> None:
    """Raises FedkinError for a store that would keep nothing, and for a run's own records."""
    kind, slashes, path = uri.partition("://")
    if not uri or (kind.startswith("sqlite") and slashes and path.strip("/") in ("", ":memory:")):
        raise FedkinError(
            f"MLflow at {uri!r} keeps nothing: name a file, such as sqlite:///mlflow.db"
        )
    own = (
        owner(Path(os.path.realpath(path.removeprefix("/")))) if kind.startswith("sqlite") else None
    )
    if own is not None:
        raise FedkinError(
            f"MLflow at {uri}: that is a file of {own} itself, choose another, such as "
            "sqlite:///mlflow.db"
        )


def _why(error: Exception) -> str:
    """MLflow's own reason; of a folder, which newer ones refuse, and of a server that does not
    answer, in fewer words than its paragraph.
    """
    if FOLDERS in str(error):
        return (
            "that is a folder, and this MLflow keeps no runs in one: name a database, such as "
            "sqlite:///mlflow.db, or the address of a server"
        )
    refused = REFUSED.search(str(error))
    return str(error) if refused is None else f"no server answers there: {refused[1]}"
