"""A run's records in the tools that people have already: MLflow and TensorBoard. They are copied;
run.db stays.
"""

import hashlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError, first_line, reason, some
from fedkin.core.files import write_file
from fedkin.report.ledger import bytes_by_round
from fedkin.report.records import Run, opened
from fedkin.report.scores import curves, measure_of
from fedkin.report.summary import of_run
from fedkin.runs.output_files import owner
from fedkin.tracking.event_file import event_file

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
        points, keys = list(scalars(run)), settings(run)
    try:
        content = event_file(points, "\n".join(f"    {k} = {v}" for k, v in keys.items()))
    except ImportError:
        raise FedkinError(
            "tracking with TensorBoard needs the extra track: in fedkin's checkout, "
            "pip install -c constraints.txt '.[track]'"
        ) from None
    where = Path(target) / run.folder.name
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
        numbers = [Metric(name, value, 0, at) for name, at, value in scalars(run)]
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
        identity = client.create_run(number, run_name=run.folder.name).info.run_id
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


def scalars(run: Run) -> Iterator[tuple[str, int, float]]:
    """Accuracy and the experiment's measure by view (mean on test, weighted on validation), seconds
    and bytes, round by round.

    Args:
        run: An open run.

    Yields:
        (name, round, value): accuracies are fractions 0..1, losses means per sample, "bytes" bytes
        of a round.
    """
    for measure in dict.fromkeys(("accuracy", measure_of(run))):
        if measure == "loss":
            continue  # its mean on test follows
        for view, curve in curves(run, measure).items():
            for at, validation, test in zip(
                curve.rounds, curve.validation, curve.test, strict=True
            ):
                if test is not None:
                    yield f"test_{measure}/{view}", at, test
                if validation is not None:
                    yield f"validation_{measure}/{view}", at, validation
    for view, at, loss in run.rows(
        "SELECT view, round, avg(loss) FROM metrics WHERE split = 'test' GROUP BY view, "
        "round ORDER BY round"
    ):
        if loss is not None:
            yield f"test_loss/{view}", at, loss
    for at, (_, sent) in bytes_by_round(run).items():
        yield "bytes", at, float(sent)


def settings(run: Run) -> dict[str, Any]:
    """Every key of the specification with its section, and the method.

    Args:
        run: An open run.

    Returns:
        {"section.key": value}, and "method".
    """
    by_key: dict[str, Any] = {"method": of_run(run)["method"]}
    for section, content in (run.facts.get("spec") or {}).items():
        if section != "transforms":
            by_key |= {f"{section}.{key}": value for key, value in content.items()}
            continue
        for number, one in enumerate(content, 1):
            by_key |= {f"transforms.{number}.{key}": value for key, value in one.items()}
    return by_key
