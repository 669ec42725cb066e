"""``fedkin join``: a personal model for somebody who was not in a run, from its folder and a file
of one's own.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedkin.core.counts import at_least
from fedkin.core.errors import FedkinError, unknown
from fedkin.core.files import read_file, write_file
from fedkin.core.method import Method
from fedkin.core.rng import Key
from fedkin.core.system.digests import short, text_of
from fedkin.core.tree import Tree
from fedkin.data.holdout import Fractions
from fedkin.data.population import Population
from fedkin.engine.codec import encode
from fedkin.newcomers.local import Learned, described, joined
from fedkin.newcomers.samples import TableLayout, read_newcomer
from fedkin.runs.directory import has_begun, path_in_run
from fedkin.runs.output_files import (
    check_takes_files,
    make_folder,
    no_empty_folder,
    outside_run_states,
)
from fedkin.runtime.replay import Runtime
from fedkin.setup.build import Assembled
from fedkin.setup.loaded_run import load, states_used

MODEL, FOUND = "personal.safetensors", "join.json"
FOLDER = "joined"  # in the run directory
LARGEST = 16 << 20  # bytes of a join.json


def join(
    run: Path,
    data: Path | None = None,
    client: str | None = None,
    *,
    out: Path | None = None,
    rounds: int | None = None,
    architecture: str | None = None,
    method: Method | None = None,
    trust_code: bool = False,
) -> dict[str, Any]:
    """Let a newcomer join a run as it is now. Neither the run's record nor its checkpoint changes.

    Args:
        run: The run directory.
        data: A file of the newcomer's own; None where ``client`` is named.
        client: The name of one of those that [run] holdout_clients kept out; None where ``data`` is
            given.
        out: The folder of personal.safetensors and join.json, never a run's own; None:
            DIR/joined/NAME. Only the same newcomer is replaced.
        rounds: Rounds of work, 0 or more; None: its validation data choose.
        architecture: The name of its model's architecture; None: as ``joined`` chooses.
        method: The Method value that the run had; None where its method has a name.
        trust_code: Whether the code that its specification names may be imported
            (docs/security.md).

    Returns:
        What came of it, as plain values, which join.json holds as well; "model" is the file.

    Raises:
        FedkinError: Not exactly one of ``data`` and ``client`` is given; the run, the samples or
            the number of rounds do not fit; or the folder is somebody else's, or cannot be written.
    """
    at_least(0, rounds=rounds)
    rounds = None if rounds is None else int(rounds)  # one of numpy's is nothing for JSON
    if (data is None) == (client is None):
        raise FedkinError(
            "name either a file of the newcomer's own (--data) or a held-out client (--client)"
        )
    coordinator, parts, at = load(run, method=method, trust_code=trust_code, of=())
    own = _held_out(parts, str(client)) if data is None else _from_file(parts, data)
    name, file = own.names[0], None if data is None else _digest(data)
    folder = _folder_of(run, out, name)
    with no_empty_folder(folder):
        make_folder(folder)  # one that takes no file is told before the work
        check_takes_files(folder)
        _not_anothers(folder, name, file)
        learned = Learned(parts, coordinator.state, at.trained, Runtime(parts.spec.engine.compile))
        with states_used(run):
            outcome, newcomer = joined(learned, own, rounds, architecture)
        (info,) = newcomer.host.infos.values()
        content = {
            "run": str(run),
            "client": name,
            "file": file,
            "method": parts.method.name,
            "seed": parts.spec.run.seed,
            "data_digest": parts.population.digest(),
            "experiment": experiment_of(at.facts),
            "architecture": info.architecture,
            "after_round": at.trained,
            "measure": parts.spec.run.measure,
            **described(outcome, own),
            "said": list(own.said),
            "model": str(folder / MODEL),
        }
        _not_anothers(folder, name, file)  # who may have come while this one worked
        _write(folder, newcomer.views(outcome.last)["personal"], content)
    return content


def _folder_of(run: Path, out: Path | None, name: str) -> Path:
    """Where a newcomer's model goes: ``out``, else a folder in the run directory."""
    folder = path_in_run(run, FOLDER, name) if out is None else outside_run_states(out)
    if out is None:
        for part in (MODEL, FOUND):
            path_in_run(run, FOLDER, name, part)
    if has_begun(folder):
        raise FedkinError(
            f"{folder} is the folder of a run: give the newcomer one of its own, --out DIR"
        )
    return folder


def _write(folder: Path, model: Tree, content: dict[str, Any]) -> None:
    try:
        write_file(folder / MODEL, encode(model))
        write_file(folder / FOUND, json.dumps(content, indent=2).encode())
    except OSError as error:
        raise FedkinError(f"{folder} cannot be written: {error.strerror}") from None


def experiment_of(facts: Mapping[str, Any]) -> str:
    """Which experiment a run is of, by which a model that joined it is known again: another
    learning rate makes another model, which would have this run's card.

    Args:
        facts: What the run's record says of it.

    Returns:
        12 hexadecimal digits.
    """
    return short(text_of([facts.get("spec"), facts.get("hyper")]))


def _digest(path: Path) -> str:
    """Which file, so that it is known again when its rows have become more; where it lies is
    nobody's business.
    """
    return hashlib.sha256(os.fsencode(path.resolve())).hexdigest()


def _not_anothers(folder: Path, name: str, file: str | None) -> None:
    """Two hospitals' data.csv are both called data: the second must not take the place of the
    first. In a folder that was named there may be somebody of another name.
    """
    try:
        theirs_before = json.loads(read_file(folder / FOUND, LARGEST))
    except FileNotFoundError:
        return
    except (OSError, RecursionError, ValueError):
        theirs_before = None
    theirs = theirs_before.get("client", name) if isinstance(theirs_before, dict) else name
    if (
        not isinstance(theirs_before, dict)
        or theirs != name
        or theirs_before.get("file", "") != file
    ):
        raise FedkinError(
            f"{folder} holds the model of another newcomer called {theirs!r}: give this one a "
            "folder, --out DIR"
        )


def _held_out(parts: Assembled, client: str) -> Population:
    if parts.held_out is None:
        raise FedkinError("no client was held out of this run: name a file with --data")
    if client not in parts.held_out.names:
        raise unknown("held-out client", client, parts.held_out.names)
    return parts.held_out.only([parts.held_out.names.index(client)])


def _from_file(parts: Assembled, path: Path) -> Population:
    data, split = parts.spec.data, parts.spec.split
    fractions: Fractions = (
        "comet" if split.holdout == "comet" else (split.train, split.val, split.test)
    )
    group = parts.population.group or data.options.get("group")
    aside = TableLayout(
        data.label or "label",
        data.client,
        data.options,
        fractions,
        None if split.group == "none" else group,
    )
    return read_newcomer(path, parts.population, aside, Key(parts.spec.run.seed))
