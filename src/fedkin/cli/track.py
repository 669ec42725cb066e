"""``fedkin track``: a run's records in MLflow or TensorBoard."""

from pathlib import Path
from typing import Annotated

import typer

from fedkin.cli.options import Folder
from fedkin.core.errors import FedkinError
from fedkin.experiment.terminal import say


def track(
    folder: Folder,
    mlflow: Annotated[
        str | None,
        typer.Option("--mlflow", metavar="URI", help="Tracking URI, e.g. sqlite:///mlflow.db"),
    ] = None,
    tensorboard: Annotated[
        Path | None, typer.Option("--tensorboard", metavar="DIR", help="Log folder.")
    ] = None,
) -> None:
    """Copy settings and metrics of a run to MLflow or TensorBoard (extra track)."""
    from fedkin.tracking.track import to_mlflow, to_tensorboard

    if mlflow is None and tensorboard is None:
        raise FedkinError("say where to: --tensorboard DIR or --mlflow URI")
    if tensorboard is not None:
        say(to_tensorboard(folder, tensorboard))
    if mlflow is not None:
        say(to_mlflow(folder, mlflow))
