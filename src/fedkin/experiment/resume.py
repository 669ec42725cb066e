"""Going on with a run from its last committed round."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.experiment.local_backend import hosts
from fedkin.experiment.own_files import own_files
from fedkin.experiment.terminal import note
from fedkin.experiment.training import Engine, Progress, begin, check_engine, train
from fedkin.runs import checkpoint
from fedkin.runs.database import open_run
from fedkin.runs.directory import SPEC, noted, unrecorded
from fedkin.runs.spec import SECTIONS, Spec
from fedkin.setup.arguments.method_value import check_value
from fedkin.setup.arguments.values import check_given, same_given, same_method
from fedkin.setup.build import assemble
from fedkin.setup.loaded_run import same_data, spec_of


def resume(
    folder: Path,
    *,
    method: Method | None = None,
    progress: Progress | None = None,
    workers: int | None = None,
    engine: Engine | None = None,
    trust_code: bool = False,
) -> Path:
    """Continue a run from its last committed round; a finished run is left as it is.

    Args:
        folder: The run directory.
        method: The Method value that it began with; None where its method has a name.
        progress: Called with the Record of every round.
        workers: [engine] workers in place of the run's.
        engine: Where the clients are; None: in processes of this machine.
        trust_code: Whether the code that its specification names may be imported
            (docs/security.md).

    Returns:
        The run directory.

    Raises:
        FedkinError: It is no run, or a deployment's, or its specification, data, method or frozen
            parameters are not what it began with; ``Interrupted``, which is one, after Ctrl-C.
    """
    check_value(method)
    engine = engine or Engine(assemble, hosts)
    unstarted, how = unrecorded(folder), f"fedkin.resume({str(folder)!r}, method=THE METHOD)"
    if not unstarted:
        open_run(folder).close()  # not a run, or not one of ours: said before anything is written
    with checkpoint.alone(folder):
        if unstarted and not unrecorded(folder):  # to begin it again would remove what is there
            raise FedkinError(f"{folder}: another process began this run just now: resume it again")
        if unstarted:
            check_given(folder, method, noted(folder), how)
            spec = spec_of(folder, workers, trust_code)
            check_engine(spec, method)
            begin(engine.assemble(spec, method), folder, progress, engine)
            return folder
        with contextlib.closing(open_run(folder, write=True)) as database:
            facts = database.facts()
            if facts.get("finished"):
                if method is not None:
                    same_method(folder, method, facts)
                return folder
            if facts.get("deployment") != engine.facts.get("deployment"):
                raise FedkinError(
                    f"{folder} is a run of a deployment: continue it with fedkin deploy run "
                    "--resume"
                )
            spec = spec_of(folder, workers, trust_code)
            check_unchanged(folder, spec, facts.get("spec", {}))
            check_given(folder, method, facts, how)
            check_engine(spec, method)
            parts = engine.assemble(spec, method)
            same_data(folder, parts, facts)
            differing = same_given(folder, parts, facts)
            for remark in [*changed_code(own_files(spec), facts), *differing]:
                note(f"{folder}: {remark}")
            train(parts, folder, database, progress, engine)
    return folder


def changed_code(now: Mapping[str, str], facts: Mapping[str, Any]) -> list[str]:
    """A sentence a method or model that is not fedkin's and whose file is not what the run began
    with. It is no refusal: a comment changes a file, too. Older records say nothing of code.

    Args:
        now: name of a method or model → digest of its file.
        facts: What the run's record says of it.

    Returns:
        [] where nothing changed, or the record says nothing of code.
    """
    then = facts.get("code")
    if not isinstance(then, Mapping):
        return []
    return [
        f"the file of {name} is not what this run began with, so its rounds may be of two methods "
        "or models: put it back, or start another run"
        for name, digest in then.items()
        if now.get(name, digest) != digest
    ]


def check_unchanged(folder: Path, spec: Spec, recorded: Mapping[str, Any]) -> None:
    """Rounds of one run belong to one specification; [engine] does not change results and may
    change.

    Args:
        folder: The run directory, for messages.
        spec: What its experiment.toml says now.
        recorded: The specification that it began with, as plain values.

    Raises:
        FedkinError: They differ, in a section other than [engine].
    """
    with contextlib.suppress(ValueError):  # what it did not know yet when it began has its default
        recorded = Spec.model_validate(recorded).model_dump(mode="json")
    asked = spec.model_dump(mode="json")
    if asked.pop("transforms", []) != recorded.get("transforms", []):
        what = "transforms are not what this run began with"
        raise FedkinError(f"{folder / SPEC}: {what}: put them back, or start another run")
    for section in SECTIONS:
        # a dump leaves out what nobody asked for
        default = Spec.model_fields[section].default.model_dump(mode="json")
        before, now = recorded.get(section, default), asked.get(section, default)
        if section != "engine" and now != before:
            keys = [key for key in {**before, **now} if before.get(key) != now.get(key)]
            what = f"{section}.{keys[0]} is not what this run began with"
            raise FedkinError(f"{folder / SPEC}: {what}: put it back, or start another run")
