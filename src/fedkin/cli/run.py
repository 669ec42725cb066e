"""``fedkin run`` and ``fedkin resume``."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedkin.cli import completion
from fedkin.cli.options import AsJson, Folder, TrustCode, path_as_text
from fedkin.cli.talk.training import train, train_quietly
from fedkin.core.system.user_code import find_user_code
from fedkin.experiment.terminal import say, tell_hints

if TYPE_CHECKING:
    from fedkin.runs.record import Record
    from fedkin.runs.spec import Spec

WHAT, HOW, WHERE = "What is trained", "How it is trained", "Where"


def _option(name: str, panel: str, metavar: str, text: str, **further: Any) -> Any:
    return typer.Option(
        name, metavar=metavar, help=text, rich_help_panel=panel, show_default=False, **further
    )


def run(
    spec: Annotated[
        Path | None,
        typer.Argument(
            metavar="SPEC.toml", help="Experiment file; options override it.", show_default=False
        ),
    ] = None,
    method: Annotated[
        str | None,
        _option(
            "--method",
            WHAT,
            "NAME",
            "comet, fedavg, …: see fedkin methods; or my_module:function.",
            autocompletion=completion.method_names,
        ),
    ] = None,
    data: Annotated[
        str | None,
        _option(
            "--data",
            WHAT,
            "NAME",
            "Data set or file; see fedkin data.",
            autocompletion=completion.data_names,
        ),
    ] = None,
    split: Annotated[
        str | None,
        _option(
            "--split",
            WHAT,
            "NAME",
            "Client partition, e.g. dirichlet:0.01.",
            autocompletion=completion.partition_names,
        ),
    ] = None,
    model: Annotated[
        str | None,
        _option(
            "--model",
            WHAT,
            "NAME",
            "mlr, dnn, …, or your package.module:Class.",
            autocompletion=completion.model_names,
        ),
    ] = None,
    public: Annotated[
        str | None,
        _option(
            "--public", WHAT, "NAME", "Public set: a data set, or held-out; :500 for 500 samples."
        ),
    ] = None,
    clients: Annotated[int | None, _option("--clients", HOW, "N", "Number of clients.")] = None,
    participation: Annotated[
        float | None,
        _option("--participation", HOW, "SHARE", "Fraction of clients per round, in (0, 1]."),
    ] = None,
    holdout_clients: Annotated[
        float | None,
        _option("--holdout-clients", HOW, "SHARE", "Fraction of clients that join after training."),
    ] = None,
    rounds: Annotated[int | None, _option("--rounds", HOW, "N", "Communication rounds.")] = None,
    measure: Annotated[
        str | None,
        _option(
            "--measure",
            HOW,
            "NAME",
            "Metric for selection and comparison: accuracy, auc, rmse, …",
            autocompletion=completion.measure_names,
        ),
    ] = None,
    seed: Annotated[
        int | None, _option("--seed", HOW, "N", "Equal seeds give equal results.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        _option("--set", HOW, "KEY=VALUE", "Set any key: --set train.lr=0.05. Repeatable."),
    ] = None,
    transform: Annotated[
        list[str] | None,
        _option(
            "--transform",
            HOW,
            "NAME:KEY=VALUE",
            "median, …; repeatable.",
            autocompletion=completion.transform_names,
        ),
    ] = None,
    data_dir: Annotated[
        Path | None,
        _option("--data-dir", WHERE, "DIR", r"Data directory \[env: FEDKIN_DATA]."),
    ] = None,
    engine: Annotated[
        str | None,
        _option(
            "--engine",
            WHERE,
            "NAME",
            "processes, inprocess or ray.",
            autocompletion=completion.engine_names,
        ),
    ] = None,
    workers: Annotated[
        int | None, _option("--workers", WHERE, "N", "Worker processes; default: one per core.")
    ] = None,
    out: Annotated[
        Path | None, _option("--out", WHERE, "DIR", "Run directory; must be new or empty.")
    ] = None,
    trust_code: TrustCode = False,
    as_json: AsJson = False,
) -> None:
    """Train personal models in a simulation.

    Defaults depend on the kind of the data; without data, handwritten digits.
    """
    from fedkin.setup.arguments.options import specification

    options = {
        "method": method,
        "data": data,
        "split": split,
        "model": model,
        "public": public,
        "clients": clients,
        "participation": participation,
        "holdout_clients": holdout_clients,
        "rounds": rounds,
        "seed": seed,
        "measure": measure,
        "data_dir": path_as_text(data_dir),
        "engine": engine,
        "workers": workers,
        "transform": transform,
    }
    if spec is not None and not spec.exists():
        from fedkin.reproduce.preset import packaged

        spec = packaged(spec)
    chosen, hints = specification(spec, options, set_ or [], trust_code)
    tell_hints(hints)
    find_user_code()
    from fedkin.experiment.run import run as begin

    work = partial(_begun, begin, chosen, out)
    if as_json:
        train_quietly(chosen, work)
    else:
        train(chosen, work)


def resume(
    folder: Folder,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", metavar="N", help="Number of worker processes; default: as before.", min=1
        ),
    ] = None,
    trust_code: TrustCode = False,
    as_json: AsJson = False,
) -> None:
    """Continue a run from its last committed round.

    The result equals that of an uninterrupted run.

    """
    from fedkin.runs.database import before_resume
    from fedkin.runs.directory import of_run

    done = before_resume(folder)
    chosen = of_run(folder)
    work = partial(_resumed, folder, workers, trust_code)
    if as_json:
        train_quietly(chosen, work, new=False)
        return
    if done is None:
        say(f"{folder} is finished: there is nothing to resume")
    train(chosen, work, done, new=False)


def _begun(
    begin: Callable[..., Path], spec: "Spec", out: Path | None, progress: Callable[["Record"], None]
) -> Path:
    return begin(spec, out=out, progress=progress)


def _resumed(
    folder: Path, workers: int | None, trust_code: bool, progress: Callable[["Record"], None]
) -> Path:
    find_user_code()
    from fedkin.experiment.resume import resume as go_on

    return go_on(folder, progress=progress, workers=workers, trust_code=trust_code)
