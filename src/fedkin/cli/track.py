"""``fedkin track``: a run's records in MLflow, TensorBoard or Weights & Biases."""

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
    wandb: Annotated[
        str | None,
        typer.Option("--wandb", metavar="PROJECT", help="Project at Weights & Biases."),
    ] = None,
) -> None:
    """Copy settings and metrics of a run to MLflow or TensorBoard (extra track), or to Weights &
    Biases (extra wandb).
    """
    from fedkin.tracking.track import to_mlflow, to_tensorboard
    from fedkin.tracking.weights_and_biases import to_wandb

    if mlflow is None and tensorboard is None and wandb is None:
        raise FedkinError("say where to: --tensorboard DIR, --mlflow URI or --wandb PROJECT")
    if tensorboard is not None:
        say(to_tensorboard(folder, tensorboard))
    if mlflow is not None:
        say(to_mlflow(folder, mlflow))
    if wandb is not None:
        say(to_wandb(folder, wandb))
